# SPDX-License-Identifier: GPL-3.0-or-later
# malloc find: who points to a block.

# What `mdbg::find` says of the blocks of one size, as lists of kinds: those that keep it, and those to its inside.
proc holders_by_size {m size} {
	return [lmap block [live_value $m "mdbg::allocations size == $size"] {
		set found [live_value $m "mdbg::find [dict get $block address]"]
		check {[dict get $found what] eq "block" && [dict get $found size] == $size && [dict get $found searched]} {$found}
		set kinds [list {} {}]
		foreach holder [dict get $found holders] {
			set at [expr {![dict get $holder keeps]}]
			lset kinds $at [list {*}[lindex $kinds $at] [dict get $holder kind]]
		}
		check {[llength [lindex $kinds 0]] == [dict get $found keep]} {not all are listed: $found}
		check {[llength [lindex $kinds 1]] == [dict get $found inside]} {not all are listed: $found}
		set kinds
	}]
}

# The only pointer is where the case's name says; or there is none, or it is none for the leak search either.
by_both case find-roots 60 {
	start_watched {t m} leaks
	foreach line [ask_list $t names] {
		dict set size [lindex $line 0] [lindex $line 1]
	}
	foreach {name want} {
		root {{data {}}}  inner {{{} data}}  lost {{{} {}}}  chain {{data {}} {block {}}}
		register {{register {}}}  stack {{stack {}}}  dead_stack {{{} {}}}
		tls_thread {{tls {}}}  tls_main {{tls {}}}  tls_dynamic {{block {}}}  module_data {{data {}}}
		mapping {{mapping {}}}  shared {{mapping {}}}  read_only {{mapping {}}}
		self {{{} {}}}  behind_end {{{} {}}}  turned {{{} {}}}  unaligned {{{} {}}}  tagged {{{} data}}
		new_array {{data {}}}  second_base {{data {}}}  old_string {{data {}}}  length64 {{data {}}}
	} {
		order $t "case $name"
		# A thread of its own says that it is there before it is where it means to stay.
		set end [expr {[clock seconds] + 20 * $::slower}]
		while {[lsort [set got [holders_by_size $m [dict get $size $name]]]] ne [lsort $want]} {
			check {[clock seconds] < $end} {$name: $got and not $want}
		}
	}
	finish $t $m
}

# The same as text, with names.
case find-text 60 {
	start_watched {t m} leaks
	foreach line [ask_list $t names] {
		dict set size [lindex $line 0] [lindex $line 1]
	}
	foreach {name text} {
		root {1 pointers to its start, or that count as such:\n +0x[0-9a-f]{16} +to byte 0: data of leaks, slot\n}
		inner {1 pointers to its inside:\n +0x[0-9a-f]{16} +to byte 16: data of leaks, slot\+0x8\n}
		register {\n +register rbx +to byte 0: thread \d+\n}
		stack {to byte 0: stack of thread \d+, in wait_in_stack\(void\*\)\+0x[0-9a-f]+ \(leaks.cc:\d+\)\n}
		tls_thread {to byte 0: thread-local data of thread \d+, tls of leaks\n}
		tls_main {to byte 0: thread-local data of thread \d+, tls of leaks\n}
		tls_dynamic {to byte 0: byte \d+ of a block of \d+ bytes at 0x[0-9a-f]+.*; thread-local data of thread \d+, tls\+0x88 of libleaks.so\n}
		module_data {to byte 0: data of libleaks.so, data\+0x88\n}
		shared {to byte 0: byte 560000 of /dev/zero at 0x[0-9a-f]+\n}
		mapping {to byte 0: byte 560000 of an anonymous mapping at 0x[0-9a-f]+\n}
		self {No pointer to it was found\n1 pointers to it are in the block itself\n}
	} {
		order $t "case $name"
		set block [lindex [live_value $m "mdbg::allocations size == [dict get $size $name]"] 0]
		set end [expr {[clock seconds] + 20 * $::slower}]
		while {![regexp $text "[set got [live $m "malloc find [dict get $block address]"]]\n"]} {
			check {[clock seconds] < $end} {$name: $got}
		}
		check {[regexp "^(?:Its type is zeros \\(form\\)\n)?[format 0x%016llx [dict get $block address]] is byte 0 of a block of [dict get $size $name] bytes" $got]} {$got}
	}
	order $t "case chain"
	set held [lsearch -inline -not -glob [lmap block [live_value $m "mdbg::allocations size == [dict get $size chain]"] {
		live $m "malloc find [dict get $block address]"
	}] "*data of leaks, slot*"]
	check {[regexp "to byte 0: byte 8 of a block of [dict get $size chain] bytes at 0x\[0-9a-f\]{16}, allocated by case_chain" $held]} {$held}
	# Who keeps a chain is at its other end.
	check {[regexp {\nThe shortest way to it comes from slot(?:\+0x10)? \[leaks\], through 1 block \(`malloc path (0x[0-9a-f]+)`\)} $held -> block]} {$held}
	set found [live_value $m "mdbg::find $block"]
	check {[regexp {^slot(\+0x10)? \[leaks\]$} [dict get $found root]] && [dict get $found through] == 1} {$found}
	finish $t $m
}

# A shared_ptr is the addresses of an object and of a control block, which has the counts.
case find-shared 60 {
	start_watched {t m} holders
	lassign [split [ask $t share]] object control
	lassign [split [hear $t]] given_object given_control
	check {[hear $t] eq "ok"} {share}
	foreach {address want text} [list \
		$object [list $control 3 1] {It is an object of std::make_shared, with its control block: 3 shared_ptr and 1 weak_ptr have it} \
		$given_object [list $given_control 2 2] "It is an object of a std::shared_ptr, whose control block is 0x*: 2 shared_ptr and 2 weak_ptr have it (`malloc find $given_control`)" \
		$given_control [list $given_control 2 2] {It is the control block of a std::shared_ptr: 2 shared_ptr and 2 weak_ptr have it}] {
		set found [live_value $m "mdbg::find $address"]
		check {[list [dict get $found control] [dict get $found shared] [dict get $found weak]] eq $want} {$want: $found}
		check {[string match "*\n$text\n*" [live $m "malloc find $address"]]} {$text}
	}
	# Who has a part in it points to the control block: three variables and a record.
	check {[dict get [live_value $m "mdbg::find $given_control"] keep] >= 4} {}
	# Other blocks have none.
	check {![dict exists [live_value $m "mdbg::find [dict get [lindex [live_value $m "mdbg::allocations size == 336"] 0] address]"] control]} {}
	finish $t $m
}

# Who points there and what it is are of one moment: one snapshot is made for both.
case find-one-look 60 {
	set t [start million]
	order $t "make 200000"
	set ::env(MDBG_TRACE) $::tmp/trace
	set m [live_start -p [pid_of $t]]
	unset ::env(MDBG_TRACE)
	set address [dict get [lindex [live_value $m "mdbg::allocations limit 1"] 0] address]
	set before [regexp -all {looked at in a snapshot: done} [slurp $::tmp/trace]]
	check {[string match "*is byte 0 of a block of *" [live $m "malloc find $address"]]} {}
	check {[regexp -all {looked at in a snapshot: done} [slurp $::tmp/trace]] == $before + 1} {[slurp $::tmp/trace]}
	finish $t $m
}

# Thread-local data of a library that was there from the start lies below the thread pointer; without symbols the module alone is named.
case find-thread-local 60 {
	foreach program {leaks libleaks.so} {
		file copy $::build/targets/$program $::tmp/$program
	}
	exec [need strip] $::tmp/leaks
	set t [open |[list env LD_PRELOAD=$::tmp/libleaks.so $::tmp/leaks 2>@stderr] r+]
	chan configure $t -buffering line
	set ::pid_of($t) [lindex [hear $t] 1]
	set m [live_start -p [pid_of $t]]
	foreach line [ask_list $t names] {
		dict set size [lindex $line 0] [lindex $line 1]
	}
	foreach {name module symbol within text} {
		tls_dynamic libleaks.so tls 136 {tls\+0x88 of libleaks.so}
		tls_main leaks {} {\d+} {byte \d+ of what it has of leaks}
		tls_thread leaks {} {\d+} {byte \d+ of what it has of leaks}
	} {
		order $t "case $name"
		set block [lindex [live_value $m "mdbg::allocations size == [dict get $size $name]"] 0]
		# A thread says that it is there before it waits.
		until {[llength [set holders [dict get [live_value $m "mdbg::find [dict get $block address]"] holders]]] == 1}
		set holder [dict merge {symbol {}} [lindex $holders 0]]
		check {[dict get $holder kind] eq "tls" && [dict get $holder module] eq $module && [dict get $holder symbol] eq $symbol &&
			[regexp "^$within$" [dict get $holder within]]} {$name: $holder}
		check {[regexp "thread-local data of thread [dict get $holder thread], $text\n" \
			"[live $m "malloc find [dict get $block address]"]\n"]} {$name: [live $m "malloc find [dict get $block address]"]}
	}
	live_end $m
	order $t verify
	tell $t quit
	check {[ending $t] eq {exit 0}} {the target ended otherwise}
}

# Any block and who points to it: address → list of {keeps kind block}.
proc all_holders {m} {
	set holders [dict create]
	foreach block [live_value $m mdbg::allocations] {
		set address [dict get $block address]
		set found [live_value $m "mdbg::find $address limit 1000"]
		check {[dict get $found unread] == 0 && [dict get $found blind] == 0} {not all was looked at: $found}
		dict set holders $address [lmap holder [dict get $found holders] {
			list [dict get $holder keeps] [dict get [dict merge {block {}} $holder] block]
		}]
	}
	return $holders
}

# What hangs on a root by pointers that keep it, is what the leak search finds to be reachable, and nothing else.
by_both case find-as-leaks 60 {
	set t [start leaks]
	foreach line [ask_list $t names] {
		order $t "case [lindex $line 0]"
	}
	attach_to {before m} $t
	live $m interrupt
	set holders [all_holders $m]
	set reached [dict create]
	while {1} {
		set more 0
		dict for {address list} $holders {
			foreach holder $list {
				lassign $holder keeps block
				if {$keeps && ![dict exists $reached $address] && ($block eq "" || [dict exists $reached $block])} {
					dict set reached $address 1
					incr more
				}
			}
		}
		if {!$more} break
	}
	set want 0
	foreach leak [live_value $m "mdbg::leaks reachable"] {
		incr want [dict get $leak count]
	}
	check {[dict size $reached] == $want} {[dict size $reached] of [dict size $holders] hang on a root, and $want are reachable}
	check {$want > 20} {only $want}
	live $m cont
	finish $t $m $before
}

# A core says what the process says.
case find-in-a-core 60 {
	set t [start leaks]
	foreach line [ask_list $t names] {
		order $t "case [lindex $line 0]"
	}
	set core [gcore [pid_of $t]]
	foreach how [list [list -p [pid_of $t]] [list --core $core]] {
		set m [live_start {*}$how]
		set found {}
		foreach block [live_value $m mdbg::allocations] {
			set text [string map {"(allocated before attach)" "(not recorded)"} \
				[live $m "malloc find [dict get $block address]"]]
			check {[regsub {\nThe process stood still for [0-9.]+ m?s$} $text {} text] == ("-p" in $how)} {$how: $text}
			lappend found $text
		}
		lappend answers $found
		live_end $m
	}
	foreach a [lindex $answers 0] b [lindex $answers 1] {
		check {[string map {"allocated before attach" "not recorded"} $a] eq $b} {the process has $a, the core $b}
	}
	check {[llength [lindex $answers 0]] > 20} {only [llength [lindex $answers 0]] blocks}
	finish $t
}

# Without a log; and of another allocator.
case find-without 60 {
	set t [start leaks]
	orders $t "case root" "case chain"
	set m [live_start -p [pid_of $t]]
	set root [dict get [lindex [live_value $m "mdbg::allocations size >= 8011 and size < 8026"] 0] address]
	live_end $m
	set m [live_start --no-arm -p [pid_of $t]]
	check {[regexp {is byte 3 of a block of \d+ bytes .*\n +\((allocated before attach|not recorded)\)\n1 pointers .*: data of leaks, slot\nThe process stood still for [0-9.]+ m?s$} \
		[live $m "malloc find [expr {$root + 3}]"]]} {[live $m "malloc find $root"]}
	finish $t $m

	set library [lindex [glob -nocomplain /usr/lib/*/libjemalloc.so.2] 0]
	skip_if {$library eq ""} {libjemalloc is not installed}
	set t [open |[list env LD_PRELOAD=$library $::build/targets/leaks 2>@stderr] r+]
	chan configure $t -buffering line
	set pid [lindex [hear $t] 1]
	set m [live_start -p $pid]
	order $t "case chain"
	set found [lsort [lmap block [live_value $m "mdbg::allocations size == 8027"] {
		lmap holder [dict get [live_value $m "mdbg::find [dict get $block address]"] holders] {dict get $holder kind}
	}]]
	check {"data" in [concat {*}$found] && "block" in [concat {*}$found]} {$found}
	# What is free of it is known, too.
	set free [lindex [live_value $m "mdbg::freespace limit 1"] 0]
	check {[regexp {^0x[0-9a-f]+ is byte 8 of a free chunk \((tcache|bin|kept)\) of [0-9]+ bytes } \
		[live $m "malloc find [expr {[dict get $free address] + 8}]"]]} {[live $m "malloc find [dict get $free address]"]}
	live_end $m
	order $t verify
	tell $t quit
	check {[ending $t] eq {exit 0}} {the target ended otherwise}
}

case find-limit-and-errors 60 {
	start_watched {t m} leaks
	order $t "case ring_root"
	set held [lmap block [live_value $m "mdbg::allocations size == 465"] {
		set found [live_value $m "mdbg::find [dict get $block address] limit 1"]
		check {[llength [dict get $found holders]] == 1} {$found}
		list [dict get $found keep] [dict get $block address]
	}]
	set most [lindex [lsort -integer -index 0 $held] end]
	check {[lsort -integer [lmap one $held {lindex $one 0}]] eq {1 1 1 1 2}} {$held}
	set text [live $m "malloc find [lindex $most 1] limit 1"]
	check {[regexp {2 pointers to its start, or that count as such:\n +0x[0-9a-f]{16} .*\n    \.\.\. and 1 more\nThe process stood still for [0-9.]+ m?s$} $text]} {$text}
	check {[dict get [live_value $m "mdbg::find 0x1000"] what] eq "nothing"} {0x1000}
	check {[string match {*is no*} [live_error $m "malloc find here"]]} {[live_error $m "malloc find here"]}
	check {[string match {*'most' is not expected here*} [live_error $m "malloc find 0x1000 most 3"]]} {most}
	check {[string match {*a number is missing after limit*} [live_error $m "mdbg::find 0x1000 limit"]]} {limit}
	live_all $m kill "wait exit"
	set text [live $m "malloc find [lindex $most 1]"]
	check {[regexp {of a block of 465 bytes .*\nWho points to it is not known: there is no process any more$} $text]} {$text}
	set found [live_value $m "mdbg::find [lindex $most 1]"]
	check {[dict get $found what] eq "block" && ![dict get $found searched] && [dict get $found holders] eq {}} {$found}
	live_end $m
	check {[ending $t] eq {signal SIGKILL}} {the target ended otherwise}
}

# In a chunk of malloc's lie blocks of a pool: what points to one of these points to both.
case find-in-a-pool 60 {
	start_watched {t m} pool
	live_all $m "probe alloc pool_alloc size=2 ptr=ret" "probe free pool_free ptr=2"
	order $t "alloc 3"
	set chunk [dict get [lindex [live_value $m "mdbg::allocations size == 65536"] 0] address]
	set blocks [lmap block [live_value $m "mdbg::allocations size == 48"] {dict get $block address}]
	check {[llength $blocks] == 3 && [lindex $blocks 0] == $chunk} {$blocks in $chunk}
	set found [live_value $m "mdbg::find [expr {[lindex $blocks 1] + 8}]"]
	check {[dict get $found address] == [lindex $blocks 1] && [dict get $found offset] == 8 && [dict get $found heap] eq "user" &&
		[dict get $found outer] == $chunk} {$found}
	check {[lmap holder [dict get $found holders] {dict get $holder symbol}] eq {block}} {$found}
	set text [live $m "malloc find [lindex $blocks 2]"]
	check {[regexp {of an allocator that `probe` has named\n.*\nAround it: 0x[0-9a-f]{16} is byte 192 of a block of 65536 bytes} $text]} {$text}
	finish $t $m
}
