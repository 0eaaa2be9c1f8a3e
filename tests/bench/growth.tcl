# SPDX-License-Identifier: GPL-3.0-or-later
# What growth adds to a call of mmap or munmap: the fastest of many batches, in turn without and with it. And what it adds to
# a request of redis-server: the recording of malloc is on in both, so that the difference is that of growth.

source [file join $bench_here redis.tcl]	;# requests_a_second

set growth_rounds 700

# SET with keys that are new each time makes the server's heap grow. Rounds are short, so that those of a pair are alike.
set growth_loads [subst {
	"SET"		{-t set -n 4000 -d 100 -r 10000000}
	"SET, -P 16"	{-t set -n 20000 -P 16 -d 100 -r 1000000}
	"GET, -P 16"	{-t get -n 20000 -P 16 -d 100 -r 100000}
}]

proc bench_calls {} {
	set t [start_bench $::build/targets/mapper]
	set m [live_start -p [pid_of $t]]
	for {set i 0} {$i < 7} {incr i} {
		lappend alone [order $t calls 60]
		live $m "growth start"
		lappend with [order $t calls 60]
		live $m "growth stop"
	}
	set alone [tcl::mathfunc::min {*}$alone]
	set with [tcl::mathfunc::min {*}$with]
	puts "a pair of mmap and munmap: $alone ns, with growth $with ns"
	limit "growth, us a call" [expr {($with - $alone) / 2000.0}] <= 1
	live_end $m
	finish $t
}

# us of the server's processor time for a request, appended to those of `what`.
proc measure_growth {m what options} {
	if {$what eq "with"} {
		live $m "growth start brk mmap shm"
	}
	lappend ::us($what) [lindex [requests_a_second $options] 1]
	if {$what eq "with"} {
		incr ::growth_events [llength [split [live $m "growth log"] "\n"]]
		live $m "growth stop"
	}
}

# The median, and bounds that it lies between in 95 of 100 such samples, whatever their distribution is.
proc median_between {values} {
	set sorted [lsort -real $values]
	set n [llength $sorted]
	set off [expr {0.98 * sqrt($n)}]
	return [list [median $values] [lindex $sorted [expr {int($n / 2.0 - $off)}]] [lindex $sorted [expr {int(ceil($n / 2.0 + $off))}]]]
}

# A round with growth and one without are a pair, each of the two the first one by turns. A round says more of who else uses
# the machine than of growth; the median of many pairs does not, and how far it can be trusted follows from the pairs.
proc bench_growth_redis {} {
	puts "\nredis-server with growth brk mmap shm: processor time for a request, with growth as a share of without"
	puts "($::growth_rounds pairs of rounds); [machine]\n"
	start_redis
	set m [live_start -p $::redis]
	puts [format "%-12s %12s %8s %20s %8s %12s" "" "server us" share "95 % of medians" calls requests]
	foreach {name options} $::growth_loads {
		array unset ::us
		set ::growth_events 0
		requests_a_second $options
		for {set i 0} {$i < $::growth_rounds} {incr i} {
			foreach what [expr {$i % 2 ? {with without} : {without with}}] {
				measure_growth $m $what $options
			}
		}
		lassign [median_between [lmap with $::us(with) without $::us(without) { expr {$with / $without} }]] share low high
		puts [format "%-12s %12.3f %8.4f %20s %8d %12d" $name [median $::us(without)] $share \
			[format "%.4f to %.4f" $low $high] $::growth_events [expr {$::growth_rounds * [dict get $options -n]}]]
		flush stdout
		lappend results $name $low
	}
	puts ""
	foreach {name low} $results {
		limit "growth, redis-server, $name: share is certainly above" $low <= 1.01
	}
	let_go $m
	end_redis
}

proc bench_growth {} {
	bench_calls
	bench_growth_redis
}
