# SPDX-License-Identifier: GPL-3.0-or-later
# Figures of sites that hold together while the target runs on, growth, and sites by line.

# What does not add up at this moment, in mdbg: all-time is held and freed, whatever threads have not handed over yet; and
# what only grows was never freed.
set wrong {
	proc wrong {by} {
		set bad {}
		foreach by $by {
			foreach site [mdbg::sites by $by] {
				dict with site {}
				if {$total < $count || $total != $count + $freed || $totalbytes != $bytes + $freedbytes} {
					lappend bad "by $by $label: $total ever ($totalbytes), $count held ($bytes), $freed freed ($freedbytes)"
				}
			}
			foreach site [mdbg::sites by $by function == grow_*] {
				dict with site {}
				if {$freed || $freedbytes || $total != $count} {
					lappend bad "grown by $by $label: $total ever, $count held, $freed freed ($freedbytes)"
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

proc check_site_sums {m moments} {
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
	skip_if_sanitized "the target makes more than a sanitized mdbg can add up in time"
	set t [start grower]
	set early [order $t verify]
	set before [state [pid_of $t]]
	set m [live_start {*}$args -p [pid_of $t]]
	live $m [string map {"\n" ";"} $::wrong]
	orders $t "fill [work 30000 300]" $what
	check_site_sums $m [expr {min(100, 10 * $::trials)}]
	set held [order $t calm]
	check_site_sums $m 1
	if {"--sample" ni $args} {
		set sum 0
		foreach site [live_value $m "mdbg::sites function == grow_*"] {
			incr sum [dict get $site total]
		}
		check {$sum == $held - $early} {$sum ever of $held - $early}
	}
	finish $t $m $before
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

# Growth is the difference of two looks, and no figure where there is only one.
by_both case sites-growth 120 {
	start_watched {t before m} grower
	# The looks of this case are all samples that there are.
	live $m "set history-seconds 0"
	live $m {proc site {function} { lindex [mdbg::sites function == $function] 0 }}
	# The growth of a site, once mdbg has a look of 2 s ago to compare with.
	live $m {proc growth {function} { while {[dict get [site $function] growth] eq "-"} { wait 0.1 }; dict get [site $function] growth }}
	orders $t "table 1000000" "fill 100"
	set text [live $m "malloc sites limit 1"]
	check {[regexp {growth -\n.*\nGrowth \(-\) needs} $text]} {the first look: $text}
	check {[live_value $m "growth grow_table"] eq 0} {a table that was allocated once: $::result}
	order $t "fill 50"
	# (All of one answer: the next one may be compared with a look after the blocks were made.)
	set sites [live_value $m "mdbg::sites sort growth"]
	check {[lmap site $sites {dict get $site growth}] eq [list [expr {50 * 32}] 0]} {sort growth: $sites}
	check {[dict get [lindex $sites 1] bytes] == 1000000} {the table: $sites}
	set site [lindex $sites 0]
	dict with site {}
	check {$over >= 2 && abs($rate * $over - $growth) < 0.01} {rate and over: $site}
	# Compared with a look before these, and perhaps with one before those.
	order $t "fill 50"
	set sites [live_value $m "mdbg::sites by function sort rate"]
	check {[dict get [lindex $sites 0] growth] in [list [expr {50 * 32}] [expr {100 * 32}]]} {by function: $sites}
	check {[dict get [lindex [live_value $m "mdbg::sites by size"] 0] growth] eq "-"} {by size: $::result}
	check {[regexp {growth \+0 bytes in [0-9.]+ \S+\n} [live $m "malloc sites limit 1"]]} {in text}
	# It does not grow any more, and that can be seen in a while.
	live $m {while {[dict get [site grow_filled] growth] != 0} { wait 0.1 }}
	# What was not seen is not known: after a reset, while nothing is recorded, and after it was.
	live $m "malloc reset"
	order $t "fill 10"
	set site [live_value $m "site grow_filled"]
	check {[lmap key {growth rate over} {dict get $site $key}] eq {- - -}} {after a reset: $site}
	check {[live_value $m "growth grow_filled"] == 0} {a while after a reset: $::result}
	live $m "malloc off"
	check {[live_value $m "dict get \[site grow_filled\] growth"] eq "-"} {while it is off: $::result}
	live $m "malloc on"
	check {[live_value $m "dict get \[site grow_filled\] growth"] eq "-"} {on again: $::result}
	live $m detach
	check {[live_value $m "dict get \[site grow_filled\] growth"] eq "-"} {after the detach: $::result}
	finish $t $m $before
}

# A target `lines`, and mdbg, which has seen each of its blocks.
proc with_lines {command body} {
	set t [start_command {*}$command]
	attach_to {before m} $t
	order $t "make 50"
	uplevel 1 [list set t $t]
	uplevel 1 [list set m $m]
	uplevel 1 $body
	finish $t $m $before
}

# What is held, was ever allocated and was freed by line, which is what memcheck's xtree says: lines of a function are
# different, callers of a line are not.
by_both case sites-by-line 60 {
	with_lines $::build/targets/lines {
		set rows [ask_list $t lines]
		order $t "drop [lindex $rows 1 0] 30"
		set rows [ask_list $t lines]
		check {[llength [live_value $m "mdbg::sites by line"]] == 3} {sites: $::result}
		foreach row $rows {
			lassign $row line function bytes count totalbytes total freedbytes freed
			set site [live_value $m "lindex \[lsearch -all -inline -index 1 \[mdbg::sites by line\] {line lines.c:$line}\] 0"]
			check {[dict size $site] > 0} {no site of line $line}
			foreach key {function bytes count totalbytes total freedbytes freed} {
				check {[dict get $site $key] eq [set $key]} {line $line: $key is [dict get $site $key] and not [set $key]}
			}
		}
		set first [lindex $rows 1]
		set text [live $m "malloc sites by line limit 1"]
		check {[regexp "#1  [lindex $first 2] bytes in [lindex $first 3] blocks \\(\[0-9.\]+ %\\): line lines.c:[lindex $first 0]\n" $text]} {$text}
		check {[regexp "most of it from\n    in pair \\(lines.c:[lindex $first 0]\\)\n" $text]} {$text}
		set freed [lrange $first 4 end]
		check {[regexp "\n    all-time [lindex $freed 1] blocks, [lindex $freed 0] bytes; [lindex $freed 3] freed \\([lindex $freed 2] bytes\\)\n" $text]} {$text}
		set pair [live_value $m "lindex \[mdbg::sites by function\] 0"]
		check {[dict get $pair function] eq "pair" && [dict get $pair freedbytes] == 30 * 4000} {by function: $pair}
		set sites [live_value $m "mdbg::sites by line function == other"]
		check {[lmap site $sites {dict get $site count}] eq {50 50 50}} {of one caller: $sites}
		check {[lmap site $sites {dict get $site total}] eq {100 100 100}} {all-time is of both: $sites}
	}
}

# Without debug information each function is one.
case sites-by-line-without-lines 60 {
	exec [need strip] -g -o $::tmp/bare $::build/targets/lines
	with_lines $::tmp/bare {
		set sites [live_value $m "mdbg::sites by line"]
		set want [lmap function {one other pair} {string cat "function $function, line not known"}]
		check {[lsort [lmap site $sites {dict get $site label}]] eq $want} {$sites}
	}
}
