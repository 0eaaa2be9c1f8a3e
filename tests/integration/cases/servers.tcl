# SPDX-License-Identifier: GPL-3.0-or-later
# Leaks, find and trim in servers that nobody prepared: mariadbd, postgres, node.

# While work goes on and at rest the kinds add up to what is held, a block can be asked for, and its heaps can be trimmed; then all is as before.
# most: how many blocks may be definitely lost; snapshot: what is said of one.
proc check_server {pid work {most 0} {snapshot "a snapshot of it was searched"}} {
	{*}$work
	set before [server_state $pid]
	set m [live_start -p $pid]
	{*}$work
	check_sums $m
	set text [live $m "malloc leaks -snapshot"]
	check {[string match "*$snapshot*" $text]} {not said of a snapshot: $text}
	{*}$work
	live $m interrupt
	set text [live $m "malloc leaks definite indirect"]
	note $text
	set sums [check_sums $m]
	set active [figure [live $m malloc] "allocations currently active"]
	check {[lindex [dict get $sums all] 1] == $active} {$sums, but $active blocks are held}
	check {[lindex [dict get $sums definitely] 1] <= $most} {lost: $text}
	check {[lindex [dict get $sums still] 1] > 100} {hardly anything is reachable: $text}
	# Of what is possibly lost somebody has a pointer into it, of what is reachable by a plain pointer one to its start.
	foreach block [live_value $m "mdbg::allocations limit 4"] {
		set found [live_value $m "mdbg::find [dict get $block address]"]
		check {[dict get $found what] eq "block" && [dict get $found address] == [dict get $block address] &&
			[dict get $found searched]} {$found}
		check {[llength [dict get $found holders]] == min(20, [dict get $found keep]) + min(20, [dict get $found inside])} {$found}
	}
	live $m cont
	until {![catch {live_value $m mdbg::trim} did] || ![regexp {is locked|is in brk|no thread of process} $did]}
	check {[dict exists $did before] && [dict get $did after] <= [dict get $did before]} {trim: $did}
	{*}$work
	check {[regexp {no damage found} [live $m "malloc check"]]} {[live $m "malloc check"]}
	live_end $m
	set after [server_state $pid]
	check {$after eq $before} {not as before: [lmap line $after {expr {$line in $before ? [continue] : $line}}]}
	{*}$work
}

# Connections and files come and go, and a compiler's code does, which is in writable memory; mdbg's own is not.
proc server_state {pid} {
	set lines {}
	set code ""
	foreach line [state $pid -t] {
		if {[regexp {^map 0*(\S+)-0*(\S+) rwxp 00000000 00:00 0 *$} $line -> start end]} {
			set code $start-$end
		} elseif {![string match "fd *" $line] && ![string match "text $code *" $line]} {
			lappend lines $line
		}
	}
	return $lines
}

# A server with an empty table t. Returns its process, and a function that asks it.
proc start_mariadb {} {
	set mariadbd [need mariadbd]
	need mariadb
	cd $::tmp	;# the path of a socket must not be long
	file mkdir data
	set pid [exec $mariadbd --no-defaults --user=root --datadir=$::tmp/data --skip-grant-tables --skip-networking --socket=$::tmp/data/s \
		--pid-file=$::tmp/data/pid --innodb-buffer-pool-size=8M > $::tmp/mariadbd.log 2>@1 &]
	set ask {{query} {
		cd $::tmp/data
		return [exec mariadb --no-defaults -S s -N d -e $query]
	}}
	until {![catch {exec mariadb --no-defaults -S data/s -e "CREATE DATABASE IF NOT EXISTS d"}]}
	apply $ask "CREATE TABLE t (n INT PRIMARY KEY AUTO_INCREMENT, text VARCHAR(200)) ENGINE=InnoDB;"
	return [list $pid $ask]
}

case server-mariadb 60 {
	lassign [start_mariadb] pid ask
	check_server $pid [list apply {{ask} {
		check {[apply $ask "INSERT INTO t (text) SELECT CONCAT('row ', seq) FROM seq_1_to_1000; SELECT COUNT(*) > 999,
			COUNT(DISTINCT MD5(text)) FROM t;"] eq "1\t1000"} {wrong answer}
	}} $ask] 0 "no snapshot: the process *"	;# has files open for direct I/O, or uses io_uring
	exec kill $pid
	until {![is_alive $pid]}
	check {[regexp {Shutdown complete} [slurp $::tmp/mariadbd.log]]} {it ended otherwise: [slurp $::tmp/mariadbd.log]}
}

# A server of PostgreSQL, which wants no root: as the user that its package has made. Returns the folder of its programs, its
# process, and a channel to a client.
proc start_postgres {} {
	set setpriv [need setpriv]
	set bin [lindex [lsort -dictionary [glob -nocomplain /usr/lib/postgresql/*/bin]] end]
	file attributes $::tmp -permissions 0777
	set as_user [list $setpriv --reuid postgres --regid postgres --clear-groups env -C $::tmp]
	skip_if {$bin eq "" || [exec id -u] != 0 || [catch {exec {*}$as_user true}]} {no postgres, or nobody to run it as}
	set host @mdbg-test-[pid]
	exec {*}$as_user $bin/initdb -D $::tmp/data -N -A trust > $::tmp/initdb.log 2>@1
	set pid [exec {*}$as_user $bin/postgres -D data -F -c listen_addresses= -c shared_buffers=4MB -c unix_socket_directories=$host > $::tmp/postgres.log 2>@1 &]
	until {![catch {exec {*}$as_user $bin/psql -X -h $host -c "SELECT 1" postgres}]}
	set chan [open |[list {*}$as_user $bin/psql -X -q -A -t -h $host postgres 2>@stderr] r+]
	chan configure $chan -buffering line
	return [list $bin $pid $chan]
}

proc end_postgres {pid chan} {
	puts $chan "\\q"
	check {[ending $chan] eq {exit 0}} {psql ended otherwise}
	exec kill -INT $pid
	until {![is_alive $pid]}
	check {[regexp {database system is shut down} [slurp $::tmp/postgres.log]]} {it ended otherwise: [slurp $::tmp/postgres.log]}
}

# Two blocks are lost by the postmaster, and so by all of its children (docs/leaks.md).
case server-postgres 60 {
	lassign [start_postgres] bin pid chan
	puts $chan "CREATE TABLE t (n SERIAL PRIMARY KEY, text TEXT); SELECT pg_backend_pid();"
	set child [hear $chan]
	set work [list apply {{chan} {
		puts $chan "INSERT INTO t (text) SELECT 'row ' || n FROM generate_series(1, 1000) AS n;
			SELECT count(*) > 999, count(DISTINCT md5(text)) FROM t;"
		check {[hear $chan] eq "t|1000"} {wrong answer}
	}} $chan]
	check_server $child $work 2
	check_server $pid $work 2
	end_postgres $pid $chan
}

# The tree of memory contexts is the one that the backend itself writes to the log. (The call for that makes some more, for itself.)
case server-postgres-contexts 60 {
	lassign [start_postgres] bin pid chan
	puts $chan "SELECT pg_backend_pid(), count(*) > 0 FROM pg_class;"
	set child [lindex [split [hear $chan] |] 0]
	mdbg -q -p $child --no-arm -x postgres-contexts.tcl
	check {$::status == 0} {status $::status: $::err}
	set mine [split [string trim $::out] "\n"]
	puts $chan "SELECT pg_log_backend_memory_contexts($child);"
	hear $chan
	until {[regexp {Grand total} [slurp $::tmp/postgres.log]]}
	set theirs {}
	foreach line [split [slurp $::tmp/postgres.log] "\n"] {
		if {[regexp {LOG: +(level: .*)$} $line all context]} {
			lappend theirs $context
		}
	}
	set missing [lmap line $theirs {expr {$line in $mine ? [continue] : $line}}]
	check {[llength $theirs] > 50 && [llength $missing] < 12} {not in mine: $missing}
	check {[regexp {^level: 0; TopMemoryContext: \d+ total in \d+ blocks; \d+ free} [lindex $mine 0]]} {[lindex $mine 0]}
	check {[regexp {^Grand total: \d+ bytes in \d+ blocks of \d+ contexts} [lindex $mine end]]} {[lindex $mine end]}
	end_postgres $pid $chan
	mdbg -q -p [pid_of [set t [start million]]] --no-arm -x postgres-contexts.tcl
	check {$::status == 1 && [string match "*no PostgreSQL*" $::err]} {status $::status: $::err}
	finish $t
}

case server-node 60 {
	set script [spit $::tmp/server.js {
		const http = require('http'), zlib = require('zlib'), crypto = require('crypto');
		const kept = new Map();
		http.createServer((request, response) => {
			const text = request.url.repeat(1000);
			kept.set(request.url, crypto.createHash('sha256').update(text).digest());
			response.writeHead(200, {'Content-Encoding': 'gzip'});
			response.end(zlib.gzipSync(text));
		}).listen(process.argv[2], () => console.log('ready'));
		process.on('SIGTERM', () => process.exit(0));
	}]
	cd $::tmp
	set get [list [need curl] -sf --compressed --unix-socket socket]
	set chan [open |[list [need node] $script socket 2>@stderr] r]
	check {[hear $chan] eq "ready"} {it is not ready}
	set work [list apply {{get} {
		check {[exec {*}$get "http://here/a?\[1-20\]" -o got; slurp got] eq [string repeat "/a?20" 1000]} {wrong answer}
	}} $get]
	check_server [pid $chan] $work
	exec kill [pid $chan]
	check {[ending $chan] eq {exit 0}} {node ended otherwise}
}
