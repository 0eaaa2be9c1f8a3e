# SPDX-License-Identifier: GPL-3.0-or-later
# The longest pause that a thread of the target sees at attach, detach -keep, the attach that goes on, and detach, beside
# that of a stop by ptrace alone: one that runs, and one that is to wake meanwhile.

set rounds 15

# us: the longest gaps of those who run and of those who wake, since it was asked last. What stopped the threads has
# ended; they may not have run since. (On a busy machine a stop may pass while none of them has a processor.)
proc longest {t} {
	set run [set wake 0]
	for {set tries 0} {$tries < 2 || ($run == 0 && $tries < 50)} {incr tries} {
		after 10
		set gaps [order $t report]
		set run [expr {max($run, [lindex $gaps 0])}]
		set wake [expr {max($wake, [lindex $gaps 3])}]
	}
	return [list $run $wake]
}

proc forget {t} {
	order $t report
}

# By what was done: pairs of run and wake, one a round.
proc measure_pauses {threads} {
	set t [start_bench $::build/bench/gap $threads]
	for {set i 0} {$i < $::rounds} {incr i} {
		forget $t
		exec $::build/bench/stop_all [pid_of $t]
		dict lappend pauses bare [longest $t]
		set m [live_start -p [pid_of $t]]
		dict lappend pauses attach [longest $t]
		live $m "detach -keep"
		dict lappend pauses keep [longest $t]
		live_end $m
		set m [live_start -p [pid_of $t]]
		dict lappend pauses again [longest $t]
		live $m detach
		dict lappend pauses detach [longest $t]
		live_end $m
	}
	finish $t
	return $pauses
}

proc bench_pause {} {
	puts "\nthe longest pause that a thread sees, us: median (least) of $::rounds; [machine]\n"
	puts [format "%-18s %18s %18s %18s %18s %18s" threads "ptrace alone" attach "detach -keep" "attach again" detach]
	foreach threads {2 30 300} {
		set pauses [measure_pauses $threads]
		foreach {who i} {run 0 wake 1} {
			if {$who eq "wake" && $threads < 4} continue
			set row {}
			foreach what {bare attach keep again detach} {
				set times [lsort -real [lmap pair [dict get $pauses $what] { lindex $pair $i }]]
				set at($what,$threads,$who) [median $times]
				lappend row [format "%.0f (%.0f)" [median $times] [lindex $times 0]]
			}
			puts [format "%-18s %18s %18s %18s %18s %18s" "$threads, that ${who}s" {*}$row]
		}
	}
	puts ""
	foreach what {attach detach} {
		limit "$what, 2 threads: us" $at($what,2,run) <= 1000
		foreach who {run wake} {
			limit "$what, 300 threads, one that ${who}s: times ptrace alone" \
				[expr {$at($what,300,$who) / $at(bare,300,$who)}] <= 1.5
		}
	}
}
