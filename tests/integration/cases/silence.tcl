# SPDX-License-Identifier: GPL-3.0-or-later
# What cannot be watched, or not as asked for, is said: at the attach, and by every answer.

# --- processes that run a translation of their code ---------------------------------------------------------------

# A target that runs under a program which executes its code.
proc start_under {program args} {
	set chan [open |[list {*}$args $::build/targets/$program 2>$::tmp/under.err] r+]
	chan configure $chan -buffering line
	set ready [hear $chan 60]
	check {[lindex $ready 0] eq "ready"} {$program says $ready}
	set ::pid_of($chan) [pid $chan]
	return $chan
}

proc refused_under {name instead args} {
	set t [start_under hard {*}$args]
	mdbg -q -p [pid_of $t] -c {malloc sites}
	check_refused 3 "it runs under $name" $instead
	check {![string match "*memfd:mdbg*" [slurp /proc/[pid_of $t]/maps]]} {something of mdbg's is in it}
	quit $t
}

case refused-under-valgrind 60 {
	refused_under valgrind "without valgrind" [need valgrind] -q
}

# Without the library that it preloads.
case refused-under-valgrind-static 60 {
	set valgrind [need valgrind]
	exec cc -static -O1 -o $::tmp/small [spit $::tmp/small.c {
		#include <stdio.h>
		int main(void)
		{
			printf("ready\n");
			fflush(stdout);
			return getchar() == EOF;
		}
	}]
	set chan [open |[list $valgrind -q --tool=none $::tmp/small 2>@stderr] r+]
	check {[hear $chan 60] eq "ready"} {it is not ready}
	mdbg -q -p [pid $chan] -c {malloc sites}
	check_refused 3 "it runs under valgrind" "without valgrind"
	puts $chan ""
	flush $chan
	check {[ending $chan] eq {exit 0}} {it ended otherwise}
}

case refused-under-qemu 60 {
	refused_under qemu-user "without an emulator" [need qemu-x86_64]
}

# --- what is not watched ------------------------------------------------------------------------------------------

# The bytes that were there.
proc poke {pid address hex} {
	set mem [open /proc/$pid/mem r+]
	chan configure $mem -translation binary -buffering none
	chan seek $mem $address
	set was [read $mem [expr {[string length $hex] / 2}]]
	chan seek $mem $address
	puts -nonewline $mem [binary format H* $hex]
	close $mem
	binary scan $was H* was
	return $was
}

# Where the patches of libc's functions are.
proc addresses {pid} {
	set m [live_start -p $pid]
	set found {}
	foreach probe [live_value $m mdbg::probes] {
		dict set found [dict get $probe function] [dict get $probe patch]
	}
	live_end $m
	return $found
}

proc warnings {text} {
	return [lsearch -all -inline -glob [split $text "\n"] "mdbg: warning: *"]
}

# Each answer that goes by records, and the line in it.
proc check_answers {m line} {
	foreach command {malloc "malloc allocations limit 5" "malloc sites limit 5" "malloc leaks" "malloc stale 1s" "malloc check" "malloc find 0x1000"} {
		set text [live $m $command]
		check {[lsearch -glob [split $text "\n"] "Incomplete: $line"] >= 0} {$command does not say it: [string range $text end-600 end]}
	}
	check {[listed [live $m "malloc allocations limit 5"]] >= 0} {the last line does not say how many}
}

proc lacks {m} {
	return [live_value $m mdbg::lacks]
}

# Another tool has its breakpoint in malloc: the target, which must not call it, waits for a command.
case silence-not-watched 40 {
	set t [start hard]
	set pid [pid_of $t]
	set address [dict get [addresses $pid] malloc]
	set before [state $pid]
	set was [poke $pid $address cc]
	set m [live_start -p $pid]
	set said [slurp $::live_err($m)]
	check {[regexp -line {^mdbg: warning: malloc is not watched: the code at 0x[0-9a-f]+ is not as in its file: another tool has patched it \(libc\.so\.6\)\nhint: have the other tool leave, then attach again$} $said]} {it says: $said}
	check {[llength [warnings $said]] == 1} {it says: $said}
	check_answers $m "malloc is not watched: the code at *another tool has patched it (libc.so.6)"
	check {[llength [lacks $m]] == 1 && [dict get [lindex [lacks $m] 0] function] eq "malloc"} {[lacks $m]}
	check {[string match "the code at*" [dict get [lindex [lacks $m] 0] why]]} {[lacks $m]}
	live_end $m
	check {[slurp $::live_err($m)] eq $said} {said again: [slurp $::live_err($m)]}
	# In one go: status 0, but not in silence.
	mdbg_ok -q -p $pid -c {malloc sites}
	check {[llength [warnings $::err]] == 1} {$::err}
	check {[string match "*\nIncomplete: malloc is not watched: *\n0 sites listed;*" $::out]} {$::out}
	# Only jumps: nothing is left in it.
	mdbg -q --engine jump -p $pid -c {malloc sites}
	check_refused 3 "malloc cannot have a jump" "--engine auto"
	poke $pid $address $was
	check_state $before $pid
	mdbg_ok -q --engine jump -p $pid -c {malloc sites}
	check {$::err eq ""} {$::err}
	finish $t
}

# None that gives out blocks can be watched.
case silence-nothing-watched 40 {
	set t [start hard]
	set pid [pid_of $t]
	set before [state $pid]
	dict for {function address} [addresses $pid] {
		if {$function ne "free"} {
			lappend put $address [poke $pid $address cc]
		}
	}
	mdbg_ok -q -p $pid -c {malloc sites}
	check {[llength [warnings $::err]] == [llength $put] / 2 + 1} {$::err}
	check {[regexp -line {^mdbg: warning: nothing is recorded: no function that gives out blocks is watched$} $::err]} {$::err}
	check {[regexp -all -line {^Incomplete: \w+ is not watched: } $::out] == [llength $put] / 2} {$::out}
	foreach {address was} $put {
		poke $pid $address $was
	}
	check_state $before $pid
	finish $t
}

# What an operator new without a nothrow form gives out is recorded in malloc: it lacks nothing, and jumps are all jumps.
case silence-recorded-elsewhere 40 {
	set t [start cxxplain]
	set m [live_start --engine jump -p [pid_of $t]]
	check {[regexp -line {^operator new.* none .*throws, and its module has no nothrow form} [live $m "malloc -v"]]} {[live $m "malloc -v"]}
	check {[lacks $m] eq {} && [slurp $::live_err($m)] eq ""} {[lacks $m]; [slurp $::live_err($m)]}
	live_end $m
	tell $t quit
	ending $t
}

# Probes that go in later, by `malloc on`: said then, and not before.
case silence-malloc-on 40 {
	set t [start hard]
	set pid [pid_of $t]
	set address [dict get [addresses $pid] malloc]
	set m [live_start --no-arm -p $pid]
	set was [poke $pid $address cc]
	check {[slurp $::live_err($m)] eq ""} {[slurp $::live_err($m)]}
	live $m "malloc on"
	until {[llength [warnings [slurp $::live_err($m)]]] == 1}
	check {[string match "*mdbg: warning: malloc is not watched: *" [slurp $::live_err($m)]]} {[slurp $::live_err($m)]}
	check {[llength [lacks $m]] == 1} {[lacks $m]}
	live_end $m
	poke $pid $address $was
	finish $t
}

# As it should be: nothing is said, of what is refused by design neither.
by_both case silence-where-all-is-well 40 {
	foreach program {hard exact cxxplain cxxexact} {
		start_watched {t m} $program
		check {[lacks $m] eq {}} {[lacks $m]}
		check {![string match "*Incomplete:*" [live $m "malloc -v"][live $m "malloc sites"][live $m "malloc check"]]} {[live $m "malloc -v"]}
		live_end $m
		check {[slurp $::live_err($m)] eq ""} {$program: [slurp $::live_err($m)]}
		tell $t quit
		ending $t
	}
}

# --engine jump and `malloc on`: none goes in without the others.
case silence-malloc-on-with-jumps-only 40 {
	set t [start hard]
	set pid [pid_of $t]
	set address [dict get [addresses $pid] malloc]
	set m [live_start --engine jump -p $pid]
	live $m "malloc off"
	check {[string match "the probes are out: nothing is recorded" [dict get [lindex [lacks $m] 0] why]] ||
		[string match "the probes were out for a while*" [dict get [lindex [lacks $m] 0] why]]} {[lacks $m]}
	set before [state $pid -t]
	set was [poke $pid $address cc]
	check {[string match "*malloc cannot have a jump*" [live_error $m "malloc on"]]} {$::result}
	check {![dict get [live_value $m mdbg::malloc] armed]} {they are in}
	poke $pid $address $was
	finish $t $m
}

# --- what the log does not have -----------------------------------------------------------------------------------

by_both case silence-sampling 40 {
	set t [start hard]
	set m [live_start --sample 64K -p [pid_of $t]]
	set said [slurp $::live_err($m)]
	check {[regexp -line {^mdbg: warning: the log samples: of 65536 bytes about one block is recorded, and totals are estimates\nhint: --sample 0 records all$} $said]} {$said}
	check {[llength [warnings $said]] == 1} {$said}
	check_answers $m "the log samples (one in 65536 bytes): *"
	check {[dict get [lindex [lacks $m] 0] function] eq ""} {[lacks $m]}
	finish $t $m
}

case silence-full-log 60 {
	set t [start million]
	set m [live_start --log-limit 16M -p [pid_of $t]]
	check {[slurp $::live_err($m)] eq "" && [lacks $m] eq {}} {[slurp $::live_err($m)]}
	order $t "make 1200000" 60
	set full [dict get [live_value $m mdbg::malloc] full]
	check {$full > 0} {not full}
	check_answers $m "$full blocks were not recorded: the log was full"
	until {[string match "*mdbg: warning: the log is full: *\nhint: *--log-limit SIZE*" [slurp $::live_err($m)]]}
	check {[llength [warnings [slurp $::live_err($m)]]] == 1} {[slurp $::live_err($m)]}
	live $m "malloc reset"
	check {[lacks $m] eq {}} {[lacks $m]}
	finish $t $m
}

by_both case silence-probes-were-out 40 {
	start_watched {t m} hard
	live $m "malloc off"
	check_answers $m "the probes were out for a while: what was allocated then is not recorded, and what was freed then is still listed"
	live $m "malloc on"
	check_answers $m "the probes were out for a while: *"
	live $m "malloc reset"
	check {[lacks $m] eq {}} {[lacks $m]}
	live $m detach
	check {[lacks $m] eq {}} {after the end: [lacks $m]}
	finish $t $m
}

# --- little address space -----------------------------------------------------------------------------------------

# The target, which has so many MB left, is attached to: jumps, a log of its size, and both are said.
foreach {left} {40 64 300 1500} {
	case silence-addresses-$left 40 [string map [list LEFT $left] {
		set t [start hard -t 2 -a LEFT]
		set before [state [pid_of $t] -t]
		set m [live_start -p [pid_of $t]]
		set figures [live_value $m mdbg::malloc]
		check {[dict get $figures jump] > 0 && [dict get $figures breakpoint] == 0} {$figures}
		set said [slurp $::live_err($m)]
		check {[regexp {^mdbg: warning: the log has (\d+)M and not 1024M: the address space of process \d+ is limited to \d+M \(RLIMIT_AS\), and \d+M are left\nhint: prlimit --pid \d+ --as=unlimited, then attach again\n$} $said -> log]} {$said}
		check {$log >= 8 && $log <= LEFT / 4} {a log of $log MB where LEFT MB are left}
		order $t "make 100 777"
		check_blocks $m 777 100
		check {[lacks $m] eq {}} {[lacks $m]}
		# It can be left, and be taken over.
		live $m "detach -keep"
		live_end $m
		order $t "make 100 777"
		mdbg_ok -q -p [pid_of $t] -c {malloc allocations size == 777}
		check {[listed $::out] == 200} {[listed $::out] of 200 after the handover}
		order $t drop
		finish $t {} $before -t
	}]
}

# As asked for, and small: nothing is less than it should be.
case silence-addresses-and-small-log 40 {
	set t [start hard -t 2 -a 128]
	set m [live_start --log-limit 16M -p [pid_of $t]]
	check {[dict get [live_value $m mdbg::malloc] jump] > 0} {[live $m malloc]}
	check {[slurp $::live_err($m)] eq ""} {[slurp $::live_err($m)]}
	finish $t $m
}

# No room for a log at all: breakpoints, of which one line tells with the way out, or none, where only jumps are wanted.
case silence-no-addresses 40 {
	set t [start hard -t 1 -a 20]
	set before [state [pid_of $t] -t]
	set m [live_start -p [pid_of $t]]
	set said [slurp $::live_err($m)]
	check {[regexp -line {^mdbg: warning: \w+, \w+ and \d+ others are watched by breakpoints: .*RLIMIT_AS\).*\nhint: prlimit --pid \d+ --as=unlimited, then attach again$} $said]} {$said}
	check {[llength [warnings $said]] == 1} {$said}
	check {[lacks $m] eq {}} {all is there, if slowly: [lacks $m]}
	live_end $m
	mdbg -q --engine jump -p [pid_of $t] -c malloc
	check_refused 3 "cannot have a jump*RLIMIT_AS" "prlimit --pid [pid_of $t] --as=unlimited"
	check_state $before [pid_of $t] -t
	# The hint can be followed, by who may raise limits.
	if {![catch {exec [need prlimit] --pid [pid_of $t] --as=unlimited}]} {
		mdbg_ok -q --engine jump -p [pid_of $t] -c malloc
		check {$::err eq ""} {$::err}
	}
	finish $t
}

# What the machine may still promise, where it never promises more than it has.
case silence-overcommit 40 {
	skip_if {[exec id -u] != 0} {needs root}
	set unshare [need unshare]
	spit $::tmp/rule "2\n"
	spit $::tmp/info [regsub -all -line {^(CommitLimit|Committed_AS): .*} [slurp /proc/meminfo] {\1: 0 kB}]
	spit $::tmp/info [regsub -line {^CommitLimit: .*} [slurp $::tmp/info] {CommitLimit: 204800 kB}]
	set t [start hard -t 1]
	set wrapper [spit $::tmp/strict "#!/bin/sh\nexec $unshare -m sh -c 'mount --bind $::tmp/rule /proc/sys/vm/overcommit_memory && mount --bind $::tmp/info /proc/meminfo && exec \"\$@\"' sh $::mdbg_program \"\$@\"\n"]
	file attributes $wrapper -permissions 0755
	set ::mdbg_program $wrapper
	mdbg_ok -q -p [pid_of $t] -c malloc
	check {[regexp -line {^mdbg: warning: the log has 100M and not 1024M: memory is never overcommitted here \(vm\.overcommit_memory\), and 200M are left\nhint: } $::err]} {$::err}
	finish $t
}

# --- probes that see nothing --------------------------------------------------------------------------------------

# Offsets of libc's local functions and data, from its debug file.
proc libc_offsets {args} {
	set libc [file normalize [exec sh -c "ldd $::build/targets/behind | awk '/libc.so/ { print \$3 }'"]]
	check {[regexp {Build ID: ([0-9a-f]{2})([0-9a-f]+)} [exec readelf -n $libc] -> head tail]} {libc has no build id}
	set debug /usr/lib/debug/.build-id/$head/$tail.debug
	skip_if {![file exists $debug]} {$debug is not installed}
	set symbols [exec nm $debug]
	return [lmap name $args {
		skip_if {![regexp -line "^(\[0-9a-f\]+) \[tTdDbB\] $name\$" $symbols -> offset]} {libc has no $name}
		set offset
	}]
}

# Somebody allocates, and no probe is passed: it is said, by each answer, until the first call comes.
by_both case silence-behind 60 {
	start_watched {t m} behind {*}[libc_offsets _int_malloc main_arena]
	check {[slurp $::live_err($m)] eq ""} {[slurp $::live_err($m)]}
	until {[live $m {wait 0.05}] eq "" && [lacks $m] ne {}}
	check_answers $m "no call of the allocator is seen, though its heaps change: the process may execute a translation or a copy of its code"
	check {[dict get [live_value $m mdbg::malloc] records] == 0} {it has seen some}
	until {[string match "*mdbg: warning: no call of the allocator is seen, *\nhint: *" [slurp $::live_err($m)]]}
	order $t call
	check {[lacks $m] eq {}} {[lacks $m]}
	live_end $m
	check {[llength [warnings [slurp $::live_err($m)]]] == 1} {[slurp $::live_err($m)]}
	quit $t
}

# Who does nothing is not accused, nor who has his heap trimmed.
case silence-idle 60 {
	start_watched {t m} behind
	for {set i 0} {$i < 10} {incr i} {
		check {[lacks $m] eq {}} {[lacks $m]}
		live $m "malloc trim"
	}
	check {![string match "*Incomplete:*" [live $m "malloc sites"]]} {accused}
	live_end $m
	check {[slurp $::live_err($m)] eq ""} {[slurp $::live_err($m)]}
	quit $t
}
