# SPDX-License-Identifier: GPL-3.0-or-later
# Forked children that are followed.

# What a process must not have of ours when mdbg is gone; parent: the state of the parent before.
proc check_clean {pid before} {
	set now [state $pid]
	foreach line [lsearch -all -inline $before "text *"] {
		check {$line in $now} {the text of $pid is not clean: $line}
	}
	foreach line [lsearch -all -inline -regexp $before {SigCgt}] {
		check {$line in $now} {$pid: not $line but [lsearch -inline $now *SigCgt*]}
	}
	check {[lsearch $now "*memfd:mdbg*"] < 0} {$pid has something of mdbg's: [lsearch -inline $now *memfd:mdbg*]}
	check {[string match "*TracerPid:\t0\n*" [slurp /proc/$pid/status]]} {$pid is still traced}
	# An executable mapping without a file.
	check {![regexp -line {^\S+ r-xp 00000000 00:00 0\s*$} [slurp /proc/$pid/maps] line]} {$pid keeps an area: $line}
}

proc blocks_of {m pid} {
	return [recorded [parse_allocations [live $m "malloc allocations pid == $pid"]]]
}

# mdbg on a forker with a child that allocates all the time. Sets t m child before of the caller.
proc start_followed {{how both}} {
	uplevel 1 [list set how $how]
	uplevel 1 {
		start_watched {t before m} forker
		live $m "set follow-fork $how"
		set child [order $t keep]
	}
}

case follow-both-lists-blocks-by-pid 60 {
	start_followed
	order $t "alloc 20"
	# The child has no blocks between two rounds.
	live $m "proc holds {} {return \[llength \[mdbg::allocations pid == $child]]}"
	until {[live_value $m "interrupt; set n \[holds]; if {!\$n} cont; set n"] > 0}
	live $m "malloc allocations > $::tmp/dump"
	set pids {}
	foreach block [recorded [parse_allocations [slurp $::tmp/dump]]] {
		dict incr pids [dict get $block pid]
		if {[dict get $block pid] == $child} {
			check {[dict get $block thread] == $child} {a block of $child is of thread [dict get $block thread]}
			check {[dict get $block size] < 600} {a block of [dict get $block size] bytes in the child}
		}
	}
	check {[lsort [dict keys $pids]] eq [lsort [list $child [pid_of $t]]]} {blocks of $pids}
	check {[dict get $pids [pid_of $t]] == 20} {[dict get $pids [pid_of $t]] blocks of the parent}
	set sums {}
	foreach site [live_value $m "mdbg::sites by process"] {
		dict set sums [dict get $site label] [list [dict get $site count] [dict get $site bytes]]
	}
	check {[lsort [dict keys $sums]] eq [lsort [list "process $child" "process [pid_of $t]"]]} {by process: $sums}
	check {[dict get $sums "process [pid_of $t]"] eq {20 6660}} {by process: $sums}
	live $m cont
	check_stacks $::tmp/dump 0.99
	live_end $m
	check_clean $child $before
	check_clean [pid_of $t] $before
	order $t drop
	finish $t
}

by_both repeated follow-both-then-detach 60 {
	set t [start forker]
	set before [state [pid_of $t]]
	for {set i 0} {$i < $::trials} {incr i} {
		set m [live_start -p [pid_of $t]]
		live $m "set follow-fork both"
		set child [order $t keep]
		order $t "alloc 5"
		live $m detach
		check_clean $child $before
		check_clean [pid_of $t] $before
		live_end $m
		order $t drop
	}
	finish $t
}

# All live on when mdbg is killed; a new one cleans each.
by_both repeated follow-both-then-kill 120 {
	for {set i 0} {$i < $::trials} {incr i} {
		start_followed
		delay [expr {$i * 3000}]
		live_kill $m
		orders $t "alloc 50" "fork 2"
		check {[is_alive $child]} {the child is dead}
		mdbg_ok -q -p $child -c status
		check_clean $child $before
		mdbg_ok -q -p [pid_of $t] -c status
		check_clean [pid_of $t] $before
		order $t drop
		finish $t
	}
}

# Who is forked when mdbg is dead inherits the probes, and can be cleaned all the same.
by_both case a-child-of-a-killed-mdbg-is-cleaned 60 {
	start_watched {t before m} forker
	live_kill $m
	set child [order $t keep]
	mdbg_ok -q -p [pid_of $t] -c status
	check_clean [pid_of $t] $before
	mdbg_ok -q -p $child -c "wait 0.1" -c "malloc sites limit 1"
	check_clean $child $before
	order $t drop
	finish $t
}

# A child takes its parent's place, which is clean from then on.
by_both case follow-child 60 {
	start_followed child
	until {[live_value $m mdbg::pid] == $child}
	until {[llength [blocks_of $m $child]] > 0}
	check_clean [pid_of $t] $before
	order $t "alloc 20"
	check {[llength [blocks_of $m [pid_of $t]]] == 0} {the parent is still recorded}
	live $m where
	live_end $m
	check_clean $child $before
	order $t drop
	finish $t
}

# So does one whose parent ends at once, as a daemon's does.
case follow-child-of-a-parent-that-ends 60 {
	start_followed child
	exec kill -KILL [pid_of $t]
	catch {ending $t}
	until {[live_value $m mdbg::pid] == $child}
	until {[llength [blocks_of $m $child]] > 0}
	live_all $m status detach
	check_clean $child $before
	live_end $m
	exec kill -KILL $child
}

# Followers outlive the first target, and are clean after mdbg's end; also if they were stopped with it.
foreach held {0 1} {
	case follow-both-parent-ends-$held 60 [string map [list HELD $held] {
		start_followed
		until {[llength [blocks_of $m $child]] > 0}
		if {HELD} {
			live $m interrupt
			until {[regexp {State:\t[Tt]} [slurp /proc/$child/status]]}
		}
		exec kill -KILL [pid_of $t]
		catch {ending $t}
		live $m "wait 0.2"
		until {![regexp {State:\t[Tt]} [slurp /proc/$child/status]]}
		live_end $m
		check {[is_alive $child]} {the child is dead}
		check_clean $child $before
		exec kill -KILL $child
	}]
}

case follow-both-then-attach-another 60 {
	start_followed
	set u [start forker]
	exec kill -KILL [pid_of $t]
	catch {ending $t}
	# Until mdbg has seen that it has ended, it is attached to.
	until {![catch {live $m "mdbg::attach [pid_of $u]"}]}
	check_clean $child $before
	order $u "alloc 10"
	finish $u $m
	exec kill -KILL $child
}

# Children of a child: sh forks, and what it forks execs.
case follow-both-grandchildren 60 {
	start_watched {t before m} forker
	live $m "set follow-fork both"
	order $t "grand 3" 60
	order $t "alloc 10"
	check {[llength [blocks_of $m [pid_of $t]]] >= 10} {the parent's blocks are not listed}
	live_end $m
	check_clean [pid_of $t] $before
	finish $t
}

# A followed child that execs is let go; system() and posix_spawn do it from a vfork.
case follow-both-child-execs 60 {
	start_watched {t before m} forker
	live $m "set follow-fork both"
	orders $t "forkexec 5" "spawn 3" "system 3" "vfork 3" "alloc 10"
	live_end $m
	check_clean [pid_of $t] $before
	finish $t
}

case follow-both-child-ends 60 {
	start_followed
	until {[llength [blocks_of $m $child]] > 0}
	orders $t drop "alloc 10"
	live $m "malloc sites limit 3"
	live_end $m
	check_clean [pid_of $t] $before
	finish $t
}

case follow-both-child-is-killed 60 {
	start_followed
	until {[llength [blocks_of $m $child]] > 0}
	exec kill -KILL $child
	check {[lindex [ask $t drop] 1] == 137} {the child ended otherwise}
	order $t "alloc 10"
	live_end $m
	check_clean [pid_of $t] $before
	finish $t
}

case follow-both-interrupt 60 {
	start_followed
	until {[llength [blocks_of $m $child]] > 0}
	for {set i 0} {$i < 5} {incr i} {
		live $m interrupt
		foreach pid [list $child [pid_of $t]] {
			check {[regexp {State:\t[Tt]} [slurp /proc/$pid/status]]} {$pid is not stopped}
		}
		live $m cont
		order $t "alloc 3"
		until {![regexp {State:\t[Tt]} [slurp /proc/$child/status]]}
	}
	live_all $m interrupt detach
	check_clean $child $before
	check_clean [pid_of $t] $before
	live_end $m
	order $t drop
	finish $t
}

proc children_of {pid} {
	set children {}
	foreach path [glob -nocomplain /proc/$pid/task/*/children] {
		append children [slurp $path]
	}
	return $children
}

# How often each thread has gone to sleep.
proc sleeps_of {pid} {
	return [lmap status [lsort [glob /proc/$pid/task/*/status]] {
		regexp {\nvoluntary_ctxt_switches:\t(\d+)} [slurp $status] -> times
		set times
	}]
}

# Has any of them done so N times since?
proc has_slept {pid sleeps n} {
	foreach before $sleeps now [sleeps_of $pid] {
		if {$before ne "" && $now ne "" && $now - $before >= $n} {
			return 1
		}
	}
	return 0
}

# mdbg has children of its own for a moment (os/errand.h).
proc child_named {pid name} {
	foreach child [children_of $pid] {
		if {![catch {slurp /proc/$child/comm} comm] && [string trim $comm] eq $name} {
			return $child
		}
	}
	return ""
}

# A program that was started, is let go since it execs, and is stopped: mdbg must not spin.
case started-execs-and-is-stopped 60 {
	set m [open |[list $::mdbg_program -n -q -- /bin/sh -c "exec /bin/sleep 600" 2>@stderr] r+]
	until {[set pid [child_named [pid $m] sleep]] ne ""}
	until {![string match "*TracerPid:\t[pid $m]*" [slurp /proc/$pid/status]]}
	exec kill -STOP $pid
	until {[regexp {State:\tT} [slurp /proc/$pid/status]]}
	set used [lindex [slurp /proc/[pid $m]/stat] 13]
	# (Of a thread that spins, none would.)
	set sleeps [sleeps_of [pid $m]]
	until {[has_slept [pid $m] $sleeps 5]}
	set used [expr {[lindex [slurp /proc/[pid $m]/stat] 13] - $used}]
	exec kill -KILL $pid
	check {$used < 20} {mdbg spins: $used ticks}
	until {![is_alive [pid $m]]}
}

# The end of a program that is not traced any more is seen even where SIGCHLD was ignored by who started mdbg.
case started-execs-where-sigchld-is-ignored 60 {
	catch {
		exec timeout -s KILL [expr {20 * $::slower}] env --ignore-signal=CHLD $::mdbg_program -n -q -- \
			/bin/sh -c "exec /bin/sh -c 'sleep 0.2; exit 7'" < /dev/null 2>@1
	} message options
	check {[lindex [dict get $options -errorcode] 0] eq "CHILDSTATUS"} {no status: $message}
	check {[lindex [dict get $options -errorcode] 2] == 7} {[dict get $options -errorcode]: $message}
}

# Children that are on their way while mdbg lets go: none is left stopped, or with probes.
by_both repeated detach-under-forks 60 {
	set t [start forker]
	set before [state [pid_of $t]]
	for {set i 0} {$i < $::trials} {incr i} {
		set m [live_start -p [pid_of $t]]
		tell $t "fork 40"
		delay [expr {$i * 1000}]
		live $m detach
		check {[lindex [hear $t] 0] eq "ok"} {a child failed}
		live_end $m
		check_clean [pid_of $t] $before
	}
	finish $t
}

# The thread of a vfork that outlasts a detach is let go when it comes back.
by_both case detach-in-a-vfork-lets-all-go 60 {
	start_watched {t m} forker
	order $t hold
	live $m detach
	orders $t release "alloc 10"
	foreach status [glob /proc/[pid_of $t]/task/*/status] {
		check {[string match "*TracerPid:\t0\n*" [slurp $status]]} {$status: still traced}
	}
	finish $t $m
}

# It executes while mdbg is busy, which is then told `then`: what was set at the exec counts.
proc exec_meanwhile {then} {
	start_watched {t m} execer
	live $m "set follow-exec on"
	puts $m "while {!\[file exists $::tmp/go\]} {after 2}; $then"
	flush $m
	tell $t "exec blocked"
	until {[regexp {State:\tt} [slurp /proc/[pid_of $t]/status]]}
	spit $::tmp/go ""
	check {[hear $t] eq "ready [pid_of $t]"} {it does not go on}
	return [list $t $m]
}

case follow-exec-that-is-no-more-wanted 60 {
	lassign [exec_meanwhile "set follow-exec off"] t m
	finish $t $m
}

case follow-exec-and-detach 60 {
	lassign [exec_meanwhile detach] t m
	until {[regexp {TracerPid:\t0\n} [slurp /proc/[pid_of $t]/status]]}
	finish $t $m
}

# A started one that has executed was let go: it goes on, and its end is waited for as before.
case follow-exec-that-is-wanted-too-late 60 {
	spit $::tmp/late.tcl [string map [list TMP $::tmp] {
		close [open TMP/begin w]
		set status ""
		while {![string match "Name:\tbash*TracerPid:\t0\n*" $status]} {
			set chan [open /proc/[mdbg::pid]/status]
			set status [read $chan]
			close $chan
		}
		set follow-exec on
	}]
	set next "until \[ -e $::tmp/end \]; do sleep 0.01; done; exit 3"
	mdbg -c "source $::tmp/late.tcl" -c "close \[open $::tmp/end w\]" -c {wait exit} -c status -- \
		/bin/sh -c "until \[ -e $::tmp/begin \]; do sleep 0.01; done; exec /bin/bash -c '$next'"
	check {$::status == 3 && [string match "*ended with status 3*" $::out]} {$::status: $::out$::err}
}

# One that executes another program while it is attached to is not attached to, and goes on, also with follow-exec.
repeated follow-exec-in-an-attach 60 {
	set t [start execer]
	set pid [pid_of $t]
	tell $t "exec spin"
	set m [live_start]
	live $m "set follow-exec on"
	set refused 0
	# A busy machine may let it have no processor while mdbg attaches.
	for {set i 0} {$i < $::trials || (!$refused && $i < 100)} {incr i} {
		if {[catch {live $m "attach $pid"}]} {
			incr refused
		} else {
			catch {live $m detach}
		}
		until {[regexp {TracerPid:\t0\n} [slurp /proc/$pid/status]]}
	}
	check {$refused > 0} {it never executed itself while it was attached to}
	live_end $m
	order $t none
	finish $t
}
