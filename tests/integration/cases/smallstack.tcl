# SPDX-License-Identifier: GPL-3.0-or-later
# Threads on stacks of 3 KB, with the program's data right below (tests/targets/smallstack.c): nothing of mdbg's ever
# lies there, so nothing stays there when mdbg is killed in the middle of a remote call (tracee/frame_place.h).

set small_stacks {static local block signal}

# From the start of mdbg to the end of its attach, in us; it is gone then.
proc attach_time {pid} {
	set start [clock microseconds]
	set m [live_start -p $pid]
	set us [expr {[clock microseconds] - $start}]
	live $m detach
	live_end $m
	return $us
}

# Killed again and again while it attaches: the process has only this thread, so that all calls are made by it.
repeated smallstack-killed 20 {
	foreach where $::small_stacks {
		set t [start smallstack $where]
		set before [state [pid_of $t]]
		set us [attach_time [pid_of $t]]
		for {set i 0} {$i < $::trials} {incr i} {
			set m [open |[list {*}[mdbg_command -q -p [pid_of $t] -c detach] 2>> $::tmp/err] r+]
			delay [expr {int($us * (0.1 + rand()))}]
			catch {exec kill -KILL [pid $m]}
			chan configure $m -blocking 1
			catch {close $m}
			order $t verify
		}
		attach_time [pid_of $t]
		finish $t {} $before
	}
}

# Killed in each of its first writes: the head of the journal is one of them, all in one call, so that at no moment the
# file has memory that is nobody's.
case smallstack-killed-at-the-journal 60 {
	set strace [need strace]
	set t [start smallstack static]
	set before [state [pid_of $t]]
	set head 0
	for {set nr 1} {$nr <= 8 && !$head} {incr nr} {
		catch {exec $strace -f -qq -e signal=none -e trace=pwrite64 -o $::tmp/calls \
			-e inject=pwrite64:signal=KILL:when=$nr {*}[mdbg_command -n -q -p [pid_of $t] -c detach] 2>@1}
		set head [string match {*pwrite64(*, "mdbgjrnl*} [lindex [split [string trim [slurp $::tmp/calls]] "\n"] end]]
		mdbg_ok -n -q -p [pid_of $t] -c detach
		check_state $before [pid_of $t]
	}
	check {$head} {none of its first writes was the head of the journal: [slurp $::tmp/calls]}
	finish $t
}

# All threads are on such stacks. No frame lies there.
case smallstack-threads 30 {
	set ::env(MDBG_TRACE) $::tmp/trace
	foreach where $::small_stacks {
		set t [start smallstack $where 4]
		set before [state [pid_of $t]]
		for {set i 0} {$i < 3} {incr i} {
			set m [live_start -p [pid_of $t]]
			live_all $m "malloc leaks" "malloc off" "malloc on" detach
			live_end $m
			set traced [slurp $::tmp/trace]
			check {$traced ne "" && ![string match "*lies below SP*" $traced]} {a frame on a small stack}
			order $t verify
			check_state $before [pid_of $t]
		}
		finish $t
	}
}
