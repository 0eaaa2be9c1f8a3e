# SPDX-License-Identifier: GPL-3.0-or-later
# Files that are made to harm who reads them (tests/targets/hostile.c). mdbg answers or refuses, says what it has left
# out, and stays small.

set most_kb 400000

# The target's frames, as they are shown while it runs in code of such a file; the warnings are in ::err then.
proc frames_of {kind} {
	set t [start hostile $kind $::tmp]
	set before [state [pid_of $t]]
	mdbg -p [pid_of $t] -c where -c {puts [exec grep VmHWM /proc/[pid]/status]}
	check {[regexp {VmHWM:\s+(\d+) kB} $::out -> kb]} {no VmHWM: $::out}
	note "$kind: $kb kB"
	check {$kb < $::most_kb} {$kind: $kb kB}
	check {[string match "*wait_for_end*" $::out]} {$kind: no frames: $::out}
	finish $t {} $before
	return $::out
}

# It must say what it has left out, and that at most so much is taken.
proc check_limit {kind what} {
	set frames [frames_of $kind]
	check {[regexp "hostile.*: $what \\(at most \\d+\\)" $::err]} {$kind: not told: $::err}
	return $frames
}

case hostile-sections 60 {
	check_limit sections "too many sections"
}

case hostile-names 60 {
	check_limit names "too many bytes of names"
}

case hostile-strings 60 {
	check_limit strings "too many bytes of names"
}

case hostile-symbols 60 {
	check_limit symbols "too many symbols"
}

case hostile-packed 60 {
	check_limit packed "too many bytes of packed debug information"
}

# 640 MB of zeros.
case hostile-mini 60 {
	need xz
	exec sh -c "head -c 671088640 /dev/zero | xz -1 >$::tmp/mini.xz"
	check_limit mini "too many bytes in .gnu_debugdata"
}

case hostile-debuglink 60 {
	set free [catch {exec truncate -s 4T $::tmp/probe} why]
	file delete $::tmp/probe
	skip_if {$free} {no file of 4 TB can be made here: $why}
	check_limit debuglink "too many bytes of a debug file"
}

# The program's own file is too large to be read: that is said, and once.
case hostile-size 60 {
	file copy $::build/targets/hard $::tmp/large
	skip_if {[catch {exec truncate -s 70G $::tmp/large} why]} {no file of 70 GB can be made here: $why}
	set t [start_command $::tmp/large]
	mdbg -p [pid_of $t] -c where -c where
	check {[regexp -all {/large: its length: too many bytes} $::err] == 1} {not told once: $::err}
	finish $t
	file delete $::tmp/large
}

# Nobody writes to the FIFO: whoever opens it for reading waits for ever.
case hostile-dwo 60 {
	frames_of dwo
	check {[string match "*hostile.dwo: not a regular file*" $::err]} {not told: $::err}
}

# A map that is too long gives no names at all: a later line takes over the addresses of earlier ones.
case hostile-perf-map 90 {
	set t [start hostile perf $::tmp]
	set pid [pid_of $t]
	mdbg -p $pid -c where -c {puts [exec grep VmHWM /proc/[pid]/status]}
	regexp {VmHWM:\s+(\d+) kB} $::out -> kb
	check {$kb < $::most_kb} {$kb kB}
	check {[string match "*perf map: too many lines (at most*" $::err]} {not told: $::err}
	check {![string match "* run *" $::out]} {a name: $::out}
	finish $t
	file delete /tmp/perf-$pid.map
}

# Names that the demangler recurses on, loops on for ever, or takes 17 MB of stack for in one step, cost no more than
# themselves.
case hostile-demangle 60 {
	set long _Z1f[string repeat I1a 400]i[string repeat E 400]v[string repeat RT_ 670]
	set t [start_command [build_target cc badnames.c -DLONG="$long"]]
	attach_to {before m} $t
	order $t allocate
	set sites [live $m {malloc sites}]
	foreach name [list _RB_ _RNvB_1a _RMINvC1a1fFGzzzzzzzzz_EuEu] {
		check {[string match "*$name*" $sites]} {$name is missing: $sites}
	}
	foreach command [list {malloc allocations} where {malloc sites function == main} {malloc leaks} \
			"export folded $::tmp/folded" "report $::tmp/report.html"] {
		live $m $command
	}
	finish $t $m $before
}

# libdw takes 80 bytes for each operation of an expression. And what each call says of its arguments may be computed from
# what the call before says, so that the work grows with the power of the depth.
case hostile-expressions 60 {
	set t [start_command [build_target cc expressions.c -g0]]
	set before [state [pid_of $t]]
	mdbg -p [pid_of $t] -c {print wide} -c {up 4} -c dump -c {puts [exec grep VmHWM /proc/[pid]/status]}
	check {[regexp {VmHWM:\s+(\d+) kB} $::out -> kb] && $kb < $::most_kb} {$::out}
	check {[string match "*n = <not known: its expression does not end>*m = 0\n*" $::out]} {$::out}
	check_state $before [pid_of $t]
	close $t
}
