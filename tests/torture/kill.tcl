# SPDX-License-Identifier: GPL-3.0-or-later
# mdbg ends in every way, under allocation load from 8 threads (full load from 10 trials on): the target goes on, a new mdbg works and leaves it clean.

# How long it takes until mdbg has attached, and from `detach` to its end, in us.
proc measure {pid} {
	set start [clock microseconds]
	set m [live_start -p $pid]
	set attach [expr {[clock microseconds] - $start}]
	set start [clock microseconds]
	live $m detach
	set detach [expr {[clock microseconds] - $start}]
	live_end $m
	note "attach takes $attach us, detach $detach us"
	return [list $attach $detach]
}

# A busy target, with what it looks like before.
proc busy {} {
	set ::t [start exact -t 8 {*}$::rest]
	set ::before [state [pid_of $::t]]
	order $::t go
}

proc gone {m} {
	set pid [pid $m]
	until {![is_alive $pid]} 30
	chan configure $m -blocking 1
	catch {close $m}
}

# It works on, with whatever was left in it; a new mdbg works and leaves it clean; then it is busy again.
proc check_survivor {what} {
	if {[catch {
		order $::t pause
		order $::t verify
		order $::t each
		order $::t go
		set m [live_start -p [pid_of $::t]]
		set since [expr {[clock microseconds] * 1000}]
		order $::t "more [work 100 10]"
		order $::t pause
		live $m "malloc allocations > $::tmp/dump"
		compare $::t [parse_heads $::tmp/dump] $since
		live $m detach
		live_end $m
		check_state $::before [pid_of $::t]
		order $::t go
	} message]} {
		fail_with_end $::t $what $message
	}
}

proc kill_at {us} {
	set m [open |[list {*}[mdbg_command -q -p [pid_of $::t] -c detach] 2>> $::tmp/err] r+]
	delay $us
	catch {exec kill -KILL [pid $m]}
	gone $m
}

by_both repeated kill-9-while-attaching 60 {
	busy
	lassign [measure [pid_of $::t]] attach detach
	for {set i 0} {$i < $::trials} {incr i} {
		set us [expr {int($attach * (0.1 + rand()))}]
		kill_at $us
		check_survivor "trial $i, killed $us us after the start"
	}
	order $::t pause
	finish $::t
}

by_both repeated kill-9-while-detaching 60 {
	busy
	lassign [measure [pid_of $::t]] attach detach
	for {set i 0} {$i < $::trials} {incr i} {
		set us [expr {int($detach * rand() * 1.2)}]
		set m [live_start -p [pid_of $::t]]
		puts $m detach
		flush $m
		delay $us
		catch {exec kill -KILL [pid $m]}
		gone $m
		check_survivor "trial $i, killed $us us after detach"
	}
	order $::t pause
	finish $::t
}

by_both repeated kill-9-at-any-moment 60 {
	busy
	for {set i 0} {$i < $::trials} {incr i} {
		set us [expr {int(rand() * 300000)}]
		set m [live_start -p [pid_of $::t]]
		puts $m [lindex {{malloc allocations > /dev/null} {where all} {interrupt; cont} {malloc off; malloc on} status} \
			[expr {$i % 5}]]
		flush $m
		delay $us
		exec kill -KILL [pid $m]
		gone $m
		check_survivor "trial $i, killed after $us us"
	}
	order $::t pause
	finish $::t
}

# Killed again and again, with nothing cleaned in between.
by_both repeated kill-9-twice 60 {
	busy
	lassign [measure [pid_of $::t]] attach detach
	for {set i 0} {$i < $::trials} {incr i} {
		for {set j 0} {$j < 3} {incr j} {
			kill_at [expr {int($attach * (0.3 + rand()))}]
		}
		check_survivor "trial $i"
	}
	order $::t pause
	finish $::t
}

# While the target is stopped by it.
by_both repeated kill-9-while-interrupted 60 {
	busy
	for {set i 0} {$i < $::trials} {incr i} {
		set m [live_start -p [pid_of $::t]]
		live $m interrupt
		exec kill -KILL [pid $m]
		gone $m
		check_survivor "trial $i"
	}
	order $::t pause
	finish $::t
}

foreach signal {TERM HUP} {
	by_both repeated signal-$signal 60 [string map [list SIGNAL $signal] {
		busy
		for {set i 0} {$i < $::trials} {incr i} {
			set m [live_start -p [pid_of $::t]]
			if {$i % 2} {
				puts $m [lindex {{wait 1000} {while 1 {}} {malloc allocations | sleep 1000}} [expr {$i / 2 % 3}]]
				flush $m
				delay [expr {int(rand() * 300000)}]
			}
			exec kill -SIGNAL [pid $m]
			gone $m
			# It ended properly: nothing is left to clean.
			order $::t pause
			check_state $::before [pid_of $::t]
			order $::t go
			check_survivor "trial $i"
		}
		order $::t pause
		finish $::t
	}]
}

by_both repeated signal-while-attaching 60 {
	busy
	lassign [measure [pid_of $::t]] attach detach
	for {set i 0} {$i < $::trials} {incr i} {
		set m [open |[list {*}[mdbg_command -q -p [pid_of $::t] -c {wait 1000}] 2>> $::tmp/err] r+]
		delay [expr {int($attach * (0.1 + rand()))}]
		exec kill -[lindex {TERM HUP} [expr {$i % 2}]] [pid $m]
		gone $m
		check_survivor "trial $i"
	}
	order $::t pause
	finish $::t
}

repeated end-of-input 60 {
	busy
	for {set i 0} {$i < $::trials} {incr i} {
		set m [open |[list {*}[mdbg_command -q -p [pid_of $::t]] 2>> $::tmp/err] r+]
		puts $m "malloc sites limit 1"
		flush $m
		delay [expr {int(rand() * 100000)}]
		chan close $m write
		gone $m
		order $::t pause
		check_state $::before [pid_of $::t]
		order $::t go
	}
	check_survivor "in the end"
	order $::t pause
	finish $::t
}

repeated tcl-error 60 {
	busy
	set script [spit $::tmp/fails.tcl "wait 0.05\nerror {no such luck}\n"]
	for {set i 0} {$i < $::trials} {incr i} {
		mdbg -q -p [pid_of $::t] -x $script
		check {$::status == 1} {status $::status}
		order $::t pause
		check_state $::before [pid_of $::t]
		order $::t go
	}
	check_survivor "in the end"
	order $::t pause
	finish $::t
}

repeated broken-pipe 60 {
	busy
	for {set i 0} {$i < $::trials} {incr i} {
		catch {exec sh -c {"$0" -n -q -p "$1" -c "wait 0.05" -c "malloc allocations" -c "malloc allocations" 2>>"$2" | head -n 2} \
			$::mdbg_program [pid_of $::t] $::tmp/err}
		order $::t pause
		until {[string match "*TracerPid:\t0\n*" [slurp /proc/[pid_of $::t]/status]]}
		check_state $::before [pid_of $::t]
		order $::t go
	}
	check_survivor "in the end"
	order $::t pause
	finish $::t
}

repeated full-disk 60 {
	busy
	for {set i 0} {$i < $::trials} {incr i} {
		mdbg -q -p [pid_of $::t] -c {wait 0.05} -c {malloc allocations > /dev/full}
		check {$::status == 1} {status $::status}
		check {[string match -nocase "*space*" $::err]} {the error does not say why: $::err}
		order $::t pause
		check_state $::before [pid_of $::t]
		order $::t go
	}
	check_survivor "in the end"
	order $::t pause
	finish $::t
}
