# SPDX-License-Identifier: GPL-3.0-or-later
# Other tools on the same functions at the same time: kernel uprobes by bpftrace and perf, debuggers and strace. Each must
# see every call, mdbg too, and nothing of either may be left when both have gone.
#
# A uprobe is a property of a file, and hits every process that maps it: the target runs with copies of its own, of itself
# and of libc, in the case's folder. The target `counted` says how often it has called malloc, calloc, realloc and free.

set functions {malloc calloc realloc free}
set no_calls {malloc 0 calloc 0 realloc 0 free 0}

# --- the target -----------------------------------------------------------------------------------------------------

# A target with four threads, all of whose files that tools put probes on are its own. Its state is in ::before.
proc start_own {} {
	if {![file exists $::tmp/libc.so.6]} {
		set t [start counted 1]
		set libc [lindex [regexp -inline -line {/\S*/libc\.so\.6$} [slurp /proc/[pid_of $t]/maps]] 0]
		finish $t
		check {$libc ne ""} {the target has no libc.so.6}
		file copy $libc $::tmp/libc.so.6
		file copy $::build/targets/counted $::tmp/counted
	}
	set t [start_command env LD_LIBRARY_PATH=$::tmp $::tmp/counted 4]
	check {[string match "*$::tmp/libc.so.6*" [slurp /proc/[pid_of $t]/maps]]} {the target has not taken its own libc}
	set ::before [state [pid_of $t]]
	return $t
}

# The calls of both, one after another: what the target says, and mdbg's accounts (no mdbg, no accounts).
proc calls_of_target {t} {
	set calls {}
	foreach function $::functions n [order $t counts] {
		dict set calls $function $n
	}
	return $calls
}

proc calls_of_mdbg {m} {
	set figures [live_value $m mdbg::malloc]
	dict incr figures frees [dict get $figures unknownfrees]
	return [dict filter $figures key allocs frees replaced doublefrees nullfrees failed nested voided full unsampled]
}

proc less {now then} {
	set difference {}
	dict for {key n} $now {
		dict set difference $key [expr {$n - [dict get $then $key]}]
	}
	return $difference
}

# So much work that all of it is counted by hand: m and u say the same as the target of what it has done. Either may be "".
# The target is loaded before and after.
proc check_same_counts {t m u what} {
	order $t calm
	set then [calls_of_target $t]
	if {$m ne ""} {
		set mdbg_then [calls_of_mdbg $m]
	}
	if {$u ne ""} {
		set tool_then [tool_counts $u $t]
	}
	order $t "go [work 1000 100]"
	set want [less [calls_of_target $t] $then]
	check {[dict get $want malloc] == 4 * [work 1000 100]} {the target has not done its work: $want}
	if {$u ne ""} {
		set got [less [tool_counts $u $t] $tool_then]
		check {$got eq $want} {$what: the target has called $want, [dict get $u tool] says $got}
	}
	if {$m ne ""} {
		check_accounts $want [less [calls_of_mdbg $m] $mdbg_then] $what
		set listed [check_listed $t $m $what]
		check_ends [expr {$u ne "" && [string match *uretprobe* $what] ? $listed : 0}] $what
	}
	order $t load
}

# Each call is in its account: realloc of a block is an allocation and a free.
proc check_accounts {calls accounts what} {
	dict with calls {
		set want [dict create allocs [expr {$malloc + $calloc + $realloc}] frees [expr {$free + $realloc}]]
	}
	dict for {account n} $accounts {
		set due [expr {[dict exists $want $account] ? [dict get $want $account] : 0}]
		check {$n == $due} {$what: the target has called $calls, which is $due and not $n in $account}
	}
}

# The blocks that the target keeps are those that mdbg lists, with their sizes; how many they are.
proc check_listed {t m what} {
	set held [lsort [lmap line [ask_list $t kept] { list [expr {[lindex $line 0] + 0}] [lindex $line 1] }]]
	set listed [lsort [lmap block [recorded [dump $m]] { list [dict get $block address] [dict get $block size] }]]
	check {$listed eq $held} {$what: [llength $held] blocks are kept, [llength $listed] others are listed}
	return [llength $listed]
}

# Where the kernel has put its own return address for a uretprobe, a stack ends with that, and says so.
proc check_ends {uretprobed what} {
	check_stacks $::tmp/dump [expr {$uretprobed ? 0 : 1.0}]
	set n [regexp -all -line {^ +\(stack ends here: a uretprobe of another tool has taken the return address\)$} \
		[slurp $::tmp/dump]]
	check {$n == $uretprobed} {$what: $n stacks, and not $uretprobed, end with a uretprobe}
}

# How often each thing is done: 20 times of 100 trials, once in the check.
proc rounds_of_each {} {
	return [expr {$::trials < 20 ? 1 : $::trials / 5}]
}

# --- uprobes --------------------------------------------------------------------------------------------------------
#
# A tool is a dict: tool, chan. It is begun, which takes some time, and awaited; it is told to leave, and gone some time
# later. (The kernel waits for all that may be in a handler: seconds, where the machine is busy.)

set mount_tracefs {{ test -e /sys/kernel/tracing/trace || mount -t tracefs none /sys/kernel/tracing; }}

proc need_uprobes {tool} {
	need $tool
	if {$tool eq "bpftrace"} {
		if {[catch {exec bpftrace -e {BEGIN { printf("works\n"); exit(); }} 2>@1} said] &&
				![string match *works* $said]} {
			skip "bpftrace cannot be used here: [lindex [split $said "\n"] end]"
		}
	} elseif {[catch {exec unshare -m sh -c "$::mount_tracefs && test -w /sys/kernel/tracing/uprobe_events" 2>@1} said]} {
		skip "no uprobes by tracefs here: $said"
	}
}

proc tool_begin {tool t args} {
	return [dict create tool $tool chan [${tool}_begin $t {*}$args]]
}

proc tool_in {u t} {
	return [[dict get $u tool]_in [dict get $u chan] $t]
}

proc tool_await {u t} {
	until {[tool_in $u $t]} 200
	return $u
}

proc tool_counts {u t} {
	return [[dict get $u tool]_counts [dict get $u chan] $t]
}

proc tool_leave {u t} {
	[dict get $u tool]_leave [dict get $u chan] $t
}

proc tool_gone {u} {
	return [expr {![is_alive [pid [dict get $u chan]]]}]
}

proc tool_end {u t} {
	tool_leave $u $t
	until {[tool_gone $u]} 200
	tool_close $u
}

proc tool_close {u} {
	set end [ending [dict get $u chan]]
	check {$end eq {exit 0}} {[dict get $u tool] ended with $end}
}

# What a tool has said up to now.
proc tool_said {chan} {
	chan configure $chan -blocking 0
	return [read $chan]
}

set marks 0

# Of its own thread each function has its count: those of several would not be added up safely. options: -p PID, or nothing:
# all processes that map the file, which is this one. kind is uprobe or uretprobe.
proc bpftrace_begin {t {kind uprobe} args} {
	set probes "uprobe:$::tmp/counted:mark_first { printf(\"first %d\\n\", arg0); }\n"
	foreach function $::functions {
		append probes "$kind:$::tmp/libc.so.6:$function { @$function\[tid] = count(); }\n"
	}
	append probes "uprobe:$::tmp/counted:mark_last { [join [lmap f $::functions { string cat "print(@$f);" }]]"
	append probes " printf(\"last %d\\n\", arg0); if (arg0 == 0) { exit(); } }\n"
	set script [spit $::tmp/uprobes.bt $probes]
	return [open |[list bpftrace -B line {*}$args $script 2> $::tmp/bpftrace.err] r]
}

# They go in one after another.
proc bpftrace_in {chan t} {
	check {[is_alive [pid $chan]]} {bpftrace has ended: [slurp $::tmp/bpftrace.err]}
	order $t "mark [incr ::marks]"
	after 20
	set said [tool_said $chan]
	return [expr {[string match *first* $said] && [string match *last* $said]}]
}

# What it has printed at earlier marks may come first.
proc bpftrace_counts {chan t} {
	set counts $::no_calls
	order $t "mark [incr ::marks]"
	while {[set line [hear $chan]] ne "last $::marks"} {
		if {[regexp {^@(\w+)\[\d+\]: (\d+)$} $line -> function n]} {
			dict incr counts $function $n
		} elseif {[string match "last *" $line]} {
			set counts $::no_calls
		}
	}
	return $counts
}

# SIGINT is lost where it comes between two of its waits.
proc bpftrace_leave {chan t} {
	order $t "mark 0"
}

# A shell that sees tracefs where perf looks for it, in a mount namespace of its own. It takes the events out again however
# this case ends: at the end of its input, so that neither a time limit nor `reap` may end it before. To perf probe an event's name must
# be the only one of that name, whatever its group. places: a dict of functions and where each has its uprobe.
proc perf_begin {t {places {}}} {
	set group mdbg_test_[pid]
	if {$places eq ""} {
		foreach f $::functions {
			dict set places $f $f
		}
	}
	set chan [open |[list env -u TMPDIR setsid unshare -m sh 2> $::tmp/perf.err] r+]
	chan configure $chan -buffering line
	puts $chan "
		perf=
		leave()
		{
			if test \"\$perf\"; then
				kill -INT \$perf
				wait \$perf
			fi
			perf probe -q --del '$group:*'
		}
		trap leave EXIT
		$::mount_tracefs
		perf probe -x $::tmp/libc.so.6 [join [lmap {f place} $places { string cat "--add $group:${f}_[pid]=$place" }]] >&2 || exit
		rm -f $::tmp/control $::tmp/answer
		mkfifo $::tmp/control $::tmp/answer
		perf stat -o $::tmp/perf.out --control fifo:$::tmp/control,$::tmp/answer \
			-e '$group:*' -p [pid_of $t] >&2 &
		perf=\$!
		exec 3<>$::tmp/control 4<>$::tmp/answer
		echo ping >&3
		echo in \$(timeout 100 head -n 1 <&4)
	"
	return $chan
}

proc perf_in {chan t} {
	check {[is_alive [pid $chan]]} {perf's shell has ended: [slurp $::tmp/perf.err]}
	after 20
	return [string match "in ack*" [tool_said $chan]]
}

# Those of the trace events themselves: perf stat has none before its end.
proc perf_counts {chan t} {
	set counts $::no_calls
	chan configure $chan -blocking 1
	puts $chan "grep -F '_[pid] ' /sys/kernel/tracing/uprobe_profile; echo ."
	while {[set line [hear $chan]] ne "."} {
		lassign $line file event n
		dict set counts [lindex [split $event _] 0] $n
	}
	return $counts
}

proc perf_leave {chan t} {
	chan configure $chan -blocking 1
	chan close $chan write
}

# --- uprobes and mdbg -------------------------------------------------------------------------------------------------

# When a tool comes and when it leaves: `during` is while mdbg puts its probes in and takes them out; `orphaned`: it is there
# when mdbg is killed, and when the next one puts things right.
set orders {{before first} {before last} {after first} {after last} {during during} {after orphaned}
	{before during} {during first} {after during} {during last} {before orphaned}}

# What was freed while the probes were out is forgotten then.
proc again_and_again {m condition} {
	until {[live $m "malloc off"; live $m "malloc on"; uplevel 1 [list expr $condition]]} 200
	live $m "malloc reset"
}

proc come {t tool coming options} {
	if {$coming eq "after"} {
		set m [live_start -p [pid_of $t]]
	}
	set u [tool_begin $tool $t {*}$options]
	if {$coming eq "during"} {
		set m [live_start -p [pid_of $t]]
		again_and_again $m {[tool_in $u $t]}
	} else {
		tool_await $u $t
	}
	if {$coming eq "before"} {
		set m [live_start -p [pid_of $t]]
	}
	return [list $m $u]
}

proc leave {t m u leaving what} {
	switch $leaving {
		first {
			tool_end $u $t
			check_same_counts $t $m "" "$what, the tool has left"
			live_end $m
		}
		last {
			live_end $m
			check_same_counts $t "" $u "$what, mdbg has left"
			tool_end $u $t
		}
		orphaned {
			exec kill -KILL [pid $m]
			live_end $m {signal SIGKILL}
			check_same_counts $t "" $u "$what, mdbg is killed"
			set m [live_start -p [pid_of $t]]
			check_same_counts $t $m $u "$what, the next mdbg"
			live_end $m
			tool_end $u $t
		}
		during {
			tool_leave $u $t
			again_and_again $m {[tool_gone $u]}
			tool_close $u
			check_same_counts $t $m "" "$what, the tool has left"
			live_end $m
		}
	}
}

proc check_engines {m} {
	foreach function $::functions {
		set engine [dict get [engines $m] $function]
		check {$engine eq ($::engine eq "auto" ? "jump" : $::engine)} {$function has $engine: [live $m "malloc -v"]}
	}
}

proc uprobe_round {t tool order options} {
	lassign $order coming leaving
	set what "$tool $options comes $coming and leaves $leaving"
	note $what
	order $t load
	lassign [come $t $tool $coming $options] m u
	check_engines $m
	check_same_counts $t $m $u $what
	leave $t $m $u $leaving $what
	check {![string match "*another tool*" [slurp $::live_err($m)]]} {$what: [slurp $::live_err($m)]}
	orders $t "more 500" calm
	check_state $::before [pid_of $t]
}

# Every order in turn, with one target for them all, so that it has been through them all in its life; in the check two
# of the first six, once. A sanitized mdbg comes and goes as it does in all other cases: what is looked at here is what
# the other tool and the kernel make of the target.
proc uprobe_rounds {tool {kind ""}} {
	need_uprobes $tool
	skip_if_sanitized "the orders are the other tool's: tools-gdb-* and tools-uprobe-inside-patch have a sanitized mdbg beside another tool"
	set orders [expr {$::trials < 10 ? [lrange $::orders 4 5] : $::trials < 20 ? [lrange $::orders 0 5] : $::orders}]
	for {set i 0} {$i < [rounds_of_each]} {incr i} {
		set t [start_own]
		set options [expr {$kind ne "" && $i % 2 == 0 ? [list $kind -p [pid_of $t]] : $kind}]
		foreach order [concat [lrange $orders [expr {$i % [llength $orders]}] end] \
				[lrange $orders 0 [expr {$i % [llength $orders] - 1}]]] {
			if {[catch {uprobe_round $t $tool $order $options} message]} {
				fail_with_end $t "$i, $order" $message
			}
		}
		finish $t
	}
}

# --- a uprobe inside the patch ------------------------------------------------------------------------------------------
#
# The kernel executes the file's instruction there and goes on behind it: in the middle of the jump. Nothing can be done
# for a thread that calls the function before mdbg has seen it: here all stand still until then.

proc patch_offset {m} {
	foreach probe [live_value $m mdbg::probes] {
		if {[dict get $probe function] eq "malloc" && [string match libc.so* [dict get $probe module]]} {
			return [expr {[dict get $probe patch] - [dict get $probe address]}]
		}
	}
	fail "malloc of libc has no probe: [live $m "malloc -v"]"
}

# It is said once, in the answers as well, and malloc is as in its file but for the tool's trap.
proc check_inside {m} {
	set why "malloc is not watched: another tool has put its trap into the patch, which was taken out (libc.so.6)"
	until {[string match "*warning: *" [slurp $::live_err($m)]]}
	check {[string match "*\nIncomplete: $why\n*" [live $m "malloc sites"]]} {[live $m "malloc sites"]}
	live $m "malloc check"
	set said [slurp $::live_err($m)]
	check {$said eq "mdbg: warning: $why\nhint: have the other tool leave, then attach again\n"} {it says: $said}
}

proc check_calls {t u what} {
	set then [calls_of_target $t]
	set tool_then [dict get [tool_counts $u $t] malloc]
	order $t "go 100"
	set want [dict get [less [calls_of_target $t] $then] malloc]
	set got [expr {[dict get [tool_counts $u $t] malloc] - $tool_then}]
	check {$want == 400 && $got == $want} {$what: the target has called malloc $want times, perf says $got}
}

case tools-uprobe-inside-patch 60 {
	need_uprobes perf
	set t [start_own]
	# mdbg leaves first, and last; then it has no time to see the tool, which leaves first, and last.
	foreach {mdbg_waits leaving} {1 last 1 first 0 last 0 first} {
		set what "mdbg [expr {$mdbg_waits ? "sees it" : "stands still"}], the tool leaves $leaving"
		note $what
		set m [live_start -p [pid_of $t]]
		set offset [patch_offset $m]
		if {!$mdbg_waits} {
			exec kill -STOP [pid $m]
		}
		set u [tool_await [tool_begin perf $t [dict create malloc malloc+$offset]] $t]
		if {$mdbg_waits} {
			check_inside $m
			check_calls $t $u $what
		}
		if {$leaving eq "first"} {
			tool_end $u $t
		}
		if {!$mdbg_waits} {
			exec kill -KILL [pid $m]
			live_end $m {signal SIGKILL}
			set m [live_start -p [pid_of $t]]
		}
		live_end $m
		if {$leaving eq "last"} {
			check_calls $t $u "$what, mdbg has left"
			tool_end $u $t
		}
		order $t "go 100"
		check_state $::before [pid_of $t]
	}
	finish $t
}

# A breakpoint is one byte, and the same as the kernel's: that takes it for its own, and takes it out when it leaves.
case tools-uprobe-inside-patch-by-breakpoints 60 {
	need_uprobes perf
	set ::engine breakpoint
	set t [start_own]
	set m [live_start -p [pid_of $t]]
	set u [tool_await [tool_begin perf $t [dict create malloc malloc+[patch_offset $m]]] $t]
	check_calls $t $u "mdbg has a breakpoint"
	tool_end $u $t
	until {[slurp $::live_err($m)] ne ""}
	live $m "malloc check"
	set said [slurp $::live_err($m)]
	check {[regexp {^mdbg: another tool has written over the patch of malloc in libc\.so\.6: [^\n]*\n$} $said]} {it says: $said}
	check {[string match "*\nIncomplete: malloc is not watched: another tool has written over its patch (libc.so.6)\n*" \
		[live $m "malloc sites"]]} {[live $m "malloc sites"]}
	order $t "go 100"
	live_end $m
	order $t "go 100"
	check_state $::before [pid_of $t]
	finish $t
}
