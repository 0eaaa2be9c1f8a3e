# SPDX-License-Identifier: GPL-3.0-or-later
# Cases for the machine that `run` boots: root is alone there, and control groups are of version 2, with the root of them.

# --- another kernel -----------------------------------------------------------------------------------------------

# The smallest: it is that machine, and mdbg runs there.
case vm-boots 30 {
	check {[string trim [slurp /proc/1/comm]] eq "init"} {the first process is [slurp /proc/1/comm]}
	check {[string match {mdbg *} [mdbg_ok --version]]} {$::out}
	note "Linux [string trim [slurp /proc/sys/kernel/osrelease]]"
}

# Threads allocate all the time. What is listed is what they hold, and text, mappings and signals are as before.
by_both case vm-attach 30 {
	set t [start exact -t 4 -r]
	set before [state [pid_of $t]]
	order $t go
	set m [live_start -p [pid_of $t]]
	set since [expr {[clock microseconds] * 1000}]
	order $t "more [work 300 30]"
	order $t pause
	check {[compare $t [dump $m] $since] > 0} {nothing was compared}
	order $t go
	live_end $m
	order $t pause
	check_state $before [pid_of $t]
	finish $t
}

# --- control groups of version 2 ----------------------------------------------------------------------------------

set group_root /sys/fs/cgroup

# The body of a case with these control groups, a dict of {path {file text ...}}, those above before those below. Only one
# that has none below it takes processes. Cases run side by side: each has names of its own.
proc with_groups {groups body} {
	set paths [dict keys $groups]
	try {
		dict for {path files} $groups {
			file mkdir $::group_root/$path
			if {[lsearch -glob $paths $path/*] >= 0} {
				spit_into $::group_root/$path/cgroup.subtree_control +memory
			}
			dict for {file text} $files {
				spit_into $::group_root/$path/$file $text
			}
		}
		uplevel 1 $body
	} finally {
		foreach path [lreverse $paths] {
			remove_group $::group_root/$path
		}
	}
}

# A case that failed has left its target. A process that ends is no more among those of the group, and yet keeps it busy.
proc remove_group {folder} {
	foreach pid [slurp $folder/cgroup.procs] {
		catch {exec kill -KILL $pid}
	}
	until {![catch {exec rmdir $folder}]} 30
}

proc put_into_group {pid path} {
	spit_into $::group_root/$path/cgroup.procs $pid
}

# A file of one number, or a name of a table, of a group.
proc group_number {path file {name ""}} {
	set text [slurp $::group_root/$path/$file]
	return [expr {$name eq "" ? [string trim $text] : [dict get $text $name]}]
}

# The groups above the process, as mdbg has them: a dict of path.
proc groups_of {m} {
	set found [dict create]
	foreach group [live_value $m "dict get \[set ::is \[mdbg::memory_system limit 0\]\] groups"] {
		dict set found [dict get $group path] $group
	}
	return $found
}

# Each figure is between the kernel's before and after, at some time.
proc check_group_figures {m path} {
	foreach {key file name} {
		use memory.current "" anonymous memory.stat anon file memory.stat file shared memory.stat shmem
		inactive memory.stat inactive_file kernel memory.stat kernel slab memory.stat slab
		pagetables memory.stat pagetables stacks memory.stat kernel_stack sockets memory.stat sock
		swapuse memory.swap.current "" oomkills memory.events oom_kill
	} {
		until {[agrees_with_group $m $path $key $file $name]}
	}
}

proc agrees_with_group {m path key file name} {
	set before [group_number $path $file $name]
	set is [dict get [groups_of $m] /$path $key]
	set after [group_number $path $file $name]
	return [expr {$is >= min($before, $after) && $is <= max($before, $after)}]
}

# Limits at two levels above the process's own group, which has none.
case vm-limits 60 {
	with_groups {limits {memory.max 512M} limits/middle {memory.high 96M} limits/middle/inner {}} {
		set t [start cases]
		put_into_group [pid_of $t] limits/middle/inner
		set m [live_start -p [pid_of $t]]
		set groups [groups_of $m]
		check {[dict keys $groups] eq {/limits/middle/inner /limits/middle /limits}} {[dict keys $groups]}
		check {[live_value $m "dict get \$::is version"] == 2 && [live_value $m "dict get \$::is why"] eq ""} {$::result}
		foreach {path limit high} [list /limits/middle/inner "no limit" "no limit" \
			/limits/middle "no limit" [expr {96 << 20}] /limits [expr {512 << 20}] "no limit"] {
			foreach {key value} [list limit $limit high $high swaplimit "no limit"] {
				check {[dict get $groups $path $key] eq $value} {$path, $key: [dict get $groups $path]}
			}
		}
		check {[live_value $m "dict get \$::is nearest"] eq "/limits/middle"} {nearest: $::result}
		check {[dict get $groups /limits/middle/inner left] eq "no limit"} {$groups}
		order $t "burst 30000"
		foreach path {limits/middle/inner limits/middle limits} {
			check_group_figures $m $path
		}
		check_group_forecast $t $m
		live_end $m
		order $t drain
		finish $t
	}
}

# What is taken between two looks makes the rate, and what is left by it the time; the text says the same.
proc check_group_forecast {t m} {
	set before [dict get [groups_of $m] /limits/middle]
	order $t "burst 30000"
	set now [dict get [groups_of $m] /limits/middle]
	set interval [live_value $m "dict get \$::is interval"]
	set grown [expr {[dict get $now use] - [dict get $now inactive] - [dict get $before use] + [dict get $before inactive]}]
	check {$grown > 5000000 && abs([dict get $now rate] * $interval - $grown) < 1000} {$grown bytes in $interval s: $now}
	check {[dict get $now left] == (96 << 20) - [dict get $now use] + [dict get $now inactive]} {$now}
	check {abs([dict get $now left] / [dict get $now rate] - [dict get $now reached]) < 0.01} {$now}
	order $t "burst 10000"
	set text [live $m "memory system limit 0"]
	check {[regexp -line {^The nearest limit is that of /limits/middle: (\d+) bytes are left of 100663296 \(memory\.high\)\.$} $text]} {$text}
	check {[regexp -line {^It is reached in .* at the present rate of \+\d+ bytes a second\.$} $text]} {$text}
	check {[regexp -line {^Against it count: anonymous (\d+), files and shared memory \d+, } $text -> anonymous]} {$text}
	check {$anonymous > 10000000} {$text}
}

# What others of a group above hold counts as well: its larger limit is the nearer one.
case vm-limit-of-others 60 {
	with_groups {others {memory.max 160M} others/own {memory.max 120M} others/beside {}} {
		set other [start kinds]
		put_into_group [pid_of $other] others/beside
		set t [start cases]
		put_into_group [pid_of $t] others/own
		set m [live_start -p [pid_of $t]]
		groups_of $m
		check {[live_value $m "dict get \$::is nearest"] eq "/others/own"} {nearest: $::result}
		order $other "anonymous 100"
		set groups [groups_of $m]
		check {[live_value $m "dict get \$::is nearest"] eq "/others"} {nearest: $::result}
		check {[dict get $groups /others left] < 60 << 20 && [dict get $groups /others/own left] > 60 << 20} {$groups}
		finish $other
		until {[dict exists [set groups [groups_of $m]] /others] && [live_value $m "dict get \$::is nearest"] eq "/others/own"}
		live_end $m
		finish $t
	}
}

# Above memory.high the kernel does not kill, but has the process wait: it is counted, and nothing is left.
case vm-above-high 60 {
	with_groups {slow {memory.high 24M}} {
		set t [start kinds]
		put_into_group [pid_of $t] slow
		set m [live_start -p [pid_of $t]]
		check {[dict get [groups_of $m] /slow atlimit] == 0} {[groups_of $m]}
		tell $t "anonymous 26"
		until {[dict get [set group [dict get [groups_of $m] /slow]] atlimit] > 0 && [dict get $group left] == 0}
		set before [expr {[group_number slow memory.events high] + [group_number slow memory.events max]}]
		set at_limit [dict get [groups_of $m] /slow atlimit]
		set after [expr {[group_number slow memory.events high] + [group_number slow memory.events max]}]
		check {$before <= $at_limit && $at_limit <= $after} {$before times, mdbg says $at_limit, $after}
		spit_into $::group_root/slow/memory.high max
		check {[hear $t 60] eq "ok"} {no end}
		live_end $m
		finish $t
	}
}

# The script writes what holds the memory below a limit two groups above, and is in time; then the kernel kills. Who looks
# from beside sees that counted. The leaker takes 8 MB a second whatever the processor is: where that is emulated, the
# script is told to begin earlier.
case vm-before-oom 120 {
	with_groups {leak {memory.max 176M} leak/middle {} leak/middle/inner {} leak/beside {}} {
		set witness [start kinds]
		put_into_group [pid_of $witness] leak/beside
		set w [live_start --no-arm -p [pid_of $witness]]
		set kills [machine_figure $w oomkills]
		set t [start cases]
		put_into_group [pid_of $t] leak/middle/inner
		set m [begin_script before-oom.tcl -p [pid_of $t] -every 0.2 \
			-percent [expr {$::slower > 1 ? 20 : 90}] $::tmp/last.html]
		check {[string match "process [pid_of $t] is watched, *" [hear $m]]} {no first line}
		order $t frames
		set said [hear $m 60]
		check {[regexp {: control group /leak has \d+ bytes left of 184549376} $said]} {$said}
		set sites ""
		while {![string match "the report is *" [set line [hear $m 60]]]} {
			append sites $line \n
		}
		check {[is_alive [pid_of $t]]} {killed before the report was written: $said}
		check {[end_script $m] eq {exit 23}} {[slurp $::tmp/script.err]}
		check {[regexp {#1 [^#]* in read_frame[( ]} $sites]} {$sites}
		check {[string match "*read_frame*" [slurp $::tmp/last.html]]} {the report does not name it}
		until {![is_alive [pid_of $t]]} 60
		check {[ending $t] eq {signal SIGKILL}} {it was not killed}
		check {[machine_figure $w oomkills] == $kills + 1} {the machine's kills were $kills: [machine_figure $w oomkills]}
		set groups [groups_of $w]
		check {[dict get $groups /leak oomkills] == 1 && [dict get $groups /leak/beside oomkills] == 0} {$groups}
		check {[dict get $groups /leak atlimit] > 0} {$groups}
		live_end $w
		finish $witness
	}
}

# Tasks that wait for memory, as the kernel has it at the same moment.
case vm-pressure 60 {
	check {[file exists /proc/pressure/memory]} {no pressure}
	with_groups {pressed {memory.high 16M}} {
		set t [start kinds]
		put_into_group [pid_of $t] pressed
		set m [live_start --no-arm -p [pid_of $t]]
		tell $t "anonymous 18"
		until {[dict get [pressure] some10] > 0 && [machine_figure $m some10] > 0} 60
		foreach key {some10 some60 full10 full60} {
			until {[agrees $m $key {dict get [pressure] $key}]}
		}
		set text [live $m "memory system limit 0"]
		check {[regexp -line {^pressure, some wait +[0-9.]+ % +[0-9.]+ %  /proc/pressure/memory some$} $text]} {$text}
		spit_into $::group_root/pressed/memory.high max
		check {[hear $t 60] eq "ok"} {no end}
		live_end $m
		finish $t
	}
}

proc pressure {} {
	set found [dict create]
	foreach {- who ten sixty} [regexp -all -inline {(some|full) avg10=(\S+) avg60=(\S+)} [slurp /proc/pressure/memory]] {
		dict set found ${who}10 $ten
		dict set found ${who}60 $sixty
	}
	return $found
}

# --- growth -------------------------------------------------------------------------------------------------------

# Pages of pipes that nobody reads: a pipe takes sixteen of them.
case vm-kernel-pages 60 {
	set m [live_start]
	live $m {set kernel-sampling off}
	start_growth $m kernel
	set pipes {}
	for {set i 0} {$i < 60} {incr i} {
		lassign [chan pipe] out in
		chan configure $in -translation binary -buffering none
		puts -nonewline $in [string repeat x 65536]
		lappend pipes $out $in
	}
	lassign [pipe_pages $m] bytes count
	check {abs($count - 960) <= 9 && $bytes == 4096 * $count} {960 pages are held, and mdbg has $count, $bytes bytes}
	foreach chan $pipes {
		close $chan
	}
	until {[lindex [pipe_pages $m] 1] <= 9}
	live $m {growth stop}
	live_end $m
}

proc pipe_pages {m} {
	set bytes 0
	set count 0
	foreach site [live_value $m {mdbg::growth kernel function == *pipe_write}] {
		if {[dict get $site kind] eq "pages"} {
			incr bytes [dict get $site bytes]
			incr count [dict get $site count]
		}
	}
	return [list $bytes $count]
}

# Lines of the kernel's source that hold most, where it counts by them.
case vm-kernel-lines 60 {
	if {![file exists /proc/allocinfo]} {
		skip "this kernel has no /proc/allocinfo (CONFIG_MEM_ALLOC_PROFILING)"
	}
	set m [live_start]
	start_growth $m kernel
	set text [live $m {growth kernel limit 3}]
	check {[regexp {\nAll that the kernel holds since boot, by line \(/proc/allocinfo\):\n\n(.*)} $text -> lines]} {$text}
	set places [lmap {- place} [regexp -all -inline -line {^\d+ bytes in \d+  (.*)$} $lines] {string cat $place}]
	check {[llength $places] == 3} {$lines}
	set kernel [slurp /proc/allocinfo]
	foreach place $places {
		check {[string first $place $kernel] >= 0} {the kernel has no $place}
	}
	live $m {growth stop}
	live_end $m
}

# --- bcc ----------------------------------------------------------------------------------------------------------

# bcc's memleak of the kernel, which prints a report every second. It compiles its programs by the headers that with-bcc has
# put here.
proc start_memleak {} {
	set chan [open |[list env PYTHONUNBUFFERED=1 [need memleak-bpfcc] -o 0 -T 100000 1 2> $::tmp/memleak.err] r]
	if {[catch {hear $chan 60} line]} {
		set why [slurp $::tmp/memleak.err]
		check {[string match "*Failed to compile BPF module*" $why]} {memleak: $line: $why}
		skip "this bcc cannot compile memleak for this kernel: [lindex [regexp -inline -line {error: .*} $why] 0]"
	}
	check {$line eq "Attaching to kernel allocators, Ctrl+C to quit."} {memleak says $line}
	check {[string match "*Top 100000 stacks with outstanding allocations:" [hear $chan 60]]} {no report}
	return $chan
}

# Its next report, up to the head of the one after: {PCs {bytes count} ...} of the load's stacks. mdbg's stacks begin with
# the function that has the tracepoint, and memleak's one frame before.
proc memleak_load {chan} {
	set sums [dict create]
	set stack {}
	set names {}
	while 1 {
		set line [hear $chan 60]
		if {[regexp {^\t\t(0x[0-9a-f]+)\t([^ +]*)} $line -> pc name]} {
			lappend stack $pc
			lappend names $name
			continue
		}
		if {[is_of_load $names]} {
			dict set sums [lrange $stack 1 end] $sum
		}
		if {![regexp {^\t(\d+) bytes in (\d+) allocations from stack} $line -> bytes count]} {
			return $sums
		}
		set sum [list $bytes $count]
		set stack {}
		set names {}
	}
}

# The same of mdbg.
proc growth_load {m} {
	set sums [dict create]
	foreach site [live_value $m {mdbg::growth kernel}] {
		set stack [dict get $site stack]
		if {[is_of_load [lmap frame $stack {dict get $frame function}]]} {
			set pcs [lmap frame $stack {format 0x%016llx [dict get $frame pc]}]
			dict set sums $pcs [list [dict get $site bytes] [dict get $site count]]
		}
	}
	return $sums
}

# Nobody else here makes pairs of sockets.
proc is_of_load {names} {
	return [expr {"__sys_socketpair" in $names || "unix_dgram_sendmsg" in $names}]
}

proc differ {a b} {
	return [expr {abs($a - $b) > 0.01 * $b}]
}

# What the two say differently; "" if they agree. memleak has no stack whose hash another stack has as well.
proc load_difference {ours theirs} {
	set sums {0 0 0 0}
	set lost 0
	dict for {stack sum} $ours {
		if {![dict exists $theirs $stack]} {
			incr lost
			continue
		}
		set pair [concat $sum [dict get $theirs $stack]]
		lassign $pair bytes count their_bytes their_count
		if {$their_count >= 20 && ([differ $bytes $their_bytes] || [differ $count $their_count])} {
			return "a stack of mdbg $sum, of memleak [dict get $theirs $stack]: [lrange $stack 0 2]"
		}
		set sums [lmap a $sums b $pair {expr {$a + $b}}]
	}
	lassign $sums bytes count their_bytes their_count
	note "mdbg $bytes bytes in $count, memleak $their_bytes in $their_count, in [dict size $theirs] stacks; lost $lost"
	set more 0
	dict for {stack sum} $theirs {
		incr more [expr {[dict exists $ours $stack] ? 0 : [lindex $sum 0]}]
	}
	if {[differ $bytes $their_bytes] || [differ $count $their_count] || $more > 0.01 * $their_bytes} {
		return "mdbg $bytes bytes in $count, memleak $their_bytes in $their_count, and $more bytes in other stacks"
	}
	return [expr {$lost > [dict size $ours] / 4 ? "memleak has not $lost of [dict size $ours] stacks" : ""}]
}

# memleak has the load as mdbg has it in one of the next reports: the first one began before. A report is wrong if what
# memleak has just read is freed before it reads on, since it then begins again (bcc's table.py, bpf_get_next_key) and
# counts twice.
proc check_as_memleak {ours bcc} {
	set why "no report"
	for {set i 0} {$i < 8 && $why ne ""} {incr i} {
		set why [load_difference $ours [memleak_load $bcc]]
	}
	check {$why eq ""} {$why}
}

# The figures of bcc's memleak, of the same load at the same time: all that the kernel allocates for sockets and messages. It
# has a machine of its own (run), since others would make most reports of memleak wrong. What is freed is not compared:
# memleak still had 85 of 450 objects of a kind when all were gone. (The kernel calls none of its programs where it has
# interrupted another one, and many of these frees come in interrupts.)
case vm-kernel-as-bcc 50 {
	set t [start faulter]
	set m [live_start]
	live $m {set kernel-sampling off}
	start_growth $m kernel
	set bcc [start_memleak]
	foreach pairs {150 300 450} {
		order $t "sockets 150"
		set ours [growth_load $m]
		set counts [lmap sum [dict values $ours] {lindex $sum 1}]
		check {[llength [lsearch -all -integer $counts $pairs]] >= 10} {$pairs pairs, and mdbg has stacks of $counts}
		check_as_memleak $ours $bcc
	}
	tell $t quit
	check {[ending $t] eq {exit 0}} {the target}
	live_end $m
}

# --- what is not permitted ----------------------------------------------------------------------------------------

# The error of a command, and what its hint says.
proc error_and_hint {m command} {
	return "[live_error $m $command]; [live_value $m {set errorCode}]"
}

# mdbg with no more rights than setpriv leaves it; $as has the words before a program that is to have the same.
proc with_rights {args} {
	set as [list [need setpriv] {*}$args]
	exec chmod 755 $::tmp
	set path [spit $::tmp/restricted "#!/bin/sh\nexec $as $::mdbg_program \"\$@\"\n"]
	file attributes $path -permissions 0755
	set ::mdbg_program $path
	return $as
}

# The machine's settings are as strict as they can be (init). What needs more has one error that names the setting, and the
# rest works.
case vm-not-permitted 60 {
	set as [with_rights --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all]
	set t [start_command {*}$as $::build/targets/kinds]
	set m [live_start -p [pid_of $t]]
	set said [error_and_hint $m {growth start fault}]
	check {[string match {growth start: *perf_event_paranoid is 3*} $said]} {$said}
	set said [error_and_hint $m {growth start kernel}]
	check {[regexp {^growth start: the kernel's allocations: .*unprivileged_bpf_disabled} $said]} {$said}
	live $m {growth start brk mmap shm}
	foreach line {{heap 1} {anonymous 2} {shared 1}} {
		order $t $line
	}
	set held [check_growth $m [pid_of $t]]
	check {[dict get $held mmap] >= 2 << 20 && [dict get $held shm] >= 1 << 20} {$held}
	check {[figure [live $m malloc] "allocations currently active"] > 1000} {no allocations}
	check {[dict get [parse_memory [live $m memory]] all RSIZE] > 0} {no memory of the process}
	check {[regexp -line {^total +\d+ } [live $m {memory system}]]} {no memory of the machine}
	live_end $m
	finish $t
}

# Root without the right to see the kernel's addresses has the stacks without names, and no filter by name. Of what a kernel
# does not have, /proc/allocinfo, nothing is said.
case vm-kernel-hidden 60 {
	with_rights --bounding-set=-syslog
	set m [live_start]
	start_growth $m kernel
	lassign [chan pipe] out in
	puts $in x
	flush $in
	set text [live $m {growth kernel limit 3}]
	check {[regexp -line {^no names: .*addresses are hidden; kernel\.kptr_restrict} $text]} {$text}
	check {[regexp -line {^ +0x[0-9a-f]+ \?\?$} $text] && [regexp -line {^pages +\d+ bytes} $text]} {$text}
	check {[file exists /proc/allocinfo] || ![regexp allocinfo $text]} {$text}
	foreach command {{growth kernel function == pipe_write} {mdbg::growth kernel function == pipe_write}} {
		set said [error_and_hint $m $command]
		check {[regexp {addresses are hidden.*kptr_restrict} $said]} {$said}
	}
	close $in
	close $out
	live_end $m
}
