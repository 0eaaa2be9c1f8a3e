# SPDX-License-Identifier: GPL-3.0-or-later
# growth fault and kernel, begun and ended again and again while four threads map, touch and unmap all the time. (The same of
# brk, mmap and shm is growth-load.) TRIALS is how often.

# Descriptors that mdbg itself has open, and what it holds in the kernel by them.
proc open_descriptors {m} {
	return [lsort [lmap fd [glob /proc/[pid $m]/fd/*] {
		if {[catch {file readlink $fd} name]} continue
		string cat $name
	}]]
}

# What the kind has of the load must be there each tenth time, and not be of the time before: it begins anew.
proc start_and_stop {kind trials} {
	set t [start mapper -t 4]
	set before [state [pid_of $t] -a]
	set m [live_start -p [pid_of $t]]
	start_growth $m $kind
	live $m "growth stop"
	set attached [state [pid_of $t]]
	set descriptors [open_descriptors $m]
	order $t go
	for {set i 0} {$i < $trials} {incr i} {
		live $m "growth start $kind"
		order $t "more 100"
		if {$i % 10 == 0} {
			set sites [live_value $m "mdbg::growth $kind limit 5"]
			check {[llength $sites] > 0} {trial $i: nothing is seen of the load}
		}
		live $m "growth stop"
		check {[string match "*not recorded*" [live_error $m "growth $kind"]]} {trial $i: $::result}
	}
	orders $t pause drop
	check {[open_descriptors $m] eq $descriptors} {mdbg had $descriptors, and has [open_descriptors $m]}
	check_state $attached [pid_of $t]
	finish $t $m $before -a
}

repeated growth-fault-load 60 {
	start_and_stop fault $::trials
}

repeated growth-kernel-load 120 {
	start_and_stop kernel $::trials
}
