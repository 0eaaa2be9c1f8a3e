# SPDX-License-Identifier: GPL-3.0-or-later
# malloc leaks -snapshot: the same answer as in a stop, and nothing that the target could notice, whatever happens to mdbg.

# Children of a process, dead ones too.
proc children {pid} {
	return [split [string trim [exec sh -c {ps -o pid=,stat= --ppid "$0" || true} $pid]] "\n"]
}

proc check_alone {pid} {
	check {[children $pid] eq {}} {process $pid has children: [children $pid]}
}

# It must have been made in one.
proc check_snapshot {text} {
	check {[string match "*a snapshot of it was searched*" $text]} {no snapshot: $text}
}

by_both case snapshot-kinds 60 {
	start_watched {t before m} leaks
	set cases [ask_list $t names]
	foreach line $cases {
		order $t "case [lindex $line 0]"
	}
	set wrong {}
	foreach line $cases {
		set got [count_kinds $m [lindex $line 1] -snapshot]
		if {$got ne [lrange $line 2 end]} {
			lappend wrong "[lindex $line 0]: $got and not [lrange $line 2 end]"
		}
	}
	check {$wrong eq {}} {[join $wrong {; }]}
	set text [live $m "malloc leaks -snapshot"]
	check_snapshot $text
	check {[leak_sums $text] eq [leak_sums [live $m "malloc leaks -stop"]]} {not the same sums: $text}
	check_alone [pid_of $t]
	finish $t $m
}

case snapshot-before-the-attach 60 {
	set t [start leaks]
	foreach line [ask_list $t names] {
		order $t "case [lindex $line 0]"
	}
	set m [live_start -p [pid_of $t]]
	set text [live $m "malloc leaks all -snapshot"]
	check_snapshot $text
	set both [live_error $m "malloc leaks -stop definite -snapshot"]
	check {[string match "*-stop or -snapshot, not both*" $both]} {both at once: $both}
	set stop [live $m "malloc leaks all -stop"]
	check {[leak_sums $text] eq [leak_sums $stop]} {not the same sums: $text $stop}
	check {[string match "*(allocated before attach)*" $text]} {not from before the attach: $text}
	check {![string match "*(not recorded)*" $text]} {not recorded: $text}
	finish $t $m
}

# Threads that allocate, free and move blocks all the time, before, during and after the fork. Where those inside the
# allocator get no processor for long, mdbg may have to stop them all.
by_both repeated snapshot-none-in-threads-at-work 60 {
	set t [start exact -t 8 {*}$::rest]
	set before [state [pid_of $t]]
	order $t go
	set m [live_start -p [pid_of $t]]
	order $t "more [work 100 10]"
	for {set i 0} {$i < $::trials} {incr i} {
		set text [live $m "malloc leaks definite indirect -snapshot"]
		if {![string match "*no snapshot: the heaps were in change*" $text]} {
			check_snapshot $text
		}
		set sums [leak_sums $text]
		check {[dict get $sums definitely] eq {0 0} && [dict get $sums indirectly] eq {0 0}} {lost: $text}
	}
	live_end $m
	order $t pause
	check_alone [pid_of $t]
	finish $t {} $before
}

# A program that waits for its children in all ways, and counts what it hears of them.
by_both repeated snapshot-unnoticed 60 {
	set t [start parent]
	orders $t go rest
	attach_to {before m} $t
	order $t go
	for {set i 0} {$i < $::trials} {incr i} {
		check_snapshot [live $m "malloc leaks -snapshot"]
	}
	check {[order $t children] > 0} {it has had no children}
	order $t rest
	check_snapshot [live $m "malloc leaks -snapshot"]
	order $t none
	finish $t $m $before
}

# What cannot be forked safely is searched in a stop, and it is said why.
case snapshot-refused 60 {
	start_watched {t before m} parent
	set refusals [list {share 64} {*memory that is shared*} "direct $::build/mdbg" {*direct I/O*} {huge 2} {*huge pages*}]
	with_huge_pages 4 {
		foreach {what pattern} $refusals {
			if {[lindex [ask $t $what] 0] ne "ok"} {
				note "no $what here"
				continue
			}
			set text [live $m "malloc leaks -snapshot"]
			check {[string match "*no snapshot: $pattern: it was stopped for all of the search*" $text]} {not said: $text}
			check_sums $m
			order $t undo
		}
	}
	check_snapshot [live $m "malloc leaks -snapshot"]
	check {![string match "*snapshot*" [live $m "malloc leaks -stop"]]} {a snapshot in spite of -stop}
	live $m interrupt
	check {![string match "*snapshot*" [live $m "malloc leaks -snapshot"]]} {a snapshot of what stands still}
	live $m cont
	finish $t $m $before
}

# Nobody would know of the child if mdbg were killed.
case snapshot-without-probes 60 {
	set t [start leaks]
	set m [live_start --no-arm -p [pid_of $t]]
	set text [live $m "malloc leaks -snapshot"]
	check {[string match "*no snapshot: without probes there is no journal*: it was stopped for all of the search*" $text]} {$text}
	check_alone [pid_of $t]
	finish $t $m
}

# With a limit of its group, as refuse and allow set it, there is no snapshot, but an answer; without it there is one.
proc check_refused_by_group {t refuse allow pattern} {
	set m [live_start -p [pid_of $t]]
	set before [state [pid_of $t]]
	eval $refuse
	set text [live $m "malloc leaks -snapshot"]
	check {[string match "*no snapshot: the control group $pattern: it was stopped for all of the search*" $text]} {not said: $text}
	check_sums $m
	check_alone [pid_of $t]
	eval $allow
	check_snapshot [live $m "malloc leaks -snapshot"]
	check_state $before [pid_of $t]
	finish $t $m
}

# Whatever the process may write while there is a snapshot must fit below the limit of its group.
case snapshot-refused-by-memory-group 60 {
	set t [start parent]
	set group [own_group memory [pid_of $t]]
	try {
		order $t grow
		set limit $group/[expr {[file exists $group/memory.max] ? "memory.max" : "memory.limit_in_bytes"}]
		check_refused_by_group $t [list spit $limit [expr {160 << 20}]] [list spit $limit [expr {2 << 30}]] \
			{* has a limit of memory, of which * MB are left, and it may take *}
	} finally {
		catch {exec kill -KILL [pid_of $t]}
		until {![catch {file delete $group}]}
	}
}

# The snapshot is a task as well.
case snapshot-refused-by-pids-group 60 {
	set t [start parent]
	set group [own_group pids [pid_of $t]]
	try {
		check_refused_by_group $t [list spit $group/pids.max 10] [list spit $group/pids.max max] \
			{is close to its limit of tasks (pids.max)}
	} finally {
		catch {exec kill -KILL [pid_of $t]}
		until {![catch {file delete $group}]}
	}
}

# What the kernel says of the machine's memory, as mdbg alone sees it.
case snapshot-refused-by-the-machine 60 {
	set unshare [need unshare]
	skip_if {[catch {exec $unshare --mount true} message]} {no mount namespace: $message}
	set t [start parent]
	set before [state [pid_of $t]]
	set mdbg $::mdbg_program
	foreach {file text pattern} {
		/proc/sys/vm/overcommit_memory "2\n" {memory is never overcommitted here (vm.overcommit_memory)}
		/proc/meminfo "MemTotal: 100000 kB\nMemAvailable: 60000 kB\n" {the machine has little memory available, of which * MB are left, and it may take *}
	} {
		spit $::tmp/says $text
		set ::mdbg_program [spit $::tmp/elsewhere "#!/bin/sh\nexec '$unshare' --mount sh -c\
			'mount --bind \"\$0\" $file && exec \"\$@\"' '$::tmp/says' '$mdbg' \"\$@\"\n"]
		file attributes $::mdbg_program -permissions 0755
		set m [live_start -p [pid_of $t]]
		set text [live $m "malloc leaks -snapshot"]
		check {[string match "*no snapshot: $pattern: it was stopped for all of the search*" $text]} {not said: $text}
		check_sums $m
		live_end $m
		check_alone [pid_of $t]
	}
	finish $t {} $before
}

# A filter that kills who forks does not see mdbg's fork.
case snapshot-under-a-filter 60 {
	start_watched {t before m} hard -t 3 -s filter
	order $t "make 50 777"
	check_snapshot [live $m "malloc leaks -snapshot"]
	check_alone [pid_of $t]
	order $t drop
	finish $t $m $before
}

# What a fork does not copy is part of the answer: blocks to which only such memory points.
case snapshot-of-what-is-not-forked 60 {
	start_watched {t m} parent
	order $t hide
	foreach how {-stop -snapshot} {
		set lost [live_value $m "mdbg::leaks definite indirect possible $how size == 4567"]
		check {$lost eq {}} {$how: lost: $lost}
		check {[lindex [count_kinds $m 4567 $how] 3] == 3} {$how: not all are reachable}
	}
	finish $t $m
}

# Of a large process, unless nobody wants it.
case snapshot-by-default 60 {
	start_watched {t m} parent
	check {![string match "*snapshot*" [live $m "malloc leaks"]]} {a snapshot of a small process}
	order $t grow
	check_snapshot [live $m "malloc leaks"]
	check_snapshot [live $m "malloc stale 1d"]
	check {![string match "*snapshot*" [live $m "malloc leaks -stop"]]} {a snapshot in spite of -stop}
	live_end $m
	check_alone [pid_of $t]
	finish $t
}

# The user it runs as may have no more processes: no fork, and it is said.
case snapshot-without-a-process-left 60 {
	set setpriv [need setpriv]
	set prlimit [need prlimit]
	file attributes $::tmp -permissions 0755
	file copy $::build/targets/parent $::tmp/parent
	# Root's processes, and those with its rights, are not counted.
	if {[exec id -u] != 0 || [catch {exec $setpriv --reuid 65533 --clear-groups $::tmp/parent < /dev/null}]} {
		skip "no process can be run as another user"
	}
	set t [open |[list $setpriv --reuid 65533 --clear-groups $::tmp/parent 2>@stderr] r+]
	chan configure $t -buffering line
	check {[lindex [hear $t] 0] eq "ready"} {it is not ready}
	set ::pid_of($t) [pid $t]
	set before [state [pid_of $t]]
	# (Its own user may lower it, and raise it again.)
	exec $setpriv --reuid 65533 --clear-groups $prlimit --pid [pid_of $t] --nproc=0:
	set m [live_start -p [pid_of $t]]
	set text [live $m "malloc leaks -snapshot"]
	check {[string match "*no snapshot: the user is close to the limit of processes*: it was stopped for all of the search*" $text]} {not said: $text}
	check_alone [pid_of $t]
	exec $setpriv --reuid 65533 --clear-groups $prlimit --pid [pid_of $t] --nproc=[lindex [regexp -inline {Max processes +\d+ +(\d+|unlimited)} \
		[slurp /proc/[pid_of $t]/limits]] 1]:
	check_snapshot [live $m "malloc leaks -snapshot"]
	live_end $m
	check_alone [pid_of $t]
	finish $t {} $before
}

# Processes of this case that run a program of tests/targets.
proc left_of {program} {
	set left {}
	foreach path [glob -nocomplain /proc/\[0-9\]*/environ] {
		set pid [lindex [file split $path] 2]
		if {![catch {slurp $path} text] && [string match "*\0TMPDIR=$::tmp\0*" "\0$text"] &&
				![catch {file readlink /proc/$pid/exe} exe] && $exe eq "$::build/targets/$program"} {
			lappend left $pid
		}
	}
	return $left
}

# The target ends while it is searched: there is an answer or a word of why not, and nothing is left.
repeated snapshot-of-one-that-ends 60 {
	for {set i 0} {$i < $::trials} {incr i} {
		set t [start parent]
		set pid [pid_of $t]
		set m [live_start -p $pid]
		order $t grow
		puts $m "catch {malloc leaks -snapshot > /dev/null}"
		flush $m
		delay [expr {int(rand() * 60000)}]
		exec kill -KILL $pid
		live_answer $m 60
		catch {close $t}
		live_end $m
		until {[left_of parent] eq {}}
	}
}

# Killed at any moment: the target notices nothing, and the next mdbg leaves nothing of what there was.
repeated kill-9-in-a-snapshot 60 {
	set t [start parent]
	set pid [pid_of $t]
	orders $t go rest
	set before [state $pid]
	orders $t grow go
	for {set i 0} {$i < $::trials} {incr i} {
		set m [live_start -p $pid]
		puts $m "malloc leaks -snapshot > /dev/null"
		flush $m
		delay [expr {int(rand() * 100000)}]
		exec kill -KILL [pid $m]
		gone $m
		order $t verify
		set m [live_start -p $pid]
		live $m detach
		live_end $m
		order $t rest
		check_alone $pid
		orders $t none go
	}
	order $t rest
	check_state $before $pid
	finish $t
}

proc has_child {pid} {
	return [expr {[slurp /proc/$pid/task/$pid/children] ne ""}]
}

# mdbg searches snapshots of t over and over, and stands still with one at hand.
proc stop_in_a_snapshot {m t} {
	spit $::tmp/search ""
	puts $m "while {\[file exists $::tmp/search]} {catch {malloc leaks -snapshot > /dev/null}}"
	flush $m
	while {1} {
		until {[has_child [pid_of $t]]}
		exec kill -STOP [pid $m]
		until {[regexp {State:\s+T} [slurp /proc/[pid $m]/status]]}
		if {[has_child [pid_of $t]]} return
		exec kill -CONT [pid $m]
	}
}

# Who is traced comes no further until mdbg goes on.
proc is_held {t} {
	return [regexp {State:\s+t} [slurp /proc/[pid_of $t]/status]]
}

# In the midst of that t executes itself so; then mdbg goes on.
proc exec_in_a_snapshot {m t how} {
	stop_in_a_snapshot $m $t
	tell $t "exec $how"
	chan configure $t -blocking 0
	until {[set new [expr {[gets $t line] > 0}]] || [is_held $t]}
	file delete $::tmp/search
	exec kill -CONT [pid $m]
	live_answer $m 60
	if {!$new} {
		set line [hear $t]
	}
	check {[lindex $line 0] eq "ready"} {not ready: $line}
}

# The target executes another program in the midst of the search: that hears nothing of the snapshot, and has no child.
by_both repeated snapshot-of-one-that-execs 60 {
	set t [start execer handled]
	for {set i 0} {$i < $::trials} {incr i} {
		order $t grow
		set m [live_start -p [pid_of $t]]
		exec_in_a_snapshot $m $t [lindex {handled blocked ignored} [expr {$i % 3}]]
		live_end $m
		order $t none
		check_alone [pid_of $t]
	}
	finish $t
}

# Held for follow-exec it cannot be helped: that is said, and the program is followed all the same. (Where mdbg stood still at the
# very end of a search, the program came later.)
case snapshot-of-one-that-is-followed 60 {
	start_watched {t m} execer handled
	live $m "set follow-exec on"
	for {set i 0} {$i < 20} {incr i} {
		order $t grow
		exec_in_a_snapshot $m $t handled
		order $t unseen
		set said [string match "*may have a child that it does not know: it is held for follow-exec*" [slurp $::live_err($m)]]
		if {$said} break
	}
	check {$said} {not said: [slurp $::live_err($m)]}
	live $m "malloc leaks -snapshot"
	live_end $m
	order $t unseen
	finish $t
}

# One that then executes itself again and again, with SIGCHLD blocked, so that none that comes is lost.
repeated snapshot-of-one-that-execs-again-and-again 60 {
	set t [start execer handled]
	set pid [pid_of $t]
	for {set i 0} {$i < $::trials} {incr i} {
		order $t grow
		set m [live_start -p $pid]
		stop_in_a_snapshot $m $t
		tell $t "exec spin"
		until {[string match "*\0spin\0" [slurp /proc/$pid/cmdline]] || [is_held $t]}
		file delete $::tmp/search
		exec kill -CONT [pid $m]
		live_answer $m 60
		live_end $m
		order $t none
		check_alone $pid
	}
	finish $t
}

# The first process of a namespace, which the kernel gives all orphans to.
case snapshot-of-the-first-process 60 {
	set unshare [need unshare]
	skip_if {[catch {exec $unshare --pid --fork --kill-child true}]} {no pid namespace can be made}
	set t [open |[list $unshare --pid --fork --kill-child $::build/targets/execer handled 2>@stderr] r+]
	chan configure $t -buffering line
	check {[hear $t] eq "ready 1"} {it is not the first process}
	set ::pid_of($t) [lindex [slurp /proc/[pid $t]/task/[pid $t]/children] 0]
	order $t grow
	set m [live_start -p [pid_of $t]]
	check_snapshot [live $m "malloc leaks -snapshot"]
	order $t none
	exec_in_a_snapshot $m $t blocked
	order $t none
	live_end $m
	check_alone [pid_of $t]
	finish $t
}

# mdbg is killed, and then the target executes another program: no signal comes, and what is left of the snapshot no wait shows
# that does not ask for children of its kind. When the target ends it goes.
repeated kill-9-in-a-snapshot-before-an-exec 60 {
	set t [start execer blocked]
	set pid [pid_of $t]
	for {set i 0} {$i < $::trials} {incr i} {
		order $t grow
		set m [live_start -p $pid]
		stop_in_a_snapshot $m $t
		exec kill -KILL [pid $m]
		gone $m
		until {[lsearch -not [lmap child [children $pid] {lindex $child 1}] Z*] < 0}
		tell $t "exec [lindex {handled blocked ignored} [expr {$i % 3}]]"
		check {[lindex [hear $t] 0] eq "ready"} {not ready}
		order $t unseen
	}
	set left [lmap child [children $pid] {lindex $child 0}]
	finish $t
	foreach child $left {
		until {![file exists /proc/$child]}
	}
}
