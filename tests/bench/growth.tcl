# SPDX-License-Identifier: GPL-3.0-or-later
# What growth adds to a call of mmap or munmap: the fastest of many batches, in turn without and with it.

proc bench_growth {} {
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
