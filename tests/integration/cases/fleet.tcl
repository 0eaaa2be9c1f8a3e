# SPDX-License-Identifier: GPL-3.0-or-later
# fleet.tcl: what it posts, a receiver that fails, and many processes.

set fleet $here/../../scripts/fleet.tcl

# A receiver of posts (receiver.py); sets ::port. Returns its channel.
proc start_receiver {port args} {
	set chan [open |[list [need python3] $::here/receiver.py $::tmp $port {*}$args 2>@stderr] r]
	set line [hear $chan]
	check {[regexp {^listening (\d+)$} $line -> ::port]} {the receiver says $line}
	return $chan
}

proc end_receiver {chan} {
	exec kill -KILL [pid $chan]
	ending $chan
}

# The next post: a dict of what its query says.
proc hear_post {chan} {
	lassign [split [hear $chan] \t] nr file answer path name from until format
	return [dict create nr $nr file $::tmp/$file answer $answer path $path name $name from $from until $until format $format]
}

# The next one whose answer it is.
proc hear_answer {chan answer} {
	while {[dict get [set post [hear_post $chan]] answer] ne $answer} {}
	return $post
}

proc begin_fleet {args} {
	return [open |[list {*}[mdbg_command -q -x $::fleet -- {*}$args] 2> $::tmp/fleet.err] r]
}

# End by a signal; the status must be that of mdbg.
proc end_fleet {m signal want} {
	exec kill -$signal [pid $m]
	until {![is_alive [pid $m]]}
	set end [ending $m]
	check {$end eq $want} {after SIG$signal: $end: [slurp $::tmp/fleet.err]}
}

proc fleet_said {text} {
	return [expr {[string first $text [slurp $::tmp/fleet.err]] >= 0}]
}

# Wait for a post whose profile has these figures; posts before it have no blocks, or fewer.
proc hear_profile {chan bytes count} {
	while {1} {
		set post [hear_post $chan]
		lassign [read_pprof [dict get $post file]] got got_count early
		check {$early == 0} {$early bytes from before the attach}
		if {$got == $bytes && $got_count == $count} {
			return $post
		}
		check {$got <= $bytes} {$got bytes are posted, $bytes are held}
	}
}

case fleet-usage 60 {
	check {[string match "usage: mdbg *fleet.tcl*" [mdbg_ok -x $::fleet -- -h]]} {$::out}
	foreach {words why} {
		{} {URL and SECONDS}
		{http://h} {URL and SECONDS}
		{http://h 1} {no process}
		{ftp://h 1} {is no URL}
		{https://h 1} {is no URL}
		{http://h:0 1} {is no URL}
		{http://h:65536 1} {is no URL}
		{http://h/?a=b 1} {is no URL}
		{http://user:word@h 1} {is no URL}
		{http:// 1} {is no URL}
		{"http://h/\n" 1} {is no URL}
		{http://h 0} {no number of seconds}
		{http://h -1} {no number of seconds}
		{http://h NaN} {no number of seconds}
		{http://h Inf} {no number of seconds}
		{http://h x} {no number of seconds}
		{http://h 1 label} {is no label}
		{http://h 1 1a=b} {is no label}
		{http://h 1 a-b=c} {is no label}
		{http://h 1 =c} {is no label}
		{-wrong http://h 1} {no option -wrong}
		{-name} {a value goes after -name}
		{-p x http://h 1} {no process id}
		{-p 0 http://h 1} {no process id}
		{-p 1 -name a http://h 1} {given twice}
		{-sample x -p 1 http://h 1} {no number of bytes}
		{-most 0 -name a http://h 1} {no number of processes}
		{-timeout 0 -p 1 http://h 1} {no number of seconds}
		{-cgroup a.slice http://h 1} {no control group}
	} {
		mdbg -x $::fleet -- {*}$words
		check_refused 1 $why
		check {$::out eq "" && [llength [split [string trim $::err] "\n"]] == 2} {$words: $::out$::err}
	}
}

# Each post is read by pprof, and has what is held then. Labels of any letters arrive, and none adds a label.
by_both case fleet-posts 90 {
	set t [start grower]
	order $t "fill 10"
	set before [state [pid_of $t]]
	set r [start_receiver 0 200]
	set m [begin_fleet -p [pid_of $t] http://127.0.0.1:$::port/ 0.2 "region=a b&c=d\"e'%41+é/" "evil= x,pid=1\}\{\n\033 " host=]
	set line [hear $m]
	check {[string match "process [pid_of $t] is posted every 0.2 s to 127.0.0.1:$::port as grower\{*" $line]} {$line}
	order $t "fill 100"
	set post [hear_profile $r 3200 100]
	check {[dict get $post name] eq "grower\{pid=[pid_of $t],region=a b&c=d\"e'%41+é/,evil=x%2Cpid=1%7D%7B%0A%1B\}"} {$post}
	check {[dict get $post path] eq "/ingest" && [dict get $post format] eq "pprof"} {$post}
	set now [clock seconds]
	check {[dict get $post from] <= [dict get $post until] && abs($now - [dict get $post until]) < 20 * $::slower} {$post at $now}
	order $t "table 5000"
	set later [hear_profile $r 8200 101]
	check {[dict get $later from] >= [dict get $post from] && [dict get $later from] <= [dict get $later until]} {$later}
	check {[slurp $::tmp/fleet.err] eq ""} {[slurp $::tmp/fleet.err]}
	end_fleet $m INT {exit 130}
	order $t calm
	check_state $before [pid_of $t]
	# `mdbg -p`, and other names; the end of the process is the end of it all.
	set m [open |[list {*}[mdbg_command -q -p [pid_of $t] -x $::fleet -- -app "my app" http://localhost:$::port/ingest 0.2 pid=]] r]
	hear $m
	while {[dict get [set post [hear_post $r]] name] ne "my_app\{host=[info hostname]\}"} {}
	check {[dict get $post path] eq "/ingest"} {$post}
	finish $t
	until {![is_alive [pid $m]]}
	check {[ending $m] eq {exit 0}} {status}
	end_receiver $r
}

# A post that fails is tried again, and is said once. Whatever the receiver does, the process goes on and memory is bounded.
case fleet-receiver-fails 120 {
	set t [start grower]
	set before [state [pid_of $t]]
	set r [start_receiver 0 200 500 200 silent 200 close 200 junk 200 huge 200 404 200]
	# Only who says nothing at all is to be late.
	set timeout [expr {2 * $::slower}]
	set m [begin_fleet -p [pid_of $t] -timeout $timeout http://127.0.0.1:$::port 0.1]
	hear $m
	foreach {answer why} [list \
		500 {answered: 500 said so} \
		silent "no answer within $timeout s" \
		close {the connection was closed without an answer} \
		junk {the answer is not HTTP} \
		huge {} \
		404 {answered: 404 said so}] {
		hear_answer $r $answer
		order $t "fill 1"
		hear_answer $r 200
		check {$why eq "" || [fleet_said "process [pid_of $t]: $why"]} {$answer: [slurp $::tmp/fleet.err]}
		until {$why eq "" || [regexp "$why\n\[^\n\]*: posts are taken again, \\d+ profiles were left out\n" [slurp $::tmp/fleet.err]]}
	}
	set lines [split [string trim [slurp $::tmp/fleet.err]] \n]
	check {[llength $lines] == 10} {not one line for each failure and for its end: $lines}
	regexp {VmHWM:\s+(\d+) kB} [slurp /proc/[pid $m]/status] -> peak
	regexp {VmRSS:\s+(\d+) kB} [slurp /proc/[pid $m]/status] -> resident
	note "resident $resident kB, at most $peak kB"
	check {$peak < $resident + 30000} {memory: $resident kB, at most $peak kB}
	# The profile that is being posted is one; those that failed are not.
	until {[llength [glob -nocomplain $::tmp/mdbg-fleet*]] == 0}
	end_fleet $m TERM {exit 143}
	check_state $before [pid_of $t]
	end_receiver $r
	# It is not there, and then it is.
	set m [begin_fleet -p [pid_of $t] http://127.0.0.1:$::port 0.1]
	hear $m
	until {[fleet_said "connection refused"]}
	order $t "fill 1"
	set r [start_receiver $::port 200]
	hear_profile $r 32 1
	end_receiver $r
	# It is gone again, and so is the process.
	finish $t
	until {![is_alive [pid $m]]}
	check {[ending $m] eq {exit 0}} {[slurp $::tmp/fleet.err]}
}

# A receiver that reads nothing: Tcl cannot throw away what it was given to send, so there is one connection and no more.
# The script runs with a stand-in for mdbg, whose profile is larger than what the kernel takes.
case fleet-receiver-is-deaf 60 {
	set r [start_receiver 0 deaf]
	set stand_in [spit $::tmp/stand-in.tcl {
		namespace eval mdbg {
			proc pid {} {
				return [::pid]
			}
			proc export {format path args} {
				set chan [open $path wb]
				puts -nonewline $chan [string repeat profile. 2500000]
				close $chan
			}
		}
		proc sockets {} {
			set sockets 0
			foreach path [glob /proc/[pid]/fd/*] {
				incr sockets [expr {![catch {file readlink $path} to] && [string match socket:* $to]}]
			}
			return $sockets
		}
		proc see_tries {} {
			after 50 see_tries
			set ::tried [expr {$::left_out >= 20}]
		}
		proc wait {what args} {
			see_tries
			while {!$::tried} {
				vwait ::tried
			}
			puts "sockets: [sockets]"
		}
		set argv [lassign $argv script]
		source $script
	}]
	set m [open |[list tclsh $stand_in $::fleet -timeout 0.3 http://127.0.0.1:$::port 0.1 2> $::tmp/fleet.err] r]
	hear $m
	check {[hear $m] eq "sockets: 1"} {connections are left}
	check {[regexp {^mdbg: fleet.tcl: process \d+: 127.0.0.1:\d+ takes no data\n$} [slurp $::tmp/fleet.err]]} {[slurp $::tmp/fleet.err]}
	live_kill $m
	end_receiver $r
}

# A program of its own name: other cases run, too. The first 15 letters are another's, too.
proc start_named {name} {
	if {![file exists $::tmp/$name]} {
		file copy $::build/targets/grower $::tmp/$name
	}
	return [start_command $::tmp/$name]
}

# Wait until each of these processes, and no other one, has posted since now.
proc hear_pids {r targets} {
	set wanted [lsort -integer [lmap t $targets { pid_of $t }]]
	set seen {}
	while {[lsort -integer $seen] ne $wanted} {
		check {[regexp {pid=(\d+)[,\}]} [dict get [hear_post $r] name] -> pid]} {no pid}
		if {$pid in $wanted && $pid ni $seen} {
			lappend seen $pid
		}
	}
}

proc workers_of {m} {
	return [slurp /proc/[pid $m]/task/[pid $m]/children]
}

# All of a name: one ends, one is born; those of a control group; and the end of the mdbg that looks for them.
case fleet-of-a-name 120 {
	set name fleet-target-[pid]
	set other [start_named ${name}-other]
	set targets [lmap nr {1 2 3} { start_named $name }]
	set states [lmap t $targets { state [pid_of $t] }]
	set untouched [state [pid_of $other]]
	set r [start_receiver 0 200]
	set m [begin_fleet -name $name http://127.0.0.1:$::port 0.5 "a=<|>"]
	hear_pids $r $targets
	# (It may have a child of another kind for a moment.)
	until {[llength [workers_of $m]] == 3}
	check_state $untouched [pid_of $other]
	finish [lindex $targets 0]
	until {[llength [workers_of $m]] == 2}
	set born [start_named $name]
	hear_pids $r [list $born {*}[lrange $targets 1 2]]
	# A stray mdbg would keep its probes in; kill -9 lets none stay.
	set workers [workers_of $m]
	exec kill -KILL [pid $m]
	foreach worker $workers {
		until {![is_alive $worker]}
	}
	catch {ending $m}
	foreach t [lrange $targets 1 2] before [lrange $states 1 2] {
		check_state $before [pid_of $t]
	}
	# Its control group is that of all cases, so the name chooses, too.
	regexp -line {^\d+:[^:]*:(/.*)$} [slurp /proc/[pid_of $born]/cgroup] -> group
	set m [begin_fleet -name $name -cgroup $group -most 2 http://127.0.0.1:$::port 0.5]
	until {[fleet_said "more than 2 processes"]}
	until {[llength [workers_of $m]] == 2}
	set workers [workers_of $m]
	end_fleet $m TERM {exit 143}
	foreach worker $workers {
		until {![is_alive $worker]}
	}
	set m [begin_fleet -name $name -cgroup $group/none-such http://127.0.0.1:$::port 0.5]
	hear $m
	# Two looks are over when the mdbg has waited for a second.
	set m2 [begin_fleet -name $name http://127.0.0.1:$::port 0.5]
	hear_pids $r [list $born {*}[lrange $targets 1 2]]
	until {[workers_of $m] eq ""}
	end_fleet $m INT {exit 130}
	end_fleet $m2 INT {exit 130}
	foreach t [lrange $targets 1 2] before [lrange $states 1 2] {
		until {[slurp /proc/[pid_of $t]/task/[pid_of $t]/children] eq ""}
		finish $t
	}
	finish $born
	finish $other
	end_receiver $r
}
