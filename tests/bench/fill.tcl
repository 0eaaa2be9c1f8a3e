# SPDX-License-Identifier: GPL-3.0-or-later
# What is added to a malloc while a heap grows from nothing to five million blocks, and to a free of a block from before the
# attach, of two million at random. Undisturbed and watched processes alternate; a figure is the median of ROUNDS rounds.

set rounds 5

# In a process of its own each time, so that both heap and log begin with nothing.
proc fill_ns {n watched} {
	set t [start_bench $::build/bench/churn -w $n -s 215]
	if {$watched} {
		set m [live_start -p [pid_of $t]]
	}
	set ns [order $t fill 600]
	if {$watched} {
		check_recorded $m $n
		let_go $m
	}
	finish $t
	return $ns
}

proc drain_ns {t watched} {
	order $t fill 600
	if {$watched} {
		set m [live_start -p [pid_of $t]]
	}
	set ns [order $t drain 600]
	if {$watched} {
		let_go $m
	}
	return $ns
}

proc alternate {what most command} {
	for {set i 0} {$i < $::rounds} {incr i} {
		lappend alone [set before [{*}$command 0]]
		lappend under [set ns [{*}$command 1]]
		lappend added [expr {$ns - $before}]
	}
	puts [format "%-64s %10.1f   (undisturbed %.1f)" "$what, ns" [median $under] [median $alone]]
	limit "$what, ns added" [median $added] <= $most
}

proc bench_fill {} {
	puts "\nblocks of 16 to 215 bytes, medians of $::rounds alternated rounds; [machine]\n"
	alternate "a malloc, from nothing to 5 million blocks" 150 {fill_ns 5000000}
	set t [start_bench $::build/bench/churn -w 2000000 -s 215]
	drain_ns $t 0
	alternate "a free of a block from before the attach, 2 million" 60 [list drain_ns $t]
	finish $t
}
