# SPDX-License-Identifier: GPL-3.0-or-later
# The scripts that are installed: what they say of themselves, and what they find.

set scripts $here/../../scripts

# Usage goes to standard output where it is asked for, else to standard error with status 2.
proc check_usage {script wrong} {
	foreach word {-h --help} {
		check {[string match "usage: mdbg *$script*" [mdbg_ok -x $::scripts/$script -- $word]]} {$script $word: $::out}
	}
	foreach words $wrong {
		mdbg -x $::scripts/$script -- {*}$words
		check {$::status == 2 && $::out eq ""} {$script $words: status $::status: $::out}
		check {[string match "[file rootname $script]: *\nusage: mdbg *" $::err]} {$script $words: $::err}
	}
}

# mdbg with a script, in the background; its standard error goes to a file.
proc begin_script {script args} {
	return [open |[list {*}[mdbg_command -q -x $::scripts/$script -- {*}$args] 2> $::tmp/script.err] r]
}

proc end_script {chan} {
	until {![is_alive [pid $chan]]} 60
	return [ending $chan]
}

case script-fail-on-leak-usage 60 {
	check_usage fail-on-leak.tcl [list {} {-p 1} --bogus [list [pid] many]]
}

case script-report-at-exit-usage 60 {
	check_usage report-at-exit.tcl [list {} {-p 1} --bogus [list [pid] $::tmp/report many]]
}

case script-leak-hunt-usage 60 {
	check_usage leak-hunt.tcl {{} {0} {-1} {x} {1 2} {-every} {-every 100 1} {-every x 1} {-least -1 1} {-wrong 1} {1}}
}

# What only grows is reported, with its traceback; a table that stays, and what comes and goes, is not.
case script-leak-hunt 60 {
	set t [start grower]
	set before [state [pid_of $t]]
	order $t "slow 1"
	set m [begin_script leak-hunt.tcl -p [pid_of $t] -every 0.1 -once 0.02]
	check {[string match "process [pid_of $t] is watched, *" [hear $m]]} {no first line}
	order $t "table 1000000"
	set first [hear $m]
	check {[regexp {^\d{4}-\d\d-\d\d [0-9:]+ process \d+: a site has grown for 0.02 minutes, from (\d+) to (\d+) bytes$} $first -> from to]} {$first}
	check {$to > $from} {$first}
	check {[string match "        0x* malloc *" [hear $m]] && [string match "        0x* grow_slow(worker\\*) (grower.cc:*)" [hear $m]]} {no traceback}
	check {[end_script $m] eq {exit 23}} {[slurp $::tmp/script.err]}
	order $t calm
	check_state $before [pid_of $t]
	# Of a process that ends, and never grew.
	set m [begin_script leak-hunt.tcl -p [pid_of $t] 1]
	hear $m
	finish $t
	check {[end_script $m] eq {exit 0}} {[slurp $::tmp/script.err]}
}

case script-ci-gate-usage 60 {
	check_usage ci-gate.tcl {{} {1K} {x true} {-1 true} {1T true} {-site} {-site x 1 true} {-wrong 1 true} {1 true}}
}

# What a command makes the process hold: within the limit, above it, and above that of one site; and what goes wrong.
case script-ci-gate 90 {
	set t [start grower]
	set before [state [pid_of $t]]
	set pid [pid_of $t]
	exec mkfifo $::tmp/go
	# The orders are obeyed while the command is at work.
	foreach {options orders want said} {
		{4K} {{fill 100}} {exit 0} {has grown by 3200 bytes, a site by 3200}
		{3199} {{fill 100}} {exit 23} {has grown by 3200 bytes, a site by 3200}
		{-site 3200 5000} {{fill 100} {table 900}} {exit 0} {has grown by 4100 bytes, a site by 3200}
		{-site 3199 5000} {{fill 100} {table 900}} {exit 23} {has grown by 4100 bytes, a site by 3200}
		{0} {} {exit 0} {has grown by 0 bytes, a site by 0}
	} {
		set m [begin_script ci-gate.tcl -p $pid {*}$options sh -c "echo begun; cat $::tmp/go"]
		check {[hear $m] eq "begun"} {the command's output is lost}
		foreach line $orders {
			order $t $line
		}
		spit $::tmp/go "its end\n"
		check {[hear $m] eq "its end"} {the command's output is lost}
		set line [hear $m]
		check {[string match "process $pid $said at the most" $line]} {$options: $line}
		check {[end_script $m] eq $want} {$options: [slurp $::tmp/script.err]}
		set err [slurp $::tmp/script.err]
		check {($err ne "") == ($want ne {exit 0})} {$options: $err}
		check {$err eq "" || [regexp {^\+3200 bytes\n        0x[0-9a-f]{16} malloc [^\n]*\n        0x[0-9a-f]{16} grow_filled\(worker\*\) \(grower.cc:\d+\)\n.*ci-gate: process \d+ has grown by} $err]} {$err}
	}
	# What the warm-up leaves does not count.
	set m [begin_script ci-gate.tcl -p $pid -warmup "echo begun; cat $::tmp/go" 0 true]
	check {[hear $m] eq "begun"} {no warm-up}
	order $t "fill 10"
	spit $::tmp/go ""
	check {[string match "*grown by 0 bytes*" [hear $m]] && [end_script $m] eq {exit 0}} {[slurp $::tmp/script.err]}
	# A command that fails, one that is not there, and a process that ends.
	foreach {command said} {{sh -c {exit 7}} {sh: ended with status 7} no-such-command {*no such file or directory}} {
		set m [begin_script ci-gate.tcl -p $pid 1K {*}$command]
		check {[end_script $m] eq {exit 1}} {$command}
		check {[string match "ci-gate: $said*" [slurp $::tmp/script.err]]} {$command: [slurp $::tmp/script.err]}
	}
	check_state $before $pid
	set m [begin_script ci-gate.tcl -p $pid 1K sh -c "echo begun; cat $::tmp/go"]
	hear $m
	finish $t
	check {[end_script $m] eq {exit 1}} {[slurp $::tmp/script.err]}
	check {[string match "*the process has ended*" [slurp $::tmp/script.err]]} {[slurp $::tmp/script.err]}
}

case script-memleak-usage 60 {
	check_usage memleak.tcl {{-a} {-p} {-p 1 0} {-p 1 x} {-p 1 1 0} {-p 1 1 x} {-p 1 1 1 1} {-o x -p 1} {-T x -p 1} {-z -1 -p 1}
		{-t -p 1} {-O lib -p 1} {--sort age -p 1} {--wrong -p 1} {-y}}
}


# The format of bcc's memleak, and its options. The blocks are made in the interval of a report, that is, while it waits.
case script-memleak 120 {
	set t [start lines]
	set before [state [pid_of $t]]
	foreach {options want} {
		{} {
TIME Top 10 stacks with outstanding allocations:
	48 bytes in 2 allocations from stack
		PC pair+0x* \[lines\]
		PC one+0x* \[lines\]
		PC main+0x* \[lines\]
}
		{-z 4000 -T 1 --sort count} {
TIME Top 1 stacks with outstanding allocations:
	8000 bytes in 2 allocations from stack
		PC pair+0x* \[lines\]
}
		{--min-size=56 -Z 56 --combined-only} {
TIME Top 10 stacks with outstanding allocations:
	112 bytes in 2 allocations from stack
		PC one+0x* \[lines\]
}
		{-aZ 24} {
TIME Top 10 stacks with outstanding allocations:
	addr = * size = 24
	addr = * size = 24
	addr = * size = 24
	addr = * size = 24
	48 bytes in 2 allocations from stack
}
		{-o 3600000} {
TIME Top 10 stacks with outstanding allocations:
}
	} {
		set m [begin_script memleak.tcl -p [pid_of $t] -o 0 {*}$options 0.5]
		check {[string match "Attaching to pid [pid_of $t], *" [hear $m]]} {no first line}
		order $t "make 2"
		set seen {}
		while {![string match "*$want*" $seen]} {
			set line [hear $m]
			regsub {^\[\d\d:\d\d:\d\d\]} $line TIME line
			regsub {^\t\t0x[0-9a-f]{16}\t} $line "\t\tPC " line
			append seen "\n$line\n"
			set seen [string map {\n\n \n} $seen]
			check {[llength [split $seen \n]] < 500} {$options: $seen}
		}
		exec kill -INT [pid $m]
		end_script $m
	}
	check_state $before [pid_of $t]
	# COUNT reports, and the end of the process.
	set text [mdbg_ok -x $::scripts/memleak.tcl -- -p [pid_of $t] 0.1 3]
	check {[regexp -all -line {^\[\d\d:\d\d:\d\d\] Top 10} $text] == 3} {$text}
	set text [mdbg_ok -p [pid_of $t] -x $::scripts/memleak.tcl -- 0.1 1]
	check {[regexp -all -line {^\[\d\d:\d\d:\d\d\] Top 10} $text] == 1} {mdbg -p: $text}
	mdbg -p [pid_of $t] -x $::scripts/memleak.tcl -- -s 10 0.1 1
	check {$::status == 2 && [string match "*-s goes with the script's own -p*" $::err]} {$::status: $::err}
	mdbg_ok -x $::scripts/memleak.tcl -- -p [pid_of $t] -s 10 0.1 1
	set m [begin_script memleak.tcl -p [pid_of $t] 100]
	hear $m
	finish $t
	check {[string match {\[*\] Top 10 *} [hear $m]] && [end_script $m] eq {exit 0}} {[slurp $::tmp/script.err]}
	# A command.
	set text [mdbg_ok -x $::scripts/memleak.tcl -- -o 0 -c "$::build/targets/hello args 'two words'" 100]
	check {[regexp {^Executing '[^\n]*' and tracing the resulting process.\n} $text] && [regexp -line {^Attaching to pid \d+, Ctrl\+C to quit.$} $text]} {$text}
	check {[regexp -line {^two words$} $text] && [regexp {12345 bytes in 1 allocations from stack\n\t\t0x[0-9a-f]{16}\tkeep_early\+0x} $text]} {$text}
}
