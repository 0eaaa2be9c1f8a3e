# SPDX-License-Identifier: GPL-3.0-or-later
# A million live blocks in ten thousand sites with the long names of C++: how long `malloc sites` takes, names and all.

proc bench_sites {} {
	set t [start templates]
	set m [live_start -p [pid_of $t]]
	order $t "make 1000000" 600
	puts "\nA million blocks from 10,000 stacks of C++ templates:\n"
	set all [live_value $m {llength [mdbg::sites]}]
	check {$all == 10000} {$all sites}
	# Each look is the first of its kind: names are kept from one to the next.
	limit "malloc sites > FILE, first, s" [seconds $m "malloc sites > $::tmp/sites"] <= 1
	limit "malloc sites > FILE, later, s" [seconds $m "malloc sites > $::tmp/sites" 3] <= 1
	limit "malloc sites by function, s" [seconds $m "malloc sites by function > $::tmp/functions" 3] <= 1
	limit "mdbg::sites, s" [seconds $m "mdbg::sites" 3] <= 1
	check {[exec grep -c "^#" $::tmp/sites] == 10000} {not all are listed}
	let_go $m
	finish $t
}
