# SPDX-License-Identifier: GPL-3.0-or-later
# Allocators of the program's own, named by the user.

# Address -> size, as the target has them and as mdbg lists them (`heap` user).
proc pool_blocks {t} {
	set blocks [dict create]
	foreach line [ask_list $t list] {
		dict set blocks [expr [lindex $line 0]] [lindex $line 1]
	}
	return $blocks
}

proc listed_blocks {text} {
	set blocks [dict create]
	foreach block [parse_allocations $text] {
		dict set blocks [dict get $block address] [dict get $block size]
	}
	return $blocks
}

proc check_pool {t m} {
	set held [pool_blocks $t]
	set is [listed_blocks [live $m "malloc allocations heap == user"]]
	check {[dict size $held] == [dict size $is]} {held [dict size $held], listed [dict size $is]}
	dict for {address size} $held {
		check {[dict exists $is $address] && [dict get $is $address] == $size} \
			{[format 0x%x $address] of $size bytes: [expr {[dict exists $is $address] ? [dict get $is $address] : "none"}]}
	}
	return [dict size $held]
}

by_both case probe-pool 60 {
	start_watched {t before m} pool
	live_all $m "probe alloc pool_alloc size=2" "probe free pool_free ptr=2"
	set n [work 2000 700]
	order $t "alloc $n"
	check {[check_pool $t $m] == $n} {few blocks}
	# The chunks are malloc's still, each with its first block at its address.
	set chunks [ask_list $t chunks]
	set is [listed_blocks [live $m "malloc allocations size == 64K"]]
	check {[llength $chunks] >= 2 && [dict size $is] == [llength $chunks]} {chunks: $chunks, listed [dict keys $is]}
	foreach chunk $chunks {
		check {[dict exists $is [expr $chunk]] && [dict exists [pool_blocks $t] [expr $chunk]]} {$chunk is not both}
	}
	set text [live $m "malloc allocations heap == user limit 1"]
	check {[regexp { user +[0-9]+ .* pool_alloc\n *0x[0-9a-f]+ make} $text]} {listed: $text}
	check {[regexp -all -line {^pool_} [live $m probe]] == 2} {probe: [live $m probe]}
	set engine [work jump breakpoint]
	check {[regexp -line "^pool_alloc +pool +0x\[0-9a-f\]+ +alloc size=2 ptr=ret +$engine" [live $m probe]]} {probe: [live $m probe]}
	set figures [live_value $m mdbg::malloc]
	check {[dict get $figures useractive] == $n && [dict get $figures userbytes] == 48 * $n} {figures: $figures}
	check {[dict get $figures active] == [llength $chunks]} {figures: $figures}
	order $t drop
	check {[check_pool $t $m] == 0} {blocks are left}
	order $t "alloc 10"
	check {[check_pool $t $m] == 10} {recycled ones}
	foreach {name want} {unknownfrees 0 replaced 0 nested 0 voided 0} {
		check {[dict get [live_value $m mdbg::malloc] $name] == $want} {$name: $::result}
	}
	finish $t $m $before
}

# What mdbg is not told of arrives as well: a second result in a register, and arguments behind the third.
by_both case probe-more-arguments 30 {
	set t [start pool]
	set before [state [pid_of $t]]
	order $t "alloc 1"
	set want [expr {10 * 302010300}]
	check {[ask $t "spans 10"] == $want} {before}
	set m [live_start -p [pid_of $t]]
	live_all $m "probe alloc span_alloc size=1 ptr=ret" "probe free span_free ptr=1"
	set engine [work jump breakpoint]
	check {[regexp -all -line "^span_.* $engine" [live $m probe]] == 2} {probe: [live $m probe]}
	set got [ask $t "spans 10"]
	check {$got == $want} {watched: $got and not $want}
	check {[dict get [live_value $m mdbg::malloc] userbytes] == 0} {blocks are left}
	live_end $m
	check {[ask $t "spans 10"] == $want} {after}
	finish $t {} $before
}

# A function that only has the name of an allocator's: what it takes is not known either.
by_both case probe-own-names 30 {
	set t [start ownnames]
	set before [state [pid_of $t]]
	set want [expr {10 * 302010300}]
	check {[ask $t "calls 10"] == $want} {before}
	set m [live_start -p [pid_of $t]]
	check {[regexp -line "^ *free_sized .*ownnames.* [work jump breakpoint]" [live $m "malloc -v"]]} {probes: [live $m "malloc -v"]}
	set got [ask $t "calls 10"]
	check {$got == $want} {watched: $got and not $want}
	live_end $m
	check {[ask $t "calls 10"] == $want} {after}
	finish $t {} $before
}

# By reference: the fourth argument is beyond what the agent is handed. The inner function gives the same block.
case probe-by-reference 30 {
	start_watched {t before m} pool
	live $m "probe alloc pool_get size=4 ptr=1"
	check {[regexp -line {^pool_get .* breakpoint +no jump} [live $m probe]]} {probe: [live $m probe]}
	order $t "get 100"
	check {[check_pool $t $m] == 100} {few blocks}
	set figures [live_value $m mdbg::malloc]
	check {[dict get $figures failed] == 100} {failed: $figures}
	finish $t $m $before
}

# Blocks whose size is no argument, or the product of two.
by_both case probe-sizes-of-their-own 40 {
	start_watched {t before m} pool
	set engine [work jump breakpoint]
	foreach {function size command} {cell_get bytes=96 cells rows_alloc size=1*2 rows} {
		live $m "probe alloc $function $size"
		check {[regexp -line "^$function .* alloc [string map {* \\*} $size] ptr=ret +$engine" [live $m probe]]} \
			{probe: [live $m probe]}
		order $t "$command 100"
		check_pool $t $m
	}
	live $m "probe free pool_free ptr=2"
	order $t drop
	check {[check_pool $t $m] == 0} {blocks are left}
	check {![string match "*cannot be*" [live $m "malloc sites heap == user"]]} {possible sizes are said to be impossible}
	finish $t $m $before
}

# A block that is resized is another one, unless it is refused.
by_both case probe-resize 40 {
	start_watched {t m} pool
	live_all $m "probe alloc pool_alloc size=2" "probe alloc pool_resize size=3 old=2"
	live $m "probe free pool_free ptr=2"
	check {[regexp {alloc size=3 old=2} [live $m probe]]} {probe: [live $m probe]}
	orders $t "alloc 50" "grow 20"
	check {[check_pool $t $m] == 50} {blocks}
	order $t drop
	check {[check_pool $t $m] == 0} {blocks are left}
	finish $t $m
}

# GLib's slices, which are offered, one by one; and a list that is freed by one call.
by_both case probe-pool-gslice 40 {
	set source [spit $::tmp/slices.c {
		#include <stdio.h>

		typedef struct list { void *data; struct list *next, *prev; } list;

		list *g_list_prepend(list *, void *);
		void g_list_free(list *);
		void *g_slice_alloc(unsigned long), *g_slice_alloc0(unsigned long);
		void g_slice_free1(unsigned long, void *);

		static list *kept;
		static void *volatile single[100];

		static __attribute__((noinline)) void lose(void)
		{
			void *volatile gone = g_slice_alloc0(456);

			gone = NULL;
			(void)gone;
		}

		int main(void)
		{
			char line[80];

			puts("ready");
			fflush(stdout);
			while (fgets(line, sizeof(line), stdin) && *line != 'q') {
				list *gone = NULL;

				if (*line == 'l') {
					for (int i = 0; i < 300; i++)
						lose();
					puts("ok");
					fflush(stdout);
					continue;
				}

				for (int i = 0; i < 500; i++) {
					kept = g_list_prepend(kept, NULL);
					gone = g_list_prepend(gone, NULL);
				}
				g_list_free(gone);
				for (int i = 0; i < 100; i++) {
					if (single[i])
						g_slice_free1(48, single[i]);
					single[i] = g_slice_alloc(48);
				}
				puts("ok");
				fflush(stdout);
			}
			return 0;
		}
	}]
	if {[catch {exec [need cc] -O2 -g -o $::tmp/slices $source -l:libglib-2.0.so.0 2>@1} message]} {
		skip "no GLib: [lindex [split $message \n] end]"
	}
	set t [start_command $::tmp/slices]
	attach_to {before m} $t
	skip_if {![regexp -line {^gslice +yes +no } [live $m "probe pool"]]} {this GLib has no slices}
	foreach list {malloc "malloc leaks"} {
		check {[regexp {Pools: GLib's slices .*`probe pool gslice`} [live $m $list]]} {$list: [live $m $list]}
	}
	live $m "probe pool gslice"
	check {[regexp -line {^gslice +yes +yes } [live $m "probe pool"]]} {[live $m "probe pool"]}
	check {![string match "*Pools:*" [live $m malloc]]} {it is offered though it is probed}
	orders $t more more
	set figures [live_value $m mdbg::malloc]
	check {[dict get $figures useractive] == 1100 && [dict get $figures userbytes] == 1000 * 24 + 100 * 48} {$figures}
	# 300 are lost in slabs (a dead word of a stack may keep one), and none of the slabs is.
	order $t lose
	set lost 0
	foreach leak [live_value $m {mdbg::leaks definite}] {
		if {[dict get $leak bytes] == 456 * [dict get $leak count]} {
			incr lost [dict get $leak count]
		}
	}
	check {$lost >= 297 && $lost <= 300} {lost: $lost}
	set text [live $m "malloc leaks"]
	check {[regexp {blocks of malloc are pools, to which} $text] && ![regexp {4080 bytes in .* possibly} $text]} {$text}
	set slab [live_value $m {lindex [mdbg::allocations size == 4080 limit 2] 1}]
	check {[regexp {It is a pool: \d+ blocks of \d+ bytes lie in it} [live $m "malloc find [dict get $slab address]"]]} {$slab}
	live_end $m
	check_state $before [pid_of $t]
	order $t more
	quit $t
}

# At the attach there is one line on it, unless it is to be quiet. A file of one's own is named by its path.
case probe-pool-offered 30 {
	set t [start pool]
	set file [spit $::tmp/mine.tcl "probe alloc pool_alloc size=2\nprobe free pool_free ptr=2\n"]
	set m [live_start -p [pid_of $t]]
	live $m "probe pool $file"
	order $t "alloc 10"
	check {[check_pool $t $m] == 10} {few blocks}
	finish $t $m
	set t [start_command [system_python] -c {print("ready", flush=True); input()}]
	mdbg -p [pid_of $t] -c "status > /dev/null"
	check {$::status == 0 && [regexp -all {`probe pool pymalloc` records .*; `malloc pymalloc` lists} $::err] == 1} {$::err}
	mdbg -q -p [pid_of $t] -c "status > /dev/null"
	check {$::status == 0 && ![string match "*probe pool*" $::err]} {$::err}
	tell $t ""
	ending $t
}

# The pool's address is taken for the size: all lists say so.
by_both case probe-size-that-cannot-be 30 {
	start_watched {t m} pool
	live $m "probe alloc cell_get size=1"
	order $t "cells 70"
	foreach list {"malloc sites heap == user" "malloc allocations heap == user limit 1" malloc} {
		check {[regexp {70 blocks that `probe alloc` has recorded cannot be: .* cell_get's, } [live $m $list]]} \
			{$list: [live $m $list]}
	}
	check {[string match "*70 blocks*cell_get's*" [live_value $m mdbg::lacks]]} {lacks: $::result}
	finish $t $m
}

# What `malloc refs` says of the first block: function of each row -> {taken given}.
proc references_of {m} {
	live $m {set first [dict get [lindex [mdbg::allocations heap == user] 0] address]}
	set found [dict create]
	foreach ref [live_value $m {mdbg::refs $first}] {
		dict set found [lindex [dict get $ref function] 0] [list [dict get $ref taken] [dict get $ref given]]
	}
	return $found
}

proc check_references {m want} {
	set found [references_of $m]
	check {[lsort -stride 2 $found] eq [lsort -stride 2 $want]} {references: $found, and not $want}
}

# Who took and who gave back, by stack; of the block that is there now, and of no earlier one.
by_both case probe-references 40 {
	start_watched {t before m} pool
	live_all $m "probe alloc pool_alloc size=2" "probe free pool_free ptr=2"
	check {[string match "*no function that takes references*" [live_error $m "malloc refs 0x1000"]]} {none is named}
	live_all $m "probe ref block_ref object=1" "probe unref block_unref object=2"
	set engine [work jump breakpoint]
	check {[regexp -line "^block_ref .* ref object=1 +$engine" [live $m probe]] &&
	       [regexp -line "^block_unref .* unref object=2 +$engine" [live $m probe]]} {probe: [live $m probe]}
	order $t "alloc 1"
	check_references $m {}
	set n [work 20000 50]
	order $t "refs $n"
	# One stack takes and one gives back in borrow: two rows of one name, of which the second is the gift.
	set text [live $m "malloc refs \$first"]
	check {[regexp -all -line "^#\[0-9\] +$n taken$" $text] == 2 && [regexp -all -line "^#\[0-9\] +$n given back$" $text] == 1} {$text}
	check {[string match "*[expr {2 * $n}] taken, $n given back: $n outstanding, beside the one that it was made with*" $text]} {$text}
	check {[regexp {in forget \(} $text] && [regexp {in borrow \(} $text]} {$text}
	set text [live $m "malloc find \$first"]
	check {[regexp "References: .*$n taken in forget .*$n given back in borrow .*`malloc refs 0x" $text]} {$text}
	check {[llength [split [string trim [live $m "malloc refs \$first -brief"]] "\n"]] >= 4} {brief: [live $m "malloc refs \$first -brief"]}
	orders $t drop "alloc 1"
	check_references $m {}
	order $t "refs 3"
	check {[string match "*6 taken, 3 given back: 3 outstanding*" [live $m "malloc refs \$first"]]} {[live $m "malloc refs \$first"]}
	live $m "malloc reset"
	check {[string match "*0 taken, 0 given back*" [live $m "malloc refs \$first"]]} {[live $m "malloc refs \$first"]}
	finish $t $m $before
}

# A function that frees no chain, and arguments that are no block and no offset: what seems to be a link cannot be read.
by_both case probe-wrong-chain 60 {
	start_watched {t before m} pool
	live_all $m "probe alloc pool_alloc size=2" "probe free pool_free ptr=1 next=2"
	order $t "alloc 50"
	check {[check_pool $t $m] == 50} {listed}
	orders $t drop "alloc 50"
	finish $t $m $before
}

# Off and on again, one deleted, and named anew.
by_both case probe-delete 60 {
	start_watched {t before m} pool
	live_all $m "probe alloc pool`pool_alloc size=2 ptr=ret" "malloc off" "probe free pool_free ptr=2"
	live $m "malloc on"
	order $t "alloc 50"
	check {[check_pool $t $m] == 50} {after off and on}
	live $m "probe delete pool_alloc"
	check {![regexp pool_alloc [live $m probe]]} {probe: [live $m probe]}
	order $t "alloc 50"
	check {[dict size [listed_blocks [live $m "malloc allocations heap == user"]]] == 50} {after the delete}
	order $t drop
	check {[dict size [listed_blocks [live $m "malloc allocations heap == user"]]] == 0} {dropped}
	check {[dict get [live_value $m mdbg::malloc] unknownfrees] == 50} {unknown: $::result}
	live $m "probe alloc pool_alloc size=2"
	order $t "alloc 20"
	check {[check_pool $t $m] == 20} {named anew}
	finish $t $m $before
}

case probe-errors 30 {
	start_watched {t m} pool
	foreach {command pattern} {
		"probe alloc no_such size=1"		*no_such*
		"probe alloc pool_alloc"		*
		"probe alloc pool_alloc size=0"		"*from 1 to 6*"
		"probe alloc pool_alloc size=7"		"*from 1 to 6*"
		"probe alloc pool_alloc size=two"	"*from 1 to 6*"
		"probe alloc pool_alloc ptr=ret"	"*which argument is the size*"
		"probe alloc pool_alloc size=1 ptr=1"	"*both*"
		"probe alloc pool_alloc size=1*2 ptr=2"	"*both*"
		"probe alloc pool_alloc size=1*7"	"*from 1 to 6*"
		"probe alloc pool_alloc size=1*2*3"	"*one argument*"
		"probe alloc pool_alloc bytes=0"	"*from 1*"
		"probe alloc pool_alloc bytes=8G"	"*from 1*"
		"probe alloc pool_alloc bytes=8 size=1"	"*cannot both*"
		"probe free pool_free size=1"		*size=1*
		"probe free pool_free ptr=ret"		"*which argument is the block*"
		"probe alloc malloc size=1"		"*probed already, as malloc*"
		"probe alloc pool_alloc size=2 old=2"	"*both*"
		"probe alloc pool_alloc size=2 ptr=1 old=3"	"*returns it*"
		"probe free pool_free ptr=2 next=9"	"*from 1 to 6*"
		"probe pool none"			"*no pool 'none'*"
		"probe ref pool_alloc"			"*"
		"probe ref pool_alloc ptr=1"		"*ptr=1*"
		"probe unref pool_alloc object=ret"	"*from 1 to 6*"
		"probe delete pool_alloc"		"*no such probe*"
	} {
		set message [live_error $m $command]
		check {[string match $pattern $message]} {$command: $message}
	}
	live $m "catch {probe alloc pool_ size=2} message options"
	check {[string match "*near it: pool_alloc, pool_free, pool_get*" [live_value $m "dict get \$options -errorcode"]]} \
		{near names: $::result}
	live $m "probe alloc pool_alloc size=2"
	check {[string match "*probed already*" [live_error $m "probe alloc pool_alloc size=2"]]} {twice}
	order $t "alloc 5"
	check {[check_pool $t $m] == 5} {and it works}
	finish $t $m
}

# An exception cannot pass a probe: not without the user's word that there will be none.
by_both case probe-a-function-that-throws 30 {
	start_watched {t m} hardthrow
	check {[string match "*exceptions*" [live_error $m "probe alloc strict_alloc size=1"]]} {no word of exceptions}
	order $t "strict 100"
	live $m "probe alloc strict_alloc size=1 nothrow"
	check {[regexp {strict_alloc.* alloc size=1} [live $m probe]]} {probe: [live $m probe]}
	live $m "probe delete strict_alloc"
	order $t "strict 100"
	live_end $m
	order $t verify
	finish $t
}
