# SPDX-License-Identifier: GPL-3.0-or-later
# malloc diff with exports to SQLite: of the same process, of one that was restarted, of another build; and exports of
# an earlier moment.

# {grown shrunk build-id names only} of the last lines of `malloc diff FILE`.
proc diff_file_ends {text} {
	check {[regexp -line {^matched by build-id and offset: (\d+) sites; by names: (\d+) sites; only in one: (\d+) sites$} \
		$text -> builds names only]} {it is not said how: [string range $text end-400 end]}
	return [concat [moments_ends $text] $builds $names $only]
}

# {bytes count} of the two lines at the start.
proc diff_file_totals {text} {
	check {[regexp {\n    from [^\n]*: (\d+) bytes in (\d+) blocks\n    to   [^\n]*: (\d+) bytes in (\d+) blocks\n} $text -> a b c d]} \
		{no totals: [string range $text 0 400]}
	return [list $a $b $c $d]
}

# Grown less shrunk is the difference of the totals; returns the ends.
proc check_diff_file {text} {
	set ends [diff_file_ends $text]
	lassign $ends grown shrunk
	lassign [diff_file_totals $text] from - to -
	check {$grown - $shrunk == $to - $from} {grown $grown, shrunk $shrunk, but from $from to $to}
	return $ends
}

# {BYTES COUNT} of each stack that an export of the difference has as pprof, and {BYTES} as folded; sorted.
proc exported_changes {m words} {
	live $m "export pprof $::tmp/changes.pb.gz diff $words; export folded $::tmp/changes.folded diff $words"
	set raw [exec env HOME=$::tmp PPROF_TMPDIR=$::tmp [need go] tool pprof -raw $::tmp/changes.pb.gz 2>@1]
	set pprof [lmap {- bytes count} [regexp -all -inline -line {^ +(-?\d+) +(-?\d+)(?: +-?\d+ +-?\d+)?: [0-9 ]+$} $raw] {
		if {$bytes == 0 && $count == 0} {
			continue
		}
		list $bytes $count
	}]
	set folded [lmap {- from to} [regexp -all -inline -line { (\d+) (\d+)$} [slurp $::tmp/changes.folded]] {expr {$to - $from}}]
	return [list [lsort $pprof] [lsort $folded]]
}

# At work and stopped at random: an export has what a mark of the same stop has.
by_both case diff-file-is-as-a-mark 120 {
	start_watched {t before m} exact -t 3 {*}$::rest
	need_format $m sqlite
	order $t go
	set moments [expr {min(30, 3 * $::trials)}]
	for {set i 0} {$i < $moments} {incr i} {
		order $t "more [expr {1 + int(rand() * [work 300 30])}]"
		live $m "interrupt; mdbg::mark t$i"
		set allocated($i) [live_value $m "dict get \[mdbg::malloc] allocbytes"]
		live $m "export sqlite $::tmp/t$i.db"
		set j [expr {int(rand() * $i)}]
		foreach {from to} [list t$j now t$j t$i t$i t$j] {
			set files [lmap word [list $from $to] {expr {$word eq "now" ? "now" : "$::tmp/$word.db"}}]
			set want [live_value $m "lsort \[lmap c \[mdbg::diff $from $to] {list \[dict get \$c bytes] \[dict get \$c count]}]"]
			set got [live_value $m "lsort \[lmap c \[mdbg::diff $files] {list \[dict get \$c bytes] \[dict get \$c count]}]"]
			check {$got eq $want} {moment $i, $from to $to: [string range $got 0 200], not [string range $want 0 200]}
		}
		set ends [check_diff_file [live $m "malloc diff $::tmp/t$j.db"]]
		check {[lrange $ends 0 1] eq [moments_ends [live $m "malloc diff t$j"]]} {the sums: $ends}
		check {[lindex $ends 2] > 5 && [lindex $ends 3] == 0} {matched: $ends}
		live $m cont
	}
	# The difference is the same in a file, of marks and of files.
	foreach words [list "t0 t$i-" "$::tmp/t0.db $::tmp/t$i-.db"] {
		set words [string map [list t$i- t[expr {$i - 1}]] $words]
		set want [live_value $m "lsort \[lmap c \[mdbg::diff $words] {list \[dict get \$c bytes] \[dict get \$c count]}]"]
		set got [exported_changes $m $words]
		check {[lindex $got 0] eq $want} {$words: [string range $got 0 200], not [string range $want 0 200]}
		check {[lindex $got 1] eq [lsort [lmap change $want {lindex $change 0}]]} {$words, folded: [string range $got 0 400]}
	}
	# What was allocated between is known of marks.
	live $m "export folded $::tmp/changes.folded diff t0 t[expr {$i - 1}] sort total"
	set sum 0
	foreach {- from to} [regexp -all -inline -line { (\d+) (\d+)$} [slurp $::tmp/changes.folded]] {
		incr sum [expr {$to - $from}]
	}
	set want [expr {$allocated([expr {$i - 1}]) - $allocated(0)}]
	# A stop may be inside a call whose block is counted and taken back (log/log_totals.h).
	check {abs($sum - $want) <= $want / 100} {$sum bytes allocated, not $want}
	live $m "export folded $::tmp/changes.folded diff t0 now limit 2 sort total"
	check {[llength [split [string trim [slurp $::tmp/changes.folded]] \n]] == 2} {limit: [slurp $::tmp/changes.folded]}
	check {[string match "*what was allocated is not known*" [live_error $m "export folded /dev/null diff peak now sort total"]]} {samples}
	order $t pause
	finish $t $m $before
}

# Other addresses, the same files: every stack that is there again is found by build-id and offset.
case diff-file-redis-restarted 120 {
	foreach {run keys} {one 300 two 900} {
		start_redis
		set before [redis_state]
		set m [live_start -p $::redis]
		need_format $m sqlite
		# The client stays for the export. One that has ended is freed by the server some time later, or after the export.
		set client [open "|redis-cli -p $::port" r+]
		for {set i 0} {$i < $keys} {incr i} {
			puts $client "SET key:$i value-$i"
		}
		flush $client
		for {set i 0} {$i < $keys} {incr i} {
			check {[hear $client] eq "OK"} {key $i is not set}
		}
		live $m "export sqlite $::tmp/$run.db"
		if {$run eq "two"} {
			set text [live $m "malloc diff $::tmp/one.db"]
			set ends [check_diff_file $text]
			check {[lindex $ends 2] > 5 && [lindex $ends 3] == 0} {matched, in the process: $ends}
		}
		close $client
		live_end $m
		check {[redis_state] eq $before} {not as before}
		end_redis
	}
	mdbg_ok -q -c "malloc diff $::tmp/one.db $::tmp/two.db"
	set ends [check_diff_file $::out]
	lassign $ends grown shrunk builds names only
	check {$builds > 5 && $names == 0 && $builds > $only} {matched, by the files: $ends}
	check {$grown > 600 * 16} {600 keys more are at least that: $ends}
	check {[regexp {#\d+  \+\d+ bytes in \+600 blocks\n} $::out]} {no site has 600 more: [string range $::out 0 2000]}
	check {[regexp -line {^    from /.*one\.db \(\d{4}-.* ago\) of process \d+, \S*redis-server.*: \d+ bytes} $::out]} {of which: $::out}
	# It was loaded elsewhere, or nothing is shown by this.
	foreach run {one two} {
		lappend starts [exec [need sqlite3] -readonly $::tmp/$run.db {SELECT min(start) FROM modules}]
	}
	if {[slurp /proc/sys/kernel/randomize_va_space] != 0} {
		check {[lindex $starts 0] != [lindex $starts 1]} {the same addresses: $starts}
	}
}

# The same source built in two ways: by names, across what one of them has inlined.
case diff-file-two-builds 120 {
	set sources [file normalize $::here/../targets]
	foreach {run flags fill} {one {-O2 -g} 100 two {-O1 -g} 150} {
		exec [need c++] -std=gnu++17 -fomit-frame-pointer {*}$flags -I$sources -o $::tmp/grower $sources/grower.cc -pthread -ldl 2>@1
		set t [start_command $::tmp/grower]
		set m [live_start -p [pid_of $t]]
		need_format $m sqlite
		orders $t "table 100000" "fill $fill"
		live $m "export sqlite $::tmp/$run.db"
		finish $t $m
	}
	mdbg_ok -q -c "malloc diff $::tmp/one.db $::tmp/two.db"
	check {[check_diff_file $::out] eq {1600 0 0 2 0}} {the ends: $::out}
	check {[regexp {\n#1  \+1600 bytes in \+50 blocks\n    in grow_filled\S* \(grower\.cc:\d+\)\n +0x[0-9a-f]{16} malloc\n +0x\S+ grow_filled} $::out]} \
		{which one: $::out}
	mdbg_ok -q -c "puts \[lmap c \[mdbg::diff $::tmp/two.db $::tmp/one.db] {dict filter \$c key bytes count stack matched function}]"
	check {[string trim $::out] eq {{bytes -1600 count -50 stack - matched names function grow_filled(worker*)}}} {for a script: $::out}
	mdbg_ok -q -c "export folded $::tmp/folded diff $::tmp/one.db $::tmp/two.db; export flamegraph $::tmp/a.svg diff $::tmp/two.db $::tmp/one.db"
	check {[regexp {^[^\n]*;grow_filled\(worker\*\);malloc 3200 4800\n$} [slurp $::tmp/folded]]} {[slurp $::tmp/folded]}
	check {[regexp {<g class="shrunk"><title>grow_filled\(worker\*\) \(1600 bytes changed: 0 grown, 1600 shrunk, 100.00 %\)} [slurp $::tmp/a.svg]]} {the graph}
	# Without names, too, one build is the same as itself, and no other.
	foreach run {one two} {
		exec [need sqlite3] $::tmp/$run.db {UPDATE frames SET "full" = NULL}
	}
	mdbg_ok -q -c "malloc diff $::tmp/one.db $::tmp/one.db"
	check {[diff_file_ends $::out] eq {0 0 2 0 0}} {one build: $::out}
	mdbg_ok -q -c "malloc diff $::tmp/one.db $::tmp/two.db"
	check {[diff_file_ends $::out] eq {104800 103200 0 0 4}} {two builds: $::out}
}

proc slurp_binary {path} {
	set chan [open $path rb]
	set bytes [read $chan]
	close $chan
	return $bytes
}

proc spit_binary {path bytes} {
	set chan [open $path wb]
	puts -nonewline $chan $bytes
	close $chan
}

# What is in the folder, and the bytes of each.
proc folder_state {folder} {
	return [lmap path [lsort [glob -directory $folder *]] {list $path [file size $path] [file mtime $path]}]
}

# Each is one line and a hint, and ends with 1; nothing is printed, nothing is written, also with a process.
case diff-file-refused 120 {
	set t [start grower]
	set pid [pid_of $t]
	set m [live_start -p $pid]
	need_format $m sqlite
	order $t "fill 100"
	set in [file normalize $::tmp/in]
	file mkdir $in
	live $m "export sqlite $in/good.db; export csv $in/other.csv"
	live_end $m
	exec [need sqlite3] $in/plain.db {CREATE TABLE sites(stack, bytes, count)}
	set whole [slurp_binary $in/good.db]
	spit_binary $in/cut.db [string range $whole 0 end-4096]
	spit_binary $in/short.db [string range $whole 0 50]
	spit_binary $in/empty.db ""
	foreach {name sql} {
		newer {PRAGMA user_version = 99}
		sums {UPDATE sites SET bytes = bytes + 1}
		frames {UPDATE stacks SET frame = 4000}
		view {DROP TABLE sites; CREATE VIEW sites AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
			SELECT i stack, 1 bytes, 1 count, '' function, '' "end" FROM n}
		tables {DROP TABLE stacks}
	} {
		file copy $in/good.db $in/$name.db
		exec sqlite3 $in/$name.db $sql
	}
	set state [folder_state $in]
	foreach {file what hint} {
		none.db "No such file" "export sqlite"
		other.csv "no export of mdbg" "export sqlite"
		plain.db "no export of mdbg" "export sqlite"
		short.db "no export of mdbg" "export sqlite"
		empty.db "no export of mdbg" "export sqlite"
		. "there is no recording in this folder" "export sqlite"
		cut.db "damaged" "export sqlite"
		newer.db "newer mdbg" "by the mdbg"
		sums.db "damaged" "export sqlite"
		frames.db "damaged" "export sqlite"
		view.db "damaged" "export sqlite"
		tables.db "damaged" "export sqlite"
	} {
		foreach args [list [list $in/$file $in/good.db] [list $in/good.db $in/$file]] {
			mdbg -q -c "malloc diff $args"
			check_refused 1 $what $hint
			check {$::out eq ""} {it prints: $::out}
			check {[string match "*$in/$file*" $::err] || $file eq "."} {it does not name $file: $::err}
		}
		mdbg -q -p $pid -c "malloc diff $in/$file"
		check_refused 1 $what $hint
		mdbg -q -c "mdbg::diff $in/$file $in/good.db"
		check_refused 1 $what $hint
	}
	foreach command [list "malloc diff $in/good.db" "malloc diff $in/good.db peak" "malloc diff now $in/good.db" "mdbg::diff $in/good.db"] {
		mdbg -q -c $command
		check_refused 1 "no process" "attach PID"
		mdbg -q --no-arm -p $pid -c $command
		check_refused 1 "nothing is recorded" "malloc"
	}
	mdbg -q -p $pid -c "malloc diff $in/good.db nomark"
	check_refused 1 "there is no mark 'nomark'" "malloc mark"
	check {[folder_state $in] eq $state} {the folder has changed}
	finish $t
}

# A core file has no log; two files do not need one.
case diff-file-of-a-core 60 {
	start_watched {t m} grower
	need_format $m sqlite
	order $t "fill 100"
	live $m "export sqlite $::tmp/a.db"
	live_end $m
	set core [gcore [pid_of $t]]
	mdbg -q -c "malloc diff $::tmp/a.db" --core $core $::build/targets/grower
	check_refused 1 "there is no process, only its core file" "malloc"
	mdbg_ok -q -c "malloc diff $::tmp/a.db $::tmp/a.db" --core $core $::build/targets/grower
	check {[check_diff_file $::out] eq {0 0 1 0 0}} {two files: $::out}
	finish $t
}

# Bits flipped at random, pages cut: an error, or the sums of the export; in bounded memory, and never a crash.
repeated diff-file-damaged 60 {
	start_watched {t m} grower
	need_format $m sqlite
	orders $t "fill 100" "load 3"
	live $m "wait until {\[llength \[mdbg::sites\]\] >= 4} timeout 30"
	order $t calm
	live $m "export sqlite $::tmp/good.db"
	finish $t $m
	set whole [slurp_binary $::tmp/good.db]
	set size [string length $whole]
	set script ""
	for {set i 0} {$i < 10 * $::trials} {incr i} {
		set bytes $whole
		for {set flips [expr {1 + int(rand() * 8)}]} {$flips} {incr flips -1} {
			set at [expr {100 + int(rand() * ($size - 100))}]
			scan [string index $bytes $at] %c value
			set bytes [string replace $bytes $at $at [format %c [expr {$value ^ (1 << int(rand() * 8))}]]]
		}
		spit_binary $::tmp/bad$i.db $bytes
		append script "catch {mdbg::diff $::tmp/bad$i.db $::tmp/good.db} result options\n" \
			"if {\[dict get \$options -code] && \[lrange \[dict get \$options -errorcode] 0 1] ni {{MDBG FORMAT} {MDBG RANGE}}} {error \$result}\n" \
			"if {!\[dict get \$options -code]} {foreach c \$result {incr sum \[dict get \$c bytes]}}\n"
	}
	append script "if {\[info exists sum] && \$sum} {error \"sums that differ by \$sum\"}\nputs whole\n"
	mdbg_ok -q -x [spit $::tmp/all.tcl $script]
	check {[string trim $::out] eq "whole"} {$::out $::err}
}

# --- exports of an earlier moment --------------------------------------------------------------------------------------

# Each format has the sites of `malloc sites at`, and nothing of now.
by_both case export-at 120 {
	set t [start grower]
	order $t "fill 1000"
	attach_to {before m} $t
	orders $t "table 100000" "fill 50"
	live $m "malloc mark a"
	orders $t "fill 7" "table 5000"
	foreach format {folded json csv sqlite massif callgrind pprof flamegraph} {
		if {[catch {live $m [list export $format /dev/null]} message] && [string match "*built without*" $message]} {
			continue
		}
		set text [live $m "export $format $::tmp/$format at a"]
		check {[regexp -line {^2 sites, 51 allocations, 101600 bytes written to \S+; these are recorded ones at a \(\d{4}-.* ago\)(; .*)?$} $text -> more]} \
			{$format: $text}
		check {($format eq "sqlite") == [string match "*table allocations is empty*" $more]} {$format: $text}
		check {![string match "*stood still*" $text]} {it was stopped: $text}
		if {$format in {folded json csv sqlite massif}} {
			lassign [read_$format $::tmp/$format] bytes count early
			check {$bytes == 101600 && $count in {51 -} && $early in {0 {}}} {$format has $bytes in $count, and $early from before}
		}
	}
	if {[file exists $::tmp/sqlite]} {
		set query {SELECT (SELECT count(*) FROM allocations), (SELECT count(*) FROM sites WHERE total IS NOT NULL OR oldest IS NOT NULL)}
		check {[exec [need sqlite3] -readonly $::tmp/sqlite $query] eq "0|0"} {it has what was not known}
		check {[lrange [diff_file_ends [live $m "malloc diff $::tmp/sqlite a"]] 0 1] eq {0 0}} {the moment, and its export}
		check {[lrange [diff_file_ends [live $m "malloc diff $::tmp/sqlite"]] 0 1] eq {5224 0}} {its export, and now}
	}
	if {[file exists $::tmp/callgrind]} {
		check {[regexp -line {^totals: 101600 51$} [slurp $::tmp/callgrind]]} {callgrind: [slurp $::tmp/callgrind]}
	}
	if {[file exists $::tmp/pprof] && [auto_execok go] ne ""} {
		set raw [exec env HOME=$::tmp PPROF_TMPDIR=$::tmp go tool pprof -raw $::tmp/pprof 2>@1]
		check {[regexp -line {^inuse_space/bytes\[dflt\] inuse_objects/count$} $raw]} {types: [string range $raw 0 300]}
	}
	# Growth since a moment, as `malloc sites` has it.
	live $m "export csv $::tmp/csv since a"
	set sum [exec [need python3] -c {import csv, sys; print(sum(int(row["growth"] or 0) for row in csv.DictReader(open(sys.argv[1]))))} $::tmp/csv]
	check {$sum == 5224} {growth in csv: $sum}
	check {[string match "*there is no mark 'b'*" [live_error $m "export csv $::tmp/none at b"]]} {$::result}
	check {![file exists $::tmp/none]} {a file of nothing}
	finish $t $m $before
}
