# SPDX-License-Identifier: GPL-3.0-or-later
# Filters, order, limits, sites, redirection, the Tcl API: on a target that stands still.

proc with_target {ops body} {
	uplevel 1 [list set ops $ops]
	uplevel 1 {
		start_watched {t before m} exact -t 4 {*}$::rest
		orders $t "ops $ops" go "more 20" pause
	}
	uplevel 1 $body
	uplevel 1 {
		finish $t $m $before
	}
}

proc allocations {m words} {
	live $m "malloc allocations $words > $::tmp/list"
	return [recorded [parse_allocations [slurp $::tmp/list]]]
}

proc values {blocks key} {
	return [lmap block $blocks {dict get $block $key}]
}

case filters 60 {
	with_target 600 {
		set all [allocations $m ""]
		set n [llength $all]
		foreach {relop} {== != < <= > >=} {
			set want {}
			foreach block $all {
				if [list [dict get $block size] $relop 100] {
					lappend want [dict get $block address]
				}
			}
			check {[values [allocations $m "size $relop 100"] address] eq $want} {size $relop 100}
		}
		set thread [dict get [lindex $all 0] thread]
		set some [allocations $m "thread == $thread"]
		set others [allocations $m "thread != $thread"]
		check {[llength $some] + [llength $others] == $n} {thread == and != do not add up}
		check {[lsort -unique [values $some thread]] eq $thread} {thread == $thread lists others}
		set address [dict get [lindex $all 5] address]
		check {[values [allocations $m "address == [format 0x%x $address]"] address] eq $address} {address ==}
		check {[llength [allocations $m "size > 100 and size <= 200 and thread != $thread"]] <
		       [llength [allocations $m "size > 100"]]} {and}
		check {[values [allocations $m "size > 1K"] address] eq [values [allocations $m "size > 1024"] address]} {1K}
		check {[llength [allocations $m "pid == [pid_of $t]"]] == $n} {pid ==}
		check {[llength [allocations $m "age < 1h"]] == $n} {age < 1h}
		check {[llength [allocations $m "age > 1d"]] == 0} {age > 1d}
		check {[llength [allocations $m "time > '2020-01-01 00:00:00'"]] == $n} {time > 2020}
		set calloc [allocations $m "function == calloc"]
		foreach block $calloc {
			check {[string match *calloc* [dict get $block stack]]} {function == calloc lists $block}
		}
		check {[llength $calloc] > 0 && [llength $calloc] + [llength [allocations $m "function != calloc"]] == $n} {function}
		check {[llength [allocations $m "function == operate*"]] == $n || [llength [allocations $m "function == work*"]] > 0} {function glob}
		check {[llength [allocations $m "module == libstdc++*"]] > 0} {module glob}
		set seq [dict get [lindex $all 3] seq]
		check {[values [allocations $m "seq == $seq"] address] eq [dict get [lindex $all 3] address]} {seq ==}
	}
}

case sort-and-limit 60 {
	with_target 600 {
		set all [allocations $m ""]
		check {[values $all address] eq [lsort -integer [values $all address]]} {not in order of address}
		check {[values [allocations $m "sort size"] size] eq [lsort -integer -decreasing [values $all size]]} {sort size}
		check {[values [allocations $m "sort size up"] size] eq [lsort -integer [values $all size]]} {sort size up}
		check {[values [allocations $m "sort seq up"] seq] eq [lsort -integer [values $all seq]]} {sort seq up}
		check {[lsort -unique [values $all seq]] eq [lsort [values $all seq]]} {SEQ is not unique}
		set ten [allocations $m "size > 50 and seq > 0 sort size limit 10"]
		check {[llength $ten] == 10} {limit 10 lists [llength $ten]}
		check {[dict get [lindex $ten 0] size] == [lindex [lsort -integer -decreasing [values $all size]] 0]} {largest first}
		check {[llength [parse_allocations [live $m "malloc alloc limit 3"]]] == 3} {malloc alloc limit 3}
	}
}

case sites 60 {
	with_target 1000 {
		set all [allocations $m ""]
		set bytes [expr [join [values $all size] +]]
		# By size and by heap those from before the attach count, too.
		set whole [live_value $m {set sum 0; foreach block [mdbg::allocations] {incr sum [dict get $block size]}; list $sum [llength [mdbg::allocations]]}]
		foreach by {stack function module thread size heap} {
			set sites [live_value $m "mdbg::sites by $by"]
			if {$by eq "size"} {
				lassign $whole bytes nr
			} elseif {$by eq "stack"} {
				set nr [llength $all]
			}
			set sum 0
			set count 0
			foreach site $sites {
				incr sum [dict get $site bytes]
				incr count [dict get $site count]
			}
			check {$sum == $bytes && $count == $nr} {by $by: $count blocks, $sum bytes; allocations: $nr, $bytes}
			set order [lmap site $sites {dict get $site bytes}]
			check {$order eq [lsort -integer -decreasing $order]} {by $by: not the largest first: $order}
		}
		check {[llength [live_value $m "mdbg::sites limit 3"]] == 3} {limit 3}
		set text [live $m "malloc sites limit 3"]
		check {[regexp -all -line {^ +0x[0-9a-f]{16} \S} $text] >= 6} {malloc sites prints no tracebacks: $text}
		live $m "malloc sites by function sort count limit 5"
	}
}

by_both case sites-of-known-paths 60 {
	start_watched {t m} million
	set n [work 6000 3000]
	order $t "make $n" 100
	set sites [live_value $m "mdbg::sites function == leaf"]
	check {[llength $sites] == 256} {[llength $sites] sites and not 256}
	set count 0
	foreach site $sites {
		incr count [dict get $site count]
		check {[dict get $site bytes] == 48 * [dict get $site count]} {bytes of $site}
		check {[dict get $site total] == [dict get $site count] && [dict get $site freed] == 0} {totals of $site}
	}
	check {$count == $n} {$count blocks}
	live $m "malloc allocations > $::tmp/dump"
	check_stacks $::tmp/dump 1.0
	# malloc, leaf, 8 of path, make, main, two of libc, _start.
	set block [lindex [recorded [parse_allocations [slurp $::tmp/dump]]] 100]
	set pcs [lsort -unique [lmap frame [dict get $block stack] {lindex $frame 0}]]
	check {[llength $pcs] == 15} {a stack of [llength $pcs] frames: [dict get $block stack]}
	finish $t $m
}

by_both case stack-depth 60 {
	set t [start million]
	set m [live_start --stack-depth 5 -p [pid_of $t]]
	order $t "make 1000"
	set blocks [parse_allocations [live $m "malloc allocations seq > 0 limit 20"]]
	foreach block $blocks {
		set frames [lsearch -all -inline -not -index 0 -exact [dict get $block stack] 0]
		check {[llength $frames] == 5} {[llength $frames] frames and not 5}
	}
	finish $t $m
}

by_both case on-off-reset 60 {
	start_watched {t before m} exact
	order $t "ops 500"
	set n [llength [allocations $m ""]]
	live $m "malloc off"
	set now [state [pid_of $t]]
	foreach line [lsearch -all -inline $before "text *"] {
		check {$line in $now} {after malloc off not as before: $line}
	}
	order $t "ops 500"
	live $m "malloc on"
	order $t each
	live $m "malloc reset"
	check {[llength [allocations $m ""]] == 0} {blocks after reset}
	orders $t drop each
	check {[llength [allocations $m ""]] >= 20} {too few blocks after reset and each}
	finish $t $m $before
}

case no-arm 60 {
	set t [start exact]
	set m [live_start --no-arm -p [pid_of $t]]
	order $t "ops 500"
	check {[allocations $m ""] eq {}} {blocks are recorded without probes}
	live $m "malloc on"
	orders $t drop each
	check {[llength [allocations $m ""]] >= 20} {no blocks after malloc on}
	finish $t $m
}

# Of an answer, without how long the process stood still for it, which differs.
proc length_of {path} {
	return [string length [regsub -all {[0-9.]+ m?s\M} [slurp $path] ""]]
}

case redirect 60 {
	with_target 500 {
		live_all $m "malloc allocations > $::tmp/a" "malloc allocations > $::tmp/b"
		live $m "malloc allocations >> $::tmp/b"
		check {[length_of $::tmp/b] == 2 * [length_of $::tmp/a]} {>> does not append}
		live $m "malloc allocations | wc -l > $::tmp/c"
		check {[string trim [slurp $::tmp/c]] == [llength [split [slurp $::tmp/a] "\n"]] - 1} {| wc -l: [slurp $::tmp/c]}
		live $m "malloc allocations size > 100 > $::tmp/d"
		check {[llength [recorded [parse_allocations [slurp $::tmp/d]]]] == [llength [allocations $m "size > 100"]]} {size > 100 > FILE}
		live_error $m "malloc allocations > /no/such/folder/file"
		live_error $m "malloc allocations > /dev/full"
		check {[llength [allocations $m "seq > 0 limit 5"]] == 5} {no answer after a full disk}
	}
}

case tcl-api 60 {
	with_target 500 {
		set all [allocations $m ""]
		check {[live_value $m "mdbg::pid"] == [pid_of $t]} {mdbg::pid}
		check {[live_value $m "llength \[mdbg::allocations seq > 0\]"] == [llength $all]} {mdbg::allocations}
		set block [live_value $m "lindex \[mdbg::allocations size > 100 and seq > 0 sort size limit 1\] 0"]
		foreach key {address size heap pid thread pthread time age seq preattach stack} {
			check {[dict exists $block $key]} {no $key in $block}
		}
		set frames [live_value $m "mdbg::frames [list [dict get $block stack]]"]
		foreach key {pc function offset module file line inline} {
			check {[dict exists [lindex $frames 1] $key]} {no $key in [lindex $frames 1]}
		}
		check {[live_value $m "llength \[mdbg::threads\]"] == 5} {mdbg::threads}
		check {[live_value $m "llength \[mdbg::where\]"] > 0} {mdbg::where}
		check {[live_value $m "llength \[mdbg::maps\]"] > 5} {mdbg::maps}
		live_value $m "mdbg::malloc"
		# The canary of a block that the target named.
		set line [lindex [ask_list $t list] 0]
		set address [lindex $line 0]
		set want [expr {((($address >> 4) & 0xffffffff) * 31 + 1) & 255}]
		if {[lindex $line 1] > 0} {
			set got [live_value $m "binary scan \[mdbg::read $address 1\] cu byte; set byte"]
			check {$got == $want} {mdbg::read: $got and not $want}
		}
		set code [live_value $m "catch {mdbg::read 16 8} message options; dict get \$options -errorcode"]
		check {[lindex $code 0] eq "MDBG"} {errorCode is $code}
		set code [live_value $m "try {mdbg::attach 1999999999} trap {MDBG} message {set message}"]
		check {$code ne ""} {no error to trap}
	}
}

by_both case looking 60 {
	with_target 100 {
		set status [live $m status]
		check {[string match "*[pid_of $t]*" $status]} {status does not name the process}
		check {[string match "*running, [work "not traced" traced],*" $status]} {status does not know who traces: $status}
		check {[string match "*_start*" [live $m where]]} {where does not reach _start}
		set all [live $m "where all"]
		check {[regexp -all {clone3} $all] >= 4} {where all: $all}
		live $m "where all 2"
		check {[regexp -all -line {exact} [live $m thread]] >= 5} {thread lists too few}
		check {[string match -nocase "*rip*" [live $m registers]]} {registers prints no rip}
		check {[string match "*libc.so.6*" [live $m map]]} {map prints no libc}
		live $m proc
		check {[string trim [live $m "sh echo shell"]] eq "shell"} {sh}
		live $m "alias mm malloc"
		check {[string match "*Statistical*" [live $m mm]]} {alias}
		live_all $m set "set stack-depth"
		spit $::tmp/source.tcl "puts sourced\n"
		check {[live $m "source $::tmp/source.tcl"] eq "sourced"} {source}
		check {[string match "*malloc allocations*" [live $m "help malloc"]]} {help malloc}
		live $m help
		set start [clock milliseconds]
		live $m "wait 1"
		check {[clock milliseconds] - $start >= 990} {wait 1 did not wait}
	}
}

by_both case interrupt-and-cont 60 {
	set t [start exact -t 4 {*}$::rest]
	set before [state [pid_of $t]]
	order $t go
	set m [live_start -p [pid_of $t]]
	live $m interrupt
	set one [live $m "malloc allocations"]
	set two [live $m "malloc allocations"]
	check {$one eq $two} {a stopped target's list changes}
	check {[string match "*stopped*" [live $m status]]} {status does not say stopped}
	live_all $m where cont
	order $t pause
	live $m interrupt
	# Left while stopped: it must run on.
	finish $t $m $before
}

by_both case attach-stopped 60 {
	set t [start exact -t 2]
	set before [state [pid_of $t]]
	set m [live_start --stop -p [pid_of $t]]
	check {[string match "*stopped*" [live $m status]]} {--stop: status does not say stopped}
	tell $t "ops 100"
	live_all $m "wait 0.2" cont
	check {[hear $t] eq "ok"} {no answer after cont}
	check {[llength [allocations $m ""]] > 10} {nothing recorded after --stop and cont}
	finish $t $m $before
}

by_both case attach-detach-attach 60 {
	set t [start exact]
	set before [state [pid_of $t]]
	set m [live_start]
	for {set i 0} {$i < 5} {incr i} {
		live $m "attach [pid_of $t]"
		order $t each
		check {[llength [allocations $m ""]] >= 20} {nothing recorded in round $i}
		live $m detach
		# The log still answers.
		check {[llength [allocations $m ""]] >= 20} {no log after detach}
		order $t drop
		check_state $before [pid_of $t]
	}
	finish $t $m
}

# A list is longer than what mdbg keeps of it: it has all blocks all the same, and once each, in any order. It may take 24
# bytes a block and 48 MB (its threads' stacks are counted too); with all blocks in memory it took 100 and more.
case long-lists 120 {
	skip_if_sanitized "the sanitizers take memory of their own"
	set n 600000
	set t [start million]
	limit_mdbg "-d [expr {$n * 24 / 1024 + 52224}]"
	set m [live_start -p [pid_of $t]]
	order $t "make $n" 100
	check {[regexp {allocations currently active\.+ (\d+)\n +of them} [live $m malloc] -> active] && $active == $n} {malloc: $active}
	check {[regexp "256 sites listed; $n allocations" [live $m "malloc sites"]]} {malloc sites}
	foreach order {"" "sort size"} {
		live $m "malloc allocations $order | grep -a ^0x | cut -c1-18 > $::tmp/addresses" 100
		set nr [exec sort -u $::tmp/addresses | wc -l]
		check {$nr == $n && [exec wc -l < $::tmp/addresses] == $n} {$order: $nr different ones}
		if {$order eq ""} {
			exec sort -c $::tmp/addresses
		}
	}
	check {[llength [parse_allocations [live $m "malloc allocations sort age limit 7"]]] == 7} {limit 7}
	finish $t $m
}
