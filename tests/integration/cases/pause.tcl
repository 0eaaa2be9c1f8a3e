# SPDX-License-Identifier: GPL-3.0-or-later
# For how long a process stands still: what needs its heaps or its memory is answered from a snapshot, is refused if it
# takes too long, and says how long it took. (tests/bench/stand.tcl compares that with what the process sees.)

set stood {[Tt]he process stood still for [0-9.]+ m?s\M}

# Commands that walk heaps or search memory, and their values.
proc pause_commands {address} {
	return [list malloc "malloc allocations limit 1" "malloc freespace limit 1" "malloc check" "malloc find $address" \
		"malloc leaks" "malloc stale 1h" "export folded $::tmp/folded" "export sqlite $::tmp/db" "report $::tmp/report.html"]
}

proc pause_values {address} {
	return [list mdbg::malloc "mdbg::allocations limit 1" "mdbg::freespace limit 1" mdbg::check "mdbg::find $address" \
		mdbg::leaks "mdbg::stale 1h" "mdbg::export folded $::tmp/folded"]
}

# How often mdbg has looked at a snapshot, and was done with it.
proc snapshots {} {
	return [regexp -all -line {looked at in a snapshot: done$} [slurp $::tmp/trace]]
}

proc a_block {m} {
	return [dict get [lindex [live_value $m "mdbg::allocations limit 1"] 0] address]
}

# Each answer for which the process stood says so, once; where it stood anyhow, or did not stand, none does.
case pause-printed 60 {
	set t [start million]
	order $t "make 100"
	set m [live_start -p [pid_of $t]]
	set commands [concat [pause_commands [a_block $m]] {{malloc leaks -stop} {malloc leaks -snapshot} {where all} thread registers}]
	foreach command $commands {
		set text [live $m $command]
		check {[regexp -all $::stood $text] == 1} {$command: $text}
	}
	foreach command {status "malloc sites" memory {export folded /dev/stdout}} {
		check {![regexp {stood still} [live $m $command]]} {$command: [live $m $command]}
	}
	live $m interrupt
	foreach command $commands {
		set text [live $m $command]
		check {![regexp {stood still} $text]} {$command: $text}
	}
	live $m cont
	finish $t $m
}

# ms, of an answer's last line about it.
proc printed_ms {text} {
	if {![regexp "$::stood" $text line] || ![regexp {([0-9.]+) (m?)s$} $line - value milli]} {
		return -1
	}
	return [expr {$milli eq "m" ? $value : $value * 1000}]
}

# What is printed is no less than what a thread of the process sees, also if a signal stops that thread as soon as it is seized,
# long before the last one is.
case pause-own-clock 60 {
	set t [start million]
	orders $t "make 100000" "clock 300"
	set m [live_start -p [pid_of $t]]
	foreach command {malloc "malloc leaks" "malloc leaks -stop" "malloc check" "report $::tmp/report.html"} {
		order $t longest
		set printed [printed_ms [live $m [subst $command]]]
		set own [expr {[order $t longest] / 1e6}]
		note [format "%s: %.1f ms printed, %.1f ms of its own" $command $printed $own]
		check {$own <= 1.05 * $printed + 1} {$command: it stood for $own ms, and $printed ms is printed}
	}
	finish $t $m
}

# What a file gets is not mixed with that line.
case pause-not-in-files 60 {
	set t [start million]
	order $t "make 100"
	set m [live_start -p [pid_of $t]]
	foreach command {"export folded $::tmp/out" "export json $::tmp/out" "report $::tmp/out"} {
		check {[regexp $::stood [live $m [subst $command]]]} {$command says nothing}
		check {![regexp {process stood still} [slurp $::tmp/out]]} {it is in the file of $command}
	}
	finish $t $m
}

# A large heap is looked at in a snapshot, and all answers are those of a stop.
by_both case pause-snapshot-same 120 {
	set ::env(MDBG_TRACE) $::tmp/trace
	set t [start million]
	order $t "make 200000"
	attach_to {before m} $t
	order $t "make 40000"
	set address [dict get [lindex [live_value $m "mdbg::allocations size == 48 limit 1"] 0] address]
	set commands [list malloc {malloc allocations limit 2000} {malloc allocations sort size limit 50} {malloc freespace} \
		{malloc check} "malloc find $address" {malloc leaks all}]
	foreach command $commands {
		set had [snapshots]
		live $m "$command > $::tmp/[llength [dict keys [expr {[info exists ran] ? $ran : {}}]]]"
		check {[snapshots] > $had} {$command: no snapshot}
		dict set ran $command [slurp $::tmp/[llength [dict keys [expr {[info exists ran] ? $ran : {}}]]]]
	}
	set value [live_value $m mdbg::malloc]
	live $m interrupt
	set had [snapshots]
	foreach command $commands {
		live $m "$command > $::tmp/stopped"
		set strip {^.*([Tt]he process stood still|Recording since|Up to \d+ blocks more|bytes of roots and).*\n}
		set is [regsub -all -line $strip [dict get $ran $command] ""]
		set was [regsub -all -line $strip [slurp $::tmp/stopped] ""]
		check {$is eq $was} {$command: in a snapshot $is; in a stop $was}
	}
	check {[snapshots] == $had} {a snapshot of what stands still}
	set stopped [live_value $m mdbg::malloc]
	foreach key {bytes active records preattach preattachbytes allocs frees heaps mapped damages uncertain walked} {
		check {[dict get $value $key] eq [dict get $stopped $key]} {$key: [dict get $value $key], [dict get $stopped $key]}
	}
	check {[dict get $value preattach] >= 200000 && [dict get $value records] >= 40000} {$value}
	live $m cont
	finish $t $m $before
}

# The looks at snapshots, those in which the heaps were in change each time: where threads inside the allocator get no processor
# for long. Then it is stopped.
proc snapshots_tried {} {
	return [regexp -all -line {looked at in a snapshot: (?:done|no snapshot: the heaps were in change.*)$} [slurp $::tmp/trace]]
}

proc check_at_work {m command} {
	set had [snapshots_tried]
	switch $command {
		check {
			set value [live_value $m mdbg::check]
			check {[dict get $value damages] == 0} {damage: $value}
		}
		malloc {
			set figures [live_value $m mdbg::malloc]
			dict with figures {
				check {$allocs == $frees + $replaced + $records} {$figures}
				check {$preattach >= 100000} {fewer than it holds: $figures}
			}
		}
		list {
			set addresses [live_value $m {lmap block [mdbg::allocations thread > 0] {dict get $block address}}]
			check {[llength $addresses] == [llength [lsort -unique $addresses]]} {listed twice}
		}
	}
	check {[snapshots_tried] == $had + 1} {$command: no snapshot}
}

# Threads that allocate and free all the time: nothing is damaged, nothing is listed twice, and every block is accounted for.
by_both repeated pause-snapshot-at-work 120 {
	set ::env(MDBG_TRACE) $::tmp/trace
	set t [start million]
	order $t "make 100000"
	set m [live_start -p [pid_of $t]]
	orders $t "make 50000" "churn 2"
	for {set i 0} {$i < $::trials} {incr i} {
		check_at_work $m [lindex {check malloc list} [expr {$i % 3}]]
	}
	order $t rest
	finish $t $m
}

# Too long for the limit: the estimate, the reason and the way out, and nothing is stopped.
case pause-refused 60 {
	set t [start parent]
	order $t grow
	attach_to {before m} $t
	set address [a_block $m]
	live $m "set max-pause 10us"
	foreach command [concat [pause_commands $address] [pause_values $address]] {
		set said [live_error $m $command]
		check {[regexp {would stand still for some [0-9.]+ ms, and max-pause is 0.01 ms \(for the fork of a snapshot\)} $said]} \
			{$command: $said}
		set code [live_value $m "catch {$command} said how; dict get \$how -errorcode"]
		check {[string match {MDBG STATE {*set max-pause none*}} $code]} {$command: no way out: $code}
	}
	# What the user asks for expressly, what stands anyhow, and what needs no stop.
	check {[regexp $::stood [live $m "malloc leaks -stop"]]} {$::result}
	live_all $m "malloc sites" interrupt malloc cont
	if {[lindex [ask $t "direct $::build/mdbg"] 0] eq "ok"} {
		live $m "set max-pause 1ms"
		foreach command [list malloc "malloc leaks" "report $::tmp/report.html"] {
			set said [live_error $m $command]
			check {[string match "*max-pause is 1 ms (no snapshot: * open for direct I/O)*" $said]} {$command: $said}
		}
		live $m "set max-pause none"
		set text [live $m "malloc find $address"]
		check {[string match "*It was stopped for all of the walk (no snapshot: * open for direct I/O)\nThe process stood still for*" \
			$text]} {$text}
		order $t undo
	} else {
		note "no direct I/O here"
	}
	live_all $m "set max-pause 500ms" malloc
	finish $t $m $before
}

# A block that malloc has mapped on its own, and does not begin its mapping, is looked for at each page: not in a stop.
case pause-looks-at-pages 60 {
	set t [start kinds]
	skip_if {[ask $t "joined 150"] ne "ok"} {there is no room right below a block}
	set ::env(MDBG_TRACE) $::tmp/trace
	attach_to {before m} $t
	foreach command {malloc "malloc check" "malloc pins" "memory account"} {
		set had [snapshots]
		check {[regexp $::stood [live $m $command]]} {$command: $::result}
		check {[snapshots] > $had} {$command: in a stop}
	}
	check {[dict get [live_value $m mdbg::malloc] mapped] == 1} {the block is not found: $::result}
	finish $t $m $before
}

# A search reads what the process shares in the stop, where a fork would not have it as it was: that is foretold, however little
# is the process's own. A search for bytes reads it when the process runs again.
case pause-refused-for-shared-memory 60 {
	set t [start parent]
	skip_if {[lindex [ask $t "share 64"] 0] ne "ok"} {no shared memory}
	order $t hide
	set direct [expr {[lindex [ask $t "direct $::build/mdbg"] 0] eq "ok"}]
	attach_to {before m} $t
	set address [a_block $m]
	live $m "set max-pause 20ms"
	foreach command [list "malloc leaks" mdbg::leaks "malloc owners" "malloc find $address" "mdbg::find $address"] {
		set said [live_error $m $command]
		check {[regexp {would stand still for some ([0-9.]+) ms, and max-pause is 20 ms \(no snapshot: } \
			$said - ms] && $ms < 100} {$command: $said}
	}
	set text [live $m {find -snapshot {"nowhere"}}]
	check {[regexp {^0 places; (\d+) bytes were searched} $text - searched] && $searched > 64 << 20} {$text}
	check {!$direct || [string match "*no snapshot: * open for direct I/O*" $text]} {$text}
	check {[regexp $::stood $text]} {$text}
	live_all $m "set max-pause none" "malloc leaks" "malloc owners"
	finish $t $m $before
}
