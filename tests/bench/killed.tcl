# SPDX-License-Identifier: GPL-3.0-or-later
# What a process keeps of its rate after kill -9 of an mdbg that had breakpoints in it: from a second later on, and, of
# sqlite3, in the first round as well.
#
# Undisturbed rounds and those after a kill alternate; a figure is the ratio of the medians. Rates are by the program's own
# processor time, in which each trap's signal counts: others that use the machine do not blur it.

set rounds 7

proc processor_s {pid} {
	set sum 0
	foreach file [glob /proc/$pid/task/*/schedstat] {
		incr sum [lindex [slurp $file] 0]
	}
	return [expr {$sum / 1e9}]
}

proc kill_breakpoints {pid} {
	kill_mdbg [live_start --engine breakpoint -p $pid]
}

# What a next mdbg would find is taken out.
proc clean {pid} {
	mdbg_ok -q -p $pid -c detach
}

# --- sqlite3 ------------------------------------------------------------------------------------------------------

set query "SELECT sum(length(hex(randomblob(x % 200)) || x)) FROM (WITH RECURSIVE c(x) AS
	(SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 100000) SELECT x FROM c);"

proc sqlite_round {} {
	set start [processor_s [pid $::sqlite]]
	ask $::sqlite [string map {"\n" " "} $::query] 120
	return [expr {1 / ([processor_s [pid $::sqlite]] - $start)}]
}

proc bench_sqlite {} {
	set ::sqlite [open |[list [need stdbuf] -oL [need sqlite3] :memory: 2>@stderr] r+]
	chan configure $::sqlite -buffering line
	sqlite_round
	set pid [pid $::sqlite]
	for {set i 0} {$i < $::rounds} {incr i} {
		lappend alone [sqlite_round]
		kill_breakpoints $pid
		lappend first [sqlite_round]
		after 1000
		lappend then [sqlite_round]
		clean $pid
	}
	tell $::sqlite .quit
	ending $::sqlite
	show sqlite3 rounds $alone $then
	limit "sqlite3, in the first round after the kill: share kept" [expr {[median $first] / [median $alone]}] >= 0.95
}

# --- redis-server -------------------------------------------------------------------------------------------------

proc redis_round {} {
	set start [processor_s $::redis]
	exec redis-benchmark -p $::port -c 50 --csv -t set -n 100000 -d 100 -r 100000 2>@1
	return [expr {100000 / ([processor_s $::redis] - $start)}]
}

proc bench_killed_redis {} {
	start_redis
	redis_round
	for {set i 0} {$i < $::rounds} {incr i} {
		lappend alone [redis_round]
		kill_breakpoints $::redis
		after 1000
		lappend then [redis_round]
		clean $::redis
	}
	end_redis
	show redis-server requests $alone $then
}

proc show {program what alone then} {
	puts [format "%-14s %12.1f %s a second of its processor time undisturbed, %.1f after the kill" $program [median $alone] $what [median $then]]
	limit "$program, after kill -9 with breakpoints in: share kept" [expr {[median $then] / [median $alone]}] >= 0.95
}

proc bench_killed {} {
	puts "\nafter kill -9 of mdbg (medians of $::rounds alternated rounds); [machine]\n"
	bench_sqlite
	bench_killed_redis
}
