# SPDX-License-Identifier: GPL-3.0-or-later
# A target that writes over mdbg's memory in it and unmaps, moves and resizes it, while mdbg does all that it can do. What
# mdbg then says may be wrong, or an error, but mdbg ends by itself, soon, and takes no memory for it.

set scribble_memory 1048576	;# KB of its own, without what it shares with the target
set scribble_seconds 30

# One of the commands after the other; what each says is printed, and how long it took if that was long.
set scribble_script {
	foreach command $argv {
		set start [clock milliseconds]
		catch {uplevel #0 $command} message
		puts [string range $message 0 1000]
		set took [expr {[clock milliseconds] - $start}]
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
	mdbg -limit [expr {4 * $::scribble_seconds}] -q --log-limit $log {*}$options -p [pid_of $t] -x $script -- {*}$commands
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
		if {![regexp {fsanitize} [slurp $::build/config.mak]]} {
			limit_mdbg "-d $::scribble_memory"
		}
		# A round takes seconds: a few in the integration run.
		set rounds [expr {$::trials > 10 ? $::trials : max(1, $::trials / 4)}]
		for {set i 0} {$i < $rounds} {incr i} {
			scribble_round [expr {[clock microseconds] % 1000000007}] {WHAT}
		}
	}]
}
