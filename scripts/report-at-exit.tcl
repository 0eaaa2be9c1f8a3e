# SPDX-License-Identifier: GPL-3.0-or-later
# What a debug malloc reports at the end of a program, of a process that already runs:
#
#	mdbg -p PID -x report-at-exit.tcl [-- FILE [LIMIT]]
#	mdbg -x report-at-exit.tcl -- PID [FILE [LIMIT]]
#
# Waits for its end, however it comes (exit, a signal, the OOM killer), then writes how it ended, the
# figures of `malloc` and the LIMIT (20) sites that hold most to FILE, which is appended to, or to
# standard output.

if {[mdbg::pid] == 0} {
	if {[llength $argv] == 0} {
		puts stderr "usage: mdbg -p PID -x report-at-exit.tcl \[-- FILE \[LIMIT\]\]"
		exit 2
	}
	set argv [lassign $argv pid]
	mdbg::attach $pid
}
lassign $argv file limit
if {$limit eq ""} {
	set limit 20
}

set to [expr {$file eq "" ? "" : [list >> $file]}]
wait exit
status {*}$to
malloc {*}$to
malloc sites sort bytes limit $limit {*}$to
