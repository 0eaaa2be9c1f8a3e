# SPDX-License-Identifier: GPL-3.0-or-later
# Sampling: what is recorded stands for what is not.

# Is `is` what n blocks come to, of which 1 - exp(-size / mean) are sampled? Six standard deviations: wrong by chance
# once in 10^8 times.
proc check_estimate {what is n size mean} {
	set p [expr {1 - exp(-double($size) / $mean)}]
	set off [expr {6 * sqrt($n * (1 - $p + 0.25) / $p)}]
	note "$what: $is for $n, give or take [expr {round($off)}]"
	check {abs($is - $n) <= $off} {$what: $is for $n, more than [expr {round($off)}] off}
}

# Sums over the sites in a function.
proc site_sums {m function} {
	return [live_value $m [string map [list "\n" " " FUNCTION $function] {apply {{} {
		set sums {0 0 0 0};
		foreach site [mdbg::sites function == FUNCTION] {
			set sums [lmap sum $sums key {count bytes total freed} {expr {$sum + [dict get $site $key]}}]
		};
		return $sums
	}}}]]
}

by_both case sample-estimates 60 {
	set mean [work 16384 1024]
	set small [work 1000000 10000]
	set large [work 16384 5000]
	set t [start sampled]
	set before [state [pid_of $t]]
	set m [live_start --sample $mean -p [pid_of $t]]
	orders $t "small $small" "large $large"
	foreach {function n size} [list small $small 32 large $large 4096] {
		lassign [site_sums $m $function] count bytes total freed
		check_estimate "$function blocks" $count $n $size $mean
		check_estimate "$function blocks by bytes" [expr {$bytes / $size}] $n $size $mean
		check {$total == $count && $freed == 0} {$function: all-time $total, $freed freed, $count live}
	}
	set text [live $m malloc]
	check {[regexp -line "Sampling\\.+ one in $mean bytes" $text]} {malloc: $text}
	check {[figure $text "allocations since attach"] == $small + $large} {since attach: $text}
	set all [expr {$small + $large}]
	set active [figure $text "allocations currently active"]
	check {abs($active - $all) < $all / 4} {$active active of $all}
	set figures [live_value $m mdbg::malloc]
	check {[dict get $figures records] + [dict get $figures unsampled] == $all} {not all are counted: $figures}
	check {[dict get $figures records] < $all / 2 || $mean < 4096} {not sampled: $figures}
	check {[regexp -line {^Sampled .* they stand for (\d+) allocations} [live $m "malloc allocations"] -> listed]} \
		{malloc allocations does not say}
	check {$listed == $active} {listed $listed, active $active}
	check {[regexp -line {^Sampled } [live $m "malloc sites"]]} {malloc sites does not say}
	order $t drop
	set figures [live_value $m mdbg::malloc]
	check {[dict get $figures active] == 0 && [dict get $figures records] == 0} {dropped: $figures}
	check {[dict get $figures frees] + [dict get $figures unsampledfrees] == $all} {frees: $figures}
	check {[dict get $figures unknownfrees] == 0} {unknown frees: $figures}
	finish $t $m $before
}

by_both case sample-pairs-and-resize 60 {
	set mean [work 4096 512]
	set n [work 200000 5000]
	set t [start sampled]
	set m [live_start -p [pid_of $t] --sample $mean]
	orders $t "small $n" resize
	lassign [site_sums $m resize] count bytes total freed
	check_estimate "resized" $count $n 48 $mean
	lassign [site_sums $m small] count
	check {$count == 0} {$count are left of before}
	set figures [live_value $m mdbg::malloc]
	check {[dict get $figures allocs] + [dict get $figures unsampled] == 2 * $n} {allocs: $figures}
	check {[dict get $figures frees] + [dict get $figures unsampledfrees] == $n} {frees: $figures}
	order $t "pairs $n"
	set figures [live_value $m mdbg::malloc]
	check {[dict get $figures allocs] + [dict get $figures unsampled] == 3 * $n} {allocs: $figures}
	check {[dict get $figures frees] + [dict get $figures unsampledfrees] == 2 * $n} {frees: $figures}
	check {[dict get $figures nested] == 0 && [dict get $figures replaced] == 0} {accounts: $figures}
	finish $t $m
}

# Each record that is listed is of a block that the target holds. Returns how many there are.
proc compare_records {t blocks} {
	set truth [dict create]
	foreach line [ask_list $t list] {
		lassign $line address size lwp function
		dict set truth [expr {$address + 0}] [list $size $lwp [alias $function]]
	}
	foreach block [set blocks [recorded $blocks]] {
		set address [dict get $block address]
		set got [list [dict get $block size] [dict get $block thread] [alias [lindex [dict get $block stack] 0 1]]]
		check {[dict exists $truth $address]} {[format 0x%x $address] ($got) is listed, but not held}
		check {[dict get $truth $address] eq $got} \
			{[format 0x%x $address] is listed as $got, but is [dict get $truth $address]}
	}
	return [llength $blocks]
}

# What is recorded and what is passed over come to what the target has counted.
proc check_sample_sums {t figures} {
	lassign [order $t counts] blocks released nulls failures
	dict with figures {
		check {$blocks == $allocs + $unsampled} {$blocks blocks: $figures}
		check {$released == $frees + $unsampledfrees} {$released frees: $figures}
		# (A realloc that fails tries malloc, in another arena.)
		check {$nullfrees == $nulls && $failed >= $failures} {$nulls of NULL, $failures failed: $figures}
		check {$records == $allocs - $frees} {records: $figures}
		check {$unknownfrees + $full + $replaced + $voided == 0} {what cannot be: $figures}
	}
}

# Eight threads at work that free each other's blocks, by all of the allocator's functions.
by_both case sample-accounts-of-eight-threads 60 {
	set t [start exact -t 8 {*}$::rest]
	set before [state [pid_of $t]]
	set m [live_start --sample 2K -p [pid_of $t]]
	for {set i 0} {$i < [work 3 1]} {incr i} {
		orders $t go "more [work 20000 100]" pause
		check_sample_sums $t [live_value $m mdbg::malloc]
		live $m "malloc allocations > $::tmp/dump"
		check {[compare_records $t [parse_allocations [slurp $::tmp/dump]]] > 5} {few records}
	}
	# All by the main thread: no record may be left, or a free was taken for another's.
	order $t drop
	set figures [live_value $m mdbg::malloc]
	check_sample_sums $t $figures
	check {[dict get $figures records] == 0 && [dict get $figures active] == 0} {dropped: $figures}
	finish $t $m $before
}

# The program's own operators: operator new is called in its nothrow form, which calls malloc, and operator delete calls
# free. Each is one event, and two nested ones, or one. (An exception's block is malloc's alone.)
by_both case sample-own-operator-new 60 {
	set t [start cxxexact {*}$::rest]
	set before [state [pid_of $t]]
	set m [live_start --sample 4K -p [pid_of $t]]
	set caught [order $t counts]
	order $t go
	order $t "more [work 300 8]" 100
	order $t pause 100
	set kept [order $t "keep [work 1000 30]" 100]
	set figures [live_value $m mdbg::malloc]
	set caught [expr {[order $t counts] - $caught}]
	dict with figures {
		set blocks [expr {$allocs + $unsampled}]
		set released [expr {$frees + $unsampledfrees}]
		check {$blocks - $released == $kept} {$kept kept: $figures}
		check {$nested == 2 * ($blocks - $caught) + $released - $caught} {$caught caught: $figures}
		check {$records == $allocs - $frees} {records: $figures}
		check {$unknownfrees + $full + $replaced + $voided == 0} {what cannot be: $figures}
	}
	finish $t $m $before
}

# The setting, its bounds, and what the API takes.
case sample-setting 30 {
	set t [start sampled]
	set m [live_start]
	check {[live_value $m "set sample"] == 0} {default: $::result}
	check {[string match "*not a size*" [live_error $m "set sample often"]]} {set sample often}
	check {[string match "*more than 16G*" [live_error $m "set sample 17G"]]} {set sample 17G}
	live $m "set sample 2K"
	check {[live_value $m "set sample"] == 2048} {set sample 2K: $::result}
	live $m "attach [pid_of $t]"
	check {[live_value $m "dict get \[mdbg::malloc\] sampling"] == 2048} {attach: $::result}
	live_all $m detach "mdbg::attach [pid_of $t] -sample 1M"
	check {[live_value $m "dict get \[mdbg::malloc\] sampling"] == 1048576} {mdbg::attach: $::result}
	live_all $m detach "set sample 0; attach [pid_of $t]"
	order $t "small 100"
	set text [live $m malloc]
	check {[regexp -line {Sampling\.+ off$} $text]} {off: $text}
	check {[regexp -line {^Log: 100 records, .* unknown blocks$} $text]} {off: $text}
	finish $t $m
}

# A bound on the cost: the log samples by a mean that changes. What is recorded under one rate and freed under another is
# right; large blocks are in any case; and without a bound all are from then on.
case cost-bound 60 {
	set t [start sampled]
	set before [state [pid_of $t]]
	set m [live_start --cost 0.5 -p [pid_of $t]]
	set n [work 1000000 100000]
	order $t "small $n"
	set figures [live_value $m mdbg::malloc]
	check {[dict get $figures costlimit] == 0.5} {bound: $figures}
	check {[dict get $figures records] + [dict get $figures unsampled] == $n} {not all are counted: $figures}
	check {[dict get $figures records] < $n} {all are recorded: $figures}
	set text [live $m "status"]
	check {[regexp -line {^Sampling: one in \d+ bytes; .*of processor time.*of 0\.5 % at most|^Sampling: .*not known yet, of 0\.5 % at most} $text]} {status: $text}
	check {[regexp -line {Cost\.+ .*, of 0\.5 % at most} [live $m malloc]]} {malloc does not say}
	check {[regexp -line {^Sampled \(.*, of 0\.5 % at most} [live $m "malloc sites"]]} {malloc sites does not say}
	check {[live_value $m "set cost"] == 0.5} {set cost: [live_value $m "set cost"]}
	# From now on all blocks have a record and stand for themselves.
	live $m "set cost off"
	lassign [site_sums $m large] none
	order $t "large 1000"
	lassign [site_sums $m large] count bytes total freed
	check {$none == 0 && $count == 1000 && $bytes == 4096000 && $total == 1000} {large: $none $count $bytes $total}
	check {[regexp -line {^Sampling: none now; } [live $m status]]} {status: without a bound}
	live $m "set cost 2"
	check {[dict get [live_value $m mdbg::malloc] costlimit] == 2.0} {set cost 2}
	order $t drop
	set figures [live_value $m mdbg::malloc]
	check {[dict get $figures active] == 0 && [dict get $figures records] == 0} {dropped: $figures}
	check {[dict get $figures frees] + [dict get $figures unsampledfrees] == $n + 1000} {frees: $figures}
	foreach bad {0 101 1.234 1. x -1 ""} {
		check {[string match "*not a percentage*" [live_error $m "set cost {$bad}"]]} {set cost $bad}
	}
	finish $t $m $before
}
