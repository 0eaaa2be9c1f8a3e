# SPDX-License-Identifier: GPL-3.0-or-later
# Programs that nobody prepared: redis-server, python3, sqlite3.

proc redis_cli {args} {
	return [exec redis-cli -p $::port {*}$args 2>@1]
}

# A server on a free loopback port, started by way of these words (env ...); sets ::port and ::redis (its number).
proc start_redis {args} {
	need redis-server
	need redis-cli
	need redis-benchmark
	for {set try 0} {$try < 20} {incr try} {
		set ::port [free_port]
		set ::redis [exec {*}$args [need redis-server] --port $::port --bind 127.0.0.1 --save {} --appendonly no \
			--dir $::tmp --daemonize no > $::tmp/redis.log 2>@1 &]
		until {![is_alive $::redis] || ![catch {redis_cli INFO server} info] && [regexp "process_id:$::redis\\s" $info]}
		if {[is_alive $::redis]} {
			return
		}
		# Somebody else has got the port meanwhile.
	}
	fail "redis-server does not start"
}

# Load until end_load; every request must succeed.
proc start_load {} {
	file delete $::tmp/enough
	spit $::tmp/load.sh "
		while \[ ! -e $::tmp/enough ]; do
			redis-benchmark -p $::port -t set,lpush,get -d 100 -r 100000 -n 1000 -c 10 -q || echo FAILED \$?
			echo round
		done
	"
	set ::load [exec sh $::tmp/load.sh > $::tmp/load.log 2>@1 &]
}

proc rounds {} {
	return [regexp -all -line {^round$} [slurp $::tmp/load.log]]
}

proc end_load {} {
	spit $::tmp/enough ""
	until {![is_alive $::load]} 120
	set log [slurp $::tmp/load.log]
	check {![regexp -nocase {fail|error|refused|reset} $log why]} {requests failed ($why): [string range $log end-300 end]}
	check {[rounds] > 0} {no load: $log}
}

proc end_redis {} {
	catch {redis_cli SHUTDOWN NOSAVE}
	until {![is_alive $::redis]}
}

proc before_keys {} {
	set chan [open "|redis-cli -p $::port > /dev/null" w]
	for {set i 0} {$i < 1000} {incr i} {
		puts $chan "SET before:$i value-$i"
	}
	close $chan
}

proc check_before_keys {} {
	set keys {}
	set want {}
	for {set i 0} {$i < 1000} {incr i} {
		lappend keys before:$i
		lappend want value-$i
	}
	check {[split [redis_cli MGET {*}$keys] "\n"] eq $want} {keys written before are not there after}
}

# The text and all else that does not depend on the clients that come and go.
proc redis_state {} {
	return [lsearch -all -inline -not [state $::redis] "fd * socket:*"]
}

case redis 120 {
	start_redis
	before_keys
	start_load
	until {[rounds] > 0} 60
	set before [redis_state]
	set m [live_start -p $::redis]
	set loops [rounds]
	until {[rounds] > $loops + 2} 60
	live $m "malloc allocations > $::tmp/dump" 60
	live $m "malloc sites limit 10 > $::tmp/sites"
	# The count and the list at one moment.
	live $m interrupt
	live $m "malloc allocations > $::tmp/still" 60
	set figures [live $m malloc]
	live_all $m cont detach
	set after [redis_state]
	live_end $m
	check {$before eq $after} {not as before: [lsearch -all -inline -not -exact $after $before]}
	set loops [rounds]
	until {[rounds] > $loops} 60
	end_load
	check_before_keys
	check {[redis_cli PING] eq "PONG"} {the server does not answer}
	check {[redis_state] eq $before} {not as before}
	foreach file {dump still} {
		check_stacks $::tmp/$file 0.99
	}
	set blocks [exec grep -c ^0x $::tmp/still]
	check {$blocks > 100} {only $blocks blocks}
	check {[figure $figures "allocations currently active"] == $blocks} \
		{malloc says [figure $figures "allocations currently active"] active, $blocks are listed}
	check {[string match "*jemalloc*" $figures]} {malloc does not name jemalloc: [string range $figures 0 200]}
	end_redis
}

repeated redis-attach-and-detach 100 {
	start_redis
	before_keys
	start_load
	until {[rounds] > 0} 60
	set before [redis_state]
	for {set i 0} {$i < $::trials} {incr i} {
		mdbg_ok -q -p $::redis -c {wait 0.2} -c {malloc sites limit 1}
		check {[redis_state] eq $before} {not as before in round $i}
	}
	end_load
	check_before_keys
	end_redis
}

case python 120 {
	set python [system_python]
	set script [spit $::tmp/work.py {
import os, sys, threading
kept = {}
def build(n):
    for i in range(n):
        kept[len(kept)] = {"key": "x" * (600 + i % 100), "list": [j for j in range(i % 200)]}
print("ready", os.getpid(), flush=True)
for line in sys.stdin:
    word, _, rest = line.strip().partition(" ")
    if word == "make":
        thread = threading.Thread(target=build, args=(int(rest),))
        thread.start()
        thread.join()
        print("ok", len(kept), flush=True)
    elif word == "verify":
        good = all(d["key"].strip("x") == "" and d["list"] == list(range(len(d["list"]))) for d in kept.values())
        print("ok" if good else "bad", flush=True)
    elif word == "drop":
        kept.clear()
        print("ok", flush=True)
    else:
        break
}]
	set chan [open |[list $python $script 2>@stderr] r+]
	chan configure $chan -buffering line
	set pid [lindex [hear $chan] 1]
	order $chan "make 100"
	# (The thread that made them is joined before it is quite gone.)
	until {[llength [glob /proc/$pid/task/*]] == 1}
	set before [state $pid]
	set m [live_start -p $pid]
	order $chan "make 3000" 100
	order $chan verify 100
	live $m interrupt
	live $m "malloc allocations > $::tmp/dump" 60
	set n [exec grep -c ^0x $::tmp/dump]
	check {$n > 3000} {only $n blocks}
	check {[figure [live $m malloc] "allocations currently active"] == $n} {malloc and the list differ}
	live $m cont
	check_stacks $::tmp/dump 0.99
	orders $chan drop "make 100"
	live $m "malloc sites limit 10"
	live_end $m
	until {[llength [glob /proc/$pid/task/*]] == 1}
	check_state $before $pid
	order $chan verify
	tell $chan quit
	check {[ending $chan] eq {exit 0}} {python ended otherwise}
}

case sqlite 120 {
	set sqlite [need sqlite3]
	set chan [open |[list [need stdbuf] -oL $sqlite :memory: 2>@stderr] r+]
	chan configure $chan -buffering line
	puts $chan "CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT); SELECT 'ready';"
	check {[hear $chan] eq "ready"} {it is not ready}
	set pid [pid $chan]
	set insert {WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 3000)
		INSERT INTO t(text) SELECT 'row ' || x FROM c; SELECT count(*) FROM t;}
	puts $chan $insert
	check {[hear $chan] == 3000} {no answer}
	set before [state $pid]
	set m [live_start -p $pid]
	puts $chan $insert
	check {[hear $chan 100] == 6000} {wrong answer}
	live_all $m interrupt "malloc allocations > $::tmp/dump"
	set n [exec grep -c ^0x $::tmp/dump]
	check {$n > 5} {only $n blocks}
	check {[figure [live $m malloc] "allocations currently active"] == $n} {malloc and the list differ}
	live $m cont
	check_stacks $::tmp/dump 0.99
	live $m "malloc sites limit 5"
	live_end $m
	check_state $before $pid
	puts $chan "SELECT count(*), sum(n) FROM t;"
	check {[hear $chan] eq "6000|18003000"} {wrong answer after the detach}
	puts $chan ".quit"
	check {[ending $chan] eq {exit 0}} {sqlite3 ended otherwise}
}

by_both case jemalloc-preloaded 60 {
	set library [lindex [glob -nocomplain /usr/lib/*/libjemalloc.so.2] 0]
	skip_if {$library eq ""} {libjemalloc is not installed}
	preloaded $library
}

by_both case tcmalloc-preloaded 60 {
	set library [lindex [glob -nocomplain /usr/lib/*/libtcmalloc_minimal.so.4] 0]
	skip_if {$library eq ""} {libtcmalloc is not installed}
	preloaded $library
}

by_both case mimalloc-preloaded 60 {
	set library [lindex [glob -nocomplain /usr/lib/*/libmimalloc.so.2*] 0]
	skip_if {$library eq ""} {libmimalloc is not installed}
	preloaded $library
}

# Another allocator below a program that knows its truth.
proc preloaded {library} {
	other_allocator env LD_PRELOAD=$library $::build/targets/exact -n -r -t 4
}

# These define operator new themselves, so that the innermost function of such a block is the operator and not malloc: the set
# of addresses, sizes and threads is compared.
proc other_allocator {args} {
	set chan [open |[list {*}$args 2>@stderr] r+]
	chan configure $chan -buffering line
	set pid [lindex [hear $chan] 1]
	set before [state $pid]
	set m [live_start -p $pid]
	orders $chan "ops [work 2000 1000]" go "more [work 1000 20]" pause
	live $m "malloc allocations > $::tmp/dump"
	set listed [dict create]
	foreach block [recorded [parse_allocations [slurp $::tmp/dump]]] {
		dict set listed [dict get $block address] [list [dict get $block size] [dict get $block thread]]
	}
	foreach line [ask_list $chan list] {
		lassign $line address size lwp
		check {[dict exists $listed [expr $address]]} {$line is not listed}
		check {[dict get $listed [expr $address]] eq [list $size $lwp]} {$line is listed as [dict get $listed [expr $address]]}
		dict unset listed [expr $address]
	}
	check {[dict size $listed] == 0} {[dict size $listed] blocks are listed that are not held: [lrange $listed 0 5]}
	live_end $m
	check_state $before $pid
	finish $chan
}

# A static program that has kept its symbols.
by_both case static-program 60 {
	other_allocator [build_target g++ exact.cc -g -static] -r -t 4
}

# Another C library, and code without unwind information: blocks are known, and tracebacks end behind main and say why.
by_both case musl-program 60 {
	set t [start_command [build_target musl-gcc million.c -g]]
	set pid [pid_of $t]
	set before [state $pid]
	set m [live_start -p $pid]
	order $t "make 1000"
	# The version does not tell which of its two allocators it was built with.
	check {[regexp {^musl \d+\.\d+\.\d+$} [dict get [live_value $m mdbg::malloc] algorithm]]} {$::result}
	live $m "malloc allocations > $::tmp/dump"
	check {[exec grep -c ^0x $::tmp/dump] == 1000} {[exec grep -c ^0x $::tmp/dump] blocks and not 1000}
	check_stacks $::tmp/dump 0
	check {[exec grep -c { make+} $::tmp/dump] == 1000 && [exec grep -c { main+} $::tmp/dump] == 1000} {no way to main}
	live_end $m
	check_state $before $pid
	finish $t
}
