# SPDX-License-Identifier: GPL-3.0-or-later
# mdbg is killed while a thread of the target is in malloc_trim for it: the thread comes back by itself, nothing is changed,
# and no arena stays locked.

proc check_trimmed {t what} {
	if {[catch {
		check {[order $t errno] == 77} {errno is another}
		orders $t verify "holes 3" verify
		set rounds [order $t rounds]
		if {$::trim_threads} {
			until {[order $t rounds] > $rounds + 50}
		}
		if {$::trim_walked} {
			set m [live_start -p [pid_of $t]]
			check {[regexp {no damage found} [live $m "malloc check"]]} {[live $m "malloc check"]}
			live_end $m
			order $t verify
		}
	} message]} {
		fail_with_end $t $what $message
	}
}

# mdbg is killed so many microseconds after it was told to trim.
proc trim_and_kill {t us what} {
	order $t "holes 100"
	set m [live_start -p [pid_of $t]]
	puts $m "malloc trim"
	flush $m
	delay $us
	exec kill -KILL [pid $m]
	gone $m
	check_trimmed $t "$what, killed after $us us"
}

# Or gone.
proc is_traced {tid} {
	return [expr {[catch {slurp /proc/$tid/status} status] || [regexp {TracerPid:\t[1-9]} $status]}]
}

# An mdbg whose calls are followed by strace, which does as args say.
proc followed {t strace args} {
	set m [live_start -p [pid_of $t]]
	set pid [pid $m]
	set s [open |[list $strace -f -q -o $::tmp/calls -e trace=ptrace,waitid,pwrite64 {*}$args -p $pid 2>@stdout] r]
	# One that has breakpoints in a busy target makes calls all the time, and may have come to its last one already.
	until {![is_alive $pid] || 0 ni [lmap task [glob -nocomplain -tails -directory /proc/$pid/task *] {is_traced $task}]}
	return [list $m $s]
}

# How many calls it makes for a trim.
proc count_calls {t strace} {
	lassign [followed $t $strace] m s
	live $m "malloc trim"
	exec kill [pid $s]
	catch {close $s}
	live_end $m
	return [llength [regexp -all -inline -line {^\d+ +\w+\(} [slurp $::tmp/calls]]]
}

# Right before its call of this number.
proc kill_at_call {t strace nr} {
	lassign [followed $t $strace -e inject=ptrace,waitid,pwrite64:signal=KILL:when=$nr] m s
	chan configure $m -blocking 1
	catch {puts $m "malloc trim"; flush $m}
	catch {live_answer $m 60}
	catch {exec kill -KILL [pid $m]}
	gone $m
	catch {exec kill [pid $s]}
	catch {close $s}
}

foreach {name threads} {trim-kill-9 0 trim-kill-9-threads 3} {
	# The trials are spread over all of its calls, those around malloc_trim among them.
	by_both repeated $name-at-each-call 60 [string map [list THREADS $threads] {
		set strace [need strace]
		set ::trim_threads THREADS
		set ::trim_walked 1
		set t [start trim -t THREADS]
		order $t "holes 3"
		set before [state [pid_of $t]]
		set total [count_calls $t $strace]
		note "$total calls"
		check {$total > 20} {only $total calls}
		for {set i 0} {$i < $::trials} {incr i} {
			set nr [expr {1 + int(($i + rand()) * $total / $::trials)}]
			kill_at_call $t $strace $nr
			check_trimmed $t "trial $i, killed before call $nr"
		}
		if {!$::trim_threads} {
			check_state $before [pid_of $t]
		}
		finish $t
	}]
	by_both repeated $name-at-any-moment 60 [string map [list THREADS $threads] {
		set ::trim_threads THREADS
		set ::trim_walked 1
		set t [start trim -t THREADS]
		order $t "holes 100"
		attach_to {before m} $t
		set start [clock microseconds]
		catch {live $m "malloc trim"}
		set took [expr {[clock microseconds] - $start}]
		live_end $m
		for {set i 0} {$i < $::trials} {incr i} {
			trim_and_kill $t [expr {int(rand() * 1.2 * $took)}] "trial $i"
		}
		if {!$::trim_threads} {
			check_state $before [pid_of $t]
		}
		finish $t
	}]
}

# The same of the functions of other allocators, whose locks nobody sees.
foreach {allocator library} {jemalloc libjemalloc.so.2 tcmalloc libtcmalloc_minimal.so.4 mimalloc libmimalloc.so.2} {
	repeated trim-kill-9-$allocator 60 [string map [list LIBRARY $library] {
		set ::trim_threads 3
		set ::trim_walked 0
		set ::trials [expr {max(1, $::trials / 3)}]
		set t [start_preloaded LIBRARY trim -t 3]
		for {set i 0} {$i < $::trials} {incr i} {
			trim_and_kill $t [expr {int(rand() * 60000)}] "trial $i"
		}
		finish $t
	}]
}
