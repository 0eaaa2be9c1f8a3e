# SPDX-License-Identifier: GPL-3.0-or-later
# Recorders that are killed at any moment: each next one goes on, and the target never notices.

repeated torture-record-killed 120 {
	file mkdir $::tmp/recording
	file attributes $::tmp/recording -permissions 0700
	set t [start exact -t 4 {*}$::rest]
	set before [state [pid_of $t]]
	order $t go
	for {set i 0} {$i < $::trials} {incr i} {
		set recorder [exec {*}[mdbg_command -q --record $::tmp/recording -p [pid_of $t]] </dev/null >@stdout 2>>$::tmp/err &]
		delay [expr {int(rand() * 3000000)}]
		exec kill -KILL $recorder
		until {![is_alive $recorder]}
		order $t "more 20"
	}
	# What they have left is taken up, and a last one ends in order.
	set recorder [exec {*}[mdbg_command -q --record $::tmp/recording -p [pid_of $t]] </dev/null >@stdout 2>>$::tmp/err &]
	set so_far [llength [glob -nocomplain $::tmp/recording/*.mrec]]
	until {[llength [glob -nocomplain $::tmp/recording/*.mrec]] > $so_far}
	exec kill -TERM $recorder
	until {![is_alive $recorder]}
	check {![string match "*damaged*" [slurp $::tmp/err]]} {[slurp $::tmp/err]}
	order $t pause
	finish $t {} $before
}
