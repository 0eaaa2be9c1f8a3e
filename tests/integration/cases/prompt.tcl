# SPDX-License-Identifier: GPL-3.0-or-later
# The prompt on a terminal: history, completion, Ctrl-C, Ctrl-D.

# Run an expect script on `mdbg -p PID`; it passes if it ends with status 0. `tell` there gives the target an order, whose
# answer the case hears.
proc at_prompt {t body} {
	set expect [need expect]
	set script [spit $::tmp/prompt.exp "
		set timeout [expr {15 * $::slower}]
		set mdbg [list $::mdbg_program]
		set pid [pid_of $t]
		set dir [list $::tmp]
		set env(TERM) dumb
		# The kernel sends the signal of a Ctrl-C first and empties the terminal's buffers then: the answer, too. readline shows a
		# part of a line that is wider than the terminal.
		set stty_init {noflsh columns 300 rows 50}
		set env(PAGER) cat
		set env(HOME) \$dir
		set env(XDG_STATE_HOME) \$dir/state
		proc bad {why} { puts \"\\nWHY: \$why\"; exit 1 }
		proc see {what} {
			expect {
				\$what {}
				timeout { bad \"no \$what\" }
				eof { bad \"the end instead of \$what\" }
			}
		}
		# Send keys, and see each of these, one behind the other.
		proc type {keys args} {
			send \$keys
			foreach what \$args { see \$what }
		}
		proc tell {line} { exec sh -c \"echo \$line > /proc/\$::pid/fd/0\" }
		proc begin {} {
			uplevel #0 {
				spawn \$mdbg -n -p \$pid
				see {(mdbg) }
			}
		}
		proc ended {want} {
			expect {
				eof {}
				timeout { bad {does not end} }
			}
			set status \[lindex \[wait\] 3]
			if {\$status ni \$want} { bad \"ended with \$status\" }
		}
		proc quits {want} {
			send \"quit\\r\"
			ended \$want
		}
		begin
		$body
		exit 0
	"]
	if {[catch {exec $expect -f $script > $::tmp/prompt.log 2>@1}]} {
		set log [slurp $::tmp/prompt.log]
		note $log
		fail [expr {[regexp {WHY: (.*)} $log -> why] ? $why : [string range $log end-300 end]}]
	}
}

case prompt-commands 60 {
	set t [start exact]
	set before [state [pid_of $t]]
	at_prompt $t {
		type "status\r" $pid "(mdbg) "
		type "expr 6 * 7\r" 42 "(mdbg) "
		type "no_such_command\r" "mdbg: " "(mdbg) "
		type "malloc allocations limit 1\r" "Allocations Held" "(mdbg) "
		quits {0 1}
	}
	finish $t {} $before
}

case prompt-ctrl-d 60 {
	set t [start exact]
	set before [state [pid_of $t]]
	at_prompt $t {
		send "\004"
		ended 0
	}
	finish $t {} $before
}

case prompt-ctrl-c-ends-a-command 60 {
	set t [start exact -t 2]
	set before [state [pid_of $t]]
	at_prompt $t {
		type "puts begun-\[expr 1 + 1]; wait 1000\r" "begun-2"
		type "\003" "(mdbg) "
		type "puts begun-\[expr 1 + 2]; while 1 {}\r" "begun-3"
		type "\003" "(mdbg) "
		type "puts still-\[expr 40 + 2]\r" "still-42" "(mdbg) "
		type "puts \[mdbg::pid]\r" $pid "(mdbg) "
		quits {0 1}
	}
	finish $t {} $before
}

case prompt-ctrl-c-at-the-prompt 60 {
	set t [start exact -t 2]
	set before [state [pid_of $t]]
	at_prompt $t {
		type "half a line" "half a line"
		type "\003" "(mdbg) "
		type "puts alive\r" "\nalive" "(mdbg) "
		type "\003" "(mdbg) "
		send "\003"
		ended 0
	}
	finish $t {} $before
}

case prompt-ctrl-c-and-a-started-program 60 {
	set t [start exact]
	at_prompt $t {
		quits 0
		spawn $mdbg -n -i -- sleep 1000
		see "(mdbg) "
		type "puts begun-\[expr 1 + 1]; wait 1000\r" "begun-2"
		type "\003" "(mdbg) "
		type "status\r" "running" "(mdbg) "
		type "kill\r" "(mdbg) "
		send "quit\r"
		expect eof
	}
	finish $t
}

case prompt-history 60 {
	set t [start exact]
	at_prompt $t {
		type "puts remember-\[expr 1 + 1]\r" "\nremember-2" "(mdbg) "
		quits 0
		begin
		type "\020\020" "remember"
		type "\r" "\nremember-2" "(mdbg) "
		type "history 2\r" "3  puts remember-" "4  history 2" "(mdbg) "
		quits 0
		if {[glob -nocomplain $dir/state/*/* $dir/state/*] eq ""} { bad "no history file" }
	}
	finish $t
}

case prompt-terminal-width 60 {
	set t [start exact]
	at_prompt $t {
		quits 0
		set stty_init "noflsh columns 80 rows 50"
		begin
		type "malloc allocations limit 1\r" "CLOCKTIME   SEQ\r\n    STACK TRACEBACK\r\n"
		see "Left out on a terminal of this width, but not in a file: PTHREAD_T\r\n"
		see "(mdbg) "
		send "malloc allocations limit 1 > $dir/whole; sh head -c 200 $dir/whole\r"
		see "PTHREAD_T          CLOCKTIME   SEQ"
		see "(mdbg) "
		send "set units on; malloc\r"
		expect {
			-re {bytes held by the user[.]+ [0-9]+[.][0-9][KM]\r} {}
			timeout { bad "no units" }
		}
		see "(mdbg) "
		send "malloc | cat\r"
		expect {
			-re {bytes held by the user[.]+ [0-9]+\r} {}
			timeout { bad "units in a pipe" }
		}
		see "(mdbg) "
		quits 0
		set stty_init "noflsh columns 200 rows 50"
		begin
		send "malloc allocations limit 1\r"
		see "PTHREAD_T          CLOCKTIME   SEQ        STACK TRACEBACK\r\n"
		see "(mdbg) "
		quits 0
	}
	finish $t
}

# readline's keys can be bound to commands: those of another user's HOME are not.
case prompt-inputrc-of-others 60 {
	set t [start exact]
	spit $::tmp/.inputrc "\"\\C-m\": \"\\C-a\\C-kputs bound\\C-j\"\n"
	set typed {
		type "expr 6 * 7\r" "%s\r"
		send "quit\n"
		ended 0
	}
	at_prompt $t [format $typed bound]
	if {![catch {exec chown nobody $::tmp/.inputrc}]} {
		at_prompt $t [format $typed 42]
		exec chown root $::tmp/.inputrc
		exec chown nobody $::tmp
		at_prompt $t [format $typed 42]
		exec chown root $::tmp
	}
	exec chmod 0777 $::tmp
	at_prompt $t [format $typed 42]
	exec chmod 0755 $::tmp
	finish $t
}

case prompt-completion 60 {
	set t [start exact]
	at_prompt $t {
		type "malloc alloca\t" "allocations"
		type "limit 1\r" "Allocations Held" "(mdbg) "
		type "malloc mark elevenses\r" "(mdbg) "
		type "malloc diff elev\t" "elevenses"
		type "\r" "from elevenses (" "(mdbg) "
		type "malloc sites since elev\t" "elevenses"
		type "\r" "Growth is since elevenses (" "(mdbg) "
		exec touch $dir/sites-of-today.txt
		type "export fol\t" "folded"
		type "$dir/sites-of\t" "of-today.txt "
		type "since elev\t" "elevenses"
		type "\r" "bytes written to $dir/sites-of-today.txt" "(mdbg) "
		exec touch $dir/page-of-today.html
		type "report $dir/page-of\t" "of-today.html "
		type "\r" "bytes written to $dir/page-of-today.html" "(mdbg) "
		type "deta\t" "detach"
		type "\r" "(mdbg) "
		quits 0
	}
	finish $t
}

# The prompt is alive while the target runs, and says when it ends.
case prompt-target-ends 60 {
	set t [start storm]
	at_prompt $t {
		exec kill -KILL $pid
		see "was ended by"
		type "status\r" "(mdbg) "
		type "malloc sites limit 1\r" "(mdbg) "
		quits 0
	}
	catch {ending $t}
}

# Names of functions and files are commands to Tcl and to a shell: completed, they are these names and nothing more.
case prompt-completion-hostile-names 60 {
	skip_if_sanitized "completion of all names takes longer than the terminal waits"
	set t [start hardnames]
	cd $::tmp
	foreach name {{report[exec touch ran]} {report;$(touch ran)}} {
		close [open $name w]
	}
	at_prompt $t {
		tell x
		# What is typed of a name, behind which its other letters come, is a glob, and a word of Tcl.
		foreach {typed size} {zserver_a 1077 {\\>zserver_b} 1078 {\\|touch} 1079} {
			type "malloc sites function == $typed\t\r" "$size " "(mdbg) "
		}
		foreach typed {{report\[} {report\;}} {
			type "sh echo puts sourced > $typed\t\r" "(mdbg) "
			type "source $typed\t\r" "sourced" "(mdbg) "
			type "status | cat - $typed\t\r" "puts sourced" "(mdbg) "
			type "status > $typed\t\r" "(mdbg) "
			type "export folded $typed\t\r" "bytes written" "(mdbg) "
		}
		quits 0
	}
	check {[hear $t] eq "ok"} {the target}
	check {![file exists ran] && [llength [glob report*]] == 2} {files: [glob *]}
}

# The completion of the command line that bash and zsh have.

case completion-bash 30 {
	set s [start exact]
	set pid [pid_of $s]
	set script [spit $::tmp/complete.bash "
		. $::completion/mdbg
		compopt() { :; }
		ask() { COMP_WORDS=(\"\$@\"); COMP_CWORD=\$((\$# - 1)); _mdbg; echo \"\${COMPREPLY\[*]}\"; }
		ask $::mdbg_program -p $pid
		ask $::mdbg_program -p [string range $pid 0 end-1]
		ask $::mdbg_program --log-l
		ask $::mdbg_program --engine b
	"]
	lassign [split [exec bash $script] \n] one several option engine
	check {$one eq $pid} {$pid becomes $one}
	check {[string match "*$pid (exact)*" $several] || $several eq $pid} {no name beside $pid: $several}
	check {$option eq "--log-limit" && $engine eq "breakpoint"} {options become $option, $engine}
}

case completion-zsh 60 {
	need zsh
	set s [start exact]
	set script [spit $::tmp/complete.exp "
		set timeout [expr {20 * $::slower}]
		spawn -noecho zsh -f
		send \"PS1='%% '; fpath=($::completion \\\$fpath); path=([file dirname $::mdbg_program] \\\$path); autoload -U compinit; compinit -u -D; echo rea''dy\\r\"
		expect ready {} timeout { exit 1 }
		foreach {typed shown status} {{mdbg --log-l} --log-limit 2 {mdbg --engine jum} jump 3 {mdbg -p [pid_of $s]} [pid_of $s] 4} {
			send \"\\025\$typed\\t\"
			expect -- \$shown {} timeout { exit \$status }
		}
	"]
	check {![catch {exec [need expect] -f $script} said]} {zsh does not complete: [string range $said end-200 end]}
}
