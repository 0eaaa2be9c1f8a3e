# SPDX-License-Identifier: GPL-3.0-or-later
# Many threads, threads that come and go, signals, masks.

by_both repeated threads-come-and-go 60 {
	set t [start storm]
	set before [state -t [pid_of $t]]
	order $t "storm 4"
	for {set i 0} {$i < $::trials} {incr i} {
		mdbg_ok -q -p [pid_of $t] -c {wait 0.1} -c {malloc allocations > /dev/null} -c {malloc sites limit 1}
	}
	order $t calm
	finish $t {} $before -t
}

foreach n {300 1000} {
	by_both case threads-$n 60 [string map [list COUNT $n] {
		set t [start storm]
		order $t "idle COUNT"
		until {[llength [glob /proc/[pid_of $t]/task/*]] == COUNT + 1}
		attach_to {before m} $t
		order $t "alloc 100"
		check {[live_value $m "llength \[mdbg::threads\]"] == COUNT + 1} {$::result threads}
		set where [live $m "where all 2"]
		live_all $m interrupt cont
		check {[llength [parse_allocations [live $m "malloc allocations size == 333"]]] == 100} {not 100 blocks}
		finish $t $m $before
	}]
}

by_both case threads-300-and-a-storm 60 {
	set t [start storm]
	order $t "idle 300"
	set before [state -t [pid_of $t]]
	order $t "storm 4"
	for {set i 0} {$i < 3} {incr i} {
		mdbg_ok -q -p [pid_of $t] -c {wait 0.1} -c {where all 1}
	}
	order $t calm
	finish $t {} $before -t
}

by_both case threads-main-gone 60 {
	set t [start storm]
	tell $t gone
	order $t "alloc 10"
	until {[string match "*State:\tZ*" [slurp /proc/[pid_of $t]/task/[pid_of $t]/status]]}
	for {set i 0} {$i < 3} {incr i} {
		set m [live_start -p [pid_of $t]]
		order $t "alloc 20"
		check {[llength [parse_allocations [live $m "malloc allocations size == 333"]]] == 20} {not 20 blocks}
		live_all $m thread "where all"
		live_end $m
	}
	finish $t
}

by_both case threads-main-goes-while-attached 60 {
	start_watched {t m} storm
	tell $t gone
	order $t "alloc 20"
	check {[llength [parse_allocations [live $m "malloc allocations size == 333"]]] == 20} {not 20 blocks}
	live $m "wait 0.2"
	check {[string match "*[pid_of $t]*" [live $m status]]} {status}
	order $t "alloc 20"
	tell $t "exit 5"
	live $m "wait exit" 20
	check {[ending $t] eq {exit 5}} {ended otherwise}
	live_end $m
}

# Attach while its threads work; after more events it pauses, and what it has allocated since is listed. Returns mdbg.
proc attach_at_work {t events} {
	order $t go
	set m [live_start -p [pid_of $t]]
	set since [expr {[clock microseconds] * 1000}]
	orders $t "more $events" pause
	live $m "malloc allocations > $::tmp/dump"
	compare $t [parse_heads $::tmp/dump] $since
	return $m
}

by_both repeated signals-at-a-kilohertz 60 {
	set t [start exact -t 8 -p {*}$::rest]
	set before [state [pid_of $t]]
	# They come by processor time, of which there may be little in a few trials.
	for {set i 0} {$i < $::trials || [lindex [order $t signals] 0] <= 10} {incr i} {
		live_end [attach_at_work $t [work 200 10]]
	}
	finish $t {} $before
}

by_both repeated signals-all-blocked 60 {
	set t [start exact -t 8 -b {*}$::rest]
	set before [state [pid_of $t]]
	for {set i 0} {$i < $::trials} {incr i} {
		set m [attach_at_work $t [work 50 3]]
		if {$::engine eq "breakpoint"} {
			set lwp [lindex [lsearch -inline $before "thread *SigBlk:\tf*"] 1]
			check {[string match "*$lwp*" [live $m status]]} {status does not name the threads that block SIGTRAP: [live $m status]}
		}
		live_end $m
	}
	finish $t {} $before
}

# The target's own SIGTRAP handler and own int3s go on as ever.
by_both case signals-own-sigtrap 60 {
	set t [start exact -t 4 -s {*}$::rest]
	set before [state [pid_of $t]]
	for {set i 0} {$i < 5} {incr i} {
		live_end [attach_at_work $t [work 200 10]]
	}
	lassign [order $t signals] prof traps raised
	check {$traps == $raised && $traps > 0} {$raised traps raised, $traps taken}
	finish $t {} $before
}

# Threads that never rest all get on, though those that stop first again would always be served first.
case threads-all-have-their-turn-by-breakpoints 30 {
	by_breakpoints
	start_watched {t m} exact -t 8 -b
	orders $t go "more 10" pause
	finish $t $m
}

# Nor does one of two threads wait for ever, where the other one has a real-time priority.
case threads-two-have-their-turn-by-breakpoints 30 {
	by_breakpoints
	skip_if {[catch {start greedy} t]} {no right to a real-time priority}
	set m [live_start -p [pid_of $t]]
	order $t "malloc 10"
	finish $t $m
}
