# SPDX-License-Identifier: GPL-3.0-or-later
# malloc trim: free pages are given back, and the target is as before.

# What every thread does still goes on.
proc check_rounds {t} {
	set rounds [order $t rounds]
	until {[order $t rounds] > $rounds + 100}
}

by_both case trim 60 {
	set t [start trim]
	order $t "holes 60"
	attach_to {before m} $t
	set did [live_value $m mdbg::trim]
	check {[dict get $did before] - [dict get $did after] > 20000000} {only so much was given back: $did}
	check {[dict get $did pause] > 0} {$did}
	check {[order $t errno] == 77} {errno is another}
	order $t verify
	set text [live $m "malloc trim"]
	check {[regexp {^\d+ KB resident before, \d+ KB after: \d+ KB given back; the process stood still for [0-9.]+ m?s\n\d+ bytes are free in the heaps, \d+ of them resident:\n +0  go by `malloc trim`\n +\d+  are kept by live blocks} $text]} {$text}
	check {[regexp {no damage found} [live $m "malloc check"]]} {[live $m "malloc check"]}
	orders $t "holes 70" verify
	finish $t $m $before
}

# Again and again, while mdbg waits; not behind a detach.
case trim-every 60 {
	start_watched {t m} trim
	check {[live $m "malloc trim every"] eq "The heaps are trimmed when `malloc trim` is typed"} {[live $m "malloc trim every"]}
	check {[string match {*the shortest time is 1s*} [live_error $m "malloc trim every 900ms"]]} {}
	check {[regexp {^The heaps are trimmed every 1.0 s: 0 times so far} [live $m "malloc trim every 1s"]]} {}
	order $t "holes 60"
	until {[regexp {: [1-9]\d* times so far, [1-9]\d{4} KB given back in all, the process stood still} [live $m "malloc trim every"]]}
	order $t verify
	check {[live $m "malloc trim every off"] eq "The heaps are trimmed when `malloc trim` is typed"} {}
	live_all $m "malloc trim every 1h" detach "attach [pid_of $t]"
	check {[live $m "malloc trim every"] eq "The heaps are trimmed when `malloc trim` is typed"} {it goes on}
	finish $t $m
}

# With threads at work, which are inside the allocator every now and then.
by_both case trim-threads 60 {
	set t [start trim -t 4]
	order $t "holes 60"
	attach_to {before m} $t
	set given 0
	for {set i 0} {$i < 5} {incr i} {
		until {![catch {live_value $m mdbg::trim} did] || ![regexp {is locked|is in brk|no thread of process} $did]}
		check {![catch {incr given [expr {[dict get $did before] - [dict get $did after]}]}]} {$did}
		order $t verify
		check_rounds $t
	}
	check {$given > 20000000} {only $given bytes were given back}
	live_end $m
	order $t verify
	finish $t
}

# Where it could do harm it is refused, and nothing is done.
case trim-refusals 60 {
	set t [start trim]
	order $t "holes 20"
	set m [live_start -p [pid_of $t]]
	order $t damage
	check {[string match {*heaps are damaged*} [live_error $m "malloc trim"]]} {damage}
	order $t repair
	live $m "malloc off"
	check {[string match {*without probes*} [live_error $m "malloc trim"]]} {[live_error $m "malloc trim"]}
	live_all $m "malloc on" "malloc trim"
	order $t seccomp
	set error [live_error $m "malloc trim"]
	check {[string match {*seccomp*} $error]} {$error}
	check {[string match {*'all' is not expected here*} [live_error $m "malloc trim all"]]} {all}
	finish $t $m

	set t [start trim -b]
	order $t "holes 20"
	set m [live_start -p [pid_of $t]]
	# It is in a read that does not wait now and then.
	until {[catch {live $m "malloc trim"} error]}
	check {[string match {*is in no system call at the moment*} $error]} {$error}
	finish $t $m

	set m [live_start]
	check {[string match {*no process*} [live_error $m "malloc trim"]]} {no process}
	live_end $m
	# A breakpoint of ours may be in what another allocator's function calls.
	set t [start_preloaded libjemalloc.so.2 trim]
	set m [live_start -p [pid_of $t] --engine breakpoint]
	check {[string match {*cannot be called past breakpoint probes*} [live_error $m "malloc trim"]]} {[live_error $m "malloc trim"]}
	finish $t $m
}

proc start_preloaded {library args} {
	set path [lindex [glob -nocomplain /usr/lib/*/$library] 0]
	skip_if {$path eq ""} {$library is not installed}
	return [start_command env LD_PRELOAD=$path $::build/targets/[lindex $args 0] {*}[lrange $args 1 end]]
}

# redis-server has a thread of jemalloc's, which is inside the library for good: it sleeps there.
case trim-redis 60 {
	start_redis
	before_keys
	set m [live_start -p $::redis]
	exec redis-benchmark -p $::port -t set -r 50000 -n 30000 -q
	until {![catch {live_value $m mdbg::trim} did] || ![regexp {is inside|no thread of process} $did]}
	check {[dict exists $did after]} {$did}
	check {[dict get [live_value $m mdbg::malloc] damages] == 0} {$::result}
	live_end $m
	check_before_keys
	end_redis
}

# Other allocators give back what is free, by a function of their own, while threads are inside them all the time.
# (mimalloc has done so for large blocks before it is asked.)
foreach {allocator library least} {
	jemalloc libjemalloc.so.2 10000000 tcmalloc libtcmalloc_minimal.so.4 10000000
	mimalloc libmimalloc.so.2 -1000000
} {
	case trim-$allocator 60 [string map [list LIBRARY $library LEAST $least] {
		set t [start_preloaded LIBRARY trim -t 3]
		order $t "holes 60"
		set m [live_start -p [pid_of $t]]
		set given 0
		for {set i 0} {$i < 10} {incr i} {
			until {![catch {live_value $m mdbg::trim} did] || ![regexp {is inside|no thread of process} $did]}
			check {![catch {incr given [expr {[dict get $did before] - [dict get $did after]}]}]} {$did}
			order $t verify
			check_rounds $t
		}
		check {$given > LEAST} {only $given bytes were given back}
		check {[order $t errno] == 77} {errno is another}
		live_end $m
		order $t verify
		finish $t
	}]
}

# Whoever waits in a system call, the thread that makes the call among them, notices nothing.
by_both case trim-blocked 60 {
	start_watched {t m} blocked
	for {set i 0} {$i < 5} {incr i} {
		live $m "malloc trim"
	}
	orders $t wake verify
	finish $t $m
}
