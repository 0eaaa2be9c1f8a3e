# SPDX-License-Identifier: GPL-3.0-or-later
# Stacks that are neither the main thread's nor in a thread's control block.

# The functions of the stack of the blocks of this size, innermost first, and how it ends.
proc functions_of {m size} {
	set found {}
	foreach site [live_value $m mdbg::sites] {
		if {[dict get $site bytes] % $size == 0} {
			lappend found [lmap frame [live_value $m "mdbg::frames [dict get $site stack]"] {dict get $frame function}]
		}
	}
	check {[llength $found] == 1} {blocks of $size bytes have [llength $found] stacks: $found}
	return [lindex $found 0]
}

proc check_functions {m size args} {
	set functions [functions_of $m $size]
	set at -1
	foreach function [list malloc leaf parse handle request {*}$args] {
		set next [lsearch -exact -start [expr {$at + 1}] $functions $function]
		check {$next > $at} {$size bytes: $function is missing in: $functions}
		set at $next
	}
}

# The first block of each stack is one that the agent has never seen; of a stack that stays, the later ones are walked
# without a question.
proc stacks_are_whole {t m} {
	foreach round {1 2 3} {
		foreach command {fiber fresh signal thread} {
			order $t $command
		}
		live $m "wait 0.3"
	}
	check_functions $m 641 fiber_main
	check_functions $m 642 fresh_main
	check_functions $m 643 interrupted main
	check_functions $m 644 thread_main
	set sites [live $m "malloc sites"]
	check {![regexp {stack ends here: [^\n]*(memory|bounds|corrupt)} $sites]} {$sites}
}

by_both case otherstack-whole 60 {
	set t [start otherstack]
	order $t thread			;# libc takes a signal for itself
	attach_to {before m} $t
	stacks_are_whole $t $m
	live_end $m
	order $t verify
	finish $t {} $before
}

# A libc whose control block shows nothing as long as there is one thread.
by_both case otherstack-musl 60 {
	set t [start_command [build_target musl-gcc otherstack.c -g -Wno-error -fno-omit-frame-pointer]]
	set m [live_start -p [pid_of $t]]
	foreach round {1 2 3} {
		order $t thread
		live $m "wait 0.3"
	}
	check_functions $m 644 thread_main
	finish $t $m
}

# One more block of the coroutine: does any of them have a whole stack?
proc fiber_is_whole {t m} {
	order $t fiber
	foreach site [live_value $m mdbg::sites] {
		foreach frame [live_value $m "mdbg::frames [dict get $site stack]"] {
			if {[dict get $frame function] eq "fiber_main"} {
				return 1
			}
		}
	}
	return 0
}

# Where a filter might end the thread, nobody asks the kernel: the first stack ends, and says why, and a later one is whole.
case otherstack-seccomp 60 {
	set t [start otherstack]
	order $t seccomp
	set m [live_start -p [pid_of $t]]
	order $t fiber
	check {[string first "stack ends here: a stack whose bounds were not known" [live $m "malloc sites"]] >= 0} {[live $m "malloc sites"]}
	until {[fiber_is_whole $t $m]}
	finish $t $m
}
