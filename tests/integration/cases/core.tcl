# SPDX-License-Identifier: GPL-3.0-or-later
# Core files: what mdbg says of a core is what it says of the process.

# A core of a process that goes on, as gdb writes it.
proc gcore {pid {name gcore}} {
	need gdb
	set gcore [need gcore]
	if {[catch {exec $gcore -o $::tmp/$name $pid 2>@1} text] && ![file exists $::tmp/$name.$pid]} {
		fail "gcore: [string range $text 0 300]"
	}
	return $::tmp/$name.$pid
}

proc kernel_writes_cores {} {
	return [expr {![string match {[|/]*} [slurp /proc/sys/kernel/core_pattern]]}]
}

# A target that the kernel may write a core of, into $tmp.
proc start_dumpable {program args} {
	set chan [open |[list sh -c {ulimit -c unlimited 2>/dev/null; cd "$1" && shift && exec "$@"} sh $::tmp \
		$::build/targets/$program {*}$args 2>@stderr] r+]
	chan configure $chan -buffering line
	check {[lindex [hear $chan] 0] eq "ready"} {$program is not ready}
	set ::pid_of($chan) [pid $chan]
	return $chan
}

# End it by a signal; the core that the kernel has written.
proc kernel_core {t signal} {
	skip_if {![kernel_writes_cores]} {the kernel's cores go elsewhere: [string trim [slurp /proc/sys/kernel/core_pattern]]}
	exec kill -$signal [pid_of $t]
	# The end of its input would end its read, if that came first.
	until {![is_alive [pid_of $t]]}
	ending $t
	set cores [glob -nocomplain $::tmp/core*]
	skip_if {$cores eq {}} {the kernel writes no cores here (its limit, or its core_pattern)}
	return [lindex $cores 0]
}

# The kernel's if that can be; gdb writes all the zeros of an address space down.
proc last_core {t} {
	if {[kernel_writes_cores]} {
		return [kernel_core $t SEGV]
	}
	set core [gcore [pid_of $t]]
	exec kill -KILL [pid_of $t]
	ending $t
	return $core
}

# Wait until all threads of a process sleep, each in its system call, with its PC behind that. A thread that a debugger
# let go is told by the kernel to make its call again, so that its PC is on that; if it gets no processor for a while, the
# next stop, or signal, finds it there. Both are true; but what is compared is to be of the same moment.
proc at_rest {pid} {
	until {[lsearch -not -regexp [lmap task [glob /proc/$pid/task/*] {slurp $task/stat}] {.*\) S }] < 0}
}

# As live and live_value; where it is a process that is asked, at rest.
proc look {m command {how live}} {
	if {[info exists ::process_of($m)]} {
		at_rest $::process_of($m)
	}
	return [$how $m $command 120]
}

proc look_value {m command} {
	return [look $m $command live_value]
}

# All that is asked of both. Of a process what is in no record is from before the attach; of a core nothing is recorded.
# Pages that hold zeros alone may have been touched, which a core does not tell: fewer bytes are searched.
proc answers {m pid} {
	set answers [dict create]
	foreach command {{malloc leaks all} {malloc allocations} {malloc freespace} {where all} {malloc check}} {
		look $m "$command > $::tmp/answer"
		dict set answers $command [regsub {\d+ (bytes of roots)} [string map {
			"(allocated before attach)" "(not recorded)"
			"bytes from before the attach" "bytes not recorded"
			"0 double frees, 0 invalid frees, 0 frees of unknown blocks\n" ""
		} [slurp $::tmp/answer]] {\1}]
	}
	# A core need not be stopped.
	dict for {command answer} $answers {
		dict set answers $command [regsub -line {^ *[Tt]he process stood still for .*\n} $answer ""]
	}
	# The process has shared memory that it has never touched; a core does not tell that from zeros.
	dict set answers "malloc leaks all" [regsub -line {^ +not read: .*\n} [dict get $answers "malloc leaks all"] ""]
	# No frees are seen in a core, nor said to be told or not.
	dict set answers "malloc check" [regsub -line {^Double frees are not told here: .*\n} [dict get $answers "malloc check"] ""]
	# The kernel leaves out what was never written, gdb does not.
	dict set answers "malloc leaks all" [regsub -line {^ +4096 bytes of roots are not in the core: .*\n} \
		[dict get $answers "malloc leaks all"] ""]
	# The kernel writes down the name of the process alone.
	dict set answers "where all" [regsub -all -line {^(Thread \d+).*} [dict get $answers "where all"] {\1}]
	dict set answers threads [lmap thread [look_value $m mdbg::threads] {dict get $thread pthread}]
	dict set answers registers [regsub {\nThe process stood still for .*$} [look $m "registers $pid"] ""]
	dict set answers heaps [dict get [look_value $m mdbg::malloc] heaps]
	dict set answers leaks [lmap leak [look_value $m {mdbg::leaks all}] {
		list [dict get $leak kind] [dict get $leak bytes] [dict get $leak count]
	}]
	dict set answers symbol [look_value $m {mdbg::symbol [dict get [lindex [mdbg::frames [dict get [lindex [mdbg::where] 0] stack]] 1] pc]}]
	# What can be read, text among it: the same bytes at the same places.
	dict set answers bytes [look_value $m {
		lmap pc [dict get [lindex [mdbg::where] 0] stack] {
			binary encode hex [mdbg::read [expr {$pc & ~63}] 64]
		}
	}]
	return $answers
}

proc check_same {live core} {
	dict for {what answer} $live {
		# A core's pools cannot be probed.
		regsub -line {^Pools: .*\n} $answer {} answer
		set got [dict get $core $what]
		if {$got eq $answer} {
			continue
		}
		foreach a [split $answer "\n"] b [split $got "\n"] {
			check {$a eq $b} {$what: the core has: $b; and the process: $a}
		}
	}
}

proc answers_of_process {pid} {
	set m [live_start -p $pid]
	set ::process_of($m) $pid
	set answers [answers $m $pid]
	live_end $m
	unset ::process_of($m)
	at_rest $pid
	return $answers
}

proc answers_of_core {core pid} {
	set m [live_start --core $core]
	set answers [answers $m $pid]
	live_end $m
	check {[slurp $::live_err($m)] eq ""} {mdbg --core says: [slurp $::live_err($m)]}
	return $answers
}

proc start_with_leaks {start} {
	set t [{*}$start leaks]
	foreach line [ask_list $t names] {
		order $t "case [lindex $line 0]"
	}
	at_rest [pid_of $t]
	return $t
}

case core-by-gcore 60 {
	set t [start_with_leaks start]
	set pid [pid_of $t]
	set core [gcore $pid]
	set live [answers_of_process $pid]
	set kinds [lsort -unique [lmap leak [dict get $live leaks] {lindex $leak 0}]]
	check {$kinds eq {definite indirect possible reachable}} {only leaks of $kinds}
	check_same $live [answers_of_core $core $pid]
	finish $t
}

# Another allocator's heap is in the core as it was.
foreach {allocator library} {jemalloc libjemalloc.so.2 tcmalloc libtcmalloc_minimal.so.4} {
	case core-of-$allocator 60 [string map [list LIBRARY $library] {
		set t [start_with_leaks {start_below LIBRARY}]
		set pid [pid_of $t]
		set core [gcore $pid]
		set live [answers_of_process $pid]
		check {[llength [dict get $live heaps]] > 0} {no heap is known}
		check_same $live [answers_of_core $core $pid]
		finish $t
	}]
}

case core-by-the-kernel 60 {
	set t [start_with_leaks start_dumpable]
	set pid [pid_of $t]
	set live [answers_of_process $pid]
	set core [kernel_core $t ABRT]
	check_same $live [answers_of_core $core $pid]
	set text [mdbg_ok -c status -c proc --core $core]
	check {[regexp {SIGABRT} $text] && [regexp {Program .*/targets/leaks\.} $text]} {$text}
	mdbg -q --fail-on-leak -c status --core $core
	check {$::status == 23 && [regexp {process \d+ has definitely lost [1-9]} $::err]} {--fail-on-leak: $::status: $::err}
}

# A header is overwritten: that is damage in a core as well.
case core-of-a-damaged-heap 60 {
	set t [start_dumpable heaps 20000]
	order $t smash
	set core [last_core $t]
	set text [mdbg_ok -c "malloc check" --core $core]
	check {[regexp {Heap 0, 0x[0-9a-f]+8: this is no chunk header: size 0x4141414141414141\n} $text]} {$text}
	check {![regexp {frees of unknown} $text]} {$text}
}

# Nine arenas: each block is there, and nothing is said of where it comes from.
case core-of-heaps 60 {
	set t [start_dumpable heaps 5000]
	set truth [dict create]
	foreach line [ask_list $t truth] {
		dict set truth [expr [lindex $line 0]] [lindex $line 1]
	}
	set m [live_start --core [last_core $t]]
	foreach block [live_value $m mdbg::allocations] {
		dict with block {
			check {$stack == 0 && $preattach && $seq eq "-"} {$block}
		}
		set address [expr [dict get $block address]]
		if {[dict exists $truth $address]} {
			check {[dict get $truth $address] == [dict get $block size]} {$block, but [dict get $truth $address]}
			dict unset truth $address
		}
	}
	check {[dict size $truth] == 0} {[dict size $truth] are held, but not listed: [lrange $truth 0 9]}
	check {[llength [dict get [live_value $m mdbg::malloc] heaps]] == 9} {not 9 heaps}
	check {[regexp {9 heaps, \d+ chunks: no damage found} [live $m "malloc check"]]} {[live $m "malloc check"]}
	set address [dict get [lindex [live_value $m {mdbg::allocations limit 1}] 0] address]
	check {[regexp {is byte 1 of a block of .*\n +\(not recorded\)} [live $m "malloc find [expr {$address + 1}]"]]} {find}
	live_end $m
}

# A real program, of many modules.
case core-of-python3 90 {
	set python [need python3]
	set t [open |[list $python -c "import json, sys; x = \[str(i) for i in range(5000)\]; print('ready', flush=True); sys.stdin.readline()"] r+]
	check {[hear $t] eq "ready"} {python3 does not start}
	set pid [pid $t]
	at_rest $pid
	set core [gcore $pid]
	set live [answers_of_process $pid]
	set same [answers_of_core $core $pid]
	check_same $live $same
	check {[regexp { main\+| Py_BytesMain} [dict get $same "where all"]]} {[dict get $same "where all"]}
	puts $t ""
	flush $t
	ending $t
}

# What is no core, or none that can be used, and what to do about it.
case core-refused 60 {
	set t [open |[list $::build/targets/hello cat] r+]
	chan configure $t -buffering line
	puts $t hello
	check {[hear $t] eq "hello"} {it does not answer}
	set core [gcore [pid $t]]
	set bytes [open $core rb]
	set image [read $bytes]
	close $bytes
	proc write {name image} {
		set chan [open $::tmp/$name wb]
		puts -nonewline $chan $image
		close $chan
		return $::tmp/$name
	}
	mdbg -c malloc --core $::tmp/none
	check_refused 3 "No such file" "$::tmp has no file of that name"
	mdbg -c "core ${core}x"
	check_refused 1 "core: ${core}x: No such file" "near it: [file tail $core]"
	mdbg -c malloc --core $::tmp
	check_refused 3 "no regular file" "it is a folder"
	mdbg -c malloc --core /dev/null
	check_refused 3 "no regular file" ""
	mdbg -c malloc --core [write empty ""]
	check_refused 3 "empty" "ulimit -c"
	mdbg -c malloc --core [write text "a text and nothing else, but long enough\n"]
	check_refused 3 "not a core file" "gcore"
	mdbg -c malloc --core $::build/targets/hello
	check_refused 3 "a program or a library" "mdbg --core CORE"
	mdbg -c malloc --core [write foreign [string replace $image 18 19 "\xb7\0"]]
	check_refused 3 "another processor" "x86_64"
	exec gzip -kf $core
	mdbg -c malloc --core $core.gz
	check_refused 3 "packed with gzip" "gunzip"
	# gdb writes the notes last.
	mdbg -c malloc --core [write cut [string range $image 0 100000]]
	check_refused 3 "cut off" "ulimit -c"
	mdbg -c malloc --core $core $::build/targets/leaks
	check_refused 3 "is not the program of which" "targets/hello"
	mdbg -c malloc --core $core /no/such/program
	check_refused 3 "No such file" "targets/hello"
	mdbg -c malloc --core $core one two
	check_refused 2 "more than one program"
	mdbg -p 1 --core $core
	check_refused 2 "both"
	# What only a process has.
	set m [live_start --core $core]
	foreach command {{malloc on} {malloc off} {malloc reset} cont interrupt kill {detach -keep} {probe free f ptr=1} {wait exit}} {
		check {[regexp {there is no process, only its core file} [live_error $m $command]]} {$command: [live_error $m $command]}
	}
	foreach command {{malloc sites} {malloc stale 1s} mdbg::sites} {
		check {[regexp {nothing was recorded} [live_error $m $command]]} {$command: [live_error $m $command]}
	}
	check {[regexp {a core file is open} [live_error $m "attach [pid]"]]} {attach}
	check {[regexp {a core file is open} [live_error $m "core $core"]]} {core}
	live $m detach
	check {[regexp {no process} [live_error $m where]]} {[live_error $m where]}
	check {[live_value $m "mdbg::core $core"] == [pid $t]} {mdbg::core: $::result}
	check {[llength [live_value $m mdbg::threads]] == 1} {$::result}
	live_end $m
	ending $t
}

# What was recorded still answers after a core file that could not be opened, and no longer after one that was.
case core-refused-after-detach 60 {
	start_watched {t m} pairs 1
	order $t "run 1000"
	live $m detach
	set held [live_value $m "llength \[mdbg::allocations\]"]
	check {$held > 0} {nothing was recorded}
	foreach core [list $::tmp/none $::build/targets/hello] {
		live_error $m "core $core"
		check {[live_value $m "llength \[mdbg::allocations\]"] == $held} {after core $core: $::result}
	}
	finish $t $m
}

# Cut off where memory is: what is there answers, and what is missing is said.
case core-cut-off 60 {
	set t [start_with_leaks start_dumpable]
	set core [kernel_core $t SEGV]
	set whole [mdbg_ok -c "malloc allocations" --core $core]
	# Somewhere in the libraries, which come behind the heap; the stack is the last.
	exec head -c [expr {[file size $core] - 150000}] $core > $::tmp/most
	set text [mdbg_ok -c "malloc allocations" -c "malloc check" -c status -c where --core $::tmp/most]
	check {[regexp {most is cut off: (\d+) bytes of memory are missing} $::err -> missing] && $missing > 100000} {$::err}
	check {[regexp "\n$missing bytes of the core are missing: not all blocks are known\n" $text]} {$text}
	check {[regexp "$missing bytes of the core are missing: what they held is not known" $text]} {malloc check: $text}
	check {[regexp "$missing bytes of memory are missing: the file was cut off" $text]} {status: $text}
	check {![regexp {this is no chunk header} $text]} {what is missing counts as damage: $text}
	check {[regexp {#0 +0x.*\n +\(stack ends here: } $text]} {where: $text}
	set lines [split $whole "\n"]
	foreach line [lsearch -all -inline [split $text "\n"] "0x*(not recorded)"] {
		check {$line in $lines} {only the half has: $line}
	}
	exec head -c [expr {[file size $core] / 8}] $core > $::tmp/least
	mdbg -c "malloc check" --core $::tmp/least
	check {$::status == 1 && [regexp {\(\d+ bytes of the core are missing\)} $::err]} {$::status: $::err}
}

# The files of which a core is may have moved, or be others by now.
case core-without-its-files 60 {
	file copy $::build/targets/hello $::tmp/program
	set t [open |[list $::tmp/program cat] r+]
	chan configure $t -buffering line
	set pid [pid $t]
	puts $t hello
	check {[hear $t] eq "hello"} {it does not answer}
	set core [gcore $pid]
	check {[regexp { main\+} [mdbg_ok -c where --core $core]]} {$::out}
	file rename $::tmp/program $::tmp/moved
	mdbg_ok -c where -c "malloc allocations" --core $core
	check {[regexp {/program: .*No such file} $::err] && [regexp {1 files could not be had} $::err]} {$::err}
	check {![regexp { main\+} $::out] && [regexp {\[program\+0x} $::out]} {$::out}
	check {[regexp {\d+ allocations, [1-9]} $::out]} {$::out}
	check {[regexp { main\+} [mdbg_ok -c where --core $core $::tmp/moved]]} {EXE: $::out}
	check {$::err eq ""} {EXE: $::err}
	file copy $::build/targets/leaks $::tmp/program
	mdbg_ok -c where --core $core
	check {[regexp {/program: not the file that was mapped} $::err]} {$::err}
	check {![regexp { main\+} $::out]} {names of another program: $::out}
	# No list of files: the program is where the kernel had started it from.
	file rename -force $::tmp/moved $::tmp/program
	set chan [open $core rb]
	set image [read $chan]
	close $chan
	set chan [open $::tmp/unlisted wb]
	puts -nonewline $chan [string map {ELIFCORE\0 FILECORE\0} $image]
	close $chan
	mdbg_ok -c status -c "malloc allocations" --core $::tmp/unlisted
	check {[regexp {does not say which files were mapped} $::err]} {$::err}
	check {[regexp {1 files are taken for those} $::err] && [regexp {Program .*/program\.} $::out]} {$::err $::out}
	check {[regexp {are not known: no glibc in process} $::out]} {$::out}
	close $t write
	ending $t
}

# glibc has found the damage itself, in the middle of malloc, and has called abort: that is certain.
case core-of-an-abort-in-malloc 60 {
	skip_if {![kernel_writes_cores]} {the kernel's cores go elsewhere: [string trim [slurp /proc/sys/kernel/core_pattern]]}
	set t [start_dumpable heaps 5000]
	order $t overrun
	tell $t hole
	until {![is_alive [pid_of $t]]}
	ending $t
	set cores [glob -nocomplain $::tmp/core*]
	skip_if {$cores eq {}} {the kernel writes no cores here (its limit, or its core_pattern)}
	set text [mdbg_ok -c where -c "malloc check" --core [lindex $cores 0]]
	check {[regexp { abort} $text]} {$text}
	check {[regexp {the top chunk has a wrong size: 0x4242424242424242\n} $text]} {$text}
	check {[regexp {chunks: \d+ (place is|places are) damaged\n} $text]} {$text}
	check {![regexp {uncertain|stood still} $text]} {$text}
}

# The process was in the middle of malloc when its core was written: nothing that seems damaged is certain.
case core-in-the-middle-of-malloc 60 {
	set t [start_dumpable mill alone]
	set s [start step]
	set tid [order $t work]
	set torn 0
	for {set i 0} {$i < 500 && !$torn} {incr i} {
		order $s "step [pid_of $t] $tid 37"
		set text [mdbg_ok -q --no-arm -p [pid_of $t] -c {puts "torn [dict get [mdbg::check] uncertain]"}]
		regexp {torn (\d+)} $text -> torn
	}
	check {$torn} {no place was in a change}
	if {[kernel_writes_cores]} {
		# The signal comes before any instruction.
		exec sh -c "kill -SEGV [pid_of $t]; kill -CONT [pid_of $t]"
		until {![is_alive [pid_of $t]]}
		ending $t
		set core [lindex [glob -nocomplain $::tmp/core*] 0]
	} else {
		set core [last_core $t]
	}
	skip_if {$core eq ""} {the kernel writes no cores here (its limit, or its core_pattern)}
	set text [mdbg_ok -c "malloc check" --core $core]
	check {[regexp {  uncertain: thread \d+ stands inside the allocator\n} $text]} {$text}
	check {[regexp {chunks: no damage is certain, \d+ (place is|places are) uncertain\n} $text]} {$text}
	tell $s quit
	check {[ending $s] eq {exit 0}} {who steps has failed}
}
