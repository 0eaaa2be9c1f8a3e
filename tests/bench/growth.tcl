# SPDX-License-Identifier: GPL-3.0-or-later
# What growth adds to a call of mmap or munmap: the fastest of many batches, in turn without and with it. And what
# redis-server keeps of its requests: the recording of malloc is on in both, so that the difference is that of growth.

source [file join $bench_here redis.tcl]	;# requests_a_second

set growth_rounds 15

# SET with keys that are new each time makes the server's heap grow.
set growth_loads [subst {
	"SET"		{-t set -n 100000 -d 100 -r 10000000}
	"SET, -P 16"	{-t set -n 200000 -P 16 -d 100 -r 1000000}
	"GET, -P 16"	{-t get -n 200000 -P 16 -d 100 -r 100000}
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

# Requests a second, and us of the server's processor time for each, appended to those of `what`.
proc measure_growth {m what options} {
	if {$what eq "with"} {
		live $m "growth start brk mmap shm"
	}
	lassign [requests_a_second $options] rate us
	dict lappend ::rates $what $rate
	dict lappend ::us $what $us
	if {$what eq "with"} {
		incr ::growth_events [llength [split [live $m "growth log"] "\n"]]
		live $m "growth stop"
	}
}

# Each of two rounds is the first one by turns. Where others use the machine, the requests say more of them than of growth,
# and so does most processor time: the limit is on the least that the server has taken for a request.
proc bench_growth_redis {} {
	puts "\nredis-server with growth brk mmap shm (median requests, least time of $::growth_rounds alternated rounds); [machine]\n"
	start_redis
	set m [live_start -p $::redis]
	puts [format "%-12s %14s %14s %8s %12s %12s %8s" "" "requests/s" "with growth" kept "server us" "with growth" calls]
	foreach {name options} $::growth_loads {
		set ::rates [set ::us [dict create]]
		set ::growth_events 0
		requests_a_second $options
		for {set i 0} {$i < $::growth_rounds} {incr i} {
			foreach what [expr {$i % 2 ? {with without} : {without with}}] {
				measure_growth $m $what $options
			}
		}
		foreach what {without with} {
			set $what-rate [median [dict get $::rates $what]]
			set $what-us [tcl::mathfunc::min {*}[dict get $::us $what]]
		}
		puts [format "%-12s %14.0f %14.0f %6.1f %% %12.3f %12.3f %8d" $name ${without-rate} ${with-rate} \
			[expr {100 * ${with-rate} / ${without-rate}}] ${without-us} ${with-us} $::growth_events]
		lappend results $name [expr {${with-us} / ${without-us}}]
	}
	puts ""
	foreach {name share} $results {
		limit "growth, redis-server, $name: time a request, share" $share <= 1.01
	}
	let_go $m
	end_redis
}

proc bench_growth {} {
	bench_calls
	bench_growth_redis
}
