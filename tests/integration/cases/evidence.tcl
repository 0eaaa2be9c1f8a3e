# SPDX-License-Identifier: GPL-3.0-or-later
# malloc leaks: what makes a block that is possibly lost one that is in use.

# The verdict of a search, as a dict: lost, inuse and unknown, in bytes and blocks.
proc leak_verdict {m} {
	return [live_value $m {mdbg::leaks possible -about is; set is}]
}

# Rings of shared_ptr are lost, and stale words point into them where each of their owners does: in a frame, in a block that is
# lost, and in one that is in use. None of that makes them used.
by_both case evidence-lost-rings 60 {
	foreach order {lose watch} {
		foreach when {before after} {
			set t [start rings]
			if {$when eq "before"} {
				order $t "$order 20"
			}
			set m [live_start -p [pid_of $t]]
			if {$when eq "after"} {
				order $t "$order 20"
			}
			set text [live $m "malloc leaks"]
			note $text
			set is [leak_verdict $m]
			check {[regexp {\n    lost\.+ (\d+) bytes in (\d+) blocks: \d+ bytes directly, \d+ bytes through these\n    in use by evidence\.+ (\d+) bytes in \d+ blocks\n    not known\.+ (\d+) bytes in (\d+) blocks\n} $text -> lost - used unknown]} \
				{no verdict: $text}
			check {[dict get $is lost] == $lost && [dict get $is inuse] == $used && [dict get $is unknown] == $unknown} {$is: $text}
			if {$when eq "after"} {
				set count 0
				foreach leak [live_value $m "mdbg::leaks all function == make_session*"] {
					check {[dict get $leak likelycount] == 0 && [dict get $leak kind] ne "reachable"} {$leak}
					incr count [dict get $leak count]
				}
				check {$count == 80} {$count blocks of rings: $text}
			}
			check {[dict get $is lostcount] + [dict get $is unknowncount] >= 80} {$is: $text}
			finish $t $m
		}
	}
}

# One word leads to a table, behind its entries, and to all that it holds.
by_both case evidence-hash-table 60 {
	foreach when {before after} {
		set t [start rings]
		set size 5003
		if {$when eq "before"} {
			order $t "table 100"
			set size [usable 5003]
		}
		set m [live_start -p [pid_of $t]]
		if {$when eq "after"} {
			order $t "table 100"
		}
		set is [of_size $m $size possible]
		note [live $m "malloc leaks"]
		check {[dict get $is count] == 100 && [dict get $is likelycount] == 100} {$when: $is}
		check {[regexp {pointers to byte 1024, as hash tables of Rust have} [live $m "malloc leaks possible size == [expr {$when eq "before" ? [usable 1168] : 1168}]"]]} {$::result}
		set verdict [leak_verdict $m]
		check {[dict get $verdict inuse] > 20 * ([dict get $verdict lost] + [dict get $verdict unknown])} {$verdict}
		finish $t $m
	}
}

# A library, preloaded, that loses 100 blocks of a size of its own when the program begins.
proc preload_planted {} {
	spit $::tmp/planted.c {
		#include <stdlib.h>

		static void *volatile last;

		__attribute__((constructor)) static void plant(void)
		{
			for (int i = 0; i <= 100; i++)
				last = malloc(21013);
		}
	}
	exec [need cc] -shared -fPIC -o $::tmp/planted.so $::tmp/planted.c
	set ::env(LD_PRELOAD) $::tmp/planted.so
}

# Over 90 % of what a healthy server possibly loses is in use by evidence, by blocks and by bytes, and what was planted is found, from
# before the attach. (A dead word may point into a planted block.)
proc check_server_evidence {pid work} {
	set planted "size >= 21013 and size <= 24576"
	unset ::env(LD_PRELOAD)
	{*}$work
	set m [live_start -p $pid]
	{*}$work
	note [live $m "malloc leaks"]
	foreach of {count bytes} {
		set unknown 0
		set likely 0
		foreach {filter sign} [list "size > 0" 1 $planted -1] {
			foreach leak [live_value $m "mdbg::leaks possible $filter"] {
				incr likely [expr {$sign * [dict get $leak likely$of]}]
				incr unknown [expr {$sign * ([dict get $leak $of] - [dict get $leak likely$of])}]
			}
		}
		check {$unknown <= ($unknown + $likely) / 10} {of what is possibly lost ($of), $likely are in use by evidence, $unknown are not known}
	}
	set count 0
	foreach leak [live_value $m "mdbg::leaks definite $planted"] {
		incr count [dict get $leak count]
	}
	check {$count >= 95 && $count <= 105} {$count of 100 planted blocks are lost}
	live_end $m
	{*}$work
}

case evidence-in-redis 60 {
	preload_planted
	start_redis
	check_server_evidence $::redis [list redis_cli EVAL {for i=1,20000 do redis.call('SET','key:'..i,'value:'..i) end} 0]
	end_redis
}

case evidence-in-postgres 60 {
	preload_planted
	lassign [start_postgres] bin pid chan
	puts $chan "SELECT pg_backend_pid();"
	check_server_evidence [hear $chan] [list apply {{chan} {
		puts $chan "SELECT count(DISTINCT md5(n::text)) FROM generate_series(1, 1000) AS n;"
		check {[hear $chan] eq "1000"} {wrong answer}
	}} $chan]
	end_postgres $pid $chan
}

case evidence-in-mariadb 60 {
	preload_planted
	lassign [start_mariadb] pid ask
	check_server_evidence $pid [list apply {{ask} {
		check {[apply $ask "INSERT INTO t (text) SELECT CONCAT('row ', seq) FROM seq_1_to_1000; SELECT COUNT(*) > 999,
			COUNT(DISTINCT MD5(text)) FROM t;"] eq "1\t1000"} {wrong answer}
	}} $ask]
	exec kill $pid
	until {![is_alive $pid]}
}
