# SPDX-License-Identifier: GPL-3.0-or-later
# Hard places, programs: static ones, musl, allocators that come and go, those that do things their own way. See hard.tcl.

case hard-static-glibc 20 {
	exact_in [ready_in [open |[list [build_target cc hard.c -g -static] -t 3 2>@stderr] r+] hard] jump
}

case hard-static-pie 20 {
	exact_in [ready_in [open |[list [build_target cc hard.c -g -static-pie] -t 3 2>@stderr] r+] hard] jump
}

# musl's code is without unwind information in part: the blocks are exact, and tracebacks say why they end.
foreach {name args} {dynamic {} static -static} {
	case hard-musl-$name 20 [string map [list ARGS $args] {
		set program [build_target musl-gcc hard.c -g ARGS -idirafter /usr/include -idirafter /usr/include/[exec uname -m]-linux-gnu]
		exact_in [ready_in [open |[list $program -t 3 2>@stderr] r+] hard] jump 0
	}]
}

# What mdbg::probes says of a module's function: engine, address ...; "" if it is not there.
proc probe_in {m function module what} {
	foreach probe [live_value $m mdbg::probes] {
		if {[dict get $probe function] eq $function && [string match "*$module*" [dict get $probe module]]} {
			return [dict get $probe $what]
		}
	}
	return ""
}

proc engine_in {m module} {
	return [probe_in $m malloc $module engine]
}

# The bytes of a patch, or, with more words, what they become.
proc text_at {t address {new ""}} {
	set mem [open /proc/[pid_of $t]/mem [expr {$new eq "" ? "r" : "r+"}]]
	chan configure $mem -translation binary -buffering none
	seek $mem $address
	if {$new eq ""} {
		set new [read $mem 5]
	} else {
		puts -nonewline $mem $new
	}
	close $mem
	return $new
}

# Where a module's function lies, by an mdbg that leaves, and its bytes without a patch.
proc place_of {t function module} {
	set m [live_start -p [pid_of $t]]
	set address [probe_in $m $function $module patch]
	live_end $m
	return [list $address [text_at $t $address]]
}

# Two allocators at work in one process; one of them comes and goes.
case hard-allocator-comes-and-goes 30 {
	set t [start hardload]
	orders $t load "own 1" unload
	attach_to {before m} $t
	foreach round {1 2} {
		order $t load
		until {[engine_in $m libhardpool] eq "jump"}
		orders $t "own 50" "make 50 654"
		# (The library's are where those of the round before were.)
		check_blocks $m 654 [expr {50 + 50 * $round}]
		check_blocks_stacks $m 654 1.0
		orders $t "disown 50" unload "pairs 100"
		live $m "where all 2"
	}
	live_end $m
	check_state $before [pid_of $t]
	order $t load
	attach_to {before m} $t
	check {[engine_in $m libhardpool] eq "jump" && [engine_in $m libc.so] eq "jump"} {[live $m "malloc -v"]}
	orders $t "own 50" "make 50 654"
	check_blocks $m 654 100
	live_end $m
	check_state $before [pid_of $t]
	orders $t "own 5" unload
	finish $t
}

# It comes back, to the same place too, and is looked at before anybody knew of it.
by_both case hard-allocator-comes-back 30 {
	start_watched {t m} hardload
	foreach round {1 2 3} {
		order $t load
		live $m "where all 2"
		until {[engine_in $m libhardpool] eq ($::engine eq "auto" ? "jump" : $::engine)}
		orders $t "own 50" "make 50 654"
		check_blocks $m 654 [expr {50 + 50 * $round}]
		orders $t "disown 50" unload
		live $m "where all 2"
	}
	finish $t $m
}

# Unload it and load it again, at once, to where it was.
proc again {t} {
	skip_if {[order $t again] ne ""} {the library comes to another place}
}

# It is gone and back between two looks: nothing but its text tells.
by_both case hard-allocator-comes-back-unseen 30 {
	set t [start hardload]
	order $t load
	lassign [place_of $t malloc libhardpool] address own
	attach_to {before m} $t
	foreach round {1 2 3} {
		again $t
		live $m "where all 2"
		# (Those of the round before are at the same addresses.)
		order $t "own [expr {50 * $round}]"
		check_blocks $m 654 [expr {50 * $round}]
		check {[engine_in $m libhardpool] eq ($::engine eq "auto" ? "jump" : $::engine)} {[live $m "malloc -v"]}
	}
	# Where nobody asks, the tick sees it.
	again $t
	until {[text_at $t $address] ne $own}
	order $t "own 200"
	check_blocks $m 654 200
	live_end $m
	check_state $before [pid_of $t]
	again $t
	set before [state [pid_of $t]]
	mdbg_ok -q -p [pid_of $t] -c status
	finish $t {} $before
}

# However the looks fall between its comings and goings, it is probed when it stays.
by_both repeated hard-allocator-in-bursts 60 {
	set t [start hardload]
	order $t load
	lassign [place_of $t malloc libhardpool] address own
	attach_to {before m} $t
	for {set i 1} {$i <= 2 * $::trials} {incr i} {
		for {set burst [expr {int(rand() * 40)}]} {$burst >= 0} {incr burst -1} {
			again $t
		}
		until {[text_at $t $address] ne $own}
	}
	finish $t $m $before
}

# Mappings that are code and no file's: areas.
proc areas_of {t} {
	return [llength [lsearch -all -regexp [split [slurp /proc/[pid_of $t]/maps] "\n"] {r-xp 00000000 00:00 0 *$}]]
}

proc descriptors_of {m} {
	return [llength [glob -directory /proc/[pid $m]/fd *]]
}

# Do body, which has the library come again, many times: mdbg takes nothing more for it from the third time on.
proc reload_often {m body} {
	upvar 1 i i
	for {set i 1} {$i <= 30 * $::trials} {incr i} {
		uplevel 1 $body
		if {$i == 3} {
			set descriptors [descriptors_of $m]
		}
	}
	check {[descriptors_of $m] == $descriptors} {[descriptors_of $m] descriptors in mdbg, after $descriptors}
}

# It has told of no other tool.
proc live_end_alone {m} {
	live_end $m
	check {![string match "*another tool*" [slurp $::live_err($m)]]} {[slurp $::live_err($m)]}
}

# It never comes back to where it was: places in the target are those of probes that have gone.
by_both repeated hard-allocator-moves 60 {
	set t [start hardload]
	order $t load
	check {[areas_of $t] == 0} {anonymous code in hardload}
	set m [live_start -p [pid_of $t]]
	reload_often $m {
		order $t elsewhere
		live $m "where all 1"
		check {[engine_in $m libhardpool] eq ($::engine eq "auto" ? "jump" : $::engine)} {at $i: [live $m "malloc -v"]}
	}
	order $t "own 50"
	check {[llength [blocks_sized $m 654]] >= 50} {[live $m "malloc -v"]}
	# The log, whose addresses are more than a jump reaches, may lie between the library and the first area.
	check {[areas_of $t] in {1 2}} {[areas_of $t] areas after $i reloads}
	check {[llength [live_value $m mdbg::probes]] < 40} {[llength [live_value $m mdbg::probes]] probes are listed}
	live_end_alone $m
	check {[areas_of $t] == 0} {areas are left}
	order $t "own 50"
	finish $t
}

# It comes back to where it was, to the places that it had, and costs mdbg no more than before.
by_both repeated hard-allocator-returns 60 {
	set t [start hardload]
	order $t load
	set m [live_start -p [pid_of $t]]
	set address [probe_in $m malloc libhardpool address]
	set patch [text_at $t $address]
	reload_often $m {
		order $t "own 3"
		again $t
		live $m "where all 1"
		check {[text_at $t $address] eq $patch} {at $i: another place}
	}
	check_blocks $m 654 3
	check_blocks_stacks $m 654 1.0
	live_end_alone $m
	finish $t
}

# Another tool takes a jump out, and puts it in again: the text is left to it, and the user is told once.
case hard-overwritten 30 {
	set t [start hardload]
	order $t load
	lassign [place_of $t free libhardpool] address own
	attach_to {before m} $t
	set jump [text_at $t $address]
	check {$jump ne $own} {free of libhardpool is not patched}
	foreach round {1 2} {
		text_at $t $address $own
		until {[probe_in $m free libhardpool engine] eq "none"}
		live $m "where all 2"
		check {[text_at $t $address] eq $own} {it was patched again}
		check {[string match "*another tool*" [live $m "malloc -v"]]} {[live $m "malloc -v"]}
		text_at $t $address $jump
		until {[probe_in $m free libhardpool engine] eq "jump"}
	}
	order $t "own 50"
	check_blocks $m 654 50
	order $t "disown 50"
	again $t
	live $m "where all 2"
	check {[probe_in $m free libhardpool engine] eq "jump"} {[live $m "malloc -v"]}
	live_end $m
	set told [regexp -all {another tool has written over the patch of free in libhardpool.so} [slurp $::live_err($m)]]
	check {$told == 1} {told $told times: [slurp $::live_err($m)]}
	finish $t {} $before
}

# Each with its module and engine.
proc all_probes {m} {
	return [lsort [lmap probe [live_value $m mdbg::probes] {
		list [dict get $probe module] [dict get $probe function] [dict get $probe engine]
	}]]
}

# A process throws its copies of a page of text away, with the patches in it: those in other pages are where they were. The
# library is another one from then on, whose patches are some new, and some that go on.
by_both case hard-patches-discarded 30 {
	set t [start hardload]
	lassign [place_of $t malloc libc.so] address own
	attach_to {before m} $t
	set probes [all_probes $m]
	foreach round {1 2 3} {
		order $t "discard malloc"
		until {[text_at $t $address] ne $own}
		live $m "where all 2"
		check {[all_probes $m] eq $probes} {[live $m "malloc -v"]}
		order $t "make 50 654"
		check_blocks $m 654 50
		order $t drop
		check_blocks $m 654 0
	}
	live_end $m
	check {[slurp $::live_err($m)] eq ""} {[slurp $::live_err($m)]}
	finish $t {} $before
}

# An allocator that does not look at what it is given to free: nor do we.
by_both case hard-allocator-of-wild-blocks 30 {
	set t [start hardload]
	order $t load
	attach_to {before m} $t
	check {[probe_in $m free libhardpool engine] eq ($::engine eq "auto" ? "jump" : $::engine)} {[live $m "malloc -v"]}
	set unknown [dict get [live_value $m mdbg::malloc] unknownfrees]
	foreach round {1 2} {
		incr unknown [order $t wild]
	}
	check {[dict get [live_value $m mdbg::malloc] unknownfrees] == $unknown} {[live $m malloc]; but $unknown frees}
	order $t "make 50 777"
	check_blocks $m 777 50
	live_end $m
	check_state $before [pid_of $t]
	again $t
	order $t "own 50"
	finish $t
}

# Attached to, looked at, left and killed while a thread loads and unloads an allocator all the time.
by_both repeated hard-allocator-in-a-storm 60 {
	set t [start hardload]
	orders $t go halt
	set before [state [pid_of $t]]
	for {set i 0} {$i < 2 * $::trials} {incr i} {
		order $t go
		set m [live_start -p [pid_of $t]]
		order $t "make 50 777"
		check_blocks $m 777 50
		live_all $m {wait 0.15} "where all"
		order $t drop
		check_blocks $m 777 0
		if {$i % 2} {
			live_kill $m
			order $t "make 5 777"
			mdbg_ok -q -p [pid_of $t] -c {where all 2}
			order $t drop
		} else {
			live_end $m
		}
		order $t halt
		check_state $before [pid_of $t]
	}
	finish $t
}

# --- programs that do things their own way ------------------------------------------------------------------------

# What may not change in a program that maps and unmaps all the time: signals, and the text that is a file's.
proc file_state {pid} {
	set lines [state -t $pid]
	set files {}
	foreach line $lines {
		if {[regexp {^map ([0-9a-f]+-[0-9a-f]+) r-xp \S+ \S+ [1-9]\d* } $line -> range]} {
			lappend files $range
		}
	}
	return [lmap line $lines {
		if {[string match "map*" $line] && [lindex $line 1] ni $files || \
				[string match "text*" $line] && [lindex $line 1] ni $files || [string match "fd*" $line]} {
			continue
		}
		set line
	}]
}

proc check_file_state {before pid} {
	set now [file_state $pid]
	check {$now eq $before} {not as before: [lsearch -all -inline -not -regexp $now [join [lmap line $before {string map {+ . [ . ] . ( . ) . * .} $line}] |]]}
}

# It is worked, attached to at rest and at work, and worked again. Returns nothing: order checks the answers.
proc worked {chan pid work {least 100}} {
	order $chan $work 60
	set before [file_state $pid]
	foreach round {1 2} {
		set m [live_start -p $pid]
		check {"breakpoint" ni [dict values [engines_of $m]]} {[live $m "malloc -v"]}
		order $chan $work 60
		live_all $m interrupt "malloc allocations > $::tmp/dump"
		set n [exec sh -c "grep -c ^0x $::tmp/dump || true"]
		check {$n >= $least} {only $n blocks}
		check {[figure [live $m malloc] "allocations currently active"] == $n} {malloc and the list differ}
		live_all $m cont "malloc sites limit 3"
		tell $chan $work
		live $m "where all 3"
		live_end $m
		check {[lindex [hear $chan 60] 0] eq "ok"} {wrong answer}
		tell $chan $work
		set m [live_start -p $pid]
		check {[lindex [hear $chan 60] 0] eq "ok"} {wrong answer}
		live_kill $m
		order $chan $work 60
		mdbg_ok -q -p $pid -c status
		check_file_state $before $pid
	}
	order $chan $work 60
	quit $chan
}

proc open_program {args} {
	set chan [open |[list {*}$args 2>@stderr] r+]
	chan configure $chan -buffering line
	return $chan
}

case hard-node 40 {
	set node [need node]
	set script [spit $::tmp/work.js {
		const lines = require('readline').createInterface({ input: process.stdin });
		const zlib = require('zlib');
		console.log('ready ' + process.pid);
		lines.on('line', (line) => {
			if (line === 'quit')
				process.exit(0);
			const n = Number(line.split(' ')[1]);
			let left = n, good = 0;
			const kept = [];
			for (let i = 0; i < n; i++) {
				const data = Buffer.alloc(20000, String(i));
				kept.push(data);
				zlib.deflate(data, (error, packed) => {
					zlib.inflate(packed, (error, back) => {
						good += back.equals(data) ? 1 : 0;
						if (--left === 0)
							console.log((good === n ? 'ok ' : 'bad ') + good);
					});
				});
			}
		});
	}]
	set chan [open_program $node $script]
	worked $chan [lindex [hear $chan] 1] "work 200"
}

# V8's builtins have no CFI, and what it compiles is in no module: frame pointers lead through both. Nearly all blocks of
# buffers are asked for by the function in JavaScript; it has compiled the others before it writes down the names.
by_both case hard-node-stacks 60 {
	set node [need node]
	set script [spit $::tmp/buffers.js {
		const kept = [];
		function makeBuffer(size) {
			kept.push(Buffer.allocUnsafeSlow(size));
			if (kept.length > 500)
				kept.shift();
		}
		function serveRequest(i) {
			for (let k = 0; k < 3; k++)
				makeBuffer(20000 + i % 100);
		}
		function serveAll(n) {
			for (let i = 0; i < n; i++)
				serveRequest(i);
		}
		serveAll(20000);
		console.log('ready ' + process.pid);
		require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
			if (line === 'quit')
				process.exit(0);
			serveAll(Number(line));
			console.log('ok ' + kept.length);
		});
	}]
	set chan [open_program $node --perf-basic-prof $script]
	set pid [lindex [hear $chan] 1]
	set m [live_start --stack-depth 128 -p $pid]
	order $chan [work 2000 200]
	set all 0
	set whole 0
	foreach site [live_value $m {mdbg::sites function == *AllocateUninitialized*}] {
		incr all [dict get $site total]
		set names [lmap frame [live_value $m "mdbg::frames [dict get $site stack]"] {dict get $frame function}]
		if {[lsearch -glob $names *serve*] >= 0 && [lsearch -exact $names _start] >= 0} {
			incr whole [dict get $site total]
		}
	}
	check {$all > 100 && $whole >= 0.99 * $all} {$whole of $all blocks have a whole stack}
	live_end $m
	quit $chan
	file delete /tmp/perf-$pid.map
}

# A JVM takes SIGSEGV for its own ends, and its code has neither unwind information nor frame pointers.
case hard-java 60 {
	need javac
	set java [need java]
	spit $::tmp/Load.java {
		import java.io.*;
		import java.util.*;
		import java.util.zip.*;

		public class Load {
			static volatile Object sink;

			static long work(int n) throws Exception {
				long good = 0;
				for (int i = 0; i < n; i++) {
					byte[] in = new byte[2000], out = new byte[4000], back = new byte[3000];
					Deflater deflater = new Deflater();
					Inflater inflater = new Inflater();
					Arrays.fill(in, (byte)i);
					deflater.setInput(in);
					deflater.finish();
					inflater.setInput(out, 0, deflater.deflate(out));
					if (inflater.inflate(back) == 2000 && Arrays.equals(in, Arrays.copyOf(back, 2000)))
						good++;
					deflater.end();
					inflater.end();
					try {
						sink = (sink == null ? null : (Object)null).toString();
						good--;
					} catch (NullPointerException e) {
					}
				}
				return good;
			}

			public static void main(String[] args) throws Exception {
				BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
				System.out.println("ready " + ProcessHandle.current().pid());
				for (String line; (line = lines.readLine()) != null && !line.equals("quit");) {
					int n = Integer.parseInt(line.split(" ")[1]);
					long[] good = new long[4];
					Thread[] thread = new Thread[4];
					for (int i = 0; i < 4; i++) {
						int own = i;
						thread[i] = new Thread(() -> {
							try {
								good[own] = work(n);
							} catch (Exception e) {
								good[own] = -1;
							}
						});
						thread[i].start();
					}
					for (Thread one : thread)
						one.join();
					System.out.println((Arrays.stream(good).sum() == 4L * n ? "ok " : "bad ") + n);
				}
			}
		}
	}
	exec javac -d $::tmp $::tmp/Load.java
	set chan [open_program $java -XX:-UsePerfData -cp $::tmp Load]
	worked $chan [lindex [hear $chan] 1] "work 300" 1
}

case hard-python-threads 40 {
	set python [system_python]
	set script [spit $::tmp/work.py {
import os, subprocess, sys, threading, zlib
kept = []
def build(n, good):
    for i in range(n):
        data = bytes([i % 256]) * 2000
        kept.append(data)
        good.append(zlib.decompress(zlib.compress(data)) == data)
print("ready", os.getpid(), flush=True)
for line in sys.stdin:
    if line.strip() == "quit":
        break
    n, good = int(line.split()[1]), []
    threads = [threading.Thread(target=build, args=(n, good)) for i in range(8)]
    for thread in threads:
        thread.start()
    good.append(subprocess.run(["true"]).returncode == 0)
    for thread in threads:
        thread.join()
    print("ok" if all(good) and len(good) == 8 * n + 1 else "bad", flush=True)
}]
	set chan [open_program $python $script]
	worked $chan [lindex [hear $chan] 1] "work 300" 1000
}

# It is ended also if something fails: the runner does not find it, since it writes its title over its environment.
proc work_nginx {curl master page} {
	set worker [lindex [slurp /proc/$master/task/$master/children] 0]
	set get [list $curl -sf --compressed {*}[lrepeat 100 $page]]
	set want [string trim [string repeat [slurp $::tmp/www/page] 100]]
	check {[exec {*}$get] eq $want} {no page}
	# Connections and the page itself may yet be being closed.
	until {[lsearch [state $worker] "fd * $::tmp/www/page"] < 0}
	set before [lsearch -all -inline -not [state $worker] "fd * socket:*"]
	set m [live_start -p $worker]
	check {[exec {*}$get] eq $want} {no page while attached}
	live $m "malloc sites limit 5 > $::tmp/sites"
	set text [live $m malloc]
	check {[figure $text "allocations since attach"] >= 100} {few allocations: $text}
	check {[exec {*}$get] eq $want} {no page while attached}
	live $m "malloc allocations > $::tmp/dump"
	live_end $m
	until {[lsearch [state $worker] "fd * $::tmp/www/page"] < 0}
	set after [lsearch -all -inline -not [state $worker] "fd * socket:*"]
	check {$after eq $before} {not as before: $before; but: $after}
	check {[exec {*}$get] eq $want} {no page after}
	# The master: a new worker is forked while it is attached to, and lives on.
	set before [lsearch -all -inline -not [state $master] "fd *"]
	set m [live_start -p $master]
	exec kill -HUP $master
	until {[set new [lindex [slurp /proc/$master/task/$master/children] end]] != $worker}
	until {![is_alive $worker]}
	check {[exec {*}$get] eq $want} {no page by the new worker}
	live_end $m
	check {[exec {*}$get] eq $want} {no page by the new worker}
	mdbg_ok -q -p $new -c {wait 0.1} -c {malloc sites limit 1}
	check {[lsearch [state $new] *memfd:mdbg*] < 0} {something of mdbg's stays in the new worker: [lsearch -inline [state $new] *memfd:mdbg*]}
	check {[exec {*}$get] eq $want} {no page by the new worker}
	foreach line [lsearch -all -inline $before "text *"] {
		check {$line in [state $master]} {text of the master is not as before: $line}
	}
}

case hard-nginx 40 {
	set nginx [need nginx]
	set curl [need curl]
	file mkdir $::tmp/www
	exec chmod 755 $::tmp $::tmp/www
	spit $::tmp/www/page [string repeat "a page of a server\n" 500]
	for {set try 0} {$try < 20} {incr try} {
		set port [free_port]
		spit $::tmp/nginx.conf "
			daemon off; user root; worker_processes 1; pid $::tmp/nginx.pid; error_log $::tmp/error.log;
			events { worker_connections 64; }
			http {
				access_log off;
				server { listen 127.0.0.1:$port; gzip on; gzip_types *; root $::tmp/www; }
			}"
		set master [exec $nginx -p $::tmp -c $::tmp/nginx.conf > $::tmp/nginx.log 2>@1 &]
		set page http://127.0.0.1:$port/page
		until {![is_alive $master] || ![catch {exec $curl -sf $page}]}
		if {[is_alive $master]} {
			break
		}
	}
	try {
		work_nginx $curl $master $page
	} finally {
		exec kill -QUIT $master
		until {![is_alive $master]}
	}
}
