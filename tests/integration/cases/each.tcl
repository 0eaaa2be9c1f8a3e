# SPDX-License-Identifier: GPL-3.0-or-later
# `-each VAR BODY` of the commands for scripts, and what a dict of theirs costs.

# The value of a script of several lines.
proc live_script {m script} {
	return [live_value $m [list source [spit $::tmp/part.tcl $script]] 100]
}

# Is each element of the command's list what BODY gets, in the same order? What goes on between the
# two is left out; times are, since the log's clock is refined by microseconds. Returns how many.
proc check_each {m command} {
	set same [live_script $m [string map [list COMMAND $command] {
		proc ageless {d} {
			dict remove $d time age oldest median growth rate callrate
		}
		set got {}
		COMMAND -each d {lappend got [ageless $d]}
		set want [COMMAND]
		expr {$got eq [lmap d $want {ageless $d}]}
	}]]
	check {$same} {$command: [live_value $m {lindex $want 0}] is not [live_value $m {lindex $got 0}]}
	return [live_value $m {llength $got}]
}

case each-values 60 {
	start_watched {t before m} heaps 5000
	foreach {command least} {
		mdbg::allocations 2000
		{mdbg::allocations heap == mmap sort size} 1
		{mdbg::allocations size > 100 sort address up limit 7} 7
		mdbg::freespace 10
		{mdbg::freespace size > 1K and heap == 2 sort size limit 5} 5
		{mdbg::leaks all -stop} 1
		{mdbg::leaks possible size > 1 -stop} 0
	} {
		set nr [check_each $m $command]
		check {$nr >= $least} {$command has $nr}
	}
	finish $t $m $before
	with_target 300 {
		foreach {command least} {
			{mdbg::allocations sort seq} 20
			mdbg::sites 2
			{mdbg::sites by function sort count limit 2} 2
			{mdbg::sites by size} 2
			{mdbg::sites by thread} 2
			{mdbg::stale 0s} 1
		} {
			set nr [check_each $m $command]
			check {$nr >= $least} {$command has $nr}
		}
	}
}

# What `malloc freespace` prints.
case each-freespace 30 {
	start_watched {t m} heaps 5000
	set want [lmap line [split [live $m "malloc freespace"] "\n"] {
		if {![string match "0x* *" $line]} continue
		lassign $line address size heap kind
		list [format 0x%x $address] $size $heap $kind
	}]
	check {[llength $want] > 10} {few chunks: $want}
	live $m {set got {}; mdbg::freespace -each c {lappend got [dict values $c]}}
	check {[live_value $m {set got}] eq $want} {mdbg::freespace is not malloc freespace}
	check {[live_value $m {dict keys $c}] eq {address size heap kind}} {keys: $::result}
	live_error $m "mdbg::freespace thread == 1 -each c {}"
	finish $t $m
}

# While BODY runs the target does too, unless the user has stopped it; and BODY may take the target away.
case each-meanwhile 60 {
	set t [start exact -t 2]
	set u [start exact -t 2]
	set before [list [state [pid_of $t]] [state [pid_of $u]]]
	set m [live_start -p [pid_of $t]]
	order $t each
	foreach command {mdbg::allocations mdbg::sites {mdbg::leaks all} {mdbg::stale 0s} mdbg::freespace} {
		puts $m "$command -each d {puts turn; flush stdout; gets stdin; break}"
		check {[hear $m 60] eq "turn"} {$command has no element}
		order $t verify
		puts $m ""
		live_answer $m 60
	}
	live $m interrupt
	puts $m "mdbg::allocations limit 2 -each d {puts turn; flush stdout; gets stdin}"
	foreach turn {1 2} {
		check {[hear $m] eq "turn"} {turn $turn}
		check {[regexp {State:\tt} [slurp /proc/[pid_of $t]/status]]} {the target that the user stopped runs}
		puts $m ""
	}
	live_answer $m 60
	live $m cont
	order $t verify

	live_script $m [string map [list PID [pid_of $u]] {
		set want [lmap b [mdbg::allocations] {dict remove $b time age}]
		set got {}
		set inner {}
		mdbg::allocations -each b {
			lappend got [dict remove $b time age]
			if {[llength $got] == 1} {
				malloc reset
				detach
				attach PID
				mdbg::allocations limit 5 -each c {lappend inner [dict get $c pid]}
			}
		}
	}]
	check {[live_value $m {expr {$got eq $want}}]} {[live_value $m {lindex $got end}], not [live_value $m {lindex $want end}]}
	check {[live_value $m {llength $got}] >= 20} {[live_value $m {llength $got}] blocks}
	check {[live_value $m {lsort -unique $inner}] eq [pid_of $u]} {the inner ones: [live_value $m {set inner}]}
	live_end $m
	check_state [lindex $before 0] [pid_of $t]
	check_state [lindex $before 1] [pid_of $u]
	finish $t
	finish $u
}

# A signal ends it, in a script that catches all, and the target is left as it was.
case each-interrupted 30 {
	start_watched {t before m} exact -t 2
	order $t each
	puts $m "while 1 {catch {mdbg::allocations -each b {puts turn; flush stdout}}}"
	hear $m
	exec kill -INT [pid $m]
	chan configure $m -blocking 1
	while {[gets $m line] >= 0} {
		check {$line eq "turn"} {mdbg goes on: $line}
	}
	until {![is_alive [pid $m]]} 30
	finish $t {} $before
	ending $m
}

# Ctrl-C ends it at the prompt, with a BODY that waits and with one that does nothing, and mdbg goes on.
case each-ctrl-c 60 {
	set t [start exact -t 2]
	set before [state [pid_of $t]]
	at_prompt $t {
		send "puts begun-\[expr 1 + 1]; while 1 {catch {mdbg::threads; mdbg::sites -each s {wait 1000}}}\r"
		see "begun-2"
		type "\003" "(mdbg) "
		type "puts begun-\[expr 1 + 2]; while 1 {mdbg::allocations -each b {}}\r" "begun-3"
		type "\003" "interrupted" "(mdbg) "
		type "mdbg::allocations limit 1 -each b {puts still-\[expr 40 + 2]}; puts \[mdbg::pid]\r" $pid
		see "(mdbg) "
		quits {0 1}
	}
	finish $t {} $before
}

# 40 bytes a block while BODY runs, and little more before; in a list a dict costs 1.5 KB at most.
case each-memory 120 {
	skip_if_sanitized "the sanitizers take memory of their own"
	set n 200000
	start_watched {t m} million
	order $t "make $n" 100
	live_script $m {
		proc own {} {
			set chan [open /proc/self/status]
			regexp {RssAnon:\s+(\d+)} [read $chan] -> kb
			close $chan
			return [expr {$kb * 1024.0}]
		}
		# Once before, so that what Tcl keeps is there.
		mdbg::allocations limit 100 -each b {dict get $b size}
	}
	live_script $m {
		set start [own]
		set most 0
		set n 0
		mdbg::allocations -each b {
			if {[incr n] % 5000 == 0} {
				set most [expr {max($most, [own])}]
			}
		}
	}
	check {[live_value $m {set n}] == $n} {BODY ran $::result times}
	set each [live_value $m {expr {($most - $start) / $n}}]
	set list [live_value $m {set start [own]; set all [mdbg::allocations]; expr {([own] - $start) / $n}} 100]
	note "bytes a block: $each by -each, $list in a list"
	check {$each <= 60} {by -each a block takes $each bytes}
	check {$list <= 1536} {a dict takes $list bytes}
	finish $t $m
}
