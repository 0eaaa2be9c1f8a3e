# SPDX-License-Identifier: GPL-3.0-or-later
# Write what a process holds shortly before it is killed for lack of memory. `mdbg -x before-oom.tcl
# -- -h` says how it is used.
#
# The limit may be that of any control group above the process, or the machine's memory. Near is what
# -percent says, since a slow leak stays near a limit for hours and a tenth is enough for a report; and
# what -seconds says, since a fast one takes the last tenth in less time than the report takes. For
# the latter two looks in a row must agree: a start that loads its data grows fast as well.
#
# For a report of the process leaks are searched, and it stands still or is copied, when memory is what it
# lacks. Where it is recorded the report is one of the recording, which another mdbg reads.

set usage "usage: mdbg -p PID -x before-oom.tcl -- \[OPTION\]... \[FILE.html\]
       mdbg -x before-oom.tcl -- \[OPTION\]... -p PID \[FILE.html\]
       mdbg -p PID --record DIR -x before-oom.tcl -- \[OPTION\]... \[FILE.html\]
Wait until a memory limit above the process is near (of its control groups, or the machine's memory).
Then print the sites that hold most, write the report to FILE.html, and end; the process runs on.
If it is recorded, the report is one of the recording: the process is neither stopped nor copied for it,
and mdbg ends with the process, whose end and last samples are in the recording.

  -percent N       near: so much of the limit is in use (90). Files that were not used lately are
                   not in use
  -seconds S       near: the limit is reached in S seconds at the present rate, and half of it is in
                   use (10); 0: never by this
  -every SECONDS   look so often (0.5)
  -limit N         so many sites (20)
  -h               this text

If mdbg is in the same control group, its own memory counts against the limit, too.
Status: 0 if the process ended and no limit was near; 23 if one was; 2 wrong usage."

proc misused {why} {
	puts stderr "before-oom: $why"
	puts stderr $::usage
	exit 2
}

proc number {text what least most} {
	if {![string is double -strict $text] || !($text >= $least && $text <= $most)} {
		misused "'$text' is no number of $what ($least to $most)"
	}
	return $text
}

set pid ""
set percent 90
set seconds 10
set every 0.5
set limit 20
while {[string match -* [lindex $argv 0]]} {
	set argv [lassign $argv option]
	switch -- $option {
		-h - --help { puts $usage; exit 0 }
		-p - -percent - -seconds - -every - -limit {
			if {![llength $argv]} {
				misused "a value goes after $option"
			}
			set argv [lassign $argv [expr {$option eq "-p" ? "pid" : [string range $option 1 end]}]]
		}
		default { misused "there is no option $option" }
	}
}
number $percent percent 1 100
number $seconds seconds 0 86400
number $every seconds 0.05 3600
if {![string is wide -strict $limit] || $limit < 1} {
	misused "'$limit' is no number of sites"
}
if {[llength $argv] > 1} {
	misused "'[lindex $argv 1]' is more than FILE.html"
}
set file [lindex $argv 0]
if {$file ne "" && ![file isdirectory [file dirname [file normalize $file]]]} {
	misused "there is no folder to write $file to"
}
if {[mdbg::pid] == 0} {
	if {$pid eq ""} {
		misused "no process"
	}
	mdbg::attach $pid
}

# All limits above the process, each as {name limit left rate}; of the machine, what is not available
# is in use. A rate that is not known is 0.
proc limits {} {
	set now [mdbg::memory_system limit 0]
	set found {}
	foreach group [dict get $now groups] {
		set most [dict get $group limit]
		set high [dict get $group high]
		if {[string is wide -strict $high] && (![string is wide -strict $most] || $high < $most)} {
			set most $high
		}
		if {[string is wide -strict $most] && [string is wide -strict [dict get $group left]]} {
			set rate [dict get $group rate]
			lappend found [list "control group [dict get $group path]" $most [dict get $group left] \
				[expr {$rate eq "-" ? 0 : $rate}]]
		}
	}
	set total [dict get $now total]
	set available [dict get $now available]
	if {[string is wide -strict $total] && [string is wide -strict $available]} {
		set change [dict get $now change available]
		set interval [dict get $now interval]
		lappend found [list "the machine" $total $available \
			[expr {$change eq "-" || $interval <= 0 ? 0 : -$change / $interval}]]
	}
	return $found
}

# The reason for which a limit is near, or nothing. `filling` has the names of the limits that the
# last look has seen filling fast.
proc near {} {
	global filling percent seconds

	set before $filling
	set filling {}
	foreach one [limits] {
		lassign $one name most left rate
		if {$most - $left >= $most * $percent / 100.0} {
			return "$name has $left bytes left of $most"
		}
		if {$rate > 0 && $left / $rate <= $seconds && $most - $left >= $most / 2} {
			if {$name in $before} {
				return "$name has $left bytes left of $most, which it takes in\
					[format %.1f [expr {$left / $rate}]] s"
			}
			lappend filling $name
		}
	}
	return ""
}

proc write_report {} {
	global file

	foreach record [mdbg::record] {
		record now
		try {
			exec [info nameofexecutable] -n -q --replay [dict get $record recording] \
				-c [list replay only [mdbg::pid]] -c [list report [file normalize $file]] </dev/null
			return
		} on error why {
			puts stderr "before-oom: the report is of the process: $why"
		}
	}
	report $file
}

# What can be said fast comes first: the process may be killed while the report is written.
proc write {why} {
	global file limit

	puts "[clock format [clock seconds] -format {%Y-%m-%d %H:%M:%S}] process [mdbg::pid]: $why"
	flush stdout
	malloc sites sort bytes limit $limit
	flush stdout
	if {$file ne ""} {
		write_report
		puts "the report is $file"
	}
	flush stdout
}

set filling {}
puts "process [mdbg::pid] is watched, with a look every [format %.3g $every] s"
flush stdout
while {1} {
	set why [near]
	if {$why ne ""} {
		write $why
		if {[llength [mdbg::record]]} {
			wait exit
		}
		exit 23
	}
	try {
		wait exit timeout [format %.3f $every]
		exit 0
	} trap {MDBG TIMEOUT} {} {}
}
