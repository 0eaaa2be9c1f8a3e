# SPDX-License-Identifier: GPL-3.0-or-later
# Whom mdbg acts on: tasks that are the target's, and only those; another mdbg that lives, wherever it is.

# --- tasks that never run code of the process ---------------------------------------------------------------------

# A worker of io_uring's is not stopped: the request that it works on would fail. It is none of the threads.
by_both repeated uring-requests-go-on 60 {
	if {[catch {start uring} t options]} {
		skip {there is no io_uring here}
	}
	order $t "done 100"
	check {[llength [ask_list $t workers]] > 0} {no request is carried out by a worker}
	for {set i 0} {$i < 2 * $::trials} {incr i} {
		set m [live_start -p [pid_of $t]]
		set workers [ask_list $t workers]
		set said [live $m "where all"]
		foreach worker $workers {
			check {![regexp "\\m$worker\\M" $said]} {worker $worker is among the threads: $said}
		}
		live $m "malloc"
		order $t "done 20"
		live_end $m
		order $t "done 20"
	}
	finish $t
}

# --- processes that share the memory ------------------------------------------------------------------------------

# They are held, wherever they hang in the tree of processes, with all their threads.
foreach how {parent orphan threaded} {
	by_both repeated sharer-of-memory-$how 60 [string map [list HOW $how] {
		set t [start apart HOW]
		set sharer [order $t pid]
		order $t "work 1000"
		for {set i 0} {$i < $::trials} {incr i} {
			set m [live_start -p [pid_of $t]]
			order $t "work [work 1000 20]"
			live $m "malloc off"
			order $t "work 1000"
			live $m "malloc on"
			order $t "work [work 1000 20]"
			live_end $m
			check {[is_alive $sharer]} {the process that shares the memory is gone}
			order $t "work 1000"
		}
		finish $t
	}]
}
