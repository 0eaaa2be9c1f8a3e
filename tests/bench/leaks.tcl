# SPDX-License-Identifier: GPL-3.0-or-later
# Search for leaks in a large heap: how long it takes, how long the target stands still for it (beside a bare fork of the
# same process), and what mdbg takes of its own. LEAKS="MB BLOCKS" has another heap than one of 1 GB; the limits on time are
# for 4 GB and 20 million blocks (LEAKS="4096 20000000"), in proportion.

set leaks_heap {1024 5000000}
catch {set leaks_heap $::env(LEAKS)}

proc own_kb {m} {
	regexp {RssAnon:\s+(\d+)} [slurp /proc/[pid $m]/status] -> kb
	return $kb
}

# Seconds of processor time that mdbg has had.
proc cpu {m} {
	set stat [lrange [split [string range [set text [slurp /proc/[pid $m]/stat]] [string last ) $text] end]] 1 end]
	return [expr {([lindex $stat 11] + [lindex $stat 12]) / 100.0}]
}

# What a command prints, and how long it takes (s of processor time: others may be at work here).
proc search {m command} {
	set begun [cpu $m]
	set text [live $m $command 600]
	return [list $text [expr {[cpu $m] - $begun}]]
}

# How much memory mdbg has of its own during a command, in bytes more than before. By itself, as to look takes time of what
# may be the other half of mdbg's processor.
proc memory_of {m command} {
	set before [own_kb $m]
	set most $before
	puts $m "$command > /dev/null"
	flush $m
	chan configure $m -blocking 0
	while {[gets $m line] < 0} {
		catch {set most [expr {max($most, [own_kb $m])}]}
		after 1
	}
	check {[string match "@@@ 0*" $line]} {$command: $line}
	return [expr {($most - $before) * 1024}]
}

# Bytes of blocks and roots that were marked, and the seconds it took: the last that mdbg's trace tells.
proc marked {} {
	set last [lindex [regexp -all -inline {marked (\d+) bytes in (\d+) us} [slurp $::tmp/trace]] end-1]
	set us [lindex [regexp -all -inline {marked (\d+) bytes in (\d+) us} [slurp $::tmp/trace]] end]
	return [list $last [expr {$us / 1e6}]]
}

proc lost_of {text} {
	check {[regexp {definitely lost\.+ \d+ bytes in (\d+) blocks} $text -> lost]} {no sums: $text}
	return $lost
}

# ms that a thread did not run, at most, since it was asked last.
proc pause_of {t} {
	after 50
	return [expr {[order $t report] / 1e6}]
}

proc bare_fork {t} {
	set times {}
	foreach i {1 2 3} {
		lappend times [expr {[order $t fork 60] / 1e6}]
	}
	return [median $times]
}

# No leak is made up while threads are at work.
proc search_at_work {t m lost} {
	order $t "churn 8"
	foreach i {1 2} {
		lassign [search $m "malloc leaks -snapshot"] text seconds
		limit "8 threads churn: leaks that are none" [expr {[lost_of $text] - $lost}] <= 0
		puts [format "%-64s %10.2f" "    in a snapshot: 1 or not" [string match "*a snapshot of it*" $text]]
	}
	order $t rest 120
}

proc bench_leaks {} {
	lassign $::leaks_heap mb wanted
	set share [expr {$wanted / 20e6}]
	set ::env(MDBG_TRACE) $::tmp/trace
	set t [start_bench $::build/bench/leakheap [expr {$mb << 20}] $wanted]
	set m [live_start --log-limit 8G -p [pid_of $t]]
	set begun [clock milliseconds]
	lassign [order $t make 600] blocks lost
	puts [format "\n%d blocks in %d MB, made in %.1f s under probes; %d are lost. %s\n" $blocks $mb \
		[expr {([clock milliseconds] - $begun) / 1000.0}] $lost [machine]]
	live $m "malloc leaks -stop > /dev/null" 600
	pause_of $t
	set bare [bare_fork $t]
	pause_of $t
	foreach how {-stop -snapshot} {
		lassign [search $m "malloc leaks $how"] text seconds
		set pause [pause_of $t]
		lassign [marked] marked mark_seconds
		check {[lost_of $text] == $lost} {$lost are lost, and found are [lost_of $text]: $text}
		set bytes [memory_of $m "malloc leaks $how"]
		pause_of $t
		puts "malloc leaks $how"
		limit "    all of it, s of processor time" $seconds <= [expr {10.0 * $share}]
		# (In a snapshot the target's own thread works meanwhile, on what may be the other half of mdbg's processor.)
		if {$how eq "-stop"} {
			limit "    marking, GB/s" [expr {$marked / 1e9 / $mark_seconds}] >= 1
		} else {
			puts [format "%-64s %10.2f" "    marking, GB/s" [expr {$marked / 1e9 / $mark_seconds}]]
		}
		limit "    mdbg's own memory, bytes a block" [expr {double($bytes) / $blocks}] <= 24
		if {$how eq "-snapshot"} {
			check {[string match "*a snapshot of it was searched*" $text]} {no snapshot: $text}
			limit "    pause, ms" $pause <= [expr {1.3 * $bare}]
			limit "    pause, times that of a bare fork ([format %.1f $bare] ms)" [expr {$pause / $bare}] <= 1.3
		} else {
			puts [format "%-64s %10.2f" "    pause, ms" $pause]
		}
	}
	search_at_work $t $m $lost
	let_go $m
	finish $t
}
