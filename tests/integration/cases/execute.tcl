# SPDX-License-Identifier: GPL-3.0-or-later
# A thread is about to execute another program, and sleeps uninterruptibly on the way there: it needs no code of its own
# to take the place of all other threads.

# Have the second thread of target t execute a program that copies its input; it waits until it is allowed to.
proc about_to_execute {t} {
	file copy $::build/targets/hello $::tmp/next
	skip_if {[ask $t "exec $::tmp/next"] ne "ok"} {no permission events of fanotify (CAP_SYS_ADMIN, Linux 5.0)}
}

# It begins, is let go, and ends as it would by itself.
proc check_executes {t} {
	tell $t allow
	until {![catch {file readlink /proc/[pid_of $t]/exe} exe] && $exe eq "$::tmp/next"}
	check {[ask $t "are you there"] eq "are you there"} {another answer}
	until {[regexp {TracerPid:\t0\n} [slurp /proc/[pid_of $t]/status]]}
	chan close $t write
	check {[ending $t] eq {exit 0}} {ended otherwise}
}

by_both case execute-and-attach 30 {
	set t [start permit]
	about_to_execute $t
	mdbg -p [pid_of $t] -c malloc
	check_refused 3 "about to execute another program"
	check_executes $t
}

by_both case execute-and-stop 30 {
	start_watched {t m} permit
	about_to_execute $t
	check {[string match "*about to execute*" [live_error $m interrupt]]} {another error}
	check_executes $t
	live $m "wait exit" 20
	live_end $m
}

# It is not allowed to: what was asked for meanwhile is done.
by_both case execute-fails-and-detach 30 {
	start_watched {t before m} permit
	about_to_execute $t
	puts $m detach
	flush $m
	orders $t "alloc 3" deny
	finish $t $m $before
}
