# SPDX-License-Identifier: GPL-3.0-or-later
# Debug files from a server: off, nothing is asked; on, within limits, and never while the process stands.

# A program without debug information of its own, and a server that has it. `how` is what the server does: give, hang
# (never answer), wrong (give another file) or long (say that it has 600 MB). Returns the program's channel. args: the
# command that executes the program, if it is not to be started at once.
proc start_with_server {how args} {
	need python3
	foreach tool {objcopy strip readelf} {
		need $tool
	}
	file copy $::build/targets/hard $::tmp/hard
	exec objcopy --only-keep-debug $::tmp/hard $::tmp/hard.debug
	exec strip --strip-debug $::tmp/hard
	regexp {Build ID: ([0-9a-f]+)} [exec readelf -n $::tmp/hard] -> ::build_id
	file mkdir $::tmp/cache
	spit $::tmp/requests ""
	spit $::tmp/server.py {
import http.server, sys, threading
how, folder, build_id = sys.argv[1:]

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with open(folder + "/requests", "a") as log:
            log.write(self.path + "\n")
        if self.path != "/buildid/" + build_id + "/debuginfo":
            self.send_error(404)
            return
        if how == "hang":
            threading.Event().wait()
        body = open(folder + ("/other" if how == "wrong" else "/hard.debug"), "rb").read()
        self.send_response(200)
        self.send_header("Content-Length", str(600 << 20 if how == "long" else len(body)))
        self.end_headers()
        self.wfile.write(body)
        if how == "long":
            self.wfile.flush()
            threading.Event().wait()

    def log_message(self, *args):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
}
	exec objcopy --only-keep-debug $::build/targets/pairs $::tmp/other
	set ::server [open |[list python3 $::tmp/server.py $how $::tmp $::build_id 2>@stderr] r+]
	set ::env(DEBUGINFOD_URLS) http://127.0.0.1:[hear $::server]
	set ::env(DEBUGINFOD_CACHE_PATH) $::tmp/cache
	set chan [open |[list {*}$args $::tmp/hard -t 3 2>@stderr] r+]
	return [ready_in $chan hard]
}

proc requests {} {
	return [llength [lsearch -all [split [slurp $::tmp/requests] "\n"] /buildid/$::build_id/debuginfo]]
}

# The stack of a block that `hard` has made.
proc a_stack {m} {
	return [live $m "malloc allocations size == 777 limit 1"]
}

proc has_lines {text} {
	return [regexp {\(hard\.c:\d+\)} $text]
}

proc debuginfod_end {t m} {
	finish $t $m
}

case debuginfod-off 20 {
	set t [start_with_server give]
	set m [live_start -p [pid_of $t]]
	order $t "make 20 777"
	set text [a_stack $m]
	check {[string match "*hard*" $text] && ![has_lines $text]} {lines from nowhere: $text}
	live $m "where all; malloc; map -v"
	check {[slurp $::tmp/requests] eq ""} {the server was asked: [slurp $::tmp/requests]}
	check {![string match "*libdebuginfod*" [slurp /proc/[pid $m]/maps]]} {the library is loaded}
	debuginfod_end $t $m
}

# On, after names were shown without lines; kept in the cache, which the next mdbg goes by.
case debuginfod-on 30 {
	set t [start_with_server give]
	set m [live_start -p [pid_of $t]]
	order $t "make 20 777"
	check {![has_lines [a_stack $m]]} {lines from nowhere}
	check {[dict get [lindex [live_value $m mdbg::modules] 0] debug] eq "none"} {[live_value $m mdbg::modules]}
	live $m "set debuginfod on"
	check {[requests] == 0} {asked before a line was wanted}
	check {[has_lines [a_stack $m]]} {no lines: [slurp $::live_err($m)]}
	check {[dict get [lindex [live_value $m mdbg::modules] 0] buildid] eq $::build_id} {[live_value $m mdbg::modules]}
	live_end $m
	check {[requests] == 1} {[requests] requests}
	check {[file exists $::tmp/cache/$::build_id/debuginfo]} {not in the cache: [glob -nocomplain $::tmp/cache/*]}
	set m [live_start -c "set debuginfod on" -p [pid_of $t]]
	check {[has_lines [a_stack $m]] || [has_lines [live $m "where all"]]} {no lines from the cache}
	check {[requests] == 1} {asked although it is in the cache}
	debuginfod_end $t $m
}

# Not at the attach, and not while the process stands.
case debuginfod-stopped 20 {
	set t [start_with_server give]
	set m [live_start -c "set debuginfod on" -p [pid_of $t]]
	live $m "set debuginfod on"
	check {[requests] == 0} {asked at the attach}
	live $m interrupt
	check {![has_lines [live $m "where all"]] && [requests] == 0} {asked while the process stands}
	live $m cont
	check {[has_lines [live $m "where all"]] && [requests] == 1} {not asked afterwards: [slurp $::live_err($m)]}
	debuginfod_end $t $m
}

# What was not asked for while the process stood is when it has ended.
case debuginfod-stopped-and-killed 20 {
	set t [start_with_server give]
	set m [live_start -c "set debuginfod on" -p [pid_of $t]]
	order $t "make 20 777"
	live $m interrupt
	check {![has_lines [a_stack $m]] && [requests] == 0} {asked while the process stands}
	live $m kill
	check {[has_lines [a_stack $m]] && [requests] == 1} {not asked afterwards: [slurp $::live_err($m)]}
	live_end $m
	ending $t
}

# A program that the process executes has names of its own, which are looked for in the same places.
case debuginfod-exec 30 {
	set t [start_with_server give sh -c {echo ready; read go; exec "$0" "$@"}]
	set m [live_start -p [pid_of $t]]
	live $m "set follow-exec on; set debuginfod on"
	check {[ask $t go] eq "ready [pid_of $t]"} {it does not go on}
	order $t "make 20 777"
	check {[has_lines [a_stack $m]] && [requests] == 1} {no lines: [slurp $::live_err($m)]}
	debuginfod_end $t $m
}

# What goes wrong is said once, and the answer comes without lines. Returns all that is said.
proc check_no_lines {t warning args} {
	set m [live_start -p [pid_of $t]]
	order $t "make 20 777"
	foreach setting $args {
		live $m "set $setting"
	}
	live $m "set debuginfod on"
	foreach again {1 2} {
		set text [a_stack $m]
		check {[string match "*hard*" $text] && ![has_lines $text]} {$text}
	}
	debuginfod_end $t $m
	set warnings [lsearch -all -inline -glob [split [slurp $::live_err($m)] "\n"] "mdbg: debuginfod: *"]
	check {[llength $warnings] == 1 && [string match -nocase $warning [lindex $warnings 0]]} {warned: $warnings: [slurp $::live_err($m)]}
	return [slurp $::live_err($m)]
}

case debuginfod-too-long 20 {
	set said [check_no_lines [start_with_server long] "*hard*longer than 512 MB*"]
	check {[string match "*\nhint: set debuginfod-size *" $said]} {no way out: $said}
}

case debuginfod-too-slow 20 {
	set said [check_no_lines [start_with_server hang] "*hard*not there within 2 s*" "debuginfod-time 2"]
	check {[string match "*\nhint: *set debuginfod-time *" $said]} {no way out: $said}
	check {[requests] == 1} {asked again: [requests]}
}

case debuginfod-wrong-file 20 {
	check_no_lines [start_with_server wrong] "*hard*not its build-id*"
}

case debuginfod-no-server 20 {
	set t [start_with_server give]
	set ::env(DEBUGINFOD_URLS) http://127.0.0.1:[free_port]
	check_no_lines $t "*hard*server*"
}

# Ctrl-C ends the waiting and the command, and neither mdbg nor the process. Before, the prompt says once what is missing.
case debuginfod-interrupted 30 {
	set t [start_with_server hang]
	order $t "make 20 777"
	at_prompt $t {
		type "where all\r" "without lines; `map -v` says which" "(mdbg) "
		type "set debuginfod on\r" "(mdbg) "
		send "where all\r"
		set end [expr {[clock seconds] + $timeout}]
		while {[file size $dir/requests] == 0} {
			if {[clock seconds] > $end} { bad "the server is not asked" }
			after 10
		}
		type "\003" "interrupted" "(mdbg) "
		type "set debuginfod off\r" "(mdbg) "
		type "where all\r" "Thread " "(mdbg) "
		quits {0 1}
	}
	finish $t
}

# The reader of a pipe has the terminal: no progress is drawn there, however long the command takes.
case debuginfod-in-a-pipe 30 {
	set t [start_with_server hang]
	at_prompt $t {
		type "set debuginfod-time 3; set debuginfod on\r" "(mdbg) "
		send "where all | cat\r"
		expect {
			"mdbg: where: " { bad "progress beside the reader of a pipe" }
			"Thread " {}
			timeout { bad "no answer" }
		}
		see "(mdbg) "
		quits {0 1}
	}
	finish $t
}

# What is missing for it is said, and nothing changes. Where no server is named the library is not even looked at.
case debuginfod-missing 20 {
	spit $::tmp/libdebuginfod.so.1 ""
	set ::env(LD_LIBRARY_PATH) $::tmp
	unset -nocomplain ::env(DEBUGINFOD_URLS)
	mdbg -q -c "set debuginfod on" -c "puts \$debuginfod"
	check {[string match "*DEBUGINFOD_URLS*export*" $::err] && $::out eq "off\n"} {$::out $::err}
	set ::env(DEBUGINFOD_URLS) http://127.0.0.1:[free_port]
	mdbg -q -c "set debuginfod on" -c "puts \$debuginfod"
	check {[string match "*libdebuginfod*apt install libdebuginfod1*" $::err] && $::out eq "off\n"} {$::out $::err}
}

# The package of a file by dpkg's lists, those of the container where it has some.
case debuginfod-package 20 {
	skip_if {![file exists /var/lib/dpkg/info]} {no dpkg}
	set sleep [open |[list sleep 600] r]
	set text [mdbg_ok -q -p [pid $sleep] -c "map -v"]
	exec kill [pid $sleep]
	check {[regexp -line {/sleep +none +coreutils-dbgsym +[0-9a-f]+$} $text]} {$text}
	check {[regexp -line {/libc\.so\.6 +(separate +-|none +libc6-dbg) } $text]} {$text}
}
