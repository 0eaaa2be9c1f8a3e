# SPDX-License-Identifier: GPL-3.0-or-later
# mdbg --record DIR: a recorder that goes on whatever happens to its process, and to itself.

# Start a recorder of `name`; $tmp/record.err gets what it says.
proc start_recorder {name args} {
	file mkdir $::tmp/recording
	file attributes $::tmp/recording -permissions 0700
	return [exec {*}[mdbg_command -n --record $::tmp/recording -p $name {*}$args] \
		</dev/null >@stdout 2>>$::tmp/record.err &]
}

proc recorded_bytes {} {
	set bytes 0
	foreach file [glob -nocomplain $::tmp/recording/*.mrec] {
		incr bytes [file size $file]
	}
	return $bytes
}

proc end_recorder {pid} {
	exec kill -TERM $pid
	until {![is_alive $pid]}
}

case record-goes-on-after-its-process-and-itself 60 {
	set name rec[pid]
	file copy $::build/targets/exact $::tmp/$name
	set t [start_command $::tmp/$name]
	set before [state [pid_of $t]]
	set recorder [start_recorder $name]
	until {[recorded_bytes] > 2000}
	# Two on one folder: the second is told who the first is.
	mdbg -n --record $::tmp/recording -p [pid_of $t]
	check_refused 1 "*another recorder writes to it: process $recorder*"
	exec kill -KILL $recorder
	until {![is_alive $recorder]}
	set so_far [recorded_bytes]
	set recorder [start_recorder $name]
	until {[recorded_bytes] > $so_far + 2000}
	check {[llength [glob $::tmp/recording/*.mrec]] == 2} {a recorder has gone on in the file of another one}
	end_recorder $recorder
	check_state $before [pid_of $t]
	set recorder [start_recorder $name]
	until {[llength [glob $::tmp/recording/*.mrec]] == 3}
	finish $t
	set t [start_command $::tmp/$name]
	until {[string match "*process [pid_of $t] is recorded*" [slurp $::tmp/record.err]]}
	end_recorder $recorder
	finish $t
}

case record-at-the-prompt 60 {
	set t [start exact]
	set m [live_start -q -p [pid_of $t]]
	check {[live $m record] eq "Nothing is recorded."} {[live $m record]}
	check {[string match "*16M at least*" [live_error $m "record $::tmp/rec size 1K"]]} {$::result}
	live $m "record $::tmp/rec keep 1h size 16M"
	check {[string match "*$::tmp/rec: 1 files, *Kept for 1 h*, up to 16777216 bytes. 1 samples*" [live $m record]]} {
		[live $m record]
	}
	check {[string match "*recorded to $::tmp/rec already*" [live_error $m "record $::tmp/other"]]} {$::result}
	live $m "record off"
	check {[live $m record] eq "Nothing is recorded."} {[live $m record]}
	finish $t $m
}

proc shared_kb {pid} {
	regexp {RssShmem:\s+(\d+) kB} [slurp /proc/$pid/status] - kb
	return $kb
}

# While it records, mdbg does beside it what it does with less time and memory, and afterwards as before.
case record-is-sparing 60 {
	start_watched {t before m} branches
	orders $t "hold 200000 16"
	set most {at most, at [-0-9: ]+, as far as looks every %d ms have seen}
	# All of it is in what was found, or a later sample would be the peak.
	until {[live_value $m {dict get [lindex [mdbg::sites at peak limit 1] 0] count}] == 200000 &&
		[regexp [format $most 4] [live $m "malloc sites at peak"]]}
	until {[shared_kb [live_value $m pid]] > 4000}
	live $m "record $::tmp/rec"
	until {[regexp [format $most 16] [live $m "malloc sites at peak"]]}
	until {[live $m "record now"] eq "" && [shared_kb [live_value $m pid]] < 2000}
	check {[live_value $m {dict get [lindex [mdbg::sites limit 1] 0] count}] == 200000} {$::result}
	live $m "record off"
	until {[regexp [format $most 4] [live $m "malloc sites at peak"]]}
	finish $t $m $before
}

proc is_shallow {dir} {
	mdbg --replay $dir -c "malloc sites"
	return [string match "*(stack ends here: stack depth)*" $::out]
}

case record-all-of-a-group 60 {
	set t [start grower]
	set other [start exact]
	set group [own_group memory [pid_of $t]]
	spit $group/cgroup.procs [pid_of $other]
	file mkdir $::tmp/recording
	file attributes $::tmp/recording -permissions 0700
	regsub {^/sys/fs/cgroup(/memory)?} $group {} name
	set recorder [exec {*}[mdbg_command -n --cost off --engine breakpoint --stack-depth 2 --record $::tmp/recording --group $name] </dev/null >@stdout 2>>$::tmp/record.err &]
	until {[llength [glob -nocomplain $::tmp/recording/*/*.mrec]] == 2}
	check {[lsort [lmap dir [glob -directory $::tmp/recording -tails *] {regexp -inline {^\d+} $dir}]] eq
		[lsort [list [pid_of $t] [pid_of $other]]]} {[glob $::tmp/recording/*]}
	order $t "fill 100"
	set dir [glob $::tmp/recording/[pid_of $t]-*]
	# The settings are those of this mdbg.
	until {[is_shallow $dir]}
	end_recorder $recorder
	check {[slurp $::tmp/record.err] eq ""} {[slurp $::tmp/record.err]}
	finish $t
	finish $other
	until {![catch {file delete $group}]}
}

# Somebody has taken all processes that there may be: recorders that run go on, and the others are started when that is over.
case record-group-without-processes 60 {
	set t [start grower]
	set group [own_group memory [pid_of $t]]
	file mkdir $::tmp/recording
	file attributes $::tmp/recording -permissions 0700
	regsub {^/sys/fs/cgroup(/memory)?} $group {} name
	set recorder [exec {*}[mdbg_command -n -q --record $::tmp/recording --group $name] </dev/null >@stdout 2>>$::tmp/record.err &]
	until {[llength [glob -nocomplain $::tmp/recording/*/*.mrec]] == 1}
	set few [own_group pids $recorder]
	spit $few/pids.max 1
	set other [start exact]
	spit $group/cgroup.procs [pid_of $other]
	until {[string match "*start a recorder of process [pid_of $other]: *\n*tried again*" [slurp $::tmp/record.err]]}
	check {[is_alive $recorder]} {it has ended}
	spit $few/pids.max max
	until {[llength [glob -nocomplain $::tmp/recording/[pid_of $other]-*/*.mrec]] == 1}
	check {[regexp -all {start a recorder} [slurp $::tmp/record.err]] == 1} {[slurp $::tmp/record.err]}
	end_recorder $recorder
	finish $t
	finish $other
	until {![catch {file delete $few; file delete $group}]}
}

# Children that live for a millisecond are summed up by program: none is missed, and rows and bytes stay few.
# CHILD_RUNS: how many (300). The program is /proc/self/exe, by which name it has executed itself.
case record-short-lived-children 120 {
	set runs [expr {[info exists ::env(CHILD_RUNS)] ? $::env(CHILD_RUNS) : 300}]
	set t [start forker]
	set m [live_start -q -p [pid_of $t]]
	live $m "record $::tmp/rec"
	foreach {order nr} [list spawn $runs system 20 vfork 10] {
		order $t "$order $nr" 600
	}
	live $m "record off"
	finish $t $m
	set r [live_start --replay $::tmp/rec]
	skip_if {[regexp -line {note .* children are not recorded: (.*)$} [live $r "replay events"] -> why]} {$why}
	foreach child [live_value $r mdbg::children] {
		set is([dict get $child program]) $child
	}
	check {[lsort [array names is]] eq {exe sh}} {[array get is]}
	check {[dict get $is(exe) runs] == $runs + 10 && [dict get $is(exe) failed] == $runs + 10} {$is(exe)}
	check {[dict get $is(sh) runs] == 20 && [dict get $is(sh) failed] == 20} {$is(sh)}
	check {[dict get $is(sh) mean] > 100000 && [dict get $is(sh) most] >= [dict get $is(sh) mean]} {$is(sh)}
	check {[regexp -line "^exe +[expr {$runs + 10}] +[expr {$runs + 10}] " [live $r "replay children sort runs limit 1"]]} {
		[live $r "replay children"]
	}
	set last [live_value $r {dict get [lindex [mdbg::history] end] time}]
	check {[live_value $r "mdbg::children since $last"] eq {}} {since the last sample: $::result}
	check {[file size $::tmp/rec/00000001.mrec] < 100000} {[file size $::tmp/rec/00000001.mrec] bytes}
	live_end $r
}
