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

# mdbg@.service: another user's process, by its name, with the unit's capabilities alone; and the next one.
case units-serve 60 {
	set setpriv [need setpriv]
	if {[exec id -u] != 0} {
		skip "not root"
	}
	set name unit-[pid]
	file copy $::build/targets/grower $::tmp/$name
	exec chmod 0755 $::tmp/$name
	set command [unit_value mdbg@.service ExecStart]
	set command [string map [list /usr/bin/mdbg $::mdbg_program %i $name /run/mdbg/%i/socket $::tmp/socket] $command]
	set caps [string map {CAP_ + " " ,} [unit_value mdbg@.service CapabilityBoundingSet]]
	set m [open |[list $setpriv --bounding-set -all,[string tolower $caps] --inh-caps -all --no-new-privs {*}$command 2> $::tmp/serve.err] r]
	check {[string match "a process named $name is waited for, at *" [hear $m]]} {[slurp $::tmp/serve.err]}
	set ::url http://mdbg
	check {[lindex [fetch /healthz --unix-socket $::tmp/socket] 0] == 503} {there is a process: [slurp $::tmp/body]}
	foreach blocks {10 20} {
		if {[catch {start_command $setpriv --reuid 65534 --regid 65534 --clear-groups $::tmp/$name} t]} {
			skip "another user cannot run it here: $t"
		}
		check {[string match "process [pid_of $t] is served at *" [hear $m]]} {[slurp $::tmp/serve.err]}
		order $t "fill $blocks"
		check {[lindex [fetch /metrics --unix-socket $::tmp/socket] 0] == 200} {metrics: [slurp $::tmp/body]}
		check {[dict get [metrics] mdbg_recorded_blocks{}] == $blocks} {[slurp $::tmp/body]}
		check {[dict exists [metrics] mdbg_resident_bytes{}]} {no account: [slurp $::tmp/serve.err]}
		finish $t
		check {[string match "a process named *" [hear $m]]} {it is not waited for}
	}
	end_serve $m
}
