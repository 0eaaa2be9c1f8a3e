# SPDX-License-Identifier: GPL-3.0-or-later
# memory account against the kernel's own sum: a process that is caught at a random moment stands still meanwhile, so that
# both are of one moment. They may differ by a page for each mapping.

proc check_account_of {pid what} {
	foreach options {--no-arm {}} {
		set m [live_start -p $pid {*}$options]
		delay [expr {int(50000 * rand())}]
		live $m interrupt
		set all [dict get [account_parts $m] all]
		set rss [rss $pid]
		set maps [regexp -all -line {$} [slurp /proc/$pid/maps]]
		live $m cont
		live_end $m
		check {abs($all - $rss) <= 4096 * $maps} {$what: all is $all, Rss $rss, in $maps mappings}
	}
}

# All targets that say that they are ready, whatever they hold and do then, or some of all kinds of them.
repeated account-of-targets 1200 {
	set programs [lsort [lmap program [glob $::build/targets/*] {expr {[file extension $program] eq "" ? $program : [continue]}}]]
	set rounds [expr {max(8, $::trials)}]
	for {set i 0; set nr 0} {$i < $rounds} {incr i} {
		set program [lindex $programs [expr {$i * [llength $programs] / $rounds}]]
		set chan [open |[list sh -c "ulimit -v 8000000; exec \"\$0\"" $program 2>@1] r+]
		chan configure $chan -buffering line
		set pid [pid $chan]
		if {![catch {hear $chan 5} line] && [string match "ready*" $line] && [is_alive $pid]} {
			check_account_of $pid [file tail $program]
			incr nr
		}
		catch {exec kill -KILL $pid}
		catch {close $chan}
	}
	note "$nr programs"
	check {$nr > $::trials / 2} {only $nr programs were ready}
}

repeated account-of-postgres 600 {
	lassign [start_postgres] bin pid chan
	puts $chan "CREATE TABLE t (n SERIAL PRIMARY KEY, text TEXT); SELECT pg_backend_pid();"
	set child [hear $chan]
	for {set i 0} {$i < max(1, $::trials / 5)} {incr i} {
		puts $chan "INSERT INTO t (text) SELECT 'row ' || n FROM generate_series(1, 20000) AS n;
			SELECT count(DISTINCT md5(text)) FROM t;"
		check_account_of $child postgres
		hear $chan
	}
	end_postgres $pid $chan
}

repeated account-of-mariadb 600 {
	lassign [start_mariadb] pid ask
	for {set i 0} {$i < max(1, $::trials / 5)} {incr i} {
		set load [exec mariadb --no-defaults -S $::tmp/data/s -N d -e "INSERT INTO t (text) SELECT CONCAT('row ', seq)
			FROM seq_1_to_20000; SELECT COUNT(DISTINCT MD5(text)) FROM t;" > $::tmp/count &]
		check_account_of $pid mariadbd
		until {![is_alive $load]}
	}
	exec kill $pid
	until {![is_alive $pid]}
}

repeated account-of-node 600 {
	set script [spit $::tmp/busy.js {
console.log('ready');
const kept = [];
setInterval(() => { kept.push(Buffer.alloc(50000, 1), 'x'.repeat(1000)); kept.splice(0, kept.length - 400); }, 1);
}]
	set t [start_command [need node] $script]
	for {set i 0} {$i < max(1, $::trials / 5)} {incr i} {
		check_account_of [pid_of $t] node
	}
	exec kill [pid_of $t]
}
