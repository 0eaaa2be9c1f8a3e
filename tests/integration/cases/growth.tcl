# SPDX-License-Identifier: GPL-3.0-or-later
# growth brk, mmap and shm: what is held by the calls that made it, and together with what is not seen all that is mapped.

# Bytes of /proc/PID/maps, without [vsyscall].
proc mapped_bytes {pid} {
	set sum 0
	foreach line [split [slurp /proc/$pid/maps] "\n"] {
		if {[regexp {^([0-9a-f]+)-([0-9a-f]+) } $line -> start end] && ![string match {*\[vsyscall\]} $line]} {
			incr sum [expr {"0x$end" - "0x$start"}]
		}
	}
	return $sum
}

# The last lines of `growth`, as a dict: held, brk, mmap, shm, not (seen), mapped, gone, lost. They must add up.
proc growth_figures {text} {
	check {[regexp -line {^held +(\d+) bytes: brk (\d+), mmap (\d+), shm (\d+)$} $text -> held brk mmap shm]} {what is held: $text}
	check {[regexp -line {^not seen +(\d+) bytes} $text -> not]} {no line of what is not seen: $text}
	check {[regexp -line {^mapped +(\d+) bytes} $text -> mapped]} {not how much is mapped: $text}
	set gone 0
	regexp -line {^(\d+) bytes were unmapped by calls that were not seen$} $text -> gone
	set lost 0
	regexp -line {^(\d+) events were lost} $text -> lost
	check {$held == $brk + $mmap + $shm} {$held are not $brk, $mmap and $shm}
	check {$held + $not == $mapped} {$held and $not are not $mapped}
	return [dict create held $held brk $brk mmap $mmap shm $shm not $not mapped $mapped gone $gone lost $lost]
}

# Held and not seen are what the kernel says, byte for byte. A timer's handler may map between the two looks.
proc check_growth {m pid} {
	until {[dict get [set figures [growth_figures [live $m growth]]] mapped] == [mapped_bytes $pid]}
	return $figures
}

# What the random calls of `mapper` hold, as it says itself and as mdbg does by their stacks.
proc check_held {t m} {
	set figures [check_growth $m [pid_of $t]]
	lassign [order $t held] mmap shm brk
	foreach kind {mmap shm brk} {
		set sum 0
		foreach site [live_value $m "mdbg::growth $kind function == random_call"] {
			incr sum [dict get $site bytes]
		}
		check {$sum == [set $kind]} {$kind: [set $kind] bytes are held, and mdbg has $sum: $figures}
	}
	return $figures
}

# A line of strace, as `growth log` has it but for the thread, the flags' order, and what only one of the two knows; "" if it is no such call.
proc strace_event {line} {
	if {![regexp {^\d+ +(\w+)\((.*)\) += (\S+)} $line -> call text result]} {
		return ""
	}
	set args [lmap arg [split $text ,] {string trim $arg}]
	set failed [expr {[string match "-*" $result] ? "failed" : ""}]
	set args [lmap arg $args {if {$arg eq "NULL"} {string cat 0x0} else {string cat $arg}}]
	switch $call {
		mmap { return [list mmap [expr {$failed eq "" ? $result : ""}] {*}[lrange $args 1 4] [expr {[lindex $args 5]}] $failed] }
		munmap - shmdt { return [list $call {*}$args $failed] }
		mremap { return [list mremap [expr {$failed eq "" ? $result : ""}] [lindex $args 2] {*}[lrange $args 0 1] [lindex $args 3] $failed] }
		brk { return [list brk [lindex $args 0] ""] }
		shmat { return [list shmat $result [lindex $args 0] [lindex $args 2] $failed] }
		shmget { return [list shmget [lindex $args 1] [expr {$failed eq "" ? $result : -1}] $failed] }
		shmctl { return [list shmctl [lindex $args 0] [lindex $args 1] $failed] }
	}
	return ""
}

proc log_event {line} {
	set words [lassign $line date time thread call]
	set failed [expr {[lindex $words end] eq "failed" ? "failed" : ""}]
	switch $call {
		mmap {
			lassign $words result size protection flags - fd - offset
			return [list mmap [expr {$failed eq "" ? $result : ""}] $size $protection $flags $fd $offset $failed]
		}
		munmap { return [list munmap [lindex $words 0] [lindex $words 1] $failed] }
		shmdt - brk { return [list $call [lindex $words 0] $failed] }
		mremap {
			lassign $words result size - from before flags
			return [list mremap [expr {$failed eq "" ? $result : ""}] $size $from $before $flags $failed]
		}
		shmat { return [list shmat [lindex $words 0] [lindex $words 3] [lindex $words 4] $failed] }
		shmget { return [list shmget [lindex $words 2] [lindex $words end-[expr {$failed ne ""}]] $failed] }
		shmctl { return [list shmctl [lindex $words 1] [lindex $words 2] $failed] }
	}
	return [list unknown $line]
}

# Each call of all of them, as strace sees it.
case growth-strace 60 {
	set strace [need strace]
	start_watched {t m} mapper
	live $m "growth start brk mmap shm"
	set tracer [exec $strace -f -o $::tmp/strace.out -e trace=brk,mmap,munmap,mremap,shmat,shmdt,shmget,shmctl -p [pid_of $t] 2> $::tmp/strace.err &]
	until {[string match *attached* [slurp $::tmp/strace.err]]}
	order $t each
	exec kill $tracer
	until {![is_alive $tracer]}
	set want [lsearch -all -inline -not [lmap line [split [slurp $::tmp/strace.out] "\n"] {strace_event $line}] ""]
	set lines [split [live $m "growth log"] "\n"]
	set got [lmap line $lines {log_event $line}]
	note [join $lines "\n"]
	check {[llength $want] > 20} {strace has seen [llength $want] calls}
	foreach want $want got $got {
		check {$got eq $want} {strace has: $want; mdbg: $got}
	}
	foreach line $lines {
		check {[lindex $line 2] == [pid_of $t]} {thread: $line}
		check {[regexp {^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} } $line]} {time: $line}
	}
	check {[llength [split [live $m "growth log shm"] "\n"]] == 7} {[live $m "growth log shm"]}
	check_growth $m [pid_of $t]
	finish $t $m
}

# The functions of a stack between the call and main, innermost first. libc's names are without underscores, of which each
# tool knows other ones (__sbrk); the program's have the place in them.
proc stack_to_main {frames} {
	set functions {}
	foreach {name offset} $frames {
		set name [string trimleft $name _]
		lappend functions [expr {$offset eq "" || $name in {brk sbrk} ? $name : "$name+$offset"}]
		if {$name eq "main"} {
			return $functions
		}
	}
	return "$functions, which does not reach main"
}

# The events in the output of `strace -k` or `growth log -v`, each a call with its stack. The first frame is the call itself.
proc traced_events {text event frame} {
	set events {}
	foreach line [split $text \n] {
		if {[regexp $event $line -> call]} {
			set frames [list {}]
			lappend events $call
			lappend stacks $frames
		} elseif {[regexp $frame $line -> name offset] && ![string match {*(inlined)} $line] && [llength $events]} {
			lset stacks end [concat [lindex $stacks end] [list $name $offset]]
		}
	}
	return [lmap call $events stack $stacks {list $call [stack_to_main [lrange $stack 3 end]]}]
}

# Event for event, the stacks that strace -k has. (Not both at a time: strace does not know how to pass the probes.)
case growth-strace-stacks 60 {
	set strace [need strace]
	set calls brk,mmap,munmap,mremap,shmat,shmdt,shmget,shmctl
	if {[catch {exec $strace -k -o $::tmp/try -e trace=brk true}] || ![string match {* > *(*+0x*} [slurp $::tmp/try]]} {
		skip "this strace has no -k"
	}
	set t [start_command $strace -f -k -o $::tmp/strace.out -e trace=$calls $::build/targets/mapper]
	order $t each
	finish $t
	set want [traced_events [slurp $::tmp/strace.out] {^\d+ +([a-z]+)\(.* += } {^ > [^(]*\((\w+)\+(0x[0-9a-f]+)\) }]
	start_watched {t m} mapper
	live $m "growth start brk mmap shm"
	order $t each
	set text [live $m "growth log -v"]
	finish $t $m
	set got [traced_events $text {^[-0-9]+ [0-9:.]+ \d+ ([a-z]+) } {^ +0x[0-9a-f]+ (\w+)\+?(0x[0-9a-f]+)?}]
	check {[llength $got] > 20} {$text}
	# strace has those before main as well.
	foreach theirs [lrange $want end-[expr {[llength $got] - 1}] end] ours $got {
		check {$ours eq $theirs} {strace -k has: $theirs; mdbg: $ours}
	}
}

# What is moved, cut and covered, by its stacks.
case growth-each 60 {
	start_watched {t m} mapper
	live $m "growth start brk mmap shm"
	order $t each
	check_growth $m [pid_of $t]
	# 8 pages less one, one of them covered; 3 pages moved, then cut to 2; 64 pages less 16.
	set text [live $m "growth mmap function == each_of_mmap"]
	set sums [lmap {- bytes count} [regexp -all -inline {#\d+  (\d+) bytes in (\d+) mappings} $text] {list $bytes $count}]
	check {$sums eq {{196608 2} {24576 3} {8192 1} {4096 1}}} {$text}
	check {[regexp {in map \(mapper.c:\d+\)\n +0x[0-9a-f]+ mmap\n} $text]} {no stack: $text}
	check {[live_value $m "llength \[mdbg::growth mmap function == each_of_mmap limit 2\]"] == 2} {limit: $::result}
	check {[live_value $m "dict get \[lindex \[mdbg::growth mmap function == each_of_vfork\] 0\] bytes"] == 4096} {vfork: $::result}
	check {[live_value $m "mdbg::growth mmap size > 1G"] eq ""} {$::result}
	check {[live_value $m "dict get \[lindex \[mdbg::growth shm\] 0\] bytes"] == 20480} {shm: $::result}
	check {[dict get [growth_figures [live $m growth]] brk] == 0} {[live $m growth]}
	finish $t $m
}

# What was made since a mark and is still held; the moments and the grammar are those of `malloc sites`.
case growth-since 60 {
	start_watched {t m} mapper
	live $m "growth start brk mmap shm"
	order $t each
	live $m "malloc mark begun"
	set sums {mdbg::growth mmap since begun}
	check {[live_value $m $sums] eq ""} {$::result}
	order $t bare
	set all [live_value $m "mdbg::growth mmap"]
	set since [live_value $m $sums]
	check {[llength $all] > 3} {$all}
	check {[llength $since] == 1 && [dict get [lindex $since 0] bytes] == 3 * 4096 && [lindex $since 0] in $all} {$since of $all}
	check {[live_value $m "mdbg::growth mmap function == bare_calls limit 3 since begun"] eq $since} {$::result}
	check {[live_value $m "mdbg::growth mmap size > 1M since begun limit 3"] eq ""} {$::result}
	check {[live_value $m "mdbg::growth shm since begun"] eq ""} {$::result}
	set text [live $m "growth since begun"]
	check {[regexp {^Made since begun \(20\d\d-\S+ \S+, .* ago\), and still held:\n\nHeld by brk:} $text]} {$text}
	check {[regexp -line {^1 stacks listed; 2 mappings, 12288 bytes in all stacks$} $text]} {$text}
	growth_figures $text
	live $m "export folded $::tmp/folded growth mmap since begun"
	check {[regexp {^[^\n]*main;[^\n]*bare_calls;[^\n]*mmap\S* 12288\n$} [slurp $::tmp/folded]]} {[slurp $::tmp/folded]}
	# A moment is any that `malloc sites` takes.
	until {![catch {live $m "malloc sites since -1s limit 1"}]}
	live_value $m "mdbg::growth mmap since -1s"
	foreach {words error} {
		"since"			"*moment goes after since*"
		"since nobody"		"*nobody*"
		"since now"		"*this moment is not before now*"
		"since begun since begun" "*since is there twice*"
		"since begun size > 3"	"*size*"
		"at begun"		"*at*"
		"since begun sort age" "*sort*"
	} {
		foreach command {{growth mmap} {mdbg::growth mmap}} {
			set got [live_error $m "$command $words"]
			check {[string match $error $got]} {$command $words: $got}
		}
	}
	finish $t $m
}

# What the target writes over while the log is printed is counted.
case growth-log-overtaken 60 {
	set t [start mapper -t 4]
	set m [live_start --log-limit 16M -p [pid_of $t]]
	live $m "growth start mmap"
	order $t go
	until {[regexp {older events are gone} [live $m "growth log"]]}
	until {[regexp -line {^(\d+) events are not listed: } [live $m "growth log"] -> missed]}
	check {$missed > 0} {$missed}
	order $t pause
	finish $t $m
}

# Where the heap ends counts from the moment that brk is recorded, also after a return.
case growth-brk-later 60 {
	start_watched {t m} mapper
	live $m "growth start mmap"
	order $t "grow 1000"
	live $m "growth start brk"
	order $t "grow 3"
	check {[dict get [growth_figures [live $m growth]] brk] == 3 * 4096} {[live $m growth]}
	live $m "growth start shm"
	order $t "grow 2"
	check {[dict get [growth_figures [live $m growth]] brk] == 5 * 4096} {[live $m growth]}
	live $m "detach -keep"
	live_end $m
	order $t "grow 2"
	set m [live_start -p [pid_of $t]]
	check {[dict get [growth_figures [live $m growth]] brk] == 7 * 4096} {[live $m growth]}
	finish $t $m
}

case growth-completion 30 {
	set t [start exact]
	at_prompt $t {
		type "malloc mark elevenses\r" "(mdbg) "
		type "growth sta\tmm\t\r" "growth start mmap" "(mdbg) "
		type "growth mm\tsin\telev\t\r" "growth mmap since elevenses" "Made since elevenses (" "(mdbg) "
		send "export fol\t/dev/null growth mm\tsin\telev\t\r"
		see "folded /dev/null growth mmap since elevenses"
		see "(mdbg) "
		quits 0
	}
	finish $t
}

# The file of a mapping is that of the mapping, never that of the descriptor, nor of a later mapping of the same address.
case growth-files 60 {
	start_watched {t m} mapper
	live $m "growth start mmap"
	spit $::tmp/one [string repeat a 4096]
	spit "$::tmp/two" [string repeat b 8192]
	order $t "files $::tmp/one $::tmp/two 1"
	# The names count when the thread that says `ok` is seen to sleep.
	set last {growth log mmap | tail -n 1}
	until {[string match "*file $::tmp/one" [live $m $last]]}
	set files [lmap {- name} [regexp -all -inline -line {fd \d+ offset 0 file (.*)$} [live $m "growth log mmap"]] {string cat $name}]
	check {[lrange $files end-1 end] eq [list $::tmp/two $::tmp/one]} {not the files that are mapped: $files}
	check {[llength $files] == 4} {$files}
	foreach name [lrange $files 0 1] right [list $::tmp/one $::tmp/two] {
		check {$name in [list - $right]} {$name is not $right}
	}
	# What is mapped at the moment of a look tells nothing of the calls before it.
	order $t "files $::tmp/one $::tmp/two 10000"
	until {[string match "*file $::tmp/one" [live $m $last]]}
	set named 0
	foreach line [split [live $m "growth log mmap"] \n] {
		if {[regexp { (4096|8192) PROT_READ .* file (.*)$} $line -> size name] && $name ne "-"} {
			check {$name eq ($size == 4096 ? "$::tmp/one" : "$::tmp/two")} {$line}
			incr named
		}
	}
	note "$named names"
	check {$named >= 4} {only $named names}
	# It is known also after it has gone, and the recording has ended.
	file delete $::tmp/one
	order $t "files $::tmp/two $::tmp/two 1"
	check {[string match "*file $::tmp/one*" [live $m "growth log"]]} {$::result}
	live $m "growth stop"
	check {[string match "*file $::tmp/one*" [live $m "growth log"]]} {$::result}
	live $m "growth start mmap"
	check {![string match "*file*" [live $m "growth log"]]} {$::result}
	finish $t $m
}

# The same stacks as a file, for the kinds whose stacks are those of the log.
case growth-export 60 {
	start_watched {t m} mapper
	live $m "growth start mmap shm"
	order $t each
	foreach {kind filter} {mmap {} mmap {function == each_of_mmap} shm {}} {
		set bytes 0
		foreach site [live_value $m "mdbg::growth $kind $filter"] {
			incr bytes [dict get $site bytes]
		}
		set said [live $m "export folded $::tmp/folded growth $kind $filter"]
		check {[regexp "sites, \\d+ mappings, $bytes bytes written" $said]} {$said, and growth $kind has $bytes}
		set sum 0
		foreach line [split [string trimright [slurp $::tmp/folded]] \n] {
			check {[regexp {^main;.*;(mmap|mmap64|mremap|shmat) (\d+)$|^.*;(mmap|mmap64|mremap|shmat) (\d+)$} $line -> - a - b]} {$line}
			incr sum [string cat $a $b]
		}
		check {$sum == $bytes} {the file has $sum bytes of $bytes}
	}
	live $m "export flamegraph $::tmp/a.svg growth mmap"
	check {[regexp {<title>each_of_mmap \(\d+ bytes in \d+ mappings, } [slurp $::tmp/a.svg]]} {no mappings in the graph}
	set bytes [dict get [live_value $m "mdbg::export pprof $::tmp/a.pb.gz growth mmap"] bytes]
	set raw [exec env HOME=$::tmp PPROF_TMPDIR=$::tmp [need go] tool pprof -raw $::tmp/a.pb.gz 2>@1]
	check {[regexp -line {^growth_space/bytes\[dflt\] growth_objects/count$} $raw]} {[string range $raw 0 300]}
	set sum 0
	foreach {- n} [regexp -all -inline -line {^ +(\d+) +\d+: [0-9 ]+$} $raw] {
		incr sum $n
	}
	check {$sum == $bytes && $sum > 0} {pprof has $sum bytes of $bytes}
	live $m "export massif $::tmp/massif growth mmap"
	check {[regexp -line "^n\\d+: $bytes \\(page allocation syscalls\\)" [slurp $::tmp/massif]]} {massif: [string range [slurp $::tmp/massif] 0 600]}
	foreach {words error} {
		"callgrind /dev/null growth mmap" "*has only what malloc holds*"
		"folded /dev/null growth"	"*which KIND*"
		"folded /dev/null growth heap"	"*unknown kind 'heap'*"
		"folded /dev/null growth brk"	"*brk is not recorded*"
		"folded /dev/null growth kernel" "*no export of the kernel's stacks*"
		"folded /dev/null growth mmap sort age" "*sort*"
	} {
		set got [live_error $m "export $words"]
		check {[string match $error $got]} {export $words: $got}
	}
	finish $t $m
}

# A million calls of eight threads, also in a signal's handler. It is the agent's work, which no sanitizer is in: 300,000 are
# enough to have a sanitized mdbg read them.
case growth-random 120 {
	set turns [expr {[is_sanitized] ? 3 : 10}]
	start_watched {t m} mapper -t 8 -s
	live $m "growth start brk mmap shm"
	# The ring has room for the calls of a turn, however slow this mdbg is.
	for {set turn 0} {$turn < $turns} {incr turn} {
		order $t "random 12500" 100
		note [set figures [check_held $t $m]]
		check {[dict get $figures lost] == 0 && [dict get $figures gone] == 0} {$figures}
	}
	order $t drop
	check_held $t $m
	finish $t $m
}

# All calls since the start, also those that no mdbg was there for.
case growth-keep 120 {
	start_watched {t before m} mapper -t 4
	live $m "growth start brk mmap shm"
	order $t "random 5000"
	check_held $t $m
	live $m "detach -keep"
	live_end $m
	order $t "random 5000"
	set m [live_start -p [pid_of $t]]
	set figures [check_held $t $m]
	check {[dict get $figures lost] == 0 && [dict get $figures gone] == 0} {$figures}
	order $t "random 5000"
	check_held $t $m
	# More than the ring has room for.
	live $m "detach -keep"
	live_end $m
	order $t "random 150000" 100
	set m [live_start -p [pid_of $t]]
	set figures [check_growth $m [pid_of $t]]
	check {[dict get $figures lost] > 0} {nothing was lost: $figures}
	check {[string match "* older events are gone*" [live $m "growth log brk"]]} {[string range [live $m "growth log brk"] 0 200]}
	order $t "random 5000"
	check_growth $m [pid_of $t]
	live $m "growth stop"
	live_end $m
	check {![string match *mdbg* [slurp /proc/[pid_of $t]/maps]]} {mdbg is left in it}
	finish $t
}

# In and out under load: nothing goes wrong in the target, and nothing is left.
repeated growth-load 120 {
	start_watched {t m} mapper -t 4 -s
	order $t go
	for {set i 0} {$i < 10 * $::trials} {incr i} {
		live $m [lindex {"growth start" "growth start mmap" "growth start shm brk"} [expr {$i % 3}]]
		order $t "more 200"
		if {$i % 10 == 0} {
			growth_figures [live $m growth]
		}
		live $m "growth stop"
	}
	orders $t pause drop
	finish $t $m
}

# A killed mdbg leaves the calls to the next one.
repeated growth-killed 120 {
	start_watched {t m} mapper -t 4 -s
	live $m "growth start brk mmap shm"
	order $t go
	for {set i 0} {$i < $::trials} {incr i} {
		chan configure $m -blocking 1
		puts $m [lindex {"growth" "growth stop" "growth start" "malloc"} [expr {$i % 4}]]
		flush $m
		delay [expr {int(rand() * 20000)}]
		kill_mdbg $m
		order $t "more 500"
		set m [live_start -p [pid_of $t]]
		catch {live $m "growth start"}
		growth_figures [live $m growth]
	}
	order $t pause
	check_growth $m [pid_of $t]
	finish $t $m
}

# A thread unmaps the stack that it has run on, with its control block; another program's calls go by all functions.
case growth-own-stack 60 {
	set ::env(GLIBC_TUNABLES) glibc.pthread.rseq=0
	set t [start mapper]
	unset ::env(GLIBC_TUNABLES)
	set m [live_start -p [pid_of $t]]
	live $m "growth start brk mmap shm"
	for {set i 0} {$i < 20} {incr i} {
		order $t own
	}
	check {[live_value $m "mdbg::growth mmap function == end_by_unmapping"] eq ""} {$::result}
	# One page more by a bare call, one of its own less.
	set before [check_growth $m [pid_of $t]]
	order $t bare
	set after [check_growth $m [pid_of $t]]
	check {[dict get $after gone] == 4096} {$after}
	check {[dict get $after not] - [dict get $before not] == 4096} {$before, then $after}
	check {[dict get $after mmap] - [dict get $before mmap] == 3 * 4096} {$before, then $after}
	finish $t $m
}

# A thread that nobody joins keeps its stack, and is named; one that was joined is not.
case growth-ended 60 {
	start_watched {t m} mapper -t 2
	check {![regexp {not joined} [live $m thread]]} {[live $m thread]}
	live $m "growth start mmap"
	foreach round {1 2} {
		order $t leave
	}
	set text [live $m thread]
	check {[llength [regexp -all -inline {ended, not joined} $text]] == 2} {$text}
	check {[regexp {its stack was mapped by\n +0x[0-9a-f]+ mmap.*pthread_create.*leave_thread} $text]} {$text}
	set text [live $m "growth mmap function == leave_thread"]
	check {[llength [regexp -all -inline {stack of thread 0x[0-9a-f]+ \(ended, not joined\)} $text]] == 2} {$text}
	check {[llength [live_value $m mdbg::threads]] == 3} {$::result}
	set ended [live_value $m {mdbg::threads -ended}]
	check {[lsort [lmap thread $ended {dict get $thread pthread}]] eq [lsort [regexp -all -inline {0x[0-9a-f]+(?= \(ended)} [live $m thread]]]} {$ended, and thread says: $::result}
	set functions [live_value $m {lmap frame [mdbg::frames [dict get [lindex [mdbg::threads -ended] 0] stack]] {dict get $frame function}}]
	check {"leave_thread" in $functions && [lindex $functions 0] eq "mmap"} {$functions}
	live $m "growth stop"
	check {[lmap thread [live_value $m {mdbg::threads -ended}] {dict get $thread stack}] eq {- -}} {$::result}
	check {[string match "*-all*" [live_error $m {mdbg::threads -all}]]} {$::result}
	finish $t $m
}

# Other programs than glibc's shared ones: what is held is as it says itself.
proc check_growth_program {args} {
	set t [start_command {*}$args]
	attach_to {before m} $t
	check {[live $m "growth start"] eq ""} {not all is watched: $::result}
	order $t bare
	set figures [check_growth $m [pid_of $t]]
	check {[live_value $m "dict get \[lindex \[mdbg::growth mmap function == bare_calls\] 0\] bytes"] == 3 * 4096} {$::result}
	check {[dict get $figures gone] == 4096} {$figures}
	check {[string match "*nobody has joined are not known*" [live $m thread]]} {[live $m thread]}
	check {[string match "*have ended are not known*" [live_error $m {mdbg::threads -ended}]]} {$::result}
	finish $t $m
}

case growth-musl 60 {
	check_growth_program [build_target musl-gcc mapper.c]
}

case growth-static 60 {
	check_growth_program [build_target gcc mapper.c -static]
}

# Go's runtime maps by functions of libc where the program has C in it.
case growth-go 120 {
	set go [need go]
	spit $::tmp/main.go {package main

// #include <stdlib.h>
import "C"
import ("bufio"; "fmt"; "os")

func main() {
	var kept [][]byte
	lines := bufio.NewScanner(os.Stdin)
	C.free(C.malloc(100))
	fmt.Println("ready", os.Getpid())
	for lines.Scan() {
		kept = append(kept, make([]byte, 10 << 20))
		fmt.Println("ok", len(kept))
	}
}
}
	set ::env(GOCACHE) $::tmp/cache
	if {[catch {exec $go build -o $::tmp/program $::tmp/main.go 2>@1} message]} {
		skip "no program of Go with C: [string range $message 0 100]"
	}
	set t [start_command $::tmp/program]
	check_growth_of [pid_of $t] [list order $t go]
	chan close $t write
	check {[ending $t] eq {exit 0}} {it ended otherwise}
}

# Without C in it, all calls are bare ones: nothing is held, and all is not seen.
case growth-pure-go 120 {
	set t [start_command [build_go $::pure_go]]
	set before [state [pid_of $t] -t]
	set m [live_start --no-arm -p [pid_of $t]]
	set said [live $m "growth start brk mmap shm"]
	check {[regexp -line {^not watched: mmap of main: no C library is found, and bare system calls are not seen$} $said]} {$said}
	check {[string match "*is recorded already*" [live_error $m "growth start mmap"]]} {$::result}
	foreach round {1 2 3} {
		set figures [check_growth $m [pid_of $t]]
		check {[dict get $figures held] == 0 && [dict get $figures not] == [dict get $figures mapped]} {$figures}
		check {[dict get $figures not] > 1000000} {$figures}
		order $t more
	}
	check {[live_value $m "mdbg::growth mmap"] eq ""} {$::result}
	check {[string match "*nothing was recorded*" [live_error $m "growth log"]]} {$::result}
	check {[string match "*nothing is recorded*" [live_error $m "growth mmap since begun"]]} {$::result}
	live $m "growth stop"
	check {[string match "*not recorded*" [live_error $m growth]]} {$::result}
	# All else that needs no allocator works as well.
	check {[dict get [live_value $m mdbg::memory] vsize] > 1000000} {$::result}
	check {[string match "*no allocator found*" [live_error $m "malloc on"]]} {$::result}
	check {[string match "*malloc on*" [live_error $m "malloc sites"]]} {$::result}
	live_end $m
	check_state $before [pid_of $t] -t
	order $t more
	quit $t
}

# malloc_trim runs in a thread of the target, and its brk passes our probe.
case growth-and-trim 60 {
	start_watched {t m} kinds
	live $m "growth start brk"
	order $t "burst 8"
	check_growth $m [pid_of $t]
	set before [llength [split [live $m "growth log brk"] \n]]
	live $m "malloc trim"
	check {[llength [split [live $m "growth log brk"] \n]] > $before} {no brk by malloc_trim: [live $m "growth log brk"]}
	check_growth $m [pid_of $t]
	finish $t $m
}

# A killed mdbg's probes are taken out by one that does not go on with them.
case growth-killed-clean 60 {
	foreach args {--no-arm {--engine breakpoint}} {
		start_watched {t before m} mapper -t 2
		live $m "growth start brk mmap shm"
		order $t "random 1000"
		kill_mdbg $m
		set m [live_start {*}$args -p [pid_of $t]]
		live_end $m
		order $t drop
		check_clean [pid_of $t] $before
		finish $t
	}
}

# Libraries are mapped by the loader.
case growth-loader 60 {
	start_watched {t before m} dlopener
	live $m "growth start mmap"
	order $t load
	set figures [check_growth $m [pid_of $t]]
	set text [live $m "growth mmap function == dlopen*"]
	check {[regexp -line {^#1  (\d+) bytes in} $text -> bytes] && $bytes > 10000} {the library is not seen: $text}
	order $t unload
	until {[regexp -line { 0x[0-9a-f]+ \d+ PROT_READ\S* MAP_PRIVATE\S* fd \d+ offset 0 file /\S+\.so$} [live $m "growth log"]]}
	check {[dict get [check_growth $m [pid_of $t]] gone] == 0} {the library went unseen}
	check {[live_value $m "mdbg::growth mmap function == dlopen*"] eq ""} {$::result}
	finish $t $m $before
}

# `malloc off` ends it, and it can begin again.
case growth-off 60 {
	start_watched {t before m} mapper
	live_all $m "growth start brk mmap shm" "malloc off"
	check {[string match "*not recorded*" [live_error $m growth]]} {growth goes on without probes: $::result}
	check {[string match "*malloc on*" [live_error $m "growth start mmap"]] || [string match "*no probes*" $::result]} {$::result}
	live_all $m "malloc on" "growth start mmap"
	order $t bare
	check {[dict get [check_growth $m [pid_of $t]] mmap] == 3 * 4096} {[live $m growth]}
	finish $t $m
}

# Children of all kinds go by the functions; one that is followed has its own text again, and what it maps is not recorded.
repeated growth-children 60 {
	set t [start forker]
	set before [state [pid_of $t]]
	for {set i 0} {$i < $::trials} {incr i} {
		set m [live_start -p [pid_of $t]]
		live $m "growth start brk mmap shm"
		if {$i % 2} {
			live $m "set follow-fork both"
		}
		foreach how {fork grand vfork vmalloc spawn system clonevm} {
			order $t "$how 2"
		}
		set child [order $t keep]
		growth_figures [live $m growth]
		live $m detach
		check_clean $child $before
		check_clean [pid_of $t] $before
		live_end $m
		order $t drop
	}
	finish $t
}

case growth-bad-input 60 {
	mdbg -c growth
	check_refused 1 "no process" attach
	mdbg -c "growth kernel"
	check_refused 1 "kernel is not recorded" "`growth start kernel` begins"
	start_watched {t m} mapper
	foreach {command error} {
		growth			"*growth is not recorded*"
		"growth mmap"		"*mmap is not recorded*"
		"growth stop"		"*growth is not recorded*"
		"growth log"		"*nothing was recorded*"
		"growth start heap"	"*unknown kind 'heap'*"
		"growth start mmap mmap" "*mmap is there twice*"
		"growth log malloc"	"*unknown kind 'malloc'*"
		"growth log -v -v"	"*unknown kind '-v'*"
		"mdbg::growth"		"*which KIND?*"
		"mdbg::growth size > 3"	"*unknown kind 'size'*"
		"growth mmaps"		"*unknown kind 'mmaps'*"
	} {
		set got [live_error $m $command]
		check {[string match $error $got]} {$command: $got}
	}
	live $m "growth start mmap"
	foreach {command error} {
		"growth start"		"*mmap is recorded already*"
		"growth start mmap"	"*mmap is recorded already*"
		"growth shm"		"*shm is not recorded*"
		"growth sort age"	"*sort*"
		"growth heap == 1"	"*heap*"
		"growth nonsense"	"*nonsense*"
		"growth limit -1"	"*-1*"
		"growth mmap mmap"	"*mmap*"
	} {
		set got [live_error $m $command]
		check {[string match $error $got]} {$command: $got}
	}
	live_all $m "growth start shm" "growth stop" "growth log"
	finish $t $m
	set t [start mapper]
	mdbg --engine breakpoint -p [pid_of $t] -c "growth start mmap"
	check_refused 1 "growth needs jumps"
	finish $t
}

# At rest and after work, held and not seen are all that the kernel has.
proc check_growth_of {pid work} {
	set m [live_start -p $pid]
	live $m "growth start brk mmap shm"
	foreach round {1 2 3} {
		{*}$work
		live $m interrupt
		note [check_growth $m $pid]
		live $m cont
	}
	live $m "detach -keep"
	{*}$work
	live_all $m "attach $pid" interrupt
	check_growth $m $pid
	live $m cont
	live_end $m
	{*}$work
}

case growth-redis 60 {
	start_redis
	check_growth_of $::redis [list redis_cli DEBUG POPULATE 20000]
	end_redis
}

case growth-python 60 {
	set chan [open |[list [system_python] -u -c {
import sys, mmap, threading
held = []
for line in sys.stdin:
    held.append(mmap.mmap(-1, 100000 + len(held)))
    held.append([bytearray(1000000 + i) for i in range(20)])
    thread = threading.Thread(target=lambda: held.append("x" * 500000))
    thread.start()
    thread.join()
    print("ok")
} 2>@stderr] r+]
	chan configure $chan -buffering line
	check_growth_of [pid $chan] [list ask $chan go]
	close $chan
}

case growth-nginx 60 {
	lassign [start_nginx] master worker
	try {
		check_growth_of $worker [list get_pages 5]
	} finally {
		end_nginx $master
	}
}

# What the heap grows by is said, and whose it is: not that of sbrk. All-time has what was given back, too.
case growth-brk-change 60 {
	start_watched {t m} mapper
	live $m "growth start brk mmap"
	orders $t "grow 5" "grow 3"
	set text [live $m "growth log brk"]
	# The process had no heap before.
	check {[regexp -line {^\S+ \S+ \d+ brk 0x[0-9a-f]+ -$} $text] && [regexp -line {^\S+ \S+ \d+ brk 0x[0-9a-f]+ \+12288$} $text]} {$text}
	set text [live $m "growth brk limit 1"]
	check {[regexp {#1  32768 bytes in 2 mappings\n    all-time 2 calls, 32768 bytes\n    in (\w+)} $text -> who] && ![string match *sbrk* $who]} {$text}
	order $t each
	set row [lindex [live_value $m {mdbg::growth mmap}] 0]
	check {[dict get $row total] >= [dict get $row count] && [dict get $row totalbytes] >= [dict get $row bytes]} {$row}
	finish $t $m
}
