# SPDX-License-Identifier: GPL-3.0-or-later
# A second witness: what mdbg lists must be, block for block, what wrappers around the allocator's functions have written
# down (tests/oracle), over whole runs of programs that nobody prepared.

# Build it; sets ::recorder and ::replay.
proc build_oracle {} {
	skip_if_sanitized "it is the agent's work that is compared, which no sanitizer is in"
	set source [file join $::here .. oracle]
	set ::recorder $::tmp/recorder.so
	set ::replay $::tmp/replay
	set cc [list [need cc] -std=gnu11 -D_GNU_SOURCE -O2]
	exec {*}$cc -fPIC -fexceptions -shared -o $::recorder $source/recorder.c
	exec {*}$cc -o $::replay $source/replay.c
}

# Run a program below mdbg from its first malloc, and below the recorder. Returns mdbg's channel, which is the program's.
#
# The program has standard input, so mdbg is told by files what to do: when look.N is there it interrupts the program,
# lists what it holds into list.N, makes done.N, and goes on when the pipe go.N is written; when end is there it waits for the end
# and writes list.last.
proc watch {args} {
	spit $::tmp/.mdbginit [subst -nocommands {
		set env(LD_PRELOAD) $::recorder
		set env(ORACLE_FILE) $::tmp/oracle
	}]
	set script [spit $::tmp/look.tcl [string map [list TMP [list $::tmp]] {
		proc await {file} {
			while {![file exists TMP/$file]} {
				if {[file exists TMP/end]} {
					return 0
				}
				wait 0.01
			}
			return 1
		}
		# A pipe: the other end opens it to let this one go on.
		proc await_stopped {pipe} {
			close [open TMP/$pipe r]
		}
		proc list_to {name} {
			malloc allocations > TMP/list.$name
			set chan [open TMP/figures.$name w]
			puts $chan [mdbg::malloc]
			close $chan
			close [open TMP/done.$name w]
		}
		for {set n 1} {[await look.$n]} {incr n} {
			interrupt
			list_to $n
			await_stopped go.$n
			cont
		}
		wait exit
		list_to last
	}]]
	set ::looks 0
	set command [list env HOME=$::tmp $::mdbg_program -q -c "source $script" -- {*}$args 2> $::tmp/mdbg.err]
	set chan [open |$command r+]
	chan configure $chan -buffering line
	set ::watcher [pid $chan]
	return $chan
}

proc await_done {name} {
	until {[file exists $::tmp/done.$name] || [string match *mdbg:* [slurp $::tmp/mdbg.err]]} 120
	check {[file exists $::tmp/done.$name]} {mdbg: [slurp $::tmp/mdbg.err]}
}

# What differs between list.NAME and the oracle's file as it is now; {} if nothing does.
proc differences {name} {
	exec $::replay $::tmp/oracle > $::tmp/truth.$name 2> $::tmp/events.$name
	exec awk {/^0x/ { print $1, $2 }} $::tmp/list.$name > $::tmp/blocks.$name
	catch {exec diff $::tmp/truth.$name $::tmp/blocks.$name} text
	lassign [slurp $::tmp/events.$name] events given taken unfinished
	note "$name: $events events, [exec wc -l < $::tmp/truth.$name] blocks; not alike: [regexp -all -line {^[<>]} $text]"
	return [regexp -all -inline -line {^[<>].*} $text]
}

# Does each thread of the program wait in the kernel?
proc all_wait {} {
	set program [lindex [children_of $::watcher] 0]
	foreach status [glob /proc/$program/task/*/status] {
		if {![regexp {State:\tS} [slurp $status]]} {
			return 0
		}
	}
	return 1
}

# The program has nothing to do; it may yet be caught between the allocator and the recorder, so that some looks are given.
proc check_look {} {
	until {[all_wait]} 60
	for {set try 0} {$try < 5} {incr try} {
		set name [incr ::looks]
		exec mkfifo $::tmp/go.$name
		spit $::tmp/look.$name ""
		await_done $name
		set differ [differences $name]
		spit $::tmp/go.$name ""
		if {$differ eq ""} {
			check {[exec wc -l < $::tmp/truth.$name] > 100} {the oracle knows hardly a block}
			return
		}
	}
	fail "[llength $differ] blocks are not as the oracle (<) has them: [lrange $differ 0 9]"
}

# Its data are gone, the log is not.
proc check_last {chan} {
	spit $::tmp/end ""
	await_done last
	set end [ending $chan]
	check {$end eq {exit 0}} {mdbg or the program ended with $end: [slurp $::tmp/mdbg.err]}
	set differ [differences last]
	check {$differ eq ""} {[llength $differ] blocks are not as the oracle (<) has them at the end: [lrange $differ 0 9]}
}

proc oracle_requests {n} {
	set text [exec [need redis-benchmark] -p $::port -t set,get,lpush,lpop,sadd,hset,zadd,mset -d 100 -r 100000 -n $n \
		-c 20 -P 16 -q 2>@1]
	check {![regexp -nocase {fail|error|refused|reset} $text]} {requests failed: $text}
}

case oracle-redis 200 {
	build_oracle
	need redis-cli
	set ::port [free_port]
	set chan [watch [need redis-server] --port $::port --bind 127.0.0.1 --save {} --appendonly no --dir $::tmp \
		--logfile $::tmp/redis.log]
	until {![catch {redis_cli PING} answer] && $answer eq "PONG"} 60
	check_look
	foreach round {1 2 3} {
		oracle_requests [expr {$::trials < 10 ? 1000 * $::trials : 20000}]
		check_look
	}
	redis_cli FLUSHALL ASYNC
	oracle_requests 2000
	check_look
	catch {redis_cli SHUTDOWN NOSAVE}
	check_last $chan
}

case oracle-python3 200 {
	build_oracle
	set python [system_python]
	set script [spit $::tmp/work.py {
import json, os, re, subprocess, sys, threading, zlib
kept = {}
def build(n):
    for i in range(n):
        text = "x" * (600 + i % 1000)
        kept[i] = {"key": text, "list": list(range(i % 500)), "packed": zlib.compress(text.encode())}
        if i % 7 == 0:
            kept.pop(i // 2, None)
            json.loads(json.dumps([one["list"] for one in list(kept.values())[-10:]]))
print("ready", os.getpid(), flush=True)
for line in sys.stdin:
    word, _, rest = line.strip().partition(" ")
    if word == "make":
        threads = [threading.Thread(target=build, args=(int(rest),)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print("ok", len(kept), flush=True)
    elif word == "run":
        print("ok", subprocess.run(["echo", "child"], capture_output=True).stdout.strip().decode(), flush=True)
    elif word == "drop":
        kept.clear()
        print("ok", flush=True)
    else:
        break
}]
	set chan [watch $python $script]
	set pid [lindex [hear $chan 100] 1]
	# (Threads that were joined are not quite gone; without the recorder's knowledge glibc frees what was theirs.)
	foreach line {{make 200} {make 2000} {run} {drop} {make 500}} {
		order $chan $line 100
		until {[llength [glob /proc/$pid/task/*]] == 1}
		check_look
	}
	tell $chan quit
	check_last $chan
}

# V8's own heap is not malloc's; Buffers, zlib, the file system and the worker threads are.
case oracle-node 200 {
	build_oracle
	set script [spit $::tmp/work.js {
const fs = require("fs"), zlib = require("zlib"), crypto = require("crypto"), {Worker} = require("worker_threads");
let kept = [];
function make(n) {
	for (let i = 0; i < n; i++) {
		const text = crypto.randomBytes(300 + i % 1000).toString("hex");
		kept.push(zlib.deflateSync(text), Buffer.from(text), new RegExp(text.slice(0, 9)));
		if (i % 3 === 0)
			kept.splice(i / 2, 1);
		fs.statSync("/proc/self");
	}
}
const work = {
	make: async n => make(n),
	drop: async () => { kept = []; },
	worker: n => new Promise(done => new Worker(`
		const {parentPort} = require("worker_threads"), zlib = require("zlib");
		for (let i = 0; i < ${n}; i++)
			zlib.gzipSync(Buffer.alloc(1000 + i, i));
		parentPort.postMessage("ready");`, {eval: true}).on("exit", done)),
};
console.log("ready", process.pid);
require("readline").createInterface({input: process.stdin}).on("line", async line => {
	const [word, n] = line.split(" ");
	if (word === "quit")
		process.exit(0);
	await work[word](Number(n));
	console.log("ok", kept.length);
});
}]
	set chan [watch [need node] $script]
	hear $chan 100
	check_look
	foreach line {{make 50} {make 500} {worker 50} {drop 0} {make 100}} {
		order $chan $line 100
		check_look
	}
	tell $chan quit
	check_last $chan
}

case oracle-sqlite3 200 {
	build_oracle
	set chan [watch [need sqlite3] -batch :memory:]
	tell $chan "CREATE TABLE kept(id INTEGER PRIMARY KEY, name TEXT, data BLOB);"
	set rows [expr {$::trials < 10 ? 3000 : 20000}]
	foreach line {
		{WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ROWS)
			INSERT INTO kept(name, data) SELECT hex(randomblob(20)), randomblob(i % 3000) FROM n;}
		{CREATE INDEX by_name ON kept(name);}
		{UPDATE kept SET data = zeroblob(length(data) * 2) WHERE id % 3 = 0;}
		{DELETE FROM kept WHERE id % 7 < 4; VACUUM;}
		{CREATE TABLE pairs AS SELECT a.id, b.data FROM kept a JOIN kept b ON substr(a.name, 1, 4) = substr(b.name, 1, 4);}
		{DROP TABLE kept;}
	} {
		tell $chan [string map [list "\n" " " ROWS $rows] $line]
		order $chan ".print ok" 100
		check_look
	}
	tell $chan .quit
	check_last $chan
}
