# SPDX-License-Identifier: GPL-3.0-or-later
# After a detach all is as before.

by_both repeated detach-leaves-a-quiet-target-as-it-was 60 {
	set t [start exact -t 4]
	order $t each
	set before [state -a [pid_of $t]]
	for {set i 0} {$i < $::trials} {incr i} {
		mdbg_ok -q -p [pid_of $t] -c malloc -c detach
		check_state $before [pid_of $t] -a
	}
	finish $t
}

by_both repeated detach-leaves-a-busy-target-as-it-was 60 {
	set t [start exact -t 8 {*}$::rest]
	set before [state [pid_of $t]]
	order $t go
	for {set i 0} {$i < $::trials} {incr i} {
		mdbg_ok -q -p [pid_of $t] -c {wait 0.05} -c {malloc sites limit 1}
		check_state [state_running $before] [pid_of $t]
	}
	order $t pause
	finish $t {} $before
}

# A signal came when a thread stood on a displaced instruction: its handler returns there.
by_both repeated detach-while-signal-handlers-run 60 {
	set t [start exact -t 4 -p -l]
	set before [state [pid_of $t]]
	for {set i 0} {$i < 4 * $::trials} {incr i} {
		order $t go
		mdbg_ok -q -p [pid_of $t] -c {wait 0.01}
		order $t pause
		check_state $before [pid_of $t]
	}
	finish $t
}

# (What differs between a target that runs and one that waits: nothing that state prints.)
proc state_running {before} {
	return $before
}

by_both case detach-by-quit 60 {
	set t [start exact]
	set before [state [pid_of $t]]
	mdbg_ok -q -p [pid_of $t] -c quit
	check_state $before [pid_of $t]
	mdbg_ok -q -p [pid_of $t]
	finish $t {} $before
}

proc stopped {pid} {
	return [string match "*State:\tT*" [slurp /proc/$pid/status]]
}

by_both repeated a-stopped-target-stays-stopped 60 {
	set t [start exact -t 2]
	exec kill -STOP [pid_of $t]
	until {[stopped [pid_of $t]]}
	until {[lsearch [state [pid_of $t]] "thread * going *"] < 0}
	set before [state [pid_of $t]]
	for {set i 0} {$i < $::trials} {incr i} {
		mdbg_ok -q -p [pid_of $t] -c status -c {malloc allocations} -c where
		# (A thread that is let go walks back into its stop as soon as it gets a processor.)
		until {[lsearch [state [pid_of $t]] "thread * going *"] < 0}
		check_state $before [pid_of $t]
	}
	exec kill -CONT [pid_of $t]
	order $t each
	finish $t
}

by_both case stopped-while-attached 60 {
	start_watched {t m} exact -t 2
	exec kill -STOP [pid_of $t]
	until {[regexp {State:\t[Tt]} [slurp /proc/[pid_of $t]/status]]}
	live_all $m "wait 0.2" where
	live_end $m
	until {[stopped [pid_of $t]]}
	exec kill -CONT [pid_of $t]
	order $t each
	finish $t
}

by_both case continued-while-attached 60 {
	set t [start exact -t 2]
	exec kill -STOP [pid_of $t]
	until {[stopped [pid_of $t]]}
	set m [live_start -p [pid_of $t]]
	exec kill -CONT [pid_of $t]
	order $t each
	live_end $m
	order $t "ops 100"
	check {![stopped [pid_of $t]]} {the target is stopped}
	finish $t
}

# System calls that wait must not see the attach and the detach.
by_both repeated blocked-system-calls 60 {
	set t [start blocked]
	order $t wake ;# each of them waits now
	set before [state [pid_of $t]]
	for {set i 0} {$i < $::trials} {incr i} {
		mdbg_ok -q -p [pid_of $t] -c detach
		set answer [ask $t verify]
		if {[lindex $answer 0] ne "ok"} {
			set bad {}
			foreach line [ask_list $t report] {
				if {[lrange $line 2 4] ne {0 0 0}} {
					lappend bad $line
				}
			}
			fail "after [expr {$i + 1}] cycles (name rounds EINTR early wrong late-ms): [join $bad {; }]"
		}
	}
	order $t wake
	note [join [ask_list $t report] "\n"]
	finish $t {} $before
}

# A stop for the moment (where, interrupt) neither.
by_both case blocked-system-calls-and-stops 60 {
	set t [start blocked]
	order $t wake ;# each of them waits now
	set m [live_start -p [pid_of $t]]
	for {set i 0} {$i < 20} {incr i} {
		live_all $m "where all" interrupt cont
	}
	order $t wake
	set answer [ask $t verify]
	check {[lindex $answer 0] eq "ok"} {[join [ask_list $t report] {; }]}
	finish $t $m
}

# Somebody's patch at an entry: refused, named, left alone.
by_both case somebody-elses-patch 60 {
	set nm [need nm]
	set t [start exact]
	set maps [split [slurp /proc/[pid_of $t]/maps] "\n"]
	set line [lsearch -inline $maps "*libc.so.6*"]
	set path [lindex $line end]
	regexp -line {^([0-9a-f]+) \S pvalloc@@} [exec $nm -D $path] -> value
	set address [expr {"0x[lindex [split [lindex $line 0] -] 0]" + "0x$value"}]
	set mem [open /proc/[pid_of $t]/mem r+]
	chan configure $mem -translation binary -buffering none
	seek $mem $address
	set old [read $mem 1]
	seek $mem $address
	puts -nonewline $mem "\xcc"
	flush $mem
	attach_to {before m} $t
	set verbose [live $m "malloc -v"]
	check {[regexp -line "pvalloc.*[format %x $address]" $verbose] || [regexp -line "pvalloc.*int3" $verbose]} \
		{malloc -v does not name the patch: $verbose}
	order $t "ops 0"
	live_end $m
	check_state $before [pid_of $t]
	seek $mem $address
	puts -nonewline $mem $old
	flush $mem
	close $mem
	finish $t
}

# Stacks that are long to read are read in several short stops, and nothing stays.
by_both case detach-large-stacks 60 {
	set ::env(MDBG_TRACE) $::tmp/trace
	set t [start deepstack]
	order $t "threads 48 7"
	attach_to {before m} $t
	live_end $m
	check {[regexp {waited for process [0-9]+ in ([0-9]+) steps} [slurp $::tmp/trace] -> steps] && $steps > 1} \
		{all in one stop: [slurp $::tmp/trace]}
	finish $t {} $before
}
