# SPDX-License-Identifier: GPL-3.0-or-later
# Programs that mdbg starts.

proc hello {} {
	return $::build/targets/hello
}

case program-constructors 30 {
	mdbg_ok -q -c {wait exit} -c {malloc allocations} -- [hello] one two
	set blocks [parse_allocations $::out]
	set early [lsearch -inline $blocks "*size 12345*"]
	set late [lsearch -inline $blocks "*size 23456*"]
	check {[string match "*keep_early*construct*" $early]} {the constructor's block: $early}
	check {[string match "*main*_start*" $late]} {main's block: $late}
	check {[string match "*one\ntwo\n*" $::out]} {the program's output is missing: $::out}
}

case program-without-commands 30 {
	mdbg_ok -q -- [hello] alpha {b c}
	check {[string match "*alpha\nb c\n*" $::out]} {$::out}
	mdbg_ok -q [hello] delta
	check {[string match "*delta\n*" $::out]} {$::out}
}

case program-exit-status 60 {
	foreach status {0 1 7 255} {
		mdbg -q -- [hello] exit $status
		check {$::status == $status} {exit $status gives $::status}
	}
	foreach {signal status} {6 134 9 137 11 139 15 143} {
		set ::status 0
		catch {exec $::mdbg_program -n -q -- [hello] signal $signal > $::tmp/out 2> $::tmp/err} message options
		set ::status [lindex [dict get $options -errorcode] 2]
		check {$::status == $status} {signal $signal gives $::status and not $status}
	}
	# What fails in mdbg comes first.
	mdbg -q -c {error no} -- [hello] exit 7
	check {$::status == 1} {a failed command gives $::status}
	mdbg -q -c {exit 4} -- [hello] exit 7
	check {$::status == 4} {exit 4 gives $::status}
}

case program-standard-input 30 {
	mdbg -in [spit $::tmp/in "first\nsecond\n"] -q -- [hello] cat
	check {$::status == 0 && [string match "*first\nsecond\n*" $::out]} {$::status $::out}
	mdbg -in [spit $::tmp/in "third\n"] -q -c {malloc sites limit 1} -- [hello] cat
	check {$::status == 0 && [string match "*third\n*" $::out]} {with -c: $::status $::out}
}

case program-that-is-not-there 30 {
	mdbg -q -- $::tmp/no-such-program
	check_refused 3 "run $::tmp/no-such-program: No such file" "interpreter"
	mdbg -q -- no-such-program
	check_refused 3 "no-such-program: No such file" ./no-such-program
	mdbg -q -- ""
	check_refused 3 "run : No such file" PROGRAM
}

case program-that-is-none 30 {
	spit $::tmp/data "no program"
	mdbg -q -- $::tmp/data
	check_refused 3 "data: Permission denied" "chmod"
	mdbg -q -- $::tmp
	check_refused 3 "Permission denied" "a file that may be executed"
	spit $::tmp/empty ""
	file attributes $::tmp/empty -permissions 0755
	mdbg -q -- $::tmp/empty
	check {$::status == 0} {an empty script, which execvp gives to the shell: $::status $::err}
	spit $::tmp/script "#!/no/such/interpreter\n"
	file attributes $::tmp/script -permissions 0755
	mdbg -q -- $::tmp/script
	check_refused 3 "script: No such file" "interpreter"
	exec head -c 3000 [hello] > $::tmp/short
	file attributes $::tmp/short -permissions 0755
	mdbg -q -- $::tmp/short
	check_refused 3 "short: the kernel cannot load it" "readelf"
}

# The file cannot be opened for longer than mdbg waits (somebody has a lease on it): what was said to have failed is not
# done later.
case program-that-takes-too-long 60 {
	set python [need python3]
	file copy [need touch] $::tmp/touch
	set holder [open |[list $python -c {
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
file = os.open(sys.argv[1], os.O_RDONLY)
try:
    fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    print("ready", flush=True)
except OSError as error:
    print(error.strerror, flush=True)
sys.stdin.read()
} $::tmp/touch 2>@stderr] r+]
	set answer [hear $holder]
	skip_if {$answer ne "ready"} {no lease: $answer}
	mdbg -q -- $::tmp/touch $::tmp/made
	check_refused 3 "run $::tmp/touch: *timed out" "cannot be opened"
	close $holder
	mdbg_ok -q -- $::tmp/touch $::tmp/another
	check {[file exists $::tmp/another] && ![file exists $::tmp/made]} {it ran after all}
}

case program-by-path 30 {
	mdbg_ok -q -- true
	mdbg -q -- false
	check {$::status == 1} {false gives $::status}
	mdbg -q -- sh -c {exit 6}
	check {$::status == 6} {sh -c exit 6 gives $::status}
}

case program-detached 30 {
	mdbg_ok -in [spit $::tmp/in "still here\n"] -q -c malloc -c detach -c {puts done} -- [hello] cat
	check {[string match "*done*" $::out] && [string match "*still here\n*" $::out]} {$::out}
}

case program-exact 60 {
	set chan [open |[list $::mdbg_program -n -q -c "wait 0" -- $::build/targets/exact -t 4 2> $::tmp/err] r+]
	chan configure $chan -buffering line
	check {[lindex [hear $chan] 0] eq "ready"} {it is not ready: [slurp $::tmp/err]}
	orders $chan each go pause verify
	tell $chan quit
	check {[ending $chan] eq {exit 0}} {ended otherwise: [slurp $::tmp/err]}
}

case program-that-forks 60 {
	set chan [open |[list $::mdbg_program -n -q -c "wait 0" -- $::build/targets/forker 2> $::tmp/err] r+]
	chan configure $chan -buffering line
	check {[lindex [hear $chan] 0] eq "ready"} {it is not ready: [slurp $::tmp/err]}
	foreach way {fork tfork vfork spawn system} {
		order $chan "$way 3"
	}
	order $chan verify
	tell $chan quit
	check {[ending $chan] eq {exit 0}} {ended otherwise: [slurp $::tmp/err]}
}

# mdbg is killed: the program goes on.
case program-survives-a-killed-mdbg 60 {
	set chan [open |[list $::mdbg_program -n -q -c "wait 0" -- $::build/targets/exact -t 4 2> $::tmp/err] r+]
	chan configure $chan -buffering line
	set pid [lindex [hear $chan] 1]
	order $chan go
	exec kill -KILL [pid $chan]
	until {![is_alive [pid $chan]]}
	orders $chan pause verify
	mdbg_ok -q -p $pid -c status
	orders $chan each verify
	tell $chan quit
	until {![is_alive $pid]}
	catch {ending $chan}
}

# Programs that nobody prepared, from their first malloc. At the end the log still answers.
case program-real-ones 200 {
	set python [system_python]
	mdbg_ok -limit 100 -q --stack-depth 128 -c {wait exit} -c "malloc allocations > $::tmp/python" -c {malloc sites limit 3} \
		-- $python -c {print("sum", sum(len({j: str(j) for j in range(i)}) for i in range(200)))}
	check {[string match "*sum 19900\n*" $::out]} {python3 prints $::out}
	check_stacks $::tmp/python 0.99
	mdbg_ok -limit 100 -q -c {wait exit} -c "malloc sites limit 3" -- [need sqlite3] :memory: \
		{WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 2000)
		 SELECT 'sum', sum(x) FROM c;}
	check {[string match "*sum|2001000\n*" $::out]} {sqlite3 prints $::out}
	mdbg_ok -limit 100 -in [spit $::tmp/in "go\nkeep 20\npause\nverify\nquit\n"] -q -c {malloc} -- $::build/targets/cxxexact
	check {[regexp -all -line {^ok} $::out] == 4} {cxxexact prints $::out}
}

case program-standard-error-and-pipe 30 {
	check {[exec sh -c {"$0" -n -q -- sh -c "echo out; echo err >&2" 2>/dev/null | cat} $::mdbg_program] eq "out"} {standard output}
}
