# SPDX-License-Identifier: GPL-3.0-or-later
# What blocks are: against programs that know it.

# Block for block: the type that mdbg names is the program's, and where nobody can know it there is none.
proc check_types {t m hows} {
	foreach line [ask_list $t list] {
		lassign $line address want
		set rows [live_value $m "mdbg::types address == $address"]
		check {[llength $rows] == 1 && [dict get [lindex $rows 0] count] == 1} {$address: $rows}
		set type [string map {{ } _} [dict get [lindex $rows 0] type]]
		set how [dict get [lindex $rows 0] how]
		check {$type eq $want || ($want eq "plain" && $type eq "?")} {$line, and mdbg says $type ($how)}
		dict incr known $how
	}
	foreach how $hows {
		check {[dict exists $known $how]} {none is known by $how: $known}
	}
}

# Every list that has blocks knows the types of them.
proc check_lists {m} {
	set circles [live_value $m {mdbg::types type == circle}]
	set nr [dict get [lindex $circles 0] count]
	check {[llength $circles] == 1 && $nr >= 3} {$circles}
	set rows [live_value $m {mdbg::allocations type == circle -v}]
	check {[llength $rows] == $nr && [dict get [lindex $rows 0] type] eq "circle"} {$rows}
	set address [dict get [lindex $rows 0] address]
	check {[dict get [live_value $m "mdbg::find $address"] type] eq "circle"} {$address}
	check {[string match "*Its type is circle (vtable)*" [live $m "malloc find $address"]]} {no type}
	foreach row [live_value $m {mdbg::leaks all type == c*e}] {
		check {[dict get $row type] eq "circle"} {$row}
		incr found [dict get $row count]
	}
	check {$found == $nr} {$found of $nr}
	foreach pin [live_value $m {mdbg::pins by type}] {
		check {[string match "type *" [dict get $pin label]]} {$pin}
	}
	check {[llength [live_value $m {mdbg::pins by type type == circle}]] == 1} {no circles}
	foreach row [live_value $m {mdbg::sites by size type == circle}] {
		incr nr -[dict get $row count]
	}
	check {$nr == 0} {$nr circles are of no size}
}

proc check_program {program hows args} {
	set t [start_command $program]
	attach_to {before m} $t
	foreach line $args {
		order $t $line
	}
	check_types $t $m $hows
	set rows [live_value $m {mdbg::types}]
	set sum 0
	foreach row $rows {
		incr sum [dict get $row bytes]
	}
	set all 0
	foreach row [live_value $m {mdbg::allocations}] {
		incr all [dict get $row size]
	}
	check {$sum == $all} {$sum bytes by type, and $all in blocks}
	check {[string match "*vtable*" [live $m "malloc types limit 5"]]} {[live $m "malloc types limit 5"]}
	check_lists $m
	finish $t $m $before
}

case types-of-classes 60 {
	check_program $::build/targets/types {vtable frame} {make 1} {fill 2}
}

# Its classes have names, and no symbols.
case types-stripped 60 {
	file copy $::build/targets/types $::tmp/types
	exec strip $::tmp/types
	check_program $::tmp/types {vtable} {make 1}
}

case types-without-rtti 60 {
	set program [build_target [need g++] types.cc -O1 -fno-rtti]
	check_program $program {vtable} {make 1}
}

# A core has the same classes; what it lacks of files is read there.
case types-in-a-core 60 {
	need gdb
	set t [start types]
	exec [need gcore] -o $::tmp/core [pid_of $t] 2>@1
	set m [live_start --core $::tmp/core.[pid_of $t]]
	check_types $t $m {vtable}
	finish $t $m
}

# Blocks of C with debug information: those that were recorded by what their callers put them into, those
# from before by the pointers that lead to them; and nothing else.
proc check_typed {cc args} {
	set t [start_command [build_target [need $cc] typed.c -g {*}$args]]
	attach_to {before m} $t
	order $t {make 3}
	set of {}
	foreach row [live_value $m {mdbg::allocations -v}] {
		dict set of [dict get $row address] [string map {{ } _} [dict get $row type]]
	}
	foreach line [ask_list $t list] {
		lassign $line address want
		set is [dict get $of $address]
		check {$is eq $want} {$line, and mdbg says $is}
	}
	foreach row [live_value $m {mdbg::types}] {
		dict incr known [dict get $row how]
	}
	check {[dict exists $known debug] && [dict exists $known spread]} {$known}
	finish $t $m $before
}

case types-of-c-gcc 60 {
	check_typed gcc -O0
	check_typed gcc
}

case types-of-c-clang 60 {
	check_typed clang -O0
	check_typed clang
}

# Of blocks from before the attach, without debug information: whose blocks of later they look like.
case types-like-seen-ones 60 {
	set t [start_command [build_target [need gcc] typed.c]]
	order $t {make 200}
	set m [live_start -p [pid_of $t]]
	order $t {make 200}
	foreach row [live_value $m {mdbg::allocations -v}] {
		if {[dict get $row preattach]} {
			dict set of [dict get $row address] [dict get $row type]
		}
	}
	set functions {
		struct_item {make_item fill_table return_item} struct_item_* fill_table
		struct_table make_table struct_holder make_holder struct_message make_into
		double make_into ? {make_into fill_table}
	}
	lassign {0 0} right wrong
	foreach line [ask_list $t list] {
		lassign $line address want
		if {[dict exists $of $address] && [regexp {^as by (\w+)} [dict get $of $address] -> by]} {
			incr [expr {$by in [dict get $functions $want] ? "right" : "wrong"}]
		}
	}
	check {$right > 1000 && $wrong * 100 <= $right} {$right are right, $wrong are wrong}
	foreach row [live_value $m {mdbg::types type == {as by *}}] {
		check {[dict get $row how] eq "like" && [dict get $row right] >= 99} {$row}
	}
	finish $t $m
}

case types-in-python 60 {
	set script [spit $::tmp/script.py {
import sys
held = [bytes(1000 + i) for i in range(321)] + ["x" * 2000 + str(i) for i in range(123)]
print("ready", flush=True)
sys.stdin.readline()
}]
	set t [start_command [system_python] $script]
	set m [live_start -p [pid_of $t]]
	foreach row [live_value $m {mdbg::types size > 900}] {
		dict set count [dict get $row type] [dict get $row count]
		dict set how [dict get $row type] [dict get $row how]
	}
	check {[dict get $count bytes] >= 321 && [dict get $count bytes] < 500} {$count}
	check {[dict get $count str] >= 123 && [dict get $how str] eq "python"} {$count}
	live_end $m
	tell $t quit
	ending $t
}

# No compiler of this system writes DW_AT_LLVM_alloc_type (0x3e0e), which LLVM's newer ones do: in place of what a call
# site calls, its DIEs say that what is allocated is the struct. All that they allocate goes into void pointers.
proc state_types {text} {
	check {[regexp {\(DIE \((0x[0-9a-f]+)\) DW_TAG_structure_type\)\n[^\n]*: "stated"\n} $text -> struct]} {no struct}
	set text [regsub -all {\.uleb128 0x7f\t# \(DW_AT_call_origin\)} $text {.uleb128 0x3e0e}]
	return [regsub -all {\.long\t0x[0-9a-f]+\t# DW_AT_call_origin} $text ".long $struct"]
}

case types-stated-at-the-call 30 {
	exec [need gcc] -g -gdwarf-5 -O2 -dA -I$::here/../targets -S -o $::tmp/stated.s $::here/../targets/stated.c
	foreach stated {0 1} want {zeros {struct stated}} {
		set text [slurp $::tmp/stated.s]
		spit $::tmp/made.s [expr {$stated ? [state_types $text] : $text}]
		exec gcc -o $::tmp/stated $::tmp/made.s
		set t [start_command $::tmp/stated]
		set m [live_start -p [pid_of $t]]
		order $t go
		set rows [live_value $m {mdbg::types size == 48 and function == keep_one}]
		check {[llength $rows] == 1 && [dict get [lindex $rows 0] count] == 10 && [dict get [lindex $rows 0] type] eq $want} {$rows}
		check {!$stated || [dict get [lindex $rows 0] how] eq "debug"} {$rows}
		finish $t $m
	}
}

# The structs of a redis-server that nobody has prepared, from before the attach, as many as it says that it has.
case types-in-redis 60 {
	start_redis
	redis_cli EVAL {for i=1,20000 do redis.call('SET','key '..i,string.rep('v',40)) end} 0
	redis_cli EVAL {for i=1,1000 do redis.call('ZADD','sorted',i,'member '..i) redis.call('HSET','hash '..i,'field','value') end} 0
	set m [live_start -p $::redis --no-arm]
	note [live $m "malloc types"]
	set bytes 0
	set unknown 0
	foreach row [live_value $m mdbg::types] {
		incr bytes [dict get $row bytes]
		dict set count [dict get $row type] [dict get $row count]
		if {[dict get $row type] eq "?"} {
			set unknown [dict get $row bytes]
		}
	}
	# Keys, and members of the sorted set; a value has an object of its own, and a hash is a listpack.
	foreach {type least most} {dictEntry 22000 24000 robj 21000 21600 zskiplistNode 1000 1000 listpack 1000 1010} {
		check {[dict exists $count $type] && [dict get $count $type] >= $least && [dict get $count $type] <= $most} {$type: $count}
	}
	check {$unknown * 2 < $bytes} {$unknown of $bytes bytes are not known: $count}
	live_end $m
	end_redis
}
