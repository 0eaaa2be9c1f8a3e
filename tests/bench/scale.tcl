# SPDX-License-Identifier: GPL-3.0-or-later
# How cost grows with live blocks, depth of the stack, threads and modules. Prints tables, and writes plots to PLOTS.

set interval 300

# The median of three intervals; `measure` is churn_ns or churn_cpu_ns.
proc thrice {measure t} {
	return [median [list [$measure $t 1 $::interval] [$measure $t 1 $::interval] [$measure $t 1 $::interval]]]
}

# One process of its own each, undisturbed and watched from before its first block: {alone watched mdbg t}.
proc beside {measure mdbg args} {
	set t [start_bench $::build/bench/churn {*}$args]
	order $t fill 300
	churn_ns $t 1 100
	set alone [thrice $measure $t]
	finish $t
	set t [start_bench $::build/bench/churn {*}$args]
	set m [live_start {*}$mdbg -p [pid_of $t]]
	order $t fill 300
	churn_ns $t 1 100
	set under [thrice $measure $t]
	return [list $alone $under $m $t]
}

proc end_both {m t} {
	let_go $m
	finish $t
}

proc row {args} {
	puts [join [lmap cell $args { format %12s [expr {[string is double -strict $cell] ? [format %.4g $cell] : $cell}] }]]
	flush stdout
}

proc scale_blocks {} {
	row "live blocks" "alone, ns" "added, ns" "log, B each" "sites, s" "list, s"
	foreach n {1000 10000 100000 1000000 10000000} {
		lassign [beside churn_ns {} -w $n -s 64] alone under m t
		set log [live_value $m {set d [mdbg::malloc]; expr {[dict get $d tablebytes] + [dict get $d stackbytes] + [dict get $d otherbytes]}}]
		set sites [seconds $m "malloc sites > /dev/null"]
		set list [seconds $m "malloc allocations > /dev/null"]
		row $n $alone [expr {$under - $alone}] [expr {double($log) / $n}] $sites $list
		lappend plain $n $alone
		lappend watched $n $under
		lappend listing $n $list
		lappend summing $n $sites
		end_both $m $t
	}
	plot $::env(PLOTS)/blocks.svg "A malloc+free pair, by live blocks" "live blocks" "ns a pair" undisturbed $plain watched $watched
	plot $::env(PLOTS)/answers.svg "How long answers take, by live blocks" "live blocks" "s" \
		"malloc allocations > /dev/null" $listing "malloc sites" $summing
}

proc scale_depth {} {
	row "depth" "alone, ns" "added, ns"
	foreach n {5 10 20 40 60 80 100} {
		lassign [beside churn_ns {--stack-depth 128} -d $n] alone under m t
		row $n $alone [expr {$under - $alone}]
		lappend plain $n $alone
		lappend watched $n $under
		end_both $m $t
	}
	plot $::env(PLOTS)/depth.svg "A malloc+free pair, by depth of the call" "functions above main" "ns a pair" \
		undisturbed $plain watched $watched
}

proc scale_threads {} {
	row "threads" "alone, ns" "added, ns"
	foreach n {1 2 4 8 16 32 64} {
		lassign [beside churn_cpu_ns {} -t $n -w [expr {1024 * $n}]] alone under m t
		row $n $alone [expr {$under - $alone}]
		lappend plain $n $alone
		lappend watched $n $under
		end_both $m $t
	}
	plot $::env(PLOTS)/threads.svg "A malloc+free pair, by threads" "threads, 1024 blocks each" "processor ns a pair" \
		undisturbed $plain watched $watched
}

# n shared objects, no two the same to mdbg.
proc make_modules {n} {
	set object $::tmp/module.o
	exec cc -O2 -fPIC -c -o $object [file join $::bench_here .. targets libplugin.c]
	for {set i 0} {$i < $n} {incr i} {
		exec cc -shared -Wl,--build-id=0x[format %040x [expr {$i + 1}]] -o $::tmp/module-$i.so $object
	}
}

proc attach_seconds {t} {
	set begun [clock microseconds]
	set m [live_start -p [pid_of $t]]
	set took [expr {([clock microseconds] - $begun) / 1e6}]
	return [list $m $took]
}

proc scale_modules {} {
	make_modules 300
	row "modules" "alone, ns" "added, ns" "attach, s" "first, s"
	foreach n {10 30 100 300} {
		set ::env(XDG_CACHE_HOME) $::tmp/cache-$n
		set t [churn]
		for {set i 0} {$i < $n} {incr i} {
			order $t "load $::tmp/module-$i.so"
		}
		set alone [churn_ns $t 1 $::interval]
		lassign [attach_seconds $t] m first
		let_go $m
		lassign [attach_seconds $t] m again
		churn_ns $t 1 100
		set under [churn_ns $t 1 $::interval]
		row $n $alone [expr {$under - $alone}] $again $first
		lappend warm $n $again
		lappend cold $n $first
		end_both $m $t
	}
	plot $::env(PLOTS)/modules.svg "How long an attach takes, by modules" "modules besides libc and ld.so" "s" \
		"first time (unwind information compiled)" $cold "from the cache" $warm
}

proc bench_scale {} {
	file mkdir $::env(PLOTS)
	puts "cost as it grows; [machine]"
	foreach what {blocks depth threads modules} {
		puts ""
		scale_$what
	}
	puts "\nplots: $::env(PLOTS)"
}
