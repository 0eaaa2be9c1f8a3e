# SPDX-License-Identifier: GPL-3.0-or-later
# The first `print` in a program with 500 MB of debug information, and the ones behind it.

set units 16
set records 5000	;# of a unit
set copies 14		;# of each unit, as headers are in a program

# A unit with classes that nobody uses: all that it costs is debug information.
proc unit_source {unit} {
	set lines [list "namespace unit_$unit {" "template <int N, class T> struct node { T value; node<N, T> *next; int depth; T at(int i) const; void put(T v, node *before); };"]
	for {set i 0} {$i < $::records} {incr i} {
		lappend lines "struct record_${unit}_$i { int number_$i; double share_$i; char name_$i\[16\]; unsigned long flags_$i, mask_$i; const char *text_$i; node<$i, long> list_$i; bool used_$i : 1; unsigned kind_$i : 5; int method_${i}(int, const char *); double other_${i}(double, long) const; enum state_$i { off_$i, on_$i } state; };"
	}
	lappend lines "record_${unit}_[expr {$::records - 1}] last_$unit; int count_$unit = $unit;" "}"
	return [join $lines \n]
}

proc build_large {} {
	set main {#include <stdio.h>
#include <unistd.h>
struct own { int x; struct own *next; } own = { 7, &own };
int main(void) { printf("ready %d\n", (int)getpid()); fflush(stdout); return getchar() == own.x; }
}
	exec gcc -g -c -o $::tmp/main.o [spit $::tmp/main.c $main]
	for {set unit 0} {$unit < $::units} {incr unit} {
		exec g++ -g -O0 -fno-eliminate-unused-debug-types -c -o $::tmp/unit.o [spit $::tmp/unit.cc [unit_source $unit]]
		for {set copy 0} {$copy < $::copies} {incr copy} {
			exec objcopy --prefix-symbols=c${copy}_ $::tmp/unit.o $::tmp/unit-$unit-$copy.o
		}
	}
	exec gcc -o $::tmp/large $::tmp/main.o {*}[glob $::tmp/unit-*.o]
	file delete {*}[glob $::tmp/unit-*.o]
	return $::tmp/large
}

# Processor time of mdbg, in s: other work on the machine does not count.
proc print_seconds {m command} {
	set before [print_ticks $m]
	live_value $m "catch {$command}" 300
	return [expr {([print_ticks $m] - $before) / double([exec getconf CLK_TCK])}]
}

proc print_ticks {m} {
	set stat [slurp /proc/[pid $m]/stat]
	return [expr [join [lrange [string range $stat [string last ")" $stat]+2 end] 11 12] +]]
}

proc bench_print {} {
	set program [build_large]
	set debug 0
	foreach line [split [exec size -A $program] \n] {
		if {[regexp {^\.debug_\w+ +(\d+)} $line -> bytes]} {
			incr debug $bytes
		}
	}
	puts [format "\n%d MB of debug information; %s\n" [expr {$debug >> 20}] [machine]]
	set t [start_bench $program]
	set m [live_start --no-arm -p [pid_of $t]]
	set before [own_mb $m {}]
	limit "the first print, s of processor time" [print_seconds $m {mdbg::eval own}] <= 3
	limit "the next, of the same name" [print_seconds $m {mdbg::eval own.next->x}] <= 0.05
	limit "the next, of a type in another unit" [print_seconds $m {mdbg::eval sizeof(unit_7::record_7_77)}] <= 0.05
	puts [format "%-64s %10.2f" "a name that is nowhere, for which near ones are sought" [print_seconds $m {mdbg::eval nosuch}]]
	puts [format "%-64s %10.2f" "mdbg's own memory, MB" [own_mb $m {mdbg::eval own}]]
	let_go $m
	close $t
}
