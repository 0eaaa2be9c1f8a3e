# SPDX-License-Identifier: GPL-3.0-or-later
# A target that writes over mdbg's memory in it and unmaps, moves and resizes it, while mdbg does all that it can do. What
# mdbg then says may be wrong, or an error, but mdbg ends by itself, soon, and takes no memory for it.

set scribble_memory 1048576	;# KB of its own, without what it shares with the target
set scribble_seconds 30

# One of the commands after the other; what each says is printed, and how long it took if that was long, but for the
# time that mdbg's threads were ready to run and others on the machine ran.
set scribble_script {
	proc now {} {
		set waited 0
		foreach path [glob -nocomplain /proc/self/task/*/schedstat] {
			if {![catch {open $path} chan]} {
				incr waited [expr {[lindex [read $chan] 1] / 1000000}]
				close $chan
			}
		}
		return [expr {[clock milliseconds] - $waited}]
	}
	foreach command $argv {
		set start [now]
		catch {uplevel #0 $command} message
		puts [string range $message 0 1000]
		set took [expr {[now] - $start}]
		if {$took > LIMIT * 1000} {
			puts "SLOW: $command: $took ms"
		}
	}
}

proc scribble_pick {list} {
	return [lindex $list [expr {int(rand() * [llength $list])}]]
}

set scribble_commands {
	{malloc} {malloc -v} {status} {malloc sites} {malloc sites by function} {malloc sites by module} {malloc sites by thread}
	{malloc sites by size limit 5} {malloc sites sort age} {malloc allocations limit 50} {malloc allocations sort age limit 20}
	{malloc allocations function == main* limit 10} {malloc allocations sort size limit 10} {malloc allocations thread == 17}
	{malloc freespace limit 10} {malloc leaks} {malloc leaks all} {malloc stale 0s} {malloc check} {malloc find 0x7f0000001000}
	{malloc trim} {malloc reset} {malloc off} {malloc on} {probe} {where} {thread} {map} {proc} {mdbg::malloc}
	{mdbg::sites} {mdbg::leaks} {mdbg::check} {mdbg::threads} {set free-history 1000} {interrupt} {cont} {wait 0.05} {detach}
}

proc scribble_round {seed what} {
	expr {srand($seed)}
	set t [start scribbler]
	order $t "scribble $seed $what"
	set commands {}
	for {set i 0} {$i < 8} {incr i} {
		lappend commands [scribble_pick $::scribble_commands]
	}
	set log [scribble_pick {16M 16M 64M 256M 1G}]
	set options [scribble_pick {{} {} {--engine breakpoint} {--sample 4096}}]
	set script [spit $::tmp/scribble.tcl [string map [list LIMIT $::scribble_seconds] $::scribble_script]]
	mdbg -limit [expr {10 * $::scribble_seconds}] -q --log-limit $log {*}$options -p [pid_of $t] -x $script -- {*}$commands
	set said "(seed $seed, $what, $log, $options, [join $commands {; }])"
	check {$::status in {0 1 3 4 5}} {mdbg ended with $::status: [string range $::err end-300 end] $said}
	check {![string match "*out of memory*" $::out$::err]} {it ran out of memory $said}
	check {![regexp -line {^SLOW: .*} $::out slow]} {$slow $said}
	exec kill -KILL [pid_of $t]
	ending $t
}

foreach {name what} {log {log} all {log journal} maps {log maps} everything {log journal maps}} {
	repeated scribble-$name 120 [string map [list WHAT $what] {
		# The sanitizers' own memory would count.
		if {![is_sanitized]} {
			limit_mdbg "-d $::scribble_memory"
		}
		# A round takes seconds: a few in the integration run.
		set rounds [expr {$::trials > 10 ? $::trials : max(1, $::trials / 4)}]
		for {set i 0} {$i < $rounds} {incr i} {
			scribble_round [expr {[clock microseconds] % 1000000007}] {WHAT}
		}
	}]
}

# --- a full log ---

# MB of memory that mdbg has had at most, of its own: what it shares with the target, or has of files, stays.
proc own_memory {m} {
	set kb {}
	foreach line [split [slurp /proc/[pid $m]/status] "\n"] {
		lassign [string map {: {}} $line] name value
		dict set kb $name $value
	}
	return [expr {([dict get $kb VmHWM] - [dict get $kb RssShmem] - [dict get $kb RssFile]) / 1024}]
}

# Seconds of processor time, which others on the machine do not make longer.
proc own_seconds {m} {
	set stat [slurp /proc/[pid $m]/stat]
	lassign [lrange [string range $stat [string last ")" $stat]+2 end] 11 12] user system
	return [expr {($user + $system) / 100.0}]
}

# The command's answer or error.
proc full_log_ask {m command} {
	set before [own_seconds $m]
	catch {live $m $command 600} answer
	set took [expr {[own_seconds $m] - $before}]
	note "$command: $took s, [own_memory $m] MB, [string range $answer 0 400]"
	check {$took < $::scribble_seconds} {$command took $took s: [string range $answer 0 200]}
	return $answer
}

proc full_log {what commands pattern} {
	set log [expr {$::trials > 10 ? 1024 : [is_sanitized] ? 32 : 96}]
	set t [start scribbler]
	if {$what eq "mapped"} {
		order $t reserve
	}
	set before [state [pid_of $t]]
	set m [live_start --log-limit ${log}M -p [pid_of $t]]
	set slots [order $t "fill 1 $what" 120]
	check {$slots > $log * 25000} {only $slots slots are full}
	foreach command $commands {
		set answer [full_log_ask $m $command]
		check {[string match $pattern $answer]} {$command says: [string range $answer 0 300]}
	}
	set memory [own_memory $m]
	if {![is_sanitized]} {
		check {$memory < $log} {mdbg took $memory MB with a log of $log MB}
	}
	live_end $m
	check_state $before [pid_of $t]
	order $t rounds
	exec kill -KILL [pid_of $t]
	ending $t
}

foreach {what commands pattern} {
	small	{{malloc leaks} {malloc leaks age >= 0s} {malloc find 0x7f0000001000}}	{*}
	mapped	{{malloc leaks} {malloc leaks age >= 0s} {malloc find 0x7f0000001000}}	{*}
	twice	{{malloc leaks}}	{*definitely lost*}
	any	{{malloc leaks} {malloc leaks age >= 0s}}	{*too many of 4 GB or more (at most 65536)*}
	claimed	{{malloc leaks} {malloc sites} {malloc allocations limit 5}}	{*}
} {
	repeated full-log-$what 300 [list full_log $what $commands $pattern]
}
