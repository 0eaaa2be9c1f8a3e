# SPDX-License-Identifier: GPL-3.0-or-later
# mdbg comes, goes and is killed while the target does what makes that hard: threads, processes, modules and signals come all the time.

# NAME {PROGRAM ARG…} {options of state} STIR CALM: STIR sets it to work, CALM has it stand still.
set worlds {
	signals {exact -t 8 -p} {} { order $::t go } { order $::t pause }
	threads {storm} -t { order $::t "storm 4" } { order $::t calm }
	modules {dlopener} {} { tell $::t churn } { order $::t halt }
	processes {forker} {} {
		foreach line {"fork 8" "vfork 4" "tfork 8" "spawn 4" "clonevm 4" "forkexec 2"} {
			tell $::t $line
		}
	} {
		for {set k 0} {$k < 6} {incr k} {
			set answer [hear $::t]
			check {[lindex $answer 0] eq "ok"} {it says $answer}
		}
	}
}

proc come_and_go {i attach detach} {
	set pid [pid_of $::t]
	switch [expr {$i % 4}] {
		0 {
			set m [live_start -p $pid]
			live_all $m "malloc allocations > /dev/null" detach
			live_end $m
		}
		1 { kill_at [expr {int($attach * (0.1 + rand()))}] }
		2 {
			set m [live_start -p $pid]
			puts $m detach
			flush $m
			delay [expr {int($detach * rand() * 1.2)}]
			catch {exec kill -KILL [pid $m]}
			gone $m
		}
		3 {
			set m [live_start -p $pid]
			puts $m [lindex {{interrupt; cont} {malloc off; malloc on} {where all}} [expr {$i / 4 % 3}]]
			flush $m
			delay [expr {int(rand() * 20000)}]
			catch {exec kill -KILL [pid $m]}
			gone $m
		}
	}
}

# A new mdbg works, and leaves nothing behind.
proc next_works {before options} {
	set m [live_start -p [pid_of $::t]]
	live_all $m "malloc sites limit 1" detach
	live_end $m
	check_state $before [pid_of $::t] {*}$options
}

foreach {name command options stir calm} $worlds {
	by_both repeated torture-among-$name 60 [string map [list COMMAND $command OPTIONS $options STIR $stir CALM $calm] {
		set ::t [start COMMAND {*}[expr {[lindex {COMMAND} 0] eq "exact" ? $::rest : ""}]]
		set before [state [pid_of $::t] OPTIONS]
		lassign [measure [pid_of $::t]] attach detach
		for {set i 0} {$i < $::trials} {incr i} {
			if {[catch {
				STIR
				come_and_go $i $attach $detach
				CALM
				order $::t verify
				next_works $before {OPTIONS}
			} message]} {
				fail_with_end $::t "trial $i" $message
			}
		}
		finish $::t
	}]
}
