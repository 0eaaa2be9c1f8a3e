# SPDX-License-Identifier: GPL-3.0-or-later
# Say so when a site grows for some minutes. `mdbg -x leak-hunt.tcl -- -h` says how it is used.
#
# MINUTES are divided into four quarters. The least that a site has held in a quarter is what it did
# not free. A site grows if this has risen from each quarter to the next, however much is allocated
# and freed there. So a site is reported after MINUTES, or up to a quarter later.
#
# A process that replaces its blocks from before the attach by new ones does not grow, but the sites
# of the new ones do. So no site is reported as long as no less was freed of the older blocks than
# what all growing sites together have grown by. Whose blocks the older ones were is not known. Nor are
# their sizes where the log samples, or another allocator than glibc's has them: then the heaps are
# walked once in a quarter, and no site is reported as long as they hold no more than before, but for a
# twentieth of what the sites have grown by.

set usage "usage: mdbg -p PID -x leak-hunt.tcl -- \[OPTION\]... MINUTES
       mdbg -x leak-hunt.tcl -- \[OPTION\]... -p PID MINUTES
Report each site that holds more and more for MINUTES (0.5, 10), with its traceback, and again when
it holds twice as much. Of several the one that grows most comes first, by the quarter of that time
in which it has grown least: a jump is no leak. Runs until the process ends, or Ctrl-C. Sites that may only replace blocks from before the attach are not reported.

  -every SECONDS   look so often; a twentieth of MINUTES unless given
  -least BYTES     of growth, in MINUTES (1)
  -once            end with the first report
  -h               this text

Status: 0 if nothing was reported when the process ended; 23 if something was; 2 wrong usage."

proc misused {why} {
	puts stderr "leak-hunt: $why"
	puts stderr $::usage
	exit 2
}

proc number {text what} {
	if {![string is double -strict $text] || $text <= 0 || $text > 1e9} {
		misused "'$text' is no number of $what"
	}
	return $text
}

set pid ""
set every ""
set least 1
set once 0
while {[string match -* [lindex $argv 0]]} {
	set argv [lassign $argv option]
	switch -- $option {
		-h - --help { puts $usage; exit 0 }
		-once { set once 1; continue }
		-p - -every - -least {
			if {![llength $argv]} {
				misused "a value goes after $option"
			}
			set argv [lassign $argv [dict get {-p pid -every every -least least} $option]]
		}
		default { misused "there is no option $option" }
	}
}
if {[llength $argv] != 1} {
	misused "MINUTES are missing, or not all there is"
}
set quarter [expr {[number [lindex $argv 0] minutes] * 60.0 / 4}]
set every [expr {$every eq "" ? $quarter / 5 : [number $every seconds]}]
number $least bytes
if {$every > $quarter / 2 || $every < 0.05} {
	misused "a look every $every s is too often, or too seldom for $argv minutes"
}
if {[mdbg::pid] == 0} {
	if {$pid eq ""} {
		misused "no process"
	}
	mdbg::attach $pid
}

# The quarter at hand: how many looks there were; for each stack, the least that it held, and in how
# many looks it was there.
set looks 0
set low [dict create]
set seen [dict create]
# For each stack: the least of up to four quarters, and what it held when it was reported.
set quarters [dict create]
set reported [dict create]
set found 0
# What was freed of blocks from before the attach up to the first look of each quarter, of up to four.
set olders {}
# What all blocks held by the heaps at that time; "": not known.
set helds {}
set walks 1

# What all blocks hold by the allocator's own data; "": they could not be walked, or need not be.
proc held {} {
	if {!$::walks} {
		return ""
	}
	set figures [mdbg::malloc]
	set ::walks [expr {[dict get $figures walked] &&
		([dict get $figures sampling] || ![regexp {^glibc [^,]*$} [dict get $figures algorithm]])}]
	set held [dict get $figures mappedbytes]
	foreach heap [dict get $figures heaps] {
		incr held [dict get $heap used]
	}
	return [expr {$::walks ? $held : ""}]
}

proc look {} {
	global looks low seen olders helds

	incr looks
	mdbg::sites -each site {
		set stack [dict get $site stack]
		set bytes [dict get $site bytes]
		dict incr seen $stack
		if {![dict exists $low $stack] || $bytes < [dict get $low $stack]} {
			dict set low $stack $bytes
		}
	}
	if {$looks == 1} {
		# The answer is a sample of the history, too.
		set freed [dict get [lindex [mdbg::history] end] older]
		set olders [lrange [list {*}$olders [expr {$freed eq "-" ? 0 : $freed}]] end-3 end]
		set helds [lrange [list {*}$helds [held]] end-3 end]
	}
}

proc print_growth {stack from to} {
	global quarter

	set minutes [format %.3g [expr {$quarter * 4 / 60}]]
	puts "[clock format [clock seconds] -format {%Y-%m-%d %H:%M:%S}] process [mdbg::pid]: a site has grown\
		for $minutes minutes, from $from to $to bytes"
	foreach frame [mdbg::frames $stack] {
		set place [expr {[dict get $frame line] ? "([file tail [dict get $frame file]]:[dict get $frame line])" :
			"\[[dict get $frame module]\]"}]
		set name [dict get $frame function]
		puts "        [format 0x%016llx [dict get $frame pc]] [expr {$name eq "" ? "??" : $name}] $place"
	}
	flush stdout
	incr ::found
}

# What was freed of blocks from before the attach in these quarters, in which sites have grown by sum.
proc freed_of_older {sum} {
	global olders helds

	set before [lindex $helds 0]
	set now [lindex $helds end]
	if {$before eq "" || $now eq ""} {
		return [expr {[lindex $olders end] - [lindex $olders 0]}]
	}
	return [expr {$now - $before <= $sum / 20 ? $sum : $sum - ($now - $before)}]
}

# End a quarter. A site that was not there in one of the looks held nothing then.
proc end_quarter {} {
	global looks low seen quarters reported least

	set grown {}
	set sum 0
	set last $quarters
	set quarters [dict create]
	dict for {stack bytes} $low {
		if {[dict get $seen $stack] < $looks} {
			set bytes 0
		}
		set history [expr {[dict exists $last $stack] ? [dict get $last $stack] : {}}]
		lappend history $bytes
		set history [lrange $history end-3 end]
		dict set quarters $stack $history
		lassign $history a b c d
		if {[llength $history] == 4 && $a < $b && $b < $c && $c < $d} {
			lappend grown [list [expr {min($b - $a, $c - $b, $d - $c)}] $stack $a $d]
			incr sum [expr {$d - $a}]
		}
	}
	set freed [freed_of_older $sum]
	set spared 0
	foreach site [lsort -integer -decreasing -index 0 $grown] {
		lassign $site steady stack from to
		if {$to - $from < $least} {
			continue
		}
		if {$freed >= $sum} {
			incr spared
		} elseif {![dict exists $reported $stack] || $to >= 2 * [dict get $reported $stack]} {
			dict set reported $stack $to
			print_growth $stack $from $to
		}
	}
	if {$spared} {
		puts "$spared sites have grown by $sum bytes, but blocks from before the attach of $freed bytes were freed"
		flush stdout
	}
	set looks 0
	set low [dict create]
	set seen [dict create]
}

puts "process [mdbg::pid] is watched, with a look every [format %.3g $every] s"
flush stdout
set due [expr {[clock milliseconds] + 1000 * $quarter}]
while {!($once && $found)} {
	try {
		wait exit timeout [format %.3f $every]
		break
	} trap {MDBG TIMEOUT} {} {
		look
	}
	if {[clock milliseconds] >= $due && $looks > 1} {
		end_quarter
		set due [expr {[clock milliseconds] + 1000 * $quarter}]
	}
}
exit [expr {$found ? 23 : 0}]
