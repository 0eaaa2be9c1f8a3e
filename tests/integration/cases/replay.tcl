# SPDX-License-Identifier: GPL-3.0-or-later
# A recording answers as the process did.

# Without what differs by nature: addresses of code, times, and how a moment was written.
proc replay_plain {text} {
	regsub -all {0x[0-9a-f]{16} } $text "" text
	regsub -all -line {^(Allocation Sites of the Process) at .*:$} $text {\1:} text
	regsub -all -line {^    (from|to  ) .*?: (\d+ bytes)} $text {    \1 \2} text
	regsub -all -line {^This was taken at .*\n} $text "" text
	return [regsub -all { in [\d.]+ s\n} $text "\n"]
}

# The rows of a table that a live process and a recording have in common.
proc replay_rows {text names} {
	return [lsearch -all -inline -regexp [split $text \n] "^(?:[join $names |]) "]
}

# What others do changes PSS, and page faults are not recorded.
proc replay_memory {text kinds} {
	return [lmap row [replay_rows $text $kinds] {concat [lrange $row 0 2] [lrange $row 6 7]}]
}

proc replay_differences {is wanted} {
	return "[lmap x $is {expr {$x in $wanted ? [continue] : $x}}] instead of [lmap x $wanted {expr {$x in $is ? [continue] : $x}}]"
}

# Sites by their rates, without these: they are of another moment.
proc replay_calls {text} {
	return [regexp -all -inline -line {^(?:#\d+ .* blocks|    all-time .*$|    in .*$)} $text]
}

proc replay_written {m dir samples} {
	live $m "wait until {!\[catch {mdbg::recordings $dir} r] && \[dict get \[lindex \$r 0] samples] >= $samples} timeout 20"
}

# What grew since it is of the mark, and not of the sample that is due next.
case replay-has-marks 60 {
	start_watched {t m} grower
	live $m "record $::tmp/rec"
	order $t "fill 100"
	replay_written $m $::tmp/rec 2
	foreach {name nr} {early 50 later 70} {
		live $m "malloc mark $name"
		order $t "fill $nr"
	}
	live_all $m "record now" "record off"
	foreach {mark had} {early 100 later 150} {
		mdbg -q --replay $::tmp/rec -c "malloc diff $mark"
		check {[regexp "from $mark .*bytes in $had blocks\n    to .*bytes in 220 blocks\n" $::out]} {$mark: $::out $::err}
	}
	finish $t $m
}

case replay-equals-live 60 {
	set kinds {all heap mapped anonymous stacks main-stack files shared device}
	set parts {held overhead cached free top anonymous stacks files files-copied device}
	start_watched {t m} grower
	order $t "fill 100"
	set memory [replay_memory [live $m memory] $kinds]
	live $m "record $::tmp/rec"
	replay_written $m $::tmp/rec 1
	live $m "malloc mark early"
	order $t "fill 50"
	replay_written $m $::tmp/rec 2
	live $m "wait until {\[dict get \[lindex \[mdbg::history] end] count] == 150} timeout 20"
	set sites [live $m "malloc sites at \[dict get \[lindex \[mdbg::history] end] time]"]
	set byfunction [live $m "malloc sites by function at \[dict get \[lindex \[mdbg::history] end] time]"]
	set tree [live $m "malloc tree at \[dict get \[lindex \[mdbg::history] end] time]"]
	set alltime {lmap site [mdbg::sites sort total] {dict filter $site key function bytes count total totalbytes freed freedbytes}}
	# When recording began, by a rate at this moment: now, or that of the recording.
	set began {expr {NOW - [dict get [lindex [mdbg::sites sort callrate] 0] total] / [dict get [lindex [mdbg::sites sort callrate] 0] callrate]}}
	set had [live_value $m $alltime]
	set alltree [live $m "malloc tree sort total"]
	# Exports have what was allocated in all. Those with a filter are without blocks from before the attach.
	live_all $m "export folded $::tmp/live.folded function == grow_filled sort total" "export callgrind $::tmp/live.callgrind function == grow_filled"
	set calls [live_value $m [string map {NOW {[clock microseconds] / 1e6}} $began]]
	set sorted [replay_calls [live $m "malloc sites sort callrate"]]
	live $m "export folded $::tmp/live.diff diff early sort total"
	set account [replay_rows [live $m "memory account"] $parts]
	# It is taken some seconds after the attach.
	until {[mdbg -q --replay $::tmp/rec -c "memory account"; expr {$::status == 0}]}
	set was [replay_rows $::out $parts]
	check {$was eq $account} {account: [replay_differences $was $account]}
	live $m "record off"

	set r [live_start --replay $::tmp/rec]
	check {[live_value $r "dict get \[mdbg::malloc] active"] == 150} {active: $::result}
	set end [live_value $r "dict get \[lindex \[mdbg::history] end] time"]
	foreach {command is} [list "malloc sites at $end" $sites "malloc sites by function at $end" $byfunction] {
		# What a process has beside its recording: growth over the last seconds.
		check {[regsub -all -line {^    growth .*\n} [replay_plain [live $r $command]] ""] eq [regsub -all -line {^    growth .*\n|^Not in these: .*\n} [replay_plain $is] ""]} {$command: [live $r $command] instead of $is}
	}
	check {[regsub {at .*?:\n} [live $r "malloc tree at $end"] ""] eq [regsub {at .*?:\n} $tree ""]} {tree: [live $r "malloc tree at $end"] instead of $tree}
	check {[live_value $r $alltime] eq $had && [llength $had]} {all-time: $::result instead of $had}
	# Blocks from before the attach, and the stop for them, are the process's.
	regsub -all -line {^(?:Not in these|The process stood).*\n?} $alltree "" alltree
	regsub -line { at .*:$} [live $r "malloc tree sort total"] : tree
	check {[string trim $tree] eq [string trim $alltree]} {tree: $tree instead of $alltree}
	live_all $r "export folded $::tmp/folded function == grow_filled sort total" "export callgrind $::tmp/callgrind function == grow_filled"
	check {[slurp $::tmp/folded] eq [slurp $::tmp/live.folded]} {[slurp $::tmp/folded] instead of [slurp $::tmp/live.folded]}
	foreach name {callgrind live.callgrind} {
		set costs($name) [lsearch -all -inline -regexp [split [slurp $::tmp/$name] \n] {^(events|summary|totals|fn|calls|[0-9+*-]+ \d)}]
	}
	check {$costs(callgrind) eq $costs(live.callgrind) && [llength $costs(callgrind)] > 5} {[replay_differences $costs(callgrind) $costs(live.callgrind)]}
	# A rate is what there was in all, by the time since recording began: the same begin.
	check {abs([live_value $r [string map {NOW {[dict get [lindex [mdbg::history] end] time]}} $began]] - $calls) < 2} {recording began at $::result instead of $calls}
	check {[replay_calls [live $r "malloc sites sort callrate"]] eq $sorted} {[live $r "malloc sites sort callrate"] instead of $sorted}
	live $r "export folded $::tmp/diff diff early sort total"
	check {[slurp $::tmp/diff] eq [slurp $::tmp/live.diff] && [slurp $::tmp/diff] ne ""} {[slurp $::tmp/diff] instead of [slurp $::tmp/live.diff]}
	set first [live_value $r "dict get \[lindex \[mdbg::history] 0] time"]
	check {[regexp {\n    from .* 3200 bytes in 100 blocks\n    to .* 4800 bytes in 150 blocks\n} [live $r "malloc diff $first"]]} {diff: [live $r "malloc diff $first"]}
	set was [replay_memory [live $r "memory at $first"] $kinds]
	check {$was eq $memory} {memory: [replay_differences $was $memory]}
	check {[string match "*this is known of now only*" [live_error $m "memory at -1s"]]} {memory at, of a process}
	# The report has the account as it was taken last.
	live $r "report $::tmp/report.html"
	check {[regexp {<p>This was taken at [^<]*</p>.*<th scope="row">held</th><td>(\d+)</td>} [slurp $::tmp/report.html] -> held]} {no account}
	check {$held == [lindex [lsearch -inline $account held*] 1]} {the account has $held: $account}
	# A file for other programs, and one that is compared with the recording.
	live $r "export csv $::tmp/history.csv history"
	check {[lindex [split [lindex [split [string trim [slurp $::tmp/history.csv]] \n] end] ,] 2] == 150} {[slurp $::tmp/history.csv]}
	live_end $r
	finish $t $m
}

# While it is written: what has come since is seen at the end of the recording, by its commands.
case replay-follows-its-recorder 60 {
	start_watched {t m} grower
	order $t "fill 10"
	live $m "record $::tmp/rec"
	set r [live_start --replay $::tmp/rec]
	check {[live_value $r {dict get [mdbg::malloc] active}] == 10} {$::result}
	order $t "fill 30"
	live $m "record now"
	check {[live_value $r {dict get [mdbg::malloc] active}] == 10} {another command has moved on: $::result}
	check {[regexp {^\S+ \S+: 1280 bytes in 40 blocks, [^\n]*$} [live $r "replay follow"]]} {[live $r "replay follow"]}
	order $t "fill 5"
	check {[regexp {40 blocks.*45 blocks} [live $r "replay watch 0.1 2"]]} {the watch has not waited for it}
	live $m "record off"
	check {[string match "*45 blocks*\nNothing is added to it now: *" [live $r "replay follow"]]} {[live $r "replay follow"]}
	live_end $r
	finish $t $m
}

# The service was built anew in between: moments of one recording, and recordings without a process, are compared by
# build-id where they can be, and by names else.
case replay-diff-of-two-builds 120 {
	set sources [file normalize $::here/../targets]
	set samples 0
	foreach {flags fill} {{-O2 -g} 100 {-O1 -g} 150} {
		exec [need c++] -std=gnu++17 -fomit-frame-pointer {*}$flags -I$sources -o $::tmp/grower $sources/grower.cc -pthread -ldl 2>@1
		set t [start_command $::tmp/grower]
		set m [live_start -p [pid_of $t]]
		orders $t "table 100000" "fill $fill"
		live $m "record $::tmp/rec"
		replay_written $m $::tmp/rec [incr samples]
		set samples [live_value $m "dict get \[lindex \[mdbg::recordings $::tmp/rec] 0] samples"]
		finish $t $m
	}
	set r [live_start --replay $::tmp/rec]
	set first [live_value $r {dict get [lindex [mdbg::history] 0] time}]
	set said [live $r "malloc diff $first"]
	check {[regexp {\n#1  \+1600 bytes in \+50 blocks\n    in grow_filled\S* \(grower\.cc:\d+\)\n} $said]} {$said}
	check {[string match "*matched by build-id and offset: 0 sites; by names: 2 sites; only in one: 0 sites\n1 sites changed; grown 1600 bytes, shrunk 0 bytes*" $said]} {$said}
	check {[live_value $r "dict get \[lindex \[mdbg::diff $first] 0] matched"] eq "names"} {$::result}
	live_end $r
	set ends "$::tmp/rec@$first $::tmp/rec"
	check {[string match "*by names: 2 sites; only in one: 0 sites*" [mdbg_ok -q -c "malloc diff $ends"]]} {$::out}
	check {[string match "*offset: 2 sites; by names: 0 sites; only in one: 0 sites\n0 sites changed;*" [mdbg_ok -q -c "malloc diff $::tmp/rec $::tmp/rec"]]} {$::out}
	mdbg_ok -q -c "export folded $::tmp/folded diff $ends; export flamegraph $::tmp/a.svg diff $ends"
	check {[regexp {^[^\n]*;grow_filled\(worker\*\);malloc 3200 4800\n$} [slurp $::tmp/folded]]} {[slurp $::tmp/folded]}
	check {[regexp {<g class="grown"><title>grow_filled\(worker\*\) \(1600 bytes changed: 1600 grown, 0 shrunk, 100.00 %\)} [slurp $::tmp/a.svg]]} {the graph}
	mdbg -q -c "malloc diff $::tmp/rec@yesterday $::tmp/rec"
	check_refused 1 "$::tmp/rec@: 'yesterday' is not a time" ""
	mdbg -q -c "malloc diff $::tmp $::tmp/rec"
	check_refused 1 "$::tmp: there is no recording in this folder" ""
}

case replay-says-what-it-lacks 30 {
	start_watched {t m} grower
	order $t "fill 10"
	live $m "record $::tmp/rec"
	replay_written $m $::tmp/rec 1
	finish $t $m
	foreach command {{malloc leaks} {malloc allocations} {print 1} where thread {malloc on} {malloc mark a} {malloc find 1} {growth} mdbg::lacks {memory maps}} {
		mdbg -q --replay $::tmp/rec -c $command
		check_refused 1 "there is no process, only its recording" "a recording answers: malloc, malloc sites"
	}
	foreach {what command} {age {malloc sites sort age} age {malloc sites age > 5m} thread {malloc sites by thread}
		size {export folded /dev/stdout size > 1K}} {
		mdbg -q --replay $::tmp/rec -c $command
		check_refused 1 "$what is not answered by a recording" "a recording answers: malloc, malloc sites"
	}
	# The report of a recording that has no account yet says so.
	mdbg_ok -q --replay $::tmp/rec -c "report $::tmp/report.html"
	check {[regexp {<h2>What is in memory</h2>\s*<p>the recording has no account at [^<]*: it is taken every} [slurp $::tmp/report.html]]} {no word of the account}
	mdbg -q --replay $::tmp/rec -c "malloc sites at '2001-01-01 00:00'"
	check_refused 1 "the recording begins at" ""
	mdbg -q --replay $::tmp/rec@2001-01-01
	check_refused 3 "the recording begins at" ""
	mdbg -q --replay $::tmp/none
	check_refused 3 "there is no" ""
	check {[regexp {^The recording:\n.*grower.*bytes held by the user\.+ 320\n} [mdbg_ok -q --replay $::tmp/rec -c status]]} {status: $::out}
	# Two of one process are its sums, and one view.
	check {[regexp {\n#1  640 bytes in 20 blocks } [mdbg_ok -q --replay $::tmp/rec --replay $::tmp/rec -c {malloc sites}]]} {twice: $::out}
	set now '[string trim [mdbg_ok -q --replay $::tmp/rec -c {puts [clock format [expr {round([dict get [lindex [mdbg::history] end] time])}] -format {%Y-%m-%d %H:%M:%S}]}]]'
	check {[string match "*\n0 sites changed; *" [mdbg_ok -q --replay $::tmp/rec -c "malloc diff $now now"]]} {diff $now: $::out}
	check {[regexp -line {^No process.$} [mdbg_ok -q --replay $::tmp/rec -c detach -c status]]} {detach: $::out}
}
