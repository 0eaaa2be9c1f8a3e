# SPDX-License-Identifier: GPL-3.0-or-later
# The units of systemd: systemd has no complaint, and the rights that they leave are enough.

set units_folder $here/../../scripts/systemd

# What the unit sets a word to.
proc unit_value {unit word} {
	check {[regexp -line "^$word=(.*)$" [slurp $::units_folder/$unit] -> value]} {$unit has no $word}
	return $value
}

case units-verified 60 {
	set analyze [need systemd-analyze]
	foreach unit {mdbg@.service mdbg-record@.service} {
		set path $::tmp/[string map {@ @some-name} $unit]
		spit $path [string map [list /usr/bin/mdbg $::mdbg_program] [slurp $::units_folder/$unit]]
		check {![catch {exec $analyze --man=no verify $path 2>@1} said]} {$unit: $said}
		check {[string trim $said] eq ""} {$unit: $said}
	}
}

# Start what a unit says with its capabilities alone, with these words in it replaced; returns the channel.
proc start_unit {unit words} {
	set setpriv [need setpriv]
	skip_if {[exec id -u] != 0} {not root}
	set command [string map [list /usr/bin/mdbg $::mdbg_program {*}$words] [unit_value $unit ExecStart]]
	set caps [string map {CAP_ + " " ,} [unit_value $unit CapabilityBoundingSet]]
	return [open |[list $setpriv --bounding-set -all,[string tolower $caps] --inh-caps -all --no-new-privs {*}$command \
		2> $::tmp/unit.err] r]
}

# A program of a name of its own; start_other runs it as another user.
proc make_program {} {
	set name unit-[pid]
	file copy $::build/targets/grower $::tmp/$name
	exec chmod 0755 $::tmp/$name
	return $name
}

proc start_other {name} {
	if {[catch {start_command [need setpriv] --reuid 65534 --regid 65534 --clear-groups $::tmp/$name} t]} {
		skip "another user cannot run it here: $t"
	}
	return $t
}

# Another user's process, by its name; and the next one.
case units-serve 60 {
	set name [make_program]
	set m [start_unit mdbg@.service [list %i $name /run/mdbg/%i/socket $::tmp/socket]]
	check {[string match "a process named $name is waited for, at *" [hear $m]]} {[slurp $::tmp/unit.err]}
	set ::url http://mdbg
	check {[lindex [fetch /healthz --unix-socket $::tmp/socket] 0] == 503} {there is a process: [slurp $::tmp/body]}
	foreach trial {first next} {
		set t [start_other $name]
		check {[string match "process [pid_of $t] is served at *" [hear $m]]} {[slurp $::tmp/unit.err]}
		order $t "fill 100"
		check {[lindex [fetch /metrics --unix-socket $::tmp/socket] 0] == 200} {metrics: [slurp $::tmp/body]}
		check {[dict exists [metrics] "mdbg_process_info{pid=\"[pid_of $t]\",name=\"$name\"}"]} {[slurp $::tmp/body]}
		check {[dict exists [metrics] mdbg_resident_bytes{}]} {no account: [slurp $::tmp/unit.err]}
		finish $t
		check {[string match "a process named *" [hear $m]]} {it is not waited for}
	}
	spit $::tmp/serve.err ""
	end_serve $m
}

# Another user's process is recorded, and is as it was when the unit is stopped.
case units-record 60 {
	skip_if {![string match "*--record*" [mdbg_ok --help]]} {this mdbg does not record}
	set name [make_program]
	file mkdir $::tmp/state
	exec chmod 0700 $::tmp/state
	set t [start_other $name]
	set before [state [pid_of $t]]
	set m [start_unit mdbg-record@.service [list %S/mdbg/%i $::tmp/state %i $name]]
	until {[llength [glob -nocomplain $::tmp/state/*]]}
	until {[regexp mdbg [slurp /proc/[pid_of $t]/maps]]}
	order $t "fill 100"
	exec kill -TERM [pid $m]
	until {![is_alive [pid $m]]}
	check {[ending $m] in {{exit 0} {exit 143}}} {[slurp $::tmp/unit.err]}
	finish $t {} $before
}
