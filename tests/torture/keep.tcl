# SPDX-License-Identifier: GPL-3.0-or-later
# Probes and log that outlive their mdbg, under load and under fire: 8 threads with SIGPROF at 1 kHz, mdbg killed at any
# moment. KEEP_SECONDS is how long the load lasts that nobody watches (5; make torture: 600).

set keep_seconds [expr {[info exists ::env(KEEP_SECONDS)] ? $::env(KEEP_SECONDS) : 5}]

proc signalled {} {
	set ::t [start exact -t 8 -p {*}$::rest]
	set ::before [state [pid_of $::t]]
	order $::t go
}

# What was allocated from then on (ns) is in the log that this mdbg has. The log is begun some time before the probes are in.
proc begun {m} {
	set text [live $m malloc]
	check {[regexp {Recording since\.+ ([-0-9]+ [:0-9]+)} $text -> since]} {malloc does not say since when}
	return [expr {([clock scan $since] + 3) * 1000000000}]
}

# All works on. Where it is to be compared: mdbg's list is exact, whatever was done to those before.
proc check_kept {m what compared} {
	if {[catch {
		order $::t "more 20"
		if {$compared} {
			order $::t pause
			compare $::t [dump $m] [begun $m]
			order $::t go
		}
	} message]} {
		fail_with_end $::t $what $message
	}
}

# Leave it with probes; a function that got a breakpoint needs an mdbg, and then all is taken out.
proc leave_kept {m} {
	if {[catch {live $m "detach -keep"} message]} {
		check {[string match "*breakpoint probes need*" $message]} {$message}
	}
	live_end $m
}

# An mdbg that is killed some time after its start.
proc kill_start {us args} {
	set m [open |[list {*}[mdbg_command -q -p [pid_of $::t] {*}$args] 2>> $::tmp/err] r+]
	delay $us
	catch {exec kill -KILL [pid $m]}
	gone $m
}

# And some time after it was told to do something.
proc kill_command {m command us} {
	puts $m $command
	flush $m
	delay $us
	catch {exec kill -KILL [pid $m]}
	gone $m
}

# Each round is killed in another phase, and nothing is cleaned in between but by the next mdbg.
repeated keep-killed-anywhere 180 {
	signalled
	lassign [measure [pid_of $::t]] attach detach
	set m [live_start -p [pid_of $::t]]
	for {set i 0} {$i < 2 * $::trials} {incr i} {
		set us [expr {int($attach * (0.1 + 1.1 * rand()))}]
		switch [expr {$i % 5}] {
			0 {
				set us [expr {int($detach * 1.2 * rand())}]
				kill_command $m "detach -keep" $us
			}
			1 {
				leave_kept $m
				kill_start $us -c {wait 5}
			}
			2 {
				leave_kept $m
				kill_start $us -c {wait 5}
				kill_start [expr {int($attach * (0.1 + 1.1 * rand()))}] -c {wait 5}
			}
			3 {
				leave_kept $m
				set m [live_start -p [pid_of $::t]]
				set us [expr {int($detach * 1.2 * rand())}]
				kill_command $m detach $us
			}
			4 {
				exec kill -KILL [pid $m]
				gone $m
				kill_start $us -c detach
			}
		}
		set m [live_start -p [pid_of $::t]]
		check_kept $m "round $i, killed after $us us" [expr {$i % 4 == 0}]
		if {$i % 20 == 19} {
			live_end $m
			order $::t pause
			check_state $::before [pid_of $::t]
			order $::t go
			set m [live_start -p [pid_of $::t]]
		}
	}
	live_end $m
	order $::t pause
	check_state $::before [pid_of $::t]
	finish $::t
}

# Nobody watches for long: what the later mdbg shows is what the target holds, and every event was counted.
repeated keep-under-load [expr {60 + $keep_seconds}] {
	start_watched {t before m} exact -t 8 -p {*}$::rest
	set since [since $m]
	live $m "detach -keep"
	live_end $m
	order $t go
	set end [expr {[clock seconds] + $::keep_seconds}]
	while {[clock seconds] < $end} {
		order $t "more 1000" 120
	}
	order $t pause
	lassign [order $t counts] allocs frees
	set m [live_start -p [pid_of $t]]
	check {![string match *took* [said $m]]} {it was not gone on with}
	check {[since $m] eq $since} {[since $m] and not $since}
	set held [kept_is_exact $t $m]
	check {$held == $allocs - $frees} {$held listed, [expr {$allocs - $frees}] held}
	check_stacks $::tmp/dump 0.9
	note "$allocs allocations in $::keep_seconds s"
	finish $t $m $before
}
