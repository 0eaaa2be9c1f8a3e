# SPDX-License-Identifier: GPL-3.0-or-later
# The options and the output of bcc's memleak, for what mdbg records. `mdbg -x memleak.tcl -- -h`
# says how it is used.

set usage "usage: mdbg -x memleak.tcl -- \[OPTION\]... \[-p PID | -c COMMAND\] \[INTERVAL \[COUNT\]\]
       mdbg -p PID -x memleak.tcl -- \[OPTION\]... \[INTERVAL \[COUNT\]\]
Print outstanding allocations by stack every INTERVAL seconds (5), COUNT times or until the process
ends, in the format of bcc's memleak. Without a process: the kernel's allocations.

  -p, --pid PID           the process
  -c, --command COMMAND   start this one
  -a, --show-allocs       addresses and sizes, too
  -o, --older MS          leave out allocations that are younger (500)
  --combined-only         sums by stack only, whatever their age
  -s, --sample-rate N     about every Nth allocation (of 64 bytes; larger ones are recorded more
                          often). Unlike bcc's, figures are scaled to estimates for all
  -T, --top N             so many stacks (10)
  -z, --min-size BYTES    leave out smaller allocations
  -Z, --max-size BYTES    leave out larger ones
  --sort KEY              size or count
  --wa-missing-free       nothing: mdbg misses no free
  -h, --help              this text

Of the kernel, -s 1 records all allocations, whatever that costs; else they are estimated where they
come too fast. There is no -a of it. Not here: -t (a line for each call) and -O (other allocators: mdbg
finds them by itself, and `probe` names more)."

proc misused {why} {
	puts stderr "memleak: $why"
	puts stderr $::usage
	exit 2
}

proc number {text what} {
	if {![string is wide -strict $text] || $text < 0} {
		misused "'$text' is no $what"
	}
	return $text
}

# The words of a command as a shell splits them, without what else a shell does.
proc words {command} {
	return [lmap word [regexp -all -inline {(?:[^\s"']|"[^"]*"|'[^']*')+} $command] {
		string map {\" {} ' {}} $word
	}]
}

# -ap PID is -a -p PID; --top=5 is --top 5.
proc take_options {argv} {
	global option

	set flags {a show h help t trace}
	set valued {p pid o older c command s rate T top z min Z max O obj}
	set long {--pid p --show-allocs a --older o --command c --sample-rate s --top T --min-size z --max-size Z
		--obj O --trace t --help h}
	while {[string match -?* [lindex $argv 0]]} {
		set argv [lassign $argv word]
		if {[regexp {^(--[^=]+)=(.*)$} $word -> word value]} {
			set argv [linsert $argv 0 $value]
		}
		if {$word in {--combined-only --wa-missing-free}} {
			set option([string range $word 2 end]) 1
			continue
		}
		if {$word ne "--sort"} {
			if {[dict exists $long $word]} {
				set word -[dict get $long $word]
			}
			set letter [string index $word 1]
			set rest [string range $word 2 end]
			if {[dict exists $flags $letter]} {
				set option([dict get $flags $letter]) 1
				if {$rest ne ""} {
					set argv [linsert $argv 0 -$rest]
				}
				continue
			}
			if {![dict exists $valued $letter]} {
				misused "there is no option $word"
			}
			set key [dict get $valued $letter]
			if {$rest ne ""} {
				set argv [linsert $argv 0 $rest]
			}
		} else {
			set key sort
		}
		if {![llength $argv]} {
			misused "a value goes after $word"
		}
		set argv [lassign $argv option($key)]
	}
	return $argv
}

proc frame_line {frame} {
	set module [expr {[dict get $frame module] eq "" ? "" : " \[[dict get $frame module]\]"}]
	set function [dict get $frame function]
	set name [expr {$function eq "" ? "\[unknown\]" : [format %s+0x%x $function [dict get $frame offset]]}]
	return "[format 0x%016llx [dict get $frame pc]]\t$name$module"
}

# bcc's stacks have neither the allocator's own frame, which is the first one, nor inlined functions.
proc print_stack {site} {
	puts "\t[dict get $site bytes] bytes in [dict get $site count] allocations from stack"
	foreach frame [lrange [mdbg::frames [dict get $site stack]] 1 end] {
		if {![dict get $frame inline]} {
			puts "\t\t[frame_line $frame]"
		}
	}
}

# What is reported, as the words of a FILTER.
proc filter_words {} {
	global option

	set conditions {}
	if {!$option(combined-only)} {
		lappend conditions "age > $option(older)ms"
	}
	foreach {key relop} {min >= max <=} {
		if {$option($key) ne ""} {
			lappend conditions "size $relop $option($key)"
		}
	}
	return [join $conditions " and "]
}

proc print_heading {} {
	puts "\[[clock format [clock seconds] -format %H:%M:%S]\] Top $::option(top) stacks with outstanding allocations:"
}

proc print_report {} {
	global option

	set filter [filter_words]
	print_heading
	if {$option(show) && !$option(combined-only)} {
		mdbg::allocations {*}$filter sort size up -each block {
			if {![dict get $block preattach]} {
				puts [format "\taddr = %llx size = %lld" [dict get $block address] [dict get $block size]]
			}
		}
	}
	set key [dict get {size bytes count count} $option(sort)]
	set sites [mdbg::sites {*}$filter sort $key limit $option(top)]
	if {!$option(combined-only)} {
		set sites [lreverse $sites]
	}
	foreach site $sites {
		if {[dict get $site stack]} {
			print_stack $site
		}
	}
	flush stdout
}

# What the kernel holds, by its own stacks.
proc print_kernel_report {} {
	global option

	print_heading
	set sites [mdbg::growth kernel {*}[filter_words]]
	if {$option(sort) eq "count"} {
		set sites [lsort -integer -decreasing -command {apply {{a b} {expr {[dict get $a count] - [dict get $b count]}}}} $sites]
	}
	set sites [lrange $sites 0 $option(top)-1]
	if {!$option(combined-only)} {
		set sites [lreverse $sites]
	}
	foreach site $sites {
		puts "\t[dict get $site bytes] bytes in [dict get $site count] allocations from stack"
		foreach frame [dict get $site stack] {
			dict with frame {
				set name [expr {$function eq "" ? "\[unknown\]" : [format %s+0x%x $function $offset]}]
				puts "\t\t[format 0x%016llx $pc]\t$name \[[expr {$module eq "" ? "kernel" : $module}]\]"
			}
		}
	}
	flush stdout
}

# The kernel's allocations until it is interrupted, or COUNT times.
proc watch_kernel {interval count rate} {
	uplevel #0 [list set kernel-sampling [expr {$rate eq "1" ? "off" : "on"}]]
	growth start kernel
	puts "Attaching to kernel allocators, Ctrl+C to quit."
	flush stdout
	for {set nr 0} {$count eq "" || $nr < $count} {incr nr} {
		wait [format %.3f $interval]
		print_kernel_report
	}
	exit 0
}

# mdbg can start a program only when it is started itself, so another mdbg runs this script.
proc run_command {argv} {
	global option

	puts "Executing '$option(command)' and tracing the resulting process."
	flush stdout
	set script "[list set argv $argv]; set memleak_started 1; source [list [file normalize [info script]]]"
	set command [list [info nameofexecutable] -n -q --sample [expr {$option(rate) > 1 ? $option(rate) * 64 : 0}] \
		-c $script -- {*}[words $option(command)]]
	if {[catch {exec {*}$command <@stdin >@stdout 2>@stderr} message result]} {
		set code [dict get $result -errorcode]
		exit [expr {[lindex $code 0] eq "CHILDSTATUS" ? [lindex $code 2] : 1}]
	}
	exit 0
}

array set option {pid "" older 500 command "" rate "" top 10 min "" max "" sort size show 0 combined-only 0}
set given $argv
set argv [take_options $argv]
if {[info exists option(help)]} {
	puts $usage
	exit 0
}
foreach {key name} {trace -t obj -O} {
	if {[info exists option($key)]} {
		misused "$name is not here"
	}
}
set rate_given $option(rate)
if {$rate_given eq ""} {
	set option(rate) 1
}
foreach {key what} {older "age" rate "sample rate" top "number of stacks"} {
	number $option($key) $what
}
foreach key {min max} {
	if {$option($key) ne ""} {
		number $option($key) size
	}
}
if {$option(sort) ni {size count}} {
	misused "'$option(sort)' is no key to sort by"
}
if {[llength $argv] > 2} {
	misused "'[lindex $argv 2]' is more than INTERVAL and COUNT"
}
lassign [concat $argv [lrange {5 ""} [llength $argv] end]] interval count
if {![string is double -strict $interval] || $interval <= 0 || $interval > 1e6} {
	misused "'$interval' is no number of seconds"
}
if {$count ne "" && [number $count count] == 0} {
	misused "'$count' is no count"
}
if {[mdbg::pid] == 0} {
	if {$option(command) ne ""} {
		run_command $given
	}
	if {$option(pid) eq ""} {
		if {$option(show)} {
			misused "-a needs a process"
		}
		watch_kernel $interval $count $rate_given
	}
	mdbg::attach $option(pid) -sample [expr {$option(rate) > 1 ? $option(rate) * 64 : 0}]
} elseif {$option(rate) > 1 && ![info exists memleak_started]} {
	misused "-s goes with the script's own -p; for `mdbg -p` there is --sample"
}
puts "Attaching to pid [mdbg::pid], Ctrl+C to quit."
flush stdout
for {set nr 0; set ended 0} {!$ended && ($count eq "" || $nr < $count)} {incr nr} {
	try {
		wait exit timeout [format %.3f $interval]
		set ended 1
	} trap {MDBG TIMEOUT} {} {}
	print_report
}
exit 0
