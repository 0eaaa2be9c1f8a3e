# SPDX-License-Identifier: GPL-3.0-or-later
# Exactness: what the target holds and what mdbg lists are the same set.

by_both case exact-each-function 60 {
	start_watched {t before m} exact
	order $t each
	set n [compare $t [dump $m]]
	check {$n >= 20} {only $n blocks}
	# Free them: nothing is left.
	order $t drop
	check {[compare $t [dump $m]] == 0} {blocks are left}
	order $t each
	compare $t [dump $m]
	finish $t $m $before
}

# A figure of the accounts of `malloc -v`.
proc account {text name} {
	check {[regexp -line "^ +$name\\.+ (\\d+)" $text -> n]} {malloc -v does not print: $name}
	return $n
}

# Every event is in exactly one account.
by_both case exact-accounts 60 {
	start_watched {t m} exact
	orders $t each "ops [work 5000 1000]"
	lassign [order $t counts] allocs frees nulls failed reallocs
	set accounts [live $m "malloc -v"]
	foreach {name want} [list "blocks recorded" $allocs "blocks freed" $frees "frees of NULL" $nulls \
			"allocations that failed" $failed "frees of unknown blocks" 0 "operations never returned" 0 \
			"not recorded (table full)" 0 "blocks replaced" 0] {
		set got [account $accounts [string map {( \\( ) \\)} $name]]
		check {$got == $want} {$name: $got and not $want}
	}
	check {[held $accounts] == $allocs - $frees} {active: [expr {$allocs - $frees}]}
	finish $t $m
}

by_both repeated exact-one-thread 60 {
	for {set i 0} {$i < $::trials} {incr i} {
		start_watched {t m} exact
		order $t "ops [work 3000 1500]"
		check {[compare $t [dump $m]] > 150} {few blocks}
		finish $t $m
	}
}

# Threads at work all the time, the attach in the middle of it.
by_both repeated exact-eight-threads 60 {
	set t [start exact -t 8 {*}$::rest]
	set before [state [pid_of $t]]
	for {set i 0} {$i < $::trials} {incr i} {
		order $t go
		set m [live_start -p [pid_of $t]]
		set since [expr {[clock microseconds] * 1000}]
		orders $t "more [work 200 20]" pause
		check {[compare $t [dump $m] $since] > 50} {few blocks}
		order $t go
		live_end $m
		order $t pause
		check_state $before [pid_of $t]
	}
	finish $t
}

# The same, from a quiet start: every block must be there.
by_both repeated exact-eight-threads-from-the-start 60 {
	for {set i 0} {$i < $::trials} {incr i} {
		start_watched {t m} exact -t 8 {*}$::rest
		orders $t go "more [work 200 20]" pause
		check {[compare $t [dump $m]] > 50} {few blocks}
		finish $t $m
	}
}

by_both case exact-while-it-runs 60 {
	start_watched {t m} exact -t 4 {*}$::rest
	orders $t go "more 20"
	for {set i 0} {$i < [work 10 4]} {incr i} {
		live $m "malloc allocations > $::tmp/dump"
		set blocks [parse_allocations [slurp $::tmp/dump]]
		check {[llength $blocks] > 0} {nothing is listed}
		set addresses [lmap block $blocks {dict get $block address}]
		check {[lsort -unique -integer $addresses] eq $addresses} {addresses are doubled or out of order}
	}
	live $m interrupt
	set blocks [dump $m]
	live $m cont
	order $t pause
	compare $t [dump $m]
	finish $t $m
}

proc own_operator {program name} {
	set t [start $program {*}$::rest]
	set before [state [pid_of $t]]
	order $t go
	set m [live_start -p [pid_of $t]]
	order $t "keep [work 100 30]" 100
	order $t "more [work 80 16]" 100	;# bad_alloc comes through
	order $t pause 100
	set kept [dict create]
	foreach line [ask_list $t list] {
		dict set kept [expr [lindex $line 0]] [lrange $line 1 2]
	}
	foreach block [dump $m] {
		set address [dict get $block address]
		if {[dict exists $kept $address]} {
			check {[list [dict get $block size] [dict get $block thread]] eq [dict get $kept $address]} {wrong: $block}
			check {[lindex [dict get $block stack] 0 1] eq $name} {innermost function: [dict get $block stack]}
			check {[string match *provoke* [dict get $block stack]]} {caller is missing: [dict get $block stack]}
			dict unset kept $address
		}
	}
	check {[dict size $kept] == 0} {[dict size $kept] blocks are not listed}
	set verbose [live $m "malloc -v"]
	finish $t $m $before
	return $verbose
}

by_both case exact-own-operator-new 60 {
	own_operator cxxexact "operator new(unsigned long)"
}

by_both case exact-own-operator-new-without-nothrow 60 {
	set verbose [own_operator cxxplain "malloc"]
	check {[regexp -nocase -line {operator new.*nothrow} $verbose]} {malloc -v does not say why operator new is left: $verbose}
}

by_both case exact-dlopen 60 {
	start_watched {t before m} dlopener
	orders $t "cycle [work 20 5]" load unload
	set listed [dict create]
	foreach block [dump $m] {
		dict set listed [dict get $block address] $block
	}
	foreach line [ask_list $t list] {
		lassign $line address size
		check {[dict exists $listed [expr $address]]} {$line is not listed}
		set block [dict get $listed [expr $address]]
		check {[dict get $block size] == $size} {$line is listed as $block}
	}
	finish $t $m $before
}

# A library that stays: its frames have names.
case exact-dlopen-names 60 {
	start_watched {t m} dlopener
	order $t load
	set found 0
	foreach block [dump $m] {
		if {[dict get $block size] == 1003 && [string match "*construct*" [dict get $block stack]]} {
			incr found
		}
	}
	check {$found == 1} {the constructor's block is not there, or has no names}
	finish $t $m
}
