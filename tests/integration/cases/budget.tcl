# SPDX-License-Identifier: GPL-3.0-or-later
# What mdbg takes in a process's name has a budget from all limits that hold for the process.

proc group_file {group v1 v2} {
	return $group/[expr {[file exists $group/$v1] ? $v1 : $v2}]
}

proc limit_group {group megabytes} {
	spit [group_file $group memory.limit_in_bytes memory.max] [expr {$megabytes << 20}]
}

proc use_of {group} {
	return [slurp [group_file $group memory.usage_in_bytes memory.current]]
}

proc end_group {t group} {
	catch {exec kill -KILL [pid_of $t]}
	until {![catch {file delete $group}]}
}

# A process with 48 MB to spare does what makes a log grow fastest. It lives, and each event is in an account.
proc check_survives {does events} {
	set t [start spender]
	set group [own_group memory [pid_of $t]]
	try {
		limit_group $group 260
		order $t "hold 200"
		order $t "threads 1"	;# libc has handlers from then on
		attach_to {before m} $t
		foreach one $does {
			order $t $one
		}
		check {[is_alive [pid_of $t]]} {it was killed}
		check {[use_of $group] < 250 << 20} {[use_of $group] bytes are in use}
		set accounts [live_value $m mdbg::malloc]
		set recorded [dict get $accounts allocs]
		set full [dict get $accounts full]
		note "$recorded recorded, $full not, [dict get $accounts unstacked] without a stack, [use_of $group] in use"
		check {$recorded + $full >= $events} {$recorded recorded, $full not, of $events}
		set said [slurp $::live_err($m)]
		check {[string match "*warning: the log has *M and not *M: the control group */mdbg-test-* has a limit of memory, and *M are left*" \
			$said]} {not said: $said}
		finish $t $m $before
	} finally {
		end_group $t $group
	}
}

case budget-ways 60 {
	check_survives {{ways 300000}} 300000
}

case budget-far 60 {
	check_survives {{far 3000}} 3000
}

case budget-threads 60 {
	check_survives {{threads 300} {threads 300}} 600
}

# The process itself takes what was left meanwhile: the log goes on with no more than it has, and says so.
case budget-shrinks 60 {
	set t [start spender]
	set group [own_group memory [pid_of $t]]
	try {
		limit_group $group 400
		set m [live_start -p [pid_of $t]]
		orders $t "ways 1000" "hold 370" "ways 400000"
		check {[is_alive [pid_of $t]]} {it was killed}
		until {[string match "*warning: the log has no room for more stacks (the control group */mdbg-test-*" [slurp $::live_err($m)]]}
		# With a higher limit it goes on.
		limit_group $group 2000
		set before [dict get [live_value $m mdbg::malloc] unstacked]
		check {$before > 0} {none is without a stack}
		live $m {wait 1.5}
		order $t "ways 401000"
		set after [dict get [live_value $m mdbg::malloc] unstacked]
		check {$after - $before < 401000} {still no stacks: $before, then $after blocks without one}
		finish $t $m
	} finally {
		end_group $t $group
	}
}

# Less than the least that a log takes is left: nothing is done to the process.
case budget-refused 60 {
	set t [start spender]
	set group [own_group memory [pid_of $t]]
	try {
		order $t "hold 30"
		limit_group $group [expr {([use_of $group] >> 20) + 5}]
		set before [state [pid_of $t]]
		mdbg -p [pid_of $t] -c status
		check_refused 3 "*no memory for a log: the control group */mdbg-test-* has a limit of memory, of which *" {*--no-arm*}
		finish $t {} $before
	} finally {
		end_group $t $group
	}
}

# A heap of 4 GB that is the same 16 MB again and again, all of them there: mdbg takes memory for what the process has.
case budget-mirror 60 {
	set t [start mirror 4]
	set before [state [pid_of $t]]
	foreach command {malloc {malloc check} {malloc leaks}} {
		set from [clock milliseconds]
		mdbg -p [pid_of $t] -c $command -c {puts [exec grep VmHWM /proc/[pid]/status]}
		regexp {VmHWM:\s+(\d+) kB} $::out -> kb
		note "$command: $kb kB, [expr {[clock milliseconds] - $from}] ms"
		check {$kb < 200000} {$command: $kb kB}
		# A fork does not have what it shares with the file, so that in a snapshot the heap ends there.
		check {[regexp {have more chunks than its memory has room for|places? of the heaps (is|are) damaged} "$::out $::err"]} \
			{$command: not said: $::out $::err}
	}
	finish $t {} $before
}

# If there is no memory the kernel kills mdbg and not the target; but not programs that mdbg starts for the user.
case budget-oom-score 60 {
	set t [start spender]
	set own [string trim [slurp /proc/self/oom_score_adj]]
	mdbg -p [pid_of $t] -c {puts "mdbg [exec cat /proc/[pid]/oom_score_adj] exec [exec cat /proc/self/oom_score_adj]"} \
		-c {sh cat /proc/self/oom_score_adj} -c {puts "again [exec cat /proc/[pid]/oom_score_adj]"}
	check {[string match "*mdbg 1000 exec $own\n$own\nagain 1000*" $::out]} {$::out}
	check {[string trim [slurp /proc/[pid_of $t]/oom_score_adj]] eq $own} {the target's has changed}
	finish $t
	mdbg -c {puts [exec cat /proc/self/oom_score_adj]} -c {sh cat /proc/self/oom_score_adj} -- \
		cat /proc/self/oom_score_adj
	check {[lsort -unique [regexp -all -inline {\d+} $::out]] eq $own} {of a program that is started: $::out}
}
