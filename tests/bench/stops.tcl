# SPDX-License-Identifier: GPL-3.0-or-later
# Breakpoint probes: how many stops a pair, and what a stop costs beside a bare one.

proc context_switches {pid} {
	regexp {voluntary_ctxt_switches:\s+(\d+)} [slurp /proc/$pid/status] -> n
	return $n
}

# The bare stop, free and pinned: the least of what was measured between all the other measurements.
proc measure_bare {} {
	set ::bare [lmap now [lrange [exec $::build/bench/bare_stop 10000] 1 2] least $::bare {expr {min($now, $least)}}]
}

set bare {1e9 1e9}

# One process, measured undisturbed and under mdbg, alternately. Returns {added, us; stops}.
proc stops_a_pair {paths pinned} {
	set t [churn]
	if {$pinned} {
		exec taskset -p -c 0 [pid_of $t]
	}
	set added {}
	set stops {}
	for {set i 0} {$i < 5} {incr i} {
		measure_bare
		set alone [churn_ns $t $paths 100]
		set m [live_start --engine breakpoint -p [pid_of $t]]
		if {$pinned} {
			exec taskset -a -p -c 0 [pid $m]
		}
		churn_ns $t $paths 100
		set before [context_switches [pid_of $t]]
		lassign [order $t "run 1000 $paths" 60] ns mean cpu pairs
		lappend stops [expr {([context_switches [pid_of $t]] - $before) / double($pairs)}]
		let_go $m
		lappend added [expr {($ns - $alone) / 1000}]
	}
	finish $t
	return [list [lindex [lsort -real $added] 0] [median $stops]]
}

proc bench_stops {} {
	puts "\nbreakpoint probes: a malloc+free pair, times in us, least of 5; [machine]\n"
	puts [format "%-34s %10s %10s %12s %12s" "" "added" "stops" "us a stop" "bare stops"]
	foreach {name paths pin} {
		"one path" 1 0 "256 paths" 256 0 "one path, one processor" 1 1 "256 paths, one processor" 256 1
	} {
		lassign [stops_a_pair $paths $pin] added stops
		set each [expr {$added / $stops}]
		set ratio [expr {$each / [lindex $::bare $pin]}]
		puts [format "%-34s %10.2f %10.2f %12.2f %12.2f" $name $added $stops $each $ratio]
		lappend results $name $stops $ratio
	}
	lassign $::bare free pinned
	puts [format "%-34s %10s %10s %12.2f %12.2f" "a bare ptrace stop" "" "" $free 1]
	puts [format "%-34s %10s %10s %12.2f %12.2f\n" "a bare ptrace stop, one processor" "" "" $pinned 1]
	foreach {name stops ratio} $results {
		limit "breakpoints, $name: stops a pair" $stops <= 3.05
		limit "breakpoints, $name: bare stops a stop" $ratio <= 1.5
	}
}
