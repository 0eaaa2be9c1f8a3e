# SPDX-License-Identifier: GPL-3.0-or-later
# The heap walk: what was there before the attach, statistics by heap, free chunks.

# What `heaps` holds: address → usable size.
proc truth_of {t} {
	set truth [dict create]
	foreach line [ask_list $t truth 120] {
		dict set truth [expr [lindex $line 0]] [lindex $line 1]
	}
	return $truth
}

# A list that leaves nothing out: on a machine where a thread that is inside the allocator gets no processor for long,
# mdbg may have to say that it does.
proc certain_list {m} {
	for {set try 0} {$try < 50} {incr try} {
		live $m "malloc allocations > $::tmp/dump" 120
		set text [slurp $::tmp/dump]
		if {![regexp {not listed, as calls were under way|The heap is damaged} $text]} {
			return $text
		}
	}
	fail "no list is certain: [lrange [split [string trimright $text] "\n"] end-1 end]"
}

# The list of mdbg against the truth: those from before the attach, to the block. Besides the target's own there are the
# vectors of thread-local storage that libc has for each of its eight threads (280 bytes).
proc check_early {t m} {
	set text [certain_list $m]
	set truth [truth_of $t]
	set vectors 0
	set early 0
	foreach block [parse_allocations $text] {
		if {[dict get $block seq] ne "-"} {
			continue
		}
		incr early
		set address [dict get $block address]
		set size [dict get $block size]
		check {[dict get $block stack] eq {{0 {(allocated before attach)}}}} {$block}
		if {![dict exists $truth $address]} {
			check {$size == 280} {[format 0x%x $address] of $size is listed, but not held}
			incr vectors
			continue
		}
		check {[dict get $truth $address] == $size} {[format 0x%x $address] of $size has [dict get $truth $address]}
		check {[dict get $block heap] ne "-"} {no heap: $block}
		dict unset truth $address
	}
	check {[dict size $truth] == 0} {[dict size $truth] are held, but not listed: [lrange $truth 0 5]}
	check {$vectors == 8} {$vectors blocks of 280 bytes too many}
	check {[string match "* $early allocations, * bytes from before the attach" \
		[lindex [split [string trimright $text] "\n"] end]]} {the last line does not say $early}
	return $early
}

# How many arenas there are. glibc 2.44 lets two of the nine threads share one.
proc arenas_of {t} {
	return [expr {[llength [dict get [info_of $t] systems]] - 1}]
}

by_both case heap-before-attach 120 {
	start_watched {t before m} heaps 100000
	set n [check_early $t $m]
	check {$n > 49000} {only $n}
	set figures [live_value $m mdbg::malloc]
	check {[llength [dict get $figures heaps]] == [arenas_of $t]} {not [arenas_of $t] heaps: $figures}
	check {[dict get $figures active] == $n && [dict get $figures preattach] == $n} {$n are listed: $figures}
	check {[dict get $figures damages] == 0} {$figures}
	# What is freed now is gone from it, and no record is missed.
	order $t "free 2000"
	check {[check_early $t $m] == $n - 2000} {after 2000 frees}
	check {[dict get [live_value $m mdbg::malloc] unknownfrees] == 2000} {$::result}
	finish $t $m $before
}

# The heaps of a forked server, of one that has locked some of its pages.
by_both case heap-in-many-mappings 60 {
	set t [start heaps 20000]
	set nr [llength [split [slurp /proc/[pid_of $t]/maps] \n]]
	order $t split
	check {[llength [split [slurp /proc/[pid_of $t]/maps] \n]] > $nr + 20} {it is in no more mappings}
	set m [live_start -p [pid_of $t]]
	check_early $t $m
	check_figures $t $m
	live $m "malloc check"
	check {[dict get [live_value $m mdbg::malloc] damages] == 0} {$::result}
	finish $t $m
}

# Eight threads allocate and free all the time: the blocks that do not move are the same, round by round.
by_both repeated heap-before-attach-at-work 120 {
	set t [start heaps 20000]
	order $t churn
	set m [live_start -p [pid_of $t]]
	set n [check_early $t $m]
	for {set i 1} {$i < $::trials} {incr i} {
		check {[check_early $t $m] == $n} {round $i}
	}
	live $m "malloc"
	order $t calm
	check {[check_early $t $m] == $n} {when they are calm again}
	# All that they had is freed: what is recorded is nothing.
	check {[live_value $m {llength [mdbg::allocations seq > 0]}] == 0} {$::result blocks are left}
	finish $t $m
}

# mallinfo2 and malloc_info, word by word.
proc info_of {t} {
	set info [dict create systems {}]
	foreach line [ask_list $t info] {
		if {[lindex $line 0] eq "mallinfo"} {
			set info [dict merge $info [lrange $line 1 end]]
		} else {
			dict lappend info systems [lindex $line 1]
		}
	}
	return $info
}

proc sum_of {heaps args} {
	set sum 0
	foreach heap $heaps {
		foreach key $args {
			incr sum [dict get $heap $key]
		}
	}
	return $sum
}

proc check_figures {t m} {
	set info [info_of $t]
	set figures [live_value $m mdbg::malloc]
	set heaps [dict get $figures heaps]
	set main [lindex $heaps 0]
	set same [list arena [sum_of $heaps system] \
		fordblks [sum_of $heaps top free fast] \
		uordblks [expr {[sum_of $heaps system] - [sum_of $heaps top free fast]}] \
		fsmblks [sum_of $heaps fast] smblks [sum_of $heaps fastchunks] \
		ordblks [expr {[sum_of $heaps freechunks] + [llength $heaps]}] \
		hblks [dict get $figures mapped] hblkhd [dict get $figures mappedbytes] \
		keepcost [dict get $main top]]
	dict for {name got} $same {
		check {[dict get $info $name] == $got} {$name: $got, but the target says [dict get $info $name]}
	}
	# malloc_info has the main one first, the youngest next, and all in one at the end.
	set systems [lmap heap $heaps {dict get $heap system}]
	set want [list [lindex $systems 0] {*}[lreverse [lrange $systems 1 end]]]
	check {[lrange [dict get $info systems] 0 end-1] eq $want} {systems: $want, but [dict get $info systems]}
	foreach heap $heaps {
		check {[dict get $heap whole]} {not whole: $heap}
	}
	return $figures
}

by_both case heap-figures 60 {
	start_watched {t m} heaps 20000
	check_figures $t $m
	order $t "free 5000"
	check_figures $t $m
	order $t hole
	set figures [check_figures $t $m]
	# In each heap what is acquired is free, in a cache or held.
	set text [live $m malloc]
	check {[regexp {current process brk value\.+ 0x[0-9a-f]{16}\n} $text]} {$text}
	regsub {The Process Heap.*} $text "" text
	foreach part [lrange [split [string map {"    Heap " \0} $text] \0] 1 end] {
		regexp {acquired from (?:sbrk|mmap)\(\)\.+ (\d+).*freespace tree\.+ (\d+).*caches\.+ (\d+).*held, with headers\.+ (\d+)} $part \
			-> system free cached held
		check {$system == $free + $cached + $held && $held > 0} {heap $part}
		check {[string match "0\n*" $part] == [string match "*acquired from sbrk()*" $part]} {sbrk or mmap? $part}
	}
	foreach heap [lassign [dict get [live_value $m mdbg::malloc] heaps] main] {
		check {[dict get $heap sbrk] == 0 && [dict get $heap mmap] == [dict get $heap system]} {not mapped: $heap}
	}
	check {[dict get $main sbrk] == [dict get $main system] && [dict get $main mmap] == 0} {mapped: $main}
	finish $t $m
}

case heap-freespace 60 {
	start_watched {t m} heaps 20000
	set figures [live_value $m mdbg::malloc]
	set heaps [dict get $figures heaps]
	live $m "malloc freespace > $::tmp/all"
	set lines [lsearch -all -inline [split [slurp $::tmp/all] "\n"] 0x*]
	set bytes 0
	foreach line $lines {
		lassign $line address size heap kind
		incr bytes $size
		incr of($heap,$kind) $size
		incr nr($heap,$kind)
	}
	set i 0
	foreach heap $heaps {
		foreach {kind key} {tcache cached fastbin fast bin free top top} {
			if {![info exists of($i,$kind)]} {
				lassign {0 0} of($i,$kind) nr($i,$kind)
			}
			check {$of($i,$kind) == [dict get $heap $key] && $nr($i,$kind) == [dict get $heap ${key}chunks]} \
				{heap $i: $of($i,$kind) of $kind, but: $heap}
		}
		incr i
	}
	check {[string match "*\n[llength $lines] free chunks, $bytes bytes\n" [slurp $::tmp/all]]} {the last line}
	set some [lsearch -all -inline [split [live $m "malloc freespace size > 1K and heap == 2 sort size limit 5"] "\n"] 0x*]
	check {[llength $some] == 5} {limit 5: $some}
	foreach line $some {
		check {[lindex $line 1] > 1024 && [lindex $line 2] == 2} {$line}
	}
	check {[lindex $some 0 1] >= [lindex $some 4 1]} {sort size: $some}
	live_error $m "malloc freespace thread == 1"
	finish $t $m
}

# The main heap goes on behind what somebody else got from sbrk; some of it is younger than the attach.
by_both case heap-with-a-hole 60 {
	set t [start heaps 20000]
	order $t hole
	set m [live_start -p [pid_of $t]]
	set n [check_early $t $m]
	check {$n > 11000} {only $n}
	finish $t $m
}

# Where sbrk fails the main heap goes on in mappings, which lie anywhere.
by_both case heap-in-pieces 60 {
	set t [start heaps 20000]
	order $t block
	set m [live_start -p [pid_of $t]]
	set n [check_early $t $m]
	check {$n > 15000} {only $n}
	set figures [live_value $m mdbg::malloc]
	check {[dict get $figures damages] == 0} {damage: $figures}
	set main [lindex [dict get $figures heaps] 0]
	check {[dict get $main whole] == 1} {not whole: $main}
	lassign [list [dict get $main sbrk] [dict get $main mmap]] sbrk mmap
	check {$sbrk > 0 && $mmap > 0 && $sbrk + $mmap == [dict get $main system]} {sbrk and mmap: $main}
	check {[regexp "sbrk\\(\\)\\.+ $sbrk\n +bytes acquired from mmap\\(\\)\\.+ $mmap\n" [live $m malloc]]} {other lines: [live $m malloc]}
	check {[regexp {: 0 places are damaged|no damage|nothing is damaged} [set text [live $m "malloc check"]]]} {$text}
	finish $t $m
}

# Both, and parts of somebody else's twice: each part of the heap ends before the next one, and not at the top.
by_both case heap-in-pieces-with-holes 60 {
	set t [start heaps 20000]
	orders $t hole "free 3000" hole block "free 1000"
	set m [live_start -p [pid_of $t]]
	set n [check_early $t $m]
	check {$n > 14000} {only $n}
	check {[dict get [live_value $m mdbg::malloc] damages] == 0} {[live $m "malloc check"]}
	finish $t $m
}

# Where something else may be the reason no block is said to be from before the attach.
by_both case heap-not-recorded 60 {
	start_watched {t m} heaps 2000
	check {[regexp {allocated before attach} [live $m "malloc allocations limit 5"]]} {at first}
	order $t hole
	check {[live_value $m {llength [mdbg::allocations seq > 0]}] == 2000} {$::result recorded}
	live $m "malloc reset"
	set text [live $m "malloc allocations"]
	check {![regexp {allocated before attach} $text] && [regexp {\(not recorded\)\n} $text]} {after a reset}
	check {[regexp {bytes not recorded$} $text]} {[lindex [split [string trimright $text] "\n"] end]}
	live_end $m
	foreach option {{--sample 4096} --no-arm} {
		set m [live_start {*}$option -p [pid_of $t]]
		live $m "malloc on"
		set text [live $m "malloc allocations limit 5"]
		check {![regexp {allocated before attach} $text] && [regexp {\(not recorded\)\n} $text]} {$option: $text}
		live_end $m
	}
	finish $t
}

# A program that is watched from its first malloc has nothing from before.
case heap-of-a-program 30 {
	set out [mdbg_ok -q -c {wait until {[dict get [mdbg::malloc] active] > 0} timeout 20} -c {malloc allocations} -- [hello] cat]
	check {[regexp {[1-9]\d* allocations, .*; 0 allocations, 0 bytes from before the attach} $out]} {[string range $out end-300 end]}
}

# Without probes nothing is recorded, and nothing is claimed of it; the heaps are walked all the same.
case heap-without-probes 60 {
	set t [start heaps 5000]
	set before [state [pid_of $t]]
	set m [live_start --no-arm -p [pid_of $t]]
	set truth [truth_of $t]
	foreach block [parse_allocations [certain_list $m]] {
		check {[dict get $block stack] eq {{0 {(not recorded)}}}} {$block}
		if {[dict exists $truth [dict get $block address]]} {
			check {[dict get $truth [dict get $block address]] == [dict get $block size]} {$block}
			dict unset truth [dict get $block address]
		}
	}
	check {[dict size $truth] == 0} {[dict size $truth] blocks are not listed}
	set text [live $m malloc]
	check {[regexp {Probes\.+ none} $text] && ![regexp {since attach|Recording} $text]} {$text}
	check {[regexp {no damage found} [live $m "malloc check"]]} {[live $m "malloc check"]}
	check {[regexp {no probes: nothing is recorded} [live $m status]]} {[live $m status]}
	check {[regexp {nothing is recorded: `malloc on`} [live_error $m "malloc sites"]]} {malloc sites}
	live $m "malloc on"
	order $t "free 100"
	check {[regexp {Recording since} [live $m malloc]]} {malloc on}
	finish $t $m $before
}

# A header is overwritten: the walk says so, and the other heaps are as they were.
case heap-damaged 60 {
	start_watched {t m} heaps 20000
	set n [check_early $t $m]
	order $t smash
	set figures [live_value $m mdbg::malloc]
	check {[dict get $figures damages] > 0} {no damage: $figures}
	set whole [lmap heap [dict get $figures heaps] {dict get $heap whole}]
	# A cache of another one's thread may have a chunk in the part that could not be walked.
	check {[lindex $whole 0] == 0 && [llength [lsearch -all $whole 1]] >= 4} {whole: $whole}
	check {[regexp {The heap is damaged} [live $m "malloc allocations"]]} {malloc allocations does not say}
	set text [live $m "malloc check"]
	check {[regexp {Heap 0, 0x[0-9a-f]+8: this is no chunk header: size 0x4141414141414141\n  before it: 0x} $text]} {$text}
	check {[regexp {[1-9]\d* (place is|places are) damaged\n} $text]} {$text}
	order $t mend
	check {[regexp "[arenas_of $t] heaps, \\d+ chunks: no damage found\n" [live $m "malloc check"]]} {mended: [live $m "malloc check"]}
	check {[check_early $t $m] == $n} {mended}
	finish $t $m
}

# A block is written past its end into the top chunk: that block is named, and no other is lost.
case heap-damaged-at-top 60 {
	start_watched {t m} heaps 20000
	set n [check_early $t $m]
	order $t overrun
	set text [live $m "malloc check"]
	check {[regexp {Heap 0, 0x[0-9a-f]+8: the top chunk has a wrong size: 0x4242424242424242\n  before it: (0x[0-9a-f]+)} $text -> block]} {$text}
	check {[regexp {chunks: 1 place is damaged\n} $text]} {[string range $text end-300 end]}
	check {[regexp {block of 262144 bytes} [live $m "malloc find $block"]]} {[live $m "malloc find $block"]}
	order $t mend
	check {[check_early $t $m] == $n} {blocks are lost}
	finish $t $m
}

# Any address of a block, of what is free, and of neither.
by_both case heap-find 60 {
	start_watched {t m} heaps 2000
	set truth [truth_of $t]
	foreach {address size} [lrange $truth 200 219] {
		set text [live $m "malloc find $address"]
		check {[regexp "is byte 0 of a block of $size bytes at [format 0x%016x $address], (in heap \\d|mapped on its own)\n    \\(allocated before attach\\)" $text]} \
			{$address of $size: $text}
		set last [expr {$address + $size - 1}]
		set text [live $m "malloc find [format 0x%x $last]"]
		check {[regexp "is byte [expr {$size - 1}] of a block of $size bytes at [format 0x%016x $address]," $text]} {$last: $text}
	}
	order $t hole
	set block [live_value $m {lindex [mdbg::allocations seq > 0 and size > 2000] 0}]
	set address [dict get $block address]
	set text [live $m "malloc find [expr {$address + 1999}]"]
	check {[regexp "is byte 1999 of a block of [dict get $block size] bytes at .*\n    allocated at .* by thread [pid_of $t]\n    0x\[0-9a-f\]+ (malloc|memalign)\n .*fill" $text]} {$text}
	set free [lindex [lsearch -all -inline [split [live $m "malloc freespace size > 500 limit 1"] "\n"] 0x*] 0 0]
	check {[regexp {is byte 8 of a free chunk \((tcache|bin)\) of \d+ bytes at} [live $m "malloc find [expr {$free + 8}]"]]} {$free}
	check {[regexp {is in no block that is known} [live $m "malloc find 0x1000"]]} {0x1000}
	live_error $m "malloc find here"
	finish $t $m
}

# libc is in the program: its heap is known all the same.
case heap-static 60 {
	set t [start_command [build_target gcc heaps.c -g -static] 9000]
	set m [live_start -p [pid_of $t]]
	live $m "malloc allocations > $::tmp/dump"
	set truth [truth_of $t]
	foreach block [parse_allocations [slurp $::tmp/dump]] {
		if {[dict exists $truth [dict get $block address]]} {
			check {[dict get $truth [dict get $block address]] == [dict get $block size]} {$block}
			dict unset truth [dict get $block address]
		}
	}
	check {[dict size $truth] == 0} {[dict size $truth] blocks are not listed}
	check {[regexp {no damage found} [live $m "malloc check"]]} {[live $m "malloc check"]}
	finish $t $m
}

# Chunks of their own in pages of hugetlbfs are found, and no page of the pool is taken.
case heap-huge-pages 90 {
	with_huge_pages 40 {
		set t [start_command env GLIBC_TUNABLES=glibc.malloc.hugetlb=2 $::build/targets/hard -t 4]
		order $t "make 4 [expr {5 << 20}]"
		if {[regexp -all {/anon_hugepage} [slurp /proc/[pid_of $t]/maps]] < 4} {
			finish $t
			skip {no huge pages, or a glibc that does not use them}
		}
		regexp {HugetlbPages:[^\n]*} [slurp /proc/[pid_of $t]/status] before
		set m [live_start --no-arm -p [pid_of $t]]
		set text [live $m malloc]
		check {[regexp {blocks mapped on their own\.+ 4\n} $text]} {$text}
		check {[regexp {no damage found} [live $m "malloc check"]]} {[live $m "malloc check"]}
		set kinds [dict get [live_value $m mdbg::memory] kinds]
		check {[dict get $kinds mapped vsize] == [dict get [live_value $m mdbg::malloc] mappedbytes]} {$kinds}
		regexp {HugetlbPages:[^\n]*} [slurp /proc/[pid_of $t]/status] now
		check {$now eq $before} {$before became $now}
		finish $t $m
	}
}

# The arenas of such a process lie as if they had huge pages, if there are none as well.
case heap-no-huge-pages 30 {
	set t [start_command env GLIBC_TUNABLES=glibc.malloc.hugetlb=2 $::build/targets/hard -t 8]
	order $t "make 4 [expr {5 << 20}]"
	set m [live_start --no-arm -p [pid_of $t]]
	check {[regexp {no damage found} [live $m "malloc check"]]} {[live $m "malloc check"]}
	check {[dict get [live_value $m mdbg::malloc] mapped] == 4} {[live $m malloc]}
	finish $t $m
}

# Of a process with one heap a label has one value, wherever it stands.
case heap-labels 60 {
	start_watched {t m} kinds
	orders $t "heap 2" "burst 1"
	set text [live $m malloc]
	check {![string match "*Heap 1\n*" $text] && [regexp {Heap 0\n(.*)The Process Heap.*All Heaps\n(.*)} $text -> one all]} {$text}
	foreach {- label value} [regexp -all -inline -line {^ +([^.\n]+)\.\.+ (\d+)$} $one] {
		dict set seen $label $value
	}
	foreach {- label value} [regexp -all -inline -line {^ +([^.\n]+)\.\.+ (\d+)$} $all] {
		check {![dict exists $seen $label] || [dict get $seen $label] == $value} {$label: $value, and [dict get $seen $label]}
	}
	check {[dict exists $seen "bytes held, with headers"] && [dict exists $seen "since attach, and still held"]} {$seen}
	finish $t $m
}
