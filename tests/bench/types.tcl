# SPDX-License-Identifier: GPL-3.0-or-later
# Which share of the bytes of servers that nobody prepared `malloc types` names, and how it knows them: of blocks that were
# recorded, with those from before the attach, and of all of them as of an attach that has seen none.

proc print_named {name m} {
	set known {}
	set bytes 0
	foreach row [live_value $m mdbg::types 300] {
		incr bytes [dict get $row bytes]
		if {[dict get $row type] ne "?"} {
			dict incr known [dict get $row how] [dict get $row bytes]
		}
	}
	set sum [expr [join [linsert [dict values $known] 0 0] +]]
	set parts [lmap {how of} [lsort -stride 2 -index 1 -integer -decreasing $known] {
		format "%s %.0f %%" $how [expr {100.0 * $of / $bytes}]
	}]
	puts [format "%-32s %8.1f MB %5.0f %%   %s" $name [expr {$bytes / 1048576.0}] [expr {100.0 * $sum / $bytes}] [join $parts ", "]]
}

proc name_types {name pid work} {
	set m [live_start -p $pid]
	uplevel 1 $work
	print_named "$name, recorded" $m
	live_end $m
	set m [live_start -p $pid]
	print_named "$name, all from before" $m
	live_end $m
}

proc bench_types {} {
	puts "\nbytes that have a type; [machine]\n"
	start_redis
	name_types redis-server $::redis {
		exec redis-benchmark -p $::port -t set,lpush,hset,zadd -n 50000 -r 50000 -d 100 -q
	}
	end_by_force $::redis
	lassign [start_postgres] bin postmaster chan
	puts $chan "CREATE TABLE t (n SERIAL PRIMARY KEY, text TEXT); SELECT pg_backend_pid();"
	name_types "postgres, a backend" [hear $chan] {
		puts $chan "INSERT INTO t (text) SELECT 'row ' || n FROM generate_series(1, 10000) AS n; SELECT count(DISTINCT md5(text)) FROM t;"
		hear $chan
	}
	end_postgres $postmaster $chan
	lassign [start_mariadb] pid ask
	name_types mariadbd $pid {
		apply $ask "INSERT INTO t (text) SELECT CONCAT('row ', seq) FROM seq_1_to_10000; SELECT COUNT(DISTINCT MD5(text)) FROM t;"
	}
	end_by_force $pid
	set t [start_command [need python3] $::here/../targets/requests.py $::build/targets/libkept.so]
	name_types python3 [pid_of $t] {
		order $t "requests 5000"
	}
	close $t
	lassign [start_nginx] pid worker
	name_types "nginx, a worker" $worker {
		get_pages 1000
	}
	end_by_force $pid
}
