# SPDX-License-Identifier: GPL-3.0-or-later
# Serve profiles, a report and metrics of a process by HTTP, to who asks for them: `go tool pprof`,
# Prometheus, Alloy, Parca, a browser. docs/fleet.md tells how it is used, docs/security.md who can
# read what, and `mdbg -x serve.tcl -- -h` lists the options.
#
# http.tcl has the connections: no client holds up another, or the process. An answer is kept for a
# moment and given to all who ask for it meanwhile. Those for which the process stands still are kept
# longer, so it does not stand still more often than that, whoever asks how often.

set usage "usage: mdbg -p PID -x serve.tcl -- \[OPTION\]... \[ADDRESS\]
       mdbg -x serve.tcl -- \[OPTION\]... {-p PID | -name NAME} \[ADDRESS\]
Serve profiles, a report and metrics of a process by HTTP, until the process ends, or Ctrl-C.

ADDRESS is PORT of this machine's loopback (6060; 0: any), HOST:PORT, or the PATH of a Unix socket,
which has a slash. Whoever reaches an address that is not the loopback's reads all that is served.

  /debug/pprof/heap      what is held and was allocated, for `go tool pprof`; ?seconds=N: the change
  /debug/pprof/allocs    the same, with alloc_space as the default
  /flamegraph            a page for a browser; ?since=10m: what has changed
  /report                the report of mdbg; the process stands still for it
  /metrics               OpenMetrics, for Prometheus
  /healthz               ok

  -p PID          the process
  -name NAME      a process of this name (/proc/PID/comm), and the next one when it has ended; of
                  several the one with most resident memory
  -sites N        so many functions in /metrics (20)
  -account S      the parts of the memory in /metrics are at most so old (60 s); the process stands
                  still for them. 0: they are left out
  -report S       a report is made once in so many seconds (10)
  -sample BYTES   record one in so many bytes, as mdbg's --sample
  -cost PERCENT   record as finely as costs the process no more than that, as mdbg's --cost
  -h              this text

Blocks from before the attach are in /report alone. Status: 0 when the process has ended; 1 if
something is wrong with the words, or the address cannot be had."

set script [info script]
set ways "mdbg -p PID -x serve.tcl -- \[ADDRESS\]; -h says more"
source [file join [file dirname $script] service.tcl]
source [file join [file dirname $script] http.tcl]

set most_unsent [expr {256 << 20}]	;# bytes of answers, all together
set most_delays 16		;# answers of ?seconds=N
set longest_delay 600		;# s
set fresh_ms 1000		;# an answer is kept so long

# --- words --------------------------------------------------------------------------------------

proc take_options {argv} {
	global option

	array set option {-p "" -name "" -sites 20 -account 60 -report 10 -sample "" -cost ""}
	set argv [read_options $argv]
	if {$option(-p) ne ""} {
		whole_number $option(-p) "process id" 1
	}
	if {$option(-sample) ne ""} {
		whole_number $option(-sample) "number of bytes" 0
	}
	if {$option(-cost) ne "" && (![string is double -strict $option(-cost)] || $option(-cost) <= 0)} {
		refuse "'$option(-cost)' is no percentage"
	}
	if {[whole_number $option(-sites) "number of functions" 0] > 1000} {
		refuse "more than 1000 functions"
	}
	if {$option(-account) ne "0"} {
		number_of_seconds $option(-account) -account
	}
	number_of_seconds $option(-report) -report
	if {[llength $argv] > 1} {
		refuse "'[lindex $argv 1]' is more than ADDRESS"
	}
	return [expr {[llength $argv] ? [lindex $argv 0] : "6060"}]
}

# --- answers ------------------------------------------------------------------------------------

# {NAME VALUE} of each, once; an error for anything that is not allowed.
proc take_query {query allowed} {
	set found [dict create]
	foreach part [split $query &] {
		if {$part eq ""} {
			continue
		}
		if {![regexp {^([a-z]+)=([0-9A-Za-z]{0,16})$} $part -> name value] || $name ni $allowed} {
			error "?$part is not known here"
		}
		dict set found $name $value
	}
	return $found
}

proc answer {chan path query} {
	set named [expr {$path in {/debug/pprof/heap /debug/pprof/allocs}}]
	if {$path eq "/debug/pprof" || $path eq "/index.html"} {
		give $chan "301 Moved Permanently" text/plain "" "Location: /debug/pprof/\r\n"
		return
	}
	if {$path ni {/ /debug/pprof/ /flamegraph /report /metrics /healthz} && !$named} {
		give_error $chan "404 Not Found" "there is no such page"
		return
	}
	# gc and debug are Go's: there is nothing to collect, and no other form.
	set allowed [expr {$named ? {seconds gc debug} : $path eq "/flamegraph" ? {since} : {}}]
	if {[catch {take_query $query $allowed} query]} {
		give_error $chan "400 Bad Request" $query
	} elseif {$path in {/ /debug/pprof/}} {
		give $chan "200 OK" "text/html; charset=utf-8" [make_index]
	} elseif {$::ended ne ""} {
		give_error $chan "503 Service Unavailable" $::ended "Retry-After: 5\r\n"
	} elseif {$path eq "/healthz"} {
		give $chan "200 OK" "text/plain; charset=utf-8" "ok\n"
	} elseif {[unsent] > $::most_unsent} {
		give_error $chan "503 Service Unavailable" "too many clients are slow" "Retry-After: 5\r\n"
	} elseif {[dict exists $query seconds]} {
		give_later $chan $path [dict get $query seconds]
	} else {
		give_made $chan $path $query
	}
}

proc unsent {} {
	set sum 0
	foreach {chan bytes} [array get ::body] {
		incr sum [string length $bytes]
	}
	return $sum
}

# --- what is served -----------------------------------------------------------------------------

proc make_index {} {
	set text "<!DOCTYPE html>\n<title>mdbg</title>\n<h1>mdbg: process [mdbg::pid]</h1>\n<ul>\n"
	foreach {path what} {
		/debug/pprof/heap {what is held and was allocated, for <code>go tool pprof</code>}
		/debug/pprof/allocs {the same, with alloc_space as the default}
		/flamegraph {what is held, as a flame graph}
		/flamegraph?since=10m {what has changed in ten minutes}
		/report {the report; the process stands still for it}
		/metrics OpenMetrics
		/healthz ok
	} {
		append text "<li><a href=\"$path\">$path</a> $what\n"
	}
	return "$text</ul>\n"
}

proc make_report {path} {
	report $path > /dev/null
}

# The type of an answer, for how many ms it is kept, and the script that makes it.
proc find_maker {path query} {
	set since ""
	if {[dict exists $query since]} {
		if {![regexp {^\d{1,5}[smhd]$} [dict get $query since]]} {
			error "?since=10m: a number and s, m, h or d"
		}
		set since [list since -[dict get $query since]]
	}
	switch $path {
		/debug/pprof/heap {
			return [list application/octet-stream $::fresh_ms \
				[list take_export {mdbg::export pprof} $::recorded_only]]
		}
		/debug/pprof/allocs {
			return [list application/octet-stream $::fresh_ms \
				[list take_export {mdbg::export pprof} [concat $::recorded_only sort total]]]
		}
		/flamegraph {
			return [list image/svg+xml $::fresh_ms \
				[list take_export {mdbg::export flamegraph} [concat $::recorded_only $since]]]
		}
		/report {
			return [list "text/html; charset=utf-8" [expr {int(1000 * $::option(-report))}] \
				{take_export make_report {}}]
		}
		/metrics {
			return [list "application/openmetrics-text; version=1.0.0; charset=utf-8" \
				$::fresh_ms make_metrics]
		}
	}
}

# The bytes of a script, those of before if they are not older than that. Its age is from its end: an
# answer that takes long is not begun again at once. What is kept for longer than a moment comes from
# few scripts, and stays; there is one for each ?since and ?seconds, and these make room.
proc keep {ms script} {
	upvar #0 [expr {$ms > $::fresh_ms ? "kept" : "fresh"}] kept

	if {[info exists kept($script)] &&
	    [clock milliseconds] - [lindex $kept($script) 0] < $ms} {
		return [lindex $kept($script) 1]
	}
	if {$ms <= $::fresh_ms && [array size kept] >= 8} {
		array unset kept
	}
	unset -nocomplain kept($script)
	set bytes [eval $script]
	set kept($script) [list [clock milliseconds] $bytes]
	return $bytes
}

proc give_made {chan path query} {
	if {[catch {find_maker $path $query} maker]} {
		give_error $chan "400 Bad Request" $maker
	} else {
		give_script $chan {*}$maker
	}
}

proc give_script {chan type ms script} {
	try {
		give $chan "200 OK" $type [keep $ms $script]
	} trap {MDBG RANGE} message {
		give_error $chan "400 Bad Request" $message
	} on error message {
		give_error $chan "500 Internal Server Error" $message
	}
}

# --- what has changed in so many seconds --------------------------------------------------------

# By channel: due, the timer of its answer, and from, the mark that it is compared with. All that begin
# within a second share a mark. `marks` has for each how many wait for it.

proc share_mark {} {
	global marks last_mark

	if {$last_mark eq "" || ![dict exists $marks [lindex $last_mark 0]] ||
	    [clock milliseconds] - [lindex $last_mark 1] >= $::fresh_ms} {
		set last_mark [list [mdbg::mark] [clock milliseconds]]
	}
	dict incr marks [lindex $last_mark 0]
	return [lindex $last_mark 0]
}

proc give_later {chan path seconds} {
	if {![string is digit -strict $seconds] || [scan $seconds %lld] < 1 ||
	    [scan $seconds %lld] > $::longest_delay} {
		give_error $chan "400 Bad Request" "?seconds=N is from 1 to $::longest_delay"
	} elseif {[array size ::due] >= $::most_delays} {
		give_error $chan "503 Service Unavailable" "too many wait already" "Retry-After: 5\r\n"
	} elseif {[catch share_mark mark]} {
		give_error $chan "500 Internal Server Error" $mark
	} else {
		set ms [expr {1000 * [scan $seconds %lld]}]
		enter $chan wait [expr {$ms + $::send_ms}]
		set ::from($chan) $mark
		set ::due($chan) [after $ms [list give_difference $chan $path]]
	}
}

proc give_difference {chan path} {
	set words [list diff $::from($chan) now]
	if {$path eq "/debug/pprof/allocs"} {
		lappend words sort total
	}
	give_script $chan application/octet-stream $::fresh_ms \
		[list take_export {mdbg::export pprof} $words]
	gone $chan
}

proc gone {chan} {
	global due from marks

	if {![info exists due($chan)]} {
		return
	}
	after cancel $due($chan)
	dict incr marks $from($chan) -1
	if {[dict get $marks $from($chan)] == 0} {
		dict unset marks $from($chan)
		catch {mdbg::mark -delete $from($chan)}
	}
	unset due($chan) from($chan)
}

# --- metrics ------------------------------------------------------------------------------------

proc label_text {text} {
	set text [printable $text]
	if {[string length $text] > 200} {
		set text [string range $text 0 196]...
	}
	return [string map {\\ \\\\ \" \\\"} $text]
}

# The lines of a family: {LABELS VALUE} of each metric.
proc family {name type help metrics} {
	set unit [expr {[regexp {_(bytes|seconds)$} $name -> unit] ? "# UNIT $name $unit\n" : ""}]
	set text "# TYPE $name $type\n$unit# HELP $name $help\n"
	set suffix [expr {$type eq "counter" ? "_total" : $type eq "info" ? "_info" : ""}]
	foreach {labels value} $metrics {
		append text "$name$suffix[expr {$labels eq "" ? "" : "{$labels}"}] $value\n"
	}
	return $text
}

# Each name that was a label once stays one, so that a store has at most five times as many series as
# there are in an answer, however long this runs; other functions are "(others)".
proc function_metrics {rows} {
	global shown

	set other_bytes 0
	set other_count 0
	set nr 0
	foreach row $rows {
		set name [dict get $row function]
		if {[dict get $row bytes] > 0 && $nr < $::option(-sites) && ([dict exists $shown $name] ||
		    [dict size $shown] < 5 * $::option(-sites))} {
			incr nr
			dict set shown $name 1
			set label function=\"[label_text $name]\"
			dict incr bytes $label [dict get $row bytes]
			dict incr count $label [dict get $row count]
		} else {
			incr other_bytes [dict get $row bytes]
			incr other_count [dict get $row count]
		}
	}
	dict incr bytes function=\"(others)\" $other_bytes
	dict incr count function=\"(others)\" $other_count
	return "[family mdbg_function_bytes gauge {Bytes held in recorded blocks, by the function that asked for them.} $bytes][family mdbg_function_blocks gauge {Recorded blocks held, by the function that asked for them.} $count]"
}

proc growth_metrics {} {
	set metrics {}
	foreach kind {brk mmap shm} {
		set bytes 0
		if {![catch {mdbg::growth $kind -each row {incr bytes [dict get $row bytes]}}]} {
			lappend metrics kind=\"$kind\" $bytes
		}
	}
	if {![llength $metrics]} {
		return ""
	}
	return [family mdbg_growth_bytes gauge {Memory beside malloc that recorded calls have mapped.} $metrics]
}

proc account_metrics {} {
	set in {}
	set other {}
	set all {}
	foreach row [mdbg::memory_account] {
		dict with row {
			if {![string is wide -strict $bytes]} {
				continue
			}
			switch $where {
				in { lappend in part=\"$part\" $bytes }
				sum { lappend all "" $bytes }
				default { lappend other part=\"$part\" $bytes }
			}
		}
	}
	return "[family mdbg_resident_bytes gauge {Resident memory of the process.} $all][family mdbg_resident_part_bytes gauge {Parts of the resident memory, which add up to it.} $in][family mdbg_memory_part_bytes gauge {Memory that is counted above as well, or is not resident.} $other][family mdbg_account_timestamp_seconds gauge {When the parts of the memory were taken.} [list "" [clock seconds]]]"
}

proc make_metrics {} {
	set rows [mdbg::sites all by function]
	foreach key {bytes count total totalbytes} {
		set $key 0
		foreach row $rows {
			incr $key [dict get $row $key]
		}
	}
	set comm [string trimright [slurp /proc/[mdbg::pid]/comm] \n]
	set text [family mdbg_process info "The process that is watched." \
		[list pid=\"[mdbg::pid]\",name=\"[label_text $comm]\" 1]]
	append text [family mdbg_recorded_bytes gauge "Bytes held in recorded blocks." [list "" $bytes]]
	append text [family mdbg_recorded_blocks gauge "Recorded blocks held." [list "" $count]]
	append text [family mdbg_allocated_bytes counter "Bytes allocated since the attach." [list "" $totalbytes]]
	append text [family mdbg_allocations counter "Blocks allocated since the attach." [list "" $total]]
	# The rate may change from one answer to the next.
	set sample [dict get [mdbg::export folded /dev/null {*}$::recorded_only limit 1] sample]
	append text [family mdbg_sample_bytes gauge \
		"One allocation in so many bytes is recorded, and figures are estimates; 0: each is." [list "" $sample]]
	append text [function_metrics $rows] [growth_metrics]
	if {$::option(-account) != 0} {
		if {[catch {keep [expr {int(1000 * $::option(-account))}] account_metrics} account]} {
			say $account
		} else {
			append text $account
		}
	}
	return [encoding convertto utf-8 "$text# EOF\n"]
}

# --- the process --------------------------------------------------------------------------------

proc attach {pid} {
	set words {}
	foreach name {-sample -cost} {
		if {$::option($name) ne ""} {
			lappend words $name $::option($name)
		}
	}
	mdbg::attach $pid {*}$words
}

# The process of that name with most resident memory; nothing if there is none.
proc find_named {name} {
	set found {}
	foreach pid [glob -nocomplain -directory /proc -tails {[0-9]*}] {
		if {$pid != [pid] && [has_name $pid $name]} {
			set pages [lindex [slurp /proc/$pid/statm] 1]
			lappend found [list $pid [expr {[string is wide -strict $pages] ? $pages : 0}]]
		}
	}
	return [lindex [lsort -integer -decreasing -index 1 $found] 0 0]
}

# What was of another process goes; those who wait for it get an error. The next one has marks of the
# same names.
proc forget {} {
	foreach chan [array names ::due] {
		gone $chan
		give_error $chan "503 Service Unavailable" $::ended
	}
	array unset ::kept
	array unset ::fresh
	set ::last_mark ""
	set ::shown [dict create]
}

proc serve_process {} {
	set ::ended ""
	puts "process [mdbg::pid] is served at $::served"
	flush stdout
	wait exit
	set ::ended "the process has ended"
	forget
}

proc serve_named {name} {
	set waits 0
	while {1} {
		if {!$waits} {
			puts "a process named [printable $name] is waited for, at $::served"
			flush stdout
		}
		set waits 1
		set ::ended "there is no process named $name"
		set pid [find_named $name]
		set pause 1
		if {$pid ne ""} {
			try {
				attach $pid
				set waits 0
				serve_process
			} trap {MDBG CANCELLED} {} {
				exit 130
			} on error message {
				say $message
				set ::ended $message
				set pause 30
			}
		}
		wait $pause
	}
}

# --- begin --------------------------------------------------------------------------------------

set address [take_options $argv]
if {([mdbg::pid] != 0) + ($option(-p) ne "") + ($option(-name) ne "") > 1} {
	refuse "the process is given twice"
}
if {[mdbg::pid] == 0 && $option(-p) eq "" && $option(-name) eq ""} {
	refuse "no process"
}
if {[mdbg::pid] != 0 && "$option(-sample)$option(-cost)" ne ""} {
	refuse "-sample and -cost go with the script's own -p" "for `mdbg -p` there are --sample and --cost"
}
set ended "mdbg is attaching"
set marks [dict create]
forget
listen_at $address
if {$option(-name) ne ""} {
	serve_named $option(-name)
}
if {$option(-p) ne ""} {
	attach $option(-p)
}
serve_process
