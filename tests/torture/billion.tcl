# SPDX-License-Identifier: GPL-3.0-or-later
# Every event is accounted for: two threads allocate and free as fast as they can, ten million events a trial, so that the
# hundred trials of `make torture` are a billion.

# What the log must say, from what the program has counted itself; before is what it held before the attach.
proc check_counts {m counts before} {
	lassign $counts allocs frees allocated freed
	set accounts [live $m "malloc -v"]
	foreach {name want} [list "blocks recorded" $allocs "blocks freed" $frees "frees of NULL" 0 \
			"frees of unknown blocks" 0 "operations never returned" 0 "not recorded (table full)" 0 \
			"blocks replaced" 0 "blocks without stack (full)" 0 "allocations that failed" 0] {
		set got [account $accounts [string map {( \\( ) \\)} $name]]
		check {$got == $want} {$name: $got and not $want}
	}
	set held [figure $accounts "bytes held by the user"]
	check {$held == $before + $allocated - $freed} {bytes: $held and not $before + $allocated - $freed}
	set sums [live_value $m [string map {"\n" ";"} {apply {{} {
		set sums {0 0 0}
		foreach site [mdbg::sites] {
			set sums [lmap sum $sums key {total freed count} {expr {$sum + [dict get $site $key]}}]
		}
		return $sums
	}}}]]
	check {$sums eq [list $allocs $frees [expr {$allocs - $frees}]]} {sites: $sums}
}

repeated torture-billion 60 {
	skip_if_sanitized "it is the agent that counts, which no sanitizer is in"
	set t [start pairs]
	set before [state [pid_of $t]]
	set m [live_start --engine jump -p [pid_of $t]]
	set held [figure [live $m malloc] "bytes held by the user"]
	for {set i 0} {$i < $::trials} {incr i} {
		order $t "run 2500000" 300
		if {$i % 10 == 9 || $i == $::trials - 1} {
			check_counts $m [order $t counts] $held
		}
	}
	live_end $m
	check_state $before [pid_of $t]
	order $t counts
	finish $t
}
