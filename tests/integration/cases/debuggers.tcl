# SPDX-License-Identifier: GPL-3.0-or-later
# Debuggers and strace beside mdbg, which traces nobody while it waits with jumps in: their breakpoints are met, mdbg's log
# is complete, and nothing of either is left (the target and its accounts: tools.tcl).

# A gdb that has attached; it is told what to do line by line.
proc gdb_start {t args} {
	set chan [open |[list gdb -nx -q {*}$args -p [pid_of $t] 2>@1] r+]
	chan configure $chan -buffering line
	foreach line {"set pagination off" "set confirm off" "set width 0" "set breakpoint pending off"} {
		gdb $chan $line
	}
	return $chan
}

# What it says to a command. It stays at a stop until the next one.
proc gdb {chan command} {
	set lines {}
	chan configure $chan -blocking 1
	puts $chan "$command\necho @done\\n"
	while {![string match "*@done" [set line [hear $chan 60]]]} {
		lappend lines $line
	}
	note "gdb> $command"
	note [join $lines "\n"]
	return [join $lines "\n"]
}

proc gdb_break {g where} {
	check {[string match "*Breakpoint 1 at*" [gdb $g "break $where"]]} {gdb has set no breakpoint at $where}
}

proc gdb_hit {g times} {
	for {set i 0} {$i < $times} {incr i} {
		set said [gdb $g continue]
		check {[string match "*hit Breakpoint 1*malloc*" $said]} {gdb has met no breakpoint, but: $said}
	}
}

proc gdb_end {g} {
	gdb $g delete
	gdb $g detach
	chan configure $g -blocking 1
	puts $g quit
	until {![is_alive [pid $g]]} 60
	check {[ending $g] eq {exit 0}} {gdb has not ended well}
}

# What happens in body is in mdbg's accounts, all of it, with the target at work.
proc check_accounts_of {t m what body} {
	order $t calm
	set then [calls_of_target $t]
	set mdbg_then [calls_of_mdbg $m]
	order $t load
	uplevel 1 $body
	orders $t "more 500" calm
	check_accounts [less [calls_of_target $t] $then] [less [calls_of_mdbg $m] $mdbg_then] $what
}

# One line for each way to set it, with and without the debug information of libc.
proc gdb_rounds {} {
	need gdb
	for {set i 0} {$i < [rounds_of_each]} {incr i} {
		foreach {where options} [list malloc {} *malloc {} malloc $::no_symbols *malloc $::no_symbols] {
			start_watched {t before m} counted 4
			check_engines $m
			check_accounts_of $t $m "$i, break $where $options" {
				set g [gdb_start $t {*}$options]
				gdb_break $g $where
				gdb_hit $g 5
				gdb_end $g
			}
			check_same_counts $t $m "" "gdb has left"
			live_end $m
			check {[slurp $::live_err($m)] eq ""} {[slurp $::live_err($m)]}
			order $t calm
			finish $t {} $before
		}
	}
}

set no_symbols [list -iex "set debug-file-directory /nonexistent"]

# gdb stands at its breakpoint: mdbg can take nothing out, and says why; when gdb has left it can.
case tools-gdb-holds 60 {
	need gdb
	start_watched {t before m} counted 4
	check_accounts_of $t $m "gdb holds" {
		set g [gdb_start $t]
		gdb_break $g *malloc
		gdb_hit $g 2
		foreach command {detach "malloc off"} {
			set said [live_error $m $command]
			check {[string match "*already traced by*gdb*" $said]} {$command: $said}
		}
		set said [live $m "malloc check"]
		check {[string match "*cannot be looked at*gdb*" $said]} {malloc check: $said}
		gdb_hit $g 2
		gdb_end $g
	}
	live $m detach
	order $t calm
	check_state $before [pid_of $t]
	finish $t $m
}

# mdbg ends while gdb holds the process, and says that its jumps stay: until the next mdbg, which goes on with the log.
case tools-gdb-holds-to-the-end 60 {
	need gdb
	start_watched {t before m} counted 4
	order $t load
	set g [gdb_start $t]
	gdb_break $g *malloc
	gdb_hit $g 2
	catch {chan close $m write}
	until {![is_alive [pid $m]]} 30
	note "mdbg: [ending $m]"
	set said [slurp $::live_err($m)]
	check {[string match "*gdb*" $said]} {mdbg has said: $said}
	gdb_hit $g 2
	gdb_end $g
	order $t "more 500"
	set m [live_start -p [pid_of $t]]
	check_same_counts $t $m "" "the next mdbg"
	live_end $m
	order $t calm
	finish $t {} $before
}

# strace follows all threads for a while.
proc strace_rounds {} {
	set strace [need strace]
	start_watched {t before m} counted 4
	for {set i 0} {$i < [rounds_of_each]} {incr i} {
		check_accounts_of $t $m "$i, strace" {
			set tracer [exec $strace -f -o $::tmp/strace.out -p [pid_of $t] 2> $::tmp/strace.err &]
			until {[lsearch -glob -not [threads_traced_by $t] $tracer] < 0}
			order $t "more 500"
			exec kill -INT $tracer
			until {![is_alive $tracer]}
		}
	}
	live_end $m
	check {[slurp $::live_err($m)] eq ""} {[slurp $::live_err($m)]}
	finish $t {} $before
}

# The tracer of each thread.
proc threads_traced_by {t} {
	return [lmap path [glob /proc/[pid_of $t]/task/*/status] {
		lindex [regexp -inline {TracerPid:\t(\d+)} [slurp $path]] 1
	}]
}
