# SPDX-License-Identifier: GPL-3.0-or-later
# Figures of sites that hold together while the target runs on, and growth.

# What does not add up at this moment, in mdbg: all-time is held and freed, whatever threads have not handed over yet; and
# what only grows was never freed.
set wrong {
	proc wrong {by} {
		set bad {}
		foreach by $by {
			foreach site [mdbg::sites by $by] {
				dict with site {}
				if {$total < $count || $total != $count + $freed || $totalbytes < $bytes} {
					lappend bad "by $by $label: $total ever ($totalbytes), $count held ($bytes), $freed freed"
				}
			}
			foreach site [mdbg::sites by $by function == grow_*] {
				dict with site {}
				if {$freed || $total != $count} {
					lappend bad "grown by $by $label: $total ever, $count held, $freed freed"
				}
			}
		}
		return $bad
	}
	proc wrong_in_all {} {
		set bad {}
		set m [mdbg::malloc]
		dict with m {}
		if {$allocs != $records + $frees + $replaced || $allocbytes < $freebytes} {
			lappend bad "malloc: $allocs ($allocbytes), $records records, $frees ($freebytes) freed, $replaced replaced"
		}
		return $bad
	}
}

proc check_sums {m moments} {
	for {set i 0} {$i < $moments} {incr i} {
		set bad [live_value $m [expr {$i % 5 ? "wrong stack" : "wrong {stack function}"}]]
		check {$bad eq ""} {moment $i: [lrange $bad 0 5]}
		if {$i % 20 == 0} {
			set bad [live_value $m wrong_in_all]
			check {$bad eq ""} {moment $i: $bad}
		}
	}
}

# A grower at work, and mdbg.
proc with_grower {what args} {
	set t [start grower]
	set early [order $t verify]
	set before [state [pid_of $t]]
	set m [live_start {*}$args -p [pid_of $t]]
	live $m [string map {"\n" ";"} $::wrong]
	order $t "fill [work 30000 300]"
	order $t $what
	check_sums $m 100
	set held [order $t calm]
	check_sums $m 1
	if {"--sample" ni $args} {
		set sum 0
		foreach site [live_value $m "mdbg::sites function == grow_*"] {
			incr sum [dict get $site total]
		}
		check {$sum == $held - $early} {$sum ever of $held - $early}
	}
	live_end $m
	check_state $before [pid_of $t]
	finish $t
}

by_both case sites-add-up-under-load 120 {
	with_grower "load 3"
}

# Threads that make a block now and then, and keep what they have counted to themselves.
by_both case sites-add-up-in-slow-programs 120 {
	with_grower "slow 3"
}

by_both case sites-add-up-with-sampling 120 {
	with_grower "load 3" --sample [work 512 64]
}
