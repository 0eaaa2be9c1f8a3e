# SPDX-License-Identifier: GPL-3.0-or-later
# A million live blocks: how long they take to list and to sum up, and how large the log is. Ten million: what mdbg itself takes.

proc ten_million {} {
	set n 10000000
	set t [start million]
	set m [live_start -p [pid_of $t]]
	order $t "make $n" 600
	puts [format "\n%d blocks, what mdbg has of its own meanwhile:\n" $n]
	foreach command {malloc {malloc sites} {malloc allocations} {malloc allocations | head}
			{malloc allocations sort size} {malloc allocations size > 10 and seq > 0 sort age up limit 1000}} {
		set to [expr {[string match *|* $command] ? "" : "> /dev/null"}]
		limit "$command, MB" [own_mb $m "$command $to"] <= 100
	}
	let_go $m
	finish $t
}

proc bench_million {} {
	set n 1000000
	set t [start million]
	set m [live_start -p [pid_of $t]]
	set begun [clock milliseconds]
	order $t "make $n" 600
	puts [format "\n%d blocks from 256 stacks, made in %.1f s under probes:\n" $n \
		[expr {([clock milliseconds] - $begun) / 1000.0}]]
	set bytes [log_bytes $m]
	limit "malloc allocations > FILE, s" [seconds $m "malloc allocations > $::tmp/dump"] <= 10
	limit "malloc sites, s" [seconds $m "malloc sites > $::tmp/sites" 5] <= 0.5
	limit "log, bytes a block" [expr {double($bytes) / $n}] <= 80
	check {[exec grep -c ^0x $::tmp/dump] == $n} {not all are listed}
	let_go $m
	finish $t
	ten_million
}
