# SPDX-License-Identifier: GPL-3.0-or-later
# malloc watch: readings in a pipe, in place on a terminal, and its ends.

# The next block of lines of a watch: up to the empty line behind its sites.
proc hear_reading {chan} {
	set lines {}
	while {[set line [hear $chan]] ne "" || [llength $lines] < 2} {
		lappend lines $line
	}
	return [join $lines "\n"]
}

# {bytes blocks growth} of all, and of the site in a function; {} if that is not there.
proc watched {reading {function ""}} {
	set figures {(\d+) bytes in (\d+) blocks, growth (\S+) bytes, (\S+) allocations/s, (\S+) frees/s}
	set pattern [expr {$function eq "" ? "^\\d{4}-\\S+ \[0-9:\]+  $figures" : "#\\d+  $figures\[^\n\]*\n    in $function\\("}]
	return [lrange [regexp -inline $pattern $reading] 1 end]
}

# Growth of all readings together is what came and went, and each says what is held at its moment.
by_both case watch-in-a-pipe 60 {
	start_watched {t before m} grower
	order $t "fill 10"
	puts $m "malloc watch 0.1"
	set reading [hear_reading $m]
	check {[lrange [watched $reading grow_filled] 0 4] eq {320 10 - - -}} {the first reading: $reading}
	check {[lrange [watched $reading] 0 2] eq {320 10 -}} {the first sums: $reading}
	orders $t "fill 50" "table 5000"
	set grown 0
	set allocated 0
	while {[lindex [watched $reading] 0] != 60 * 32 + 5000} {
		set reading [hear_reading $m]
		incr grown [lindex [watched $reading] 2]
		check {[string is double -strict [lindex [watched $reading] 3]]} {$reading}
		set allocated [expr {$allocated || [lindex [watched $reading grow_filled] 3] > 0}]
	}
	check {$grown == 50 * 32 + 5000} {grown by $grown}
	check {$allocated} {no reading has allocations a second}
	check {[lrange [watched $reading grow_filled] 0 1] eq {1920 60}} {$reading}
	check {[string first "in grow_table(" $reading] < [string first "in grow_filled(" $reading]} {not by bytes: $reading}
	# Ctrl-C is its end, and no error; nor is it mdbg's.
	exec kill -INT [pid $m]
	live_answer $m 20
	check {[live_value $m mdbg::pid] == [pid_of $t]} {mdbg is gone}
	set text [live $m "malloc watch 0.1 3"]
	check {[regexp -all -line {^#1  } $text] == 3 && [string first "\x1b" $text] < 0} {3 readings: $text}
	finish $t $m $before
}

case watch-from-a-script 60 {
	set t [start grower]
	order $t "fill 3"
	set pid [pid_of $t]
	foreach words {{0} {-1} {1e99} {x} {1 0} {1 -1} {1 1e99} {1 x} {1 2 3}} {
		mdbg -p $pid -c "malloc watch $words"
		check_refused 1 "malloc watch: " "usage: malloc watch ?SECONDS"
		check {$::out eq ""} {malloc watch $words prints $::out}
	}
	set text [mdbg_ok -p $pid -c "malloc watch 0.1 2" -c "puts behind"]
	check {[regexp -all -line {^\d{4}-\d\d-\d\d } $text] == 2 && [string match "*behind\n" $text]} {$text}
	# The reader of a pipe may leave.
	check {[mdbg_ok -limit 20 -p $pid -c "malloc watch 0.1 | head -n 1" -c "puts behind"] ne ""} {nothing}
	check {[string match "*\nbehind\n" $::out]} {$::out}
	finish $t
	mdbg -c "malloc watch 1"
	check_refused 1 "no process" "attach PID"
}

# What ends a watch of a program, which `hear` has begun to read: Ctrl-C with status 0, SIGTERM as it ends mdbg, and the end
# of the process.
proc check_watch_ends {program command hear} {
	foreach {signal want} {INT {exit 0} TERM {exit 143}} {
		set t [start $program]
		set before [state [pid_of $t]]
		set m [open |[list {*}[mdbg_command -q -p [pid_of $t] -c $command] 2> $::tmp/err] r]
		$hear $m
		exec kill -$signal [pid $m]
		until {![is_alive [pid $m]]}
		set end [ending $m]
		check {$end eq $want} {after SIG$signal: $end: [slurp $::tmp/err]}
		finish $t {} $before
	}
	set t [start $program]
	set m [open |[list {*}[mdbg_command -p [pid_of $t] -c $command] 2> $::tmp/err] r]
	$hear $m
	finish $t
	until {![is_alive [pid $m]]}
	check {[ending $m] eq {exit 0}} {when the process ended: [slurp $::tmp/err]}
	check {[string match "*process * ended with status 0*" [slurp $::tmp/err]]} {[slurp $::tmp/err]}
}

case watch-ends 60 {
	check_watch_ends grower "malloc watch 0.1" hear
}

# Drawn in place: the keys, another size, and what was there before comes back.
case watch-in-place 90 {
	set t [start grower]
	set before [state [pid_of $t]]
	at_prompt $t {
		quits 0
		set env(TERM) xterm
		set env(LC_ALL) C.UTF-8
		set stty_init "noflsh columns 100 rows 20"
		begin
		type "malloc watch 0.2\r" "?1049h" "every 200.0 ms, by bytes"
		tell "fill 100"
		tell "table 77"
		see "> 1        3200      100"
		see "grow_filled(worker\*) (grower.cc:"
		see "  2          77        1"
		type "s" "by growth"
		type "\033\[B" "> 2          77        1"
		type "\r" "Enter: back" "in grow_table(worker\*, " "malloc\r\n"
		type "\r" "by growth"
		type "1" "in grow_filled(worker\*) (grower.cc:"
		type "\r" "by growth"
		type "m" "by growth, mark m1"
		tell "table 23"
		see "  2         100        2"
		type "m" "by growth, mark m2"
		exec stty rows 6 columns 40 < $spawn_out(slave,name)
		see "GROWTH  ALL\r\n"
		exec stty rows 20 columns 100 < $spawn_out(slave,name)
		see "GROWTH  ALLOCS/S   FREES/S"
		type "q" "?1049l" "#1  3200 bytes in 100 blocks" "mark m2" "(mdbg) "
		type "malloc diff m1 m2\r" "grown 23 bytes, shrunk 0 bytes" "(mdbg) "
		# The terminal is as it was: what is typed is echoed, and is a line.
		type "puts after-\[expr 1 + 1]\r" "puts after" "after-2" "(mdbg) "
		type "malloc watch 0.2\r" "every 200.0 ms"
		type "\003" "?1049l" "(mdbg) "
		type "puts alive-\[expr 40 + 2]\r" "alive-42" "(mdbg) "
		quits 0
	}
	check {[string match "ok *" [hear $t]] && [string match "ok *" [hear $t]] && [string match "ok *" [hear $t]]} {the target was told something else}
	finish $t {} $before
}

# The process ends while it is watched: that is said on the terminal that comes back.
case watch-in-place-of-a-process-that-ends 60 {
	set t [start storm]
	at_prompt $t {
		quits 0
		set env(TERM) xterm
		begin
		type "malloc watch 0.2\r" "?1049h" "SITE"
		exec kill -KILL $pid
		see "?1049l"
		see "was ended by"
		see "(mdbg) "
		quits 0
	}
	catch {ending $t}
}

# A terminal that understands no escapes gets blocks, and the keys work all the same.
case watch-on-a-dumb-terminal 60 {
	set t [start grower]
	at_prompt $t {
		tell "fill 10"
		type "malloc watch 0.2\r" "\n#1  320 bytes in 10 blocks"
		expect {
			"\033" { bad "an escape" }
			"\n#1  320 bytes in 10 blocks" {}
			timeout { bad "one reading only" }
		}
		type "1" " malloc\r\n"
		type "m" "mark m1"
		type "q" "(mdbg) "
		quits 0
	}
	check {[string match "ok *" [hear $t]]} {the target was told something else}
	finish $t
}
