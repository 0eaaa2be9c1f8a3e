# SPDX-License-Identifier: GPL-3.0-or-later
# Hard places: worlds in which little is allowed, and stacks of all kinds (programs: hardworlds.tcl). All is exact there
# too, or it is said what cannot be; the target lives on, and as it was.

# A target that may have to say `skip WHY`; below the words of `under`, which may start it in another process.
proc start_in {under program args} {
	set chan [open |[list {*}$under $::build/targets/$program {*}$args 2>@stderr] r+]
	return [ready_in $chan $program]
}

proc ready_in {chan program} {
	chan configure $chan -buffering line
	set ready [hear $chan]
	if {[lindex $ready 0] eq "skip"} {
		skip [lrange $ready 1 end]
	}
	check {[lindex $ready 0] eq "ready"} {$program says $ready}
	set pid [pid $chan]
	# (The one below that has no child.)
	while {[set child [string trim [slurp /proc/$pid/task/$pid/children]]] ne ""} {
		set pid [lindex $child 0]
	}
	set ::pid_of($chan) $pid
	return $chan
}

# Engine by function.
proc engines_of {m} {
	set engines [dict create]
	foreach probe [live_value $m mdbg::probes] {
		dict set engines [dict get $probe function] [dict get $probe engine]
	}
	return $engines
}

proc check_engine {m engine} {
	foreach function {malloc free} {
		check {[dict get [engines_of $m] $function] eq $engine} {$function: [engines_of $m]: [slurp $::live_err($m)]}
	}
}

proc blocks_sized {m size} {
	return [recorded [parse_allocations [live $m "malloc allocations size == $size"]]]
}

proc check_blocks {m size n} {
	set blocks [blocks_sized $m $size]
	check {[llength $blocks] == $n} {[llength $blocks] blocks of $size and not $n}
	return $blocks
}

# Each ends at the end of its stack, or says why not.
proc check_blocks_stacks {m size share} {
	live $m "malloc allocations size == $size > $::tmp/stacks"
	check_stacks $::tmp/stacks $share
}

# What `hard` holds is known, to the block, while its threads are at work; it is as before afterwards; twice. Returns what
# `malloc -v` says.
proc exact_in {t engine {share 1.0}} {
	set pid [pid_of $t]
	set before [state $pid]
	foreach round {1 2} {
		set m [live_start -p $pid]
		check_engine $m $engine
		orders $t "make 200 777" "pairs 1000"
		check_blocks $m 777 200
		check_blocks_stacks $m 777 $share
		live_all $m interrupt "where all 3" cont
		order $t drop
		check_blocks $m 777 0
		order $t "make 100 779"
		set said [live $m "malloc -v"]
		live_end $m
		check_state $before $pid
		orders $t "make 5 777" verify drop
	}
	finish $t
	return $said
}

case hard-seccomp-strict 20 {
	# (It may not read the time stamp counter, which the agent does.)
	exact_in [start_in {} hard -s strict] breakpoint
}

# mdbg itself is started with a small stack, as a server of many threads may be. Its threads' stacks are by that limit as
# well. A program that it starts has the limit; where it cannot be raised, nothing is begun.
case hard-little-stack-of-mdbg 30 {
	set prlimit [need prlimit]
	set t [start_in {} hard -t 2]
	set before [state [pid_of $t]]
	foreach kb {64 128} {
		foreach limit [list [expr {$kb << 10}]: [expr {$kb << 10}]] {
			if {[catch {exec $prlimit --stack=$limit $::mdbg_program -n -q -p [pid_of $t] -c {malloc owners} \
				    -c "report $::tmp/r.html" -c {where all} > $::tmp/out 2> $::tmp/err} message options]} {
				set code [dict get $options -errorcode]
				set ::err [slurp $::tmp/err]
				check {[lindex $code 0] eq "CHILDSTATUS" && ![string match *: $limit]} {$limit: $message $::err}
				set ::status [lindex $code 2]
				check_refused 1 "RLIMIT_STACK" "ulimit -Hs"
			}
		}
		set has [exec $prlimit --stack=[expr {$kb << 10}]: $::mdbg_program -n -q -- sh -c {ulimit -s}]
		check {$has == $kb} {the program has $has KB and not $kb}
	}
	finish $t {} $before
}

case hard-without-a-clock 20 {
	exact_in [start_in {} hard -t 3 -c] breakpoint
}

case hard-seccomp-filter 20 {
	exact_in [start_in {} hard -t 3 -s filter] jump
}

case hard-seccomp-of-one-thread 20 {
	exact_in [start_in {} hard -t 3 -s thread] jump
}

# mdbg is killed under a filter: what it leaves makes no system call that would kill the target.
case hard-seccomp-and-kill-9 20 {
	set t [start_in {} hard -t 3 -s filter]
	set before [state [pid_of $t]]
	for {set i 0} {$i < 4} {incr i} {
		set m [live_start -p [pid_of $t]]
		order $t "make 10 777"
		live_kill $m
		order $t "pairs 1000"
	}
	mdbg_ok -q -p [pid_of $t] -c {malloc allocations > /dev/null}
	finish $t {} $before
}

# It comes while mdbg is attached: the detach must know.
by_both case hard-seccomp-comes-later 20 {
	set t [start_in {} hard -t 3]
	set m [live_start -p [pid_of $t]]
	orders $t filter "make 50 777"
	check_blocks $m 777 50
	live_all $m "where all" "malloc off; malloc on"
	live_end $m
	set before [state [pid_of $t]]
	check {[lsearch $before *memfd:mdbg*] < 0} {something stays: $before}
	mdbg_ok -q -p [pid_of $t] -c {malloc -v}
	finish $t {} $before
}

# A filter and no right to suspend it: refused, and it is said why.
case hard-seccomp-without-the-right 20 {
	set setpriv [need setpriv]
	skip_if {[exec id -u] != 0} {needs root}
	set t [start_in {} hard -t 2 -s filter]
	set before [state [pid_of $t]]
	catch {exec $setpriv --bounding-set -sys_admin --inh-caps -sys_admin $::mdbg_program -n -q -p [pid_of $t] \
		> $::tmp/out 2> $::tmp/err} message options
	set ::err [slurp $::tmp/err]
	set ::status [lindex [dict get $options -errorcode] 2]
	check_refused 3 seccomp
	finish $t {} $before
}

proc unshared {args} {
	set unshare [need unshare]
	skip_if {[catch {exec $unshare {*}$args true} message]} {unshare $args: [lindex [split $message "\n"] 0]}
	return [list $unshare {*}$args]
}

case hard-pid-and-mount-namespace 20 {
	exact_in [start_in [unshared -pm --fork] hard -t 3] jump
}

case hard-namespace-with-its-own-proc 20 {
	exact_in [start_in [unshared -pm --fork --mount-proc] hard -t 3] jump
}

case hard-user-namespace 20 {
	exact_in [start_in [unshared -Ur] hard -t 3] jump
}

case hard-user-and-pid-namespace 20 {
	exact_in [start_in [unshared -Urpm --fork --mount-proc] hard -t 3] jump
}

# A root that holds nothing, /proc least of all; and one that lies: other files by the names of the target's own.
case hard-chroot 20 {
	skip_if {[exec id -u] != 0} {needs root}
	file mkdir $::tmp/root
	exact_in [start_in {} hard -t 3 -r $::tmp/root] jump
	set libc [exec sh -c "ldd $::build/targets/hard | awk '/libc.so/ { print \$3 }'"]
	file mkdir $::tmp/root[file dirname $libc] $::tmp/root$::build/targets
	spit $::tmp/root$libc "this is no library"
	exec mkfifo $::tmp/root$::build/targets/hard
	exact_in [start_in {} hard -t 3 -r $::tmp/root] jump
}

# The files of the running program are gone; in their place stand others.
case hard-deleted-files 20 {
	set libc [exec sh -c "ldd $::build/targets/hard | awk '/libc.so/ { print \$3 }'"]
	file copy $::build/targets/hard $::tmp/hard
	file copy [file normalize [file join [file dirname $libc] [file tail $libc]]] $::tmp/libc.so.6
	set chan [open |[list env LD_LIBRARY_PATH=$::tmp $::tmp/hard -t 3 2>@stderr] r+]
	set t [ready_in $chan hard]
	file delete $::tmp/hard $::tmp/libc.so.6
	spit $::tmp/libc.so.6 "this is no library"
	exec mkfifo $::tmp/hard
	check {[string match "*$::tmp/libc.so.6 (deleted)*" [slurp /proc/[pid_of $t]/maps]]} {it has another libc}
	exact_in $t jump
}

case hard-no-descriptors 20 {
	exact_in [start_in {} hard -t 3 -f soft] jump
}

# The limit takes a right to raise it: else refused, and said why.
case hard-no-descriptors-for-good 20 {
	set t [start_in {} hard -t 3 -f hard]
	set before [state [pid_of $t]]
	mdbg -q -p [pid_of $t] -c {malloc -v}
	if {$::status != 0} {
		check_refused 3 "descriptor" "--nofile"
	}
	finish $t {} $before
}

# The log has no room: breakpoints, which need hardly any, and the reason; then not even that.
case hard-no-addresses 20 {
	set said [exact_in [start_in {} hard -t 2 -a 20] breakpoint]
	check {[regexp -line {^malloc .* breakpoint .*RLIMIT_AS} $said]} {it is not said why: $said}
}

case hard-no-addresses-at-all 20 {
	set t [start_in {} hard -t 2 -a 0]
	set before [state [pid_of $t]]
	mdbg -q -p [pid_of $t] -c {malloc -v}
	if {$::status != 0} {
		check_refused 3 "memory"
	}
	finish $t {} $before
}

# Strict on private memory: what mdbg maps is shared.
case hard-no-data 20 {
	exact_in [start_in {} hard -t 2 -d 1] jump
}

case hard-no-data-at-all 20 {
	set t [start_in {} hard -t 2 -d 0]
	set before [state [pid_of $t]]
	mdbg -q -p [pid_of $t] -c {malloc -v}
	if {$::status != 0} {
		check_refused 3 "memory"
	}
	finish $t {} $before
}

case hard-mdwe 20 {
	exact_in [start_in {} hard -t 3 -w] jump
}

proc resident {pid} {
	check {[regexp {VmRSS:\s+(\d+) kB} [slurp /proc/$pid/status] -> kb]} {no VmRSS}
	return $kb
}

# All that is mapped from now on is resident at once: but not the log, of a gigabyte.
case hard-mlockall 20 {
	set t [start_in {} hard -t 2 -l]
	set before [resident [pid_of $t]]
	set m [live_start -p [pid_of $t]]
	order $t "make 200 777"
	check_blocks $m 777 200
	set grown [expr {[resident [pid_of $t]] - $before}]
	note "grown by $grown KB"
	check {$grown < 20000} {the target has grown by $grown KB}
	live_end $m
	set grown [expr {[resident [pid_of $t]] - $before}]
	check {$grown < 5000} {$grown KB stay}
	order $t drop
	exact_in $t jump
}

# What is mapped is locked, and no more may be locked than a little: the log is not.
case hard-no-memory-to-lock 30 {
	skip_if {[exec id -u] != 0} {needs root}
	# (A small program: the limit may be 8 MB, and not to be raised.)
	exact_in [ready_in [open |[list [build_target cc hard.c -g -static] -l -m 3 -u 2>@stderr] r+] hard] jump
}

case hard-nobody 20 {
	skip_if {[exec id -u] != 0} {needs root}
	exact_in [start_in {} hard -t 3 -u] jump
}

foreach how {ignore block handle} {
	case hard-sigtrap-$how 20 "exact_in \[start_in {} hard -t 3 -x $how\] jump"
}

# Its own int3 is its own business: also when mdbg is its tracer.
case hard-sigtrap-of-its-own 20 {
	set t [start_in {} hard -t 3 -x handle]
	set before [state [pid_of $t]]
	check {[order $t trap] == 1} {not taken before}
	set m [live_start -p [pid_of $t]]
	check {[order $t trap] == 2} {not taken while attached}
	live $m {mdbg::on signal {}}
	check {[order $t trap] == 3} {not taken while traced}
	live_end $m
	check {[order $t trap] == 4} {not taken after}
	finish $t {} $before
}

# Somebody has his patch where ours would be: that one function is left alone and named, the others are probed. A trap on
# the entry, as a kernel uprobe has it, is not in the way.
foreach {kind bytes at is} {int3 cc patch none jump e9fbffffff address none trap cc address jump} {
	case hard-foreign-$kind 20 [string map [list BYTES $bytes AT $at ENGINE $is] {
		set t [start_in {} hard -t 2]
		set pid [pid_of $t]
		set m [live_start -p $pid]
		foreach probe [live_value $m mdbg::probes] {
			if {[dict get $probe function] eq "pvalloc"} {
				set address [dict get $probe AT]
			}
		}
		live_end $m
		set mem [open /proc/$pid/mem r+]
		chan configure $mem -translation binary -buffering none
		set bytes [binary format H* BYTES]
		seek $mem $address
		set old [read $mem [string length $bytes]]
		seek $mem $address
		puts -nonewline $mem $bytes
		set before [state $pid]
		set m [live_start -p $pid]
		check_engine $m jump
		foreach probe [live_value $m mdbg::probes] {
			if {[dict get $probe function] eq "pvalloc"} {
				check {[dict get $probe engine] eq "ENGINE"} {pvalloc: $probe}
				check {[regexp {patched it} [dict get $probe why]] == ("ENGINE" eq "none")} {$probe}
			}
		}
		order $t "make 100 777"
		check_blocks $m 777 100
		live_end $m
		check_state $before $pid
		seek $mem $address
		puts -nonewline $mem $old
		close $mem
		finish $t
	}]
}

# --- stacks -------------------------------------------------------------------------------------------------------

# A handler on 2048 bytes has what the kernel's frame leaves: the agent must do with little, and no canary is touched.
foreach size {2048 4096 8192 65536} {
	case hard-alternate-stack-$size 20 [string map [list SIZE $size] {
		set t [start hardstack]
		set before [state [pid_of $t]]
		set answer [ask $t "alt SIZE 20"]
		if {[lindex $answer 0] eq "skip"} {
			skip [lrange $answer 1 end]
		}
		set alone [lindex $answer 1]
		set m [live_start -p [pid_of $t]]
		set most [order $t "alt SIZE 200"]
		note "of SIZE bytes: $alone without mdbg, $most with it"
		check {$most - $alone <= 1024} {the agent takes [expr {$most - $alone}] bytes}
		check_blocks $m 888 200
		check_blocks_stacks $m 888 0
		finish $t $m $before
	}]
}

foreach {from size} {mmap 16384 mmap 65536 malloc 16384 malloc 200000} {
	case hard-coroutines-$from-$size 20 [string map [list FROM $from SIZE $size] {
		set t [start hardstack]
		order $t "co FROM SIZE 1"
		attach_to {before m} $t
		order $t "co FROM SIZE 50"
		check_blocks $m 666 400
		check_blocks_stacks $m 666 0
		finish $t $m $before
	}]
}

# Attached to and left while a thread switches stacks.
case hard-coroutines-at-work 30 {
	set t [start hardstack]
	order $t go
	set before [state [pid_of $t]]
	for {set i 0} {$i < 5} {incr i} {
		set m [live_start -p [pid_of $t]]
		order $t "make 50 777"
		check_blocks $m 777 50
		order $t drop
		live $m "where all"
		live_end $m
		check_state $before [pid_of $t]
	}
	order $t halt
	finish $t
}

case hard-tiny-stacks 20 {
	set t [start hardstack]
	order $t "tiny 10"
	attach_to {before m} $t
	order $t "tiny 40"
	set blocks [check_blocks $m 555 40]
	check_blocks_stacks $m 555 1.0
	finish $t $m $before
}

# Born while nobody traces: known by their numbers, with whole stacks. More than the agent has places for is well, too.
foreach n {10 1000} {
	case hard-born-$n 40 [string map [list COUNT $n] {
		start_watched {t m} hardstack
		check {[string match "*TracerPid:\t0\n*" [slurp /proc/[pid_of $t]/status]]} {it is traced}
		order $t "born COUNT"
		set tids [lmap path [glob /proc/[pid_of $t]/task/*] {file tail $path}]
		set from [lsort -integer [lmap block [check_blocks $m 444 COUNT] {dict get $block thread}]]
		check {$from eq [lsort -integer [lsearch -all -inline -not -exact $tids [pid_of $t]]]} {from $from, not $tids}
		check_blocks_stacks $m 444 1.0
		check {[live_value $m "llength \[mdbg::threads\]"] == COUNT + 1} {$::result threads}
		live_end $m
		set before [state [pid_of $t]]
		mdbg_ok -q -p [pid_of $t] -c {where all 2}
		check_state $before [pid_of $t]
		order $t dead
		finish $t
	}]
}

# Deeper than any stack is kept, or walked: the depth is said.
case hard-deep-recursion 20 {
	start_watched {t before m} hardstack
	orders $t "deep 3000" "deep 10" "deep 3000"
	set blocks [check_blocks $m 333 3]
	foreach block $blocks {
		set stack [dict get $block stack]
		set deep [llength [lsearch -all -glob $stack "*deep*"]]
		check {$deep in {11 30}} {$deep frames of deep: $stack}
	}
	check_blocks_stacks $m 333 0.3
	live_end $m
	set m [live_start --stack-depth 128 -p [pid_of $t]]
	order $t "deep 3000"
	check_blocks_stacks $m 333 0
	finish $t $m $before
}

by_both case hard-exceptions 30 {
	set t [start hardthrow]
	orders $t "throw 1" "alloc 1"
	set before [state [pid_of $t]]
	foreach round {1 2} {
		set m [live_start -p [pid_of $t]]
		orders $t "throw [work 2000 20]" "alloc [work 2000 20]" "construct [work 2000 20]" "keep 100"
		check_blocks $m 321 100
		# Of what was thrown nothing is left.
		check {[held [live $m malloc]] == 100} {[live $m malloc]}
		live_end $m
		check_state $before [pid_of $t]
	}
	finish $t
}
