# SPDX-License-Identifier: GPL-3.0-or-later
# All of the time: sites that hold nothing now, the sorts by what was ever allocated, and trees of calls.

# The function of each row of a tree with its depth and a figure; only the program's own functions.
proc tree_of {m words key} {
	set tree {}
	foreach row [live_value $m "mdbg::tree $words"] {
		if {[dict get $row function] in {main work left right make burst}} {
			lappend tree [list [dict get $row function] [dict get $row depth] [dict get $row $key]]
		}
	}
	return $tree
}

by_both case tree-sums 60 {
	start_watched {t before m} branches
	orders $t "left 10 500" "right 400 7"
	set d [lindex [tree_of $m "by function function == left" bytes] 0 1]
	lassign [list [expr {$d + 1}] [expr {$d + 2}] [expr {$d + 3}]] a b c
	set held [tree_of $m {by function} bytes]
	check {$held eq "{main $d 5000} {work $a 5000} {left $b 5000} {make $c 5000}"} {$held}
	# What was freed is in none of it, but in the sorts of all time, where it is first.
	set ever [tree_of $m {by function sort calls} total]
	check {$ever eq "{main $d 410} {work $a 410} {right $b 400} {make $c 400} {left $b 10} {make $c 10}"} {$ever}
	check {[tree_of $m {by function sort calls limit 99} total] eq $ever} {$::result}
	set callers [tree_of $m {callers by function sort temporary} freed]
	check {$callers eq {{make 0 400} {right 1 400} {work 2 400} {main 3 400} {left 1 0} {work 2 0} {main 3 0}}} {$callers}
	# Each node is what its children are, and what it has allocated itself.
	foreach words {all {callers all sort total} {by function all sort temporary}} {
		set sums [dict create]
		set rows [live_value $m "mdbg::tree $words"]
		foreach row $rows {
			dict incr sums [dict get $row parent] [dict get $row bytes]
			check {[dict get $row parent] < [dict get $row node]} {$row}
		}
		check {[dict get $sums 0] == 5000} {$words: $sums}
		foreach row $rows {
			set node [dict get $row node]
			set below [expr {[dict exists $sums $node] ? [dict get $sums $node] : 0}]
			check {[dict get $row bytes] == $below + [dict get $row own]} {$words: $row: $below}
		}
	}
	# As text: chains are folded, and few are left out without a word.
	set text [live $m "malloc tree by function sort calls"]
	check {[regexp -line {^ +\d+ +410  100.0  \S+} $text] && [regexp -line {^ +2800 +400 +97.6 +right$} $text]} {$text}
	check {[regexp -line {^ +work$} $text] && [regexp {\n\d+ places listed} $text]} {$text}
	set text [live $m "malloc tree callers limit 1"]
	check {[regexp {1 places listed, \d+ with less are left out} $text]} {$text}
	foreach {words why} {{sort growth} *growth* {by line} *function* {limit 1 by function} {*} {callers callers} *callers*} {
		check {[string match $why [live_error $m "malloc tree $words"]]} {$words: $::result}
	}
	finish $t $m $before
}

by_both case tree-idle-sites 60 {
	start_watched {t m} branches
	orders $t "left 10 500" "right 4000 7"
	check {[live_value $m {llength [mdbg::sites function == right]}] == 0} {a filter of a script means what is held}
	foreach words {all {sort total} {sort calls} {sort callrate} {sort temporary}} {
		set order [expr {$words eq "all" ? {all function == work} : "function == work $words"}]
		set sites [live_value $m "mdbg::sites $order"]
		check {[llength $sites] == 2} {$words: $sites}
		set first [lindex $sites 0]
		check {[dict get $first total] == [expr {$words eq "all" ? 10 : 4000}]} {$words: $sites}
	}
	check {[dict get $first freed] == 4000 && [dict get $first freedbytes] == 28000 && [dict get $first callrate] > 0} {$first}
	set text [live $m "malloc sites function == right"]
	check {[regexp {#1  0 bytes in 0 blocks \(0.0 %\)\n    all-time 4000 blocks, 28000 bytes; 4000 freed \(28000 bytes\)\n    [\d.]+ allocations a second} $text]} {$text}
	check {[string match "*\nIn all of the time these have allocated 4000 blocks, 28000 bytes*" $text]} {$text}
	# What was freed has no size any more.
	set text [live $m "malloc sites size < 100 sort calls"]
	check {[string match "*Sites that hold nothing now are not listed: of what was freed only the stack is known*" $text]} {$text}
	foreach {words why} {{by size sort total} {*by size, what was freed is not known*} {all by thread} {*by thread, what*}} {
		check {[string match $why [live_error $m "malloc sites $words"]]} {$words: $::result}
	}
	# What allocates most now, though it holds nothing.
	check {[string match "*'x' is nothing to sort by*" [live_error $m "malloc watch 1 1 sort x"]]} {$::result}
	# On a busy machine it may get the order when the last reading is over.
	until {[puts $m "malloc watch 0.2 3 sort allocations"; hear $m; order $t "right 20000 7"
		regexp {\n#1  \d+ bytes in \d+ blocks, growth \S+ bytes, [1-9]\d{3,} allocations} [live_answer $m 60]]}
	live $m "malloc mark a"
	check {[string match "*not known for an earlier moment*" [live_error $m "malloc sites sort total at a"]]} {$::result}
	finish $t $m
}

# What is from before the attach is told, without a walk if there was one, less what was freed since.
case tree-older-blocks 60 {
	start_watched {t m} renewer 2000
	# The first answer walks the heaps for it, and says so; the next one need not.
	set text [live $m "malloc sites"]
	check {[regexp -line {^The process stood still for } $text]} {$text}
	check {[regexp -line {^Not in these: blocks from before the attach, (\d+) bytes in (\d+) blocks \(([\d.]+) % of all} $text -> bytes nr share]} {$text}
	set text [live $m "malloc sites limit 1"]
	check {![regexp -line {^The process stood still for } $text]} {$text}
	set figures [live_value $m mdbg::malloc]
	set blocks [dict get $figures preattach]
	check {$nr == $blocks && $share > 90} {$nr of $blocks: $share %}
	set freed [order $t "renew 500"]
	set text [live $m "malloc sites"]
	check {[regexp {Not in these: blocks from before the attach, (\d+) bytes in (\d+) blocks} $text -> now nr]} {$text}
	check {$nr == $blocks - 500 && $now == $bytes - $freed} {$now in $nr of $bytes in $blocks less $freed}
	check {![string match "*Not in these*" [live $m "malloc sites function == make"]]} {$::result}
	foreach by {size heap} {
		set text [live $m "malloc sites by $by limit 1"]
		check {[regexp -line "^Of these $nr blocks, $now bytes, are from before the attach\$" $text]} {by $by: $text}
	}
	finish $t $m
}
