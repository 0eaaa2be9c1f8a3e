# SPDX-License-Identifier: GPL-3.0-or-later
# serve.tcl: what it serves, to whom, and clients that mean harm.

set serve $here/../../scripts/serve.tcl

# Serve a process; sets ::url. Returns mdbg's channel.
proc begin_serve {t args} {
	set m [open |[list {*}[mdbg_command -q -p [pid_of $t] -x $::serve -- {*}$args] 2> $::tmp/serve.err] r]
	check {[regexp {^process \d+ is served at (.*)$} [hear $m] -> ::url]} {[slurp $::tmp/serve.err]}
	set ::url [string trimright $::url /]
	return $m
}

proc end_serve {m} {
	exec kill -TERM [pid $m]
	until {![is_alive [pid $m]]}
	check {[ending $m] eq {exit 143}} {[slurp $::tmp/serve.err]}
}

# The body of an answer is in $tmp/body; returns {STATUS TYPE}.
proc fetch {path args} {
	set words [exec [need curl] -s -m [expr {20 * $::slower}] -o $::tmp/body -w "%{http_code} %{content_type}" {*}$args $::url$path]
	return [list [lindex $words 0] [join [lrange $words 1 end]]]
}

proc metrics {} {
	set metrics [dict create]
	foreach line [split [exec [need python3] $::here/openmetrics.py $::tmp/body] \n] {
		regexp {^(.*) (\S+)$} $line -> name value
		dict set metrics $name $value
	}
	return $metrics
}

case serve-usage 60 {
	check {[string match "usage: mdbg *serve.tcl*" [mdbg_ok -x $::serve -- -h]]} {$::out}
	set t [start grower]
	foreach {words why} {
		{} {no process}
		{-p x} {no process id}
		{-name} {a value goes after -name}
		{-wrong 1} {no option -wrong}
		{-p 1 -name a} {given twice}
		{-p 1 -report x} {no number of seconds}
		{-p 1 -cost 0} {no percentage}
		{-p 1 -account -1} {no number of seconds}
		{-p 1 -sites 1001} {more than 1000}
		{-p 1 1 2} {more than ADDRESS}
		{-p 1 65536} {no address}
		{-p 1 host} {no address}
		{-p 1 "127.0.0.1:1 2"} {no address}
	} {
		mdbg -x $::serve -- {*}$words
		check_refused 1 $why
		check {$::out eq ""} {$words: $::out}
	}
	finish $t
}

# Each answer is read by who asks for it, and has what is held.
case serve-answers 90 {
	set t [start grower]
	order $t "fill 10"
	set before [state [pid_of $t]]
	set m [begin_serve $t -account 1 0]
	check {[string match http://127.0.0.1:* $::url]} {$::url}
	order $t "fill 100"
	check {[fetch /debug/pprof/heap] eq {200 application/octet-stream}} {heap}
	lassign [read_pprof $::tmp/body] bytes count early
	check {"$bytes $count $early" eq "3200 100 0"} {$bytes $count $early}
	set top [exec env HOME=$::tmp PPROF_TMPDIR=$::tmp go tool pprof -top $::url/debug/pprof/allocs 2>@1]
	check {[regexp {alloc_space} $top] && [regexp {grow_filled} $top]} {$top}
	check {[fetch /metrics] eq {200 {application/openmetrics-text; version=1.0.0; charset=utf-8}}} {metrics}
	set metrics [metrics]
	foreach {name value} {
		mdbg_recorded_bytes{} 3200
		mdbg_recorded_blocks{} 100
		mdbg_allocations_total{} 100
		mdbg_sample_bytes{} 0
		"mdbg_function_bytes{function=\"grow_filled(worker*)\"}" 3200
		"mdbg_function_bytes{function=\"(others)\"}" 0
	} {
		check {[dict get $metrics $name] == $value} {$name: [dict get $metrics $name]}
	}
	set parts 0
	dict for {name value} $metrics {
		incr parts [expr {[string match mdbg_resident_part_bytes* $name] ? $value : 0}]
	}
	check {$parts == [dict get $metrics mdbg_resident_bytes{}]} {the parts are $parts}
	check {[fetch /flamegraph] eq {200 image/svg+xml}} {flamegraph}
	check {[string match "*grow_filled(worker\\*)*" [slurp $::tmp/body]]} {no frame}
	check {[lindex [fetch /flamegraph?since=10m] 0] == 400} {[slurp $::tmp/body]}
	check {[fetch /report] eq {200 {text/html; charset=utf-8}}} {report}
	set first [slurp $::tmp/body]
	fetch /report
	check {[slurp $::tmp/body] eq $first && [string match "*grow_filled*" $first]} {a report is made again at once}
	check {[fetch / -I] eq {200 {text/html; charset=utf-8}}} {HEAD}
	check {[lindex [fetch /nothing -I] 0] == 404} {HEAD of nothing}
	check {[lindex [fetch /debug/pprof/profile] 0] == 404} {profile}
	check {[lindex [fetch /debug/pprof] 0] == 301} {no redirection}
	check {[lindex [fetch /healthz?a=b] 0] == 400} {a query}
	# What changes within some seconds, for two at once, while others are served.
	regexp {(\d+)$} $::url port
	set clients [open |[list [need python3] $::here/clients.py $port changes=[expr {2 * $::slower}],$::tmp] r+]
	check {[hear $clients] eq "asked"} {clients}
	orders $t "fill 50" "table 5000" "table 9000"
	check {[hear $clients] eq "changes 200 200"} {[slurp $::tmp/serve.err]}
	close $clients
	lassign [read_pprof $::tmp/heap] bytes count - - allocated allocations
	check {"$bytes $count $allocated $allocations" eq "15600 52 15600 52"} {$bytes $count $allocated $allocations}
	set raw [exec env HOME=$::tmp PPROF_TMPDIR=$::tmp go tool pprof -raw $::tmp/allocs 2>@1]
	check {[string match "*alloc_space/bytes\\\[dflt\\]*" $raw]} {$raw}
	end_serve $m
	order $t calm
	check_state $before [pid_of $t]
	check {[glob -nocomplain /dev/shm/mdbg-serve* $::tmp/mdbg-serve*] eq ""} {files are left}
	finish $t
}

# A Unix socket is its owner's alone, replaces only what nobody listens to, and goes at the end.
case serve-socket 60 {
	set t [start grower]
	set path $::tmp/socket
	set m [begin_serve $t $path]
	check {$::url eq "the socket $path"} {$::url}
	set ::url http://any.name
	check {[exec stat -c %a $path] eq "600"} {[exec stat -c %a $path]}
	check {[fetch /healthz --unix-socket $path] eq {200 {text/plain; charset=utf-8}}} {healthz}
	check {[fetch /debug/pprof/heap --unix-socket $path] eq {200 application/octet-stream}} {heap}
	set other [start grower]
	mdbg -p [pid_of $other] -x $::serve -- $path
	check_refused 1 "somebody else listens"
	live_kill $m
	check {[file exists $path]} {the socket is gone}
	set m [begin_serve $other $path]
	end_serve $m
	check {![file exists $path]} {the socket is left}
	spit $path text
	mdbg -p [pid_of $other] -x $::serve -- $path
	check_refused 1 "something else"
	check {[slurp $path] eq "text"} {the file was changed}
	exec ln -sf target $path
	mdbg -p [pid_of $other] -x $::serve -- $path
	check_refused 1 "something else"
	file mkdir $::tmp/open
	exec chmod 0777 $::tmp/open
	mdbg -p [pid_of $other] -x $::serve -- $::tmp/open/socket
	check_refused 1 "may write to it"
	# Somebody else's socket of that name stays.
	file delete $path
	set m [begin_serve $other $path]
	file rename $path $path.gone
	spit $path text
	end_serve $m
	check {[slurp $path] eq "text"} {the file was removed}
	finish $other
	finish $t
}

# Half requests, long ones, and clients that read nothing take nothing from anybody.
case serve-hostile 60 {
	file copy $::build/targets/grower "$::tmp/a\"b\\c{}\nd"
	set t [start_command "$::tmp/a\"b\\c{}\nd"]
	order $t "fill 100"
	set m [begin_serve $t 0]
	regexp {(\d+)$} $::url port
	set clients [open |[list [need python3] $::here/clients.py $port huge junk half slow] r+]
	set answer [hear $clients]
	check {[regexp {^huge (431|0) 1$} $answer]} {$answer}
	set answers [hear $clients]
	check {$answers eq "junk 400 400 414 400 400 400 400 400 414 404 400 403 403 403 405"} {$answers}
	foreach kind {half slow} {
		check {[hear $clients] eq $kind} {$kind}
		set begin [clock milliseconds]
		check {[lindex [fetch /healthz] 0] == 200} {after $kind: [slurp $::tmp/serve.err]}
		check {[lindex [fetch /debug/pprof/heap] 0] == 200} {after $kind}
		note "$kind: [expr {[clock milliseconds] - $begin}] ms"
		check {[llength [glob /proc/[pid $m]/fd/*]] < 150} {[llength [glob /proc/[pid $m]/fd/*]] descriptors}
	}
	exec kill -KILL [pid $clients]
	catch {ending $clients}
	# Names of the process's choice are labels and no more. Its end is the end of it all.
	check {[lindex [fetch /metrics] 0] == 200} {metrics}
	check {[dict get [metrics] "mdbg_process_info{pid=\"[pid_of $t]\",name=\"a\\\"b\\\\c{}?d\"}"] == 1} {[slurp $::tmp/body]}
	finish $t
	until {![is_alive [pid $m]]}
	check {[ending $m] eq {exit 0}} {[slurp $::tmp/serve.err]}
}
