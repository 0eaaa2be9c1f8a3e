# SPDX-License-Identifier: GPL-3.0-or-later
# Text from outside: what a terminal obeys, and lines that look like mdbg's own, in all that a process can name.

# Nothing of it has come through, in any of these texts; they are bytes.
proc check_shown {what text} {
	check {![regexp {[\x00-\x08\x0b-\x1f\x7f]} $text]} {$what has control characters: [string range [escaped $text] 0 300]}
	set chars [encoding convertfrom utf-8 $text]
	check {![regexp {[\x7f-\x9f\u202a-\u202e\u2066-\u2069]} $chars]} {$what has controls beyond ASCII: [string range [escaped $text] 0 300]}
	check {![regexp -line {^\s*FORGED} $text]} {$what has a line that is not mdbg's: [string range $text 0 300]}
}

proc escaped {text} {
	return [regsub -all {[^\x20-\x7e]} $text .]
}

proc slurp_bytes {path} {
	set chan [open $path rb]
	set text [read $chan]
	close $chan
	return $text
}

# What both channels have got of mdbg with these arguments.
proc shown {args} {
	mdbg {*}$args
	set text [slurp_bytes $::tmp/out][slurp_bytes $::tmp/err]
	check_shown "mdbg $args" $text
	return $text
}

# Its program has a name and a symbol that are no better than the rest.
proc start_strange {} {
	set path "$::tmp/str\x1b\[2J\nFORGED"
	exec [need objcopy] --redefine-sym strange_leaf=sym\x1b\[7m\nFORGED $::build/targets/strange $path
	return [start strange $path]
}

case outside-names 60 {
	set t [start_strange]
	set pid [pid_of $t]
	foreach {command want} {
		thread {\x1b[7m\nFORGED} proc {\x1b[2J} map {\x1b[2J} {where all} {\x1b[7m\nFORGED} status {\x1b[5m\nFORGED}
		{malloc leaks all} {sym\x1b[7m\nFORGED} {malloc allocations} {} {malloc sites} {} {mdbg::threads} {}
	} {
		set text [shown -q -p $pid -c $command]
		check {$::status == 0} {$command ended with $::status: $::err}
		check {[string first $want $text] >= 0 || $want in {{} {sym\x1b[7m\nFORGED}}} {$command does not show $want: $text}
	}
	tell $t quit
	ending $t
}

case outside-symbols 60 {
	set t [start_strange]
	set m [live_start -p [pid_of $t]]
	order $t again
	foreach command {{malloc sites} {malloc allocations} {malloc sites by function}} {
		live $m "$command > $::tmp/listed"
		set text [slurp_bytes $::tmp/listed]
		check_shown $command $text
		check {[string first {sym\x1b[7m\nFORGED} $text] >= 0} {$command does not show the symbol: $text}
	}
	# A script gets the name as it is.
	set names [live_value $m {lmap thread [mdbg::threads] {scan [string index [dict get $thread name] 0] %c}}]
	check {$names eq {27 27}} {mdbg::threads begin with $names}
	live_end $m
	tell $t quit
	ending $t
}

case outside-errors 60 {
	# What Tcl says of a script has lines of its own; what mdbg says has one.
	shown -q -x "$::tmp/no\x1b\[2J\x9b.tcl"
	check {$::status == 1} {a script that is not there: $::status}
	shown -q --core "$::tmp/no\x1b\[2J\nFORGED"
	check {$::status == 3} {a core that is not there: $::status}
	check {[string first {no\x1b[2J\nFORGED} $::err] > 0} {it does not show which: $::err}
	shown -q -c [list mdbg::core "$::tmp/no\x1b\[2J\nFORGED"]
	check {$::status == 1} {a core that is not there: $::status}
}

case outside-exec 60 {
	set t [start_strange]
	set pid [pid_of $t]
	set go [spit $::tmp/go.tcl {
		puts attached
		flush stdout
		gets stdin
		wait 20
	}]
	set m [open |[list {*}[mdbg_command -p $pid -x $go] 2> $::tmp/exec.err] r+]
	chan configure $m -buffering line
	until {[string match *attached* [hear $m]]}
	tell $t become
	hear $t
	puts $m go
	set text ""
	until {[string match "*executes*now*" [set text [slurp_bytes $::tmp/exec.err]]]}
	check_shown "the note of an exec" $text
	exec kill -KILL $pid
	ending $t
	catch {close $m}
}

case outside-core 60 {
	set gcore [need gcore]
	set t [start_strange]
	exec $gcore -o $::tmp/core [pid_of $t] >& $::tmp/gcore.log
	tell $t quit
	ending $t
	foreach command {thread proc map where status malloc} {
		shown -q --core [glob $::tmp/core.*] -c $command
		check {$::status == 0} {$command ended with $::status: $::err}
	}
}
