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
		start_watched {t before m} inside
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
		finish $t $m $before
	}]
}

# All that is asked for is a jump: what cannot have one is refused and named.
case inside-jump-or-nothing 60 {
	set t [start inside]
	set before [state [pid_of $t]]
	set verbose [mdbg_ok -q --engine jump -p [pid_of $t] -c "malloc -v"]
	check {[engine_of $verbose malloc] eq "jump" && [engine_of $verbose free] eq "jump"} {$verbose}
	finish $t {} $before
}

# A thread stays in a function that is probed: what it needs to come back stays, with the journal that names it, and no
# log; it is said. When the thread has left, the next mdbg takes it out.
# By a detach, and by the end of mdbg's input.
proc stays_inside {leave} {
	set t [start inside]
	order $t hold
	order $t let		;# what libc does for the first thread is done
	attach_to {before m} $t
	order $t hold
	if {$leave ne ""} {
		live $m $leave
	}
	live_end $m
	check {[string match "*still inside the code of a probe*" [slurp $::tmp/live-1.err]]} {it is not said}
	check {[regexp -all "memfd:mdbg" [slurp /proc/[pid_of $t]/maps]] == 1} {not the journal alone}
	order $t let
	mdbg_ok -q -p [pid_of $t] -c "malloc -v"
	finish $t {} $before
}

by_both case inside-and-stays 60 {stays_inside detach}
by_both case inside-and-stays-at-the-end 60 {stays_inside ""}

proc probe_pool {m} {
	live_all $m "probe alloc pool_alloc size=1" "probe free pool_free ptr=1"
}

# Attach, detach: what is there of calls that have not returned is said, and the process has it, or has nothing.
proc visit {t before calls} {
	mdbg_ok -q -p [pid_of $t] -c "malloc"
	check {!!$calls == [string match "*calls of *have not returned*: $calls*" $::err]} {not $calls calls: $::err}
	if {!$calls} {
		check_state $before [pid_of $t]
	}
}

# Coroutines are suspended in a function that the user has named: nobody is inside, and they come back all the same, on
# other threads, in children, from a signal's handler. The code goes when the last one has returned.
foreach end {detach kill off} {
	by_both case inside-suspended-$end 60 [string map [list END $end] {
		start_watched {t before m} suspended
		probe_pool $m
		foreach how {suspend interrupt suspend suspend} {
			order $t $how
		}
		order $t vfork
		if {"END" eq "kill"} {
			kill_mdbg $m
		} else {
			if {"END" eq "off"} {
				live $m "malloc off"
				orders $t resume suspend
			}
			live $m detach
			live_end $m
			if {"END" eq "detach"} {
				set said [slurp $::live_err($m)]
				check {[string match "*have not returned*: 4 in process*" $said]} {it says: $said}
			}
		}
		order $t fork
		visit $t $before [expr {"END" eq "off" ? 3 : 4}]
		foreach how {resume move} {
			order $t $how
		}
		order $t call
		visit $t $before [expr {"END" eq "off" ? 1 : 2}]
		foreach how {fork move resume} {
			order $t $how
		}
		visit $t $before 0
		finish $t
	}]
}

# Three are killed with breakpoints in. The first one's memory is free when the third one comes, which may so lie before
# the second one's, whose SIGTRAP handler it has found. In the end there is the program's own.
case inside-killed-one-after-the-other 60 {
	set ::engine breakpoint
	set t [start suspended]
	set before [state [pid_of $t]]
	foreach resumes {0 0 1} {
		if {$resumes} {
			order $t resume
		}
		set m [live_start -p [pid_of $t]]
		probe_pool $m
		order $t suspend
		kill_mdbg $m
	}
	orders $t resume resume
	visit $t $before 0
	finish $t
}

# The same, attached and left in any way, with as many as there happen to be. In the end nothing is left.
by_both repeated inside-suspended-again-and-again 60 {
	set t [start suspended]
	set before [state [pid_of $t]]
	set suspended 0
	for {set i 0} {$i < $::trials} {incr i} {
		set m [live_start -p [pid_of $t]]
		probe_pool $m
		for {set steps [expr {1 + int(rand() * 8)}]} {$steps} {incr steps -1} {
			set how [lindex {suspend interrupt resume move call} [expr {int(rand() * 5)}]]
			if {$how in {resume move} && !$suspended} {
				continue
			}
			order $t $how
			incr suspended [dict get {suspend 1 interrupt 1 resume -1 move -1 call 0} $how]
		}
		switch [expr {int(rand() * 3)}] {
			0 { kill_mdbg $m }
			1 { live_end $m }
			2 { live $m "malloc off"; live $m detach; live_end $m }
		}
		order $t verify
		while {$suspended > 20} {
			order $t resume
			incr suspended -1
		}
	}
	for {} {$suspended} {incr suspended -1} {
		order $t resume
	}
	visit $t $before 0
	finish $t
}

# Calls that never return: the code stays for good, and nothing else happens.
by_both case inside-left-by-longjmp 60 {
	start_watched {t m} suspended
	probe_pool $m
	foreach how {jump leave call jump} {
		order $t $how
	}
	live $m detach
	live_end $m
	check {[string match "*have not returned*: 3 in process*" [slurp $::live_err($m)]]} {[slurp $::live_err($m)]}
	visit $t {} 3
	order $t call
	finish $t
}
