# SPDX-License-Identifier: GPL-3.0-or-later
# Processes made by the target.

proc parent_is_exact {t m} {
	set listed [dict create]
	foreach block [parse_allocations [live $m "malloc allocations size == 333"]] {
		dict set listed [dict get $block address] 1
	}
	# The first hundred are from before the attach.
	foreach line [lrange [ask_list $t list] 100 end] {
		check {[dict exists $listed [expr [lindex $line 0]]]} {$line is not listed}
	}
	check {[dict size $listed] == [llength [ask_list $t list]] - 100} {others' blocks are listed}
}

proc forks {way n {setting {}}} {
	start_watched {t before m} forker
	live $m $setting
	order $t "alloc 50"
	order $t "$way $n" [expr {60 + $n / 20}]
	order $t "alloc 50"
	parent_is_exact $t $m
	live_end $m
	check_state $before [pid_of $t]
	order $t "$way 1"
	finish $t
}

foreach way {fork tfork vfork vmalloc spawn system clonevm} {
	by_both repeated process-$way 40 "forks $way \$::trials"
}

# Children that go on in the middle of the agent, where a handler's signal came.
repeated process-handler 60 {
	forks handler [expr {50 * $::trials}]
}

repeated process-handler-followed 60 {
	forks handler [expr {10 * $::trials}] {set follow-fork both}
}

# A child must have nothing of mdbg's, and its text as its parent had it before.
proc child_is_clean {child before} {
	set now [state $child]
	foreach line [lsearch -all -inline $before "text *"] {
		check {$line in $now} {the text of $child is not clean: $line}
	}
	check {[lsearch $now "*memfd:mdbg*"] < 0} {$child has a mapping of mdbg's: [lsearch -inline $now *memfd:mdbg*]}
	check {[string match "*TracerPid:\t0\n*" [slurp /proc/$child/status]]} {$child is still traced}
}

# A child that lives on, allocates, and outlives the detach, which cleans it. (By breakpoints it is clean at once.)
by_both case process-child-lives-on 60 {
	set t [start forker]
	set before [lsearch -all -inline -not [state [pid_of $t]] "fd *"]
	set m [live_start -p [pid_of $t]]
	set child [order $t keep]
	order $t "alloc 50"
	parent_is_exact $t $m
	if {$::engine eq "breakpoint"} {
		until {[string match "*TracerPid:\t0\n*" [slurp /proc/$child/status]]}
		child_is_clean $child $before
	}
	live_end $m
	child_is_clean $child $before
	# (The pipe of keep is new.)
	check {[lsearch -all -inline -not [state [pid_of $t]] "fd *"] eq $before} {not as before}
	# It has no blocks between two rounds.
	mdbg_ok -q -p $child -c {while {[dict get [mdbg::malloc] allocs] == 0} {wait 0.01}} -c {malloc sites limit 1}
	child_is_clean $child $before
	order $t drop
	finish $t
}

# What a killed mdbg has left in a child is taken out with what it has left in the parent.
by_both case process-child-left-by-a-killed-one 60 {
	start_watched {t before m} forker
	set child [order $t keep]
	live_kill $m
	mdbg_ok -q -p [pid_of $t] -c status
	child_is_clean $child $before
	order $t drop
	finish $t
}

# As a daemon does it.
case process-child-of-a-target-that-ends 60 {
	start_watched {t before m} forker
	set child [order $t keep]
	exec kill -KILL [pid_of $t]
	live $m {wait exit}
	child_is_clean $child $before
	exec kill -KILL $child
	live_end $m
}

by_both case process-child-survives-a-killed-mdbg 60 {
	start_watched {t m} forker
	order $t keep
	live_kill $m
	orders $t "alloc 50" "fork 3" "vfork 3" drop
	mdbg_ok -q -p [pid_of $t] -c status
	finish $t
}

# Attached to in the middle of a vfork; also left in the middle of it.
by_both repeated process-attach-in-a-vfork 60 {
	set t [start forker]
	for {set i 0} {$i < $::trials} {incr i} {
		order $t "hold"
		set m [live_start -p [pid_of $t]]
		order $t "alloc 20"
		check {[llength [parse_allocations [live $m "malloc allocations size == 333"]]] == 20} {not 20 blocks}
		if {$i % 2} {
			live_end $m
			order $t release
		} else {
			order $t release
			live_end $m
		}
		check {[string match "*TracerPid:\t0\n*" [slurp /proc/[pid_of $t]/status]]} {still traced}
	}
	order $t "fork 1"
	finish $t
}

by_both case process-exec 60 {
	start_watched {t m} forker
	order $t "alloc 50"
	check {[lindex [ask $t exec] 0] eq "ready"} {it does not say ready again}
	# The memory of the old program is gone before mdbg has seen why; its log still answers.
	until {![catch {live $m status} text] && [string match "*its log still answers*" $text]}
	check {[llength [parse_allocations [live $m "malloc allocations size == 333"]]] == 50} {the log is gone}
	order $t "alloc 10"
	live_end $m
	check {[string match "*TracerPid:\t0\n*" [slurp /proc/[pid_of $t]/status]]} {still traced}
	finish $t
}

by_both case process-exec-followed 60 {
	start_watched {t m} forker
	live $m "set follow-exec on"
	check {[lindex [ask $t exec] 0] eq "ready"} {it does not say ready again}
	order $t "alloc 25"
	set n [llength [parse_allocations [live $m "malloc allocations size == 333"]]]
	check {$n in {25 125}} {$n blocks of the new program}
	live_end $m
	order $t "alloc 10"
	finish $t
}

# It cannot be watched anew: mdbg has no descriptor left to look at it with. It goes on all the same, and mdbg does.
case process-exec-followed-without-descriptors 60 {
	set prlimit [need prlimit]
	start_watched {t m} forker
	live $m "set follow-exec on"
	exec $prlimit --pid [pid $m] --nofile=3:
	check {[lindex [ask $t exec] 0] eq "ready"} {it does not say ready again}
	exec $prlimit --pid [pid $m] --nofile=1024:
	check {[string match "*TracerPid:\t0\n*" [slurp /proc/[pid_of $t]/status]]} {still traced}
	live $m status
	check {[live_error $m malloc] ne ""} {malloc answers}
	live $m "attach [pid_of $t]"
	order $t "alloc 25"
	check {[llength [parse_allocations [live $m "malloc allocations size == 333"]]] == 25} {the next attach records nothing}
	finish $t $m
}

case process-exec-of-another 60 {
	start_watched {t m} forker
	tell $t "exec /bin/sh -c exit"
	until {![catch {live $m status} text] && [string match "*its log still answers*" $text]}
	live $m "malloc sites limit 1"
	check {[ending $t] eq {exit 0}} {the program ended otherwise}
	live_end $m
}

case process-follow-both 60 {
	start_watched {t m} forker
	live $m "set follow-fork both"
	orders $t "fork 3" "alloc 10"
	live_end $m
	order $t "fork 3"
	finish $t
}

case process-follow-both-blocks 60 {
	set t [start forker]
	set before [lsearch -all -inline [state [pid_of $t]] "text *"]
	set m [live_start -p [pid_of $t]]
	live $m "set follow-fork both"
	set child [order $t keep]
	order $t "alloc 20"
	until {[set block [live_value $m "lindex \[mdbg::allocations pid == $child limit 1\] 0"]] ne ""} 20
	check {[dict get $block stack] != 0} {a block without a stack: $block}
	check {[live_value $m "llength \[mdbg::allocations pid == [pid_of $t] and size == 333\]"] == 20} {the parent's blocks: $::result}
	live_end $m
	foreach pid [list $child [pid_of $t]] {
		check {[string match "*TracerPid:\t0\n*" [slurp /proc/$pid/status]]} {$pid is still traced}
		set now [state $pid]
		foreach line $before {
			check {$line in $now} {$pid is not as before: $line}
		}
		check {[lsearch $now "*memfd:mdbg*"] < 0} {$pid has a mapping of mdbg's}
	}
	order $t drop
	finish $t
}

case process-follow-child 60 {
	start_watched {t m} forker
	live $m "set follow-fork child"
	set child [order $t keep]
	until {[live_value $m "mdbg::pid"] == $child} 20
	until {[live_value $m "llength \[mdbg::allocations pid == $child\]"] > 0} 20
	order $t "alloc 20"
	check {[string match "*TracerPid:\t0\n*" [slurp /proc/[pid_of $t]/status]]} {the parent is still traced}
	live_end $m
	check {[string match "*TracerPid:\t0\n*" [slurp /proc/$child/status]]} {the child is still traced}
	order $t drop
	finish $t
}

case process-fork-event 60 {
	start_watched {t m} forker
	live $m {set ::forks 0; mdbg::on fork {incr ::forks}}
	order $t "fork 5"
	live $m "wait until {\$::forks >= 5} timeout [expr {5 * $::slower}]"
	check {[live_value $m {set ::forks}] == 5} {$::result forks seen}
	finish $t $m
}
