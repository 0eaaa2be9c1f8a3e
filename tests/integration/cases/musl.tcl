# SPDX-License-Identifier: GPL-3.0-or-later
# Programs with as little of a libc as there can be, linked with musl's, shared and static. See also hardworlds.tcl.

set small_size 333
set small_blocks 64

# The functions of the stack that gdb shows at a call of malloc.
proc gdb_frames {program} {
	set commands [list -nx -batch -ex {break room_fill} -ex run -ex {break malloc} -ex continue -ex backtrace]
	set frames {}
	foreach line [split [exec [need gdb] {*}$commands $program < /dev/null 2>@1] "\n"] {
		if {[regexp {^#\d+ +(?:0x[0-9a-f]+ in )?(\S+) \(} $line -> function]} {
			lappend frames $function
		}
	}
	# (Those of the first breakpoint come before them.)
	return [lrange $frames [lindex [lsearch -all -exact $frames malloc] end] end]
}

# Blocks, stacks, leaks, and what is left: nothing.
proc small_is_watched {program} {
	set t [start_command $program]
	set pid [pid_of $t]
	set before [state $pid]
	foreach round {1 2} {
		set m [live_start -p $pid]
		order $t f
		check_blocks $m $::small_size $::small_blocks
		foreach how {-stop -snapshot} {
			set found 0
			foreach record [live_value $m "mdbg::leaks reachable $how"] {
				incr found [dict get $record count]
			}
			check {$found == $::small_blocks} {leaks $how: $found blocks are reachable}
		}
		set want [gdb_frames $program]
		check {[llength $want] >= 5} {gdb shows: $want}
		foreach site [live_value $m mdbg::sites] {
			set frames [lmap frame [live_value $m "mdbg::frames [dict get $site stack]"] {dict get $frame function}]
			check {[lrange $frames 0 [llength $want]-1] eq $want} {gdb shows $want, and mdbg $frames}
		}
		live_end $m
		check_state $before $pid
	}
	finish $t
}

foreach {name options} {
	shared {-g} shared-without-lines {} static {-static -g} static-without-lines {-static}
} {
	by_both case musl-$name 30 "small_is_watched \[build_target musl-gcc small.c $options]"
}

# Its heaps are not glibc's, and nothing that is said of them says so.
foreach {name options} {shared {-g} shared-stripped {-s} static {-static -g}} {
	case musl-words-$name 30 [string map [list OPTIONS $options] {
		set t [start_command [build_target musl-gcc small.c {*}{OPTIONS}]]
		set m [live_start -p [pid_of $t]]
		order $t f
		foreach command {malloc "malloc check" "malloc freespace" "malloc allocations" "malloc sites" memory "malloc trim"} {
			if {[catch {live $m $command} text]} {
				set text $::result
			}
			check {![regexp glibc $text]} {$command: $text}
		}
		finish $t $m
	}]
}

# It has no restorer, so that a borrowed thread takes another way back when mdbg is killed.
by_both repeated musl-static-killed 60 {
	set t [start_command [build_target musl-gcc small.c -static -g]]
	set pid [pid_of $t]
	set before [state $pid]
	set start [clock microseconds]
	mdbg_ok -q -p $pid -c detach
	set took [expr {[clock microseconds] - $start}]
	for {set i 0} {$i < 5 * $::trials} {incr i} {
		set m [open |[list {*}[mdbg_command -q -p $pid -c detach] 2>> $::tmp/err] r+]
		delay [expr {int($took * rand())}]
		catch {exec kill -KILL [pid $m]}
		until {![is_alive [pid $m]]}
		catch {ending $m}
		if {[catch {order $t f} message]} {
			fail_with_end $t "trial $i" $message
		}
		set m [live_start -p $pid]
		order $t f
		check_blocks $m $::small_size $::small_blocks
		live_end $m
		check_state $before $pid
	}
	finish $t
}

# Without `syscall; ret` nobody can make a system call in it and come back.
case musl-no-gadgets 20 {
	set source [spit $::tmp/bare.c {
		static long call(long nr, long a, long b, long c)
		{
			long ret;

			__asm__ volatile("syscall\n\tnop" : "=a"(ret) : "0"(nr), "D"(a), "S"(b), "d"(c)
					 : "rcx", "r11", "memory");
			return ret;
		}

		__attribute__((noinline)) void *malloc(unsigned long size)
		{
			static char bytes[4096];

			return size < sizeof(bytes) ? bytes : 0;
		}

		void _start(void)
		{
			char line[8];

			*(volatile char *)malloc(10) = 1;
			call(1, 1, (long)"ready 0\n", 8);
			while (call(0, 0, (long)line, sizeof(line)) > 0 && line[0] != 'q')
				call(1, 1, (long)"ok\n", 3);
			call(231, 0, 0, 0);
		}
	}]
	exec [need cc] -O1 -static -nostdlib -ffreestanding -o $::tmp/bare $source
	set t [start_command $::tmp/bare]
	set before [state [pid_of $t]]
	mdbg -q -p [pid_of $t] -c malloc
	check_refused 3 "no code to make a system call with" ""
	check_state $before [pid_of $t]
	order $t f
	quit $t
}
