# SPDX-License-Identifier: GPL-3.0-or-later
# memory, memory maps: the figures are the kernel's, and each kind of growth is called what it is.

# A figure of /proc/PID/FILE in bytes, or a count.
proc kernel_figure {pid file key} {
	check {[regexp -line "^$key:\\s+(\\d+)( kB)?" [slurp /proc/$pid/$file] -> n kb]} {no $key in $file}
	return [expr {$kb eq "" ? $n : $n * 1024}]
}

# Faults of the process, as /proc/PID/stat has them: minor, major.
proc kernel_faults {pid} {
	set text [slurp /proc/$pid/stat]
	set fields [string range $text [string last ")" $text]+2 end]
	return [list [lindex $fields 7] [lindex $fields 9]]
}

# `memory` as a dict: row, then heading.
proc parse_memory {text} {
	set lines [split $text "\n"]
	set heading [lindex $lines 0]
	check {[lrange $heading 1 end] eq {VSIZE RSIZE VGROW RGROW PSS SWAP LOCKED MINFLT MAJFLT}} {$heading}
	set rows [dict create]
	foreach line [lrange $lines 1 end] {
		if {$line eq ""} {
			break
		}
		check {[llength $line] == [llength $heading]} {$line}
		foreach name [lrange $heading 1 end] value [lrange $line 1 end] {
			dict set rows [lindex $line 0] $name $value
		}
	}
	return $rows
}

# A figure of all with what mdbg has in the process, which the kernel counts as the process'.
proc with_own {is name} {
	return [expr {[dict get $is $name] + [dict get $is kinds mdbg $name]}]
}

# Nothing happens in the target, which waits for a line, and mdbg touches none of its pages. But PSS changes with
# each process that comes or goes and has a library in common: two looks must find the same, some time.
proc check_same_as_kernel {m pid} {
	foreach {name file key} {
		vsize status VmSize rsize smaps_rollup Rss pss smaps_rollup Pss swap smaps_rollup Swap
		locked smaps_rollup Locked
	} {
		until {[with_own [live_value $m mdbg::memory] $name] == [kernel_figure $pid $file $key]}
	}
	set is [live_value $m mdbg::memory]
	check {[list [dict get $is minflt] [dict get $is majflt]] eq [kernel_faults $pid]} {faults: $is}
	return $is
}

# The page tables are those of before the attach, but for mdbg's memory, and a few that others share with it.
proc check_page_tables {is before pid} {
	set tables [dict get $is kinds kernel rsize]
	check {abs($tables - $before) <= 16384} {page tables: $tables; before the attach $before}
	check {$tables < [kernel_figure $pid status VmPTE]} {page tables of mdbg's memory count: $is}
}

proc check_kinds_add_up {is} {
	foreach figure {vsize rsize swap locked dirty huge} {
		set sum 0
		dict for {kind figures} [dict get $is kinds] {
			if {$kind ni {kernel mdbg}} {
				incr sum [dict get $figures $figure]
			}
		}
		check {$sum == [dict get $is $figure]} {the kinds have $sum bytes of $figure: $is}
	}
}

case memory-figures 60 {
	set t [start kinds]
	foreach line {{heap 4} {anonymous 3} {shared 2} {locked 1} {mapped 2} {threads 3} {ended 2}} {
		order $t $line
	}
	set before [state [pid_of $t]]
	set tables [kernel_figure [pid_of $t] status VmPTE]
	set m [live_start -p [pid_of $t]]
	set is [check_same_as_kernel $m [pid_of $t]]
	check_page_tables $is $tables [pid_of $t]
	check_kinds_add_up $is
	# PSS may change between two looks.
	until {[dict get [set rows [parse_memory [live $m memory]]] all PSS] == [dict get [set is [live_value $m mdbg::memory]] pss]}
	check {[dict keys $rows] eq [list all {*}[dict keys [dict get $is kinds]]]} {rows: [dict keys $rows]}
	foreach {name key} {VSIZE vsize RSIZE rsize PSS pss SWAP swap LOCKED locked MINFLT minflt MAJFLT majflt} {
		check {[dict get $rows all $name] == [dict get $is $key]} {$name: $rows; $key: $is}
	}
	check {[dict get $rows all VGROW] eq "0" && [dict get $rows all RGROW] eq "0"} {$rows}
	check {[dict get $rows heap MINFLT] eq "-" && [dict get $rows kernel VSIZE] eq "-"} {$rows}
	finish $t $m $before
}

# What one order makes is of one kind: {order kind bytes verdict}. Verdicts `heap` and so on are of mdbg::memory.
proc check_kind_grows {m t line kind bytes verdict {ask *}} {
	live_value $m mdbg::memory
	order $t $line
	set is [live_value $m mdbg::memory]
	set slack 300000
	dict for {name figures} [dict get $is kinds] {
		set grown [dict get $figures rgrow]
		if {$name eq $kind} {
			check {$grown >= $bytes && $grown < $bytes * 1.1 + $slack} {$line: $kind has grown by $grown}
		} elseif {$name ni {kernel mdbg}} {
			check {$grown < $slack} {$line: $name has grown by $grown}
		}
	}
	check {[dict get $is verdict kind] eq $verdict} {$line: [dict get $is verdict]}
	check {[string match $ask [dict get $is verdict ask]]} {$line: [dict get $is verdict]}
	return $is
}

proc check_every_kind {m t} {
	set path [spit $::tmp/mapped [string repeat x 3000000]]
	check_kind_grows $m $t "heap 3" heap 3000000 heap "malloc sites sort growth"
	check_kind_grows $m $t "mapped 3" mapped 3145728 mapped "malloc sites heap == mmap sort growth"
	check_kind_grows $m $t "anonymous 3" anonymous 3145728 anonymous "growth mmap"
	check_kind_grows $m $t "shared 3" shared 3145728 shared "growth"
	check_kind_grows $m $t "file $path" files 3000000 files "memory maps"
	# (some pages were there: of calls that were made before, and one of mdbg's own)
	check_kind_grows $m $t "stack 400" main-stack 380000 main-stack where
	check_kind_grows $m $t "ended 40" stacks 900000 stacks thread
	check_kind_grows $m $t "threads 5" stacks 1000000 stacks thread
	set is [live_value $m mdbg::memory]
	check {[dict get $is verdict kind] eq "nothing"} {[dict get $is verdict]}
	check_kinds_add_up $is
}

by_both case memory-kinds 60 {
	start_watched {t m} kinds
	check_every_kind $m $t
	finish $t $m
}

# Without probes the same is known but for the log: whether the heap is in use.
case memory-kinds-unarmed 60 {
	set t [start kinds]
	order $t "threads 3"
	set m [live_start --no-arm -p [pid_of $t]]
	check_kind_grows $m $t "heap 3" heap 3000000 unclear malloc
	check_kind_grows $m $t "mapped 3" mapped 3145728 mapped
	check_kind_grows $m $t "anonymous 3" anonymous 3145728 anonymous
	check_kind_grows $m $t "ended 40" stacks 900000 stacks
	finish $t $m
}

# Of arenas other than the first one, with what is reserved for them.
case memory-arenas 60 {
	start_watched {t m} heaps 100000
	set is [live_value $m mdbg::memory]
	set heaps [dict get [live_value $m mdbg::malloc] heaps]
	set sum 0
	foreach heap $heaps {
		incr sum [dict get $heap system]
	}
	check {[llength $heaps] > 1} {only [llength $heaps] heaps}
	set vsize [dict get $is kinds heap vsize]
	# 64 MB each, of which the arena's own figure has what is used.
	check {$vsize >= $sum && $vsize >= ([llength $heaps] - 1) * 67108864} {$vsize bytes of heaps; the arenas say $sum}
	check {$vsize < [llength $heaps] * 67108864 + $sum} {$vsize bytes of heaps; the arenas say $sum}
	set mapped [dict get [live_value $m mdbg::malloc] mappedbytes]
	check {$mapped > 0 && abs([dict get $is kinds mapped vsize] - $mapped) <= 0.1 * $mapped} \
		{[dict get $is kinds mapped vsize] bytes mapped, and $mapped by the walk}
	finish $t $m
}

# A burst leaves the heap large: seen by two looks, and by one if there is a history.
case memory-burst 60 {
	start_watched {t m} kinds
	check_kind_grows $m $t "burst 8" heap 8000000 free "malloc trim"
	live $m "malloc trim"
	live_value $m mdbg::memory
	set verdict [dict get [live_value $m mdbg::memory] verdict]
	check {[dict get $verdict kind] eq "nothing"} {after the trim: $verdict}
	finish $t $m

	start_watched {t m} cases
	order $t "burst 50000"
	live $m "wait until {\[dict get \[lindex \[mdbg::history] end] count] >= 50000} timeout 20"
	order $t drain
	set text [live $m memory]
	check {[regexp -line {^Verdict: the heap keeps (\d+) bytes .* a trim gives back some (\d+)\. Ask `malloc trim`\.$} \
		$text -> n gives]} {$text}
	check {$n > 5000000 && $gives > $n / 2 && $gives <= $n} {only $n bytes: $text}
	finish $t $m
}

# What is free is known without a history, and so is what a trim gives back: {orders least most ask}.
case memory-kept 60 {
	foreach {orders ask} {
		{{heap 1} {burst 9}} {malloc trim}
		{{heap 1} {threads 4} {arenas 3}} {memory account}
		{{pinned 9}} {malloc pins}
	} {
		set t [start kinds]
		foreach line $orders {
			order $t $line
		}
		set m [live_start --no-arm -p [pid_of $t]]
		foreach look {1 2} {
			set verdict [dict get [live_value $m mdbg::memory] verdict]
			set free [lindex [order $t info] 2]
			check {[dict get $verdict kind] eq "free" && [dict get $verdict ask] eq $ask} {$orders: $verdict}
			# What was never touched of the ends of arenas is free, and not resident.
			check {abs([dict get $verdict bytes] - $free) <= 0.02 * $free + 600000} {$orders: $free free, $verdict}
		}
		if {$ask eq "malloc trim"} {
			set before [kernel_figure [pid_of $t] smaps_rollup Rss]
			live_all $m "malloc on" "malloc trim"
			set gave [expr {$before - [kernel_figure [pid_of $t] smaps_rollup Rss]}]
			check {$gave >= 0.9 * [dict get $verdict gives] - 400000} {$gave bytes came back: $verdict}
		}
		finish $t $m
	}
}

# A resident size does not show what a fork costs, nor what lies behind descriptors; and what was given back shows in it.
case memory-outside 60 {
	foreach {first then kind bytes} {
		{{anonymous 8} fork} change copied 8388608
		{{heap 1}} {memfd 6} descriptors 6291456
		{{heap 1}} {lazy 9} anonymous 9437184
		{{buffers 7}} read shared-touched 7340032
		{} {shared 7} shared 7340032
	} {
		set t [start kinds]
		foreach line $first {
			order $t $line
		}
		set m [live_start --no-arm -p [pid_of $t]]
		live_value $m mdbg::memory
		order $t $then
		set verdict [dict get [live_value $m mdbg::memory] verdict]
		check {[dict get $verdict kind] eq $kind} {$then: $verdict}
		check {abs([dict get $verdict bytes] - $bytes) <= 0.05 * $bytes} {$then: $verdict}
		if {$then eq "lazy 9"} {
			set verdict [dict get [live_value $m mdbg::memory] verdict]
			check {[dict get $verdict kind] eq "lazyfree"} {$verdict}
		}
		finish $t $m
	}
	# A child that ends leaves all that it shared to its parent: nothing was copied.
	set t [start kinds]
	orders $t "anonymous 8" fork
	set m [live_start --no-arm -p [pid_of $t]]
	live_value $m mdbg::memory
	order $t unfork
	set verdict [dict get [live_value $m mdbg::memory] verdict]
	check {[dict get $verdict kind] eq "nothing"} {$verdict}
	finish $t $m
}

# Blocks that were there, and are written to for the first time, are no growth of the heap.
case memory-touched 60 {
	set t [start kinds]
	order $t "reserve 8"
	set m [live_start -p [pid_of $t]]
	check_kind_grows $m $t touch heap 7500000 touched
	finish $t $m
}

# The first answer has no earlier one to compare with; it says so, or what the history of the log proves.
case memory-first-verdict 60 {
	set t [start kinds]
	mdbg_ok -q -c memory -p [pid_of $t]
	check {[regexp -line {^Verdict: what grows is not known from one look; a later one is compared with it\. Ask `memory`\.$} $::out]} {$::out}
	set rows [parse_memory $::out]
	check {[dict get $rows all VGROW] eq "-" && [dict get $rows heap RGROW] eq "-"} {$rows}
	set m [live_start -p [pid_of $t]]
	live $m {proc age {} {expr {[clock milliseconds] / 1e3 - [dict get [lindex [mdbg::history] 1] time]}}}
	live $m {wait until {[llength [mdbg::history]] > 1 && [age] > 2.5} timeout 20}
	order $t "heap 6"
	set text [live $m memory]
	check {[regexp -line {^Verdict: memory in use by malloc grows: blocks hold (\d+) bytes more\y} $text -> n]} {$text}
	check {$n >= 6000000 && $n < 7000000} {$text}
	finish $t $m
}

case memory-maps 60 {
	set t [start kinds]
	foreach line {{anonymous 3} {locked 1} {threads 2} {ended 1}} {
		order $t $line
	}
	set m [live_start -p [pid_of $t]]
	set text [live $m "memory maps"]
	set heading [lindex [split $text "\n"] 0]
	check {[join $heading] eq "START-END SIZE RESIDENT DIRTY SWAPPED LOCKED HUGE CHANGE KIND THREAD PATH"} {$heading}
	set maps [live_value $m mdbg::memory_maps]
	# Each mapping of the kernel's, with the kernel's figures.
	set kernel {}
	foreach {- start end size rss} [regexp -all -inline -line \
		{^([0-9a-f]+)-([0-9a-f]+) .*\nSize: +(\d+) kB\n(?:[A-Z]\w+PageSize:.*\n)*Rss: +(\d+) kB$} \
		[slurp /proc/[pid_of $t]/smaps]] {
		lappend kernel [list [expr {"0x$start"}] [expr {"0x$end"}] [expr {$size * 1024}] [expr {$rss * 1024}]]
	}
	set ours [lmap map $maps {
		list [expr {[dict get $map start]}] [expr {[dict get $map end]}] [dict get $map size] \
			[dict get $map resident]
	}]
	check {$ours eq $kernel} {[llength $ours] mappings, and not the [llength $kernel] of the kernel}
	set lines [llength [split $text "\n"]]
	check {[llength $maps] == $lines - 1} {[llength $maps] mappings, and $lines lines}
	set threads [lsort -integer [lmap map $maps {
		if {![string is integer -strict [dict get $map thread]] || [dict get $map resident] == 0} {
			continue
		}
		dict get $map thread
	}]]
	check {$threads eq [lsort -integer [ask_list $t lwps]]} {stacks of $threads}
	check {[lsearch -exact [lmap map $maps {dict get $map thread}] ended] >= 0} {no stack of a thread that has ended}
	set locked [lsearch -inline -not [lmap map $maps {dict get $map locked}] 0]
	check {$locked == 1048576} {$locked bytes are locked}
	if {[regexp {\[anon:pool\]} [slurp /proc/[pid_of $t]/maps]]} {
		check {[lsearch -exact [lmap map $maps {dict get $map path}] {[anon:pool]}] >= 0} {no name}
	}
	set changes [lsort -unique [lmap map $maps {dict get $map change}]]
	check {$changes eq "0"} {changes: $changes}
	# Pieces of a mapping, and one of several, change nothing in all.
	foreach {line least most} {"anonymous 2" 2097152 2500000 split -200000 200000 join -200000 200000} {
		order $t $line
		set sum 0
		foreach map [live_value $m mdbg::memory_maps] {
			incr sum [dict get $map change]
		}
		check {$sum >= $least && $sum < $most} {$line: changed by $sum}
	}
	finish $t $m
}

# With much in memory there is no PSS, unless it is asked for, and an answer within 200 ms.
case memory-large 60 {
	set t [start kinds]
	order $t "alias 33"
	set m [live_start -p [pid_of $t]]
	set is [live_value $m mdbg::memory]
	skip_if {[dict get $is pss] ne "-"} {the kernel has no PAGEMAP_SCAN}
	check {[with_own $is rsize] == [kernel_figure [pid_of $t] smaps_rollup Rss]} {$is}
	check {[with_own $is vsize] == [kernel_figure [pid_of $t] status VmSize]} {$is}
	check {[dict get $is locked] == 0 && [dict get $is dirty] eq "-"} {$is}
	set whole [live_value $m "mdbg::memory -v"]
	until {[with_own [live_value $m "mdbg::memory -v"] pss] == [kernel_figure [pid_of $t] smaps_rollup Pss]}
	check {[dict get $whole huge] == [dict get $is huge]} {huge: $whole; $is}
	foreach {kind figures} [dict get $is kinds] {
		check {[dict get $figures rsize] == [dict get $whole kinds $kind rsize]} {$kind: $figures; $whole}
	}
	check {[regexp -line {^PSS is - with more than 2 GB in memory} [live $m memory]]} {no word of it}
	finish $t $m
}

case memory-core 60 {
	set t [start kinds]
	orders $t "heap 2" "threads 2"
	set core [gcore [pid_of $t]]
	set m [live_start --core $core]
	set is [live_value $m mdbg::memory]
	check {[dict get $is rsize] eq "-" && [dict get $is minflt] eq "-" && [dict get $is vsize] > 2000000} {$is}
	check {[dict get $is kinds heap vsize] >= 2000000 && [dict get $is kinds stacks vsize] > 2 * 8000000} {$is}
	check {[dict get $is kinds heap rsize] eq "-"} {$is}
	check {[regexp -line {^Verdict: a core file is of one moment} [live $m memory]]} {[live $m memory]}
	check {[lsort -unique [lmap map [live_value $m mdbg::memory_maps] {dict get $map resident}]] eq "-"} {resident}
	finish $t $m
}

case memory-errors 60 {
	foreach command {memory {memory maps} mdbg::memory mdbg::memory_maps} {
		mdbg -q -c $command
		check_refused 1 "no process"
	}
	set t [start kinds]
	foreach {command what} {
		"memory nonsense" "unknown subcommand" "memory -x" "-x" "memory maps 3" "3" "mdbg::memory 1" "1"
	} {
		mdbg -q -c $command -p [pid_of $t]
		check_refused 1 $what
	}
	# The process ends between two answers.
	set m [live_start -p [pid_of $t]]
	live $m memory
	exec kill -KILL [pid_of $t]
	until {![is_alive [pid_of $t]]}
	foreach command {memory {memory maps}} {
		set error [live_error $m $command]
		check {[regexp {has ended|no process|is gone} $error]} {$error}
	}
	live_end $m
}

# What the kernel does not show is one error that says so, and the rest of mdbg works.
case memory-not-permitted 60 {
	set setpriv [need setpriv]
	skip_if {[exec id -u] != 0} {needs root}
	set as_nobody [list $setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all]
	if {[catch {exec {*}$as_nobody [file normalize $::build/targets/kinds] << "" 2>@1} why]} {
		skip "nobody cannot run the target: $why"
	}
	exec chmod 755 $::tmp
	set path [spit $::tmp/as-nobody "#!/bin/sh\nexec $as_nobody [file normalize $::mdbg_program] \"\$@\"\n"]
	file attributes $path -permissions 0755
	set ::mdbg_program $path
	set t [start_command {*}$as_nobody [file normalize $::build/targets/kinds]]
	set m [live_start -p [pid_of $t]]
	live $m memory
	orders $t "heap 1" hide
	foreach command {memory {memory maps}} {
		set error [live_error $m $command]
		check {[string match {memory*: /proc/*/smaps: Permission denied} $error]} {$error}
		check {[string match {*the kernel shows memory to*hidepid*} [live_value $m {set errorCode}]]} \
			{[live_value $m {set errorCode}]}
	}
	check {[string match *keep* [live $m "malloc sites limit 1"]]} {[live $m "malloc sites limit 1"]}
	finish $t
	live_end $m
}

# The heaps of other allocators, without a stop: jemalloc's tree, tcmalloc's spans and mimalloc's pages say where they are and
# what is free in them, and the first two what a purge would give back.
case memory-other-allocators 60 {
	set tried 0
	foreach library {libjemalloc.so.2 libmimalloc.so.2 libtcmalloc_minimal.so.4} {
		set path [lindex [glob -nocomplain /usr/lib/*/$library] 0]
		if {$path eq ""} {
			continue
		}
		incr tried
		set t [start_command env LD_PRELOAD=$path $::build/targets/kinds]
		orders $t "heap 5" "threads 2" "anonymous 4"
		set m [live_start -p [pid_of $t]]
		set was [live_value $m mdbg::memory]
		check {[dict get $was kinds heap rsize] >= 5000000} {$library: $was}
		check {[dict get $was kinds stacks rsize] >= 400000} {$library: $was}
		order $t "heap 3"
		set is [live_value $m mdbg::memory]
		check {[dict get $is kinds heap rsize] >= 3000000} {$library: $is}
		check {[dict get $is verdict kind] eq "heap"} {$library: [dict get $is verdict]}
		check_kinds_add_up $is
		order $t "burst 8"
		set is [live_value $m mdbg::memory]
		if {[string match libjemalloc* $library]} {
			# (Without time for all of it nothing is foretold.)
			check {[dict get $is verdict kind] eq "free"} {[dict get $is verdict]}
			check {[dict get $is verdict gives] eq "-" || [dict get $is verdict gives] > 7000000} {a trim gives [dict get $is verdict]}
		} elseif {[string match libtcmalloc* $library]} {
			# (tcmalloc itself gives some back meanwhile; without time for all of it nothing is foretold.)
			check {[dict get $is verdict kind] eq "free"} {[dict get $is verdict]}
			check {[dict get $is verdict gives] eq "-" || [dict get $is verdict gives] > 5000000} {[dict get $is verdict]}
		} else {
			# (What mi_collect gives back is not foretold.)
			check {[dict get $is verdict kind] eq "free" && [dict get $is verdict gives] eq "-"} {[dict get $is verdict]}
		}
		finish $t $m
	}
	skip_if {!$tried} {no other allocator is installed}
}
