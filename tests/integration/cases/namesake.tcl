# SPDX-License-Identifier: GPL-3.0-or-later
# A program that has files of its own, called mdbg as those of mdbg are.

# Files of a program's own that are called mdbg are not what an earlier mdbg has left.
case namesake-stays 30 {
	set t [start namesake]
	set before [state [pid_of $t]]
	foreach what {--no-arm "--engine breakpoint" "--engine auto"} {
		set m [live_start {*}$what -p [pid_of $t]]
		live $m status
		live_end $m
		check {![string match "*took out*" [slurp $::live_err($m)]]} {mdbg says: [slurp $::live_err($m)]}
		check_state $before [pid_of $t]
		order $t verify
	}
	finish $t
}

# So beside one that a killed mdbg has left, which goes.
case namesake-beside-a-killed-mdbg 30 {
	start_watched {t before m} namesake
	exec kill -KILL [pid $m]
	until {![is_alive [pid $m]]}
	chan configure $m -blocking 1
	catch {close $m}
	set m [live_start -p [pid_of $t]]
	live $m status
	finish $t $m $before
}

# What such a file points to is no leak.
case namesake-holds 30 {
	start_watched {t m} namesake
	order $t hold
	live $m "malloc leaks > $::tmp/leaks"
	live_end $m
	check {[regexp {definitely lost\.+ 0 bytes.* still reachable\.+ 4321 bytes} [slurp $::tmp/leaks]]} {[slurp $::tmp/leaks]}
	finish $t
}
