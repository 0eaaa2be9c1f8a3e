# SPDX-License-Identifier: GPL-3.0-or-later
# growth fault and kernel: what the kernel tells of page faults, and of its own memory.

# Start to record, or skip the case where the kernel does not permit that.
proc start_growth {m kind} {
	set error [live_value $m "catch {growth start $kind} message; set message"]
	skip_if {[regexp {perf_event_paranoid|CAP_BPF|without libbpf|CONFIG_|is not known} $error]} {growth $kind: $error}
	check {$error eq ""} {growth start $kind: $error}
}

# The sums of a function, as a dict: count, pages.
proc fault_sums {m function} {
	set sums [dict create count 0 pages 0 minor 0]
	foreach site [live_value $m "mdbg::growth fault function == $function"] {
		foreach key {count pages minor} {
			dict incr sums $key [dict get $site $key]
		}
	}
	return $sums
}

case faults 60 {
	start_watched {t m} faulter
	start_growth $m fault
	orders $t "touch 3000" "thread 2000" "copy 1000"
	check {[string match {*lost*} [live $m {growth fault}]] == 0} {events were lost: [live $m {growth fault limit 1}]}
	foreach {function pages faults} {touch 5000 5000 run 2000 2000 main 3000 4000} {
		set sums [fault_sums $m $function]
		set count [dict get $sums count]
		check {$count >= $faults && $count <= $faults * 1.01 + 20} {$function: $faults faults, and mdbg has $sums}
	}
	check {[dict get [fault_sums $m copy_file] pages] <= 20} {a page that came again counts once: [fault_sums $m copy_file]}
	set text [live $m {growth fault function == copy_file}]
	check {[regexp {faults \((\d+) minor, 0 major\) of [^\n]*/targets/faulter} $text -> minor] && $minor >= 990} {no file: $text}
	check {[regexp {\nBy file:\n    \d+ pages in \d+ faults \([^\n]*\) of [^\n]*/targets/faulter\n} $text]} {no files: $text}
	check {[live_error $m {growth start fault}] eq "growth start: fault is recorded already"} {twice}
	check {[string match {*'size' is not an attribute: function, module*} [live_error $m {growth fault size > 4}]]} {$::result}
	live $m "export folded $::tmp/folded growth fault function == touch"
	set sum 0
	foreach {- bytes} [regexp -all -inline {;touch\S* (\d+)\n} [slurp $::tmp/folded]] {
		incr sum $bytes
	}
	check {$sum == 4096 * [dict get [fault_sums $m touch] pages]} {the file has $sum bytes: [fault_sums $m touch]}
	live $m {growth stop}
	check {[string match {*not recorded*} [live_error $m {growth fault}]]} {it was stopped}
	finish $t
	live_end $m
}

# A huge page has as many bytes as the kernel has mapped for it; where it comes again in small pages, no more.
case faults-huge 60 {
	start_watched {t m} faulter
	start_growth $m fault
	skip_if {[order $t "huge 8"] != 8 * 2048} {the kernel gave no huge pages}
	set text [live $m {growth fault function == touch_huge}]
	skip_if {[string match {*does not say the size*} $text]} {this kernel does not say the size of pages}
	check {[regexp {#1  (\d+) pages in 8 faults \(8 minor, 0 major; 8 of huge pages\)\n} $text -> pages]} {eight: $text}
	check {[regexp "\nBy file:\n    $pages pages in 8 faults \\(8 minor, 0 major; 8 of huge pages\\)\n" $text]} {by file: $text}
	set row [lindex [live_value $m {mdbg::growth fault function == touch_huge}] 0]
	check {[dict get $row bytes] == 4096 * $pages && [dict get $row huge] == 8} {the row: $row}
	# The first page came again, in small ones: they are of whoever came last, as far as one processor has seen both.
	set again [dict get [fault_sums $m touch_pages] pages]
	check {$pages + $again == 8 * 512 && $again <= 512} {$pages pages came huge, and $again small}
	finish $t
	live_end $m
}

proc all_faults {m} {
	return [live_value $m {set sum 0; foreach site [mdbg::growth fault] {incr sum [dict get $site count]}; set sum}]
}

# What another program faults in is its own.
case faults-then-exec 60 {
	start_watched {t m} forker
	start_growth $m fault
	order $t "alloc 1000"
	tell $t exec
	until {[lindex [hear $t] 0] eq "ready"}
	# The memory of the old program is gone before mdbg has seen why.
	until {![catch {live $m status} text] && [string match "*its log still answers*" $text]}
	set before [all_faults $m]
	check {$before > 50} {only $before}
	order $t "alloc 20000"
	check {[all_faults $m] == $before} {$before faults, and [all_faults $m] after the new program had its own}
	finish $t $m
}

# The heap is no file, whoever tells of it; and a file that is gone has one name.
case faults-files 60 {
	start_watched {t m} mapper
	start_growth $m fault
	foreach - {1 2 3} {
		order $t "grow 300"
	}
	check {[dict get [fault_sums $m main] count] >= 900} {[live $m {growth fault}]}
	set text [live $m {growth fault}]
	check {![regexp { of \[| of [^\n]* \(deleted\)} $text]} {$text}
	finish $t $m
}

# A log that is mapped while faults are recorded is mdbg's all the same.
case faults-own-log 60 {
	set t [start storm]
	order $t "storm 2"
	set m [live_start -p [pid_of $t]]
	start_growth $m fault
	foreach line {{malloc off} {malloc on} {malloc reset}} {
		live $m $line
	}
	until {[regexp {more are of mdbg's log} [live $m {growth fault limit 0}]]}
	set text [live $m {growth fault}]
	check {![string match "*memfd:mdbg*" $text]} {$text}
	live_end $m
	order $t calm
	finish $t
}

# Without a kind, those that cannot answer are left out; named, or alone, they are an error.
case growth-left-out 60 {
	start_watched {t m} faulter
	live $m {malloc mark begun}
	start_growth $m fault
	set lacks {page faults are added up by stack and file: FILTER has function and module, and there is no `since`}
	foreach line {{growth since begun} {growth fault since begun} {mdbg::growth fault since begun} {growth size > 4K}} {
		set got [live_error $m $line]
		check {[string match "*$lacks" $got]} {$line: $got}
		check {![string match "*Made since*" $got]} {$line: $got}
	}
	live $m {growth start brk mmap}
	order $t "touch 100"
	foreach line {{growth since begun} {growth size >= 4K} {growth thread != 1 limit 1 since begun}} {
		set text [live $m $line]
		check {[string match "*Held by brk:*Held by mmap:*not seen*\nfault is left out: $lacks" $text]} {$line: $text}
		check {![string match "*Page faults:*" $text]} {$line: $text}
	}
	set text [live $m {growth function == main}]
	check {[string match "*Held by mmap:*Page faults:*" $text] && ![string match "*left out*" $text]} {$text}
	finish $t $m
}

# perf and mdbg have the same faults.
case faults-as-perf 90 {
	set perf [need perf]
	start_watched {t m} faulter
	start_growth $m fault
	set data $::tmp/perf.data
	if {[catch {open |[list $perf record -e page-faults -c 1 -m 16M -p [pid_of $t] -o $data --control fd:0,1 -D -1 2> $::tmp/perf.err] r+} chan]} {
		skip "perf: $chan"
	}
	chan configure $chan -buffering line
	puts $chan enable
	skip_if {[catch {hear $chan} answer]} {perf: [string trim [slurp $::tmp/perf.err]]}
	set before [all_faults $m]
	foreach line {{touch 20000} {thread 5000} {copy 2000}} {
		order $t $line
	}
	puts $chan stop
	hear $chan
	chan configure $chan -blocking 1
	catch {close $chan}
	set after [all_faults $m]
	set theirs [llength [split [string trim [exec $perf script -i $data -F event 2>/dev/null]] "\n"]]
	set ours [expr {$after - $before}]
	note "perf $theirs, mdbg $ours"
	skip_if {[regexp {lost} [live $m {growth fault limit 1}]]} {the ring was full: the machine is too busy to compare}
	check {abs($ours - $theirs) <= 0.01 * $theirs} {perf has $theirs faults, mdbg $ours}
	finish $t
	live_end $m
}

# The process goes on, whatever happens to mdbg.
repeated faults-killed 60 {
	set t [start faulter]
	for {set i 0} {$i < $::trials} {incr i} {
		set m [live_start -p [pid_of $t]]
		start_growth $m fault
		tell $t "touch 5000"
		if {$i % 2} {
			live_all $m {growth stop} {growth start fault}
		}
		exec kill -KILL [pid $m]
		check {[hear $t] eq "ok"} {trial $i}
		catch {close $m}
	}
	finish $t
}

# Another user may see no faults of a process that is not its own, and is told why.
case growth-not-permitted 30 {
	set setpriv [need setpriv]
	skip_if {[exec id -u] != 0} {only root can become another user}
	file copy $::mdbg_program $::tmp/mdbg
	file attributes $::tmp -permissions 0755
	set status [catch {exec $setpriv --reuid 65534 --regid 65534 --clear-groups $::tmp/mdbg -n -q -c {growth start kernel} 2>@1} message]
	skip_if {[string match {*without libbpf*} $message]} {$message}
	check {$status && [regexp {^mdbg: .*growth start: the kernel's allocations: .*(BPF takes root|BTF)} $message]} {not refused: $message}
}

# The kernel's memory is one for all cases: those that fill it by a known load wait for one another.
proc have_kernel_alone {} {
	have_alone kernel
}

# A load of a known size: so many sockets with a message each.
case kernel-sockets 60 {
	have_kernel_alone
	set t [start faulter]
	set m [live_start]
	live $m {set kernel-sampling off}
	start_growth $m kernel
	order $t "sockets 400"
	set bytes 0
	set count 0
	foreach site [live_value $m {mdbg::growth kernel function == unix_dgram_sendmsg}] {
		# Not what the allocator itself has allocated for it.
		set caller [lindex [dict get $site stack] 1]
		if {$caller ne "" && [dict get $caller function] eq "kmalloc_reserve" && [dict get $site kind] eq "objects"} {
			incr bytes [dict get $site bytes]
			incr count [dict get $site count]
		}
	}
	skip_if {!$count} {this kernel names the stacks of a socket's buffers otherwise}
	check {abs($count - 400) <= 4} {400 messages are held, and mdbg has $count}
	check {$bytes % $count == 0 && $bytes / $count >= 1000} {$bytes bytes in $count}
	set text [live $m {growth kernel function == unix_dgram_sendmsg limit 1}]
	check {[regexp -line {^objects +\d+ bytes in \d+} $text] && [regexp -line {^pages +\d+ bytes in \d+} $text]} {no sums: $text}
	check {[string match {*no process*} [live_error $m {growth kernel since begun}]]} {moments without a process: $::result}
	set text [live $m {growth size > 4G}]
	check {[string match {*Held by the kernel*} $text]} {without a kind and a process: $text}
	tell $t quit
	check {[ending $t] eq {exit 0}} {the target}
	until {[llength [live_value $m {mdbg::growth kernel function == unix_dgram_sendmsg and size > 1000 and size < 4096}]] <= 1} 20
	live $m {growth stop}
	check {[string match {*not recorded*} [live_error $m {growth kernel}]]} {it was stopped}
	live_end $m
}

# What all messages hold, added up over the rows of this list.
proc sent_bytes {m by} {
	set sum 0
	foreach site [live_value $m "mdbg::growth kernel $by function == unix_dgram_sendmsg"] {
		incr sum [dict get $site bytes]
	}
	return $sum
}

# Who has allocated it: the process, by its name and number, and where in its code.
case kernel-by-process 60 {
	have_kernel_alone
	set t [start faulter]
	set m [live_start]
	live $m {set kernel-sampling off}
	start_growth $m kernel
	order $t "sockets 400"
	set count 0
	foreach site [live_value $m {mdbg::growth kernel by process function == unix_dgram_sendmsg}] {
		set caller [lindex [dict get $site stack] 1]
		if {[dict get $site pid] ne [pid_of $t] || $caller eq "" || [dict get $caller function] ne "kmalloc_reserve"} {
			continue
		}
		check {[dict get $site process] eq "faulter"} {its name: $site}
		set frame [lindex [dict get $site caller] 0]
		check {[string match libc* [dict get $frame file]] && [dict get $frame offset] > 0} {the system call: $site}
		check {[string match *send* [dict get $frame function]]} {its name: $site}
		incr count [expr {[dict get $site kind] eq "objects" ? [dict get $site count] : 0}]
	}
	check {abs($count - 400) <= 4} {400 messages are held, and mdbg has $count of [pid_of $t]}
	foreach site [live_value $m {mdbg::growth kernel function == unix_dgram_sendmsg}] {
		check {![dict exists $site pid]} {by stack alone: $site}
	}
	# Somebody else's message may come or go between the two.
	until {[sent_bytes $m ""] == [sent_bytes $m "by process"]}
	set text [live $m {growth kernel by process function == unix_dgram_sendmsg limit 1}]
	check {[regexp -line "^process [pid_of $t] \\(faulter\\): (\\d+) bytes of objects, \\d+ bytes of pages\$" $text -> bytes]} {$text}
	check {$bytes >= 400 * 1000} {the sum of the process: $text}
	check {[regexp -line "^#1 .* by process [pid_of $t] \\(faulter\\)\$" $text]} {$text}
	check {[regexp {\n {8}0x00007[0-9a-f]+ \w*send\w*\+0x[0-9a-f]+ [\[(]} $text] && ![string match "*no names*" $text]} {its code: $text}
	check {[string match {*unknown*} [live_error $m {growth kernel by thread}]] ||
	       [string match {*by*} $::result]} {by what: $::result}
	tell $t quit
	check {[ending $t] eq {exit 0}} {the target}
	# What it held is gone with it; the rest has its number still, and addresses alone.
	live $m {growth kernel by process}
	live_end $m
}

# The process that mdbg is attached to has the names of the session; one that has executed another program since has none.
case kernel-process-names 60 {
	have_kernel_alone
	start_watched {t m} faulter
	live $m {set kernel-sampling off}
	start_growth $m kernel
	order $t "sockets 100"
	set text [live $m {growth kernel by process function == unix_dgram_sendmsg}]
	check {[regexp "by process [pid_of $t] \\(faulter\\)\n(?: {8}0xf\[^\n\]+\n)+ {8}0x00007f\[0-9a-f\]+ \\w*send\\w*\\+0x" $text]} {the names of the session: $text}
	set other [open |[list sh -c {echo $$; read x; exec 3< /dev/null 4< /dev/null; echo; read x; exec sleep 100}] r+]
	chan configure $other -buffering line
	set pid [hear $other]
	puts $other open
	hear $other
	set ask {set found {}
		foreach site [mdbg::growth kernel by process function == *sys_open*] {
			if {[dict get $site pid] == %d} {lappend found [dict get $site process] [lindex [dict get $site caller] 0]}
		}
		set found}
	set before [live_value $m [string map {\n " ; " \t ""} [format $ask $pid]]]
	puts $other exec
	until {[string trim [slurp /proc/$pid/comm]] eq "sleep"}
	set after [live_value $m [string map {\n " ; " \t ""} [format $ask $pid]]]
	set text [live $m {growth kernel by process function == *sys_open* limit 1000}]
	exec kill $pid
	catch {close $other}
	skip_if {![llength $before]} {this kernel names the stacks of open files otherwise}
	check {[lindex $before 0] eq "sh" && [string match *open* [dict get [lindex $before 1] function]]} {before: $before}
	check {[dict get [lindex $after [lsearch $after sh]+1] function] eq ""} {after: $after}
	check {[regexp "by process $pid \\(sh\\)\n(?: {8}0x\[^\n\]+\n)+ {8}\\(no names: none of its threads is called sh now: it may have executed another program\\)\n" $text]} {$text}
	finish $t
	live_end $m
}

# The marks of a process are moments for the kernel's memory, too.
case kernel-since 60 {
	have_kernel_alone
	start_watched {t m} faulter
	live $m {set kernel-sampling off}
	start_growth $m kernel
	order $t "sockets 100"
	live $m {malloc mark begun}
	set bytes "set sum 0; foreach site \[mdbg::growth kernel function == unix_dgram_sendmsg %s\] {incr sum \[dict get \$site count\]}; set sum"
	set all [live_value $m [format $bytes {}]]
	skip_if {!$all} {this kernel names the stacks of a socket's buffers otherwise}
	set new [live_value $m [format $bytes {since begun}]]
	check {$new < $all / 10} {$new of $all are new}
	order $t "sockets 300"
	set new [live_value $m [format $bytes {since begun}]]
	set all [live_value $m [format $bytes {}]]
	check {$new > 0.6 * $all && $new < 0.9 * $all} {$new of $all are new}
	check {[string match "Made since begun (*" [live $m {growth kernel since begun limit 1}]]} {$::result}
	# Beside the kinds of the process, a moment is the same one.
	live $m {growth start mmap}
	set text [live $m {growth function == unix_dgram_sendmsg since begun}]
	check {[string match {*Held by mmap:*Held by the kernel*} $text] && ![string match "*left out*" $text]} {$text}
	check {[regexp -line {^objects +\d+ bytes in (\d+)} $text -> objects] && $objects >= 0.6 * $all && $objects <= $all} {$objects of $all: $text}
	set text [live $m {growth thread > 1}]
	check {[string match "*kernel is left out: the kernel's allocations have no thread*" $text]} {$text}
	check {![string match "*Held by the kernel*" $text]} {$text}
	check {[string match {*'thread' is not an attribute: address, size, time, age*} [live_error $m {growth kernel thread > 1}]]} {$::result}
	live $m {growth stop}
	finish $t $m
}

# Programs of mdbg's are gone with it.
case kernel-killed 30 {
	set m [live_start]
	start_growth $m kernel
	exec kill -KILL [pid $m]
	catch {close $m}
	set m [live_start]
	start_growth $m kernel
	check {[live_error $m {growth start kernel}] eq "growth start: kernel is recorded already"} {twice}
	check {[string match {*no process*} [live_error $m {growth brk}]] || [string match {*not recorded*} [live_error $m {growth brk}]]} {brk needs a process}
	live $m {growth stop}
	live_end $m
}

# memleak without a process: the kernel's allocations, in bcc's format.
case memleak-kernel 60 {
	set m [live_start]
	start_growth $m kernel
	live_end $m
	set chan [open |[list {*}[mdbg_command -q -x $::here/../../scripts/memleak.tcl -- -o 0 -T 5 -s 1 1 3] 2> $::tmp/err] r]
	check {[hear $chan] eq "Attaching to kernel allocators, Ctrl+C to quit."} {the first line}
	set heads 0
	set found 0
	while {![catch {hear $chan} line]} {
		incr heads [regexp {^\[\d\d:\d\d:\d\d\] Top 5 stacks with outstanding allocations:$} $line]
		incr found [regexp {^\t\d+ bytes in \d+ allocations from stack$} $line]
	}
	check {$heads == 3 && $found >= 3 && $found <= 15} {$heads reports with $found stacks: [slurp $::tmp/err]}
}
