# SPDX-License-Identifier: GPL-3.0-or-later
# What a debug malloc reports at the end of a program, of a process that already runs.
# `mdbg -x report-at-exit.tcl -- -h` says how it is used.

set usage "usage: mdbg -p PID -x report-at-exit.tcl \[-- FILE \[LIMIT\]\]
       mdbg -x report-at-exit.tcl -- PID \[FILE \[LIMIT\]\]
Wait for the end of the process, however it comes (exit, a signal, the OOM killer), then write how it
ended, the figures of malloc and the LIMIT (20) sites that hold most to FILE, which is appended to,
or to standard output.

Status: 0 if that was written; 2 wrong usage."

proc misused {why} {
	puts stderr "report-at-exit: $why"
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
lassign $argv file limit
if {$limit eq ""} {
	set limit 20
}
if {[scan $limit "%d%c" number rest] != 1 || $number < 0} {
	misused "'$limit' is no number of sites"
}
if {[mdbg::pid] == 0} {
	mdbg::attach $process
}

set to [expr {$file eq "" ? "" : [list >> $file]}]
wait exit
status {*}$to
malloc {*}$to
malloc sites sort bytes limit $limit {*}$to
