# SPDX-License-Identifier: GPL-3.0-or-later
# After kill -9 of mdbg its breakpoints go by themselves, where that is safe (agent/trap_handler.c, probe/sigtrap.h).

# What is of files, and the text; without that of the files that match `but`.
proc file_lines {lines {but ""}} {
	set kept {}
	set file ""
	foreach line $lines {
		if {[string match "map *" $line]} {
			set file [lindex $line 6]
		}
		if {[string match /* $file] && ![string match /memfd:mdbg* $file] &&
			([string match "map *" $line] || ([string match "text *" $line] && ($but eq "" || ![string match $but $file])))} {
			lappend kept $line
		}
	}
	return $kept
}

proc has_text {before pid {but */ld-linux*}} {
	return [expr {[file_lines [state $pid] $but] eq [file_lines $before $but]}]
}

proc kill_mdbg {m} {
	set pid [pid $m]
	exec kill -KILL $pid
	until {![is_alive $pid]}
	chan configure $m -blocking 1
	catch {close $m}
}

# The next mdbg has nothing to say about what is left, works, and leaves nothing.
proc check_next {before t} {
	set m [live_start -p [pid_of $t]]
	live_all $m malloc detach
	live_end $m
	set said [string trim [slurp $::live_err($m)]]
	check {[regexp {^mdbg: took out what an earlier mdbg had left, and what it recorded is lost: [^;\n]*$} $said]} {the next mdbg says: $said}
	check_state $before [pid_of $t]
}

# The journal's `tracer`, as the target has it.
proc tracer_word {pid} {
	regexp -line {^([0-9a-f]+)-\S+ rw-s 0+ .*/memfd:mdbg} [slurp /proc/$pid/maps] -> address
	set chan [open /proc/$pid/mem rb]
	seek $chan [expr {"0x$address" + 28}]
	binary scan [read $chan 4] iu word
	close $chan
	return $word
}

# The state of a process whose memory is all executable, without what it writes to.
proc widened_state {pid} {
	set kept {}
	foreach line [state $pid] {
		if {[regexp {^map (\S+) r-x} $line -> range] || ![regexp {^text|^map \S+ rwxp} $line] ||
			([regexp {^text (\S+)} $line -> text] && [info exists range] && $text eq $range)} {
			lappend kept $line
		}
	}
	return $kept
}

# So with a process whose memory is all executable (personality(2)): before Linux 5.8 each whose file does not say otherwise.
by_both case killed-read-implies-exec 30 {
	set t [start_in {} hard -t 2 -i]
	order $t "make 10 777"
	set before [widened_state [pid_of $t]]
	kill_mdbg [live_start -p [pid_of $t]]
	order $t "pairs 100"
	set maps [slurp /proc/[pid_of $t]/maps]
	check {[string match "*rwxs*/memfd:mdbg*" $maps]} {the journal is not executable: $maps}
	set m [live_start -p [pid_of $t]]
	live_all $m "malloc sites limit 1" detach
	live_end $m
	set new [lmap line [widened_state [pid_of $t]] {expr {$line in $before ? [continue] : $line}}]
	check {$new eq ""} {not as before: $new}
	finish $t
}

# Eight threads at work hit all of them at the same time, mdbg is killed again and again.
repeated killed-breakpoints-go 60 {
	by_breakpoints
	set t [start exact -t 8 {*}$::rest]
	set before [state [pid_of $t]]
	order $t go
	for {set i 0} {$i < $::trials * 3} {incr i} {
		set m [live_start -p [pid_of $t]]
		order $t "more 10"
		kill_mdbg $m
		orders $t "more 10" pause each
		check {[has_text $before [pid_of $t]]} {trial $i: text or mappings are not as before}
		order $t verify
		if {$i % 2} {
			check_next $before $t
		}
		order $t go
	}
	order $t pause
	kill_mdbg [live_start -p [pid_of $t]]
	check_next $before $t
	finish $t
}

# Children that are forked while the breakpoints are still in have them in a copy of their own.
repeated killed-then-forks 60 {
	by_breakpoints
	for {set i 0} {$i < $::trials} {incr i} {
		set t [start forker]
		set before [state [pid_of $t]]
		kill_mdbg [live_start -p [pid_of $t]]
		set child [order $t keep]
		until {[has_text $before $child]}
		orders $t drop "fork 5" "tfork 5" "clonevm 5" "vfork 5" "alloc 10"
		check {[has_text $before [pid_of $t]]} {text or mappings are not as before}
		check_next $before $t
		finish $t
	}
}

# So with the breakpoint in the loader.
repeated killed-then-loads 60 {
	by_breakpoints
	for {set i 0} {$i < $::trials} {incr i} {
		set t [start dlopener]
		order $t "cycle 1"
		set before [state [pid_of $t]]
		kill_mdbg [live_start -p [pid_of $t]]
		order $t "cycle 5"
		check {[has_text $before [pid_of $t] ""]} {text or mappings are not as before}
		check_next $before $t
		finish $t
	}
}

# Where it could do harm, or is not to be had, the threads are sent on as long as nobody comes.
foreach {name options} {mdwe {-w} seccomp {-s filter} seccomp-of-one {-s thread} locked {-l}} {
	case killed-breakpoints-stay-$name 30 [string map [list OPTIONS $options] {
		by_breakpoints
		set t [start_in {} hard -t 3 OPTIONS]
		set before [state [pid_of $t]]
		for {set i 0} {$i < 3} {incr i} {
			set m [live_start -p [pid_of $t]]
			order $t "make 10 777"
			kill_mdbg $m
			order $t "pairs 1000"
			check {![has_text $before [pid_of $t]]} {the text has been changed}
			check {[tracer_word [pid_of $t]] == 0} {the handler still tries: [tracer_word [pid_of $t]]}
		}
		check_next $before $t
		finish $t
	}]
}

# A filter that comes while mdbg is there, in a thread that allocates nothing meanwhile.
case killed-after-a-filter-came 30 {
	by_breakpoints
	set t [start_in {} hard]
	order $t "pairs 1"	;# the first one asks for random numbers, which the filter forbids
	set before [lmap line [state [pid_of $t]] {regsub {Seccomp:\t0} $line "Seccomp:\t2"}]
	set m [live_start -p [pid_of $t]]
	check {[tracer_word [pid_of $t]] != 0} {mdbg has not left its word}
	order $t filter
	until {[tracer_word [pid_of $t]] == 0}
	kill_mdbg $m
	check {![catch {order $t "pairs 1000"} message]} {$message ([ending $t])}
	check {![has_text $before [pid_of $t]]} {the text has been changed}
	check_next $before $t
	finish $t
}
