# SPDX-License-Identifier: GPL-3.0-or-later
# malloc pins: whose blocks keep free memory resident, and what would come back.

proc check_about {what is should} {
	check {abs($is - $should) <= 0.05 * $should} {$what: $is, and it should be about $should}
}

# The row of a function; {}: there is none.
proc row_of {rows function} {
	foreach row $rows {
		if {[dict get $row function] eq $function} {
			return $row
		}
	}
}

# The lines at the end of `malloc pins`: bytes by what is said of them.
proc kept_by {text what} {
	foreach line [split $text "\n"] {
		if {[regexp {^ *(\d+)  (.*)} $line - bytes reason] && [string match *$what* $reason]} {
			return $bytes
		}
	}
	return 0
}

# What is promised comes, and what is said to stay stays.
proc check_pins_promise {t m} {
	set text [live $m "malloc pins limit 1"]
	check {[regexp {^Free Memory Kept by Live Blocks:\n\n#1 +(\d+) free bytes on (\d+) pages are kept by (\d+) blocks of (\d+) bytes \([0-9.]+ %\)\n    in keep_small \(pins.c:\d+\)} $text - bytes pages count held]} {$text}
	check {$held == 40 * $count} {$text}
	check {[regexp {If the blocks of #1 were freed, `malloc trim` would give back (\d+) bytes} $text - promised]} {$text}
	order $t "free small"
	lassign [order $t trim] before after
	check_about "what was promised of the small ones" $promised [expr {$before - $after}]
	set rows [live_value $m "mdbg::pins"]
	check {[row_of $rows keep_small] eq "" || [dict get [row_of $rows keep_small] bytes] < $bytes / 50} {$rows}
	check {[dict get [lindex $rows 0] function] eq "keep_large"} {$rows}
	orders $t "free large" trim
}

# The sum over all sites is what is kept, and malloc_trim gives nothing of it back.
proc check_pins_sum {t m} {
	order $t trim
	set text [live $m "malloc pins"]
	set rows [live_value $m "mdbg::pins"]
	set kept [kept_by $text "kept by live blocks"]
	check {[sum_of $rows bytes] == $kept} {[sum_of $rows bytes], not $kept}
	check {[regexp {(\d+) bytes are free in the heaps, (\d+) of them resident} $text - free resident]} {$text}
	check {$resident - [kept_by $text "end of"] - [kept_by $text "ends of"] - [kept_by $text caches] - [kept_by $text data] == $kept} {$text}
	check {[kept_by $text "malloc trim"] == 0} {$text}
	lassign [order $t info] system truth
	check {abs($truth - $free) <= 4096} {free: $free, by mallinfo2 $truth}
	set sums [live_value $m "mdbg::malloc"]
	check {[dict get $sums acquired] == $system && [dict get $sums unused] == $free && [dict get $sums pinned] == $kept} {$system: $sums}
	check {[regexp {bytes in the freespace tree\.+ (\d+)\n +of them resident\.+ (\d+)\n +malloc trim gives back\.+ (\d+)\n +kept by live blocks \(pins\)\.+ (\d+)\n} [live $m malloc] - free resident trimmed pinned]} {[live $m malloc]}
	check {$resident == [dict get $sums unusedresident] && $trimmed == [dict get $sums trimmable] && $pinned == $kept} {$sums}
}

by_both case pins-promise 60 {
	start_watched {t m} pins
	set before [state [pid_of $t]]
	order $t "pin 3000"
	check_pins_sum $t $m
	check_pins_promise $t $m
	check {[state [pid_of $t]] eq $before} {}
	finish $t $m
}

# In an arena of a thread, and blocks from before the attach, which count by size.
case pins-arena 60 {
	start_watched {t m} pins -t
	order $t "pin 3000"
	check_pins_sum $t $m
	check_pins_promise $t $m
	live_end $m
	order $t "pin 3000"
	set m [live_start -p [pid_of $t]]
	set row [lindex [live_value $m "mdbg::pins limit 1"] 0]
	check {[string match {blocks of 40 bytes (allocated before attach)} [dict get $row label]]} {$row}
	check {[dict get $row preattach] && [dict get $row count] > 2900} {$row}
	finish $t $m
}

# What it can be asked, and where it is written to.
case pins-words 60 {
	start_watched {t m} pins
	order $t "pin 1000"
	set all [sum_of [live_value $m mdbg::pins] bytes]
	foreach by {site stack function line module thread size heap} {
		set rows [live_value $m "mdbg::pins by $by"]
		check {[sum_of $rows bytes] == $all} {by $by: [sum_of $rows bytes], not $all}
		check {[live $m "malloc pins by $by limit 1"] ne ""} {$by}
	}
	check {[dict get [lindex [live_value $m "mdbg::pins by heap"] 0] label] eq "heap 0"} {}
	check {[dict get [lindex [live_value $m "mdbg::pins by size sort count"] 0] label] eq "blocks of 40 bytes"} {}
	set rows [live_value $m "mdbg::pins size > 1000"]
	check {[llength $rows] && [row_of $rows keep_small] eq ""} {$rows}
	set text [live $m "malloc pins function == keep_large -brief"]
	check {[regexp {\d+ of them by blocks that do not match} $text]} {$text}
	check {[string match {*'age' is nothing to sort by*} [live_error $m "malloc pins sort age"]]} {}
	check {[string match {*'what' is nothing to group by*} [live_error $m "malloc pins by what"]]} {}
	live $m "export csv $::tmp/pins.csv pins"
	check {[regexp {keep_small} [slurp $::tmp/pins.csv]]} {[slurp $::tmp/pins.csv]}
	live $m "export folded $::tmp/pins.folded pins"
	check {[regexp {;keep_small;malloc (\d+)\n} [slurp $::tmp/pins.folded] - bytes]} {[slurp $::tmp/pins.folded]}
	check {$bytes == [dict get [row_of [live_value $m mdbg::pins] keep_small] bytes]} {$bytes}
	live $m "export flamegraph $::tmp/pins.svg pins"
	check {[regexp {keep_small \(\d+ bytes in \d+ pages} [slurp $::tmp/pins.svg]]} {}
	if {![catch {live $m "export pprof $::tmp/pins.pprof pins"}]} {
		check {[regexp {pinned_space} [exec zcat $::tmp/pins.pprof]]} {}
	}
	check {[string match {*massif has only what malloc holds*} [live_error $m "export massif $::tmp/m pins"]]} {}
	finish $t $m
}

# It is said why malloc trim gives back so little.
case pins-trim 60 {
	start_watched {t m} pins
	order $t "pin 3000"
	set text [live $m "malloc trim"]
	check {[regexp {\n +0  go by `malloc trim`\n +(\d+)  are kept by live blocks} $text - kept] && $kept > 10000000} {$text}
	check {[regexp {\nMost of what live blocks keep, (\d+) bytes, is on pages of \d+ blocks of \d+ bytes from keep_small \(pins.c:\d+\)\n} $text - most]} {$text}
	check {$most > $kept * 0.8} {$text}
	set did [live_value $m mdbg::trim]
	check {[dict get $did pinned] == $kept && ![dict get $did trimmable]} {$did}
	finish $t $m
}

# What is free at the end of another arena than the main one stays.
case pins-ends 60 {
	set t [start pins -t]
	order $t "burst 20"
	set m [live_start -p [pid_of $t]]
	set text [live $m "malloc pins"]
	check {[regexp {(\d+)  at the end of 1 arena: malloc_trim gives back} $text - bytes] && $bytes > 18000000} {$text}
	lassign [order $t trim] before after
	check {$before - $after < 1000000} {$before, $after}
	check {[regexp { 0 KB given back.*\n +\d+  at the end of 1 arena: malloc_trim gives back that of the main one alone} [live $m "malloc trim"]]} {$text}
	finish $t $m
}

# The report of malloc_stats, read from memory, is what the process prints itself.
case pins-stats 60 {
	foreach args {{} -t} {
		set t [start_command sh -c "exec $::build/targets/pins $args 2> $::tmp/stats"]
		orders $t "pin 2000" "free small"
		set m [live_start -p [pid_of $t]]
		set text [live $m "malloc stats"]
		order $t stats
		set should [slurp $::tmp/stats]
		check {[string match "Arena 0:\n*Total (incl. mmap):\n*max mmap bytes*" $should]} {$should}
		check {[string first $should "$text\n"] == 0} {$text, and not $should}
		finish $t $m
	}
}

# The document of malloc_info, read from memory, is byte by byte what the process writes itself.
case pins-stats-xml 60 {
	start_watched {t m} heaps 20000
	foreach line {"free 3000" hole "free 3000"} {
		order $t $line
		set should "[join [ask_list $t xml] "\n"]\n"
		set text [live $m "malloc stats xml"]
		check {[string trim $text] eq [string trim $should]} {after $line: $text, and not $should}
	}
	check {[regexp -all {<heap nr=} $text] == 9 && [regexp {<unsorted } $text] && [regexp {type="subheaps" size="[1-9]} $text]} {$text}
	live $m "malloc stats xml > $::tmp/info.xml"
	check {[slurp $::tmp/info.xml] eq $should} {the file: [slurp $::tmp/info.xml]}
	check {[string match "*'html'*" [live_error $m "malloc stats html"]]} {$::result}
	order $t smash
	check {[string match "*free lists of heap * are damaged, or being changed*" [live_error $m "malloc stats xml"]]} {$::result}
	order $t mend
	check {[string trim [live $m "malloc stats xml"]] eq [string trim $should]} {mended: $::result}
	finish $t $m
}

# Another allocator than glibc's has no such document.
case pins-stats-xml-other 60 {
	set library [lindex [glob -nocomplain /usr/lib/*/libjemalloc.so.2] 0]
	skip_if {$library eq ""} {libjemalloc is not installed}
	set t [start_command env LD_PRELOAD=$library $::build/targets/pins]
	set m [live_start -p [pid_of $t]]
	check {[string match "*malloc_info is glibc's*" [live_error $m "malloc stats xml"]]} {$::result}
	finish $t $m
}

# What a block keeps in which objects of a pool lie, these keep.
case pins-pool 60 {
	start_watched {t m} pool
	live $m "probe alloc pool_alloc size=2 ptr=ret"
	live $m "probe free pool_free ptr=2"
	order $t "alloc 3"
	set all [sum_of [live_value $m mdbg::pins] bytes]
	set rows [live_value $m "mdbg::pins size == 48"]
	check {[llength $rows] && [sum_of $rows bytes] > 0 && [sum_of $rows held] == 3 * 48} {$rows}
	check {[live_value $m "mdbg::pins size == 65536"] eq ""} {}
	check {[sum_of [live_value $m "mdbg::pins by size"] bytes] == $all} {}
	finish $t $m
}
