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
	start_watched {t m} wrong
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
	finish $t $m
}

# What is none, or cannot be known.
by_both case wrong-frees-not 60 {
	start_watched {t m} wrong
	orders $t early early reuse "threads 5"
	set check [live_value $m mdbg::check]
	check {[dict get $check frees] eq {} && [dict get $check doublefrees] == 0} {$check}
	set figures [live_value $m mdbg::malloc]
	check {[dict get $figures unknownfrees] == 4} {unknown: $figures}
	# Each thread's cache has 40 blocks less one where sizes are rounded alike; and the cache itself is given back.
	check {[dict get $figures ownfrees] >= 5 * 30} {own: $figures}
	# A gap: what was recorded before it tells nothing.
	set address [order $t twice]
	check {[told $m] eq [list $address double]} {[told $m]}
	live_all $m "malloc off" "malloc on"
	order $t early
	check {[told $m] eq [list $address double]} {[told $m]}
	finish $t $m
}

# Most of them cannot be read: free ends by a signal then, at the same instruction as without us, which is not one of ours.
by_both case wrong-frees-wild 60 {
	set t [start wrong]
	set alone [order $t wild]
	check {[llength $alone] >= 20 && [lsearch $alone 11@*] >= 0} {$alone}
	attach_to {before m} $t
	foreach round {1 2} {
		set watched [order $t wild]
		check {$watched eq $alone} {$watched; but alone: $alone}
	}
	set check [live_value $m mdbg::check]
	check {[dict get $check doublefrees] == 0} {$check}
	set unknown [dict get [live_value $m mdbg::malloc] unknownfrees]
	check {$unknown == 2 * [llength $alone]} {$unknown of 2 times [llength $alone]}
	last_double $m [order $t twice]
	live_end $m
	check_state $before [pid_of $t]
	check {[order $t wild] eq $alone} {it is not as before}
	finish $t
}

# What is told of the newest double free, which is of this block.
proc last_double {m address} {
	set free [lindex [dict get [live_value $m mdbg::check] frees] end]
	check {[dict get $free kind] eq "double" && [dict get $free address] eq $address} {$address: $free}
	return $free
}

# Who freed it first: by each way there is to free.
by_both case first-free 60 {
	start_watched {t m} wrong
	live $m "set free-history 4096"
	foreach {command function by} {
		twice free first_free(void*)  delete free first_free(void*)  moved realloc move(void*)
		deleted * first_delete(char*)  late\ 50 free first_free(void*)  other free first_free(void*)
	} {
		set free [last_double $m [order $t $command]]
		check {[dict exists $free firststack] && [dict get $free history] == 4096} {$command: $free}
		set names [functions $m [dict get $free firststack]]
		check {[string match $function [lindex $names 0]] || [lindex $names 0] eq "__libc_$function"} {$command: $names}
		check {$by in $names && [lindex $names 0] ne $by} {$command: $names}
		check {([dict get $free firstthread] == [pid_of $t]) == ($command ne "other")} {$command: $free}
		check {[dict get $free firsttime] <= [dict get $free time]} {$command: $free}
	}
	set text [live $m "malloc check"]
	check {[regexp {Double free of 0x[0-9a-f]{16} at [^\n]*:\n    0x[0-9a-f]+ free\n.*wrong_free.*\n  it was freed first at [-0-9]+ [:0-9]+ by thread \d+:\n    0x[0-9a-f]+ free\n.*first_free.*\n  its 300 bytes were allocated at } $text]} {$text}
	check {![string match "*first free*" $text]} {$text}
	finish $t $m
}

# Not told where it is not remembered: never, no more, not yet.
by_both case first-free-not 60 {
	start_watched {t m} wrong
	check {[live_value $m "set free-history"] == 0} {it is on}
	set address [order $t twice]
	foreach {setting command} {0 twice  3 "late 3"  0 "late 1"} {
		live $m "set free-history $setting"
		set free [last_double $m [order $t $command]]
		check {![dict exists $free firststack] && [dict get $free history] == $setting} {$setting: $free}
	}
	live $m "set free-history 3"
	check {[dict exists [last_double $m [order $t "late 2"]] firststack]} {three are remembered}
	set text [live $m "malloc check"]
	check {[regexp {\n  the first free was not remembered \(`set free-history 4096` remembers those to come\)\n  its 300 } $text]} {$text}
	check {[regexp {\n  the first free is not among those that were remembered \(the last 3\)\n  its 300 } $text]} {$text}
	foreach bad {-1 65537 many {}} {
		set said [live_error $m "set free-history {$bad}"]
		check {[string match "*can't set \"free-history\": '$bad' is not a number from 0 (none is remembered) to 65536*" $said]} {$bad: $said}
	}
	check {[live_value $m "set free-history"] == 3} {it was changed}
	finish $t $m
}

# glibc ends the process: all three stacks are there after it. Set before the attach, too.
by_both case first-free-abort 60 {
	set t [start wrong]
	set m [live_start]
	live_all $m "set free-history 100" "attach [pid_of $t]"
	check {[live_value $m "set free-history"] == 100} {the log has not what was set}
	tell $t die
	live $m "wait exit"
	set text [live $m "malloc check"]
	check {[regexp {Double free of .*wrong_free.*\n  it was freed first at .*first_free.*twice.*\n  its 300 bytes were allocated .*allocate.*\n1 double frees} $text]} {$text}
	check {[lindex [ending $t] 1] eq "SIGABRT"} {it has not aborted}
	live_end $m
}

# A log that is gone on with goes on remembering, also while no mdbg is there.
case first-free-keep 60 {
	start_watched {t before m} wrong
	live_all $m "set free-history 1000" "detach -keep"
	check {[live_value $m "set free-history"] == 1000} {not kept for the next attach}
	live_end $m
	set address [order $t twice]
	set m [live_start -p [pid_of $t]]
	check {[live_value $m "set free-history"] == 1000} {it has [live_value $m "set free-history"]}
	check {[dict exists [last_double $m $address] firststack]} {forgotten}
	check {[dict get [live_value $m mdbg::malloc] freehistory] == 1000} {[live_value $m mdbg::malloc]}
	check {[dict exists [last_double $m [order $t twice]] firststack]} {it does not go on}
	live_kill $m
	set address [order $t twice]
	# What is asked for before is in place of what the log had.
	set m [live_start]
	live_all $m "set free-history 7" "attach [pid_of $t]"
	check {[live_value $m "set free-history"] == 7} {it has [live_value $m "set free-history"]}
	check {[dict get [last_double $m $address] history] == 1000} {forgotten}
	check {[dict get [last_double $m [order $t twice]] history] == 7} {it does not go on}
	finish $t $m $before
}

# Where it cannot be had: said, and nothing is changed.
case first-free-refused 60 {
	set t [start wrong]
	set m [live_start --sample 64K -p [pid_of $t]]
	check {[string match "*the log samples*" [live_error $m "set free-history 10"]]} {$::result}
	check {[live_value $m "set free-history"] == 0} {it was changed}
	live_end $m
	set m [live_start --log-limit 16M -p [pid_of $t]]
	check {[string match "*a log of 16M has room for 4096 frees (--log-limit SIZE makes it larger)*" [live_error $m "set free-history 4097"]]} {$::result}
	check {[live_value $m "set free-history"] == 0} {it was changed}
	live $m "set free-history 4096"
	check {[dict exists [last_double $m [order $t twice]] firststack]} {it is not remembered}
	live_all $m detach "set free-history 5000"
	check {[string match "*has room for 4096*" [live_error $m "attach [pid_of $t]"]]} {$::result}
	check {[live_value $m "mdbg::attach [pid_of $t] -freehistory 4000; set free-history"] == 4000} {not as asked for}
	check {[dict exists [last_double $m [order $t twice]] firststack]} {it is not remembered}
	finish $t $m
}

# What is at an address of a block that was freed.
by_both case first-free-find 60 {
	start_watched {t m} wrong
	set address [order $t once]
	set found [live_value $m "mdbg::find $address"]
	check {[dict get $found what] eq "free" && ![dict exists $found freed]} {$found}
	live $m "set free-history 10"
	set address [order $t once]
	set found [live_value $m "mdbg::find $address"]
	check {[dict get $found what] eq "free" && [dict get $found freed] eq $address && [dict get $found freedsize] == 700} {$found}
	check {"first_free(void*)" in [functions $m [dict get $found freedstack]]} {$found}
	check {"allocate(unsigned long)" in [functions $m [dict get $found allocstack]]} {$found}
	set text [live $m "malloc find $address"]
	check {[regexp {is byte 0 of a free chunk .*\n    A block of 700 bytes was there, at 0x[0-9a-f]{16}\n    freed at [-0-9]+ [:0-9]+ by thread \d+\n    0x[0-9a-f]+ free\n.*first_free.*\n    allocated at .*allocate} $text]} {$text}
	finish $t $m
}

# Changed again and again while threads allocate and free: nothing is lost or counted twice.
repeated first-free-changed 120 {
	start_watched {t before m} exact -t 4 {*}$::rest
	order $t go
	for {set i 0} {$i < 2 * $::trials} {incr i} {
		foreach nr {4096 0 3 50000 1} {
			live $m "set free-history $nr"
		}
		order $t "more 100"
	}
	order $t pause
	set n [compare $t [dump $m]]
	set accounts [live $m "malloc -v"]
	foreach name {"blocks replaced" "frees of unknown blocks" "double frees"} {
		check {[account $accounts $name] == 0} {$name: [account $accounts $name]}
	}
	set held [expr {[account $accounts "blocks recorded"] - [account $accounts "blocks freed"]}]
	check {$held == $n} {$held by the accounts, $n listed}
	finish $t $m $before
}

# More than are remembered.
case wrong-frees-many 60 {
	start_watched {t m} wrong
	order $t "loop 1500"
	set check [live_value $m mdbg::check]
	check {[dict get $check doublefrees] == 1500 && [llength [dict get $check frees]] == 1024} {[dict get $check doublefrees]}
	check {[regexp {The oldest 476 double frees are remembered no more\n1500 double frees} [live $m "malloc check"]]} {not said}
	finish $t $m
}

# An operation that never returned may hide a block; the free itself is told.
by_both case wrong-resize 60 {
	start_watched {t m} wrong
	set address [order $t resize]
	check {[told $m] eq [list $address double]} {[told $m]}
	check {"wrong_resize(void*)" in [functions $m [dict get [lindex [dict get [live_value $m mdbg::check] frees] 0] stack]]} {stack}
	orders $t resize twice
	set text [live $m "malloc check"]
	check {[regexp {Perhaps a double free of .*Not sure: [12] calls of the allocator never returned} $text]} {$text}
	finish $t $m
}

# glibc ends the process: all is there after it.
by_both case wrong-free-abort 60 {
	start_watched {t m} wrong
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
	skip_if {$library eq ""} {libjemalloc is not installed}
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
	finish $t $m
}
