# SPDX-License-Identifier: GPL-3.0-or-later
# malloc path, malloc owners: which way leads to a block, and what goes with it.

# The address of a block of this size; of several the first.
proc block_of {m size} {
	set rows [live_value $m "mdbg::allocations size == $size"]
	check {[llength $rows]} {no block of $size bytes}
	return [dict get [lindex $rows 0] address]
}

# The row with this label, or {}.
proc owner_row {rows label} {
	foreach row $rows {
		if {[string match $label [dict get $row label]]} {
			return $row
		}
	}
}

proc check_owner {rows label bytes count} {
	set row [owner_row $rows $label]
	check {$row ne "" && [dict get $row bytes] == $bytes && [dict get $row count] == $count} {$label: $row, of $rows}
	return $row
}

# What is known of keepers.c.
set ::versions 50
set ::list_bytes [expr {$::versions * (40 + 1016)}]
set ::newest_bytes [expr {40 + 1016}]
set ::session_bytes [expr {552 + 216 + $::list_bytes - $::newest_bytes}]

proc start_keepers {} {
	set t [start keepers]
	return [list $t [live_start -p [pid_of $t]]]
}

case owners-known 60 {
	lassign [start_keepers] t m
	set rows [live_value $m mdbg::owners]
	set cache [check_owner $rows "cache \\\[keepers\\]" [expr {1000 + 10 * (72 + 312)}] 21]
	check {[dict get $cache size] == 1000 && [dict get $cache own] == 1000} {$cache}
	# The cursor of the thread borrows what the session owns.
	set session [check_owner $rows "sessions \\\[keepers\\]" $::session_bytes [expr {2 + 2 * ($::versions - 1)}]]
	check_owner $rows "conn \\\[keepers\\]" [expr {136 + 88 + 2008}] 3
	# The newest version and the block of one and other hang on two roots each.
	set several [owner_row $rows "several roots"]
	check {[dict get $several bytes] >= 776 + $::newest_bytes} {$several}
	check {[owner_row $rows "one *"] eq "" && [owner_row $rows "newest *"] eq ""} {$rows}
	set thread [owner_row $rows "stack of thread * in wait_with_block"]
	check {$thread ne "" && [dict get $thread bytes] == 616} {$rows}
	set shared [dict get $several address]
	# It is a group: the block at its address is a part of it.
	set kept 0
	foreach row [live_value $m "mdbg::owners $shared"] {
		incr kept [dict get $row bytes]
	}
	check {[dict get $several blockbytes] == $kept + [dict get $several size] &&
		[dict get $several blockbytes] < [dict get $several bytes]} {$several, $kept below}
	set text [live $m "malloc owners"]
	check {[regexp "are kept by several roots\n +[format 0x%016llx $shared] of \[^\n\]*\n +They are a group of [dict get $several count] blocks that no single root keeps; this one keeps [dict get $several blockbytes] bytes of them\n +`malloc owners by type` and `malloc owners by site` say \[^\n\]*`malloc path [format 0x%llx $shared] all`" [string map {, {}} $text]]} {$text}
	check {[regexp -all "They are a group" $text] == 1} {$text}
	check {[regexp "\nIt is kept by several roots: `malloc path (0x\[0-9a-f\]+) all` names them\n" [live $m "malloc owners $shared"] - address] &&
		$address == $shared} {}
	check {[llength [regexp -all -inline {\n    \S} [live $m "malloc path $shared all"]]] >= 2} {}
	# All rows add up to all blocks.
	set all [live_value $m mdbg::owners]
	set sum 0
	foreach row $all {
		incr sum [dict get $row bytes]
	}
	set held 0
	foreach block [live_value $m mdbg::allocations] {
		incr held [dict get $block size]
	}
	check {$sum == $held} {$sum in all rows, $held in all blocks}
	# One level at a time.
	set down [live_value $m "mdbg::owners [dict get $session address]"]
	check {[llength $down] == 1 && [dict get [lindex $down 0] size] == 216} {$down}
	set down [live_value $m "mdbg::owners [dict get [lindex $down 0] address]"]
	check {[llength $down] == 1 && [dict get [lindex $down 0] bytes] == $::list_bytes - $::newest_bytes} {$down}
	set down_address [format 0x%x [dict get [lindex [live_value $m "mdbg::owners [dict get $session address]"] 0] address]]
	set text [live $m "malloc owners [dict get $session address]"]
	check {[regexp "\n`malloc owners $down_address` says what a block keeps, and `malloc path $down_address` by which way it is kept\n" $text]} {$text}
	check {[regexp "of 552 bytes, keeps $::session_bytes bytes in \\d+ blocks, itself among them\nIt is kept by sessions \\\[keepers\\]\n" $text]} {$text}
	finish $t $m
}

case owners-lost-ring 60 {
	lassign [start_keepers] t m
	set conn [block_of $m 136]
	set buffer [block_of $m 2008]
	order $t lose
	set rows [live_value $m mdbg::owners]
	set lost [check_owner $rows "nothing: lost" [expr {136 + 88 + 2008}] 3]
	check {[owner_row $rows "conn *"] eq ""} {$rows}
	# The loss records say so, too, and where to go on.
	set first [lindex [lsort [list $conn [block_of $m 88]]] 0]
	set kinds {}
	foreach row [live_value $m "mdbg::leaks definite indirect"] {
		dict set kinds [dict get $row kind] $row
		check {[dict get $row ringcount] == [dict get $row count]} {$row}
	}
	check {[dict get $kinds definite address] eq $first && [dict get $kinds indirect through] eq $first} {$first: $kinds}
	set text [live $m "malloc leaks definite indirect"]
	check {[regexp "\n +at [format 0x%016llx $first], in a ring\n" $text] && [regexp "lost through the ring of [format 0x%016llx $first]\n" $text]} {$text}
	set path [live_value $m "mdbg::path $buffer"]
	check {[dict get [lindex $path 0] kind] eq "lost" && [dict get [lindex $path 0] label] eq "only its ring"} {$path}
	check {[dict get [lindex $path end] address] eq $buffer} {$path}
	check {[string match "*Lost: nothing that the process can reach leads to it, but only its ring\n*" [live $m "malloc path $buffer"]]} {}
	finish $t $m
}

# A site's blocks that keep one another count once.
case owners-by 60 {
	start_watched {t m} keepers
	foreach by {type site module thread} {
		set rows [live_value $m "mdbg::owners by $by"]
		check {[llength $rows]} {nothing by $by}
		check {[live $m "malloc owners by $by -brief"] ne ""} {}
	}
	set rows [live_value $m "mdbg::owners by site"]
	set row [owner_row $rows "blocks of 40 bytes *"]
	check {[dict get $row own] >= $::versions * 40 && [dict get $row bytes] >= $::list_bytes} {$row}
	live_value $m "mdbg::owners sort count limit 1"
	# What a page of zeros keeps is itself.
	set row [owner_row [live_value $m "mdbg::owners by type"] "type zeros"]
	check {[dict get $row own] == [dict get $row bytes] && [dict get $row count] > 0} {$row}
	check {[live_value $m "mdbg::owners type == zeros"] ne {}} {}
	foreach {words error} {
		"what" {*'what' is not expected here*}
		"size > many" {*many*}
		"by what" {*'what' is nothing to group by*}
		"by" {*what to group by is missing*}
		"sort age" {*'age' is nothing to sort by*}
		"0x10" {*no block is at 0x10*}
		"0" {*no block is at 0x0*}
		"0xzz" {*0xzz*}
	} {
		check {[string match $error [live_error $m "malloc owners $words"]]} {$words}
	}
	check {[string match {*no block is at 0x10*} [live_error $m "malloc path 0x10"]]} {}
	check {[string match {*some*} [live_error $m "malloc path 0x10 some"]]} {}
	finish $t $m
}

case owners-path 60 {
	lassign [start_keepers] t m
	set table [lindex [lsort [lmap row [live_value $m "mdbg::allocations size == 1016"] {dict get $row address}]] 30]
	set path [live_value $m "mdbg::path $table"]
	check {[dict get [lindex $path 0] label] in {{sessions+0x8 [keepers]} {newest [keepers]}}} {$path}
	check {[dict get [lindex $path end] address] eq $table} {$path}
	set text [live $m "malloc path $table"]
	check {[regexp {\n    sessions\+0x8 \[keepers\](?:: sessions\[1\])?\n    -> 0x[0-9a-f]{16} of 552 bytes, [^\n]*, at byte 32(?:: \.reader)?\n    -> 0x[0-9a-f]{16} of 216 bytes.*more like it, one behind the other\n} $text]} {$text}
	# All ways: two roots have the block, and each is a way.
	set path [live_value $m "mdbg::path [block_of $m 776] all"]
	check {[lsort [lmap row $path {expr {[dict get $row kind] eq "root" ? [dict get $row label] : [continue]}}]] eq {{one [keepers]} {other [keepers]}}} {$path}
	check {[string match "*More than 1 root lead to it*" [live $m "malloc path [block_of $m 776]"]]} {}
	set path [live_value $m "mdbg::path [block_of $m 616]"]
	check {[string match "stack of thread *, in wait_with_block*" [dict get [lindex $path 0] label]]} {$path}
	finish $t $m
}

# Only what matches counts: who keeps the blocks of a size, or of a function.
case owners-of-some 60 {
	lassign [start_keepers] t m
	order $t "reader 100"
	set rows [live_value $m "mdbg::owners function == add_version and size > 500"]
	set row [owner_row $rows "sessions \\\[keepers\\\]"]
	check {[dict get $row count] == 99} {$rows}
	set sum 0
	foreach row $rows {
		incr sum [dict get $row bytes]
	}
	check {$sum == 100 * 1016} {$sum: $rows}
	set session [block_of $m 552]
	set text [live $m "malloc owners $session now size == 40 limit 1"]
	check {[regexp {, of 552 bytes, keeps \d+ bytes in \d+ blocks of those that match\n} $text] && [regexp { match\n} $text]} {$text}
	check {[live_value $m "mdbg::owners size == 12345"] eq {}} {}
	live_value $m "mdbg::owners by site size > 100 and age > 0s sort own limit 2"
	finish $t $m
}

# What was found stays, so that who goes down the tree does not pay for a search at each step; scripts look anew.
case owners-again 60 {
	lassign [start_keepers] t m
	set session [block_of $m 552]
	live $m "malloc owners limit 1"
	foreach command [list "malloc owners $session" "malloc path $session" "malloc path [block_of $m 216] all"] {
		check {[regexp {\nIt is how the process was [^\n]* ago; `now` looks anew} [set text [live $m $command]]]} {$command: $text}
		check {![string match "*looks anew*" [live $m "$command now"]]} {$command now}
	}
	order $t "reader 3"
	# A block that it has not got is looked for anew.
	set reader [dict get [lindex [live_value $m "mdbg::allocations size == 216 sort time"] 0] address]
	check {![string match "*looks anew*" [set text [live $m "malloc path $reader"]]] && [string match "*sessions+0x10*" $text]} {$text}
	order $t lose
	set conn [block_of $m 136]
	check {[dict get [lindex [live_value $m "mdbg::path $conn"] 0] kind] eq "lost"} {a script is told of an old moment}
	finish $t $m
}

# Asked again, a row has how much more it keeps: whose it is that grows.
case owners-change 60 {
	lassign [start_keepers] t m
	check {[dict get [owner_row [live_value $m mdbg::owners] "sessions \\\[keepers\\\]"] change] eq "-"} {a change from nothing}
	live_value $m "mdbg::owners by site"
	orders $t "reader 1000" lose
	set text [live $m "malloc owners sort change limit 1"]
	check {[regexp {#1  \d+ bytes in \d+ blocks \([0-9.]+ %\), \+(\d+) bytes, are kept by sessions \[keepers\]\n} $text -> grown]} {$text}
	check {$grown >= 552 + 216 + 999 * 1056 && $grown < 552 + 216 + 1002 * 1056} {$grown}
	check {[regexp {\nChanges are since it was last asked, [^\n]+ ago\n} $text]} {$text}
	set row [owner_row [live_value $m "mdbg::owners by site sort change limit 1"] *]
	check {[dict get $row change] == [dict get $row bytes] && [dict get $row size] == 552} {$row}
	# What was asked last is what is compared with; a filter asks something else.
	check {[dict get [lindex [live_value $m "mdbg::owners sort change limit 1"] 0] change] == 0} {}
	check {[dict get [lindex [live_value $m "mdbg::owners size > 100 limit 1"] 0] change] eq "-"} {}
	finish $t $m
}

# With debug information the steps are members, as the variable is declared; what is not certain has no name.
case owners-members 60 {
	lassign [start_keepers] t m
	order $t "reader 9"
	set path [live_value $m "mdbg::path [dict get [lindex [live_value $m "mdbg::allocations function == add_version and size == 1016"] 5] address]"]
	check {[dict get [lindex $path 0] member] eq {sessions[2]}} {$path}
	check {[lrange [lmap row $path {dict get $row member}] 1 3] eq {.reader .version .newer}} {$path}
	check {[lrange [lmap row $path {dict get $row type}] 1 3] eq {{struct session} {struct reader} {struct version}}} {$path}
	check {[dict get [lindex $path end-1] member] eq ".table" && [dict get [lindex $path end] type] eq ""} {$path}
	finish $t $m
	start_watched {t m} holders
	order $t "render 20"
	set page [dict get [lindex [live_value $m "mdbg::allocations size == 4000"] 5] address]
	set path [live_value $m "mdbg::path $page"]
	check {[dict get [lindex $path 0] member] eq "cache" && [string match "std::map<std::string, std::unique_ptr<page>*" [dict get [lindex $path 1] type]]} {$path}
	check {[string match "._M_t._M_impl._M_header._M_*" [dict get [lindex $path 1] member]]} {$path}
	# A node is declared as its base, in which the page's address is not.
	check {[dict get [lindex $path end-1] member] eq ""} {$path}
	finish $t $m
}

# A variable of a program without symbols is named by its place in the file, which is the same in each process.
case owners-stripped 60 {
	file copy $::build/targets/keepers $::tmp/keepers
	regexp {\m([0-9a-f]+) \S sessions\n} [exec [need nm] $::tmp/keepers] -> place
	exec [need strip] $::tmp/keepers
	set t [open |[list $::tmp/keepers 2>@stderr] r+]
	chan configure $t -buffering line
	set ::pid_of($t) [lindex [hear $t] 1]
	set m [live_start -p [pid_of $t]]
	set path [live_value $m "mdbg::path [block_of $m 552]"]
	check {[regexp {^data of keepers\+0x([0-9a-f]+)$} [dict get [lindex $path 0] label] - at]} {$path}
	scan "$at $place" {%llx %llx} at place
	check {$at >= $place && $at < $place + 32} {$at, and the variable is at $place}
	live_end $m
	finish $t
}

# Where an outer frame of one thread and the innermost one of another have a block, it is the outer one's: what waits in the
# kernel has words of earlier calls in its frame. A register is said with the function that the thread is in.
case owners-innermost-frame 60 {
	start_watched {t before m} innermost
	set rows [live_value $m mdbg::owners]
	foreach {size label} {456 {stack of thread *, in hold_in_frame} 616 {registers of thread *, in hold_in_register}} {
		set row [owner_row $rows $label]
		check {$row ne "" && [dict get $row bytes] == $size} {$label: $rows}
	}
	finish $t $m $before
}

# The roots of malloc find, by name.
case owners-roots 60 {
	start_watched {t m} leaks
	foreach line [ask_list $t names] {
		dict set size [lindex $line 0] [lindex $line 1]
	}
	foreach {name want} {
		root {slot [leaks]}  inner {slot+0x8 [leaks]}  lost {}  register {register rbx of thread *, in wait_in_register(void\*)*}
		stack {stack of thread *, in wait_in_stack(void\*)*}  dead_stack {}
		tls_thread {tls [leaks] of thread *}  tls_main {tls [leaks] of thread *}
		module_data {data+0x88 [libleaks.so]}  mapping {anonymous mapping 0x*+0x88b80}  shared {mapping /dev/zero*+0x88b80}
	} {
		order $t "case $name"
		set block [block_of $m [dict get $size $name]]
		set want [string map {\[ \\\[} $want]
		set end [expr {[clock seconds] + 20 * $::slower}]
		while {![string match $want [set got [dict get [lindex [live_value $m "mdbg::path $block"] 0] label]]]} {
			check {[clock seconds] < $end} {$name: $got}
		}
	}
	finish $t $m
}

# Where glibc has its lists stands in a page of its file, which most processes never touch.
case owners-untouched-page 60 {
	start_watched {t m} leaks
	order $t "case tls_thread"
	order $t untouched
	foreach line [ask_list $t names] {
		dict set size [lindex $line 0] [lindex $line 1]
	}
	set path [live_value $m "mdbg::path [block_of $m [dict get $size tls_thread]]"]
	check {[string match {tls \[leaks\] of thread *} [dict get [lindex $path 0] label]]} {$path}
	finish $t $m
}

# What a program that counts by cutting finds in the file, as label → {bytes count}.
proc read_heapsnapshot {file} {
	set found {}
	foreach line [split [exec [need node] $::here/heapsnapshot.js $file] \n] {
		check {[regexp {^(\d+) (\d+) (.*)$} $line - bytes count label]} {$line}
		dict set found $label [list $bytes $count]
	}
	return $found
}

case owners-heapsnapshot 60 {
	lassign [start_keepers] t m
	order $t lose
	set done [live_value $m "mdbg::export heapsnapshot $::tmp/file"]
	set found [read_heapsnapshot $::tmp/file]
	check {[dict get $found all] eq [list [dict get $done bytes] [dict get $done count]]} {$done, $found}
	foreach row [live_value $m mdbg::owners] {
		set label [dict get $row label]
		if {$label ne "several roots"} {
			check {[dict exists $found $label] && [dict get $found $label] eq [list [dict get $row bytes] [dict get $row count]]} {$row, $found}
		}
	}
	check {[dict get $found "nothing: lost"] eq [list [expr {136 + 88 + 2008}] 3]} {$found}
	check {[regexp {^\d+ blocks, \d+ bytes, with \d+ pointers written to } [live $m "export heapsnapshot $::tmp/file"]]} {}
	check {[string match "*limit*" [live_error $m "export heapsnapshot $::tmp/file limit 3"]]} {}
	finish $t $m
}

# What Chrome's DevTools compute from the file of a real heap: the same for each root, and two levels down.
proc retained_of {found key} {
	return [expr {[dict exists $found $key] ? [dict get $found $key] : "none"}]
}

proc check_devtools {found rows} {
	foreach row $rows {
		set address [dict get $row address]
		set id [expr {(($address >> 4) ^ (($address >> 36) * 0x9e3779b1)) & 0xffffffff}]
		check {[retained_of $found $id] == [dict get $row bytes]} {DevTools have [retained_of $found $id]: $row}
	}
	return [llength $rows]
}

case owners-devtools 60 {
	foreach program {python3 chromium chromedriver} {
		need $program
	}
	set t [start_command [need python3] $::here/../targets/requests.py $::build/targets/libkept.so]
	set m [live_start -p [pid_of $t]]
	order $t "requests 300"
	live $m interrupt
	live_value $m "mdbg::export heapsnapshot $::tmp/file"
	set retained {}
	set groups {}
	foreach line [split [exec timeout [expr {40 * $::slower}] python3 $::here/devtools.py $::tmp/file] \n] {
		check {[regexp {^(\d+) (\d+) (\d+) (.*)$} $line - bytes self id name]} {DevTools say $line}
		dict set retained $id $bytes
		dict set groups $name $bytes
	}
	set rows [live_value $m mdbg::owners]
	set compared 0
	foreach row $rows {
		set label [dict get $row label]
		if {$label ne "several roots"} {
			check {[retained_of $groups $label] == [dict get $row bytes]} {DevTools have [retained_of $groups $label]: $row}
		}
	}
	# A row has the largest block that its root keeps.
	foreach row [lrange $rows 0 5] {
		set below [live_value $m "mdbg::owners [dict get $row address] limit 50"]
		incr compared [check_devtools $retained $below]
		foreach row [lrange $below 0 1] {
			incr compared [check_devtools $retained [live_value $m "mdbg::owners [dict get $row address] limit 50"]]
		}
	}
	check {[llength $rows] > 5 && $compared > 40} {$compared blocks of [llength $rows] roots}
	live $m cont
	finish $t $m
}
