# SPDX-License-Identifier: GPL-3.0-or-later
# Libraries that allocate as soon as they are loaded, before mdbg knows of them: each stack is whole all the same.

set libraries 100
# The sizes of urgent.h: who makes these blocks, and down to where their stacks lead.
set urgent {100001 {in_constructor _start} 100002 {urgent_call _start} 100003 {in_thread *clone3*}}

# What mdbg is to run: of each site its blocks, and the functions of its stack.
set urgent_script {
	foreach size {100001 100002 100003} {
		foreach site [mdbg::sites size == $size] {
			set functions [lmap frame [mdbg::frames [dict get $site stack]] {dict get $frame function}]
			puts "site $size [dict get $site count] [dict get $site total] [dict get $site freed] $functions"
		}
	}
}

# Each library has three blocks of each kind from one place, and one site of them; n: libraries that were loaded.
proc urgent_is_whole {report n} {
	set sites [lmap line [split $report "\n"] {if {![string match "site *" $line]} continue; lrange $line 1 end}]
	foreach {size want} $::urgent {
		lassign $want function outermost
		set those [lsearch -all -inline -index 0 $sites $size]
		check {[llength $those] == $n} {[llength $those] sites of $size bytes, not $n: [join $those "\n"]}
		foreach site $those {
			set names [lrange $site 4 end]
			check {$function in $names && [string match $outermost [lindex $names end]]} {$site}
			check {[lrange $site 1 3] eq {3 3 0}} {$site}
		}
	}
}

proc urgent_report {m} {
	return [live $m "source [spit $::tmp/report.tcl $::urgent_script]"]
}

case urgent-libraries 60 {
	start_watched {t m} urgent
	order $t "load $::libraries"
	urgent_is_whole [urgent_report $m] $::libraries
	check {![string match "*cut short*" [live $m malloc]]} {[live $m malloc]}
	finish $t $m
}

# One at a time, at any moment between two looks of mdbg.
repeated urgent-now-and-then 120 {
	start_watched {t m} urgent
	for {set i 0} {$i < 2 * $::trials} {incr i} {
		order $t "load 3"
		delay [expr {int(rand() * 150000)}]
	}
	urgent_is_whole [urgent_report $m] [expr {6 * $::trials}]
	finish $t $m
}

# What no mdbg has seen waits for the next one.
case urgent-libraries-kept 60 {
	start_watched {t m} urgent
	live $m "detach -keep"
	live_end $m
	order $t "load $::libraries"
	set m [live_start -p [pid_of $t]]
	urgent_is_whole [urgent_report $m] $::libraries
	finish $t $m
}

case urgent-libraries-started 60 {
	set report [spit $::tmp/report.tcl $::urgent_script]
	urgent_is_whole [mdbg_ok -q -c {wait exit} -c "source $report" -- $::build/targets/urgent $::libraries] $::libraries
}
