# SPDX-License-Identifier: GPL-3.0-or-later
# Threads that SIGSTOP has stopped, wherever they stood: in the middle of malloc and free, in mdbg's own code. They stand
# there until a SIGCONT comes.

# The thread goes on by some instructions, and stands still again with its process.
proc step {s t tid steps} {
	set pc [order $s "step [pid_of $t] $tid $steps"]
	until {[all_stopped [pid_of $t]]}
	return $pc
}

proc all_stopped {pid} {
	foreach task [glob /proc/$pid/task/*] {
		if {![string match "*State:\tT*" [slurp $task/status]]} {
			return 0
		}
	}
	return 1
}

# A target that works, and one who has it stand still; where its first steps are depends on where that is.
proc start_mill {who} {
	set t [start mill $who]
	set s [start step]
	return [list $t $s [order $t work]]
}

proc end_mill {t s} {
	exec kill -CONT [pid_of $t]
	order $t rest
	finish $t
	tell $s quit
	check {[ending $s] eq {exit 0}} {who steps has failed}
}

proc trace_to {path} {
	set ::env(MDBG_TRACE) $path
}

# How often mdbg has let the target run to wait for something.
proc waits {path} {
	return [regexp -all -line {waited for process} [slurp $path]]
}

# How often a thread has given its processor away: each time that mdbg has it stop and go on is one or two of them.
proc switches {pid tid} {
	regexp {\nvoluntary_ctxt_switches:\s+(\d+)} [slurp /proc/$pid/task/$tid/status] -> nr
	return $nr
}

# 25 places a trial, all over a round, and more until one is in the middle of a change: what seems damaged may be
# in change, and nothing is waited for.
foreach who {alone main worker} {
	repeated stopped-anywhere-in-malloc-$who 60 [string map [list WHO $who] {
		trace_to $::tmp/trace
		lassign [start_mill WHO] t s tid
		set m [live_start -p [pid_of $t]]
		step $s $t $tid 1
		set before [waits $::tmp/trace]
		set torn 0
		set listed 0
		set places [expr {25 * $::trials}]
		for {set i 0} {$i < $places || (!$torn && $i < 1000)} {incr i} {
			set pc [step $s $t $tid 211]
			set found [live_value $m mdbg::check]
			check {[dict get $found walked] && [dict get $found damages] == 0} {place $i, $pc: $found}
			foreach place [dict get $found damage] {
				check {[dict get $place doubt] ne ""} {place $i, $pc: $place}
				check {[dict get $place doubt] ne "inside" || [dict get $place thread] == $tid} {$place}
			}
			incr torn [expr {[dict get $found uncertain] > 0}]
			if {$i % 10 == 0 || ([dict get $found uncertain] && $listed < 10)} {
				incr listed [expr {[dict get $found uncertain] > 0}]
				set text [live $m "malloc allocations"]
				check {![regexp {heap is damaged} $text]} {place $i, $pc: [string range $text end-300 end]}
				set text [live $m malloc]
				check {![regexp {\(damaged:} $text]} {place $i, $pc: $text}
				set text [live $m "malloc leaks"]
				check {![regexp {places of the heaps are damaged} $text]} {place $i, $pc: $text}
			}
		}
		note "$torn of $i places were in a change"
		check {$torn > 0} {no place was in a change}
		check {[waits $::tmp/trace] == $before} {[waits $::tmp/trace] waits, $before before}
		until {[all_stopped [pid_of $t]]}
		live_end $m
		end_mill $t $s
	}]
}

# A heap is damaged, and a thread stands in another one: that is certain at each place.
foreach {who heap} {main 1 worker 0} {
	repeated stopped-beside-damage-$who 60 [string map [list WHO $who HEAP $heap] {
		trace_to $::tmp/trace
		set t [start mill WHO]
		set s [start step]
		set smashed [order $t smash]
		set tid [order $t work]
		set m [live_start -p [pid_of $t]]
		step $s $t $tid 1
		set before [waits $::tmp/trace]
		for {set i 0} {$i < 10 * $::trials} {incr i} {
			set pc [step $s $t $tid 97]
			set found [live_value $m mdbg::check]
			check {[dict get $found damages] == 1} {place $i, $pc: $found}
			foreach place [dict get $found damage] {
				set here [expr {[dict get $place address] == $smashed}]
				check {$here == ([dict get $place doubt] eq "")} {place $i, $pc: $place}
				check {!$here || [dict get $place heap] == HEAP} {place $i, $pc: $place}
			}
		}
		check {[regexp {this is no chunk header: size 0x4141414141414141\n  before it} [live $m "malloc check"]]} {not certain}
		check {[regexp {heap is damaged} [live $m "malloc allocations"]]} {malloc allocations does not say}
		set heaps [dict get [live_value $m mdbg::malloc] heaps]
		check {[lmap is $heaps {dict get $is damaged}] eq [lmap i {0 1} {expr {$i == HEAP}}]} {$heaps}
		check {[waits $::tmp/trace] == $before} {[waits $::tmp/trace] waits, $before before}
		live_end $m
		exec kill -CONT [pid_of $t]
		orders $t rest mend
		finish $t
		tell $s quit
		check {[ending $s] eq {exit 0}} {who steps has failed}
	}]
}

# The text is patched and put back around threads that stand in it, and nothing is waited for.
foreach who {alone worker} {
	by_both repeated stopped-anywhere-and-attached-$who 60 [string map [list WHO $who] {
		lassign [start_mill WHO] t s tid
		trace_to $::tmp/trace
		for {set i 0} {$i < 3 * $::trials} {incr i} {
			file delete $::tmp/trace
			set pc [step $s $t $tid 61]
			set before [state [pid_of $t] -a]
			set text [mdbg_ok -q -p [pid_of $t] -c "malloc check" -c "malloc allocations"]
			check {[regexp {no damage} $text]} {place $i, $pc: $text}
			check {[waits $::tmp/trace] == 0} {place $i, $pc: [slurp $::tmp/trace]}
			until {[all_stopped [pid_of $t]]}
			check_state $before [pid_of $t] -a
		}
		end_mill $t $s
	}]
}

# It stands behind a jump: in a thunk, in the agent, or where a return address leads to one. The detach leaves what the
# thread needs, says so, and waits for nothing.
repeated stopped-anywhere-and-detached 60 {
	lassign [start_mill alone] t s tid
	trace_to $::tmp/trace
	set stayed 0
	for {set i 0} {$i < 2 * $::trials} {incr i} {
		file delete $::tmp/trace
		set m [live_start -p [pid_of $t]]
		# Out of the code of the one before, and into this one's.
		set pc [step $s $t $tid 701]
		set waits [waits $::tmp/trace]
		set switches [switches [pid_of $t] $tid]
		live $m detach
		live_end $m
		check {[waits $::tmp/trace] == $waits} {$pc: [slurp $::tmp/trace]}
		set switches [expr {[switches [pid_of $t] $tid] - $switches}]
		check {$switches < 200} {$pc: it was stopped and let go on $switches times}
		set said [regexp {still inside} [slurp $::live_err($m)]]
		incr stayed $said
		if {[regexp {inside the code of a probe} [slurp $::live_err($m)]]} {
			check {[regexp {hint: the process is stopped: kill -CONT} [slurp $::live_err($m)]]} {no hint}
		}
		until {[all_stopped [pid_of $t]]}
		check {![string match "*memfd:mdbg*" [slurp /proc/[pid_of $t]/maps]] || $said} {$pc: the log stays}
	}
	note "in $stayed of $i detaches the thread stood inside"
	check {$stayed > 0} {the thread never stood inside}
	exec kill -CONT [pid_of $t]
	order $t rest
	mdbg_ok -q -p [pid_of $t]
	check {![string match "*memfd:mdbg*" [slurp /proc/[pid_of $t]/maps]]} {a log stays}
	finish $t
	tell $s quit
	check {[ending $s] eq {exit 0}} {who steps has failed}
}

# For how long the process stood still is said where it did, and only there.
case stood-still 60 {
	start_watched {t m} mill alone
	foreach command {malloc "malloc check"} {
		check {[regexp -line {^The process stood still for [0-9.]+ m?s$} [live $m $command]]} {$command: [live $m $command]}
	}
	check {[regexp {\nLog: [^\n]*$} [string trimright [live $m malloc]]]} {Log: is not the last line: [live $m malloc]}
	foreach command {mdbg::malloc mdbg::check} {
		set begun [clock microseconds]
		set stood [dict get [live_value $m $command] stood]
		check {$stood > 0 && $stood * 1e6 <= [clock microseconds] - $begun} {$command: $stood}
	}
	live $m interrupt
	foreach command {malloc "malloc check"} {
		check {![regexp {stood still} [live $m $command]]} {$command: [live $m $command]}
	}
	foreach command {mdbg::malloc mdbg::check} {
		check {[dict get [live_value $m $command] stood] == 0} {$command: $::result}
	}
	live $m cont
	finish $t $m
}

# Threads that are at work when the signal comes stand anywhere, traps that are not reported yet among them.
by_both repeated stopped-at-work 120 {
	set t [start exact -t 6 {*}$::rest]
	for {set i 0} {$i < 3 * $::trials} {incr i} {
		set m [live_start -p [pid_of $t]]
		order $t go
		live $m "wait 0.01"
		exec kill -STOP [pid_of $t]
		until {[regexp {State:\t[Tt]} [slurp /proc/[pid_of $t]/status]]}
		set found [live_value $m mdbg::check]
		check {[dict get $found walked] && [dict get $found damages] == 0} {$i: $found}
		set text [live $m "malloc allocations limit 1"]
		check {![regexp {heap is damaged} $text]} {$i: $text}
		live_end $m
		until {[all_stopped [pid_of $t]]}
		exec kill -CONT [pid_of $t]
		order $t pause
	}
	finish $t
}
