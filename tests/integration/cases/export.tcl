# SPDX-License-Identifier: GPL-3.0-or-later
# Exports: each is read back by a tool that it is for, and has the sums of `malloc sites`.

set export_formats {folded pprof json csv sqlite massif callgrind}

# This mdbg's own formats: one that was built without a library is skipped with its reason.
proc need_format {m format} {
	if {[catch {live $m [list export $format /dev/null]} message] && [string match "*built without*" $message]} {
		skip $message
	}
}

# A grower that has blocks from before the attach, from after it, and stacks that hold nothing any more. It stands still.
proc with_export_target {body args} {
	uplevel 1 [list set mdbg_args $args]
	uplevel 1 {
		set t [start grower]
		orders $t "fill 100" "table 100000"
		set before [state [pid_of $t]]
		set m [live_start {*}$mdbg_args -p [pid_of $t]]
		orders $t "fill 50" "table 5000" "load 2"
		live $m "wait until {\[llength \[mdbg::sites\]\] >= 4} timeout 30"
		order $t calm
		live $m interrupt
	}
	uplevel 1 $body
	uplevel 1 {
		live $m cont
		finish $t $m $before
	}
}


# {bytes count} of all sites, then of the blocks that are in no record, then of all that was ever recorded.
set export_truth {
	proc truth {words} {
		lassign {0 0 0 0} bytes count earlybytes earlycount
		foreach site [mdbg::sites {*}$words] {
			incr bytes [dict get $site bytes]
			incr count [dict get $site count]
		}
		foreach block [mdbg::allocations] {
			if {[dict get $block preattach]} {
				incr earlybytes [dict get $block size]
				incr earlycount
			}
		}
		set all [mdbg::malloc]
		list $bytes $count $earlybytes $earlycount [dict get $all allocbytes] [dict get $all allocs]
	}
}

proc export_truth {m {words {}}} {
	live $m "source [spit $::tmp/truth.tcl $::export_truth]"
	return [live_value $m [list truth $words]]
}

# --- what each tool reads: {bytes count earlybytes earlycount}, and for pprof and callgrind {bytes count} of all time ---

set early_frame {(allocated before attach)}

proc read_folded {path} {
	set early 0
	set bytes 0
	foreach line [split [string trimright [slurp $path]] "\n"] {
		check {[regexp {^(.+) (\d+)$} $line -> stack n]} {no folded line: $line}
		incr [expr {$stack eq $::early_frame ? "early" : "bytes"}] $n
	}
	return [list $bytes - $early -]
}

# json and csv by Python's own readers.
set export_py {
import csv, json, sys
early = '(allocated before attach)'
sums = {False: [0, 0], True: [0, 0]}
with open(sys.argv[2], newline='') as file:
    if sys.argv[1] == 'json':
        rows = [json.loads(line) for line in file]
        for row in rows:
            for frame in row['stack']:
                assert {'function', 'module', 'file', 'line'} <= set(frame), frame
        stacks = [[frame['function'] for frame in row['stack']] for row in rows]
    else:
        rows = list(csv.DictReader(file, strict=True))
        stacks = [row['stack'].split(';') for row in rows]
for row, stack in zip(rows, stacks):
    held = sums[stack == [early]]
    held[0] += int(row['bytes'])
    held[1] += int(row['count'])
print(*sums[False], *sums[True])
}

proc read_json {path} {
	return [exec [need python3] [spit $::tmp/export.py $::export_py] json $path]
}

proc read_csv {path} {
	return [exec [need python3] [spit $::tmp/export.py $::export_py] csv $path]
}

proc read_sqlite {path} {
	set query {
		SELECT sum(bytes), sum(count), (SELECT sum(size) FROM allocations WHERE preattach),
			(SELECT count(*) FROM allocations WHERE preattach) FROM sites
	}
	return [split [exec [need sqlite3] -readonly $path $query] |]
}

# The samples of `go tool pprof -raw`, values in the order of the types' names.
proc read_pprof {path} {
	need go
	set raw [exec env HOME=$::tmp PPROF_TMPDIR=$::tmp go tool pprof -raw $path 2>@1]
	check {[regexp -line {^inuse_space/bytes\[dflt\] inuse_objects/count alloc_space/bytes alloc_objects/count$} $raw]} \
		{the types: [string range $raw 0 300]}
	set at [expr {[regexp "\\n +(\\d+): 0x0 \[^\\n\]*[string map {( \\( ) \\)} $::early_frame]" $raw -> at] ? $at : "none"}]
	lassign {0 0 0 0 0 0} bytes count earlybytes earlycount allbytes allcount
	foreach {- a b c d ids} [regexp -all -inline -line {^ +(\d+) +(\d+) +(\d+) +(\d+): ([0-9 ]+)$} $raw] {
		if {[string trim $ids] eq $at} {
			incr earlybytes $a
			incr earlycount $b
			continue
		}
		incr bytes $a
		incr count $b
		incr allbytes $c
		incr allcount $d
	}
	return [list $bytes $count $earlybytes $earlycount $allbytes $allcount]
}

# The total of the last snapshot; the tree is printed, and what is below its root adds up.
proc read_massif {path} {
	set text [exec [need ms_print] --threshold=0 $path]
	check {[regexp {100\.00% \(([0-9,]+)B\) \(heap allocation functions\)} $text -> root]} {no tree: [string range $text 0 2000]}
	set sum 0
	foreach {- n} [regexp -all -inline -line -- {^->[0-9.]+% \(([0-9,]+)B\) } $text] {
		incr sum [string map {, ""} $n]
	}
	set root [string map {, ""} $root]
	check {$sum == $root} {$sum below the root, which has $root}
	set early 0
	regexp -line "^->\[0-9.\]+% \\((\[0-9,\]+)B\\) 0x0: \\(allocated before attach\\)" $text -> early
	set early [string map {, ""} $early]
	return [list [expr {$root - $early}] - $early -]
}

# The totals of callgrind_annotate, and those of its functions.
proc read_callgrind {path} {
	set text [exec [need callgrind_annotate] --threshold=100 --show-percs=no $path 2>@1]
	check {[regexp -line {^ *([0-9,]+) +([0-9,]+) +([0-9,]+) +([0-9,]+) +([0-9,]+) +([0-9,]+) +PROGRAM TOTALS} $text - {*}{a b c d e f}]} \
		{no totals: [string range $text 0 1000]}
	lassign {0 0} early earlycount
	regexp -line {^ *([0-9,]+) +([0-9,]+) .*\(allocated before attach\)} $text -> early earlycount
	foreach name {a b c d e f early earlycount} {
		set $name [string map {, ""} [set $name]]
	}
	check {$c == $a + $e && $d == $b + $f} {all-time is not held and freed: $a $b $c $d $e $f}
	return [list [expr {$a - $early}] [expr {$b - $earlycount}] $early $earlycount [expr {$c - $early}] [expr {$d - $earlycount}]]
}

proc check_export {m format truth {words ""}} {
	live $m "export $format $::tmp/$format $words"
	set sums [read_$format $::tmp/$format]
	foreach want $truth got $sums what {bytes blocks {bytes from before} {blocks from before} {bytes ever} {blocks ever}} {
		if {$want ne "" && $got ne "" && $got ne "-"} {
			check {$got == $want} {$format has $got $what, and not $want: $sums, $truth}
		}
	}
}

foreach format $export_formats {
	by_both case export-$format 120 [string map [list FORMAT $format] {
		with_export_target {
			need_format $m FORMAT
			set truth [export_truth $m]
			check {[lindex $truth 2] >= 103200 && [lindex $truth 3] >= 101} {nothing from before: $truth}
			check_export $m FORMAT $truth
			# A filter that blocks without records do not match; and a limit, which leaves them out.
			set some [lreplace [export_truth $m "function == grow_filled"] 2 end 0 0]
			check {[lrange $some 0 1] eq {1600 50}} {the filled ones: $some}
			check_export $m FORMAT $some "function == grow_filled"
			set some [lreplace [export_truth $m "limit 2"] 2 end 0 0]
			check_export $m FORMAT $some "limit 2"
		}
	}]
}

# A database whose tables go together, of a target that stands still.
case export-sqlite-tables 120 {
	with_export_target {
		need_format $m sqlite
		set path $::tmp/db
		set figures [live_value $m "mdbg::export sqlite $path"]
		check {[file exists $path]} {no file}
		foreach {query want} {
			{PRAGMA integrity_check} ok
			{PRAGMA foreign_key_check} {}
			{SELECT value FROM meta WHERE key = 'schema_version'} 1
			{SELECT count(*) FROM sites s WHERE (bytes, count) IS NOT
				(SELECT sum(size), count(*) FROM allocations a WHERE a.stack = s.stack)} 0
			{SELECT count(*) FROM (SELECT stack FROM allocations UNION SELECT stack FROM sites)
				WHERE stack NOT IN (SELECT stack FROM stacks WHERE depth = 0)} 0
			{SELECT count(*) FROM allocations WHERE preattach != (time IS NULL) OR preattach != (thread IS NULL)} 0
			{SELECT count(DISTINCT address) - count(*) FROM allocations} 0
			{SELECT group_concat(DISTINCT function) FROM allocations JOIN stacks USING (stack) JOIN frames ON frame = id
				WHERE preattach} {(allocated before attach)}
			{SELECT count(*) FROM modules WHERE build_id IS NULL AND path LIKE '%libc.so%'} 0
			{SELECT count(*) > 0 FROM frames WHERE function = 'malloc'} 1
		} {
			set got [exec sqlite3 -readonly $path $query]
			check {$got eq $want} {$query: $got}
		}
		# The blocks are those of mdbg::allocations.
		set rows [exec sqlite3 -readonly -separator " " $path {SELECT address, size, preattach FROM allocations ORDER BY 1}]
		set blocks [live_value $m {lmap b [mdbg::allocations] {format "%d %d %d" [dict get $b address] [dict get $b size] [dict get $b preattach]}}]
		check {[split $rows "\n"] eq $blocks} {the rows are not the blocks}
		check {[dict get $figures earlycount] == [exec sqlite3 $path {SELECT sum(preattach) FROM allocations}]} {$figures}
	}
}

# Of a target that is at work all the time: every block has its stack, and the file is whole.
case export-sqlite-under-load 120 {
	start_watched {t before m} grower
	need_format $m sqlite
	order $t "load 3"
	for {set i 0} {$i < $::trials} {incr i} {
		live $m "export sqlite $::tmp/db"
		set query {SELECT (SELECT count(*) FROM pragma_foreign_key_check), (SELECT count(*) FROM allocations
			WHERE stack != 0 AND stack NOT IN (SELECT stack FROM stacks)), (SELECT count(*) FROM allocations) > 0}
		check {[exec sqlite3 -readonly $::tmp/db $query] eq "0|0|1"} {round $i: [exec sqlite3 -readonly $::tmp/db $query]}
	}
	order $t calm
	finish $t $m $before
}

# What the thread of a process is in by eu-stack, from main to a function, outermost first.
proc eu_stack {pid to} {
	set names {}
	foreach {- name} [regexp -all -inline -line {^#\d+ +0x[0-9a-f]+ +(.+)$} [exec [need eu-stack] -p $pid 2>@1]] {
		set names [linsert $names 0 [string trim [regsub {^- \d+ } $name ""]]]
	}
	return [lrange $names [lsearch $names main] [lindex [lsearch -all $names $to] end]]
}

# A block's stack is that of its thread, which then waits where it has allocated.
case export-stacks-are-eu-stacks 60 {
	need eu-stack
	start_watched {t before m} nested
	foreach depth {1 2 3} {
		check {[order $t deeper] eq $depth} {deeper}
		live $m "export folded $::tmp/folded"
		set want [eu_stack [pid_of $t] nested_inner]
		check {[llength $want] == 1 + 4 * $depth} {eu-stack: $want}
		# What was inlined is not in its stack any more.
		lappend want nested_inlined malloc
		set lines [lsearch -all -inline [split [slurp $::tmp/folded] "\n"] "*;[join $want {;}] 1000"]
		check {[llength $lines] == 1} {no [join $want {;}] in [slurp $::tmp/folded]}
	}
	live_end $m
	check_state $before [pid_of $t]
	tell $t quit
	ending $t
}

# --- names that mean something to a format -----------------------------------------------------------------------------

set hostile_symbol "<script>alert(\"x\")</script>;'a',\n\x1b\[2Jend"
set hostile_shown {<script>alert("x")</script>;'a',\n\x1b[2Jend}

proc start_hostile {symbol} {
	set path $::tmp/hostile-names
	exec [need objcopy] --redefine-sym strange_leaf=$symbol $::build/targets/strange $path
	return [start_command $path]
}

# Names in each format, as its reader has them.
proc names_in {format path} {
	switch $format {
		folded { return [split [string map {"\n" ";"} [slurp $path]] ";"] }
		json - csv {
			set py {import csv, json, sys
if sys.argv[1] == 'json':
    print('\n'.join(frame['function'] for line in open(sys.argv[2]) for frame in json.loads(line)['stack']))
else:
    print('\n'.join(row['function'] for row in csv.DictReader(open(sys.argv[2], newline=''), strict=True)))
}
			return [split [exec [need python3] [spit $::tmp/names.py $py] $format $path] "\n"]
		}
		sqlite { return [split [exec [need sqlite3] -readonly $path {SELECT function FROM frames}] "\n"] }
		pprof {
			need go
			set raw [exec env HOME=$::tmp PPROF_TMPDIR=$::tmp go tool pprof -raw $path 2>@1]
			return [lmap {- name} [regexp -all -inline -line {^ +\d+: 0x\w+ M=\d+ (.*) \S*:\d+ s=0} $raw] {set name}]
		}
		massif {
			set text [exec [need ms_print] --threshold=0 $path]
			return [lmap {- name} [regexp -all -inline -line {B\) 0x\w+: (.*) \([^()]*\)$} $text] {set name}]
		}
		callgrind {
			set text [exec [need callgrind_annotate] --threshold=100 --inclusive=yes $path 2>@1]
			return [lmap {- name} [regexp -all -inline -line {^ *[0-9].* (?:\?\?\?|[^ :]+\.\w+):(.+) \[[^][]*\]$} $text] {set name}]
		}
	}
}

foreach format $export_formats {
	case export-hostile-names-$format 60 [string map [list FORMAT $format] {
		set long [string repeat template 1250]
		foreach {symbol want} [list $::hostile_symbol $::hostile_shown $long $long] {
			set t [start_hostile $symbol]
			set m [live_start -p [pid_of $t]]
			need_format $m FORMAT
			order $t again
			live $m "export FORMAT $::tmp/file"
			set names [names_in FORMAT $::tmp/file]
			if {"FORMAT" eq "folded"} {
				set want [string map {; :} $want]
			}
			check {$want in $names} {no [string range $want 0 100] in [string range [lsort -unique $names] 0 1500]}
			check {"FORMAT" in {sqlite pprof} || ![regexp {[\x00-\x09\x0b-\x1f\x7f]} [slurp_bytes $::tmp/file]]} {control characters in it}
			live_end $m
			tell $t quit
			ending $t
		}
	}]
}

# --- files -------------------------------------------------------------------------------------------------------------

# What is in a folder.
proc names_of {dir} {
	return [lsort [lmap path [glob -nocomplain -directory $dir * .mdbg*] {file tail $path}]]
}

case export-keeps-the-old-file 60 {
	with_export_target {
		set dir $::tmp/dir
		file mkdir $dir
		set old [spit $dir/old "the old one\n"]
		file attributes $old -permissions 0604
		file link -symbolic $dir/link old
		exec mkfifo $dir/fifo
		foreach format $::export_formats {
			need_format $m $format
			foreach {name why} [list $dir/missing/file "No such file or directory" $dir "a folder" \
				/dev/full [expr {$format eq "sqlite" ? "no regular file" : "No space left on device"}] \
				$dir/fifo [expr {$format eq "sqlite" ? "no regular file" : "a FIFO that nobody reads"}]] {
				set message [live_error $m "export $format $name"]
				check {[string match "write to $name: *$why*" $message]} {$format to $name: $message}
			}
			check {[names_of $dir] eq {fifo link old}} {left behind: [names_of $dir]}
			check {[slurp $old] eq "the old one\n"} {$format: the old file is not as it was}
			check {[file type $dir/fifo] eq "fifo" && [file type /dev/full] eq "characterSpecial"} {$format: a device was replaced}
			# Without an error the file is another, with its mode, and the link stays.
			live $m "export $format $dir/link"
			check {[file type $dir/link] eq "link" && [file attributes $old -permissions] eq "00604"} \
				{$format: mode [file attributes $old -permissions]}
			check {[slurp_bytes $old] ne "the old one\n" && [names_of $dir] eq {fifo link old}} {$format: not written}
			spit $old "the old one\n"
		}
		# A FIFO that is read, and standard output: the format alone.
		set reader [open |[list cat $dir/fifo] r]
		until {![catch {live $m "export folded $dir/fifo"}]}
		set text [read $reader]
		close $reader
		check {[file type $dir/fifo] eq "fifo"} {the FIFO was replaced}
		live $m "export folded $::tmp/folded"
		check {$text eq [slurp $::tmp/folded]} {through a FIFO: [string range $text 0 300]}
		check {"[live $m "export folded /dev/stdout"]\n" eq $text} {to standard output}
	}
}

# Standard output may be a file that others have written to: it is not replaced.
case export-to-standard-output 60 {
	set t [start grower]
	order $t "fill 10"
	mdbg_ok -q -p [pid_of $t] -c "puts before" -c "export folded /dev/stdout" -c "puts behind"
	check {[regexp {^before\n\(allocated before attach\) \d+\nbehind\n$} $::out]} {standard output: $::out}
	mdbg -q -p [pid_of $t] -c "export sqlite /dev/stdout"
	check {$::status == 1 && $::out eq ""} {sqlite to standard output: $::status $::out}
	finish $t
}

# A disk that has no room any more, in a mount namespace of its own.
case export-full-disk 120 {
	skip_if {[catch {exec unshare -m true} message]} {no mount namespace: $message}
	set t [start grower]
	order $t "fill 10"
	set script [spit $::tmp/full.sh {
		mount -t tmpfs -o size=256k tmpfs "$1" || exit 77
		echo old >"$1/file"
		cat /dev/zero >"$1/filler" 2>/dev/null
		shift
		"$@"
		echo "status $?"
		cd "$DISK" && cat file && ls -A
	}]
	file mkdir $::tmp/disk
	foreach format $::export_formats {
		if {[catch {exec env DISK=$::tmp/disk unshare -m sh $script $::tmp/disk {*}[mdbg_command -q -p [pid_of $t] \
				-c "export $format $::tmp/disk/file"] 2>@1} text options]} {
			fail "$format: $text"
		}
		if {[string match "*built without*" $text]} {
			continue
		}
		check {[regexp {mdbg: write to [^\n]*/disk/file: (No space left on device|database or disk is full)} $text]} {$format: $text}
		check {[string match "*status 1\nold\nfile\nfiller" $text]} {$format: what is left: $text}
	}
	finish $t
}

# Ctrl-C while the reader of a pipe takes nothing.
case export-interrupted 60 {
	set reader [spit $::tmp/reader.py {
import fcntl, os, select, sys
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK)
fcntl.fcntl(fd, 1031, 4096)	# F_SETPIPE_SZ: less than the file has
print('open', flush=True)
select.select([fd], [], [])
print('more', flush=True)
sys.stdin.read()
}]
	set t [start grower]
	order $t "fill 10"
	set before [state [pid_of $t]]
	exec mkfifo $::tmp/fifo
	set r [open |[list [need python3] $reader $::tmp/fifo] r+]
	check {[hear $r] eq "open"} {the reader}
	order $t "load 2"
	set m [open |[list {*}[mdbg_command -q -p [pid_of $t] -c "while {\[llength \[mdbg::sites\]\] < 3} {}" \
		-c "export callgrind $::tmp/fifo"] 2> $::tmp/mdbg.err] r]
	check {[hear $r] eq "more"} {the reader}
	exec kill -INT [pid $m]
	until {![is_alive [pid $m]]} 30
	ending $m
	set said [slurp $::tmp/mdbg.err]
	check {[regexp "^mdbg: write to $::tmp/fifo: interrupted\n$" $said]} {it says: $said}
	check {[file type $::tmp/fifo] eq "fifo"} {the FIFO was replaced}
	close $r
	order $t calm
	finish $t {} $before
}

# Whenever mdbg is killed: the old file, or the whole new one.
repeated export-killed 120 {
	set t [start grower]
	order $t "fill 1000"
	set path $::tmp/file
	set seen [dict create]
	for {set i 0} {$i < $::trials} {incr i} {
		spit $path "the old one\n"
		set chan [open |[list {*}[mdbg_command -q -p [pid_of $t] -c "export csv $path" -c "puts done" -c "wait 20"] 2>@stderr] r]
		# From before it writes to after it has.
		if {$i % 2} {
			until {[names_of $::tmp] ne "" && ([glob -nocomplain $::tmp/.mdbg-*] ne "" || [slurp $path] ne "the old one\n")}
		} else {
			delay [expr {int(rand() * 300000)}]
		}
		exec kill -KILL [pid $chan]
		catch {close $chan}
		set text [slurp $path]
		if {$text ne "the old one\n"} {
			check {[string match "bytes,count,*" $text] && [string index $text end] eq "\n"} {a part of a file: [string range $text 0 200]}
			exec python3 [spit $::tmp/export.py $::export_py] csv $path
		}
		dict incr seen [expr {$text eq "the old one\n" ? "old" : "new"}]
		file delete {*}[glob -nocomplain $::tmp/.mdbg-*]
	}
	note "seen: $seen"
	finish $t
}

# --- what cannot be exported ---------------------------------------------------------------------------------------------

case export-refused 60 {
	file mkdir $::tmp/dir
	mdbg -q -c "export folded $::tmp/dir/file"
	check_refused 1 "no process" "attach PID"
	set t [start grower]
	order $t "fill 10"
	foreach {words status why hint} [list "xml $::tmp/dir/file" 1 "'xml' is no format" folded \
		folded 1 "too few words" usage "folded $::tmp/dir/file by function" 1 "by stack" "adds stacks up" \
		"folded $::tmp/dir/file size ~ 3" 1 "~" "" "folded ~nobody-at-all/file" 1 "no such user" ""] {
		mdbg -q -p [pid_of $t] -c "export $words"
		check_refused $status $why $hint
		mdbg -q -p [pid_of $t] -c "mdbg::export $words"
		check {$::status == $status} {mdbg::export $words: $::status}
	}
	mdbg -q --no-arm -p [pid_of $t] -c "export folded $::tmp/dir/file"
	check_refused 1 "nothing is recorded" ""
	set core [gcore [pid_of $t]]
	mdbg -q -c "export folded $::tmp/dir/file" --core $core $::build/targets/grower
	check_refused 1 "only its core file" "walk its heaps"
	check {[names_of $::tmp/dir] eq ""} {written: [names_of $::tmp/dir]}
	finish $t
}

# What has ended still answers, without what a walk would find.
case export-of-what-has-ended 60 {
	set t [start grower]
	order $t "fill 10"
	set m [live_start -p [pid_of $t]]
	order $t "fill 20"
	finish $t
	live $m {wait exit}
	set text [live $m "export folded $::tmp/file function == grow_filled"]
	check {[regexp {1 sites, 20 allocations, 640 bytes written to} $text]} {it says: $text}
	check {[lindex [read_folded $::tmp/file] 0] == 640} {[slurp $::tmp/file]}
	set text [live $m "export folded $::tmp/file"]
	check {[regexp {from before the attach are not known} $text]} {it does not say what is missing: $text}
	live_end $m
}

# All figures are estimates: scaled, as `malloc sites` has them, and said.
by_both case export-sampled 120 {
	set t [start sampled]
	set m [live_start --sample 4K -p [pid_of $t]]
	orders $t "small [work 100000 5000]" "large [work 1000 200]"
	live $m interrupt
	set truth [lreplace [export_truth $m] 2 end 0 0]
	check {[lindex $truth 0] > [work 4000000 500000]} {not scaled: $truth}
	foreach format {folded json csv massif callgrind pprof} {
		if {[catch {live $m "export $format $::tmp/file"} text]} {
			check {[string match "*built without*" $text]} {$format: $text}
			continue
		}
		check {[regexp {Sampled \(one in 4096 bytes\): all figures are estimates} $text]} {$format does not say it: $text}
		check_export $m $format $truth
		switch $format {
			massif - callgrind { check {[string match "*sampled (one in 4096 bytes)*" [slurp $::tmp/file]]} {$format has no word} }
			json { check {[string match "*\"sample\":4096*" [slurp $::tmp/file]]} {$format has no word} }
			csv { check {[string match "*,4096,*" [slurp $::tmp/file]]} {$format has no word} }
			pprof { check {[string match "*sampled (one in 4096 bytes)*" [exec env HOME=$::tmp go tool pprof -raw $::tmp/file 2>@1]]} {$format has no word} }
		}
	}
	live $m cont
	live_end $m
	tell $t quit
	ending $t
}

# Every list as a file: as many rows as scripts get, and the same keys.
set exported_lists {allocations freespace types leaks {stale 0s} {diff a} {memory maps} history threads maps modules probes {growth brk}}

proc columns_of {json} {
	return [lmap {all key} [regexp -all -inline {(?:^\{|,)"([a-z]+)":} [regsub -all {"stack":\[.*\]} $json {"stack":0}]] {set key}]
}

case export-any-list 60 {
	with_export_target {
		need_format $m json
		live_all $m "malloc mark a" cont "growth start brk"
		order $t "fill 5"
		live $m interrupt
		foreach list $::exported_lists {
			set script "mdbg::[regsub { maps} $list {_maps}]"
			foreach format {csv json sqlite} {
				set n [live_value $m "llength \[$script\]"]
				set text [live $m "export $format $::tmp/any.$format $list"]
				check {[regexp {^(\d+) rows of [a-z_]+ written to } $text -> rows]} {$list: $text}
				# The history has a sample more with each second.
				check {$rows == $n || ($list eq "history" && $rows >= $n)} {$list as $format: $rows of $n rows}
			}
			set keys [live_value $m "if {\[llength \[set all \[$script\]\]\]} {dict keys \[lindex \$all 0\]}"]
			set heading [split [lindex [split [slurp $::tmp/any.csv] "\n"] 0] ","]
			set object [columns_of [lindex [split [slurp $::tmp/any.json] "\n"] 0]]
			foreach key $keys {
				# Exports have the time of a block, the frames of a stack, and what a rate follows from.
				if {$key in {age heldby label caller frames callrate} || ($key eq "function" && "stack" in $keys)} continue
				check {$key in $heading} {$list: no $key in $heading}
				check {![llength $object] || $key in $object} {$list: no $key in $object}
			}
		}
		foreach {words why} {{csv FILE allocations size} {*a relation must follow*} {folded FILE leaks} {*folded has only sites*}} {
			set command "export [string map [list FILE $::tmp/no] $words]"
			check {[catch {live $m $command} said] && [string match $why $said]} {$command: $said}
		}
		check {![file exists $::tmp/no]} {a refused export has left a file}
	}
}

# What malloc_usable_size gives, for glibc: the chunk less its word of size. And in each output.
case usable-size 60 {
	with_export_target {
		need_format $m sqlite
		foreach block [live_value $m mdbg::allocations] {
			set size [dict get $block size]
			set usable [dict get $block usable]
			if {[dict get $block heap] eq "mmap"} {
				check {$usable >= $size && ($usable + 16) % 4096 == 0} {$block}
			} else {
				check {$usable >= $size && $usable < $size + 40 && $usable % 16 == 8} {$block}
			}
		}
		foreach format {csv json sqlite} {
			live $m "export $format $::tmp/u.$format allocations limit 3"
		}
		check {[string match "*,preattach,usable,*" [slurp $::tmp/u.csv]]} {[slurp $::tmp/u.csv]}
		check {[regexp {"usable":\d+} [slurp $::tmp/u.json]]} {[slurp $::tmp/u.json]}
		check {[exec sqlite3 $::tmp/u.sqlite "SELECT count(*) FROM allocations WHERE usable >= size"] == 3} {sqlite}
		set text [live $m "malloc allocations -v limit 2"]
		check {[regexp {SEQ +USABLE +TYPE +STACK TRACEBACK} $text]} {$text}
		check {![string match "*USABLE*" [live $m "malloc allocations limit 2"]]} {it is there without -v}
		check {[string match "*usable *malloc_usable_size*" [live $m "help mdbg::allocations"]]} {no help}
	}
	# Nothing is walked without a process.
	start_watched {t m} grower
	order $t "fill 5"
	finish $t
	live $m "wait exit timeout [expr {10 * $::slower}]"
	check {[live_value $m {lsort -unique [lmap b [mdbg::allocations] {dict get $b usable}]}] eq "-"} {a size of nobody}
	live_end $m
}

# A line a row: the same rows in the same order as scripts get them.
case brief-lists 60 {
	with_export_target {
		live_all $m "malloc mark a" cont
		order $t "fill 5"
		live $m interrupt
		foreach {list key} {{malloc sites} bytes {malloc sites by function} bytes {malloc leaks all} bytes
			{malloc allocations sort size limit 50} size {malloc stale 0s} bytes {malloc diff a} bytes
			{malloc leaks all sort count up limit 2} bytes {malloc stale 0s sort count limit 1} bytes} {
			set want [live_value $m "lmap row \[mdbg::[lrange $list 1 end]\] {dict get \$row $key}"]
			set got {}
			check {[regexp {(?:^|\n)([A-Z ]*(?:BYTES|SIZE) .*?)\n\n} "[live $m "$list -brief"]\n\n" -> table]} {$list: no table}
			foreach line [lrange [split $table "\n"] 1 end] {
				if {![regexp {^ *(?:[a-z]+ +|0x[0-9a-f]+ +)?\+?(-?\d+)  +} $line -> value]} break
				lappend got $value
			}
			check {[llength $want] && $got eq $want} {$list: $got is not $want}
		}
	}
}
