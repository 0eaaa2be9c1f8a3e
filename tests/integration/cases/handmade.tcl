# SPDX-License-Identifier: GPL-3.0-or-later
# Frames that hang from R12 to R15, as people write them in assembly.

proc whole_stacks {m} {
	set found {}
	foreach site [live_value $m mdbg::sites] {
		set functions [lmap frame [live_value $m "mdbg::frames [dict get $site stack]"] {dict get $frame function}]
		check {"main" in $functions && "_start" in $functions} {not to the end: $functions}
		set from [lsearch -glob $functions take_*]
		lappend found [lrange $functions $from $from+2]
	}
	return [lsort $found]
}

by_both case handmade-whole 30 {
	start_watched {t before m} handmade
	order $t "call 20"
	set expected {}
	foreach frame {frame_by_r12 return_in_r13 return_moved bp_in_r14 frame_by_word} {
		foreach take {take_plainly take_busily} {
			lappend expected [list $take $frame call_all]
		}
	}
	check {[whole_stacks $m] eq [lsort $expected]} {[whole_stacks $m]}
	finish $t $m $before
}
