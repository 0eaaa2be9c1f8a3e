# SPDX-License-Identifier: GPL-3.0-or-later
# Options, scripts and exit statuses.

case help-and-version 20 {
	check {[string match "*--pid*" [mdbg_ok --help]]} {--help does not tell of --pid: $::out}
	check {[string match "mdbg*" [mdbg_ok --version]]} {--version prints $::out}
	mdbg_ok -h
}

case usage-errors 60 {
	foreach args {
		{--no-such-option} {-p} {-p 99999999999} {-p 0} {-p -5} {--engine foo} {--engine} {--stack-depth 0} {--stack-depth 129}
		{--stack-depth x} {--color sometimes} {-p 1 -- true} {-x} {-c}
	} {
		mdbg -q {*}$args
		check {$::status == 2} {mdbg $args: status $::status and not 2}
		check {[string match "*mdbg: *" $::err]} {mdbg $args says nothing: $::err}
		check {$::out eq ""} {mdbg $args prints on standard output: $::out}
	}
}

case script-status 60 {
	mdbg -q -c {error "of my own"}
	check {$::status == 1} {a failed command ends with $::status}
	check {[string match "*of my own*" $::err]} {the error is not printed: $::err}
	mdbg -q -c {no_such_command_at_all}
	check {$::status == 1} {an unknown command ends with $::status}
	mdbg -q -c {exit 7}
	check {$::status == 7} {exit 7 ends with $::status}
	mdbg -q -c {puts one} -c {puts two}
	check {$::status == 0 && $::out eq "one\ntwo\n"} {two commands: $::status $::out}
	mdbg -q -x [spit $::tmp/fails.tcl "puts first\nerror bad\nputs second\n"]
	check {$::status == 1 && $::out eq "first\n"} {a failing script: $::status $::out}
	mdbg -q -x [spit $::tmp/exits.tcl "puts \$argv; exit 9"] -- a {b c}
	check {$::status == 9 && $::out eq "a {b c}\n"} {a script with arguments: $::status $::out}
	mdbg -q -x $::tmp/fails.tlc
	check_refused 1 "read file \"$::tmp/fails.tlc\": no such file" "near it: fails.tcl"
	mdbg -q -x $::tmp
	check_refused 1 "read file \"$::tmp\": " "it is a folder"
	mdbg -q -c "source $::tmp/no/such.tcl"
	check_refused 1 "read file \"$::tmp/no/such.tcl\": no such file" "there is no folder $::tmp/no"
	mdbg -q -x [spit $::tmp/sources.tcl "\nsource other.tcl\n"]
	check_refused 1 "sources.tcl:2: couldn't read file \"other.tcl\": no such file" "[pwd] has no file of that name"
	mdbg -q -c {try {source other.tcl} trap {POSIX ENOENT} {} {puts trapped}}
	check {$::status == 0 && $::out eq "trapped\n"} {Tcl's own error: $::status $::out $::err}
	mdbg -in [spit $::tmp/in.tcl "puts from-stdin\nexit 4\n"] -q -x -
	check {$::status == 4 && $::out eq "from-stdin\n"} {-x -: $::status $::out}
}

# `mdbg ... | head`: what has ended there is neither a failure nor worth a message, and a script that prints for ever ends.
case output-reader-leaves 60 {
	set t [start grower]
	set before [state [pid_of $t]]
	spit $::tmp/endless.tcl "while 1 {puts line}\n"
	foreach {what args} [list \
		command [list -c "malloc sites" -c "while 1 {malloc; help set}" -c "puts behind"] \
		script [list -x $::tmp/endless.tcl -c "malloc"] \
		input {}] {
		set text [exec sh -c {
			err=$1 limit=$2
			shift 2
			{ echo "while 1 {help set}" | timeout -s KILL "$limit" "$@" 2>"$err"; echo $? >"$err.status"; } | head -n 1
		} - $::tmp/err [expr {30 * $::slower}] {*}[mdbg_command -q -p [pid_of $t] {*}$args]]
		check {$text ne "" && ![string match "*\n*" $text]} {$what: $text}
		until {[file exists $::tmp/err.status] && [slurp $::tmp/err.status] ne ""} 60
		check {[slurp $::tmp/err] eq "" && [slurp $::tmp/err.status] == 0} {$what: [slurp $::tmp/err.status] [slurp $::tmp/err]}
		file delete $::tmp/err.status
		check_state $before [pid_of $t]
	}
	finish $t
}

# What is printed to a closed standard output is lost, so it is an error; what is not printed is none.
case output-closed 60 {
	set t [start grower]
	set before [state [pid_of $t]]
	set path [spit $::tmp/closed "#!/bin/sh\nexec '$::mdbg_program' \"\$@\" >&-\n"]
	file attributes $path -permissions 0755
	set ::mdbg_program $path
	foreach args [list [list -q -c "malloc sites"] [list -q -c {puts x}] [list -q -c {set i 0; while 1 {puts [incr i]}}]] {
		mdbg -p [pid_of $t] {*}$args
		check_refused 1 "write to standard output: Bad file descriptor" "it is closed"
		check_state $before [pid_of $t]
	}
	mdbg --version
	check_refused 1 "write to standard output: Bad file descriptor" "it is closed"
	mdbg_ok -q -p [pid_of $t] -c "malloc sites > $::tmp/sites"
	check {[slurp $::tmp/sites] ne ""} {nothing in the file}
	finish $t {} $before
}

# mdbg's own scripts are found by their names; a file of that name in the current folder comes first, as with sh.
case scripts-by-name 30 {
	file mkdir [set folder $::tmp/elsewhere]
	cd $folder
	check {[string match "usage: mdbg * memleak.tcl *" [mdbg_ok -q -x memleak.tcl -- -h]]} {by its name: $::out}
	mdbg -q -x ./memleak.tcl
	check_refused 1 "read file \"./memleak.tcl\": no such file" "has no file of that name"
	spit $folder/memleak.tcl {puts "mine: $argv0"}
	check {[string match "usage: mdbg * memleak.tcl *" [mdbg_ok -q -x memleak.tcl -- -h]]} {mdbg's own comes first: $::out}
	check {[mdbg_ok -q -x ./memleak.tcl] eq "mine: ./memleak.tcl\n"} {one of my own: $::out}
	file rename memleak.tcl other.tcl
	check {[mdbg_ok -q -x other.tcl] eq "mine: other.tcl\n"} {one of another name: $::out}
}

case order-of-options 30 {
	mdbg -q -c {puts 1} -x [spit $::tmp/two.tcl "puts 2"] -c {puts 3}
	check {$::status == 0 && $::out eq "1\n2\n3\n"} {-c and -x are not kept in order: $::out}
}

case init-file 30 {
	set ::env(HOME) $::tmp
	spit $::tmp/.mdbginit "puts from-init\n"
	exec $::mdbg_program -q -c {puts main} > $::tmp/with 2> $::tmp/err
	check {[slurp $::tmp/with] eq "from-init\nmain\n"} {with ~/.mdbginit: [slurp $::tmp/with]}
	mdbg_ok -q -c {puts main}
	check {$::out eq "main\n"} {-n: $::out}
}

case batch-reads-commands-from-a-pipe 30 {
	set t [start exact]
	mdbg_ok -in [spit $::tmp/in "status\nputs here\nmalloc\n"] -q -p [pid_of $t]
	check {[string match "*here*" $::out] && [string match "*Statistical Report*" $::out]} {commands from a pipe: $::out}
	finish $t
}

case errors-in-commands 60 {
	start_watched {t m} exact
	foreach command {
		{malloc allocations size >} {malloc allocations size ~ 4} {malloc allocations colour == red}
		{malloc allocations limit x} {malloc allocations sort colour} {malloc sites by colour} {malloc nonsense}
		{thread 1} {attach 1} {malloc allocations function > x}
	} {
		live_error $m $command
	}
	foreach {command why} {
		{malloc sites by} {what to group by is missing}
		{malloc sites since x} {there is no mark 'x'}
		{malloc allocations since x} {'since' is not expected here}
		{alias no_such_alias} {no alias no_such_alias}
		{help malloc sites x} {help: 'x' is not expected here}
	} {
		check {[string match "*$why*" [live_error $m $command]]} {$command}
	}
	live $m status
	finish $t $m
}

# Files that must not grow: an error, and no signal that ends mdbg.
case limit-on-files 30 {
	set t [start exact]
	set before [state [pid_of $t]]
	limit_mdbg "-f 100"
	mdbg -q -p [pid_of $t]
	check_refused 3 "File too large" "ulimit -f"
	order $t each
	check_state $before [pid_of $t]
	mdbg -q -c {puts [string repeat x 1000000]}
	check {$::status == 1 && [string match "*standard output: File too large*" $::err]} {$::status: $::err}
	finish $t
}

# Fewer descriptors than it takes, more and more of them: it works, or says what it lacks, and leaves nothing.
case limit-on-descriptors 60 {
	set t [start exact]
	set before [state [pid_of $t]]
	set program $::mdbg_program
	set worked 0
	foreach nr {5 6 8 12 16 24 32 48 49 50 52 54 56 58 60 64 68 72 80 100} {
		set ::mdbg_program $program
		limit_mdbg "-n $nr"
		mdbg -q -p [pid_of $t] -c "malloc allocations limit 1" -c "malloc leaks"
		check_state $before [pid_of $t]
		check {$::status == 0 || [string match "*Too many open files*hint: `ulimit -n*" $::err]} {$nr: $::status: $::err}
		incr worked [expr {$::status == 0}]
	}
	check {$worked} {a hundred are too few}
	order $t each
	finish $t
}

# Tcl gives up where it gets no memory: with a word to the user, and nothing left in the target.
case no-memory-for-a-script 60 {
	skip_if_sanitized "the sanitizers take memory of their own"
	set t [start exact]
	set before [state [pid_of $t]]
	limit_mdbg "-d 150000"
	mdbg -q -p [pid_of $t] -c {set x [string repeat x 10000000]; while 1 {lappend l ${x}y}} -c {puts after}
	check {$::status == 1 && [string match "mdbg: Tcl: *alloc*" $::err]} {$::status: $::err}
	check {$::out eq ""} {$::out}
	order $t each
	finish $t {} $before
}
