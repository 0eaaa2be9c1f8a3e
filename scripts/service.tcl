# SPDX-License-Identifier: GPL-3.0-or-later
# What the scripts share that give profiles to others, fleet.tcl and serve.tcl: words, messages,
# processes by name, and an export in memory. It is no script of its own. Who sources it has set
# `script` to its own path, `usage`, and `ways` to a line of that.

# This filter leaves out what a walk of the heaps would find: a walk stops the process.
set recorded_only {function == *}
set largest_export [expr {64 << 20}]

proc printable {text} {
	return [regsub -all {[\u0000-\u001f\u007f-\u009f]} $text ?]
}

proc say {text} {
	puts stderr "mdbg: [file tail $::script]: [printable $text]"
}

proc refuse {why {hint ""}} {
	say $why
	puts stderr "hint: [expr {$hint eq "" ? $::ways : $hint}]"
	exit 1
}

# A first line of a file of /proc, which may be gone.
proc slurp {path} {
	if {[catch {open $path} chan]} {
		return ""
	}
	catch {read $chan 65536} text
	close $chan
	return $text
}

# Put the options that argv begins with into ::option, which has all of them with their defaults;
# those of `flags` have no value. Returns the words behind them. -h prints the usage.
proc read_options {argv {flags {}}} {
	global option

	while {[string match -* [lindex $argv 0]]} {
		set argv [lassign $argv word]
		if {$word in {-h --help}} {
			puts $::usage
			exit 0
		}
		if {$word in $flags} {
			set option($word) 1
			continue
		}
		if {![info exists option($word)]} {
			refuse "there is no option $word"
		}
		if {![llength $argv] || [lindex $argv 0] eq ""} {
			refuse "a value goes after $word"
		}
		set argv [lassign $argv option($word)]
	}
	return $argv
}

proc whole_number {text what least} {
	if {![string is wide -strict $text] || $text < $least} {
		refuse "'$text' is no $what"
	}
	return $text
}

proc number_of_seconds {text what} {
	if {![string is double -strict $text] || !($text >= 0.1 && $text <= 86400)} {
		refuse "'$text' is no number of seconds" "$what is from 0.1 to 86400"
	}
}

proc percent {text} {
	set encoded ""
	foreach char [split [encoding convertto utf-8 $text] ""] {
		append encoded [expr {[string match {[-A-Za-z0-9._~]} $char] ? $char :
			[format %%%02X [scan $char %c]]}]
	}
	return $encoded
}

# When a process began: with its id, this tells it from a later one of the same id.
proc start_time {pid} {
	set stat [slurp /proc/$pid/stat]
	return [lindex [split [string range $stat [string last ")" $stat]+2 end]] 19]
}

proc has_name {pid name} {
	set comm [string trimright [slurp /proc/$pid/comm] \n]
	if {$comm ne [string range $name 0 14]} {
		return 0
	}
	# The kernel keeps 15 letters. A longer name is that of the program.
	set program [lindex [split [slurp /proc/$pid/cmdline] \0] 0]
	return [expr {[string length $name] <= 15 || $name eq [file tail $program]}]
}

# An empty file that only this user can read; the export keeps its mode. Memory is not written to a
# disk, so a look at it costs the process's machine no write.
proc make_file {} {
	global env

	set folders {/dev/shm /tmp}
	if {[info exists env(TMPDIR)]} {
		set folders [linsert $folders 0 $env(TMPDIR)]
	}
	foreach folder $folders {
		if {![catch {file tempfile path $folder/mdbg-[file rootname [file tail $::script]].tmp} chan]} {
			close $chan
			return $path
		}
	}
	error "no folder to write to: TMPDIR, /dev/shm, /tmp"
}

# What such a command writes to the file whose name it gets, with these words behind it.
proc take_export {command words} {
	set path [make_file]
	try {
		{*}$command $path {*}$words
		if {[file size $path] > $::largest_export} {
			error "the export has [file size $path] bytes, which is more than $::largest_export"
		}
		set chan [open $path rb]
		set bytes [read $chan]
		close $chan
		return $bytes
	} trap {MDBG CANCELLED} {} {
		exit 130
	} finally {
		catch {file delete $path}
	}
}
