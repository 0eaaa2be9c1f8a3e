# SPDX-License-Identifier: GPL-3.0-or-later
# malloc leaks: what makes a block that is possibly lost one that is in use.

# The verdict of a search, as a dict: lost, inuse and unknown, in bytes and blocks.
proc leak_verdict {m} {
	return [live_value $m {mdbg::leaks possible -about is; set is}]
}

# Rings of shared_ptr are lost, and stale words point into them where each of their owners does: in a frame, in a block that is
# lost, and in one that is in use. None of that makes them used.
by_both case evidence-lost-rings 60 {
	foreach order {lose watch} {
		foreach when {before after} {
			set t [start rings]
			if {$when eq "before"} {
				order $t "$order 20"
			}
			set m [live_start -p [pid_of $t]]
			if {$when eq "after"} {
				order $t "$order 20"
			}
			set text [live $m "malloc leaks"]
			note $text
			set is [leak_verdict $m]
			check {[regexp {\n    lost\.+ (\d+) bytes in (\d+) blocks: \d+ bytes directly, \d+ bytes through these\n    in use by evidence\.+ (\d+) bytes in \d+ blocks\n    not known\.+ (\d+) bytes in (\d+) blocks\n} $text -> lost - used unknown]} \
				{no verdict: $text}
			check {[dict get $is lost] == $lost && [dict get $is inuse] == $used && [dict get $is unknown] == $unknown} {$is: $text}
			if {$when eq "after"} {
				set count 0
				foreach leak [live_value $m "mdbg::leaks all function == make_session*"] {
					check {[dict get $leak likelycount] == 0 && [dict get $leak kind] ne "reachable"} {$leak}
					incr count [dict get $leak count]
				}
				check {$count == 80} {$count blocks of rings: $text}
			}
			check {[dict get $is lostcount] + [dict get $is unknowncount] >= 80} {$is: $text}
			finish $t $m
		}
	}
}

# One word leads to a table, behind its entries, and to all that it holds.
by_both case evidence-hash-table 60 {
	foreach when {before after} {
		set t [start rings]
		set size 5003
		if {$when eq "before"} {
			order $t "table 100"
			set size [usable 5003]
		}
		set m [live_start -p [pid_of $t]]
		if {$when eq "after"} {
			order $t "table 100"
		}
		set is [of_size $m $size possible]
		note [live $m "malloc leaks"]
		check {[dict get $is count] == 100 && [dict get $is likelycount] == 100} {$when: $is}
		check {[regexp {pointers to byte 1024, as hash tables of Rust have} [live $m "malloc leaks possible size == [expr {$when eq "before" ? [usable 1168] : 1168}]"]]} {$::result}
		set verdict [leak_verdict $m]
		check {[dict get $verdict inuse] > 20 * ([dict get $verdict lost] + [dict get $verdict unknown])} {$verdict}
		finish $t $m
	}
}
