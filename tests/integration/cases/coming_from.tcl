# SPDX-License-Identifier: GPL-3.0-or-later
# docs/coming-from.md: every command in its last columns is typed once, and none is an error.

# {section {command ...} ...}
proc page_commands {} {
	set sections [dict create]
	foreach line [split [slurp $::here/../../docs/coming-from.md] \n] {
		if {[regexp {^## (.*)} $line -> name]} {
			set section $name
		} elseif {[regexp {^\| .* \| (.*) \|$} $line -> last] && $last ni {here ---}} {
			set commands [regexp -all -inline {`[^`]+`} $last]
			check {$commands ne {}} {nothing is typed in $line}
			dict lappend sections $section {*}[lmap command $commands { string trim $command ` }]
		}
	}
	return $sections
}

# What this machine does not let anybody record: it is said which setting has to be another.
proc is_refused {m command} {
	if {![live_value $m "catch {$command} said"]} {
		return 0
	}
	set said [live_value $m {set said}]
	check {[regexp {perf_event_paranoid|tracefs|kptr_restrict|permi|perf_event_open} $said]} {$command: $said}
	note "$command: $said"
	return 1
}

case coming-from 120 {
	set t [start hard -t 2]
	set pid [pid_of $t]
	order $t "make 100 777"
	set m [live_start -p $pid]
	order $t "make 100 777"
	set address [format 0x%x [dict get [lindex [live_value $m mdbg::allocations] 0] address]]
	set words [list ADDRESS $address NAME main PROCESS hard /tmp $::tmp FILE.tcl [spit $::tmp/a.tcl "set ::sourced 1\n"] PID $pid]
	set sections [page_commands]
	check {[dict size $sections] >= 8} {sections: [dict keys $sections]}
	set starts {}
	set done {}
	dict for {section commands} $sections {
		set refused {}
		foreach command $commands {
			# In a script Tcl takes the quotes away, where a prompt does not.
			set typed [regsub {^find (".*")$} [string map $words $command] {find {\1}}]
			if {$typed in $done} {
				continue
			}
			lappend done $typed
			if {[string match mdbg\ * $typed]} {
				lappend starts [lrange $typed 1 end]
			} elseif {$refused ne "" && [string match "growth $refused*" $typed]} {
				continue
			} elseif {$typed in {{growth start fault} {growth start kernel}}} {
				set refused [expr {[is_refused $m $typed] ? [lindex $typed end] : ""}]
			} else {
				note $typed
				live $m $typed
			}
		}
	}
	check {[live_value $m {set ::sourced}] == 1} {the script was not run}
	live_end $m
	check {[llength $starts] >= 2} {no start of mdbg in the page}
	foreach args $starts {
		mdbg_ok -q {*}$args -c malloc
	}
	finish $t
}
