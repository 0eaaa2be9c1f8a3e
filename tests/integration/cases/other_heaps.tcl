# SPDX-License-Identifier: GPL-3.0-or-later
# Heaps of other allocators than glibc's, against programs that know their truth.

# A target below one of them. The functions of the C library take what the dynamic linker has found first.
proc start_below {library args} {
	set path [lindex [glob -nocomplain /usr/lib/*/$library] 0]
	skip_if {$path eq ""} {$library is not installed}
	set command [lmap word $args {expr {$word eq [lindex $args 0] ? "$::build/targets/$word" : $word}}]
	return [start_command env LD_PRELOAD=$path {*}$command]
}

# The list of mdbg against the truth of `heaps`: all blocks from before the attach, with the size that the allocator has
# room for. Beside the target's own there are a vector of libc for each of eight threads, and the reserve of libstdc++,
# which the allocator may need. An aligned block may begin inside the one that mimalloc knows of: it ends where that does.
proc check_all_early {t m} {
	set text [certain_list $m]
	set truth [truth_of $t]
	set ends [dict create]
	dict for {address size} $truth {
		dict set ends [expr {$address + $size}] $address
	}
	set others 0
	set early 0
	foreach block [parse_allocations $text] {
		if {[dict get $block seq] ne "-"} {
			continue
		}
		incr early
		set address [dict get $block address]
		set size [dict get $block size]
		if {![dict exists $truth $address] && [dict exists $ends [expr {$address + $size}]]} {
			set start [dict get $ends [expr {$address + $size}]]
			check {$start > $address && $start % 32 == 0} {[format 0x%x $address] of $size holds [format 0x%x $start]}
			dict unset truth $start
			continue
		}
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

foreach {allocator library} {
	jemalloc libjemalloc.so.2 tcmalloc libtcmalloc_minimal.so.4 mimalloc libmimalloc.so.2
} {
	by_both case heap-of-$allocator 120 [string map [list LIBRARY $library] {
		set t [start_below LIBRARY heaps 60000]
		attach_to {before m} $t
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
		finish $t $m $before
	}]
}

# Of what was there before the attach only the size of its class is known: what points behind a block's end may be inside,
# and inner pointers that tell by the exact size do not, so that such a block is possibly lost.
proc check_early_kinds {t cases} {
	set m [live_start -p [pid_of $t]]
	foreach block [parse_allocations [live $m "malloc allocations"]] {
		dict set classes [dict get $block size] 1
	}
	set classes [lsort -integer [dict keys $classes]]
	foreach line $cases {
		lassign $line name size definite indirect
		foreach class $classes {
			if {$class >= $size} break
		}
		dict incr want$class definite [expr {$name eq "behind_end" ? 0 : $definite}]
		dict incr want$class indirect $indirect
		dict set of $class 1
	}
	foreach class [dict keys $of] {
		lassign [count_kinds $m $class] definite indirect
		check {[dict create definite $definite indirect $indirect] eq [set want$class]} \
			{of $class bytes $definite and $indirect are lost, and not [set want$class]}
	}
	live_end $m
}

# What is lost, by the kinds that the target knows: blocks from after the attach, whose sizes tell the cases apart; and
# then, those of each class, as they are for somebody who comes later.
foreach {allocator library} {
	jemalloc libjemalloc.so.2 tcmalloc libtcmalloc_minimal.so.4 mimalloc libmimalloc.so.2
} {
	case leaks-below-$allocator 60 [string map [list LIBRARY $library] {
		set t [start_below LIBRARY leaks]
		set m [live_start -p [pid_of $t]]
		set cases [ask_list $t names]
		foreach line $cases {
			order $t "case [lindex $line 0]"
		}
		set wrong {}
		foreach line $cases {
			set got [count_kinds $m [lindex $line 1]]
			if {$got ne [lrange $line 2 end]} {
				lappend wrong "[lindex $line 0]: $got and not [lrange $line 2 end]"
			}
		}
		check {$wrong eq {}} {[join $wrong {; }]}
		live_end $m
		check_early_kinds $t $cases
		order $t verify
		quit $t
	}]
}

# jemalloc's own figures, asked for by the program, which then waits: bytes allocated (with those in caches, and its caches
# themselves), bytes of active pages, dirty pages.
case heap-of-jemalloc-as-mallctl 60 {
	set source [spit $::tmp/figures.c {
		#include <stdio.h>
		#include <stdlib.h>
		#include <stdint.h>

		int mallctl(const char *name, void *old, size_t *old_len, void *new, size_t new_len) __attribute__((weak));

		static size_t figure(const char *name)
		{
			size_t is = 0, len = sizeof(is);

			mallctl(name, &is, &len, NULL, 0);
			return is;
		}

		int main(void)
		{
			static void *kept[20000];
			static char in[4096], out[4096];
			uint64_t epoch = 1;
			char line[80];

			setvbuf(stdin, in, _IOFBF, sizeof(in));
			setvbuf(stdout, out, _IOFBF, sizeof(out));
			srand(1);
			for (int i = 0; i < 20000; i++)
				kept[i] = malloc(rand() % (i % 50 ? 2000 : 60000));
			for (int i = 0; i < 20000; i++)
				if (rand() % 3 || i < 5000)
					free(kept[i]);
			puts("ready");
			fflush(stdout);
			while (fgets(line, sizeof(line), stdin) && *line != 'q') {
				mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch));
				printf("ok %zu %zu %zu\n", figure("stats.allocated"), figure("stats.active"),
				       figure("stats.arenas.4096.pdirty") + figure("stats.arenas.4096.pmuzzy"));
				fflush(stdout);
			}
			return 0;
		}
	}]
	set library [lindex [glob -nocomplain /usr/lib/*/libjemalloc.so.2] 0]
	skip_if {$library eq ""} {libjemalloc is not installed}
	exec [need cc] -O1 -o $::tmp/figures $source
	set t [start_command env LD_PRELOAD=$library MALLOC_CONF=dirty_decay_ms:-1 $::tmp/figures]
	set m [live_start -p [pid_of $t]]
	lassign [ask $t figures] - allocated active dirty
	set used 0
	set system 0
	set kept 0
	foreach heap [dict get [live_value $m mdbg::malloc] heaps] {
		incr used [expr {[dict get $heap used] + [dict get $heap cached]}]
		incr system [dict get $heap system]
		incr kept [dict get $heap kept]
	}
	check {$used <= $allocated && $allocated - $used < 200000} {held and cached $used, allocated $allocated}
	check {$kept == $dirty * 4096 && $kept > 0} {kept $kept, dirty pages $dirty}
	check {$system == $active + $kept} {system $system, active $active, kept $kept}
	# A heap without headers has held what its blocks have, and not jemalloc's own data.
	set text [live $m malloc]
	set held [lmap {- bytes} [regexp -all -inline -line {^ +bytes held\.+ (\d+)$} $text] {set bytes}]
	check {$held eq [lmap heap [dict get [live_value $m mdbg::malloc] heaps] {dict get $heap used}]} {$text}
	live_end $m
	quit $t
}

# tcmalloc's own figures, asked for by the program, which then waits: bytes held, in caches, free in the central lists (with
# what is left over of spans), kept, and of all its memory.
case heap-of-tcmalloc-as-its-figures 60 {
	set library [lindex [glob -nocomplain /usr/lib/*/libtcmalloc_minimal.so.4] 0]
	skip_if {$library eq ""} {libtcmalloc is not installed}
	set source [spit $::tmp/figures.c {
		#include <stdio.h>
		#include <stdlib.h>

		int MallocExtension_GetNumericProperty(const char *name, size_t *value) __attribute__((weak));

		static size_t figure(const char *name)
		{
			size_t is = 0;

			MallocExtension_GetNumericProperty(name, &is);
			return is;
		}

		int main(void)
		{
			static void *kept[20000];
			static char in[4096], out[4096];
			char line[80];

			setvbuf(stdin, in, _IOFBF, sizeof(in));
			setvbuf(stdout, out, _IOFBF, sizeof(out));
			for (int i = 0; i < 20000; i++)
				kept[i] = malloc(rand() % (i % 50 ? 2000 : 600000));
			for (int i = 0; i < 20000; i++)
				if (rand() % 3 || i < 5000)
					free(kept[i]);
			puts("ready");
			fflush(stdout);
			while (fgets(line, sizeof(line), stdin) && *line != 'q') {
				printf("ok %zu %zu %zu %zu %zu\n", figure("generic.current_allocated_bytes"),
				       figure("tcmalloc.thread_cache_free_bytes") + figure("tcmalloc.transfer_cache_free_bytes"),
				       figure("tcmalloc.central_cache_free_bytes"), figure("tcmalloc.pageheap_free_bytes"),
				       figure("generic.heap_size") - figure("tcmalloc.pageheap_unmapped_bytes"));
				fflush(stdout);
			}
			return 0;
		}
	}]
	exec [need cc] -O1 -o $::tmp/figures $source
	set t [start_command env LD_PRELOAD=$library $::tmp/figures]
	set m [live_start -p [pid_of $t]]
	set figures [lrange [ask $t figures] 1 end]
	set heap [lindex [dict get [live_value $m mdbg::malloc] heaps] 0]
	dict with heap {
		set listed [list $used $cached [expr {$free + $own}] $kept $system]
	}
	check {$listed eq $figures} {listed $listed, but tcmalloc says $figures}
	live_end $m
	quit $t
}

# A program that has an allocator linked in, as it is or under a prefix, and no symbols: it is known by its constants, and
# its heap by what that says of itself.
foreach {allocator archive kind prefix} {
	jemalloc libjemalloc.a plain {} jemalloc libjemalloc.a prefixed _rjem_
	tcmalloc libtcmalloc_minimal.a plain {} tcmalloc libtcmalloc_minimal.a prefixed own_
} {
	case heap-of-$allocator-linked-in-$kind 60 [string map [list ALLOCATOR $allocator ARCHIVE $archive PREFIX $prefix] {
		set library [lindex [glob -nocomplain /usr/lib/*/ARCHIVE] 0]
		skip_if {$library eq "" || [auto_execok g++] eq ""} {no ARCHIVE, or no compiler}
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
		check {[string match "*ALLOCATOR (in linked)*" [live $m malloc]]} {[live $m malloc]}
		set blocks [live_value $m {mdbg::allocations size == 48}]
		check {[llength $blocks] == 5000} {[llength $blocks] blocks and not 5000}
		check {[dict get [live_value $m mdbg::malloc] damages] == 0} {$::result}
		live_end $m
		quit $t
	}]
}
