# SPDX-License-Identifier: GPL-3.0-or-later
# What watching adds to a malloc+free pair, by mdbg and by its peers.
#
# Within one process undisturbed and watched times alternate, ROUNDS times, each the least of three intervals; a figure is
# the median of the differences between a watched time and those around it. What must start the program itself (preload,
# valgrind) is compared with the undisturbed times of the others.

set rounds 5
set interval 100		;# ms

# {threads paths}, the columns
set columns {{1 1} {1 256} {2 1} {2 256}}

# Undisturbed ns of each column, all of them.
set alone [dict create]

proc least_ns {t paths {limit 600}} {
	foreach i {1 2 3} {
		lappend ns [churn_ns $t $paths $::interval $limit]
	}
	return [lindex [lsort -real $ns] 0]
}

proc measure_alone {t column} {
	set ns [least_ns $t [lindex $column 1]]
	dict lappend ::alone $column $ns
	return $ns
}

# One process, watched and let go ROUNDS times. `begin` and `end` are commands: begin T returns what end gets, or "".
proc alternate {column begin end} {
	lassign $column threads paths
	set t [churn -t $threads]
	set added {}
	set before [measure_alone $t $column]
	for {set i 0} {$i < $::rounds} {incr i} {
		set watcher [{*}$begin $t]
		if {$watcher eq ""} {
			break
		}
		churn_ns $t $paths 100
		set under [least_ns $t $paths]
		{*}$end $watcher
		set after [measure_alone $t $column]
		lappend added [expr {$under - ($before + $after) / 2}]
		set before $after
	}
	finish $t
	return [expr {$added eq {} ? "none" : [median $added]}]
}

# --- mdbg ---------------------------------------------------------------------------------------------------------

proc begin_mdbg {options t} {
	return [watched_by $t {*}$options]
}

proc bench_mdbg {options column} {
	return [alternate $column [list begin_mdbg $options] let_go]
}

proc begin_with_free_history {t} {
	set m [watched_by $t --engine jump]
	live $m "set free-history 4096"
	return $m
}

proc bench_free_history {column} {
	return [alternate $column begin_with_free_history let_go]
}

# --- peers --------------------------------------------------------------------------------------------------------

# As bcc's memleak: the stack at malloc's return, kept by address until free.
proc begin_bpftrace {t} {
	set libc [lindex [regexp -inline -line {/\S*/libc\.so\.6$} [slurp /proc/[pid_of $t]/maps]] 0]
	set script [spit $::tmp/pairs.bt "
		uprobe:$libc:malloc { @size\[tid] = arg0; }
		uretprobe:$libc:malloc /@size\[tid]/ { @held\[retval] = (@size\[tid], ustack); delete(@size\[tid]); }
		uprobe:$libc:free { delete(@held\[arg0]); }
		END { clear(@size); clear(@held); }
	"]
	set pid [exec bpftrace -q -p [pid_of $t] $script > $::tmp/bpftrace.out 2>@1 &]
	# Its probes are there when a trap costs something.
	until {[churn_ns $t 1 10] > 1000} 60
	return $pid
}

proc end_bpftrace {pid} {
	exec kill -TERM $pid
	until {![is_alive $pid]} 300
}

proc bench_bpftrace {column} {
	return [alternate $column begin_bpftrace end_bpftrace]
}

# It leaves its library in the process, so that each interval has a process of its own. Some of these crash.
proc bench_heaptrack_attach {column} {
	set added {}
	for {set i 0} {$i < $::rounds} {incr i} {
		set t [churn -t [lindex $column 0]]
		set before [measure_alone $t $column]
		set heaptrack [start_heaptrack [pid_of $t]]
		if {[catch {
			churn_ns $t [lindex $column 1] 100 10
			lappend added [expr {[least_ns $t [lindex $column 1] 10] - $before}]
		}]} {
			note "(under heaptrack -p the program hangs or has crashed)"
		}
		end_by_force [pid_of $t]
		catch {ending $t}
		end_heaptrack $heaptrack
	}
	return [expr {$added eq {} ? "none" : [median $added]}]
}

# A program that was started with something in it.
proc bench_started {command column} {
	lassign $column threads paths
	set t [start_bench {*}$command $::build/bench/churn -t $threads]
	order $t fill 120
	churn_ns $t $paths 100
	set under [least_ns $t $paths]
	tell $t quit
	catch {ending $t}
	return [expr {$under - [median [dict get $::alone $column]]}]
}

proc bench_heaptrack_preloaded {column} {
	return [bench_started [list heaptrack -r -o $::tmp/heaptrack.preloaded] $column]
}

# Two silent breakpoints that continue; the target is lost with it.
proc bench_gdb {column} {
	lassign $column threads paths
	set t [churn -t $threads]
	set script [spit $::tmp/gdb.script "
		set pagination off
		set confirm off
		break malloc
		commands
		silent
		continue
		end
		break free
		commands
		silent
		continue
		end
		shell touch $::tmp/gdb.ready
		continue
	"]
	file delete $::tmp/gdb.ready
	set pid [exec gdb -q -nx -batch -p [pid_of $t] -x $script < /dev/null > $::tmp/gdb.out 2>@1 &]
	until {[file exists $::tmp/gdb.ready]} 60
	set ns [churn_ns $t $paths 1]
	end_by_force $pid
	end_by_force [pid_of $t]
	catch {ending $t}
	return [expr {$ns - [median [dict get $::alone $column]]}]
}

# --- the table ----------------------------------------------------------------------------------------------------

# name, program or option of mdbg that it needs, columns, command
set ways {
	"mdbg, jump, depth 32"		""		4 {bench_mdbg {--engine jump}}
	"mdbg, jump, depth 1"		""		4 {bench_mdbg {--engine jump --stack-depth 1}}
	"mdbg, jump, --sample 512K"	--sample	4 {bench_mdbg {--engine jump --sample 512K}}
	"mdbg, jump, free-history 4096"	""		4 bench_free_history
	"mdbg, breakpoint"		""		4 {bench_mdbg {--engine breakpoint}}
	"heaptrack -p"			heaptrack	4 bench_heaptrack_attach
	"heaptrack, preloaded"		heaptrack	4 bench_heaptrack_preloaded
	"bpftrace, uprobes and ustack"	bpftrace	4 bench_bpftrace
	"valgrind memcheck"		valgrind	2 {bench_started {valgrind -q --leak-check=no}}
	"gdb, silent breakpoints"	gdb		1 bench_gdb
}

proc show_row {name cells} {
	puts [format "%-30s %20s %20s %20s %20s" $name {*}$cells]
	flush stdout
}

proc there_is {needed} {
	if {[string match --* $needed]} {
		return [expr {![catch {exec $::mdbg_program $needed 512K --version}]}]
	}
	return [expr {$needed eq "" || [auto_execok $needed] ne ""}]
}

proc measure_way {command nr} {
	set cells {}
	foreach column [lrange $::columns 0 $nr-1] {
		set added [{*}$command $column]
		dict set ::measured $::name $column $added
		if {$added eq "none"} {
			lappend cells -
			continue
		}
		set base [median [dict get $::alone $column]]
		lappend cells [format "+%.1f (%.*f)" $added [expr {$added < 10 * $base ? 2 : 0}] [expr {($base + $added) / $base}]]
	}
	return [concat $cells [lrepeat [expr {4 - $nr}] ""]]
}

proc added {name column} {
	if {![dict exists $::measured $name $column] || [dict get $::measured $name $column] eq "none"} {
		return ""
	}
	return [dict get $::measured $name $column]
}

proc limit_peer {name column least} {
	set ours [added "mdbg, jump, depth 32" $column]
	set theirs [added $name $column]
	if {$theirs ne ""} {
		limit "$name, $column: times what the jump adds" [expr {$theirs / max($ours, 0.1)}] >= $least
	}
}

proc check_pairs {} {
	set pair [median [dict get $::alone {1 1}]]
	set scale [expr {$pair / 20}]
	foreach {column most} {{1 1} 25 {1 256} 60 {2 1} 50 {2 256} 120} {
		set ns [added "mdbg, jump, depth 32" $column]
		if {$ns eq ""} {
			lappend ::broken "no jump probes"
			return
		}
		limit "jump, depth 32, $column: ns added where a pair takes 20" [expr {$ns / $scale}] <= $most
	}
	limit_peer "bpftrace, uprobes and ustack" {1 1} 200
	limit_peer "heaptrack -p" {1 1} 8
	limit_peer "heaptrack -p" {2 1} 10
}

proc bench_pair {} {
	puts "ns added to a malloc+free pair (and the ratio), called twelve functions deep"
	puts "medians of $::rounds alternated times; [machine]\n"
	show_row "" [lmap column $::columns {
		lassign $column threads paths
		format "%d thread%s, %d path%s" $threads [expr {$threads > 1 ? "s" : ""}] $paths [expr {$paths > 1 ? "s" : ""}]
	}]
	set ::measured [dict create]
	foreach {::name needed nr command} $::ways {
		if {![there_is $needed]} {
			show_row $::name {"(not there)" "" "" ""}
			continue
		}
		show_row $::name [measure_way $command $nr]
	}
	show_row "undisturbed: ns a pair" [lmap column $::columns { format %.1f [median [dict get $::alone $column]] }]
	puts ""
	check_pairs
}
