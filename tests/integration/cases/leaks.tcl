# SPDX-License-Identifier: GPL-3.0-or-later
# malloc leaks: the kinds of blocks of a program that knows what it has lost.

set kinds {definite indirect possible reachable}

# The blocks of one size, by kind.
proc count_kinds {m size {how -stop}} {
	set count [dict create definite 0 indirect 0 possible 0 reachable 0]
	foreach leak [live_value $m "mdbg::leaks all $how size == $size"] {
		check {[dict get $leak bytes] == $size * [dict get $leak count]} {bytes do not fit: $leak}
		dict incr count [dict get $leak kind] [dict get $leak count]
	}
	return [dict values $count]
}

# The sums at the head of `malloc leaks`, as a dict: kind {bytes blocks}; `all` is their sum. Blocks are suppressed only
# if some are (of the loader's own there may be one).
proc leak_sums {text} {
	set sums [dict create suppressed {0 0}]
	foreach {- kind bytes blocks} \
		[regexp -all -inline -line {^ +(\w+)(?: lost| reachable| of them)?\.+ (\d+) bytes in (\d+) blocks$} $text] {
		dict set sums $kind [list $bytes $blocks]
	}
	check {[dict keys $sums] eq {suppressed definitely indirectly possibly still all}} {the summary is not whole: $text}
	return $sums
}

# The kinds add up to what is held.
proc check_sums {m} {
	set sums [leak_sums [live $m "malloc leaks"]]
	foreach i {0 1} {
		set sum 0
		foreach kind {suppressed definitely indirectly possibly still} {
			incr sum [lindex [dict get $sums $kind] $i]
		}
		check {$sum == [lindex [dict get $sums all] $i]} {the sums do not add up: $sums}
	}
	return $sums
}

# What is said below the sums: of those possibly lost, {bytes blocks} that are most likely in use, and the others.
proc likely_sums {text} {
	set figures [regexp -all -inline -line {^    of those possibly lost, (\d+) bytes in (\d+) blocks are (?:most likely in use \(|not known to be$)} $text]
	return [lmap {- bytes blocks} $figures {list $bytes $blocks}]
}

proc check_likely_sums {text} {
	lassign [likely_sums $text] likely others
	lassign [dict get [leak_sums $text] possibly] bytes blocks
	check {[lindex $likely 0] + [lindex $others 0] == $bytes && [lindex $likely 1] + [lindex $others 1] == $blocks} \
		{$likely and $others are not $bytes bytes in $blocks blocks: $text}
	return [list [lindex $likely 1] [lindex $others 1]]
}

# Of the blocks that are possibly lost at least this share is known to be in use. Returns the answer.
proc check_likely {m share} {
	set text [live $m "malloc leaks possible"]
	note [string range $text 0 1500]
	lassign [check_likely_sums $text] likely others
	check {$likely >= $share * ($likely + $others)} {only $likely are said to be in use, and $others others are not: $text}
	return $text
}

by_both case leaks-kinds 60 {
	start_watched {t before m} leaks
	set cases [ask_list $t names]
	check {[llength $cases] >= 25} {only [llength $cases] cases}
	foreach line $cases {
		order $t "case [lindex $line 0]"
	}
	set wrong {}
	foreach line $cases {
		set got [count_kinds $m [lindex $line 1]]
		if {$got ne [lrange $line 2 end]} {
			lappend wrong "[lindex $line 0]: $got and not [lrange $line 2 end]"
		}
	}
	check {$wrong eq {}} {[join $wrong {; }]}
	check_sums $m
	finish $t $m
}

# What malloc gives for a size. Of a mapping glibc takes 16 bytes for itself, and 24 since 2.43.
proc usable {size {m ""}} {
	if {$size > 200000} {
		regexp {glibc ([0-9.]+)} [dict get [live_value $m mdbg::malloc] algorithm] -> version
		return [expr {(($size + 16 + 4095) & ~4095) - ([package vcompare $version 2.43] < 0 ? 16 : 24)}]
	}
	return [expr {(($size + 8 + 15) & ~15) - 8}]
}

# Blocks from before the attach have kinds, too. Their size is the usable one: what points behind their end may be inside,
# and free chunks behind them were once named by what is their last word.
case leaks-before-the-attach 60 {
	set t [start leaks]
	set cases [ask_list $t names]
	foreach line $cases {
		order $t "case [lindex $line 0]"
	}
	set m [live_start -p [pid_of $t]]
	set text [live $m "malloc leaks all"]
	check {![regexp {taken for roots|damaged} $text]} {heaps are taken for roots: $text}
	set wrong {}
	foreach line $cases {
		lassign [count_kinds $m [usable [lindex $line 1] $m]] definite indirect possible reachable
		lassign $line name size want_definite want_indirect want_possible want_reachable
		# A library's block may have the same size.
		if {$name ni {behind_end unaligned} && ($definite != $want_definite || $indirect != $want_indirect ||
				$possible != $want_possible || $reachable < $want_reachable)} {
			lappend wrong "$line: $definite $indirect $possible $reachable"
		}
	}
	check {$wrong eq {}} {[join $wrong {; }]}
	check_sums $m
	finish $t $m
}

# What a forked process adds to the heap that it has from its parent is a mapping of its own.
case leaks-in-a-forked-process 60 {
	set t [start losses keep fork]
	set child [lindex [slurp /proc/[pid_of $t]/task/[pid_of $t]/children] 0]
	note [lsearch -all -inline [split [slurp /proc/$child/maps] "\n"] {*\[heap\]}]
	set before [state $child]
	set m [live_start -p $child]
	set text [live $m "malloc check"]
	check {[regexp {1 heaps, \d+ chunks: no damage found} $text]} {$text}
	lassign [count_kinds $m [usable 9001]] definite indirect possible reachable
	check {"$definite $indirect $possible $reachable" eq {0 0 0 100}} {not the 100 that it keeps: $definite $indirect $possible $reachable}
	check_sums $m
	live_end $m
	check_state $before $child
	finish $t
}

# Threads at work all the time lose nothing: whatever they are doing when they are stopped.
by_both repeated leaks-none-in-threads-at-work 60 {
	set t [start exact -t 8 {*}$::rest]
	set before [state [pid_of $t]]
	order $t go
	set m [live_start -p [pid_of $t]]
	order $t "more [work 100 10]"
	for {set i 0} {$i < $::trials} {incr i} {
		set lost [live_value $m "mdbg::leaks definite indirect"]
		if {$lost ne {}} {
			note [live $m "malloc leaks definite"]
		}
		check {$lost eq {}} {lost: [lrange $lost 0 3]}
	}
	live $m interrupt
	set sums [check_sums $m]
	set active [figure [live $m malloc] "allocations currently active"]
	check {[lindex [dict get $sums all] 1] == $active} {$sums, but $active blocks are held}
	live $m cont
	live_end $m
	order $t pause
	finish $t {} $before
}

# How many blocks libleaker, or libdrip, has lost.
proc leaker_count {} {
	set chan [open $::tmp/leaker rb]
	set word [read $chan 8]
	close $chan
	binary scan $word w count
	return $count
}

# A leak in a program that nobody prepared: one block in a thousand reads, and each is found.
case leaks-in-python 60 {
	set python [need python3]
	spit $::tmp/leaker [string repeat "\0" 8]
	set program {
import os, sys
zero = os.open("/dev/zero", os.O_RDONLY)
kept = []
print("ready", os.getpid(), flush=True)
for line in sys.stdin:
    for i in range(int(line)):
        kept.append(os.read(zero, 1 + i % 900))
        if len(kept) > 3000:
            del kept[::2]
    print("ok", flush=True)
}
	set t [open |[list env LEAKER_FILE=$::tmp/leaker LD_PRELOAD=$::build/targets/libleaker.so $python -c $program \
		2>@stderr] r+]
	chan configure $t -buffering line
	set pid [lindex [hear $t] 1]
	order $t 5500
	set m [live_start -p $pid]
	set before [leaker_count]
	order $t 40000
	set lost [expr {[leaker_count] - $before}]
	check {$lost >= 40} {only $lost were lost}
	# What it has said was read before it came back to wait for more: a register may still hold what was lost last.
	at_rest $pid
	set found 0
	foreach leak [live_value $m "mdbg::leaks definite size == 1777"] {
		check {[string match *leak_one* [live_value $m "mdbg::frames [dict get $leak stack]"]]} {not of libleaker: $leak}
		incr found [dict get $leak count]
	}
	check {$found == $lost} {$found are found, and $lost were lost}
	# Those from before the attach, by their usable size.
	set found 0
	foreach leak [live_value $m "mdbg::leaks definite size == [usable 1777]"] {
		incr found [expr {[dict get $leak preattach] * [dict get $leak count]}]
	}
	check {$found == $before} {$found of before the attach are found, and $before were lost}
	set sums [check_sums $m]
	set active [figure [live $m malloc] "allocations currently active"]
	check {[lindex [dict get $sums all] 1] == $active} {$sums, but $active blocks are held}
	note $sums
	live_end $m
	close $t
}

# The environment of a program of which each thousandth malloc loses a block; more to preload behind that. So large a block stays
# a mapping of its own, also after others have been freed.
proc dripping {args} {
	spit $::tmp/leaker [string repeat "\0" 8]
	return [list env LEAKER_FILE=$::tmp/leaker MALLOC_MMAP_THRESHOLD_=131072 LD_PRELOAD=[join [list $::build/targets/libdrip.so {*}$args] :]]
}

# The leaks of one size: how many are definite, how many are not, as a stale word points to them. All of these have no
# stack, or that of leak_one, as must be.
proc drips {m size preattach} {
	lassign {0 0} definite pointed
	foreach leak [live_value $m "mdbg::leaks definite possible reachable size == $size"] {
		check {[dict get $leak preattach] == $preattach} {of size $size: $leak}
		set names [lmap frame [live_value $m "mdbg::frames [dict get $leak stack]"] {dict get $frame function}]
		check {$preattach || [string match "leak_one*" [lindex $names 1]]} {lost elsewhere: $names}
		incr [expr {[dict get $leak kind] eq "definite" ? "definite" : "pointed"}] [dict get $leak count]
	}
	return [list $definite $pointed]
}

# Attach in the middle of what work is asked for; when it is done, by rest, as many are found as were lost, by where: those
# from after the attach have their site, the others are as many as were lost up to it. A word that was left behind in the
# program's memory may point to where the mapping of one now is; mdbg can name that word.
proc check_drips {pid work rest} {
	{*}$work
	set before [leaker_count]
	set m [live_start -p $pid]
	set attached [leaker_count]
	{*}$rest
	live $m interrupt
	set lost [leaker_count]
	lassign [drips $m [usable 300001 $m] 1] definite pointed
	lassign [drips $m 300001 0] definite_since pointed_since
	set early [expr {$definite + $pointed}]
	set since [expr {$definite_since + $pointed_since}]
	incr definite $definite_since
	incr pointed $pointed_since
	note "$before to $attached lost before the attach, $lost in all: $early and $since found, $pointed by a stale word"
	check {$early >= $before && $early <= $attached} {$early are from before the attach, where $before to $attached were lost}
	check {$since > 0 && $early + $since == $lost} {$early and $since are found, and $lost were lost}
	check {$definite >= 0.9 * $lost} {$definite of $lost are definite}
	set named 0
	foreach block [live_value $m "mdbg::allocations size >= 300001 and size <= [usable 300001 $m]"] {
		set named [expr {$named + [regexp {\d+ pointers? to} [live $m "malloc find [dict get $block address]"]]}]
	}
	check {$named >= $pointed} {$pointed are not definite, but of $named somebody is known to point to them}
	check_sums $m
	live $m cont
	live_end $m
}

by_both case leaks-dripping-in-sqlite 60 {
	set chan [open |[list {*}[dripping] [need stdbuf] -oL [need sqlite3] :memory: 2>@stderr] r+]
	chan configure $chan -buffering line
	# The shell's pages are read ahead of what it answers.
	set some [string repeat "SELECT length(printf('%d %s', 1, hex(2))) WHERE 0;\n" 300]
	puts $chan "$some SELECT 'some';"
	check {[hear $chan] eq "some"} {no answer}
	check_drips [pid $chan] [list puts $chan "$some SELECT 'more';"] [list apply {{chan some} {
		puts $chan "$some SELECT 'enough';"
		check {[hear $chan] eq "more" && [hear $chan] eq "enough"} {no answer}
	}} $chan $some]
	puts $chan ".quit"
	check {[ending $chan] eq {exit 0}} {sqlite3 ended otherwise}
}

by_both case leaks-dripping-in-python 60 {
	set program {
import sys
print("ready", flush=True)
for line in sys.stdin:
    kept = {str(i): [i] * 3 for i in range(2000)}
    print("ok", flush=True)
}
	set python [system_python]
	set chan [open |[list {*}[dripping] PYTHONMALLOC=malloc $python -c $program 2>@stderr] r+]
	chan configure $chan -buffering line
	check {[hear $chan] eq "ready"} {it is not ready}
	order $chan go
	check_drips [pid $chan] [list tell $chan go] [list apply {{chan} {
		check {[hear $chan] eq "ok"} {no answer}
		order $chan go
	}} $chan]
	chan close $chan write
	check {[ending $chan] eq {exit 0}} {python ended otherwise}
}

# Debian's is linked with jemalloc: libc's own functions come first, to whose malloc the leaks are.
by_both case leaks-dripping-in-redis 60 {
	start_redis {*}[dripping [lindex [exec [need ldd] [need redis-server]] [expr {[lsearch [exec ldd [need redis-server]] libc.so.6] + 2}]]]
	set some [list exec redis-benchmark -p $::port -t set,lpush -d 100 -r 10000 -c 10 -q -n [work 1000 400] > $::tmp/load.log]
	check_drips $::redis [list {*}$some &] [list apply {{some} {
		{*}$some
	}} $some]
	check {[redis_cli PING] eq "PONG"} {the server does not answer}
	end_redis
}

by_both case leaks-dripping-in-nginx 60 {
	lassign [start_nginx {*}[dripping]] master worker
	set some [list get_pages [work 1000 500]]
	try {
		check_drips $worker $some $some
		get_pages 1
	} finally {
		end_nginx $master
	}
}

# What is old and reachable is stale; what is lost, freed or young is not.
case leaks-stale 60 {
	start_watched {t m} leaks
	foreach name {moved lost} {
		order $t "case $name"
	}
	# Older than `then` is what has been made, younger by a gap what will be. An answer that takes longer than the gap may take the
	# young for old, and is asked for again.
	live $m [string map {"\n" ";"} {
		set then [clock microseconds]
		proc stale {command} {
			while 1 {
				set begun [clock microseconds]
				set ::age [expr {($begun - $::then) / 1e6}]
				set answer [uplevel #0 [string map [list AGE ${::age}s] $command]]
				if {[clock microseconds] - $begun < $::gap} break
			}
			return $answer
		}
	}]
	live $m "wait [expr {0.2 * $::slower}]; set gap \[expr {\[clock microseconds] - \$then}]"
	order $t "case root"
	live $m "stale {malloc stale AGE > $::tmp/stale}"
	set text [slurp $::tmp/stale]
	check {[regexp -line {^#\d+  8331 bytes in 1 blocks; of 1 ever recorded there 0 \(0\.0 %\) were freed; oldest } $text]} \
		{what is old is not there: $text}
	set sites [live_value $m "stale {mdbg::stale AGE}"]
	set site [lindex [lsearch -all -inline -index 0 [lmap site $sites {list [dict get $site bytes] $site}] 8331] 0 1]
	check {[dict get $site count] == 1 && [dict get $site total] == 1 && [dict get $site freed] == 0 &&
		[dict get $site oldest] > [live_value $m {set age}]} {not so for Tcl: $sites}
	check {[lsearch [lmap site $sites {dict get $site bytes}] 8043] < 0} {lost blocks are listed for Tcl: $sites}
	check {[string match {*is no*} [live_error $m "mdbg::stale soon"]]} {no word of what is wrong for Tcl}
	check {![regexp {  (8043|8011) bytes} $text]} {lost or young blocks are listed: $text}
	check {[string match {*is no*} [live_error $m "malloc stale soon"]]} {no word of what is wrong}
	finish $t $m
}

# A server under load loses nothing, also where its allocator (Debian's has jemalloc) cannot be walked.
case leaks-in-redis 120 {
	start_redis
	before_keys
	start_load
	until {[rounds] > 0} 60
	set before [redis_state]
	set m [live_start -p $::redis]
	set loops [rounds]
	until {[rounds] > $loops + 2} 60
	for {set i 0} {$i < 10} {incr i} {
		check_sums $m
	}
	live $m interrupt
	set text [live $m "malloc leaks definite"]
	set sums [leak_sums $text]
	set figures [live $m malloc]
	# Its strings are sds: all of them are pointed to behind their headers.
	set strings [check_likely $m 0.98]
	check {[regexp -line { in (\d+) blocks are possibly lost, \1 of them most likely in use: pointers to byte \d+, as sds strings have$} $strings]} \
		{no sds strings: $strings}
	live_all $m cont detach
	live_end $m
	check {[redis_state] eq $before} {not as before}
	set active [figure $figures "allocations currently active"]
	check {[lindex [dict get $sums all] 1] == $active} {$sums, but $active blocks are held}
	check {[dict get $sums definitely] eq {0 0}} {lost: $text}
	end_load
	check_before_keys
	end_redis
}

# The blocks of each size by kind, as valgrind's memcheck has them for the cases all at once.
proc valgrind_kinds {valgrind} {
	set kinds [dict create]
	catch {exec env DEBUGINFOD_URLS= $valgrind --leak-check=full --show-leak-kinds=all --leak-resolution=high \
		--log-file=$::tmp/valgrind $::build/targets/leaks -a >@stdout}
	set text [string map {, {}} [slurp $::tmp/valgrind]]
	check {[string match "*LEAK SUMMARY*" $text]} {valgrind has not come to its end: [string range $text end-400 end]}
	foreach {- all direct blocks kind} [regexp -all -inline -line \
		{^==\d+== (\d+) (?:\((\d+) direct \d+ indirect\) )?bytes in (\d+) blocks are (\w+)} $text] {
		set size [expr {($direct eq "" ? $all : $direct) / $blocks}]
		set at [lsearch {definitely indirectly possibly still} $kind]
		set count [expr {[dict exists $kinds $size] ? [dict get $kinds $size] : {0 0 0 0}}]
		dict set kinds $size [lreplace $count $at $at [expr {[lindex $count $at] + $blocks}]]
	}
	return $kinds
}

# mdbg has what the target says (leaks-kinds); where memcheck has something else docs/leaks.md says why.
case leaks-as-valgrind 120 {
	set valgrind [need valgrind]
	set t [start leaks]
	set kinds [valgrind_kinds $valgrind]
	set differ {}
	foreach line [ask_list $t names] {
		lassign $line name size
		set got [expr {[dict exists $kinds $size] ? [dict get $kinds $size] : {0 0 0 0}}]
		if {$got ne [lrange $line 2 end]} {
			lappend differ $name $got
		}
	}
	finish $t
	note $differ
	check {$differ eq {read_only {1 0 0 0}}} {other differences from memcheck than known: $differ}
}

# Search again and again while work goes on; then still, where all that is held must be in one of the sums, and nothing
# be lost.
proc check_none_lost {m work} {
	for {set i 0} {$i < 5} {incr i} {
		{*}$work
		check_sums $m
	}
	live $m interrupt
	set sums [check_sums $m]
	set active [figure [live $m malloc] "allocations currently active"]
	set text [live $m "malloc leaks definite indirect"]
	live $m cont
	note $text
	check {[lindex [dict get $sums all] 1] == $active} {$sums, but $active blocks are held}
	check {[dict get $sums definitely] eq {0 0} && [dict get $sums indirectly] eq {0 0}} {lost: $text}
	check {[lindex [dict get $sums still] 1] > 0} {nothing is reachable: $text}
}

case leaks-in-sqlite 60 {
	set chan [open |[list [need stdbuf] -oL [need sqlite3] :memory: 2>@stderr] r+]
	chan configure $chan -buffering line
	puts $chan "CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT); SELECT 'ready';"
	check {[hear $chan] eq "ready"} {it is not ready}
	set m [live_start -p [pid $chan]]
	puts $chan {WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 3000)
		INSERT INTO t(text) SELECT 'row ' || hex(zeroblob(100)) || x FROM c; SELECT count(*) FROM t;}
	check {[hear $chan] == 3000} {no answer}
	check_none_lost $m [list puts $chan {UPDATE t SET text = text || 'x' WHERE n % 3 = 0; SELECT sum(length(text)) > 0 FROM t;}]
	# The header of a page of the cache is behind it.
	set pages [check_likely $m 0.85]
	check {[regexp {most likely in use: pointers to byte \d{4}, at a header behind the data, as SQLite.s pages have\n} $pages]} {no pages: $pages}
	live_end $m
	for {set i 0} {$i < 5} {incr i} {
		check {[hear $chan] == 1} {wrong answer}
	}
	check {[ending $chan] eq {exit 0}} {sqlite3 ended otherwise}
}

# A server of pages that it compresses, started by way of these words (env ...). Returns the numbers of its master and its worker.
proc start_nginx {args} {
	set nginx [need nginx]
	need curl
	cd $::tmp	;# the path of a socket must not be long
	spit $::tmp/page [string repeat "a page of a server\n" 5000]
	spit $::tmp/nginx.conf "
		daemon off; user root; worker_processes 1; pid $::tmp/nginx.pid; error_log $::tmp/error.log;
		events { worker_connections 64; }
		http {
			access_log off; keepalive_requests 100000;
			server { listen unix:socket; gzip on; gzip_types *; root $::tmp; }
		}"
	set master [exec {*}$args $nginx -p $::tmp -c $::tmp/nginx.conf > $::tmp/nginx.log 2>@1 &]
	until {![catch {get_pages 1}]}
	return [list $master [lindex [slurp /proc/$master/task/$master/children] 0]]
}

# So often, on one connection.
proc get_pages {times} {
	exec curl -sf --compressed --unix-socket socket -o got "http://here/page?\[1-$times\]"
	check {[slurp got] eq [slurp page]} {another page: [string range [slurp got] 0 100]}
}

proc end_nginx {master} {
	exec kill -QUIT $master
	until {![is_alive $master]}
}

case leaks-in-nginx 60 {
	lassign [start_nginx] master worker
	try {
		set m [live_start -p $worker]
		check_none_lost $m {get_pages 1}
		live_end $m
		get_pages 1
		# A configuration lies in its own pool, into whose first block variables point.
		set m [live_start -p $master]
		set pools [check_likely $m 0.5]
		check {[regexp {\d+ blocks are an allocator's pools, \d+ blocks are pointed to by these} $pools]} {no pools: $pools}
		live_end $m
		get_pages 1
	} finally {
		end_nginx $master
	}
}

# The leak records of blocks of one size, as a dict: kind, and the sum of each of these figures.
proc of_size {m size kind} {
	set sum {count 0 likelycount 0 stackcount 0 offsets {} heldby {}}
	foreach leak [live_value $m "mdbg::leaks $kind size == $size"] {
		foreach key {count likelycount stackcount} {
			dict incr sum $key [dict get $leak $key]
		}
		foreach key {offsets heldby} {
			dict lappend sum $key {*}[dict get $leak $key]
		}
	}
	return $sum
}

# Inner pointers that programs keep on purpose are counted apart, whether the blocks were recorded or not; one to somewhere in a
# block is not among them, nor are those of few blocks, or to many places.
by_both case leaks-inner-pointers 60 {
	foreach when {before after} {
		set t [start stale]
		set size [expr {$when eq "before" ? "usable" : "expr"}]
		if {$when eq "after"} {
			set m [live_start -p [pid_of $t]]
		}
		foreach what {{strings 100} {nodes 50} one pool {wild 40} {few 7}} {
			order $t $what
		}
		if {$when eq "before"} {
			set m [live_start -p [pid_of $t]]
		}
		set text [live $m "malloc leaks"]
		note $text
		check_likely_sums $text
		foreach {bytes count likely offsets} {6043 100 100 24 12047 50 50 40 18053 50 50 {} 6067 1 0 {} 24073 1 1 {} 24119 1 1 {}
				6091 40 0 {} 12107 7 0 {}} {
			set is [of_size $m [$size $bytes] possible]
			check {[dict get $is count] == $count && [dict get $is likelycount] == $likely && [dict get $is offsets] eq $offsets} \
				{$when: of $bytes bytes there should be $count $likely $offsets: $is}
		}
		check {[live_value $m "mdbg::leaks definite"] eq {}} {something is lost: $::result}
		if {$when eq "after"} {
			check {[regexp -line {^#\d+  604300 bytes in 100 blocks are possibly lost, 100 of them most likely in use: pointers to byte 24$} $text]} {$text}
		}
		finish $t $m
	}
}

# A block that only a word of a stack holds is reachable, and that word is named: one that is dead (no search by words can know
# that), and one that is a variable. What data holds as well is not among them. A stack of a thread that has ended holds nothing.
by_both case leaks-on-stacks 60 {
	foreach how {-stop -snapshot} {
		set t [start stale]
		set before [state [pid_of $t]]
		order $t alive
		set m [live_start -p [pid_of $t]]
		foreach what {{strings 20} dead ended} {
			order $t $what
		}
		set text [live $m "malloc leaks reachable $how"]
		note $text
		foreach {size where} {6007 wait_in_dead_frame 6029 wait_with_variable} {
			set size [expr {$size == 6029 ? [usable $size] : $size}]
			set is [of_size $m $size reachable]
			check {[dict get $is count] == 1 && [dict get $is stackcount] == 1} {$size bytes: $is}
			set holder [lindex [dict get $is heldby] 0]
			check {[dict get $holder kind] eq "stack" && [dict get $holder thread] == [pid_of $t]} {$size bytes: $holder}
			check {[dict get $holder block] != 0 && [dict get $holder place] != 0} {$size bytes: $holder}
			set line "stack of thread [pid_of $t], in $where\\+0x"
			check {[regexp -line "^ +0x\[0-9a-f\]{16} +$line" $text]} {$size bytes are not held by $where: $text}
		}
		check {[dict get [of_size $m 6037 definite] count] == 1} {6037 bytes of a thread that has ended: $::result}
		# What hangs on the first of two is held by the same word.
		check {[dict get [of_size $m 6011 reachable] stackcount] == 1} {6011 bytes: $::result}
		check {[regexp -line { in wait_in_dead_frame\+.*: 12018 bytes in 2 blocks, by byte 0 of 0x} $text]} {not the two: $text}
		check {[regexp -line {^    (\d+) bytes in (\d+) blocks that are not lost hang on words of stacks and registers alone; such a word may be a variable, or a dead copy of one:$} $text -> bytes blocks]} {$text}
		set sum 0
		foreach leak [live_value $m "mdbg::leaks possible reachable"] {
			incr sum [dict get $leak stackbytes]
		}
		check {$sum == $bytes && $blocks >= 3} {$sum in records, $bytes in all}
		check_sums $m
		# They are freed: nothing was lost, and nothing hangs on a word of theirs.
		orders $t again again
		check {[dict get [of_size $m 6007 all] count] == 0} {still there: $::result}
		finish $t $m $before
	}
}

# At the end of a process, too: a walk leads through exit, whose caller nothing returns to, to the functions above it.
by_both case leaks-on-stacks-at-the-end 60 {
	start_watched {t m} stale
	live $m "set leaks-at-end on"
	order $t based
	tell $t exit
	live $m "wait exit"
	set text [live $m "malloc leaks reachable"]
	note $text
	foreach {size where} {6053 exit_in_place 6059 wait_in_based_frame} {
		check {[dict get [of_size $m $size reachable] stackcount] == 1} {$size bytes: $::result}
		set line "stack of thread [pid_of $t], in $where\\+0x\[0-9a-f\]+.*: $size bytes in 1 blocks"
		check {[regexp -line "^ +0x\[0-9a-f\]{16} +$line" $text]} {$size bytes are not held by $where: $text}
	}
	live_end $m
	check {[ending $t] eq {exit 0}} {not its own status}
}
