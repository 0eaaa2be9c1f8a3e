# SPDX-License-Identifier: GPL-3.0-or-later
# How much memory the log takes: for ten million small blocks, for large ones beside the heap itself, and for a sparse heap
# with one small block in each page.

# Bytes of log, and of the heap, that are in memory after an order that makes n blocks.
proc bytes_after {order n args} {
	set t [start_bench $::build/bench/churn -w $n {*}$args]
	set m [live_start -p [pid_of $t]]
	order $t $order 600
	regexp {RssAnon:\s+(\d+)} [slurp /proc/[pid_of $t]/status] -> heap_kb
	set bytes [list [log_bytes $m] [expr {$heap_kb * 1024}]]
	check_recorded $m $n
	let_go $m
	finish $t
	return $bytes
}

proc bench_memory {} {
	puts "\nmemory of the log, all of its parts included; [machine]\n"
	lassign [bytes_after fill 10000000 -s 215] log
	limit "10 million blocks of 16 to 215 bytes: bytes a block" [expr {$log / 1e7}] <= 64
	foreach {smallest largest} {1024 1024 1024 4096} {
		lassign [bytes_after fill 1000000 -m $smallest -s $largest] log heap
		puts [format "%-64s %10.2f" "a million of $smallest to $largest bytes: bytes a block" [expr {$log / 1e6}]]
		limit "a million of $smallest to $largest bytes: share of the heap" [expr {double($log) / $heap}] <= 0.125
	}
	lassign [bytes_after sparse 500000] log
	limit "500,000 blocks of 32 bytes, one a page: bytes a block" [expr {$log / 5e5}] <= 128
}
