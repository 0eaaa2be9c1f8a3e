# SPDX-License-Identifier: GPL-3.0-or-later
# --fail-on-leak: what is lost at the end, whatever the end is.

# Run `losses` with these words to its end under --fail-on-leak.
proc gate {words args} {
	mdbg -q --fail-on-leak {*}$args -- $::build/targets/losses {*}$words
}

# The report is on standard error, and says this.
proc check_leaked {bytes blocks} {
	check {$::status == 23} {status $::status: $::err}
	check {[regexp "has definitely lost $bytes bytes in $blocks blocks\n\$" $::err]} {not $bytes bytes: $::err}
	check {[regexp {Leak Summary of the Process} $::err]} {no report: $::err}
	check {$::out eq ""} {a report on standard output: $::out}
}

by_both case gate-program 120 {
	gate {lose exit 0}
	check_leaked 7001 1
	check {[regexp { lose_one\+} $::err]} {no stack: $::err}
	gate {lose lose chain exit 3}
	check_leaked [expr {2 * 7001 + 7011}] 3
	gate {keep own exit 5}
	check {$::status == 5 && $::err eq ""} {nothing is lost, but: $::status $::err}
	gate {exit 0}
	check {$::status == 0 && $::err eq ""} {nothing is lost, but: $::status $::err}
	# Whatever ends it; a thread that is not the first.
	gate {lose signal 15}
	check_leaked 7001 1
	gate {keep signal 15}
	check {$::status == 128 + 15} {ended by SIGTERM: $::status $::err}
	mdbg -in [spit $::tmp/in "lose\nkeep\nexit 4\n"] -q --fail-on-leak -- $::build/targets/losses thread
	check {$::status == 23 && [regexp {definitely lost 7001 bytes} $::err]} {ended by another thread: $::status $::err}
	mdbg -in [spit $::tmp/in "keep\nexit 4\n"] -q --fail-on-leak -- $::build/targets/losses thread
	check {$::status == 4 && $::err eq ""} {ended by another thread, nothing lost: $::status $::err}
	# What is suppressed is none.
	gate {lose exit 6} --suppressions [spit $::tmp/list "leak:^lose_one\$\n"]
	check {$::status == 6} {it is suppressed, but: $::status $::err}
	# Commands of mdbg's go before; they, too, may fail.
	gate {lose exit 0} -c {wait exit} -c {exit 7}
	check {$::status == 23} {mdbg's exit 7 wins: $::status $::err}
	gate {exit 0} -c {error oops}
	check {$::status == 1} {a failed command: $::status $::err}
}

# A single block is not missed for a word that nobody will use again: what a thread that has ended has left on its stack, what
# exit has in its frames of those of main, whatever ends the process after it.
by_both case gate-dead-stacks 60 {
	foreach {words bytes} {{ended quit} 6037 end 6089} {
		mdbg -in [spit $::tmp/in "[join $words "\n"]\n"] -q --fail-on-leak -- $::build/targets/stale
		check {$::status == 23} {$words: status $::status: $::err}
		check {[regexp "definitely lost $bytes bytes in 1 blocks\n\$" $::err]} {$words: not $bytes bytes: $::err}
	}
	# A variable of a function that waits when the process ends is no leak.
	mdbg -in [spit $::tmp/in "alive\nquit\n"] -q --fail-on-leak -- $::build/targets/stale
	check {$::status == 0 && $::err eq ""} {a variable: $::status $::err}
}

# What could not be looked at is no success.
case gate-unknown 60 {
	check {[catch {exec {*}[mdbg_command -q --fail-on-leak -- $::build/targets/losses lose signal 9] 2> $::tmp/err}] &&
		[lindex $::errorCode 2] == 137} {killed: $::errorCode}
	check {[string match "*--fail-on-leak: it is not known what is lost*" [slurp $::tmp/err]]} {[slurp $::tmp/err]}
	gate {lose exec}
	check_refused 1 "--fail-on-leak: it is not known what is lost" "follow-exec on"
	set t [start losses]
	order $t lose
	set m [live_start --fail-on-leak -p [pid_of $t]]
	live $m "set follow-exec on"
	tell $t exec
	live $m "wait exit"
	live_end $m	;# what was executed loses nothing
	ending $t
	mdbg -q --fail-on-leak -p 1999999999
	check {$::status == 3} {no process: $::status $::err}
	mdbg -q --fail-on-leak -c {puts x}
	check {$::status == 0 && $::err eq ""} {no process at all: $::status $::err}
}

by_both case gate-attached 120 {
	set t [start losses]
	set before [state [pid_of $t]]
	order $t keep
	foreach how {{-c malloc} {-c detach} {-c mdbg::detach} {-c {exit 0}} {-c quit}} {
		mdbg -q --fail-on-leak -p [pid_of $t] {*}$how
		check {$::status == 0 && $::err eq ""} {$how, nothing lost: $::status $::err}
	}
	set m [live_start --fail-on-leak -p [pid_of $t]]
	order $t lose
	live_end $m {exit 23}
	check {[string match "*has definitely lost 7001 bytes in 1 blocks*" [slurp $::live_err($m)]]} {[slurp $::live_err($m)]}
	# From before this attach: still lost.
	foreach how {{-c malloc} {-c detach} {-c mdbg::detach} {-c {exit 4}} {-c quit} {-c {detach; attach PID; quit}}} {
		mdbg -q --fail-on-leak -p [pid_of $t] {*}[string map [list PID [pid_of $t]] $how]
		check {$::status == 23} {$how: $::status $::err}
	}
	check_state $before [pid_of $t]
	# Its own end.
	set m [live_start --fail-on-leak -p [pid_of $t]]
	order $t verify
	tell $t "exit 0"
	live $m "wait exit"
	set text [live $m "malloc leaks"]
	check {[regexp {7016 bytes in 1 blocks are definitely lost} $text]} {not what is lost at its end: $text}
	check {[live $m "malloc leaks"] eq $text} {another answer the second time}
	live_end $m {exit 23}
	check {[ending $t] eq {exit 0}} {not its own status}
}

case gate-killed-by-mdbg 60 {
	set t [start losses]
	order $t lose
	mdbg -q --fail-on-leak -p [pid_of $t] -c kill
	check {$::status == 23} {killed: $::status $::err}
	check {[ending $t] eq {signal SIGKILL}} {not killed}
}

# Many threads at work, of which one ends the process.
by_both repeated gate-threads 60 {
	for {set i 0} {$i < $::trials} {incr i} {
		set t [start exact -t 8 {*}$::rest]
		order $t go
		set m [live_start --fail-on-leak -p [pid_of $t]]
		order $t "more [work 100 10]"
		# Somebody looks all the time.
		live $m "proc look {} { catch {malloc leaks > /dev/null}; after 1 look }; look; after 1"
		tell $t quit
		live $m "wait exit"
		set err [slurp $::live_err($m)]
		check {$err eq ""} {not an end as any: $err}
		set found [live_value $m "mdbg::leaks all"]
		check {[llength $found] > 0} {nothing was found at the end}
		live_end $m
		ending $t
	}
}

# mdbg dies while the process is held at its end.
repeated gate-mdbg-killed 60 {
	for {set i 0} {$i < $::trials} {incr i} {
		set t [start losses]
		set m [live_start --fail-on-leak -p [pid_of $t]]
		order $t keep
		tell $t "exit 9"
		delay [expr {$i * 300 % 5000}]
		exec kill -KILL [pid $m]
		ending $m
		check {[ending $t] eq {exit 9}} {the process did not end as it should}
	}
}

case gate-script 60 {
	set script [file normalize $::here/../../scripts/fail-on-leak.tcl]
	foreach {words status} {{lose exit 0} 23 {keep own exit 2} 2} {
		mdbg -q --stop -c "source $script" -- $::build/targets/losses {*}$words
		check {$::status == $status} {$words: $::status $::err}
	}
	check {$::out eq ""} {standard output: $::out}
	foreach {args status} {{} 23 {7000} 23 {8000} 0 {0 {size > 1M}} 0 {much} 2} {
		set t [start losses]
		order $t lose
		# When the script comes the process has ended, or is about to: then it waits in the event loop, which must not see that
		# nothing more is to come.
		set m [live_start -p [pid_of $t]]
		live $m "set leaks-at-end on"
		tell $t quit
		chan configure $m -blocking 1
		puts $m "fileevent stdin readable {}; set argv [list $args]; source $script; exit 0"
		flush $m
		check {[ending $m] eq [list exit $status]} {$args: [slurp $::live_err($m)]}
		check {[ending $t] eq {exit 0}} {the process did not end as it should}
	}
	mdbg -q -x $script
	check {$::status == 2 && [string match "*usage: *" $::err]} {no usage: $::status $::err}
}
