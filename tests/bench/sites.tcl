# SPDX-License-Identifier: GPL-3.0-or-later
# A million blocks of 10,000 sites with long C++ names: what it costs to add them up and to name them.

proc bench_sites {} {
	set n 1000000
	set t [start_bench $::build/bench/manysites]
	set m [live_start -p [pid_of $t]]
	order $t "make $n" 600
	puts "\n$n blocks of 10,000 sites with C++ names:\n"
	foreach {what command} {
		"malloc sites, first, s" "malloc sites"
		"malloc sites again, s" "malloc sites"
		"malloc sites by function, s" "malloc sites by function"
		"mdbg::sites, s" "set all \[mdbg::sites\]; set all {}"
	} {
		set to [expr {[string match malloc* $command] ? " > $::tmp/sites" : ""}]
		limit $what [expr {[live_value $m "lindex \[time {$command$to}] 0" 300] / 1e6}] <= 1
	}
	live $m "malloc sites > $::tmp/sites"
	check {[exec grep -c ^# $::tmp/sites] == 10000} {not all sites are listed}
	check {[exec grep -c {^    in make<std::map<std::string, std::unordered_map<Tag<} $::tmp/sites] == 10000} {names are not short}
	let_go $m
	finish $t
}
