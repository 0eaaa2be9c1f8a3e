# SPDX-License-Identifier: GPL-3.0-or-later
# Whom mdbg acts on: tasks that are the target's, and only those; another mdbg that lives, wherever it is.

# --- tasks that never run code of the process ---------------------------------------------------------------------

# A worker of io_uring's is not stopped: the request that it works on would fail. It is none of the threads.
by_both repeated uring-requests-go-on 60 {
	skip_if {[catch {start uring} t options]} {there is no io_uring here}
	order $t "done 100"
	check {[llength [ask_list $t workers]] > 0} {no request is carried out by a worker}
	for {set i 0} {$i < 2 * $::trials} {incr i} {
		set m [live_start -p [pid_of $t]]
		set workers [ask_list $t workers]
		set said [live $m "where all"]
		foreach worker $workers {
			check {![regexp "Thread $worker\\M" $said]} {worker $worker is among the threads: $said}
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

# --- two mdbgs ----------------------------------------------------------------------------------------------------

# A target in a PID namespace of its own. Returns its channel; pid_of is its id here.
proc identity_inside {program args} {
	skip_if {[exec id -u] != 0} {only root can make a PID namespace}
	need unshare
	need nsenter
	set path [file normalize $::build/targets/$program]
	set t [start_command unshare --pid --fork --mount-proc --kill-child $path {*}$args]
	set maker [pid_of $t]
	until {[set found [identity_children $maker]] ne ""}
	set ::pid_of($t) [lindex $found 0]
	return $t
}

proc identity_children {pid} {
	return [string trim [slurp /proc/$pid/task/$pid/children]]
}

# The command of an mdbg that runs beside the target, and names it by its id there; or of one out here.
proc identity_mdbg {where t args} {
	set pid [pid_of $t]
	if {$where eq "inside"} {
		return [list nsenter -t $pid -m -p {*}[mdbg_command -q -p 1 {*}$args]]
	}
	return [mdbg_command -q -p $pid {*}$args]
}

# It has attached when it answers.
proc identity_begin {where t} {
	set m [open |[list {*}[identity_mdbg $where $t] 2>> $::tmp/err] r+]
	chan configure $m -buffering line
	puts $m "puts attached"
	check {[hear $m 60] eq "attached"} {it does not attach: [slurp $::tmp/err]}
	return $m
}

# One watches a process of a container from outside, one from inside: the second is refused, whichever it is, and what
# one of them has left when it was killed is taken out by the other.
by_both repeated two-mdbgs-two-namespaces 90 {
	set t [identity_inside exact {*}$::rest]
	for {set i 0} {$i < $::trials} {incr i} {
		lassign [expr {$i % 2 ? {inside outside} : {outside inside}}] first second
		set m [identity_begin $first $t]
		order $t "ops 100"
		check {[catch {exec {*}[identity_mdbg $second $t -c status] 2>@1} said options]} {both are let in: $said}
		# (with breakpoints the first one traces it, too)
		set reason [work "is watched by another mdbg" "a tracer that cannot be seen|already traced by"]
		check {[regexp $reason $said]} {it says: $said}
		if {$second eq "inside"} {
			check {[string match "*cannot be seen from here*" $said]} {it names one: $said}
		}
		order $t "ops 100"
		if {$i % 3 == 2} {
			puts $m detach
		} else {
			# (nsenter waits for its mdbg, which it does not take along)
			set pids [list [pid $m]]
			foreach pid [pid $m] { lappend pids {*}[identity_children $pid] }
			exec kill -KILL {*}[lreverse $pids]
		}
		catch {chan configure $m -blocking 1; close $m}
		order $t "ops 100"
		if {[catch {exec {*}[identity_mdbg $second $t -c {malloc sites limit 1} -c detach] 2>@1} said]} {
			check {![string match "*mdbg:*" $said]} {after that one: $said}
		}
		order $t "ops 100"
		check {![string match "*mdbg*" [slurp /proc/[pid_of $t]/maps]]} {something is left}
	}
	finish $t
}

# An mdbg in another PID namespace than /proc would stop one process, and read and change another one of the same number.
case proc-of-another-namespace 60 {
	set t [identity_inside exact]
	set inside [list nsenter -t [pid_of $t] -p]
	# The one that has the number in /proc, which is to stay as it is; and that of the number 1 in the namespace.
	set other [start exact]
	set before [list [state [pid_of $t]] [state [pid_of $other]]]
	foreach args [list [list -p [pid_of $other]] {-p 1} {--no-arm -p 1} {-c status -- /bin/true}] {
		check {[catch {exec {*}$inside {*}[mdbg_command -n -q {*}$args] </dev/null 2>@1} said options]} {$args: $said}
		check {[lindex [dict get $options -errorcode] 2] == 3} {$args: [dict get $options -errorcode]: $said}
		check {[string match "*cannot attach: /proc shows the processes of another PID namespace*-m *" $said]} {$args: $said}
	}
	check {[list [state [pid_of $t]] [state [pid_of $other]]] eq $before} {something has changed}
	order $t "ops 100"
	mdbg_ok -n -q -p [pid_of $t] -c status
	finish $other
	finish $t
}

# Not the same: there is none at all.
case proc-not-mounted 30 {
	skip_if_sanitized {sanitizers need /proc themselves}
	set unshare [need unshare]
	set script {mount -t tmpfs none /proc && exec "$@"}
	skip_if {[catch {exec $unshare -m sh -c $script sh true} why]} {unshare -m: $why}
	set t [start exact]
	foreach args [list [list -p [pid_of $t]] {-c status -- /bin/true}] {
		check {[catch {exec $unshare -m sh -c $script sh {*}[mdbg_command -n -q {*}$args] </dev/null 2>@1} said options]} \
			{$args: $said}
		check {[lindex [dict get $options -errorcode] 2] == 3} {$args: [dict get $options -errorcode]: $said}
		check {[string match "*cannot attach: /proc is not mounted*mount -t proc*" $said]} {$args: $said}
	}
	finish $t
}

# The journal of a target names a process as its owner, which has nothing to do with it: nobody is told to end that.
case forged-owner 60 {
	set t [start forger]
	set stranger [start forger]
	set m [live_start -p [pid_of $t]]
	order $t "owner [pid_of $stranger]"
	mdbg -q -p [pid_of $t] -c status
	check_refused 3 "watched by another mdbg (pid [pid $m])" "detach that one first"
	live $m "detach -keep"
	live_end $m
	order $t "owner [pid_of $stranger]"
	mdbg_ok -q -p [pid_of $t] -c status
	check {![regexp "\\m[pid_of $stranger]\\M" $::out$::err]} {it names the stranger: $::out$::err}
	finish $stranger
	finish $t
}
