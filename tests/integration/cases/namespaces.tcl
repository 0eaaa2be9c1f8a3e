# SPDX-License-Identifier: GPL-3.0-or-later
# Several C libraries in one process: namespaces of dlmopen and of LD_AUDIT, a static program that loads one. `rooms` keeps
# an account of its blocks by room.

# What malloc of a room begins with in the process.
proc malloc_code {t room} {
	foreach line [ask_list $t rooms] {
		if {[lindex $line 0] == $room} {
			set chan [open /proc/[pid_of $t]/mem rb]
			chan seek $chan [expr {[lindex $line 1]}]
			set code [read $chan 16]
			close $chan
			return $code
		}
	}
	fail "there is no room $room"
}

# With the poll alone: nobody asks mdbg anything between the load and the calls.
case namespaces-poll 60 {
	set t [start rooms]
	set plain [malloc_code $t 0]
	set m [live_start -p [pid_of $t]]
	order $t "open 1"
	order $t "open 2"
	foreach room {1 2} {
		until {[malloc_code $t $room] ne $plain}
	}
	order $t "grab 1 50 100"
	order $t "grab 2 50 100"
	set found 0
	foreach block [dump $m] {
		incr found [string match "*room_grab*" [dict get $block stack]]
	}
	check {$found == 100} {$found of 100 blocks are recorded with their stack}
	live_end $m
	check {[malloc_code $t 1] eq $plain && [malloc_code $t 2] eq $plain} {a patch has stayed}
	finish $t
}

# A program that mdbg starts under LD_AUDIT (as it is itself then): the loader works in the library's namespace first.
case namespaces-audit-start 60 {
	skip_if_sanitized "a sanitizer does not start under LD_AUDIT"
	set ::env(LD_AUDIT) $::build/targets/libaudit.so
	mdbg_ok -q -c {wait exit} -c {malloc allocations} -- $::build/targets/hello
	unset ::env(LD_AUDIT)
	set early [lsearch -inline [parse_allocations $::out] "*size 12345*"]
	check {[string match "*keep_early*construct*" $early]} {the constructor's block: $early, of: $::out}
}
