# SPDX-License-Identifier: GPL-3.0-or-later
# What a machine keeps of its throughput while `growth kernel` records: pairs of processes that send messages to each other
# (stress-ng --sock), which is allocations of the kernel more than anything else.

set kernel_rounds 80

# Operations a second of a run. Both ends are on one processor. Where they may be on any, the scheduler puts them on one or on
# two, which it changes from run to run, and the rates of the two differ by a third.
proc socket_rate {} {
	set text [exec taskset -c 0 stress-ng --sock 1 --timeout 1s --metrics-brief 2>@1]
	check {[regexp {\msock +(\d+) +([\d.]+) } $text -> operations seconds]} {$text}
	return [expr {$operations / $seconds}]
}

# Each of two runs is the first one by turns, and what is kept is the median over the pairs: where others use the machine,
# two runs that follow each other see most of the same.
proc bench_kernel {} {
	if {[auto_execok stress-ng] eq ""} {
		note "(kernel: stress-ng is not installed)"
		return
	}
	set m [live_start]
	for {set i 0} {$i < $::kernel_rounds} {incr i} {
		foreach what [expr {$i % 2 ? {with without} : {without with}}] {
			if {$what eq "with"} {
				live $m "growth start kernel"
			}
			lappend $what [set rate($what) [socket_rate]]
			if {$what eq "with"} {
				live $m "growth stop"
			}
		}
		lappend kept [expr {100 * $rate(with) / $rate(without)}]
	}
	puts [format "stress-ng --sock 1: %.0f operations/s, with growth kernel %.0f (medians of %d alternated rounds); %s" \
		[median $without] [median $with] $::kernel_rounds [machine]]
	limit "growth kernel, throughput kept, %" [median $kept] >= 90
	live_end $m
}
