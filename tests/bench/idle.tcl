# SPDX-License-Identifier: GPL-3.0-or-later
# What mdbg takes while it sits at its prompt, and whether a target that gets a thousand signals a second notices it.

set seconds 10

# Ticks of processor time.
proc ticks {pid} {
	set stat [slurp /proc/$pid/stat]
	set fields [lrange [string range $stat [string last ")" $stat]+2 end] 11 12]
	return [expr [join $fields +]]
}

proc child_of {pid} {
	return [lindex [slurp /proc/$pid/task/$pid/children] 0]
}

# At a prompt on a terminal of its own, which script(1) gives it. Returns per cent of a processor.
proc at_the_prompt {t} {
	set command "$::mdbg_program -n -q -p [pid_of $t]"
	set chan [open |[list [need script] -q -f -c $command $::tmp/typescript > /dev/null] w]
	until {[file exists $::tmp/typescript] && [string match "*(mdbg)*" [slurp $::tmp/typescript]]} 60
	until {[set m [child_of [pid $chan]]] ne ""}
	if {![string match *mdbg* [slurp /proc/$m/comm]]} {
		set m [child_of $m]
	}
	set before [ticks $m]
	set working [order $t "run [expr {1000 * $::seconds}] 1" 60]
	set share [expr {([ticks $m] - $before) * 100.0 / [exec getconf CLK_TCK] / $::seconds}]
	exec kill -TERM $m
	until {![is_alive $m]} 60
	catch {close $chan}
	return $share
}

# ns a round of a loop of arithmetic, signals a second.
proc compute {t} {
	lassign [order $t "spin 500"] ns signals
	return [list $ns [expr {2 * $signals}]]
}

proc under_signals {} {
	set t [churn]
	order $t "signals 1000"
	for {set i 0} {$i < 5} {incr i} {
		lappend alone [lindex [compute $t] 0]
		set m [live_start -p [pid_of $t]]
		lassign [compute $t] ns signals
		lappend under $ns
		lappend came $signals
		let_go $m
	}
	order $t "signals 0"
	finish $t
	return [list [median $alone] [median $under] [median $came]]
}

proc bench_idle {} {
	puts "\nmdbg at its prompt, target at work; [machine]\n"
	set t [churn]
	set share [at_the_prompt $t]
	finish $t
	lassign [under_signals] alone under came
	puts [format "a loop of arithmetic under 1000 signals a second: %.4f ns a round, %.4f attached to (%d signals a second came)\n" \
		$alone $under $came]
	limit "at the prompt for $::seconds s, % of a processor" $share <= 0.5
	limit "1000 signals a second: speed kept" [expr {$alone / $under}] >= 0.97
}
