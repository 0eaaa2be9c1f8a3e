# SPDX-License-Identifier: GPL-3.0-or-later
# memory service: the processes of a name or a control group, and the one of twenty workers that leaks.

proc service_row {rows pid} {
	foreach row $rows {
		if {[dict get $row pid] == $pid} {
			return $row
		}
	}
	fail "$pid is not in $rows"
}

# Two commands name the worker that leaks, with its pid; workers that come and go are counted.
case service-leak 60 {
	set name svc[pid]
	set t [start prefork 20 $name]
	set workers [order $t pids]
	set m [live_start]
	set text [live $m "memory service $name"]
	check {[regexp -line {^21 processes, resident \d+, pss \d+, private \d+, swap \d+$} $text]} {$text}
	check {[regexp -line {^No outlier: } $text] && [regexp -line {^Control group /} $text]} {$text}
	set leaks [lindex $workers 13]
	order $t "leak 13 2"
	set text [live $m "memory service $name"]
	check {[regexp -line "^Outlier: $leaks grows: \\+\\d+, where the median is \\+\\d+$" $text]} {$text}
	check {[regexp -line "^Next: attach $leaks$" $text]} {$text}
	check {[regexp -line "^ *$leaks .* growth$" $text]} {$text}
	# By size alone, as a new mdbg sees it.
	order $t "leak 13 20"
	set text [mdbg_ok -c "memory service $name"]
	check {[regexp -line "^Outlier: $leaks holds \\d+, where the median is \\d+$" $text]} {$text}
	live_value $m "mdbg::memory_service $name"
	set new [order $t "renew 4"]
	order $t "leak 5 1"
	set rows [live_value $m "mdbg::memory_service $name"]
	check {[llength $rows] == 21} {[llength $rows] rows}
	check {[dict get [service_row $rows $new] growth] eq "-"} {the new one has grown}
	set one [service_row $rows [lindex $workers 5]]
	check {[dict get $one outlier] eq "growth" && abs([dict get $one growth] - (1 << 20)) < 65536} {$one}
	check {[dict get [lindex $rows 0] pid] == [lindex $workers 5]} {not the first: [lindex $rows 0]}
	check {[dict get [service_row $rows $leaks] outlier] eq "size"} {[service_row $rows $leaks]}
	# The kernel's own figures, of a worker that waits. Its share of the libraries' pages changes with each process that
	# begins or ends meanwhile, anybody's.
	set rollup [slurp /proc/$leaks/smaps_rollup]
	regexp -line {^Pss: +(\d+) kB} $rollup -> pss
	check {abs([dict get [service_row $rows $leaks] pss] - ($pss << 10)) < 65536} {$pss kB, and [service_row $rows $leaks]}
	order $t "renew 6"
	set text [live $m "memory service $name"]
	check {[regexp -line {^In .*: those that stayed [-+]\d+; 1 came with \d+; 1 went, which had \d+$} $text]} {$text}
	finish $t $m
}

case service-words 30 {
	foreach {words why} {"" "*usage: memory service*" "a b" "*usage: memory service*" nosuch*name "*no process of this name*"
			     /no/such/group "*no process of this name*"} {
		mdbg -c "memory service $words"
		check {$::status == 1 && [string match $why $::err]} {memory service $words: $::err}
	}
	set path [lindex [regexp -inline -line {^(?:\d+:(?:[^:]*,)?memory(?:,[^:]*)?|0:):(/.*)$} [slurp /proc/self/cgroup]] 1]
	check {[regexp -line {^\d+ process(es)?, resident} [mdbg_ok -c "memory service $path"]] || $path eq ""} {group $path}
}
