# SPDX-License-Identifier: GPL-3.0-or-later
# Probes and log that outlive their mdbg: `detach -keep`, kill -9, and a later mdbg that goes on.

# What a later mdbg shows must be what the target holds, block for block, and its figures must add up.
proc kept_is_exact {t m} {
	set n [compare $t [dump $m]]
	set accounts [live $m "malloc -v"]
	foreach name {"blocks replaced" "frees of unknown blocks" "not recorded (table full)"} {
		set got [account $accounts [string map {( \\( ) \\)} $name]]
		check {$got == 0} {$name: $got}
	}
	set held [expr {[account $accounts "blocks recorded"] - [account $accounts "blocks freed"]}]
	check {$held == $n} {$held by the accounts, $n listed}
	return $n
}

# What mdbg has noted at the attach.
proc said {m} {
	live $m {wait 0.05}
	return [slurp $::live_err($m)]
}

# When the log was begun.
proc since {m} {
	check {[regexp -line {Recording since[^(]*} [live $m malloc] line]} {malloc does not say since when}
	return $line
}

# Kept, and gone on with, again and again, the target at work all the time.
repeated keep-and-come-back 120 {
	start_watched {t before m} exact -t 4 {*}$::rest
	set since [since $m]
	orders $t "ops 300" go
	for {set i 0} {$i < 2 * $::trials} {incr i} {
		live $m "detach -keep"
		live_end $m
		check {[string match "*TracerPid:\t0\n*" [slurp /proc/[pid_of $t]/status]]} {still traced}
		order $t "more 500"
		set m [live_start -p [pid_of $t]]
		check {![string match *took* [said $m]]} {it was not gone on with}
	}
	orders $t "more 500" pause
	check {[kept_is_exact $t $m] > 300} {few blocks}
	check {[since $m] eq $since} {[since $m] and not $since}
	check_stacks $::tmp/dump 0.9
	finish $t $m $before
}

# The same mdbg comes back.
case keep-and-attach-again 60 {
	start_watched {t before m} exact
	order $t "ops 300"
	live $m "detach -keep"
	check {[string match "*no process*" [live_error $m "detach -keep"]]} {$::result}
	order $t "ops 300"
	# It still reads the log.
	compare $t [dump $m]
	live $m "attach [pid_of $t]"
	order $t "ops 300"
	kept_is_exact $t $m
	finish $t $m $before
}

# A killed mdbg takes nothing with it.
repeated keep-after-a-kill 120 {
	start_watched {t before m} exact -t 4 {*}$::rest
	orders $t "ops 300" go
	for {set i 0} {$i < $::trials} {incr i} {
		kill_mdbg $m
		order $t "more 500"
		set m [live_start -p [pid_of $t]]
		check {![string match *took* [said $m]]} {it was not gone on with}
	}
	order $t pause
	check {[kept_is_exact $t $m] > 300} {few blocks}
	finish $t $m $before
}

# Killed at any moment of taking over: what then is there is gone on with, or cleaned.
repeated keep-killed-while-taking-over 120 {
	set t [start exact -t 4 {*}$::rest]
	set before [state [pid_of $t]]
	order $t go
	for {set i 0} {$i < 4 * $::trials} {incr i} {
		set m [live_start -p [pid_of $t]]
		# A function gets a breakpoint where a thread may stand inside the jump.
		if {[catch {live $m "detach -keep"} message]} {
			check {[string match "*may stand inside*" [live $m "malloc -v"]]} {$message: [live $m "malloc -v"]}
		}
		live_end $m
		set pid [exec {*}[mdbg_command -q -p [pid_of $t] -c {wait 5}] >& $::tmp/killed &]
		delay [expr {5000 + int(rand() * 60000)}]
		exec kill -KILL $pid
		until {![is_alive $pid]}
		order $t "more 100"
	}
	set m [live_start -p [pid_of $t]]
	orders $t "more 100" pause
	dump $m
	finish $t $m $before
}

# The log of another version: said, cleaned, begun anew.
case keep-another-version 60 {
	start_watched {t before m} exact
	order $t "ops 300"
	live $m "detach -keep"
	live_end $m
	set range [lindex [lsearch -inline -regexp [split [slurp /proc/[pid_of $t]/maps] "\n"] { 00000000 .*memfd:mdbg}] 0]
	# Behind the journal (256 KB) and the magic number.
	spit $::tmp/version "\x63\0\0\0"
	exec dd if=$::tmp/version of=/proc/[pid_of $t]/map_files/$range bs=1 seek=[expr {262144 + 8}] conv=notrunc 2>@1
	set m [live_start -p [pid_of $t]]
	check {[string match "*took out what an earlier mdbg had left*lost*version 99*" [said $m]]} \
		{it says: [said $m]}
	orders $t drop "ops 300"
	compare $t [dump $m]
	finish $t $m $before
}

# Children that are forked meanwhile are clean after the last detach.
case keep-and-fork 60 {
	set t [start forker]
	set before [lsearch -all -inline -not [state [pid_of $t]] "fd *"]
	set m [live_start -p [pid_of $t]]
	order $t "alloc 50"
	live $m "detach -keep"
	live_end $m
	set child [order $t keep]
	orders $t "fork 3" "alloc 50"
	set m [live_start -p [pid_of $t]]
	parent_is_exact $t $m
	live_end $m
	child_is_clean $child $before
	check {[lsearch -all -inline -not [state [pid_of $t]] "fd *"] eq $before} {not as before}
	order $t drop
	finish $t
}

case keep-and-exit 60 {
	set t [start exact]
	mdbg_ok -q -p [pid_of $t] -c "detach -keep"
	order $t "ops 300"
	finish $t
}

case keep-and-exec 60 {
	start_watched {t m} forker
	live $m "detach -keep"
	live_end $m
	check {[lindex [ask $t exec] 0] eq "ready"} {it does not say ready again}
	mdbg_ok -q -p [pid_of $t] -c status
	finish $t
}

# Breakpoint probes need an mdbg: refused, and all goes on as before.
case keep-needs-jumps 60 {
	by_breakpoints
	start_watched {t before m} exact
	check {[string match "*breakpoint probes need*" [live_error $m "detach -keep"]]} {$::result}
	order $t "ops 100"
	compare $t [dump $m]
	finish $t $m $before
}

# Left by jumps, and come back by breakpoints: nothing can be gone on with.
case keep-and-come-back-by-breakpoints 60 {
	set t [start exact]
	set before [state [pid_of $t]]
	mdbg_ok -q -p [pid_of $t] -c "detach -keep"
	by_breakpoints
	set m [live_start -p [pid_of $t]]
	check {[string match "*lost: --engine breakpoint*" [said $m]]} {it says: [said $m]}
	order $t "ops 100"
	compare $t [dump $m]
	finish $t $m $before
}

# Where memory is never overcommitted the log could not grow without an mdbg that looks after it.
case keep-needs-memory 60 {
	set number [spit $::tmp/number 2]
	set t [start exact]
	set before [state [pid_of $t]]
	set strict [list {*}[unshared -m] sh -c "mount --bind $number /proc/sys/vm/overcommit_memory && exec \"\$@\"" sh]
	catch {exec {*}$strict {*}[mdbg_command -q -p [pid_of $t] -c "detach -keep"] 2>@1} said
	check {[string match "*cannot leave the probes*vm.overcommit_memory*" $said]} {it says: $said}
	finish $t {} $before
}

# One mdbg at a time, also where it goes on with what another one has left.
case keep-one-at-a-time 60 {
	set t [start exact]
	set before [state [pid_of $t]]
	mdbg_ok -q -p [pid_of $t] -c "detach -keep"
	set m [live_start -p [pid_of $t]]
	order $t "ops 100"
	foreach how {{} --no-arm {--engine breakpoint}} {
		mdbg -q {*}$how -p [pid_of $t] -c status
		check_refused 3 "watched by another mdbg (pid [pid $m])" "detach that one first"
	}
	kept_is_exact $t $m
	finish $t $m $before
}

# What was freed while the probes were out is still in the log: nobody else is to take it for the truth.
case keep-and-off 60 {
	start_watched {t before m} exact
	order $t "ops 300"
	live $m "malloc off"
	check {[string match "*no probes are in place*" [live_error $m "detach -keep"]]} {$::result}
	order $t drop
	live $m "malloc on"
	check {[string match "*the probes were out for a time*" [live_error $m "detach -keep"]]} {$::result}
	kill_mdbg $m
	set m [live_start -p [pid_of $t]]
	check {[string match "*lost: not all of its probes were in place*" [said $m]]} {it says: [said $m]}
	order $t "ops 100"
	compare $t [dump $m]
	live $m "malloc off"
	order $t drop
	live_all $m "malloc on" "malloc reset"
	order $t "ops 100"
	live $m "detach -keep"
	live_end $m
	set m [live_start -p [pid_of $t]]
	check {![string match *took* [said $m]]} {it was not gone on with}
	compare $t [dump $m]
	# What was forgotten is not from before.
	check {![string match "*(allocated before attach)*" [slurp $::tmp/dump]]} {it was reset}
	finish $t $m $before
}

# What a later mdbg, which has the case's engine, says of what was done (`what`) to a hardload that was left with jumps. All
# that it makes from then on is recorded.
proc unwatched {t what} {
	set engine $::engine
	set ::engine auto
	mdbg_ok -q -p [pid_of $t] -c "detach -keep"
	uplevel 1 $what
	set ::engine $engine
	set m [live_start -p [pid_of $t]]
	orders $t "own 50" "make 50 777"
	check {[llength [blocks_sized $m 654]] == 50 && [llength [blocks_sized $m 777]] == 50} {[live $m "malloc -v"]}
	order $t drop
	live_end $m
	return [slurp $::live_err($m)]
}

# A library that has come while nobody watched has no probes, and the log has nothing of what it did: it is named. So is one
# that has lost its probes. If nothing is gone on with, all is lost anyway.
by_both case keep-and-load-again 60 {
	set t [start hardload]
	order $t load
	lassign [place_of $t free libhardpool] address own
	set before [state [pid_of $t]]
	set lost "while no mdbg watched: calls of its allocator since then were not recorded"
	set gap "mdbg: blocks that were freed while the probes were out are still listed: `malloc reset` forgets all that was recorded"
	foreach {what says} [list {} {} \
			{again $t} [list "mdbg: libhardpool.so was loaded again, or its code discarded, $lost"] \
			{text_at $t $address $own} [list "mdbg: the probes were taken out of libhardpool.so $lost" $gap] \
			{order $t "discard malloc"} [list "mdbg: libc.so.6 was loaded again, or its code discarded, $lost" $gap]] {
		set said [split [string trimright [unwatched $t $what]] "\n"]
		if {$::engine eq "breakpoint"} {
			set says [list "mdbg: took out what an earlier mdbg had left, and what it recorded is lost: --engine breakpoint was asked for"]
		}
		check {$said eq $says} {after $what: $said}
		check_state $before [pid_of $t]
	}
	finish $t
}

# At another place it is a new one. One that has gone is told of by nobody.
case keep-and-load-elsewhere 60 {
	set t [start hardload]
	order $t load
	set said [unwatched $t {order $t elsewhere}]
	check {[regexp {^mdbg: libhardpool.so was loaded while no mdbg watched: [^\n]*\n$} $said]} {$said}
	mdbg_ok -q -p [pid_of $t] -c "detach -keep"
	order $t unload
	mdbg_ok -q -p [pid_of $t] -c status
	check {$::err eq ""} {$::err}
	finish $t
}

# Who may not open the log again is told so when it is left, and not by the next mdbg alone.
case keep-without-the-right 30 {
	skip_if {[exec id -u] != 0} {needs root}
	set t [start exact]
	set before [state [pid_of $t]]
	set without [list [need setpriv] --bounding-set -checkpoint_restore,-sys_admin]
	set keep [list $::mdbg_program -n -q -p [pid_of $t] -c {detach -keep}]
	check {[string match "*cannot go on with the log*CAP_CHECKPOINT_RESTORE*" [exec {*}$without {*}$keep 2>@1]]} {nothing is said}
	check {![string match "*cannot go on*" [exec {*}$keep 2>@1]]} {said to one who can}
	mdbg_ok -q -p [pid_of $t] -c detach
	finish $t {} $before
}
