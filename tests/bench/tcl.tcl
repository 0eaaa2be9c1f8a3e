# SPDX-License-Identifier: GPL-3.0-or-later
# Three million live blocks as Tcl values: the time and the memory of -each, and what a dict of a list costs.

proc bench_tcl {} {
	set n 3000000
	set listed 200000
	set t [start million]
	set m [live_start -p [pid_of $t]]
	order $t "make $n" 600
	puts [format "\n%d blocks:\n" $n]
	live $m "proc own {} {regexp {RssAnon:\\s+(\\d+)} \[exec cat /proc/[pid $m]/status\] -> kb; expr {\$kb * 1024.0}}"
	live $m "proc sum {} {set sum 0; mdbg::allocations -each b {incr sum \[dict get \$b size\]}; set sum}"
	set begun [clock milliseconds]
	set most [own_mb $m {set sum [sum]}]
	set took [expr {([clock milliseconds] - $begun) / 1000.0}]
	limit "mdbg::allocations -each, a sum of sizes, s" $took <= 20
	limit "mdbg::allocations -each, MB" $most <= 200
	check {[live_value $m {set sum}] == 48 * $n} {the sum is $::result}
	live $m "set before \[own\]; set list \[mdbg::allocations limit $listed\]; set after \[own\]" 300
	limit "mdbg::allocations, bytes a dict of a list" [live_value $m "expr {(\$after - \$before) / $listed}"] <= 1536
	live $m {foreach b $list {dict get $b size}} 300
	puts [format "%-64s %10.2f" "the same, when each was used" [live_value $m "expr {(\[own\] - \$before) / $listed}"]]
	let_go $m
	finish $t
}
