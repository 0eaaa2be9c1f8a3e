# SPDX-License-Identifier: GPL-3.0-or-later
# Who keeps the memory of a process with ten million blocks from before the attach: processor time, mdbg's own memory (all
# that it ever had, and what it has afterwards), and a way to one of the blocks. OWNERS="MB BLOCKS" has another heap.

set owners_heap {1400 10000000}
catch {set owners_heap $::env(OWNERS)}

proc status_kb {m name} {
	regexp "$name:\\s+(\\d+)" [slurp /proc/[pid $m]/status] -> kb
	return $kb
}

# Seconds of processor time that mdbg has had.
proc owners_cpu {m} {
	set text [slurp /proc/[pid $m]/stat]
	set stat [lrange [split [string range $text [string last ) $text] end]] 1 end]
	return [expr {([lindex $stat 11] + [lindex $stat 12]) / 100.0}]
}

# The answer, and the seconds of processor time that it took: others may be at work here.
proc owners_ask {m command} {
	set begun [owners_cpu $m]
	set text [live $m $command 600]
	return [list $text [expr {[owners_cpu $m] - $begun}]]
}

proc bench_owners {} {
	lassign $::owners_heap mb wanted
	set share [expr {$wanted / 10e6}]
	set t [start_bench $::build/bench/leakheap [expr {$mb << 20}] $wanted]
	lassign [order $t make 600] blocks
	set m [live_start -p [pid_of $t]]
	puts [format "\n%d blocks in %d MB, from before the attach; %s\n" $blocks $mb [machine]]
	puts [format "%-64s %10.2f" "mdbg's memory before, bytes a block" [expr {[status_kb $m VmRSS] * 1024.0 / $blocks}]]
	lassign [owners_ask $m "malloc owners limit 3"] text seconds
	check {[regexp {0x[0-9a-f]+} $text block]} {nobody keeps anything: $text}
	limit "malloc owners, s of processor time" $seconds <= [expr {15.0 * $share}]
	limit "    mdbg's memory at most, bytes a block" [expr {[status_kb $m VmHWM] * 1024.0 / $blocks}] <= 40
	limit "    and afterwards" [expr {[status_kb $m VmRSS] * 1024.0 / $blocks}] <= 40
	lassign [owners_ask $m "malloc path $block"] text seconds
	check {[string match "*$block*" $text]} {no way to $block: $text}
	limit "a path after it, s of processor time" $seconds <= [expr {1.0 * $share}]
	limit "    mdbg's memory at most, bytes a block" [expr {[status_kb $m VmHWM] * 1024.0 / $blocks}] <= 40
	let_go $m
	finish $t
}
