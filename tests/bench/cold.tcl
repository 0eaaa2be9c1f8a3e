# SPDX-License-Identifier: GPL-3.0-or-later
# What a malloc+free pair costs where no cache has the blocks: of N live ones of 16 to 215 bytes one picked at random is
# freed and another allocated, ten functions deep. Three processes do the same from their first block on: one undisturbed,
# one watched by mdbg, one with heaptrack preloaded. In each round each of them in turn does the same number of pairs, so
# that their heaps stay alike; ratios and differences are those of a round, and a figure is the median of the rounds.
#
# COLD="N..." has other numbers of live blocks, also for the allocators that are preloaded.

set rounds 7
set pairs 300000
set sizes {1000 100000 2000000 10000000}
set preloaded_sizes {100000 2000000}
if {[info exists ::env(COLD)]} {
	set sizes [set preloaded_sizes $::env(COLD)]
}
set has_heaptrack [expr {[auto_execok heaptrack] ne ""}]

# Times that watched pairs may take of undisturbed ones, by live blocks.
proc most_times {n} {
	return [expr {$n <= 1000 ? 2.0 : $n <= 100000 ? 1.6 : 1.3}]
}

proc start_cold {n threads library args} {
	set command [concat $args [list $::build/bench/churn -t $threads -w $n -s 215 -d 10]]
	if {$library ne ""} {
		set command [list env LD_PRELOAD=$library {*}$command]
	}
	return [start_bench {*}$command]
}

# ns a pair
proc cold_ns {t} {
	return [lindex [order $t "pairs $::pairs 1" 600] 0]
}

# The most memory that heaptrack's interpreter takes for what was recorded. (In the process heaptrack keeps nothing for a
# block. The interpreter else runs beside the process; afterwards it takes no time from it.)
proc interpreter_bytes {said} {
	check {[regexp -line {^ *(\S+ -dc) < "([^"]+)" \| (\S+)} $said -> unpack file interpreter]} {heaptrack says $said}
	set pid [lindex [exec {*}$unpack < $file | $interpreter > /dev/null 2> /dev/null &] 1]
	set kb 0
	while {[is_alive $pid]} {
		catch {regexp {VmHWM:\s+(\d+)} [slurp /proc/$pid/status] -> kb}
		after 2
	}
	return [expr {$kb * 1024.0}]
}

# Returns what heaptrack said at its end.
proc end_preloaded {t} {
	tell $t quit
	set said [read $t]
	ending $t
	return $said
}

# The first round is for warming up. A dict: ns of each way, mdbg's ratio, what mdbg and heaptrack add.
proc take_turns {turns} {
	dict for {way t} $turns {
		order $t fill 600
		cold_ns $t
	}
	for {set i 0} {$i < $::rounds} {incr i} {
		dict for {way t} $turns {
			dict lappend seen $way [set ns($way) [cold_ns $t]]
			dict lappend seen "$way added" [expr {$ns($way) - $ns(alone)}]
			dict lappend seen "$way ratio" [expr {$ns($way) / $ns(alone)}]
		}
	}
	return [dict map {what values} $seen { median $values }]
}

# What take_turns returns, and bytes a block of the log, and of heaptrack's interpreter for the plain rows.
proc measure_cold {n threads library} {
	set turns [dict create alone [start_cold $n $threads $library] mdbg [start_cold $n $threads $library]]
	set m [watched_by [dict get $turns mdbg] --engine jump]
	check {$m ne ""} {mdbg does not take jump probes here}
	if {$::has_heaptrack} {
		dict set turns heaptrack [start_cold $n $threads $library heaptrack -r -o $::tmp/heaptrack.cold]
	}
	set seen [take_turns $turns]
	dict set seen "mdbg bytes" [expr {[log_bytes $m] / double($n)}]
	if {$::has_heaptrack} {
		set said [end_preloaded [dict get $turns heaptrack]]
		if {$threads == 1 && $library eq ""} {
			dict set seen "heaptrack bytes" [expr {[interpreter_bytes $said] / $n}]
		}
		file delete {*}[glob -nocomplain $::tmp/heaptrack.*]
	}
	check_recorded $m $n
	let_go $m
	finish [dict get $turns alone]
	finish [dict get $turns mdbg]
	return $seen
}

# What heaptrack adds, as times what mdbg adds.
proc times_ours {seen} {
	return [expr {[dict get $seen "heaptrack added"] / max([dict get $seen "mdbg added"], 0.1)}]
}

proc show_cold {name n threads seen} {
	lassign {- - -} ns times bytes
	if {$::has_heaptrack} {
		set ns [format "%.0f (%.1f)" [dict get $seen heaptrack] [dict get $seen "heaptrack ratio"]]
		set times [format %.2f [times_ours $seen]]
	}
	if {[dict exists $seen "heaptrack bytes"]} {
		set bytes [format %.0f [dict get $seen "heaptrack bytes"]]
	}
	set ours [format "%.1f (%.2f)" [dict get $seen mdbg] [dict get $seen "mdbg ratio"]]
	puts [format "%-10s %10d %7d %9.1f %16s %16s %14s %9.0f %9s" $name $n $threads [dict get $seen alone] $ours \
		$ns $times [dict get $seen "mdbg bytes"] $bytes]
	flush stdout
}

# A row of the table; the limits follow below it.
proc cold_row {name n threads {library ""}} {
	set seen [measure_cold $n $threads $library]
	show_cold $name $n $threads $seen
	lappend ::limits "$name, $n blocks, $threads thr.: times alone" [dict get $seen "mdbg ratio"] <= [most_times $n]
	if {$::has_heaptrack} {
		lappend ::limits "$name, $n blocks, $threads thr.: heaptrack adds, times mdbg's" [times_ours $seen] >= 1.5
	}
	return $seen
}

proc plot_cold {rows} {
	dict for {n seen} $rows {
		foreach way {alone mdbg heaptrack} {
			if {[dict exists $seen $way]} {
				lappend cost($way) $n [dict get $seen $way]
			}
			if {[dict exists $seen "$way bytes"]} {
				lappend megabytes($way) $n [expr {[dict get $seen "$way bytes"] * $n / 1e6}]
			}
		}
	}
	file mkdir $::env(PLOTS)
	set costs [list undisturbed $cost(alone) mdbg $cost(mdbg)]
	set memory [list "mdbg's log" $megabytes(mdbg)]
	if {$::has_heaptrack} {
		lappend costs "heaptrack, preloaded" $cost(heaptrack)
		lappend memory "heaptrack's interpreter" $megabytes(heaptrack)
	}
	plot $::env(PLOTS)/cold.svg "A pair of blocks picked at random, by live blocks" "live blocks" "ns a pair" {*}$costs
	plot $::env(PLOTS)/cold-memory.svg "Memory for records, by live blocks" "live blocks" "MB" {*}$memory
	puts "\nplots: $::env(PLOTS)"
}

proc cold_preloaded {} {
	foreach {name file} {jemalloc libjemalloc.so.2 tcmalloc libtcmalloc_minimal.so.4 mimalloc libmimalloc.so.2*} {
		set library [lindex [glob -nocomplain /usr/lib/*/$file] 0]
		if {$library eq ""} {
			note "SKIP $name is not installed"
			continue
		}
		foreach n $::preloaded_sizes {
			cold_row $name $n 1 $library
		}
	}
}

proc bench_cold {} {
	puts "\nns a pair of blocks in no cache (times an undisturbed one), bytes a block; medians of $::rounds rounds"
	puts "[machine]\n"
	if {!$::has_heaptrack} {
		note "SKIP heaptrack is not installed"
	}
	puts [format "%-10s %10s %7s %9s %16s %16s %14s %9s %9s" malloc live threads alone mdbg heaptrack \
		"its added/ours" "log, B" "its, B"]
	set ::limits {}
	foreach n $::sizes {
		dict set rows $n [cold_row glibc $n 1]
		cold_row glibc $n 2
	}
	cold_preloaded
	puts ""
	foreach {what value op bound} $::limits {
		limit $what $value $op $bound
	}
	if {[llength $::sizes] > 2} {
		plot_cold $rows
	}
}
