# SPDX-License-Identifier: GPL-3.0-or-later
# Attach failures: status 3, one clear line, a hint.

case attach-no-such-process 20 {
	mdbg -q -p 1999999999
	check_refused 3 "no such process"
}

case attach-zombie 20 {
	set t [start forker]
	mdbg -q -p [order $t zombie]
	check_refused 3 zombie
	finish $t
}

case attach-kernel-thread 20 {
	if {![file exists /proc/2/status] || [catch {slurp /proc/2/maps} maps] || $maps ne "" || ![string match "*kthreadd*" [slurp /proc/2/comm]]} {
		skip "there are no kernel threads to be seen here"
	}
	mdbg -q -p 2
	check_refused 3 "kernel"
}

# Whoever has looked at a process by its id attaches to that one, or to none.
case attach-to-the-process-that-was-seen 20 {
	set t [start exact]
	set stat [slurp /proc/[pid_of $t]/stat]
	set started [lindex [split [string range $stat [string last ")" $stat]+2 end]] 19]
	set before [state [pid_of $t]]
	mdbg -q -c "try {mdbg::attach [pid_of $t] -started [expr {$started + 1}]} trap {MDBG ATTACH} why {puts \$why}"
	check {[string match "*another one has its id\n" $::out]} {$::out $::err}
	check_state $before [pid_of $t]
	mdbg -q -c "puts \[mdbg::attach [pid_of $t] -started $started\]"
	check {$::out eq "[pid_of $t]\n"} {$::out $::err}
	finish $t
}

case attach-itself 20 {
	mdbg -q -c {mdbg::attach [pid]}
	check {$::status in {1 3}} {status $::status}
	check {[string match -nocase "*itself*" $::err]} {$::err}
	# By option: mdbg keeps the number of the shell that becomes it.
	catch {exec sh -c {exec "$0" -n -q -p $$} $::mdbg_program > $::tmp/out 2> $::tmp/err} message options
	set ::err [slurp $::tmp/err]
	set ::status [lindex [dict get $options -errorcode] 2]
	check_refused 3 "itself"
}

case attach-already-traced-by-strace 30 {
	set strace [need strace]
	set t [start exact]
	set tracer [exec $strace -o $::tmp/strace.out -p [pid_of $t] 2> $::tmp/strace.err &]
	until {[string match "*TracerPid:\t$tracer\n*" [slurp /proc/[pid_of $t]/status]]}
	mdbg -q -p [pid_of $t]
	check_refused 3 strace
	check {[string match "*$tracer*" $::err]} {the tracer's number is not given: $::err}
	exec kill -TERM $tracer
	until {[string match "*TracerPid:\t0\n*" [slurp /proc/[pid_of $t]/status]]}
	mdbg_ok -q -p [pid_of $t] -c status
	finish $t
}

case attach-already-traced-by-mdbg 30 {
	start_watched {t m} exact
	mdbg -q -p [pid_of $t]
	check_refused 3 mdbg
	order $t each
	check {[llength [parse_allocations [live $m "malloc allocations"]]] >= 20} {the first mdbg was disturbed}
	finish $t $m
}

# A process becomes another program, and that one has no libraries yet, while mdbg attaches.
case attach-to-one-that-begins 60 {
	for {set ms 0} {$ms < 24} {incr ms} {
		set pid [exec sh -c "sleep 0.[format %03d $ms]; exec sleep 600" &]
		mdbg -n -q -p $pid -c malloc
		check {![string match "*cannot attach*" $::err]} {$::err}
		check {[is_alive $pid]} {the program is gone}
		exec kill -KILL $pid
	}
}

# What an mdbg has of its own target's log is nothing that was left in it.
case attach-to-an-mdbg 60 {
	start_watched {t m} exact
	mdbg_ok -q -p [pid $m] -c malloc
	check {![string match "*earlier mdbg*" $::err]} {$::err}
	order $t each
	check {[llength [parse_allocations [live $m "malloc allocations"]]] >= 20} {the one that was looked at was disturbed}
	live $m detach
	mdbg_ok -q -p [pid $m] -c malloc
	check {[llength [parse_allocations [live $m "malloc allocations"]]] >= 20} {its log is gone}
	finish $t $m
}

# A program of a few bytes that pauses for ever: class 1 is 32-bit (machine 3), class 2 64-bit (62).
proc tiny_elf {path class} {
	if {$class == 1} {
		set code [binary format H* b81d000000cd80ebf7]
		set base 0x08048000
		set entry [expr {$base + 52 + 32}]
		set elf [binary format a4cccx9 "\x7fELF" 1 1 1]
		append elf [binary format ssiiiiissssss 2 3 1 $entry 52 0 0 52 32 1 0 0 0]
		append elf [binary format iiiiiiii 1 0 $base $base 100 100 5 4096]
	} else {
		set code [binary format H* b8220000000f05ebf7]
		set base 0x400000
		set entry [expr {$base + 64 + 56}]
		set elf [binary format a4cccx9 "\x7fELF" 2 1 1]
		append elf [binary format ssiwwwissssss 2 62 1 $entry 64 0 0 64 56 1 0 0 0]
		append elf [binary format iiwwwwww 1 5 0 $base $base 200 200 4096]
	}
	append elf $code [string repeat "\0" 64]
	set chan [open $path w 0755]
	chan configure $chan -translation binary
	puts -nonewline $chan $elf
	close $chan
	return $path
}

proc start_tiny {class} {
	set pid [exec [tiny_elf $::tmp/tiny$class $class] &]
	until {![is_alive $pid] || ![catch {file readlink /proc/$pid/exe} exe] && [string match *tiny$class $exe]}
	skip_if {![is_alive $pid]} {this kernel does not run the program}
	return $pid
}

case attach-32-bit 20 {
	set pid [start_tiny 1]
	mdbg -q -p $pid
	check_refused 3 "32-bit"
	check {[is_alive $pid]} {the program is gone}
	exec kill -KILL $pid
}

case attach-without-allocator 20 {
	set pid [start_tiny 2]
	set before [state $pid]
	mdbg -q -p $pid
	check_refused 3 "allocator"
	check {[is_alive $pid]} {the program is gone}
	check_state $before $pid
	exec kill -KILL $pid
}

case attach-another-users 30 {
	set setpriv [need setpriv]
	skip_if {[exec id -u] != 0} {needs root}
	set t [start exact]
	file copy $::mdbg_program $::tmp/mdbg
	exec chmod 755 $::tmp
	foreach dir [list $::tmp] {
		# nobody must be able to reach the program.
		while {$dir ne "/"} {
			skip_if {([file attributes $dir -permissions] & 1) == 0} {$dir is closed to others}
			set dir [file dirname $dir]
		}
	}
	catch {exec $setpriv --reuid 65534 --regid 65534 --clear-groups $::tmp/mdbg -n -q -p [pid_of $t] > $::tmp/out 2> $::tmp/err} message options
	set ::err [slurp $::tmp/err]
	set ::status [lindex [dict get $options -errorcode] 2]
	check_refused 3 "runs as user"
	finish $t
}

case attach-yama 30 {
	skip_if {![file exists /proc/sys/kernel/yama/ptrace_scope]} {this kernel has no yama}
	set scope [string trim [slurp /proc/sys/kernel/yama/ptrace_scope]]
	skip_if {$scope == 0 || [exec id -u] == 0} {yama does not restrict this user}
	set t [start exact]
	mdbg -q -p [pid_of $t]
	check_refused 3 "" ptrace_scope
	finish $t
}

case attach-a-thread 30 {
	set t [start exact -t 2]
	set threads [lsort -integer [lmap path [glob /proc/[pid_of $t]/task/*] {file tail $path}]]
	mdbg -q -p [lindex $threads 1]
	# Either its process is attached to, or it is refused with a clear line.
	if {$::status != 0} {
		check_refused 3 thread
	}
	finish $t
}

case attach-error-to-catch 30 {
	mdbg -q -c {try {mdbg::attach 1999999999} trap {MDBG ATTACH} message {puts "caught"}}
	check {$::status == 0 && $::out eq "caught\n"} {$::status $::out $::err}
}

# A copy of the target's program has a name that no other process has.
case attach-by-name 60 {
	set name only-[pid]
	file copy $::build/targets/exact $::tmp/$name
	set t [start_command $::tmp/$name]
	set before [state [pid_of $t]]
	check {[mdbg_ok -q -p $name -c {puts [mdbg::pid]}] eq "[pid_of $t]\n"} {$::out}
	mdbg_ok -q -c "attach $name" -c {puts [mdbg::pid]}
	check {$::out eq "[pid_of $t]\n"} {$::out}
	check_state $before [pid_of $t]
	set second [start_command $::tmp/$name]
	mdbg -q -p $name
	check_refused 3 "2 processes have the name '$name': *[pid_of $t]*" "process id"
	finish $second
	finish $t
	mdbg -q -p $name
	check_refused 3 "no process has the name '$name'" "ps -e"
}
