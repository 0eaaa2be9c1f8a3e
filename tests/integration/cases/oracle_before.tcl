# SPDX-License-Identifier: GPL-3.0-or-later
# What was there before mdbg came, of each allocator: programs run below the recorder (tests/oracle), mdbg is attached at a
# random moment while they are at work, and each of its lists is compared with what the recorder has written.

# The allocators, with the files that are preloaded; Debian's redis-server has jemalloc by itself.
set oracle_allocators {
	glibc {} jemalloc libjemalloc.so.2 tcmalloc libtcmalloc_minimal.so.4 mimalloc libmimalloc.so.2
}

# The words to run a program below the recorder and the allocator.
proc below_recorder {allocator} {
	set libraries $::recorder
	if {[dict get $::oracle_allocators $allocator] ne ""} {
		append libraries : [allocator_library [dict get $::oracle_allocators $allocator]]
	}
	file delete $::tmp/oracle
	return [list env ORACLE_FILE=$::tmp/oracle LD_PRELOAD=$libraries]
}

# Each of these starts a program that is at work until the case ends, and returns its number.

proc oracle_run_crowd {allocator} {
	if {![file exists $::tmp/crowd]} {
		exec [need g++] -O2 -o $::tmp/crowd [file join $::here .. oracle crowd.cc]
	}
	set chan [start_command {*}[below_recorder $allocator] $::tmp/crowd]
	return [pid $chan]
}

proc oracle_run_redis {allocator} {
	start_redis {*}[below_recorder $allocator]
	start_load
	return $::redis
}

proc oracle_run_python3 {allocator} {
	set script [spit $::tmp/busy.py {
import json, os, re, sys, threading, time, zlib
def work(n):
    kept = {}
    for i in range(10 ** 9):
        text = "x" * (600 + i * n % 1000)
        kept[i % 900] = {"key": text, "list": list(range(i % 500)), "packed": zlib.compress(text.encode())}
        kept.pop(i * 7 % 1000, None)
        re.compile("a%db*" % (i % 600))
        json.loads(json.dumps([one["list"] for one in list(kept.values())[-3:]]))
        if i % 20 == 0:
            time.sleep(0.001)
for n in range(4):
    threading.Thread(target=work, args=(n + 1,), daemon=True).start()
print("ready", flush=True)
sys.stdin.readline()
os._exit(0)
}]
	return [pid [start_command {*}[below_recorder $allocator] [system_python] $script]]
}

proc oracle_run_sqlite3 {allocator} {
	set statements [spit $::tmp/statements.sql {
		CREATE TABLE IF NOT EXISTS kept(id INTEGER PRIMARY KEY, name TEXT, data BLOB);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
			INSERT INTO kept(name, data) SELECT hex(randomblob(20)), randomblob(i * 10) FROM n;
		UPDATE kept SET data = zeroblob(length(data) * 2) WHERE id % 3 = 0 AND length(data) < 20000;
		DELETE FROM kept WHERE random() % 7 < 3;
		SELECT count(*) FROM kept a JOIN kept b ON substr(a.name, 1, 2) = substr(b.name, 1, 2);
	}]
	set pids [exec sh -c {while cat "$0"; do sleep 0.01; done} $statements 2>/dev/null | \
		{*}[below_recorder $allocator] [need sqlite3] -batch :memory: > /dev/null &]
	return [lindex $pids 1]
}

proc oracle_run_nginx {allocator} {
	need curl
	cd $::tmp
	file delete socket
	spit $::tmp/page [string repeat "a page of a server\n" 5000]
	spit $::tmp/nginx.conf "
		daemon off; master_process off; user root; pid $::tmp/nginx.pid; error_log $::tmp/error.log;
		events { worker_connections 64; }
		http {
			access_log off; keepalive_requests 5;
			server { listen unix:socket; gzip on; gzip_types *; root $::tmp; }
		}"
	set nginx [exec {*}[below_recorder $allocator] [need nginx] -p $::tmp -c $::tmp/nginx.conf > $::tmp/nginx.log 2>@1 &]
	until {![catch {get_pages 1}]}
	exec sh -c {while kill -0 $0; do curl -s --compressed -o /dev/null --unix-socket socket http://x/page http://x/page \
		http://x/none; done} $nginx 2>/dev/null &
	return $nginx
}

# How many blocks the list says that it leaves out, since a thread in the allocator may be about to take or give them.
proc left_out {} {
	set text [exec tail -n 4 $::tmp/list]
	return [expr {[regexp -line {^(\d+) blocks are not listed, as calls were under way} $text -> n] ? $n : 0}]
}

# Stop it, list, and compare. Each thread may stand between the allocator and the recorder with a block, and a release that
# the recorder has not quite written may have begun for mdbg.
proc oracle_look {m pid aligned_inside} {
	live $m interrupt
	live $m "malloc allocations > $::tmp/list" 120
	exec $::replay $::tmp/oracle $::tmp/list > $::tmp/wrong 2> $::tmp/events
	set threads [llength [glob /proc/$pid/task/*]]
	live $m cont
	set text [slurp $::tmp/wrong]
	foreach kind {missing short inside freed new} {
		set $kind [regexp -all -inline -line "^$kind .*" $text]
	}
	set out [expr {[left_out] + [lindex [slurp $::tmp/events] 3]}]
	set blocks [exec grep -c ^0x $::tmp/list]
	note "[string trim [slurp $::tmp/events]]: $blocks blocks; [llength $missing] missing, [llength $short] short,\
		[llength $freed] freed, [llength $new] new, [llength $inside] inside, $out left out; $threads threads"
	check {$blocks > 50} {only $blocks blocks are listed}
	check {[llength $missing] <= $out && $out <= $blocks / 20 + 50 && $short eq ""} {[llength $missing] missing, [llength $short] short: [lrange $missing$short 0 9]}
	check {$inside eq "" || $aligned_inside} {blocks lie in others: [lrange $inside 0 9]}
	check {[llength $freed] + [llength $new] <= $threads} {[llength $freed] freed, [llength $new] new: [lrange $freed$new 0 9]}
}

proc oracle_moment {program allocator} {
	set pid [oracle_run_$program $allocator]
	delay [expr {int(300000 * rand())}]
	foreach options {--no-arm {}} {
		set m [live_start -p $pid {*}$options]
		oracle_look $m $pid [expr {$allocator eq "mimalloc"}]
		delay [expr {int(100000 * rand())}]
		live_end $m
	}
	exec kill -KILL $pid
	until {![is_alive $pid]}
}

# The rest is in the torture.
case oracle-before 120 {
	build_oracle
	foreach allocator {jemalloc tcmalloc mimalloc} {
		oracle_moment crowd $allocator
	}
}
