# SPDX-License-Identifier: GPL-3.0-or-later
# What cannot be watched, or not as asked for, is said: at the attach, and by every answer.

# --- processes that run a translation of their code ---------------------------------------------------------------

# A target that runs under a program which executes its code.
proc start_under {program args} {
	set chan [open |[list {*}$args $::build/targets/$program 2>$::tmp/under.err] r+]
	chan configure $chan -buffering line
	set ready [hear $chan 60]
	check {[lindex $ready 0] eq "ready"} {$program says $ready}
	set ::pid_of($chan) [pid $chan]
	return $chan
}

proc refused_under {name instead args} {
	set t [start_under hard {*}$args]
	mdbg -q -p [pid_of $t] -c {malloc sites}
	check_refused 3 "it runs under $name" $instead
	check {![string match "*memfd:mdbg*" [slurp /proc/[pid_of $t]/maps]]} {something of mdbg's is in it}
	tell $t quit
	check {[ending $t] eq {exit 0}} {it ended otherwise}
}

case refused-under-valgrind 60 {
	refused_under valgrind "without valgrind" [need valgrind] -q
}

# Without the library that it preloads.
case refused-under-valgrind-static 60 {
	set valgrind [need valgrind]
	exec cc -static -O1 -o $::tmp/small [spit $::tmp/small.c {
		#include <stdio.h>
		int main(void)
		{
			printf("ready\n");
			fflush(stdout);
			return getchar() == EOF;
		}
	}]
	set chan [open |[list $valgrind -q --tool=none $::tmp/small 2>@stderr] r+]
	check {[hear $chan 60] eq "ready"} {it is not ready}
	mdbg -q -p [pid $chan] -c {malloc sites}
	check_refused 3 "it runs under valgrind" "without valgrind"
	puts $chan ""
	flush $chan
	check {[ending $chan] eq {exit 0}} {it ended otherwise}
}

case refused-under-qemu 60 {
	refused_under qemu-user "without an emulator" [need qemu-x86_64]
}
