# SPDX-License-Identifier: GPL-3.0-or-later
# What the cases are written with.
#
#	case NAME SECONDS BODY		a test case with its time limit (doubled: machines are busy)
#	repeated NAME SECONDS BODY	one that does something TRIALS times; SECONDS are for 10 trials
#	by_both case|repeated …		twice: as it is, and as NAME-by-breakpoints with --engine breakpoint, a third
#					of the trials, and the smaller one of each two workloads (`work`).
#					With ENGINES=one only one of the two, by turns; with ENGINES=other, the other
#
# Probes are otherwise as mdbg chooses them: jumps wherever they are safe. Threads of a target that are at work all the
# time rest between (`-r` of `exact`) as long as TRIALS is below 10: what a case asks for is events and threads, and not
# that the case beside it gets no processor. From 10 on, in the torture, they never rest.
#
# BODY runs in a process of its own, in a folder of its own ($tmp). It passes unless it raises an error; `fail WHY` and
# `skip WHY` say so plainly. Targets are the programs of tests/targets (start, ask …), mdbg is run in one go (mdbg) or
# kept at work and told what to do, command by command (live …). Nothing waits without a limit, nothing sleeps for luck.

set build $::env(BUILD)
set mdbg_program $::env(MDBG)
set trials $::env(TRIALS)
# The benches load cases too, and have no ENGINES.
set engines [expr {[info exists ::env(ENGINES)] ? $::env(ENGINES) : "both"}]
set engine auto
set rest [expr {$trials < 10 ? "-r" : ""}]
# How many times longer all limits of time are: where the processor is emulated (tests/vm), and on a busy machine (run).
set slower [expr {[info exists ::env(SLOWER)] ? $::env(SLOWER) : 1}]
set here [file dirname [file normalize [info script]]]
set completion $here/../../scripts/completion
set cases [dict create]

proc case {name seconds body} {
	dict set ::cases $name [dict create seconds [expr {2 * $seconds * $::slower}] body $body repeated 0]
}

proc repeated {name seconds body} {
	set scale [expr {max(1.0, $::trials / 10.0)}]
	dict set ::cases $name [dict create seconds [expr {int(2 * $seconds * $scale * $::slower)}] body $body repeated 1]
}

proc by_both {kind name seconds body} {
	set nr [incr ::nr_by_both]
	set odd [expr {$nr % 2}]
	if {$::engines ne ($odd ? "other" : "one")} {
		$kind $name $seconds $body
	}
	if {$::engines ne ($odd ? "one" : "other")} {
		$kind $name-by-breakpoints $seconds "by_breakpoints\n$body"
	}
}

proc by_breakpoints {} {
	set ::engine breakpoint
	set ::trials [expr {max(1, $::trials / 3)}]
}

# How much to do: a breakpoint costs a thousand times what a jump does.
proc work {jump breakpoint} {
	return [expr {$::engine eq "breakpoint" ? $breakpoint : $jump}]
}

proc fail {why} {
	return -code error -errorcode FAIL $why
}

proc skip {why} {
	return -code error -errorcode SKIP $why
}

proc is_sanitized {} {
	return [expr {![catch {exec grep -q __asan_init $::mdbg_program}]}]
}

proc skip_if {condition why} {
	if {[uplevel 1 [list expr $condition]]} {
		skip [uplevel 1 [list subst $why]]
	}
}

# A case that a mdbg built with sanitizers cannot do, and why.
proc skip_if_sanitized {why} {
	skip_if {[is_sanitized]} {$why}
}

proc check {condition why} {
	if {![uplevel 1 [list expr $condition]]} {
		fail [uplevel 1 [list subst $why]]
	}
}

# Of a loop of trials: what failed, and how the target ended if it did.
proc fail_with_end {t what message} {
	set end [expr {[is_alive [pid_of $t]] ? "" : " (the target is gone: [ending $t])"}]
	fail "$what: $message$end"
}

# A TCP port of 127.0.0.1 that nobody listens at. It is none of those that the kernel itself gives out, so that no connection
# and no server that takes any port has got it when it is used.
proc free_port {} {
	set first [expr {max(16384, [lindex [slurp /proc/sys/net/ipv4/ip_local_port_range] 0])}]
	for {set try 0} {$try < 1000} {incr try} {
		set port [expr {1024 + int(rand() * ($first - 1024))}]
		if {![catch {socket -server list -myaddr 127.0.0.1 $port} chan]} {
			close $chan
			return $port
		}
	}
	fail "no port is free"
}

# What is the machine's is one for all cases: those that change it by a known amount, or compare it before and after, wait
# here for one another. The lock is held until the channel that is returned is closed, or the case ends, however it does.
proc have_alone {what} {
	set lock [open |[list flock [file join $::build test-logs $what.lock] cat] r+]
	fconfigure $lock -buffering line
	puts $lock mine
	check {[gets $lock] eq "mine"} {no lock of $what}
	return $lock
}

proc need {program} {
	set path [auto_execok $program]
	skip_if {$path eq ""} {$program is not installed}
	return [lindex $path 0]
}

# Not one of another place, nor a script that looks for one, and would have blocks of its own.
proc system_python {} {
	return [expr {[file executable /usr/bin/python3] ? "/usr/bin/python3" : [need python3]}]
}

proc note {text} {
	puts $text
	flush stdout
}

# --- channels with time limits ------------------------------------------------------------------------------------

# BODY, with so many huge pages more in the machine's pool, if it gives them; no other case changes it meanwhile.
proc with_huge_pages {nr body} {
	set lock [have_alone hugepages]
	set path /proc/sys/vm/nr_hugepages
	set before [string trim [slurp $path]]
	catch {spit $path [expr {$before + $nr}]}
	try {
		uplevel 1 $body
	} finally {
		catch {spit $path $before}
		close $lock
	}
}

# The next line of a channel; an error if it ends or if none comes in time.
proc hear {chan {limit 30}} {
	chan configure $chan -blocking 0
	set until [expr {[clock milliseconds] + $limit * 1000 * $::slower}]
	while {[gets $chan line] < 0} {
		check {![eof $chan]} {end of output where an answer was due}
		set left [expr {$until - [clock milliseconds]}]
		check {$left > 0} {no answer within $limit s}
		set ::heard($chan) waiting
		set timer [after $left [list set ::heard($chan) late]]
		chan event $chan readable [list set ::heard($chan) more]
		vwait ::heard($chan)
		chan event $chan readable {}
		after cancel $timer
	}
	return $line
}

proc is_alive {pid} {
	if {[catch {open /proc/$pid/stat} chan]} {
		return 0
	}
	# Reading fails where it ends in between.
	set ended [catch {read $chan} stat]
	close $chan
	if {$ended} {
		return 0
	}
	set state [lindex [string range $stat [string last ")" $stat]+2 end] 0]
	return [expr {$state ni {Z X}}]
}

# Wait, with a limit, until a condition of the caller's holds.
proc until {condition {limit 20}} {
	set end [expr {[clock milliseconds] + $limit * 1000 * $::slower}]
	while {![uplevel 1 [list expr $condition]]} {
		check {[clock milliseconds] <= $end} {not so within $limit s: $condition}
		after 2
	}
}

# Spend some microseconds.
proc delay {us} {
	set end [expr {[clock microseconds] + $us}]
	if {$us > 3000} {
		after [expr {int($us / 1000) - 2}]
	}
	while {[clock microseconds] < $end} {}
}

# How the process behind a pipe ended: {exit N} or {signal NAME}.
proc ending {chan} {
	chan configure $chan -blocking 1
	if {![catch {close $chan} message options]} {
		return {exit 0}
	}
	set code [dict get $options -errorcode]
	switch [lindex $code 0] {
		CHILDSTATUS { return [list exit [lindex $code 2]] }
		CHILDKILLED { return [list signal [lindex $code 2]] }
	}
	return [list exit 0]
}

# --- targets ------------------------------------------------------------------------------------------------------

# Start a program of tests/targets and wait until it is ready. Returns its channel.
proc start {program args} {
	return [start_command $::build/targets/$program {*}$args]
}

# The same of any command that becomes such a program.
proc start_command {args} {
	set chan [open |[list {*}$args 2>@stderr] r+]
	chan configure $chan -buffering line
	set ready [hear $chan]
	check {[lindex $ready 0] eq "ready"} {$args says $ready}
	set ::pid_of($chan) [pid $chan]
	return $chan
}

# A program of tests/targets (hard.c) built by another compiler, or otherwise; returns its path. A compiler or a library
# that is not installed is a skip; one that refuses the source is a failure.
proc build_target {cc source args} {
	set folder [file join $::here .. targets]
	set program $::tmp/[file rootname $source]
	if {[catch {exec [need $cc] -O2 -D_GNU_SOURCE -I$folder {*}$args -o $program $folder/$source -pthread 2>@1} message]} {
		skip_if {[regexp {cannot find (-l\S+)} $message -> library]} {$source: $cc $args has no $library}
		fail "$source cannot be built by $cc $args: [string range $message 0 300]"
	}
	return $program
}

# A control group of this case's own with the controller, for the process alone; or a skip.
proc own_group {controller pid} {
	set v1 /sys/fs/cgroup/$controller
	set v2 /sys/fs/cgroup
	if {[file exists $v1/cgroup.procs]} {
		set group $v1/mdbg-test-[pid]
	} elseif {![catch {slurp $v2/cgroup.subtree_control} enabled] && $controller in $enabled} {
		set group $v2/mdbg-test-[pid]
	} else {
		skip "no control groups with $controller to be had"
	}
	if {[catch {file mkdir $group; spit $group/cgroup.procs $pid} message]} {
		catch {file delete $group}
		skip "no control group can be made: $message"
	}
	return $group
}

proc pid_of {chan} {
	return $::pid_of($chan)
}

proc tell {chan line} {
	chan configure $chan -blocking 1
	check {![catch {puts $chan $line; flush $chan} message]} {the target does not listen to $line: $message}
}

proc ask {chan line {limit 30}} {
	tell $chan $line
	check {![catch {hear $chan $limit} answer]} {asked to $line: $answer}
	return $answer
}

# Ask; the answer must be `ok …`. Returns the rest.
proc order {chan line {limit 30}} {
	set answer [ask $chan $line $limit]
	check {[lindex $answer 0] eq "ok"} {the target answers $line with: $answer}
	return [lrange $answer 1 end]
}

# The same of several lines, one behind the other, whose answers say no more.
proc orders {chan args} {
	foreach line $args {
		order $chan $line
	}
}

# Ask for a list that ends with `end N`.
proc ask_list {chan line {limit 30}} {
	set lines {}
	tell $chan $line
	while {[lindex [set answer [hear $chan $limit]] 0] ne "end"} {
		lappend lines $answer
	}
	check {[lindex $answer 1] == [llength $lines]} {$line: [llength $lines] lines, then $answer}
	return $lines
}

# Such a program that an mdbg is attached to: start_watched {t m} mapper. With three names, {t before m}, the second one
# becomes the target's state before that.
proc start_watched {names args} {
	set t [start {*}$args]
	uplevel 1 [list set [lindex $names 0] $t]
	uplevel 1 [list attach_to [lrange $names 1 end] $t]
}

# An mdbg that is attached to a target: attach_to {before m} $t, or attach_to m $t.
proc attach_to {names t} {
	set before [expr {[llength $names] == 2 ? [list [state [pid_of $t]]] : {}}]
	uplevel 1 [list lassign [list {*}$before [live_start -p [pid_of $t]]] {*}$names]
}

# It has nothing to verify, and ends with status 0.
proc quit {chan} {
	tell $chan quit
	check {[ending $chan] eq {exit 0}} {it ended otherwise}
}

# First mdbg ends, if there is one; then the target must be as before, if that is given (options as for `state`). The
# target checks its data and ends with status 0.
proc finish {chan {m ""} {before ""} args} {
	if {$m ne ""} {
		live_end $m
	}
	if {$before ne ""} {
		check_state $before [pid_of $chan] {*}$args
	}
	order $chan verify
	tell $chan quit
	set end [ending $chan]
	check {$end eq {exit 0}} {the target ended with $end}
}

# --- what must be as before ---------------------------------------------------------------------------------------

# options: -a for a target that stands still, -t for one whose threads come and go.
# A thread that libc is just beginning or ending has its own signals blocked, too, for that moment.
proc state {pid args} {
	for {set tries 0} {1} {incr tries} {
		set lines [split [string trimright [exec $::build/targets/state {*}$args $pid]] "\n"]
		if {$tries == 200 || [lsearch -glob $lines "thread *SigBlk:\tfffffffffffbfeff*"] < 0} {
			return $lines
		}
		delay 5000
	}
}

proc check_state {before pid args} {
	set now [state $pid {*}$args]
	if {$now eq $before} {
		return
	}
	set gone {}
	set new {}
	foreach line $before {
		if {$line ni $now} {
			lappend gone "-$line"
		}
	}
	foreach line $now {
		if {$line ni $before} {
			lappend new "+$line"
		}
	}
	set lines [concat $gone $new]
	note [join $lines "\n"]
	fail "not as before: [join [lrange $lines 0 3] {; }]"
}

# --- mdbg ---------------------------------------------------------------------------------------------------------

# The words to start mdbg with.
proc mdbg_command {args} {
	return [list $::mdbg_program -n {*}[expr {$::engine eq "auto" ? "" : "--engine $::engine"}] {*}$args]
}

# From now on mdbg runs under these limits, as sh's ulimit takes them: {-d 49152}.
proc limit_mdbg {args} {
	set lines [lmap limit $args {string cat "ulimit $limit\n"}]
	set path [spit $::tmp/limited "#!/bin/sh\n[join $lines ""]exec '$::mdbg_program' \"\$@\"\n"]
	file attributes $path -permissions 0755
	set ::mdbg_program $path
}

# Run mdbg to its end: mdbg ?-limit S? ?-in FILE? ?--? ARG… . Sets ::status (N, or a signal's name), ::out and ::err.
proc mdbg {args} {
	set limit 60
	set in /dev/null
	while {[lindex $args 0] in {-limit -in}} {
		set [string range [lindex $args 0] 1 end] [lindex $args 1]
		set args [lrange $args 2 end]
	}
	set ::status 0
	set command [list timeout -s KILL [expr {$limit * $::slower}] {*}[mdbg_command {*}$args]]
	if {[catch {exec {*}$command < $in > $::tmp/out 2> $::tmp/err} message options]} {
		set code [dict get $options -errorcode]
		set ::status [expr {[lindex $code 0] in {CHILDSTATUS CHILDKILLED} ? [lindex $code 2] : "unknown"}]
	}
	set ::out [slurp $::tmp/out]
	set ::err [slurp $::tmp/err]
	note "mdbg $args: $::status"
	if {$::err ne ""} {
		note [string range $::err 0 2000]
	}
	check {$::status ne "SIGKILL" && $::status != 137} {mdbg [lrange $args 0 5] did not end within $limit s}
}

# Run mdbg, which must end with status 0.
proc mdbg_ok {args} {
	mdbg {*}$args
	check {$::status == 0} {mdbg ended with $::status: [string trim [string range $::err 0 300]]}
	return $::out
}

# The error must be one line `mdbg: WHAT: WHY`, which matches, and a hint.
proc check_refused {status pattern {hint *}} {
	check {$::status == $status} {status is $::status and not $status: $::err}
	set lines [lsearch -all -inline -glob [split $::err "\n"] "mdbg: *"]
	check {[llength $lines] == 1} {[llength $lines] error lines: $::err}
	check {[string match -nocase "mdbg: *$pattern*" [lindex $lines 0]]} {the error does not say $pattern: $::err}
	if {$hint ne ""} {
		set hints [lsearch -all -inline -glob [split $::err "\n"] "hint: *"]
		check {[llength $hints] == 1 && [string match -nocase "hint: *$hint*" [lindex $hints 0]]} \
			{no hint of $hint: $::err}
	}
}

proc slurp {path} {
	set chan [open $path]
	set text [read $chan]
	close $chan
	return $text
}

proc spit {path text} {
	set chan [open $path w]
	puts -nonewline $chan $text
	close $chan
	return $path
}

# An mdbg that stays and does what it is told: live_start ARG…; live M COMMAND returns what the command printed.
proc live_start {args} {
	set script [spit $::tmp/live.tcl {
		proc obey {} {
			if {[gets stdin line] < 0} {
				exit 0
			}
			set code [catch {uplevel #0 $line} result]
			puts "@@@ $code $result"
			flush stdout
		}
		fileevent stdin readable obey
		puts "@@@ 0"
		flush stdout
		vwait forever
	}]
	incr ::lives
	set chan [open |[list {*}[mdbg_command -q {*}$args -x $script] 2> $::tmp/live-$::lives.err] r+]
	chan configure $chan -buffering line
	set ::live_err($chan) $::tmp/live-$::lives.err
	check {![catch {live_answer $chan 60} message]} {mdbg $args: $message: [slurp $::live_err($chan)]}
	return $chan
}

set lives 0

# What the command printed, up to its end; an error if the command failed.
proc live_answer {chan limit} {
	set lines {}
	while {![regexp {^@@@ (\d+) ?(.*)$} [set line [hear $chan $limit]] -> code result]} {
		lappend lines $line
	}
	set ::result $result
	check {$code == 0} {$result}
	return [join $lines "\n"]
}

proc live {chan command {limit 60}} {
	chan configure $chan -blocking 1
	if {[catch {puts $chan $command; flush $chan; live_answer $chan $limit} answer]} {
		fail "mdbg, told to $command: $answer: [slurp $::live_err($chan)]"
	}
	return $answer
}

# Commands one behind the other, of which nobody wants to know what they print.
proc live_all {chan args} {
	foreach command $args {
		live $chan $command
	}
}

# A Tcl value, not what is printed.
proc live_value {chan command {limit 60}} {
	live $chan $command $limit
	return $::result
}

# The command must fail; returns its message.
proc live_error {chan command} {
	chan configure $chan -blocking 1
	puts $chan $command
	flush $chan
	check {[catch {live_answer $chan 60} answer]} {no error from $command}
	return $answer
}

# End of input; must end with status.
proc live_end {chan {want {exit 0}}} {
	chan configure $chan -blocking 1
	catch {chan close $chan write}
	set pid [pid $chan]
	until {![is_alive $pid]} 30
	set end [ending $chan]
	check {$end eq $want} {mdbg ended with $end: [slurp $::live_err($chan)]}
}

proc live_kill {chan} {
	exec kill -KILL [pid $chan]
	catch {ending $chan}
}

# --- reading what it prints ---------------------------------------------------------------------------------------

# `malloc allocations` as a list of dicts: address size heap pid thread pthread time seq stack (list of {pc text}).
proc parse_allocations {text} {
	set blocks {}
	set stack {}
	set fields {}
	foreach line [split $text "\n"] {
		if {[string match "0x*" $line] && [scan $line {0x%llx %lld %s %s %s %s %s %s %n} \
			address size heap pid thread pthread time seq at] == 9} {
			if {$fields ne {}} {
				lappend blocks [dict replace $fields stack $stack]
			}
			set fields [dict create address $address size $size heap $heap pid $pid \
				thread $thread pthread $pthread time $time seq $seq]
			set stack [list [parse_frame [string range $line $at end]]]
		} elseif {$fields ne {} && [string match [string repeat " " 20]* $line]} {
			lappend stack [parse_frame [string trimleft $line]]
		}
	}
	if {$fields ne {}} {
		lappend blocks [dict replace $fields stack $stack]
	}
	return $blocks
}

# The same of a file, with the first frames only: all that `compare` looks at, in a tenth of the time.
proc parse_heads {path} {
	return [parse_allocations [exec sed -n /^0x/p $path]]
}

proc parse_frame {text} {
	if {[scan $text {0x%llx %n} pc at] == 2} {
		return [list $pc [string range $text $at end]]
	}
	return [list 0 $text]
}

# The last line of a list says how many; -1 if it does not.
proc listed {text} {
	set last [lindex [split [string trimright $text] "\n"] end]
	return [expr {[regexp {(\d+) allocations?} $last -> n] ? $n : -1}]
}

# A figure of `malloc`, of all heaps.
proc figure {text name} {
	set sum 0
	set seen 0
	regexp {All Heaps.*} $text text
	foreach {- n} [regexp -all -inline -line "^ +$name\\.+ (\\d+)" $text] {
		incr sum $n
		incr seen
	}
	check {$seen > 0} {malloc does not print: $name}
	return $sum
}

# Blocks that `malloc` says are held and recorded: those that were allocated before the attach are left out.
proc held {text} {
	return [expr {[figure $text "allocations currently active"] -
		[figure $text "of them (?:from before the attach|not recorded)"]}]
}

# Of blocks as parse_allocations has them, those of which there is a record.
proc recorded {blocks} {
	return [lmap block $blocks {
		if {[dict get $block thread] eq "-" && [dict get $block seq] eq "-"} {
			continue
		}
		set block
	}]
}

# Are at least share of the stacks complete, and does each other one say why it ended? From a file, without much memory.
proc check_stacks {path share} {
	set awk {
		function done() {
			if (last == "")
				return
			all++
			if (last ~ /[ >](_start|clone3|__clone3|__clone)(\+0x[0-9a-f]+)?( |$)/)
				complete++
			else if (last ~ /^ *0x[0-9a-f]+ \[.*\]$/ && before ~ / __libc_start_main/)
				complete++	# the _start of a stripped program has no name
			else if (last ~ /^ *\(.*\) *$/ || last ~ / \(.*\)$/ && last !~ /^ *0x/)
				said++
			else
				print "unexplained:", last
		}
		/^0x.* \((allocated before attach|not recorded)\)$/ { done(); last = ""; next }
		/^0x/ { done(); before = ""; last = substr($0, 100); next }
		/^ +[0x(]/ { before = last; last = $0; next }
		END { done(); print all + 0, complete + 0, said + 0 }
	}
	set lines [split [exec awk $awk $path] "\n"]
	lassign [lindex $lines end] all complete said
	note "stacks: $all, complete $complete, explained $said"
	check {[llength $lines] == 1} {[lindex $lines 0] (and [expr {[llength $lines] - 2}] more)}
	check {$all > 0 && $complete >= $share * $all} {only $complete of $all stacks are complete}
}

# --- the target `exact` --------------------------------------------------------------------------------------------

# Names of one address.
proc alias {function} {
	return [expr {$function eq "aligned_alloc" ? "memalign" : $function}]
}

# Compare the list of a target `exact` with blocks of mdbg. Blocks of calls made before `since` (ns) need not be listed, and if
# they are, then perhaps by a function inside of the one that was called.
proc compare {t blocks {since 0}} {
	set truth [dict create]
	foreach line [ask_list $t list] {
		lassign $line address size lwp function time
		dict set truth [expr {$address + 0}] [list $size $lwp [alias $function] $time]
	}
	set seen 0
	foreach block $blocks {
		set address [dict get $block address]
		if {[dict get $block thread] eq "-"} {
			continue
		}
		set name [lindex [dict get $block stack] 0 1]
		set got [list [dict get $block size] [dict get $block thread] [alias $name]]
		check {[dict exists $truth $address]} {[format 0x%x $address] ($got) is listed, but not held}
		set held [dict get $truth $address]
		if {[lrange $held 0 2] ne $got && [lindex $held 3] >= $since} {
			fail "[format 0x%x $address] is listed as $got, but is [lrange $held 0 2]"
		}
		dict unset truth $address
		incr seen
	}
	dict for {address held} $truth {
		check {[lindex $held 3] < $since} {[format 0x%x $address] ($held) is held, but not listed}
	}
	return $seen
}

# What mdbg lists, checked against its own figures.
proc dump {m} {
	live $m "malloc allocations > $::tmp/dump"
	set text [slurp $::tmp/dump]
	set blocks [parse_allocations $text]
	check {[listed $text] == [llength $blocks]} {[llength $blocks] blocks, but: [lindex [split [string trimright $text] "\n"] end]}
	set active [figure [live $m malloc] "allocations currently active"]
	check {$active == [llength $blocks]} {malloc says $active active, [llength $blocks] are listed}
	return $blocks
}

# --- running ------------------------------------------------------------------------------------------------------

# All files share one space of names: a procedure that another file has, too, would quietly take its place. The list of the
# cases looks at that, once; each case would take longer for it than to load them all.
proc check_names {file} {
	set known [info procs ::*]
	foreach {line name} [regexp -all -inline -line {^proc (\S+)} [slurp $file]] {
		if {"::$name" in $known} {
			error "$file: there is a procedure $name already"
		}
		lappend known ::$name
	}
}

proc load_file {file} {
	check_names $file
	uplevel #0 [list source $file]
}

proc load_cases {{load load_file}} {
	set more [expr {[info exists ::env(MORE_CASES)] ? [list $::env(MORE_CASES)] : {}}]
	foreach file [concat [lsort [glob $::here/cases/*.tcl]] [lsort [glob $::here/../torture/*.tcl]] $more] {
		{*}$load $file
	}
}

proc run_case {name} {
	set ::tmp $::env(TMPDIR)
	set ok [catch {apply [list {} [dict get $::cases $name body]]} message options]
	set code [expr {[dict exists $options -errorcode] ? [dict get $options -errorcode] : ""}]
	set message [string map {"\n" " "} [string range $message 0 400]]
	if {!$ok || $ok == 2} {
		puts "PASS $name"
	} elseif {$code eq "SKIP"} {
		puts "SKIP $name: $message"
	} else {
		puts [dict get $options -errorinfo]
		puts "FAIL $name: $message"
		return 1
	}
	return 0
}

# The processes whose environment names a case's folder as TMPDIR.
proc left_by {dir} {
	set pids {}
	foreach path [glob -nocomplain /proc/\[0-9\]*/environ] {
		set pid [lindex [file split $path] 2]
		if {![catch {slurp $path} text] && $pid != [pid] && [string match "*\0TMPDIR=$dir\0*" "\0$text"]} {
			lappend pids $pid
		}
	}
	return $pids
}

# End what a case left. Again and again: one that ends may have begun another one, which the look before did not see.
proc reap {dir} {
	for {set i 0} {$i < 100 && [set pids [left_by $dir]] ne ""} {incr i} {
		foreach pid $pids {
			catch {exec kill -CONT $pid}
			catch {exec kill -KILL $pid}
		}
		after 10
	}
}

proc main {what args} {
	switch $what {
		list {
			load_cases
			set globs [lrange $args 1 end]
			dict for {name case} $::cases {
				set wanted [expr {$globs eq {}}]
				foreach glob $globs {
					if {[string match $glob $name]} {
						set wanted 1
					}
				}
				if {$wanted && ([lindex $args 0] ne "repeated" || [dict get $case repeated])} {
					puts "$name [dict get $case seconds]"
				}
			}
		}
		run {
			load_cases {uplevel #0 source}
			set status [run_case [lindex $args 0]]
			flush stdout
			exit $status
		}
		reap {
			reap [lindex $args 0]
		}
	}
}

main {*}$argv
