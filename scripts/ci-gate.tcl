# SPDX-License-Identifier: GPL-3.0-or-later
# Fail where a process grows too much while a test runs, for continuous integration.
# `mdbg -x ci-gate.tcl -- -h` says how it is used.

set usage "usage: mdbg -p PID -x ci-gate.tcl -- \[OPTION\]... BYTES COMMAND \[ARG\]...
       mdbg -x ci-gate.tcl -- \[OPTION\]... -p PID BYTES COMMAND \[ARG\]...
Run COMMAND, which gives the process work, to its end, and compare what the process holds with what
it held before. BYTES (with K, M or G) is how much it may have grown.

  -warmup COMMAND   run this one (words of a shell) before, and do not count what it leaves
  -site BYTES       how much any one site may have grown
  -h                this text

The sites that have grown most are written to standard error if there is too much. Status: 0; 23 if
it has grown too much; 1 if COMMAND failed, or the process ended; 2 wrong usage."

proc misused {why} {
	puts stderr "ci-gate: $why"
	puts stderr $::usage
	exit 2
}

proc failed {why} {
	puts stderr "ci-gate: $why"
	exit 1
}

proc size {text} {
	if {![regexp {^(\d+)([KMG]?)$} $text -> number unit] || ![string is wide $number]} {
		misused "'$text' is no number of bytes"
	}
	return [expr {$number << [dict get {"" 0 K 10 M 20 G 30} $unit]}]
}

set warmup ""
set site ""
set pid ""
while {[string match -* [lindex $argv 0]]} {
	set argv [lassign $argv option]
	switch -- $option {
		-h - --help { puts $usage; exit 0 }
		-warmup - -site - -p {
			if {![llength $argv]} {
				misused "a value goes after $option"
			}
			set argv [lassign $argv value]
			set [dict get {-warmup warmup -site site -p pid} $option] $value
		}
		default { misused "there is no option $option" }
	}
}
if {[llength $argv] < 2} {
	misused "BYTES and COMMAND are missing"
}
set command [lassign $argv limit]
set limit [size $limit]
set site_limit [expr {$site eq "" ? "" : [size $site]}]
if {[mdbg::pid] == 0} {
	if {$pid eq ""} {
		misused "no process"
	}
	mdbg::attach $pid
}

proc has_ended {} {
	return [expr {![catch {wait exit timeout 0}]}]
}

# The command's output is passed on. Its end is the end of the command.
proc pass_on {chan} {
	puts -nonewline [read $chan]
	flush stdout
	if {[eof $chan]} {
		set ::done 1
	}
}

proc run_to_end {command} {
	if {[catch {open |[list {*}$command <@stdin 2>@stderr] r} chan]} {
		failed $chan
	}
	set ::done 0
	chan configure $chan -blocking 0 -translation binary
	chan event $chan readable [list pass_on $chan]
	wait until {$::done || [has_ended]}
	chan event $chan readable {}
	if {[has_ended]} {
		failed "the process has ended while [lindex $command 0] was at work"
	}
	chan configure $chan -blocking 1
	if {[catch {close $chan} message result]} {
		set code [dict get $result -errorcode]
		failed "[lindex $command 0]: [expr {[lindex $code 0] eq "CHILDSTATUS" ? "ended with status [lindex $code 2]" : $message}]"
	}
}

proc print_site {stack bytes} {
	puts stderr "+$bytes bytes"
	foreach frame [mdbg::frames $stack] {
		set place [expr {[dict get $frame line] ? "([file tail [dict get $frame file]]:[dict get $frame line])" :
			"\[[dict get $frame module]\]"}]
		set name [dict get $frame function]
		puts stderr "        [format 0x%016llx [dict get $frame pc]] [expr {$name eq "" ? "??" : $name}] $place"
	}
}

# What was freed so far of blocks from before the attach, and of how many more the size is not known:
# a mark, and a comparison with now, are samples of the history. Where the log samples it is {- -}.
proc older {} {
	set last [lindex [mdbg::history] end]
	return [list [dict get $last older] [dict get $last unsized]]
}

# What all blocks hold by the allocator's own data, whoever made them; "": they could not be walked.
proc held {} {
	set figures [mdbg::malloc]
	if {![dict get $figures walked]} {
		return ""
	}
	set held [dict get $figures mappedbytes]
	foreach heap [dict get $figures heaps] {
		incr held [dict get $heap used]
	}
	return $held
}

# By how many bytes more than it was freed of older blocks have sites grown? Where the sizes of these
# are not known (another allocator than glibc's, a log that samples) the heaps say it. Prints why.
proc net_growth {sum} {
	lassign $::older bytes unsized
	lassign [older] bytes_now unsized_now
	if {$bytes_now eq "-" || $unsized_now ne $unsized} {
		set held [held]
		if {$held eq "" || $::held eq ""} {
			puts "it is not known how much was freed of blocks from before the attach"
			return $sum
		}
		set net [expr {$held - $::held}]
		puts "recorded blocks have grown by $sum bytes, and all that the heaps hold by $net"
		return [expr {min($sum, $net)}]
	}
	set freed [expr {$bytes_now - $bytes}]
	if {$freed > 0} {
		puts "recorded blocks have grown by $sum bytes, and $freed bytes from before the attach were freed"
	}
	return [expr {$sum - $freed}]
}

if {$warmup ne ""} {
	run_to_end [list sh -c $warmup]
}
set before [mdbg::mark]
set older [older]
set held [held]
run_to_end $command
set sum 0
set grown {}
mdbg::diff $before now -each change {
	set growth [dict get $change bytes]
	incr sum $growth
	if {$growth > 0} {
		lappend grown [list $growth [dict get $change stack]]
	}
}
set net [net_growth $sum]
set older [expr {$sum - $net}]
set sum $net
set grown [lsort -integer -decreasing -index 0 $grown]
set most [expr {[llength $grown] ? [lindex $grown 0 0] : 0}]
puts "process [mdbg::pid] has grown by $sum bytes, a site by $most at the most"
# Whose blocks the older ones were is not known: a site may have replaced its own.
if {$sum <= $limit && ($site_limit eq "" || $most - $older <= $site_limit)} {
	exit 0
}
foreach pair [lrange $grown 0 9] {
	print_site [lindex $pair 1] [lindex $pair 0]
}
puts stderr "ci-gate: process [mdbg::pid] has grown by $sum bytes (limit $limit),\
	a site by $most[expr {$site_limit eq "" ? "" : " (limit $site_limit)"}]"
exit 23
