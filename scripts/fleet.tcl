# SPDX-License-Identifier: GPL-3.0-or-later
# Post the sites of processes to a store of profiles, again and again. docs/fleet.md tells how many
# machines are watched, and `mdbg -x fleet.tcl -- -h` how this is used.
#
# An mdbg has one process. So there are two ways to run: an mdbg that is attached posts, and one
# that is not looks for processes, and starts an mdbg with this script (and -child) for each.
#
# Nothing here stops a process. An export of recorded blocks only reads the log. A request is sent
# by the event loop, and the process does not wait for it.
#
# Memory is bounded: there is one profile, which a newer one replaces, and one connection. Tcl can
# not throw away what a receiver has not taken yet, but sends it in the background even after a
# close. So a connection with unsent data is kept, and no other is opened meanwhile. For this reason
# and since it reads a header line of any length, Tcl's own http package is not used.

set usage "usage: mdbg -p PID -x fleet.tcl -- \[OPTION\]... URL SECONDS \[NAME=VALUE\]...
       mdbg -x fleet.tcl -- \[OPTION\]... {-p PID | -name NAME | -cgroup PATH}
            URL SECONDS \[NAME=VALUE\]...
Post the sites of a process as pprof to URL/ingest (Pyroscope's) every SECONDS, until the process
ends, or Ctrl-C. Each NAME=VALUE is a label, beside pid and host; NAME= leaves the label out. With
-name and -cgroup, there is an mdbg for each process, also for those that begin later.

  -p PID          the process
  -name NAME      all processes of this name (/proc/PID/comm)
  -cgroup PATH    all processes of this control group, and of those below it; PATH is that of
                  /proc/PID/cgroup (/system.slice/nginx.service)
  -app NAME       the name of the application in the store; the process's name unless given
  -sample BYTES   record one in so many bytes, as mdbg's --sample
  -timeout S      the most seconds from a connection to an answer (30)
  -most N         so many processes at once (64)
  -h              this text

Only blocks that were allocated after the attach are posted. A post that fails is tried again, after
1 to 60 seconds, while other profiles are left out. Status: 0 when the process has ended; 1 if
something is wrong with the words."

set script [info script]
source [file join [file dirname $script] service.tcl]

set ways "mdbg -p PID -x fleet.tcl -- URL SECONDS \[NAME=VALUE\]...; -h says more"
set longest_pause 60		;# s between two tries
set attaches_at_once 4		;# in a look for processes

# --- words --------------------------------------------------------------------------------------

proc take_options {argv} {
	global option

	array set option {-p "" -name "" -cgroup "" -app "" -sample "" -timeout 30 -most 64 -child 0}
	set argv [read_options $argv -child]
	if {$option(-p) ne ""} {
		whole_number $option(-p) "process id" 1
	}
	if {$option(-sample) ne ""} {
		whole_number $option(-sample) "number of bytes" 0
	}
	whole_number $option(-most) "number of processes" 1
	number_of_seconds $option(-timeout) -timeout
	return $argv
}

# Sets ::host, ::port and ::path.
proc take_url {url} {
	set pattern {^http://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:(\d{1,5}))?(/[!-~]*)?$}
	if {![regexp $pattern $url -> host - port path] ||
	    [regexp {[?#]} $path] || $port ne "" && ($port < 1 || $port > 65535)} {
		refuse "'$url' is no URL to post to" [expr {[string match https:* $url] ?
			"TLS takes a proxy on this machine: docs/fleet.md" :
			"such as http://localhost:4040; what follows '?' is made here"}]
	}
	set ::host_word $host[expr {$port eq "" ? "" : ":$port"}]
	set ::host [string trim $host {[]}]
	set ::port [expr {$port eq "" ? 80 : [scan $port %d]}]
	set ::path [regsub {(/ingest)?/*$} $path ""]/ingest
}

# A store splits `app{name=value,name=value}` at these characters, and knows no quotes.
proc label_value {value} {
	set text ""
	foreach char [split $value ""] {
		append text [expr {[regexp {[\u0000-\u001f\u007f-\u009f{},]} $char] ? [percent $char] : $char}]
	}
	return [string trim $text]
}

proc take_labels {words} {
	global labels

	set labels [dict create host [info hostname]]
	foreach word $words {
		if {![regexp {^([A-Za-z_][A-Za-z0-9_]*)=(.*)$} $word -> name value]} {
			refuse "'$word' is no label" "NAME=VALUE; NAME has letters, digits and _"
		}
		dict set labels $name $value
	}
}

# --- one process --------------------------------------------------------------------------------

# The name in the store: `app{pid=1,host=h}`.
proc series_name {} {
	global option labels

	set app $option(-app)
	if {$app eq ""} {
		set app [string trimright [slurp /proc/[mdbg::pid]/comm] \n]
	}
	set all [dict merge [dict create pid [mdbg::pid]] $labels]
	set words {}
	dict for {name value} $all {
		if {$value ne ""} {
			lappend words $name=[label_value $value]
		}
	}
	return "[regsub -all {[^A-Za-z0-9._/-]} $app _]{[join $words ,]}"
}

# Put a new profile in the place of the last one. Returns whether there is one.
proc take_profile {} {
	global profile until

	try {
		set profile [take_export {mdbg::export pprof} $::recorded_only]
		set until [clock seconds]
		return 1
	} on error message {
		if {$::ended eq ""} {
			complain $message
		}
		return 0
	}
}

# The same complaint is printed once until a post is taken.
proc complain {why} {
	global complaint

	if {$why ne $complaint} {
		say "process $::pid: $why"
		set complaint $why
	}
}

proc begin_post {} {
	global chan answer alarm profile from until

	set target "$::path?name=[percent $::series]&from=$from&until=$until&format=pprof"
	set answer ""
	if {[catch {socket -async $::host $::port} chan]} {
		set why $chan
		set chan ""
		try_again $why
		return
	}
	chan configure $chan -blocking 0 -translation binary -buffersize 65536
	chan event $chan readable take_answer
	chan event $chan writable was_sent
	set alarm [after [expr {int(1000 * $::option(-timeout))}] late]
	# A connection that is refused at once is an error here or in was_sent.
	catch {
		puts -nonewline $chan "POST $target HTTP/1.0\r\nHost: $::host_word\r\nUser-Agent: mdbg\r\n"
		puts -nonewline $chan "Content-Type: application/octet-stream\r\n"
		puts -nonewline $chan "Content-Length: [string length $profile]\r\n\r\n"
		puts -nonewline $chan $profile
		flush $chan
	}
}

proc was_sent {} {
	global chan

	set why [chan configure $chan -error]
	if {$why ne ""} {
		end_post
		try_again $why
	} else {
		chan event $chan writable {}
	}
}

# Only the status line is read, whatever else is sent.
proc take_answer {} {
	global chan answer

	if {[catch {append answer [read $chan 4096]} why]} {
		end_post
		try_again $why
		return
	}
	if {![string match *\n* $answer] && [string length $answer] < 4096 && ![eof $chan]} {
		return
	}
	end_post
	if {![regexp {^HTTP/1\.\d ((\d)\d\d[^\r\n]{0,60})} $answer -> status class]} {
		try_again [expr {$answer eq "" ? "the connection was closed without an answer" :
			"the answer is not HTTP"}]
	} elseif {$class == 2} {
		was_taken
	} elseif {$class == 4 && [lindex $status 0] ni {408 429}} {
		# The same again would get the same answer.
		incr ::left_out
		complain "answered: $status"
	} else {
		try_again "answered: $status"
	}
}

proc late {} {
	global chan alarm

	if {[chan pending output $chan]} {
		set alarm [after [expr {int(1000 * $::option(-timeout))}] late]
		complain "$::host_word takes no data"
		return
	}
	end_post
	try_again "no answer within $::option(-timeout) s"
}

# Close the connection, or wait with that until all was sent or the receiver has gone.
proc end_post {} {
	global chan alarm

	after cancel $alarm
	chan event $chan readable {}
	if {[chan pending output $chan]} {
		chan event $chan writable end_post
		return
	}
	catch {close $chan}
	set chan ""
}

proc was_taken {} {
	global failures left_out complaint from until

	if {$complaint ne ""} {
		say "process $::pid: posts are taken again, $left_out profiles were left out"
	}
	set complaint ""
	set failures 0
	set left_out 0
	set from $until
}

# Many machines lose their store at the same moment. They must not come back at the same moment.
proc try_again {why} {
	global failures retry

	complain $why
	set pause [expr {min($::longest_pause, 1 << min($failures, 10)) * (0.75 + rand() / 2)}]
	incr failures
	set retry [after [expr {int(1000 * $pause)}] again]
}

proc again {} {
	global retry until

	set retry ""
	if {$::chan ne ""} {
		set retry [after 1000 again]
	} elseif {[clock seconds] - $until < $::seconds || [take_profile]} {
		begin_post
	}
}

proc tick {} {
	global due

	set now [clock milliseconds]
	set due [expr {max($due + 1000 * $::seconds, $now + 1)}]
	after [expr {int($due - $now)}] tick
	if {$::chan ne "" || $::retry ne ""} {
		incr ::left_out
	} elseif {[take_profile]} {
		begin_post
	}
}

proc watch_process {} {
	global ended pid series chan

	set pid [mdbg::pid]
	set series [series_name]
	set ended ""
	foreach name {chan retry complaint alarm} {
		set ::$name ""
	}
	foreach name {failures left_out} {
		set ::$name 0
	}
	set ::from [set ::until [clock seconds]]
	puts "process $pid is posted every $::seconds s to $::host_word as [printable $series]"
	flush stdout
	set ::due [expr {[clock milliseconds] + 1000.0 * $::seconds}]
	after [expr {int(1000 * $::seconds)}] tick
	wait exit
	set ended 1
	after cancel tick
	# The last profile may be on its way.
	catch {wait until {$::chan eq ""} timeout 5}
	exit 0
}

# --- many processes -----------------------------------------------------------------------------

# Each line is N:CONTROLLERS:PATH.
proc in_group {pid group} {
	foreach line [split [slurp /proc/$pid/cgroup] \n] {
		if {[regexp {^\d+:[^:]*:(/.*)$} $line -> path] &&
		    [string equal -length [string length $group/] $group/ $path/]} {
			return 1
		}
	}
	return 0
}

# {PID START} of each that is to be watched.
proc find_processes {} {
	global option workers

	set own [concat [pid] [lmap worker [dict values $workers] { pid $worker }]]
	set group [string trimright $option(-cgroup) /]
	set found {}
	foreach pid [glob -nocomplain -directory /proc -tails {[0-9]*}] {
		if {$pid in $own || $option(-name) ne "" && ![has_name $pid $option(-name)]} {
			continue
		}
		# A thread of the kernel has no program.
		if {$option(-cgroup) ne "" &&
		    (![in_group $pid $group] || [catch {file readlink /proc/$pid/exe}])} {
			continue
		}
		set start [start_time $pid]
		if {$start ne ""} {
			lappend found [list $pid $start]
		}
	}
	return $found
}

proc start_worker {process} {
	global option workers

	set pid [lindex $process 0]
	set command [list [info nameofexecutable] -n -q -p $pid -x $::script]
	if {$option(-sample) ne ""} {
		lappend command --sample $option(-sample)
	}
	lappend command -- -child -timeout $option(-timeout)
	if {$option(-app) ne ""} {
		lappend command -app [regsub -all {[^A-Za-z0-9._/-]} $option(-app) _]
	}
	if {[catch {open |[list {*}$command {*}$::words 2>@stderr] r+} chan]} {
		worker_failed $process $chan
		return
	}
	chan configure $chan -blocking 0
	chan event $chan readable [list take_lines $process $chan]
	dict set workers $process $chan
}

# It is not tried again at once: that would stop the process again and again.
proc worker_failed {process why} {
	global failed

	set pause 60
	if {[dict exists $failed $process]} {
		set pause [expr {min(2 * [lindex [dict get $failed $process] 0], 3600)}]
	}
	dict set failed $process [list $pause [expr {[clock seconds] + $pause}]]
	say "process [lindex $process 0]: $why; tried again in $pause s"
}

# Pass on what the mdbg of a process prints. Its end is the end of its process, or an error.
proc take_lines {process chan} {
	global workers

	puts -nonewline [read $chan 65536]
	flush stdout
	if {![eof $chan]} {
		return
	}
	dict unset workers $process
	chan configure $chan -blocking 1
	if {[catch {close $chan} message result]} {
		set code [dict get $result -errorcode]
		worker_failed $process [expr {[lindex $code 0] eq "CHILDSTATUS" ?
			"its mdbg ended with status [lindex $code 2]" : $message}]
	}
}

# The end of its input ends an mdbg with -child, which takes its probes out. The end of this mdbg is
# the end of their input.
proc look_for_processes {} {
	global option workers failed crowded

	after $::look_ms look_for_processes
	set found [find_processes]
	foreach process [dict keys $workers] {
		if {$process ni $found} {
			catch {chan close [dict get $workers $process] write}
		}
	}
	foreach process [dict keys $failed] {
		if {$process ni $found} {
			dict unset failed $process
		}
	}
	set started 0
	foreach process $found {
		if {[dict exists $workers $process] ||
		    [dict exists $failed $process] && [lindex [dict get $failed $process] 1] > [clock seconds]} {
			continue
		}
		if {[dict size $workers] >= $option(-most)} {
			if {!$crowded} {
				say "more than $option(-most) processes: the others are left out (-most)"
			}
			set crowded 1
			return
		}
		if {[incr started] > $::attaches_at_once} {
			return
		}
		start_worker $process
	}
	set crowded 0
}

proc watch_many {} {
	set ::workers [dict create]
	set ::failed [dict create]
	set ::crowded 0
	set ::look_ms [expr {int(1000 * min(max($::seconds, 1), 15))}]
	puts "looking for processes every [expr {$::look_ms / 1000.0}] s"
	flush stdout
	look_for_processes
	vwait forever
}

# --- begin --------------------------------------------------------------------------------------

set words [take_options $argv]
if {[llength $words] < 2} {
	refuse "URL and SECONDS are missing"
}
lassign $words url seconds
take_url $url
number_of_seconds $seconds SECONDS
take_labels [lrange $words 2 end]
set many [expr {$option(-name) ne "" || $option(-cgroup) ne ""}]
if {$option(-cgroup) ne "" && ![string match /* $option(-cgroup)]} {
	refuse "'$option(-cgroup)' is no control group" \
		"/proc/PID/cgroup has the path behind its last colon"
}
if {([mdbg::pid] != 0) + ($option(-p) ne "") + $many > 1} {
	refuse "the process is given twice"
}
if {$many} {
	watch_many
}
if {[mdbg::pid] == 0} {
	if {$option(-p) eq ""} {
		refuse "no process"
	}
	mdbg::attach $option(-p) {*}[expr {$option(-sample) eq "" ? {} : [list -sample $option(-sample)]}]
} elseif {$option(-sample) ne "" && !$option(-child)} {
	refuse "-sample goes with the script's own -p" "for `mdbg -p` there is --sample"
}
if {$option(-child)} {
	chan configure stdin -blocking 0
	chan event stdin readable { read stdin 4096; if {[eof stdin]} { exit 0 } }
}
watch_process
