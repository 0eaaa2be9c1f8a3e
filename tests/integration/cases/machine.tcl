# SPDX-License-Identifier: GPL-3.0-or-later
# memory system and memory watch: the machine, compared with other witnesses; limits of control groups, and the script
# that is in time before one.

# The figures of a file with lines "NAME: NUMBER kB" or "NAME NUMBER", in bytes or as they are.
proc kernel_table {path} {
	set table [dict create]
	foreach line [split [slurp $path] \n] {
		if {[regexp {^([^: ]+):? +(\d+)( kB)?$} $line -> name number kb]} {
			dict set table $name [expr {$kb eq "" ? $number : $number << 10}]
		}
	}
	return $table
}

# The body of a case within a control group that has this limit of memory, as $group. It is a child of the test's own
# group of version 1 or 2, or of the root of its mount; skipped where none can be made.
proc with_group {limit body} {
	set folder ""
	foreach line [split [slurp /proc/self/mountinfo] \n] {
		if {![regexp {^\S+ \S+ \S+ / (\S+) .* - (cgroup2?) \S+ (\S+)$} $line -> mount type options]} {
			continue
		}
		if {$type eq "cgroup" && "memory" in [split $options ,]} {
			set folder $mount
			set file memory.limit_in_bytes
			break
		}
		if {$type eq "cgroup2" && [file exists $mount/cgroup.subtree_control] &&
		    "memory" in [slurp $mount/cgroup.subtree_control]} {
			set folder $mount
			set file memory.max
		}
	}
	skip_if {$folder eq ""} {no control groups with memory are mounted}
	set group $folder/mdbg-test-[pid]
	if {[catch {file mkdir $group; spit_into $group/$file $limit} why]} {
		catch {exec rmdir $group}
		skip "no control group can be made: $why"
	}
	uplevel 1 [list set group $group]
	try {
		uplevel 1 $body
	} finally {
		# A case that failed has left its target.
		foreach pid [slurp $group/cgroup.procs] {
			exec kill -KILL $pid
		}
		until {[string trim [slurp $group/cgroup.procs]] eq ""} 30
		exec rmdir $group
	}
}

# Write to a file of the kernel, which is not made.
proc spit_into {path text} {
	set chan [open $path {WRONLY}]
	puts $chan $text
	close $chan
}

# `what` of an answer of mdbg::memory_system.
proc machine_figure {m args} {
	return [live_value $m "dict get \[mdbg::memory_system limit 0\] $args"]
}

# Is mdbg's figure between what a witness says before and after?
proc agrees {m key witness} {
	set before [uplevel 1 $witness]
	set is [machine_figure $m $key]
	set after [uplevel 1 $witness]
	return [expr {$is >= min($before, $after) && $is <= max($before, $after)}]
}

# Is a column of atop within 1 MB of what mdbg says before and after it? It takes a moment to begin.
proc near_atop {m key atop column} {
	set before [machine_figure $m $key]
	regexp -line {^MEM .*$} [exec $atop -P MEM 1 1] words
	set after [machine_figure $m $key]
	set words [lrange $words 6 end]
	set is [expr {[lindex $words 0] * [lindex $words $column]}]
	return [expr {$is > min($before, $after) - (1 << 20) && $is < max($before, $after) + (1 << 20)}]
}

# The same figure by mdbg and by /proc before and after. Other programs are at work meanwhile, so it is tried until the two
# of /proc agree.
case machine-agrees-with-proc 60 {
	set m [live_start]
	foreach {key name} {
		total MemTotal free MemFree available MemAvailable anonymous AnonPages locked Mlocked cached Cached
		shared Shmem buffers Buffers slab Slab slabreclaimable SReclaimable slabunreclaimable SUnreclaim
		pagetables PageTables stacks KernelStack percpu Percpu vmalloc VmallocUsed committed Committed_AS
		commitlimit CommitLimit swaptotal SwapTotal swapfree SwapFree
	} {
		until {[agrees $m $key {dict get [kernel_table /proc/meminfo] $name}]} 30
	}
	# What only grows lies between.
	foreach {key name} {faults pgfault majorfaults pgmajfault pageout pgpgout pagein pgpgin swapin pswpin swapout pswpout
		oomkills oom_kill} {
		set before [dict get [kernel_table /proc/vmstat] $name]
		set is [machine_figure $m $key]
		set after [dict get [kernel_table /proc/vmstat] $name]
		check {$before <= $is && $is <= $after} {$key: $before, mdbg says $is, $after}
	}
	foreach {key names} {scanned {pgscan_kswapd pgscan_direct pgscan_khugepaged pgscan_proactive}
		reclaimed {pgsteal_kswapd pgsteal_direct pgsteal_khugepaged pgsteal_proactive}} {
		set vmstat [kernel_table /proc/vmstat]
		set before 0
		foreach name $names {
			if {[dict exists $vmstat $name]} {
				incr before [dict get $vmstat $name]
			}
		}
		set is [machine_figure $m $key]
		check {$is >= $before} {$key: $before, then mdbg says $is}
	}
	live_end $m
}

# What is printed has a figure or `-` for each question, and its source; no process is needed.
case machine-text 60 {
	set text [mdbg_ok -c "memory system" -c "memory system limit 0"]
	foreach line {
		{^Changes and rates are over \S+ m?s\.$}
		{^total +\d+ +0  /proc/meminfo MemTotal$}
		{^  not reclaimable +\d+ +[+-]?\d+  /proc/meminfo SUnreclaim$}
		{^socket buffers +\d+ +[+-]?\d+  /proc/net/sockstat mem$}
		{^pages scanned +[0-9.]+ +\d+  /proc/vmstat pgscan_\*$}
		{^page faults +[0-9.]+ +\d+  /proc/vmstat pgfault$}
		{^pressure, some wait +(-|[0-9.]+ %) +(-|[0-9.]+ %)  /proc/pressure/memory some$}
		{^OOM kills +(-|\d+) +(-|[+-]?\d+)  /proc/vmstat oom_kill$}
		{^Processes that hold most, of \d+ that can be seen \(/proc/PID/stat\):$}
		{^Control groups: there is no process whose groups to show\.$}
		{^Changes and rates are since it was last asked, \S+ m?s ago\.$}
	} {
		check {[regexp -line $line $text]} {no line $line: $text}
	}
	check {[regexp -all -line {^Processes that hold most} $text] == 1} {limit 0 has processes: $text}
	foreach words {{limit} {limit -1} {limit x} {limit 1 2} {all}} {
		mdbg -c "memory system $words"
		check_refused 1 "memory system: " "usage: memory system"
	}
	check {[regexp {^\s*(processes) (\{.*\})} [mdbg_ok -c "puts \[dict filter \[mdbg::memory_system limit 2\] key processes\]"] -> - list]} {$::out}
	check {[llength [lindex $list 0]] == 2} {limit 2: $list}
}

# Who is killed in a group is named with it. (The messages have ids of the first PID namespace.)
case machine-kills 60 {
	with_group 96M {
		set t [start cases]
		spit_into $group/cgroup.procs [pid_of $t]
		set m [live_start]
		if {![live_value $m {llength [dict get [mdbg::memory_system] kills]}] &&
		    [string match "*not known (/dev/kmsg*" [mdbg_ok -c "memory system"]]} {
			skip "the kernel's messages cannot be read here"
		}
		order $t frames
		until {![is_alive [pid_of $t]]} 60
		# Others may be killed at the same time.
		set kills [live_value $m {dict get [mdbg::memory_system] kills}]
		set kill [lindex [lmap one $kills {expr {[file tail [dict get $one group]] eq [file tail $group] ? $one : [continue]}}] end]
		check {$kill ne ""} {no kill in $group: $kills}
		check {[dict get $kill name] eq "cases" && [dict get $kill anonymous] > 64 << 20} {$kill}
		check {abs([dict get $kill time] - [clock seconds]) < 30} {$kill}
		live_end $m
	}
}

# A child and its parent are a family, of which each has its share; nobody else is in the list.
case machine-family 60 {
	set t [start forker]
	order $t "alloc 20000"
	set m [live_start -p [pid_of $t]]
	set alone [lindex [live_value $m {dict get [mdbg::memory_system -children] processes}] 0]
	set child [order $t keep]
	set family [live_value $m {dict get [mdbg::memory_system -children limit 100] processes}]
	set pids [lmap one $family {dict get $one pid}]
	check {[pid_of $t] in $pids && $child in $pids && [pid] ni $pids} {$child of [pid_of $t]: $family}
	set parent [lindex $family [lsearch $pids [pid_of $t]]]
	# The child has a share of the blocks now, and the parent has less of its own.
	check {[dict get $parent private] < [dict get $alone private] - 4000000} {alone $alone, with a child $parent}
	check {[dict get $parent pss] >= [dict get $parent private] && [dict get $parent pss] < [dict get $parent resident]} {$parent}
	check {[regexp -line "^Process and children of [pid_of $t], \\d+ processes: \\d+ bytes resident, \\d+ private, \\d+ together" \
		[live $m "memory system -children"]]} {no sums}
	set group [live_value $m {dict get [mdbg::memory_system -group limit 100000] processes}]
	check {$child in [lmap one $group {dict get $one pid}]} {$child is not in its group: $group}
	order $t drop
	spit_into /proc/[pid_of $t]/oom_score_adj 500
	check {[regexp -line {^OOM score +(\d+) \(oom_score_adj 500\)$} [live $m proc] -> score]} {no score}
	check {abs($score - [slurp /proc/[pid_of $t]/oom_score]) < 20} {$score}
	finish $t $m
}

# The figure of a column of free, in bytes, and what mdbg says at the same moment.
case machine-agrees-with-free 30 {
	set free [need free]
	set m [live_start]
	foreach {key row column} {total Mem 0 free Mem 2 shared Mem 3 available Mem 5 swaptotal Swap 0} {
		until {[agrees $m $key {free_figure $free $row $column}]} 30
	}
	live_end $m
}

proc free_figure {free row column} {
	regexp -line "^$row: +(.*)\$" [exec $free -b] -> rest
	return [lindex [regexp -all -inline {\S+} $rest] $column]
}

# sar counts the same faults in a second, between two moments that lie within mdbg's. LC_ALL: its columns have names.
case machine-agrees-with-sar 60 {
	set sar [need sar]
	set m [live_start]
	set first [clock milliseconds]
	set before [machine_figure $m free]
	set text [exec env LC_ALL=C S_TIME_FORMAT=ISO $sar -B -r 1 2]
	set interval [live_value $m "set ::is \[mdbg::memory_system limit 0\]; dict get \$::is interval"]
	check {$interval >= 2 && $interval <= ([clock milliseconds] - $first) / 1000.0 + 0.1} {$interval s}
	set faults [expr {[live_value $m "dict get \$::is rate faults"] * $interval}]
	check {[regexp -line {^Average: +([0-9.]+) +([0-9.]+) +([0-9.]+) +([0-9.]+)} $text -> in out all major]} {$text}
	# Two seconds of sar are within mdbg's interval.
	check {$faults >= 0.98 * 2 * $all} {sar saw $all faults a second for 2 s, mdbg $faults in $interval s}
	check {[regexp {kbmemfree.*?\nAverage: +(\d+) +(\d+)} $text -> free available]} {$text}
	# Others take and give back memory meanwhile.
	set slack [expr {[machine_figure $m total] / 4}]
	set after [machine_figure $m free]
	check {($free << 10) > min($before, $after) - $slack && ($free << 10) < max($before, $after) + $slack} {sar has $free KB free, mdbg $before, then $after}
	live_end $m
}

# atop's line of the machine, in pages, at about the same moment.
case machine-agrees-with-atop 60 {
	set atop [need atop]
	set m [live_start]
	set text [exec $atop -P MEM 1 1]
	check {[regexp -line {^MEM .*$} $text words]} {$text}
	lassign [lrange $words 6 end] page total
	check {$total * $page == [machine_figure $m total]} {atop: $words}
	foreach {key column} {slab 5 cached 3 buffers 4} {
		until {[near_atop $m $key $atop $column]} 40
	}
	live_end $m
}

# Buffers of sockets that nobody reads: the machine has less memory, no process has more.
case machine-outside-the-process 60 {
	have_kernel_alone
	start_watched {t before m} sockets
	set sockets [machine_figure $m sockets]
	set rss [live_value $m "dict get \[mdbg::memory\] rsize"]
	set written [lindex [order $t "fill 20"] 0]
	set now [live_value $m "set ::is \[mdbg::memory_system limit 3\]; dict get \$::is sockets"]
	check {$now - $sockets > $written / 2} {$written bytes were written, socket buffers grew by [expr {$now - $sockets}]}
	check {[live_value $m "dict get \$::is change sockets"] > $written / 2} {no change}
	check {abs([live_value $m "dict get \[mdbg::memory\] rsize"] - $rss) < 4 << 20} {the process has grown}
	check {[pid_of $t] ni [lmap one [live_value $m "dict get \$::is grown"] {dict get $one pid}]} {it is among those that grow}
	order $t drain
	until {[machine_figure $m sockets] < $now - $written / 2} 30
	finish $t $m $before
}

# The limit above the process: its figures are the kernel's, and when it is reached comes from the present rate.
case machine-limit-of-a-group 90 {
	with_group 256M {
		set t [start cases]
		spit_into $group/cgroup.procs [pid_of $t]
		set m [live_start -p [pid_of $t]]
		set is [live_value $m "set ::is \[mdbg::memory_system limit 0\]"]
		set own [lindex [dict get $is groups] 0]
		check {[dict get $is why] eq ""} {$is}
		check {[file tail [dict get $own path]] eq [file tail $group]} {$own}
		check {[dict get $own limit] == 256 << 20 && [dict get $is nearest] eq [dict get $own path]} {$own}
		check {[dict get $own use] > 0 && [dict get $own left] > 0} {$own}
		check {[dict get $own rate] eq "-" && [dict get $own reached] eq "-"} {a rate from one look: $own}
		order $t "burst 100000"
		set own [lindex [dict get [live_value $m "mdbg::memory_system limit 0"] groups] 0]
		check {[dict get $own use] > 20000000 && [dict get $own anonymous] > 20000000} {$own}
		check {[dict get $own rate] > 0 && [dict get $own reached] > 0} {no rate: $own}
		check {abs([dict get $own left] / [dict get $own rate] - [dict get $own reached]) < 1} {$own}
		order $t "burst 10000"
		set text [live $m "memory system"]
		check {[regexp -line "^The nearest limit is that of \\S*[file tail $group]: \\d+ bytes are left of 268435456 \\(memory\\..*\\)\\.$" $text]} {$text}
		check {[regexp -line {^It is (not )?reached (in|at) } $text]} {$text}
		check {[regexp -line {^Against it count: anonymous \d+, files and shared memory \d+, } $text]} {$text}
		check {[regexp -line {^/ +no limit } $text] || [string match "*(version 2)*" $text]} {the root has a limit: $text}
		live_end $m
		order $t drain
		finish $t
	}
}

case script-before-oom-usage 60 {
	check_usage before-oom.tcl {{} {-percent 0} {-percent 101} {-seconds -1} {-every 0} {-every x} {-limit 0} {-p} {-wrong 1}
		{a.html b.html} {/no/such/folder/a.html}}
}

# A leaker takes 8 MB a second below a limit of 96 MB. The script names its function while it still runs, and then it is
# killed as it would have been.
case script-before-oom 120 {
	with_group 96M {
		set t [start cases]
		spit_into $group/cgroup.procs [pid_of $t]
		set m [begin_script before-oom.tcl -p [pid_of $t] -every 0.2 $::tmp/last.html]
		check {[string match "process [pid_of $t] is watched, *" [hear $m]]} {no first line}
		order $t frames
		set said [hear $m 60]
		check {[regexp {^\d{4}-\d\d-\d\d [0-9:]+ process \d+: control group \S+ has \d+ bytes left of 100663296} $said]} {$said}
		set sites ""
		while {![string match "the report is *" [set line [hear $m 60]]]} {
			append sites $line \n
		}
		# In time: it is alive when the report is there.
		check {[is_alive [pid_of $t]]} {killed before the report was written: $said}
		check {[end_script $m] eq {exit 23}} {[slurp $::tmp/script.err]}
		check {[regexp {#1 [^#]* in read_frame\(|#1 [^#]* in read_frame } $sites]} {$sites}
		check {[string match "*read_frame*" [slurp $::tmp/last.html]]} {the report does not name it}
		until {![is_alive [pid_of $t]]} 60
		check {[ending $t] eq {signal SIGKILL}} {it was not killed}
	}
}

# An OOM kill in the night. The report beforehand is of the recording, so the process is neither stopped nor copied for
# it; the recording says why the process has ended, and what it held in its last second.
case script-before-oom-of-a-recording 120 {
	with_group 96M {
		set t [start cases]
		set pid [pid_of $t]
		spit_into $group/cgroup.procs $pid
		set m [open |[list {*}[mdbg_command -n -q --cost off -p $pid --record $::tmp/rec -x $::scripts/before-oom.tcl -- \
			-every 0.2 $::tmp/last.html] 2> $::tmp/script.err] r]
		check {[string match "process $pid is watched, *" [hear $m]]} {no first line}
		order $t frames
		while {![string match "the report is *" [hear $m 60]]} {}
		check {[is_alive $pid]} {killed before the report was written}
		check {[string match "*there is no process, only its recording*" [slurp $::tmp/last.html]]} {a report of the process}
		check {[string match "*read_frame*" [slurp $::tmp/last.html]]} {the report does not name it}
		check {[end_script $m] eq {exit 23}} {[slurp $::tmp/script.err]}
		check {[ending $t] eq {signal SIGKILL}} {it was not killed}
		check {![string match "*before-oom:*" [slurp $::tmp/script.err]]} {[slurp $::tmp/script.err]}
	}
	set r [live_start --replay $::tmp/rec]
	if {[catch {open /dev/kmsg r} kmsg]} {
		check {[string match "*whether for lack of memory is not known: /dev/kmsg: *" [live $r "replay events"]]} {$::result}
	} else {
		close $kmsg
		check {[regexp -line "^    killed for lack of memory\\.* cases $pid, last sample " [live $r replay]]} {[live $r replay]}
		check {[regexp -line " exit +$pid +cases +by SIGKILL \\(Killed\\), for lack of memory$" [live $r "replay events"]]} {
			[live $r "replay events"]
		}
		# Who was killed elsewhere in the meantime is told too: the tests beside this one have leakers of their own.
		set kills [lsearch -all -inline [live_value $r mdbg::events] "* event oom *"]
		set kill [lsearch -inline $kills "* number $pid *"]
		check {$kill ne "" && [dict get $kill also] > 50000000} {$kills}
		check {[live_value $r {dict get [lindex [mdbg::processes] 0] why}] eq "for lack of memory"} {$::result}
	}
	# The last sample is of the time of the end.
	set last [live_value $r {dict get [lindex [mdbg::history] end] time}]
	set end [live_value $r {dict get [lindex [lsearch -all -inline [mdbg::events] {* event exit *}] end] time}]
	check {$end >= $last && $end - $last < 5 * $::slower} {the last sample is of $last, the end of $end}
	check {[live_value $r {dict get [mdbg::malloc] bytes}] > 50000000} {$::result}
	check {[regexp {#1 [^#]* in read_frame} [live $r "malloc sites limit 1"]]} {[live $r "malloc sites limit 1"]}
	live_end $r
}

# A process that ends, with no limit near.
case script-before-oom-not-near 60 {
	set t [start cases]
	set m [begin_script before-oom.tcl -p [pid_of $t] -percent 100 -seconds 0]
	hear $m
	finish $t
	check {[end_script $m] eq {exit 0}} {[slurp $::tmp/script.err]}
}

# --- memory watch -------------------------------------------------------------------------------------------------

# The next reading of a watch: its lines up to the empty one.
proc hear_memory {chan} {
	set lines {}
	while {[set line [hear $chan]] ne ""} {
		lappend lines $line
	}
	return $lines
}

# A column of the process's line, or the figure behind a word of MEM, SWP or PAG.
proc memory_column {lines name} {
	set at [lsearch -exact [regexp -all -inline {\S+} [lindex $lines 1]] $name]
	return [lindex [regexp -all -inline {\S+} [lindex $lines 2]] $at]
}

proc memory_word {lines line word} {
	set text [lsearch -inline -glob $lines "$line  *"]
	check {[regexp "  $word (\\S+)" $text -> figure]} {no $word of $line: $lines}
	return $figure
}

# What is taken between readings is what they say; a first reading has nothing to compare with.
case memory-watch-in-a-pipe 60 {
	start_watched {t before m} cases
	set kills [dict get [kernel_table /proc/vmstat] oom_kill]
	puts $m "memory watch 0.1"
	set first [hear_memory $m]
	check {[regexp {^\d{4}-\d\d-\d\d [0-9:]+$} [lindex $first 0]]} {$first}
	check {[memory_column $first PID] == [pid_of $t] && [memory_column $first CMD] eq "cases"} {$first}
	foreach name {MINFLT MAJFLT VGROW RGROW} {
		check {[memory_column $first $name] eq "-"} {$name of the first reading: $first}
	}
	check {[memory_word $first PAG scan] eq "-" && [memory_word $first MEM tot] == [dict get [kernel_table /proc/meminfo] MemTotal]} {$first}
	order $t "burst 100000"
	set size [memory_column $first RSIZE]
	set grown 0
	set faults 0
	while {$grown <= 20000000} {
		set lines [hear_memory $m]
		incr grown [memory_column $lines RGROW]
		incr faults [memory_column $lines MINFLT]
	}
	check {[memory_column $lines RSIZE] - $size == $grown} {from $size by $grown to $lines}
	check {[memory_column $lines VSIZE] - [memory_column $first VSIZE] > 10000000} {$first, $lines}
	# At least a fault for every page, unless the pages are huge.
	check {$faults > $grown / (2 << 20)} {$faults faults for $grown bytes}
	check {[regexp {  over \S+ m?s$} [lindex $lines 0]]} {$lines}
	check {[memory_word $lines MEM slab] > 0 && [memory_word $lines SWP vmcom] > 0} {$lines}
	# Whoever was killed since was killed elsewhere: the tests beside this one have leakers of their own.
	check {[memory_word $lines PAG oomkill] <= [dict get [kernel_table /proc/vmstat] oom_kill] - $kills} {$lines}
	check {[lsearch -glob $lines "Verdict: *"] >= 0} {$lines}
	# Ctrl-C is its end, and no error; nor is it mdbg's.
	exec kill -INT [pid $m]
	live_answer $m 20
	check {[live_value $m mdbg::pid] == [pid_of $t]} {mdbg is gone}
	set text [live $m "memory watch 0.1 3"]
	check {[regexp -all -line {^MEM  tot } $text] == 3 && [string first "\x1b" $text] < 0} {3 readings: $text}
	live_end $m
	check_state $before [pid_of $t]
	order $t drain
	finish $t
}

# Ctrl-C ends the watch and not the script that has begun it, whatever of Tcl's is due at that moment.
repeated memory-watch-interrupted 60 {
	start_watched {t m} cases
	for {set i 0} {$i < 8 * $::trials} {incr i} {
		puts $m "memory watch 0.1"
		hear_memory $m
		delay [expr {$i % 10 * 10000}]
		exec kill -INT [pid $m]
		live_answer $m 20
	}
	check {[live_value $m mdbg::pid] == [pid_of $t]} {mdbg is gone}
	finish $t $m
}

case memory-watch-from-a-script 60 {
	set t [start cases]
	set pid [pid_of $t]
	foreach words {{0} {-1} {1e99} {x} {1 0} {1 -1} {1 1e99} {1 x} {1 2 3}} {
		mdbg -p $pid -c "memory watch $words"
		check_refused 1 "memory watch: " "usage: memory watch ?SECONDS"
		check {$::out eq ""} {memory watch $words prints $::out}
	}
	check {[mdbg_ok -limit 20 -p $pid -c "memory watch 0.1 | head -n 1" -c "puts behind"] ne ""} {nothing}
	check {[string match "*\nbehind\n" $::out]} {$::out}
	# It needs no probes.
	set text [mdbg_ok -p $pid -c "malloc off" -c "memory watch 0.1 2"]
	check {[regexp -all -line {^PAG  scan } $text] == 2} {$text}
	check {[regexp -all -line {^PSI  some10 (-|[0-9.]+%)  some60 (-|[0-9.]+%)  full10 (-|[0-9.]+%)  full60 (-|[0-9.]+%)$} $text] == 2} {$text}
	finish $t
	mdbg -c "memory watch 1"
	check_refused 1 "no process" "attach PID"
}

# The process ends between two readings, and mdbg is ended.
case memory-watch-ends 60 {
	check_watch_ends cases "memory watch 0.1" hear_memory
}

# Drawn in place, in a terminal that is narrower than the lines: nothing is cut off.
case memory-watch-in-place 60 {
	set t [start cases]
	at_prompt $t {
		quits 0
		set env(TERM) xterm
		set stty_init "noflsh columns 80 rows 24"
		begin
		type "memory watch 0.2\r" "?1049h" "MEM  tot" "pgtab " "oomkill " "  over 2" "Verdict: "
		type "q" "?1049l" "MEM  tot" "(mdbg) "
		quits 0
	}
	finish $t
}

# Sizes of the process as atop has them. It takes the resident size from /proc/PID/stat, where the kernel leaves out what
# the processors have not handed in yet: some pages for each.
case memory-watch-agrees-with-atop 60 {
	set atop [need atop]
	set t [start cases]
	order $t "burst 100000"
	# To atop what mdbg maps is the process'; so it is asked before that.
	check {[regexp -line "^PRM .* [pid_of $t] \\(cases\\) \\S+ (\\d+) (\\d+) (\\d+) " [exec $atop -P PRM 1 1] -> page vsize rsize]} {atop does not know it}
	set m [live_start -p [pid_of $t]]
	set lines [split [live $m "memory watch 1 1"] \n]
	check {$vsize << 10 == [memory_column $lines VSIZE]} {atop: $vsize KB, $lines}
	check {abs(($rsize << 10) - [memory_column $lines RSIZE]) < 4 << 20 && $rsize > 20000} {atop: $rsize KB, $lines}
	live_end $m
	order $t drain
	finish $t
}

# Readings of a process of 265 MB, one a second, take less than half a percent of a core more than an mdbg that waits, at the
# same time: so the other work of this machine, which makes both slower, does not count. (They come sooner here.)
case memory-watch-cost 90 {
	skip_if_sanitized "its sanitizers take more"
	foreach {name command} {watches "memory watch 0.2 1000" waits "wait 1000"} {
		lappend targets [set t [start cases]]
		order $t "burst 1000000"
		lappend all [set m [open |[list {*}[mdbg_command -q -p [pid_of $t] -c "puts begun; flush stdout" -c $command] 2> $::tmp/$name] r]]
		check {[hear $m] eq "begun"} {$name: [slurp $::tmp/$name]}
	}
	lassign $all watches waits
	# From a reading of now on: there may be some that nobody has heard yet.
	chan configure $watches -blocking 0
	read $watches
	hear_memory $watches
	set begun [list [processor_ms [pid $watches]] [processor_ms [pid $waits]]]
	for {set nr 0} {$nr < 9} {incr nr} {
		hear_memory $watches
	}
	set watched [expr {[processor_ms [pid $watches]] - [lindex $begun 0]}]
	set waited [expr {[processor_ms [pid $waits]] - [lindex $begun 1]}]
	note "9 readings: $watched ms of processor time; wait: $waited ms"
	check {$watched - $waited < 45} {9 readings took $watched ms, waiting $waited ms}
	foreach m $all t $targets {
		exec kill -INT [pid $m]
		until {![is_alive [pid $m]]}
		ending $m
		order $t drain
		finish $t
	}
}

# What all threads of a process have had of a processor.
proc processor_ms {pid} {
	set ns 0
	foreach path [glob /proc/$pid/task/*/schedstat] {
		incr ns [lindex [slurp $path] 0]
	}
	return [expr {$ns / 1000000}]
}

# --- what is not permitted, or not there --------------------------------------------------------------------------

# Processes of others are hidden, and there are neither pressure, vmstat nor control groups: the rest is answered.
case machine-not-permitted 60 {
	unshared -m
	set setpriv [need setpriv]
	set shell [spit $::tmp/hide.sh {
		mount --make-rprivate / && mount -t proc -o hidepid=2 proc /proc && mount --bind /dev/null /proc/vmstat || exit 77
		[ ! -e /proc/pressure ] || mount -t tmpfs none /proc/pressure || exit 77
		[ ! -d /sys/fs/cgroup ] || umount -R /sys/fs/cgroup || exit 77
		exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
	}]
	set program [file join $::tmp mdbg]
	file copy $::mdbg_program $program
	file attributes $program -permissions 0755
	file attributes $::tmp -permissions 0755
	if {[catch {exec unshare -m sh $shell $program -n -q -c "memory system" < /dev/null 2>@1} text options]} {
		skip "no namespace to hide in: $text"
	}
	check {[regexp -line {^total +\d+ +0  } $text]} {$text}
	check {[regexp -line {^page faults +- +-  } $text] && [regexp -line {^OOM kills +- +-  } $text]} {$text}
	check {[regexp -line {^pressure, some wait +- +-  } $text]} {$text}
	check {[regexp -line {^Processes that hold most, of 1 that can be seen} $text]} {$text}
}
