# SPDX-License-Identifier: GPL-3.0-or-later
# Heaps of other allocators than glibc's, against programs that know their truth.

# A target below one of them. The functions of the C library take what the dynamic linker has found first.
proc start_below {library args} {
	set path [lindex [glob -nocomplain /usr/lib/*/$library] 0]
	if {$path eq ""} {
		skip "$library is not installed"
	}
	set command [lmap word $args {expr {$word eq [lindex $args 0] ? "$::build/targets/$word" : $word}}]
	return [start_command env LD_PRELOAD=$path {*}$command]
}

# The list of mdbg against the truth of `heaps`: all blocks from before the attach, with the size that the allocator has
# room for. Beside the target's own there are a vector of libc for each of eight threads, and the reserve of libstdc++,
# which the allocator may need.
proc check_all_early {t m} {
	set text [certain_list $m]
	set truth [truth_of $t]
	set others 0
	set early 0
	foreach block [parse_allocations $text] {
		if {[dict get $block seq] ne "-"} {
			continue
		}
		incr early
		set address [dict get $block address]
		set size [dict get $block size]
		if {![dict exists $truth $address]} {
			incr others
			check {$size in {8 16 288 320 73728 81920} && $others <= 11} {[format 0x%x $address] of $size is listed, but not held}
			continue
		}
		check {[dict get $truth $address] == $size} {[format 0x%x $address] of $size has [dict get $truth $address]}
		check {[dict get $block heap] ne "-"} {no heap: $block}
		dict unset truth $address
	}
	check {[dict size $truth] == 0} {[dict size $truth] are held, but not listed: [lrange $truth 0 5]}
	return [expr {$early - $others}]
}

foreach {allocator library} {jemalloc libjemalloc.so.2 tcmalloc libtcmalloc_minimal.so.4} {
	by_both case heap-of-$allocator 120 [string map [list LIBRARY $library] {
		set t [start_below LIBRARY heaps 60000]
		set before [state [pid_of $t]]
		set m [live_start -p [pid_of $t]]
		set n [check_all_early $t $m]
		check {$n > 29000} {only $n}
		set figures [live_value $m mdbg::malloc]
		check {[dict get $figures damages] == 0 && [dict get $figures uncertain] == 0} {$figures}
		check {[dict get $figures active] == [dict get $figures preattach]} {$figures}
		# What is freed now is gone from it.
		order $t "free 2000"
		check {[check_all_early $t $m] == $n - 2000} {after 2000 frees}
		check {[dict get [live_value $m mdbg::malloc] unknownfrees] == 2000} {$::result}
		# While its threads allocate and free, each look has all that stays.
		order $t churn
		for {set i 0} {$i < 20} {incr i} {
			set figures [live_value $m mdbg::malloc]
			check {[dict get $figures damages] == 0} {$figures}
			check {[dict get $figures preattach] >= $n - 2000} {[dict get $figures preattach] of $n - 2000: $figures}
		}
		order $t calm
		live_end $m
		check_state $before [pid_of $t]
		finish $t
	}]
}

# A program that has jemalloc linked in, as it is or under a prefix, and no symbols: it is known by its constants, and its
# heap by what that says of itself.
foreach {kind prefix} {plain {} prefixed _rjem_} {
	case heap-of-jemalloc-linked-in-$kind 60 [string map [list PREFIX $prefix] {
		set library [lindex [glob -nocomplain /usr/lib/*/libjemalloc.a] 0]
		if {$library eq "" || [auto_execok g++] eq ""} {
			skip "no libjemalloc.a, or no compiler"
		}
		set source [spit $::tmp/linked.c {
			#include <stdio.h>
			#include <stdlib.h>

			void *MALLOC(size_t size);
			void FREE(void *p);

			int main(void)
			{
				static void *kept[10000];
				char line[80];

				for (int i = 0; i < 10000; i++)
					kept[i] = MALLOC(48);
				for (int i = 0; i < 10000; i += 2)
					FREE(kept[i]);
				puts("ready");
				fflush(stdout);
				return fgets(line, sizeof(line), stdin) && *line != 'q' && kept[1];
			}
		}]
		set renamed {}
		foreach name {malloc free calloc realloc memalign posix_memalign aligned_alloc valloc} {
			lappend renamed --redefine-sym $name=PREFIX$name
		}
		exec objcopy {*}$renamed $library $::tmp/linked.a
		exec [need cc] -O1 -s -DMALLOC=PREFIXmalloc -DFREE=PREFIXfree -o $::tmp/linked $source $::tmp/linked.a -lstdc++ -lm \
			-lpthread -ldl
		set t [start_command $::tmp/linked]
		set m [live_start -p [pid_of $t]]
		check {[string match "*jemalloc (in linked)*" [live $m malloc]]} {[live $m malloc]}
		set blocks [live_value $m {mdbg::allocations size == 48}]
		check {[llength $blocks] == 5000} {[llength $blocks] blocks and not 5000}
		check {[dict get [live_value $m mdbg::malloc] damages] == 0} {$::result}
		live_end $m
		quit $t
	}]
}
