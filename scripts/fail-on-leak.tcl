# SPDX-License-Identifier: GPL-3.0-or-later
# Fail where blocks are definitely lost at the end, for continuous integration: what --fail-on-leak
# does, as a script, with limits. `mdbg -x fail-on-leak.tcl -- -h` says how it is used.

set usage "usage: mdbg -p PID -x fail-on-leak.tcl \[-- BYTES \[FILTER\]\]
       mdbg -x fail-on-leak.tcl -- PID \[BYTES \[FILTER\]\]
       mdbg --stop -c {source FOLDER/fail-on-leak.tcl} -- PROGRAM \[ARG\]...
Wait for the end of the process, then write the leaks to standard error and end with status 23 if
more than BYTES (0) are definitely lost in blocks that match FILTER (all): 1000 \"function == parse*\".
Suppressions (--suppressions) are honoured.

Status: 0 if no more is lost; 23 if more is; 2 wrong usage."

proc misused {why} {
	puts stderr "fail-on-leak: $why"
	puts stderr $::usage
	exit 2
}

switch -glob -- [lindex $argv 0] {
	-h - --help { puts $usage; exit 0 }
	-* { misused "there is no option [lindex $argv 0]" }
}
if {[mdbg::pid] == 0} {
	if {[llength $argv] == 0} {
		misused "no process"
	}
	set argv [lassign $argv process]
}
lassign $argv limit filter
if {$limit eq ""} {
	set limit 0
}
if {[scan $limit "%d%c" number rest] != 1 || $number < 0} {
	misused "'$limit' is no number of bytes"
}
if {[mdbg::pid] == 0} {
	mdbg::attach $process
}

set leaks-at-end on
# Of --stop; no more than that where it has ended already.
catch cont
wait exit
set lost 0
mdbg::leaks definite {*}$filter -each leak {
	incr lost [dict get $leak bytes]
}
if {$lost > $limit} {
	malloc leaks definite {*}$filter | cat >&2
	puts stderr "[mdbg::pid] has definitely lost $lost bytes"
	exit 23
}
