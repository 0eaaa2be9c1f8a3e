# SPDX-License-Identifier: GPL-3.0-or-later
# What only jumps can do: millions of events, by threads that never stop.

# The engine of each function, as mdbg has it.
proc engines {m} {
	set engines [dict create]
	foreach probe [live_value $m mdbg::probes] {
		dict set engines [dict get $probe function] [dict get $probe engine]
	}
	return $engines
}

case jump-is-what-auto-takes 30 {
	start_watched {t m} exact
	foreach function {malloc calloc realloc reallocarray posix_memalign memalign free} {
		check {[dict get [engines $m] $function] eq "jump"} {$function: [engines $m]}
	}
	set verbose [live $m "malloc -v"]
	check {[regexp -line {^malloc .* jump} $verbose]} {malloc -v: $verbose}
	check {[regexp {Probes\.+ (\d+) jump, 0 breakpoint} $verbose -> n] && $n >= 7} {malloc: $verbose}
	finish $t $m
}

case jump-and-breakpoint-as-asked-for 60 {
	set t [start exact]
	set before [state [pid_of $t]]
	foreach {engine other} {jump breakpoint breakpoint jump auto breakpoint} {
		set m [live_start --engine $engine -p [pid_of $t]]
		order $t each
		check {[compare $t [dump $m]] >= 20} {--engine $engine: few blocks}
		check {$other ni [dict values [engines $m]]} {--engine $engine: [engines $m]}
		order $t drop
		live_end $m
		check_state $before [pid_of $t]
	}
	finish $t
}

# A setting holds from the next arming on.
case jump-set-engine 60 {
	start_watched {t before m} exact
	foreach engine {breakpoint jump auto breakpoint} {
		live $m "malloc off; set engine $engine; malloc on; malloc reset"
		order $t each
		check {[compare $t [dump $m]] >= 20} {$engine: few blocks}
		check {[dict get [engines $m] malloc] eq [expr {$engine eq "breakpoint" ? $engine : "jump"}]} \
			{$engine: [engines $m]}
		order $t drop
	}
	finish $t $m $before
}

# A million operations of eight threads at full speed: each is in its account, and what is left is what the target holds.
case jump-exact-million 60 {
	start_watched {t before m} exact -t 8
	order $t go
	order $t "more 125000" 60
	order $t pause
	lassign [order $t counts] allocs frees nulls failed reallocs
	check {$allocs + $frees + $nulls + $failed > 1000000} {only [expr {$allocs + $frees + $nulls + $failed}] events}
	set accounts [live $m "malloc -v"]
	foreach {name want} [list "blocks recorded" $allocs "blocks freed" $frees "frees of NULL" $nulls \
			"frees of unknown blocks" 0 "operations never returned" 0 \
			"not recorded (table full)" 0 "blocks replaced" 0 "blocks without stack (full)" 0] {
		set got [account $accounts [string map {( \\( ) \\)} $name]]
		check {$got == $want} {$name: $got and not $want}
	}
	# (Where realloc finds nothing in an arena it asks malloc for another, which fails as well.)
	check {[account $accounts "allocations that failed"] >= $failed} {failed: [account $accounts "allocations that failed"]}
	check {[compare $t [dump $m]] == $allocs - $frees} {not all are listed}
	live $m "malloc allocations > $::tmp/stacks"
	check_stacks $::tmp/stacks 1.0
	finish $t $m $before
}

# The all-time counts of sites, which the agent's threads keep for a while: known to the last one, also after the detach.
case jump-totals 30 {
	start_watched {t m} million
	# The number of sites and the sums of total, freed and count, of those with a live block.
	live $m [string map {"\n" ";"} {
		proc sums {} {
			set sums {0 0 0}
			set sites [mdbg::sites function == leaf]
			foreach site $sites {
				set sums [lmap sum $sums key {total freed count} {expr {$sum + [dict get $site $key]}}]
			}
			return [concat [llength $sites] $sums]
		}
	}]
	order $t "make 3000"
	check {[live_value $m sums] eq {256 3000 0 3000}} {made: $::result}
	order $t "pairs 20000"
	check {[live_value $m sums] eq {256 23000 20000 3000}} {and pairs: $::result}
	live $m "malloc off"
	check {[live_value $m sums] eq {256 23000 20000 3000}} {off: $::result}
	live $m detach
	check {[live_value $m sums] eq {256 23000 20000 3000}} {after the detach: $::result}
	live $m "attach [pid_of $t]"
	order $t "pairs 5000"
	live $m "malloc reset"
	check {[live_value $m sums] eq {0 0 0 0}} {after a reset: $::result}
	orders $t "make 3000" "pairs 5000"
	check {[live_value $m sums] eq {256 8000 5000 3000}} {after a reset and more: $::result}
	finish $t $m
}

# Stopped at any moment, each block that a realloc has in hand is listed once.
case jump-resized-blocks-are-there 60 {
	start_watched {t before m} resizer
	orders $t go "more 100"
	for {set i 0} {$i < 100} {incr i} {
		live $m interrupt
		set n [live_value $m "llength \[mdbg::allocations size > 4000\]"]
		check {$n == 4} {round $i: $n blocks and not 4: [live $m "malloc allocations size > 4000"]}
		set active [held [live $m malloc]]
		check {$active == 4} {round $i: malloc says $active}
		live $m cont
	}
	order $t pause
	finish $t $m $before
}

# `malloc reset` while eight threads write: from then on all adds up again.
case jump-reset-under-load 60 {
	start_watched {t m} exact -t 8
	for {set i 0} {$i < 5} {incr i} {
		order $t go
		live $m "malloc reset"
		set since [expr {[clock microseconds] * 1000}]
		orders $t "more 2000" pause
		check {[compare $t [dump $m] $since] > 50} {few blocks}
		set accounts [live $m "malloc -v"]
		set live [expr {[account $accounts "blocks recorded"] - [account $accounts "blocks freed"] - [account $accounts "blocks replaced"]}]
		check {$live == [held $accounts]} {$live and not [held $accounts]}
	}
	finish $t $m
}

# More threads than the agent has room for at once come and go: each event is in an account, and no block is left.
case jump-threads-come-and-go 60 {
	set t [start storm]
	set before [state -t [pid_of $t]]
	set m [live_start -p [pid_of $t]]
	orders $t "storm 4" "alloc 100" "more 2000" "alloc 100" calm
	set listed [parse_allocations [live $m "malloc allocations size == 333"]]
	check {[llength $listed] == 200} {[llength $listed] blocks and not 200}
	set held [dict create]
	foreach line [lrange [ask_list $t list] 100 end] {
		dict set held [expr [lindex $line 0]] 1
	}
	foreach block $listed {
		check {[dict exists $held [dict get $block address]]} {$block is not held}
	}
	set accounts [live $m "malloc -v"]
	set live [expr {[account $accounts "blocks recorded"] - [account $accounts "blocks freed"] - [account $accounts "blocks replaced"]}]
	check {$live == [held $accounts]} {$live are left, but not listed}
	foreach name {"not recorded \\(table full\\)" "operations never returned"} {
		check {[account $accounts $name] == 0} {$name: [account $accounts $name]}
	}
	finish $t $m $before -t
}

# Threads at work are stopped inside of probes: no frame of mdbg's in a traceback, and each has its end.
case jump-where-under-load 60 {
	start_watched {t m} exact -t 4
	order $t go
	for {set i 0} {$i < 20} {incr i} {
		set text [live $m "where all"]
		check {[regexp -all -line { (__)?clone3?\+} $text] == 4 && [regexp -all { _start\+} $text] == 1} \
			{a stack is not complete: $text}
		check {![regexp {memfd|\?\?} $text]} {a frame of ours: $text}
	}
	live $m status
	check {[live_value $m "llength \[mdbg::threads\]"] == 5} {$::result threads}
	order $t pause
	finish $t $m
}

# At its prompt mdbg sleeps, however busy the target is: it wakes up some times a second. (What that costs is for the bench.)
case jump-quiet-prompt 60 {
	start_watched {t m} exact -t 2
	orders $t go "more 100000"
	set start [clock milliseconds]
	set woken [wakings [pid $m]]
	order $t "more 1000000" 60
	until {[clock milliseconds] - $start >= 1500}
	set woken [expr {[wakings [pid $m]] - $woken}]
	set seconds [expr {([clock milliseconds] - $start) / 1000.0}]
	note "mdbg woke up $woken times in $seconds s"
	# (Twenty a second were seen, and seventy under the sanitizers; to trace would take tens of thousands.)
	check {$woken <= 300 * $seconds} {mdbg woke up $woken times in $seconds s}
	order $t pause
	finish $t $m
}

# How often the threads of a process have slept.
proc wakings {pid} {
	set sum 0
	foreach status [glob /proc/$pid/task/*/status] {
		regexp {\nvoluntary_ctxt_switches:\s+(\d+)} [slurp $status] -> nr
		incr sum $nr
	}
	return $sum
}
