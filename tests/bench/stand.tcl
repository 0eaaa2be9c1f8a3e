# SPDX-License-Identifier: GPL-3.0-or-later
# For how long each command has a process of many blocks stand still: what it prints, and what a thread of the process
# itself sees, beside a bare fork of the process. STAND="MB BLOCKS" has another heap than one of 1.4 GB with 10 million.

set stand_heap {1400 10000000}
catch {set stand_heap $::env(STAND)}

# ms: what an answer says.
proc printed_of {text} {
	if {![regexp {[Tt]he process stood still for ([0-9.]+) (m?)s} $text -> value milli]} {
		return -1
	}
	return [expr {$milli eq "m" ? $value : $value * 1000}]
}

proc stand_commands {m} {
	set file $::tmp/stand
	set block [dict get [lindex [live_value $m "mdbg::allocations sort size limit 1" 600] 0] address]
	return [list malloc {malloc allocations limit 1} {malloc allocations sort size limit 1} {malloc check} \
		{malloc freespace limit 1} "malloc find $block" {malloc leaks} {malloc stale 1h} \
		"export pprof $file" "export sqlite $file limit 1" "report $file" {where all} thread registers status memory]
}

# The longest pause of each command, in ms: printed, and the process's own.
proc stand_one {t m command} {
	pause_of $t
	set text [live $m $command 600]
	set own [pause_of $t]
	set printed [printed_of $text]
	check {$printed >= 0 || $own < 1} {$command: $own ms, and nothing is printed: $text}
	return [list $printed $own]
}

proc bench_stand {} {
	lassign $::stand_heap mb wanted
	set t [start_bench $::build/bench/leakheap [expr {$mb << 20}] $wanted]
	set m [live_start --log-limit 8G -p [pid_of $t]]
	order $t make 600
	pause_of $t
	set bare [bare_fork $t]
	puts [format "\n%d blocks in %d MB: the longest pause, ms; a bare fork takes %.1f; [machine]\n" $wanted $mb $bare]
	puts [format "%-40s %10s %10s %10s" command printed "its own" "of the fork"]
	set most 0
	set off {}
	foreach command [stand_commands $m] {
		lassign [stand_one $t $m $command] printed own
		puts [format "%-40s %10s %10.1f %10.2f" $command [expr {$printed < 0 ? "-" : [format %.1f $printed]}] $own \
			[expr {$own / $bare}]]
		set most [expr {max($most, $own)}]
		if {$own > 5} {
			lappend off [expr {abs($printed / $own - 1)}]
		}
	}
	puts ""
	limit "the longest pause: ms more than a bare fork" [expr {$most - $bare}] <= 20
	limit "what is printed beside what it sees: off by, median" [median $off] <= 0.05
	let_go $m
	finish $t
}
