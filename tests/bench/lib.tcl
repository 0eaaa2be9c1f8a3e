# SPDX-License-Identifier: GPL-3.0-or-later
# lib.tcl PART [load]: what the benches share. Started by run; PART.tcl defines proc bench_PART, which is not run after
# `load`: the check loads all of them, so that a name that two files have is found without a bench.

set part [lindex $argv 0]
set only_load [expr {[lindex $argv 1] eq "load"}]
set argv none
source [file join [file dirname [file normalize [info script]]] .. integration lib.tcl]
set bench_here [file dirname [file normalize [info script]]]
set tmp $::env(TMPDIR)
set broken {}

# A limit that --check verifies.
proc limit {what value op bound} {
	set kept [expr "$value $op $bound"]
	puts [format "%-64s %10.2f   (%s %g%s)" $what $value [dict get {<= "at most" >= "at least"} $op] $bound \
		[expr {$kept ? "" : ": not kept"}]]
	if {$::env(CHECK) && !$kept} {
		lappend ::broken $what
	}
}

proc median {values} {
	return [lindex [lsort -real $values] [expr {[llength $values] / 2}]]
}

# Start a program of BUILD/bench, or any command that becomes one. Waits for its `ready`.
proc start_bench {args} {
	set chan [open |[list {*}$args 2> $::tmp/target.err] r+]
	chan configure $chan -buffering line
	while {[lindex [set ready [hear $chan 120]] 0] ne "ready"} {}
	set ::pid_of($chan) [lindex $ready 1]
	return $chan
}

proc churn {args} {
	set t [start_bench $::build/bench/churn {*}$args]
	order $t fill
	return $t
}

# How long mdbg takes for a command: the least of some tries, in s.
proc seconds {m command {tries 1}} {
	set least 1e9
	for {set i 0} {$i < $tries} {incr i} {
		set least [expr {min($least, [live_value $m "lindex \[time {$command}] 0" 300] / 1e6)}]
	}
	return $least
}

# ns a pair.
proc churn_ns {t paths ms {limit 600}} {
	return [lindex [order $t "run $ms $paths" $limit] 0]
}

# ns of processor time a pair, for more threads than there are processors.
proc churn_cpu_ns {t paths ms} {
	return [lindex [order $t "run $ms $paths" 600] 2]
}

# An mdbg that watches; "" if it does not take this engine, or has not this option.
proc watched_by {t args} {
	if {[catch {live_start {*}$args -p [pid_of $t]} m]} {
		note "([join $args]: [string map {"\n" " "} [string trim $m]])"
		return ""
	}
	return $m
}

proc let_go {m} {
	live $m detach
	live_end $m
}

# A process that is ended without ceremony.
proc end_by_force {pid} {
	catch {exec kill -KILL $pid}
	until {![is_alive $pid]}
}

# heaptrack, injected into a process; returns the number of its group. (What stands behind -p PID is not looked at. Its
# interpreter, which -r leaves out, now and then ends early; the target then hangs or dies of SIGPIPE.)
proc start_heaptrack {target} {
	set pid [exec setsid heaptrack -r -o $::tmp/heaptrack.$target -p $target > $::tmp/heaptrack.out 2>@1 &]
	until {[string match "*injection finished*" [slurp $::tmp/heaptrack.out]] || ![is_alive $pid]} 60
	return $pid
}

# (The shell's own kill: that of procps 4.0.2 takes `-INT -1234` for process -1, which is all of them.)
proc end_heaptrack {pid} {
	catch {exec sh -c "kill -s INT -- -$pid"}
	until {![is_alive $pid]} 60
	catch {exec sh -c "kill -s KILL -- -$pid"}
	file delete {*}[glob -nocomplain $::tmp/heaptrack.*]
}

# The most memory, in MB, that mdbg has of its own while it does this. (VmHWM would count the log that it shares.)
proc own_mb {m command} {
	set most 0
	chan configure $m -blocking 1
	puts $m $command
	flush $m
	chan configure $m -blocking 0
	while {[gets $m line] < 0 || ![string match "@@@ *" $line]} {
		regexp {RssAnon:\s+(\d+)} [slurp /proc/[pid $m]/status] -> kb
		set most [expr {max($most, $kb / 1024.0)}]
		after 1
	}
	check {[string match "@@@ 0*" $line]} {$command: $line}
	return $most
}

# Bytes of the log that are in memory, whoever touched them first.
proc log_bytes {m} {
	foreach fd [glob /proc/[pid $m]/fd/*] {
		if {![catch {file readlink $fd} name] && $name eq "/memfd:mdbg (deleted)"} {
			return [expr {512 * [exec stat -L -c %b $fd]}]
		}
	}
	fail "mdbg has no log open"
}

# All blocks that the target holds must be in the log, or a figure would be of something else.
proc check_recorded {m n} {
	set records [live_value $m {dict get [mdbg::malloc] records} 300]
	check {$records == $n} {$records blocks of $n are in the log}
}

proc machine {} {
	set cpu "unknown processor"
	regexp -line {^model name\s*: (.*)$} [slurp /proc/cpuinfo] -> cpu
	set n [exec nproc]
	set release [slurp /proc/sys/kernel/osrelease]
	set load [lindex [slurp /proc/loadavg] 0]
	return "$cpu, $n processors, Linux [string trim $release], load $load"
}

# Other files that a part takes procedures from; all of them have those of the cases (start_redis, kill_mdbg).
set taken {cold plot history pair scale plot stand leaks}
load_cases
if {[dict exists $taken $part]} {
	load_file [file join $bench_here [dict get $taken $part].tcl]
}
load_file [file join $bench_here $part.tcl]
if {$only_load} {
	check {[info procs ::bench_$part] ne {}} {$part.tcl has no bench_$part}
	exit
}
bench_$part
if {$broken ne {}} {
	puts "not kept: [join $broken {, }]"
	exit 1
}
