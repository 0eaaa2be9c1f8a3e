# SPDX-License-Identifier: GPL-3.0-or-later
# hold-at-death: a process that is about to die is held, can be asked, and then dies as it would have.

# How each way to die ends, and the code that the siginfo of its core has.
set deaths {
	abort {SIGABRT -6} segv {SIGSEGV 1} privileged {SIGSEGV 128} deep {SIGSEGV 1} bus {SIGBUS 2} fpe {SIGFPE 1}
	ill {SIGILL 2} trap {SIGTRAP 128} sys {SIGSYS 1} double {SIGABRT -6} overrun {SIGABRT -6} 3 {SIGQUIT 0}
	11 {SIGSEGV 0} {handled segv} {SIGSEGV 1} {handled abort} {SIGABRT -6} {blocked segv} {SIGSEGV 1}
	{ignored fpe} {SIGFPE 1} {thread abort} {SIGABRT -6} {both segv} {SIGSEGV 1}
}

# A stack of 1 MB ends soon, and what glibc says when it aborts is not wanted.
proc start_mortal {args} {
	file delete {*}[glob -nocomplain $::tmp/core*]
	return [start_command sh -c "cd $::tmp; ulimit -c unlimited; ulimit -S -s 1024; exec \"\$@\" 2>/dev/null" \
		sh $::build/targets/dies {*}$args]
}

# Tell it to die, and wait until it is held. mdbg itself tells it, so that it waits when the process dies.
proc hold {m t how {signal ""}} {
	live $m "set in \[open /proc/[pid_of $t]/fd/0 w\]; puts \$in {$how}; close \$in; wait 20"
	set status [live $m status]
	check {[regexp "held before its death by SIG$signal" $status]} {$how: $status}
	check {[is_alive [pid_of $t]]} {$how: it is dead}
}

# Signal and code in a core's note NT_SIGINFO: type, "CORE", siginfo.
proc siginfo_of {core} {
	set chan [open $core rb]
	set notes [read $chan 65536]
	close $chan
	binary scan [string range $notes [string first "IGISCORE\0" $notes]+12 end] iii signal errno code
	return [list $signal $code]
}

# It has ended by this signal, with a core that says the same.
proc check_death {t how} {
	lassign [dict get $::deaths $how] signal code
	set pid [pid_of $t]
	until {![is_alive $pid]}
	set end [ending $t]
	check {$end eq [list signal $signal]} {$how: it ended with $end, not $signal}
	set core [lindex [glob -nocomplain $::tmp/core*] 0]
	if {$core ne ""} {
		set got [siginfo_of $core]
		check {$got eq [list [dict get {SIGQUIT 3 SIGILL 4 SIGTRAP 5 SIGABRT 6 SIGBUS 7 SIGFPE 8 SIGSEGV 11 SIGSYS 31} \
			$signal] $code]} {$how: its core has another siginfo: $got}
	}
}

proc need_cores {} {
	if {[string match {[|/]*} [slurp /proc/sys/kernel/core_pattern]]} {
		note "cores go elsewhere ([string trim [slurp /proc/sys/kernel/core_pattern]]): none is compared"
	}
}

by_both case death-each-signal 60 {
	need_cores
	foreach how [dict keys $::deaths] {
		set t [start_mortal round sleep]
		set m [live_start -p [pid_of $t]]
		live $m {set hold-at-death on}
		hold $m $t $how [string range [lindex [dict get $::deaths $how] 0] 3 end]
		live $m {cont}
		check_death $t $how
		close $m
	}
}

# However mdbg lets go.
by_both case death-let-go 60 {
	foreach {how go} {segv detach overrun detach abort quit segv {wait exit} abort kill-mdbg segv kill-mdbg sys {exit 5}} {
		set t [start_mortal sleep]
		set m [live_start -p [pid_of $t]]
		live $m {set hold-at-death on}
		hold $m $t $how
		if {$go eq "kill-mdbg"} {
			exec kill -KILL [pid $m]
		} else {
			puts $m $go
		}
		check_death $t $how
		catch {close $m}
	}
	# SIGKILL is not held.
	set t [start_mortal sleep]
	set m [live_start -p [pid_of $t]]
	live $m {set hold-at-death on}
	hold $m $t segv
	exec kill -KILL [pid_of $t]
	until {![is_alive [pid_of $t]]}
	check {[ending $t] eq {signal SIGKILL}} {it did not end by SIGKILL}
	close $m
}

# What is no death is not held.
by_both case death-is-none 30 {
	set t [start_mortal round]
	set m [live_start -p [pid_of $t]]
	live $m {set hold-at-death on; set seen 0; mdbg::on death {incr seen}}
	foreach {how answer} {{child abort} {child 6} {child segv} {child 11} {caught segv} caught {caught abort} caught
			{caught fpe} caught {ignored 3} lives {blocked 3} lives} {
		set got [ask $t $how]
		# Whether it has a core depends on limits.
		if {[lindex $got 0] eq "child"} {
			set got "child [expr {[lindex $got 1] & 127}]"
		}
		check {$got eq $answer} {$how: $got}
	}
	check {[live_value $m {set seen}] == 0} {one was held}
	check {[regexp {running, traced} [live $m status]]} {not running: [live $m status]}
	live $m {set hold-at-death off; mdbg::on death {}}
	live $m detach
	check {[ask $t pid] eq "pid [pid_of $t]"} {it is not there any more}
	close $m
	close $t
}

# A death that is reported to nobody is not held, and that is said.
by_both case death-unreported 20 {
	set t [start_mortal]
	set m [live_start -p [pid_of $t]]
	live $m {set hold-at-death on}
	live $m "set in \[open /proc/[pid_of $t]/fd/0 w\]; puts \$in strict; close \$in; wait exit"
	check {[ending $t] eq {signal SIGSYS}} {it did not end by SIGSYS}
	check {[regexp {was not held before its death} [slurp $::live_err($m)]]} {no warning: [slurp $::live_err($m)]}
	close $m
}

# All questions have answers, and the last one is who wrote behind its block.
by_both case death-answers 30 {
	set t [start_mortal round]
	set m [live_start -p [pid_of $t]]
	live $m {set hold-at-death on}
	hold $m $t overrun
	check {[regexp {byte 0 of a block of 24 bytes.*malloc.*overrun_block} [live $m {malloc check}]]} \
		{malloc check: [live $m {malloc check}]}
	check {[regexp {abort.*overrun.*main} [live $m where]]} {where: [live $m where]}
	check {[regexp {overrun_block} [live $m {malloc sites}]]} {malloc sites: [live $m {malloc sites}]}
	foreach command {malloc {malloc allocations} {malloc leaks} {malloc freespace} memory registers thread {malloc leaks -snapshot}
			{malloc off} {malloc on} {interrupt}} {
		live $m $command
	}
	check {[regexp {held before its death} [live $m status]]} {it is not held any more: [live $m status]}
	live $m cont
	check_death $t overrun
	close $m
}

# A script is run while the process is held, and no longer.
by_both case death-script 30 {
	set t [start_mortal sleep]
	set pid [pid_of $t]
	set script [spit $::tmp/script {
		mdbg::on death {
			puts "death [dict get $mdbg::event signal] [dict get [mdbg::check] damages]"
			malloc check
		}
		puts ready
		flush stdout
		wait exit
		puts "ended [mdbg::status]"
	}]
	set m [open |[list {*}[mdbg_command -q -p $pid -x $script] 2>@1] r]
	check {[hear $m] eq "ready"} {no ready}
	tell $t overrun
	check {[hear $m] eq "death SIGABRT 1"} {no death}
	check_death $t overrun
	check {[regexp {overrun_block} [read $m]]} {malloc check has not found it}
	close $m
}

# The death comes first, then the search at the end, whose damage can be asked for afterwards.
by_both case death-and-leaks-at-end 30 {
	foreach held {on off} {
		set t [start_mortal sleep]
		set m [live_start -p [pid_of $t]]
		live $m "set leaks-at-end on; set hold-at-death $held"
		if {$held} {
			hold $m $t overrun
			live $m {wait exit}
		} else {
			tell $t overrun
			live $m {wait exit}
		}
		check_death $t overrun
		check {[regexp {1 places of the heaps are damaged} [live $m {malloc leaks}]]} {no damage: [live $m {malloc leaks}]}
		check {[regexp {1 place is damaged} [live $m {malloc check}]]} {[live $m {malloc check}]}
		check {[regexp {overrun_block} [live $m {malloc check}]]} {[live $m {malloc check}]}
		check {[live_value $m {dict get [mdbg::check] damages}] == 1} {the twin says otherwise}
		close $m
	}
}

# mdbg is killed at any moment around the death.
by_both repeated death-mdbg-is-killed 20 {
	for {set i 0} {$i < $::trials} {incr i} {
		set how [lindex {abort segv {both abort} overrun} [expr {$i % 4}]]
		set t [start_mortal round]
		set m [live_start -p [pid_of $t]]
		live $m {set hold-at-death on}
		set pid [pid $m]
		tell $t $how
		delay [expr {int(rand() * 2000)}]
		exec kill -KILL $pid
		until {![is_alive [pid_of $t]]}
		set end [ending $t]
		check {$end eq [list signal [expr {$how eq "segv" ? "SIGSEGV" : "SIGABRT"}]]} {$how: $end}
		catch {close $m}
	}
}

# A process that dies while mdbg attaches or detaches, whatever mdbg does at that moment, dies as it would have.
by_both repeated death-at-attach-and-detach 20 {
	for {set i 0} {$i < $::trials} {incr i} {
		set how [lindex {abort segv {thread fpe} trap {both abort} {caught segv}} [expr {$i % 6}]]
		set hold [expr {$i % 2 ? "on" : "off"}]
		set t [start_mortal round sleep]
		set pid [pid_of $t]
		set m [open |[list {*}[mdbg_command -q -p $pid -c "set hold-at-death $hold" -c "malloc on" -c detach -c "attach $pid"] \
			2>@1] r]
		delay [expr {int(rand() * 60000)}]
		tell $t $how
		if {$how eq "caught segv"} {
			check {[hear $t] eq "caught"} {it was not caught}
			catch {read $m}
			catch {close $m}
			close $t
			continue
		}
		until {![is_alive $pid]}
		set end [ending $t]
		check {$end eq [list signal [dict get {abort SIGABRT segv SIGSEGV {thread fpe} SIGFPE trap SIGTRAP
			{both abort} SIGABRT} $how]]} {$how: $end}
		catch {read $m}
		catch {close $m}
	}
}

# The core that the kernel has written, or a skip.
proc core_of {t} {
	until {![is_alive [pid_of $t]]}
	ending $t
	set cores [glob -nocomplain $::tmp/core*]
	skip_if {$cores eq {}} {the kernel writes no cores here (its core_pattern)}
	return [lindex $cores 0]
}

# The stack of a core goes on behind mdbg's code, in mdbg and, with a script of ours, in gdb.
by_both case death-core-unwinds 30 {
	foreach kept {0 1} {
		if {$kept && $::engine eq "breakpoint"} {
			break
		}
		set t [start_mortal sleep]
		set m [live_start -p [pid_of $t]]
		if {$kept} {
			live $m {detach -keep}
		}
		tell $t overrun
		set core [core_of $t]
		close $m
		set text [mdbg_ok -q --core $core -c where]
		check {[regexp {abort.*malloc.*overrun.*main\+.*_start} $text] && ![regexp {stack ends} $text]} {where: $text}
		if {[auto_execok gdb] eq "" || [catch {exec gdb -batch -nx -ex {python print(6 * 7)} 2>/dev/null} said] || $said ne "42"} {
			continue
		}
		set text [exec gdb -batch -nx -ex "source $::here/../../scripts/mdbg-gdb.py" -ex bt $::build/targets/dies $core 2>/dev/null]
		check {[regexp {malloc .*\?\? \(\).* overrun .* main } $text]} {gdb: $text}
	}
}

# Wherever the thread is in mdbg's code.
by_both repeated death-core-unwinds-anywhere 30 {
	for {set i 0} {$i < $::trials} {incr i} {
		set t [start_mortal]
		set m [live_start -p [pid_of $t]]
		check {[ask $t churn] eq "churns"} {it does not}
		delay [expr {int(rand() * 20000)}]
		exec kill -QUIT [pid_of $t]
		set core [core_of $t]
		close $m
		set text [mdbg_ok -q --core $core -c where]
		check {[regexp {churn.*main\+.*_start} $text] && ![regexp {stack ends} $text]} {where: $text}
	}
}

# The first process of a pid namespace dies of its faults, though the kernel lets none die that is traced.
by_both case death-of-init 30 {
	skip_if {[catch {exec unshare -fp true} why]} {no pid namespace can be made: $why}
	foreach {how args} {segv {} abort sleep {thread ill} sleep fpe round} {
		set t [start_command unshare -fp --kill-child $::build/targets/dies {*}$args 2>/dev/null]
		set pid [exec pgrep -P [pid_of $t]]
		set m [live_start -p $pid]
		live $m {set leaks-at-end on; set hold-at-death on}
		tell $t $how
		until {![is_alive $pid]}
		live $m {wait exit}
		check {[regexp {is gone|ended} [live $m status]]} {$how: [live $m status]}
		close $m
		catch {ending $t}
	}
}
