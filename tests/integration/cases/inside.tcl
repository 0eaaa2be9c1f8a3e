# SPDX-License-Identifier: GPL-3.0-or-later
# Threads that stand where a jump is going to be.

proc engine_of {verbose function} {
	foreach line [split $verbose "\n"] {
		if {[lindex $line 0] eq $function && [string match "0x*" [lindex $line 2]]} {
			return [lindex $line 3]
		}
	}
	fail "malloc -v does not list $function: $verbose"
}

# A signal's frame has a PC between the five bytes: it is moved to the displaced copy, or nothing but a breakpoint goes in.
foreach stack {{} alt} {
	case inside-a-signal-handler[expr {$stack eq "" ? "" : "-on-its-own-stack"}] 60 [string map [list STACK $stack] {
		set t [start inside]
		set before [state [pid_of $t]]
		set m [live_start -p [pid_of $t]]
		foreach probe [live_value $m mdbg::probes] {
			if {[dict get $probe function] eq "malloc"} {
				order $t "patch [expr {[dict get $probe patch]}]"
			}
		}
		live_end $m
		check {[order $t "step STACK"] in {1 2 3 4}} {not inside}
		set m [live_start -p [pid_of $t]]
		set engine [engine_of [live $m "malloc -v"] malloc]
		set frame [order $t go]
		check {[hear $t] eq "ok"} {malloc has not returned a block that holds}
		check {$frame eq [expr {$engine eq "jump" ? "moved" : "same"}]} {$engine, and the frame is the $frame}
		check {$engine eq "jump"} {[live $m "malloc -v"]}
		live_end $m
		check_state $before [pid_of $t]
		finish $t
	}]
}

# All that is asked for is a jump: what cannot have one is refused and named.
case inside-jump-or-nothing 60 {
	set t [start inside]
	set before [state [pid_of $t]]
	set verbose [mdbg_ok -q --engine jump -p [pid_of $t] -c "malloc -v"]
	check {[engine_of $verbose malloc] eq "jump" && [engine_of $verbose free] eq "jump"} {$verbose}
	check_state $before [pid_of $t]
	finish $t
}

# Somebody stays in a function that is probed: what he needs to come back stays, and nothing else; it is said. The next
# mdbg works beside it.
by_both case inside-and-stays 60 {
	set t [start inside]
	set m [live_start -p [pid_of $t]]
	order $t hold
	set text [live $m detach]
	live_end $m
	check {[string match "*still inside the code of a probe*" [slurp $::tmp/live-1.err]]} {it is not said}
	check {![string match "*memfd:mdbg*" [slurp /proc/[pid_of $t]/maps]]} {the log stays, too}
	order $t let
	set verbose [mdbg_ok -q -p [pid_of $t] -c "malloc -v"]
	order $t verify
	finish $t
}
