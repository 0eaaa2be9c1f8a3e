# SPDX-License-Identifier: GPL-3.0-or-later
# Recorders that are killed at any moment: what they have written is read, each next one goes on, and the target never
# notices. A hundred trials of `make torture` are a thousand kills.

# All of it is to be read: nothing is damaged, and what a kill has torn is no frame yet.
proc recorded_samples {m} {
	set is [lindex [live_value $m "mdbg::recordings $::tmp/recording"] 0]
	check {[dict get $is damaged] == 0} {damaged: $is}
	return [dict get $is samples]
}

repeated torture-record-killed 120 {
	file mkdir $::tmp/recording
	file attributes $::tmp/recording -permissions 0700
	set t [start exact -t 4 {*}$::rest]
	set before [state [pid_of $t]]
	order $t go
	set m [live_start -q]
	set samples 0
	set kills [expr {$::trials < 100 ? $::trials : 10 * $::trials}]
	for {set i 0} {$i < $kills} {incr i} {
		set recorder [exec {*}[mdbg_command -q --record $::tmp/recording -p [pid_of $t]] </dev/null >@stdout 2>>$::tmp/err &]
		delay [expr {int(rand() * 3000000)}]
		exec kill -KILL $recorder
		until {![is_alive $recorder]}
		order $t "more 20"
		if {[llength [glob -nocomplain $::tmp/recording/*.mrec]]} {
			set now [recorded_samples $m]
			check {$now >= $samples} {after kill $i there are $now samples, and $samples were there before}
			set samples $now
		}
	}
	# What they have left is taken up, and a last one ends in order.
	set recorder [exec {*}[mdbg_command -q --record $::tmp/recording -p [pid_of $t]] </dev/null >@stdout 2>>$::tmp/err &]
	until {[llength [glob -nocomplain $::tmp/recording/*.mrec]] && [recorded_samples $m] > $samples} 60
	exec kill -TERM $recorder
	until {![is_alive $recorder]}
	check {![string match "*damaged*" [slurp $::tmp/err]]} {[slurp $::tmp/err]}
	live_end $m
	order $t pause
	finish $t {} $before
}
