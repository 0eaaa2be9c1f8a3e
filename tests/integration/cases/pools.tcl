# SPDX-License-Identifier: GPL-3.0-or-later
# The pools of real servers, probed while they work: each is offered at the attach, its objects are named by who asked
# for them, and the server goes on. Where a library counts its blocks itself, the figures are its own.

# The functions and modules of the stacks that the pool's blocks have.
proc pool_names {m} {
	set names {}
	foreach site [live_value $m {mdbg::sites heap == user}] {
		lappend names {*}[lmap frame [live_value $m "mdbg::frames [dict get $site stack]"] {dict get $frame function}]
	}
	return [lsort -unique $names]
}

# Record a pool during work, and look.  Returns the bytes of all of its blocks that were asked for.
proc check_pool_of {pool pid work wanted} {
	mdbg -p $pid -c "status > /dev/null"
	check {$::status == 0 && [regexp -all "`probe pool $pool`" $::err] == ($pool ni {talloc sqlite})} {the offer: $::err}
	# The ends of connections may yet have to be closed, here and below.
	at_rest $pid
	set before [state $pid]
	set m [live_start -p $pid]
	live $m "probe pool $pool"
	check {[regexp -line "^$pool +yes +yes " [live $m "probe pool"]]} {$::result}
	for {set i 0} {$i < 3} {incr i} {
		{*}$work
	}
	set bytes 0
	foreach site [live_value $m {mdbg::sites heap == user}] {
		incr bytes [dict get $site totalbytes]
	}
	set names [pool_names $m]
	foreach name $wanted {
		check {[lsearch -glob $names $name] >= 0} {no $name in $names}
	}
	if {$pool in {palloc nginx apr talloc}} {
		check {[regexp -line "^Pools: .*freed with a whole pool.* may be listed as lost$" [live $m "malloc leaks"]]} {$::result}
	}
	live_end $m
	at_rest $pid
	check_state $before $pid
	{*}$work
	return $bytes
}

case pool-nginx 60 {
	lassign [start_nginx] master worker
	try {
		get_pages 1
		check_pool_of nginx $worker {get_pages 5} {ngx_http_create_request ngx_http_core_run_phases ngx_event_accept}
	} finally {
		end_nginx $master
	}
}

case pool-postgres 60 {
	lassign [start_postgres] bin pid chan
	puts $chan "SELECT pg_backend_pid();"
	set child [hear $chan]
	set work [list apply {{chan} {
		puts $chan "SELECT count(DISTINCT md5('row ' || n)) FROM generate_series(1, 5000) AS n;"
		check {[hear $chan] eq "5000"} {wrong answer}
	}} $chan]
	{*}$work
	set bytes [check_pool_of palloc $child $work {ExecInitAgg CreateExecutorState}]
	# 5,000 texts of 36 bytes each time, at least, each of which md5_text makes anew.
	check {$bytes > 3 * 5000 * 36} {$bytes bytes}
	end_postgres $pid $chan
}

case pool-apache 60 {
	need curl
	set server [need apache2]
	set modules /usr/lib/apache2/modules
	file mkdir $::tmp/apache
	set port [free_port]
	spit $::tmp/apache/page hello
	spit $::tmp/apache/conf "
		ServerRoot $::tmp/apache
		LoadModule mpm_event_module $modules/mod_mpm_event.so
		LoadModule authz_core_module $modules/mod_authz_core.so
		Listen 127.0.0.1:$port
		ServerName localhost
		PidFile $::tmp/apache/pid
		ErrorLog $::tmp/apache/log
		DocumentRoot $::tmp/apache"
	set pid [exec $server -X -f $::tmp/apache/conf > $::tmp/apache/out 2>@1 &]
	set work [list apply {{port} {
		for {set i 0} {$i < 5} {incr i} {
			check {[exec curl -s http://127.0.0.1:$port/page] eq "hello"} {another page}
		}
	}} $port]
	until {![catch {exec curl -sf http://127.0.0.1:$port/page}] || ![is_alive $pid]}
	try {
		check_pool_of apr $pid $work {ap_create_request apr_table_make ap_read_request}
	} finally {
		exec kill -TERM $pid
		until {![is_alive $pid]}
	}
}

# The library counts its blocks itself.
case pool-talloc 60 {
	spit $::tmp/users.c {
		#include <stdio.h>
		#include <string.h>
		#include <talloc.h>

		struct user { char name[40]; int number; };

		int main(void)
		{
			void *root = talloc_new(NULL), *kept[1000];
			unsigned n, at = 0;
			char line[80];

			puts("ready");
			fflush(stdout);
			while (fgets(line, sizeof(line), stdin) && strncmp(line, "quit", 4)) {
				if (sscanf(line, "make %u", &n) == 1)
					while (n-- && at < 1000)
						kept[at++] = talloc_zero(root, struct user);
				if (sscanf(line, "drop %u", &n) == 1)
					while (n-- && at)
						talloc_free(kept[--at]);
				printf("ok %zu\n", talloc_total_blocks(root));
				fflush(stdout);
			}
			return 0;
		}
	}
	skip_if {[catch {exec [need cc] -O1 -o $::tmp/users $::tmp/users.c -ltalloc}]} {libtalloc's header is not installed}
	set t [start_command $::tmp/users]
	set held [lindex [order $t "make 10"] end]
	set m [live_start -p [pid_of $t]]
	live $m "probe pool talloc"
	foreach {what left} {"make 300" 300 "drop 120" 180 "make 7" 187} {
		set total [lindex [order $t $what] end]
		set count 0
		set bytes 0
		foreach site [live_value $m {mdbg::sites heap == user}] {
			incr count [dict get $site count]
			incr bytes [dict get $site bytes]
		}
		check {$count == $left && $count == $total - $held && $bytes == 44 * $count} {$what: $count blocks, $bytes bytes; talloc has $total}
	}
	live_end $m
	order $t "drop 5"
	quit $t
}

# SQLite counts what it has given out. What it allocates for itself are blocks of malloc, and not of this pool.
case pool-sqlite 60 {
	spit $::tmp/pages.c {
		#include <sqlite3.h>
		#include <stdio.h>
		#include <string.h>

		int main(void)
		{
			void *kept[1000];
			unsigned n, at = 0;
			char line[80];

			puts("ready");
			fflush(stdout);
			while (fgets(line, sizeof(line), stdin) && strncmp(line, "quit", 4)) {
				if (sscanf(line, "make %u", &n) == 1)
					while (n-- && at < 1000)
						kept[at++] = sqlite3_malloc64(504);
				if (sscanf(line, "drop %u", &n) == 1)
					while (n-- && at)
						sqlite3_free(kept[--at]);
				if (sscanf(line, "grow %u", &n) == 1)
					for (unsigned i = 0; i < n && i < at; i++)
						kept[i] = sqlite3_realloc(kept[i], 1000);
				printf("ok %lld\n", (long long)sqlite3_memory_used());
				fflush(stdout);
			}
			return 0;
		}
	}
	skip_if {[catch {exec [need cc] -O1 -o $::tmp/pages $::tmp/pages.c -lsqlite3}]} {SQLite's header is not installed}
	set t [start_command $::tmp/pages]
	set held [lindex [order $t "make 10"] end]
	set m [live_start -p [pid_of $t]]
	check {[regexp {blocks of malloc} [live $m "probe pool sqlite"]]} {$::result}
	# The last one takes the ten from before the attach as well, of which nothing was known.
	foreach {what count older} {"make 300" 300 1 "drop 120" 180 1 "grow 60" 190 0} {
		set total [lindex [order $t $what] end]
		set is 0
		set bytes 0
		foreach site [live_value $m {mdbg::sites heap == user}] {
			incr is [dict get $site count]
			incr bytes [dict get $site bytes]
		}
		check {$is == $count && $bytes == $total - $older * $held} {$what: $is blocks, $bytes bytes; SQLite has $total}
	}
	live_end $m
	order $t "drop 5"
	quit $t
}
