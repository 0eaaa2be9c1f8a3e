# SPDX-License-Identifier: GPL-3.0-or-later
# The target ends, in every way, while mdbg watches.

# Tell the target to end; mdbg must notice, and its log still answer.
proc watch_end {line want} {
	start_watched {t m} storm
	order $t "alloc 50"
	tell $t $line
	live $m "wait exit" 20
	set end [ending $t]
	check {$end eq $want} {$line: the target ended with $end}
	set n [llength [lsearch -all [split [live $m "malloc allocations size == 333"] "\n"] "0x*"]]
	check {$n == 50} {$n blocks in the log after the end and not 50}
	live_all $m "malloc sites limit 3" malloc
	set status [live $m status]
	live_error $m "registers"
	live_end $m
	return $status
}

case ends-exit-0 30 {
	watch_end "exit 0" {exit 0}
}

by_both case ends-exit-7 30 {
	check {[string match "*7*" [watch_end "exit 7" {exit 7}]]} {status does not tell the exit status}
}

case ends-quit 30 {
	watch_end quit {exit 0}
}

by_both case ends-segv 30 {
	check {[regexp {SEGV|11|[Ss]egm} [watch_end segv {signal SIGSEGV}]]} {status does not tell the signal}
}

case ends-abort 30 {
	watch_end abort {signal SIGABRT}
}

case ends-kill 30 {
	watch_end "signal 9" {signal SIGKILL}
}

case ends-term 30 {
	watch_end "signal 15" {signal SIGTERM}
}

by_both repeated ends-under-load 60 {
	for {set i 0} {$i < $::trials} {incr i} {
		set t [start exact -t 8 {*}$::rest]
		order $t go
		set m [live_start -p [pid_of $t]]
		delay [expr {int(rand() * 100000)}]
		exec kill -[lindex {KILL TERM SEGV} [expr {$i % 3}]] [pid_of $t]
		live $m "wait exit" 20
		check {[lindex [ending $t] 0] eq "signal"} {the target ended otherwise}
		live $m "malloc sites limit 1"
		live_end $m
	}
}

# A process that gives up much memory at its end is without any for a while, as if it ran another program.
case ends-large 60 {
	for {set i 0} {$i < 4} {incr i} {
		start_watched {t m} storm
		order $t "big 600"
		tell $t "exit 7"
		live $m "wait exit" 20
		check {[string match "*status 7*" [live $m status]]} {it has not ended: [live $m status]}
		check {[ending $t] eq {exit 7}} {ended otherwise}
		live_end $m
	}
}

# In a batch that waits, too.
case ends-batch 30 {
	set t [start storm]
	set m [open |[list {*}[mdbg_command -q -p [pid_of $t] -c {puts waiting; flush stdout} -c {wait exit} \
		-c {malloc sites limit 1}] 2> $::tmp/err] r+]
	check {[hear $m] eq "waiting"} {it does not wait: [slurp $::tmp/err]}
	exec kill -KILL [pid_of $t]
	until {![is_alive [pid $m]]}
	check {[ending $m] eq {exit 0}} {mdbg ended otherwise: [slurp $::tmp/err]}
	check {[lindex [ending $t] 1] eq "SIGKILL"} {ended otherwise}
}

case ends-event 30 {
	start_watched {t m} storm
	live $m {mdbg::on exit {set ::gone 1}}
	tell $t "exit 3"
	live $m "wait exit"
	live $m "wait until {\[info exists ::gone]} timeout [expr {5 * $::slower}]"
	check {[live_value $m {set ::gone}] == 1} {mdbg::on exit did not run}
	ending $t
	live_end $m
}

case kill-command 30 {
	start_watched {t m} exact -t 2
	live $m kill
	check {[lindex [ending $t] 1] eq "SIGKILL"} {ended otherwise}
	live $m "malloc allocations"
	live_end $m
}

by_both case signals-reach-the-target 30 {
	start_watched {t m} exact -p -t 2
	order $t go
	until {[lindex [order $t signals] 0] > 10}	;# SIGPROF comes
	order $t pause
	finish $t $m
}

# Events that come while a script is at work are all there afterwards, also if some of them have been taken.
case events-wait 30 {
	set t [start_in {} hard -t 2 -x handle]
	set m [live_start -p [pid_of $t]]
	set traps 0
	# One for each: a reader that has not ended yet would take the writer that the other one waits for.
	exec mkfifo $::tmp/fifo-1 $::tmp/fifo-60
	live $m "set nr 0; mdbg::on signal {if {\[incr ::nr\] in {1 60}} {exec cat $::tmp/fifo-\$::nr}}"
	foreach {until event} {100 1 150 60} {
		while {$traps < $until} {
			check {[order $t trap] == [incr traps]} {a trap is lost}
		}
		close [open $::tmp/fifo-$event w]	;# when the script reads it
	}
	live $m "wait until {\$::nr == $traps} timeout 20"
	finish $t $m
}

# The report of a debug malloc, by the script for it; what is there in the end is the truth.
by_both case ends-with-a-report 30 {
	set script $::here/../../scripts/report-at-exit.tcl
	foreach {how end} {quit {exit 0} kill {*SIGKILL*}} {
		set t [start exact]
		set file $::tmp/report-$how
		set m [open |[list {*}[mdbg_command -q -p [pid_of $t] -c {puts ready; flush stdout} -x $script -- $file 2] \
			2> $::tmp/err] r+]
		check {[hear $m] eq "ready"} {mdbg says: [slurp $::tmp/err]}
		order $t each
		if {$how eq "quit"} {
			tell $t quit
		} else {
			exec kill -KILL [pid_of $t]
		}
		check {[ending $m] eq {exit 0}} {mdbg ended otherwise: [slurp $::tmp/err]}
		check {[string match $end [ending $t]]} {ended otherwise}
		set text [slurp $file]
		check {[regexp {Process \d+ (ended|was ended)} $text]} {no end is told: $text}
		check {[regexp {allocations currently active\.+ (\d+)} $text -> active]} {no figures: $text}
		check {($active > 10) == ($how eq "kill")} {$active blocks are left after $how}
		check {[regexp {sites listed; (\d+) allocations} $text -> listed] && $listed == $active} {the sites: $text}
	}
}
