# SPDX-License-Identifier: GPL-3.0-or-later
# Walks of the heaps of other allocators than glibc's: what was there before the attach.

# address → size that was asked for, of what `known` or `exact` holds.
proc held_by {t} {
	set held [dict create]
	foreach line [ask_list $t list 120] {
		dict set held [expr [lindex $line 0]] [lindex $line 1]
	}
	return $held
}

# The list of mdbg against what the target holds: every block is listed and none that is free, those from before the attach
# with as many bytes as were asked for or more. Returns the others that are listed, which the libraries have. A block from
# memalign may begin inside the one that its allocator knows of (mimalloc), which is what is listed of those before.
proc check_known {t m} {
	live $m "malloc allocations > $::tmp/dump" 120
	set text [slurp $::tmp/dump]
	check {![regexp {not listed|damage} $text]} {the list is not certain: [lindex [split [string trimright $text] "\n"] end]}
	set held [held_by $t]
	set others {}
	foreach block [parse_allocations $text] {
		set address [dict get $block address]
		set size [dict get $block size]
		if {![dict exists $held $address]} {
			check {[dict get $block seq] eq "-"} {[format 0x%x $address] of $size is recorded, but not held}
			lappend others [list $address $size]
			continue
		}
		set want [dict get $held $address]
		check {[dict get $block seq] eq "-" ? $size >= $want : $size == $want} \
			{[format 0x%x $address] of $size has $want}
		dict unset held $address
	}
	set others [lsort -integer -index 0 $others]
	dict for {address size} $held {
		set at [lsearch -bisect -integer -index 0 $others $address]
		lassign [lindex $others $at] start room
		check {$at >= 0 && $address % 32 == 0 && $address + $size <= $start + $room} \
			{[format 0x%x $address] of $size is held, but not listed}
		set others [lreplace $others $at $at]
	}
	return $others
}

# The threads of a target that is at work are looked at, at a random moment; what they hold is compared while they stand
# still, and what the walk says after that has no damage. `own` is how many blocks its libraries may have, which stay.
proc walk_at_work {t own} {
	set others {}
	orders $t go "more 3000"
	for {set i 0} {$i < $::trials} {incr i} {
		delay [expr {int(3000 * rand())}]
		set m [live_start -p [pid_of $t]]
		live $m "malloc check"
		order $t pause
		set others [check_known $t $m]
		check {[llength $others] <= $own} {[llength $others] blocks that nobody holds: [lrange $others 0 5]}
		set figures [live_value $m mdbg::malloc]
		check {[dict get $figures damages] == 0} {round $i: $figures}
		order $t go
		live_end $m
	}
	order $t pause
	return $others
}

# Programs with musl's own allocator.
foreach {name options} {shared {} static -static} {
	by_both repeated walk-musl-$name 120 "
		set t \[start_command \[build_target musl-gcc known.c $options] 4]
		set before \[state \[pid_of \$t]]
		order \$t {steady 5000}
		walk_at_work \$t 0
		check_state \$before \[pid_of \$t]
		finish \$t
	"
}

# What `known` has lost is lost, and nothing else, by a stop and by a snapshot.
proc check_lost {t nr allocator} {
	order $t "lose $nr"
	set m [live_start -p [pid_of $t]]
	foreach how {-stop -snapshot} {
		set count [dict create definite 0 indirect 0 possible 0 reachable 0]
		foreach leak [live_value $m "mdbg::leaks all $how"] {
			dict incr count [dict get $leak kind] [dict get $leak count]
		}
		check {[lrange [dict values $count] 0 2] eq [list $nr $nr 0]} {leaks $how: $count and not $nr}
	}
	check_known $t $m
	check {[string match "*$allocator*" [dict get [live_value $m mdbg::malloc] algorithm]]} {it is not told by its name: $::result}
	live_end $m
}

foreach {name options} {shared {} static -static} {
	case walk-musl-leaks-$name 60 "
		set t \[start_command \[build_target musl-gcc known.c $options] 4]
		order \$t {plain 2000}
		check_lost \$t 100 musl
	"
}

# Debian's library of an allocator, to be preloaded; or a skip.
proc allocator_library {name} {
	set library [lindex [glob -nocomplain /usr/lib/*/$name*] 0]
	skip_if {$library eq ""} {$name is not installed}
	return $library
}

by_both repeated walk-mimalloc 120 {
	set t [start_command env LD_PRELOAD=[allocator_library libmimalloc.so.2] $::build/targets/known 4]
	set before [state [pid_of $t]]
	order $t {steady 5000}
	walk_at_work $t 8
	finish $t {} $before
}

case walk-mimalloc-leaks 60 {
	set t [start_command env LD_PRELOAD=[allocator_library libmimalloc.so.2] $::build/targets/known 4]
	order $t {plain 2000}
	check_lost $t 100 mimalloc
}

# A core file has the same blocks.
proc check_core {t} {
	set m [live_start --core [gcore [pid_of $t]]]
	check_known $t $m
	live_end $m
}

foreach {name command} {
	musl {[build_target musl-gcc known.c] 4}
	mimalloc {env LD_PRELOAD=[allocator_library libmimalloc.so.2] $::build/targets/known 4}
} {
	case walk-$name-core 60 "
		set t \[start_command $command]
		order \$t {steady 4000}
		order \$t go
		order \$t {more 2000}
		order \$t pause
		check_core \$t
		finish \$t
	"
}

# mimalloc's own figures, asked for by the program, which then waits: blocks in use, their bytes (by mi_heap_visit_blocks) and
# what is committed.
case walk-mimalloc-as-mi-stats 60 {
	set source [spit $::tmp/figures.c {
		#include <stdbool.h>
		#include <stdio.h>
		#include <stdlib.h>

		struct area { void *blocks; size_t reserved, committed, used, block_size, full_block_size; };

		void *mi_heap_get_default(void) __attribute__((weak));
		bool mi_heap_visit_blocks(void *heap, bool blocks, bool (*fn)(const void *, const struct area *, void *, size_t, void *),
					  void *arg) __attribute__((weak));
		void mi_stats_merge(void) __attribute__((weak));
		void mi_process_info(size_t *, size_t *, size_t *, size_t *, size_t *, size_t *, size_t *, size_t *)
			__attribute__((weak));

		static size_t blocks, bytes;

		static bool visit(const void *heap, const struct area *area, void *block, size_t size, void *arg)
		{
			if (block) {
				blocks++;
				bytes += size;
			}
			return true;
		}

		int main(void)
		{
			static void *kept[20000];
			static char in[4096], out[4096];
			size_t is[8];
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
				blocks = bytes = 0;
				mi_heap_visit_blocks(mi_heap_get_default(), true, visit, NULL);
				mi_stats_merge();
				mi_process_info(&is[0], &is[1], &is[2], &is[3], &is[4], &is[5], &is[6], &is[7]);
				printf("ok %zu %zu %zu\n", blocks, bytes, is[5]);
				fflush(stdout);
			}
			return 0;
		}
	}]
	set library [allocator_library libmimalloc.so.2]
	exec [need cc] -O1 -o $::tmp/figures $source
	set t [start_command env LD_PRELOAD=$library $::tmp/figures]
	set m [live_start -p [pid_of $t]]
	lassign [ask $t figures] - blocks bytes committed
	set figures [live_value $m mdbg::malloc]
	set heap [lindex [dict get $figures heaps] 0]
	check {[dict get $figures active] == $blocks} {[dict get $figures active] blocks, and mimalloc has $blocks}
	check {[dict get $figures bytes] == $bytes} {[dict get $figures bytes] bytes, and mimalloc has $bytes}
	check {[dict get $heap system] == $committed} {system [dict get $heap system], committed $committed: $heap}
	live_end $m
	quit $t
}

# A static program without symbols cannot be watched; what is there is found by what must hold of it.
proc walk_stripped {cc} {
	set program [build_target $cc known.c -static -s]
	set t [start_command $program 4]
	set before [state [pid_of $t]]
	order $t {steady 3000}
	mdbg -p [pid_of $t] -c malloc
	check_refused 3 "no allocator found" "*--no-arm*"
	set m [live_start -p [pid_of $t] --no-arm]
	check_known $t $m
	finish $t $m $before
}

case walk-stripped-static 60 {
	walk_stripped [need gcc]
}

case walk-stripped-static-musl 60 {
	walk_stripped [need musl-gcc]
}
