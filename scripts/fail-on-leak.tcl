# SPDX-License-Identifier: GPL-3.0-or-later
# Fail where blocks are definitely lost at the end, for continuous integration: what --fail-on-leak
# does, as a script, with limits.
#
#	mdbg -p PID -x fail-on-leak.tcl [-- BYTES [FILTER]]
#	mdbg -x fail-on-leak.tcl -- PID [BYTES [FILTER]]
#	mdbg --stop -c {source fail-on-leak.tcl} -- PROGRAM [ARG...]
#
# Waits for the process's end, then writes the leaks to standard error and ends with status 23 if
# more than BYTES (0) are definitely lost in blocks that match FILTER (all): `1000 "function == parse*"`.
# Suppressions (--suppressions) are honoured.

if {[mdbg::pid] == 0} {
	if {[llength $argv] == 0} {
		puts stderr "usage: mdbg -p PID -x fail-on-leak.tcl \[-- BYTES \[FILTER\]\]"
		exit 2
	}
	set argv [lassign $argv pid]
	mdbg::attach $pid
}
lassign $argv limit filter
if {$limit eq ""} {
	set limit 0
}
if {[scan $limit "%d%c" number rest] != 1 || $number < 0} {
	puts stderr "fail-on-leak: '$limit' is no number of bytes"
	exit 2
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
