# SPDX-License-Identifier: GPL-3.0-or-later
# Frees that are wrong, and those that only look so.


# The wrong frees that mdbg tells of: a dict ADDRESS KIND of each.
proc told {m} {
	set told {}
	foreach free [dict get [live_value $m mdbg::check] frees] {
		lappend told [dict get $free address] [dict get $free kind]
	}
	return $told
}


proc functions {m stack} {
	return [live_value $m "lmap frame \[mdbg::frames $stack\] {dict get \$frame function}"]
}

# Each kind once: what it was, who did it, who had allocated it.
by_both case wrong-frees 60 {
	set t [start wrong]
	set m [live_start -p [pid_of $t]]
	foreach {command kind by} {twice double wrong_free(void*) delete double wrong_delete(char*) inside inside wrong_free(void*)
			stack stack wrong_free(void*) data module wrong_free(void*) other double wrong_free(void*)} {
		set address [order $t $command]
		set check [live_value $m mdbg::check]
		set found [lsearch -all -inline -glob [dict get $check frees] "*kind $kind address $address *"]
		set free [lindex $found end]
		check {$found ne {}} {$command: nothing of $address: $check}
		check {[dict get $free thread] == [pid_of $t]} {$command: $free}
		set names [functions $m [dict get $free stack]]
		check {[lindex $names 0] eq "free" || [lindex $names 0] eq "__libc_free"} {$command: $names}
		check {$by in $names && "main" in $names} {$command: $names}
		if {$kind in {double inside}} {
			check {[dict get $free size] == ($command eq "other" ? 700 : 300)} {$command: $free}
			check {"allocate(unsigned long)" in [functions $m [dict get $free allocstack]]} {$command: $free}
		}
	}
	check {[dict get $check doublefrees] == 3 && [dict get $check doubt] eq "" && [dict get $check untold] eq ""} {$check}
	check {[llength [dict get $check frees]] == 6} {$check}
	set text [live $m "malloc check"]
	check {[regexp {Double free of 0x[0-9a-f]{16} at [-0-9]+ [:0-9]+ by thread \d+:\n    0x[0-9a-f]+ free\n.*wrong_free.*\n  its 300 bytes were allocated at .* by thread \d+:\n    0x[0-9a-f]+ malloc\n.*allocate} $text]} {$text}
	check {[regexp {Invalid free of 0x[0-9a-f]{16}, which is byte 16 of a block of 300 bytes at 0x[0-9a-f]{16}, at } $text]} {$text}
	check {[regexp {Invalid free of 0x[0-9a-f]{16}, which is on the thread's own stack, at } $text]} {$text}
	check {[regexp {Invalid free of 0x[0-9a-f]{16}, which is in wrong, at } $text]} {$text}
	check {[regexp {\n3 double frees, 3 invalid frees, 0 frees of unknown blocks} $text]} {$text}
	live $m "malloc reset"
	check {[told $m] eq {}} {after a reset: [told $m]}
	live_end $m
	finish $t
}

# What is none, or cannot be known.
by_both case wrong-frees-not 60 {
	set t [start wrong]
	set m [live_start -p [pid_of $t]]
	order $t early
	order $t early
	order $t reuse
	order $t "threads 5"
	set check [live_value $m mdbg::check]
	check {[dict get $check frees] eq {} && [dict get $check doublefrees] == 0} {$check}
	set figures [live_value $m mdbg::malloc]
	check {[dict get $figures unknownfrees] == 4} {unknown: $figures}
	# Each thread's cache has 40 blocks less one where sizes are rounded alike; and the cache itself is given back.
	check {[dict get $figures ownfrees] >= 5 * 30} {own: $figures}
	# A gap: what was recorded before it tells nothing.
	set address [order $t twice]
	check {[told $m] eq [list $address double]} {[told $m]}
	live $m "malloc off"
	live $m "malloc on"
	order $t early
	check {[told $m] eq [list $address double]} {[told $m]}
	live_end $m
	finish $t
}

# More than are remembered.
case wrong-frees-many 60 {
	set t [start wrong]
	set m [live_start -p [pid_of $t]]
	order $t "loop 1500"
	set check [live_value $m mdbg::check]
	check {[dict get $check doublefrees] == 1500 && [llength [dict get $check frees]] == 1024} {[dict get $check doublefrees]}
	check {[regexp {The oldest 476 double frees are remembered no more\n1500 double frees} [live $m "malloc check"]]} {not said}
	live_end $m
	finish $t
}

# An operation that never returned may hide a block; the free itself is told.
by_both case wrong-resize 60 {
	set t [start wrong]
	set m [live_start -p [pid_of $t]]
	set address [order $t resize]
	check {[told $m] eq [list $address double]} {[told $m]}
	check {"wrong_resize(void*)" in [functions $m [dict get [lindex [dict get [live_value $m mdbg::check] frees] 0] stack]]} {stack}
	order $t resize
	order $t twice
	set text [live $m "malloc check"]
	check {[regexp {Perhaps a double free of .*Not sure: [12] calls of the allocator never returned} $text]} {$text}
	live_end $m
	finish $t
}

# glibc ends the process: all is there after it.
by_both case wrong-free-abort 60 {
	set t [start wrong]
	set m [live_start -p [pid_of $t]]
	tell $t die
	live $m "wait exit"
	set text [live $m "malloc check"]
	check {[regexp {The heaps cannot be looked at: .*\nDouble free of .*wrong_free.*twice.*\n  its 300 bytes were allocated .*allocate.*\n1 double frees, 0 invalid frees} $text]} {$text}
	check {[lindex [ending $t] 1] eq "SIGABRT"} {it has not aborted}
	live_end $m
}

# jemalloc takes it without a word.
by_both case wrong-frees-jemalloc 60 {
	set library [lindex [glob -nocomplain /usr/lib/*/libjemalloc.so.2] 0]
	if {$library eq ""} {
		skip "libjemalloc is not installed"
	}
	set t [open |[list env LD_PRELOAD=$library $::build/targets/wrong 2>@stderr] r+]
	chan configure $t -buffering line
	set pid [lindex [hear $t] 1]
	set m [live_start -p $pid]
	order $t "threads 3"
	check {[told $m] eq {}} {[told $m]}
	set first [order $t twice]
	check {[told $m] eq [list $first double]} {[told $m]}
	live_end $m
	exec kill $pid
	ending $t
}

# Where the program has allocator functions of its own, nothing is claimed.
case wrong-frees-untold 60 {
	set t [start exact -t 1]
	set m [live_start --sample 64K -p [pid_of $t]]
	check {[dict get [live_value $m mdbg::check] untold] eq "the log samples"} {[live_value $m mdbg::check]}
	check {[regexp {Double frees are not told here: the log samples\n} [live $m "malloc check"]]} {not said}
	live_end $m
	finish $t
}
