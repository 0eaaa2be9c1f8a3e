# SPDX-License-Identifier: GPL-3.0-or-later
# Suppressions: what is lost and not to be reported.

# Bytes and blocks of one of the sums.
proc leak_sum {text name} {
	if {![regexp -line "^ +$name\\.+ (\\d+) bytes in (\\d+) blocks$" $text -> bytes blocks]} {
		return {0 0}
	}
	return [list $bytes $blocks]
}

# The listed words that blocks hang on alone.
proc listed_words {text} {
	regexp -all -line {^        (0x[0-9a-f]{16}|register \S+|vector register) .*: \d+ bytes in \d+ blocks, by byte } $text
}

case suppressions 60 {
	set t [start losses]
	set first [spit $::tmp/first "# of the first\n\nleak:^make_tail$\n"]
	set second [spit $::tmp/second "leak:losses.c\$\nleak:/losses\$\n"]
	set m [live_start --suppressions $first -p [pid_of $t]]
	foreach line {lose lose chain keep} {
		order $t $line
	}
	set text [live $m "malloc leaks definite indirect"]
	check {[leak_sum $text suppressed] eq {7021 1}} {not the tail alone: $text}
	check {[leak_sum $text "definitely lost"] eq [list [expr {2 * 7001 + 7011}] 3]} {not three: $text}
	check {[regexp {Suppressions used:\n[^\n]*\n +1 +7021  leak:\^make_tail\$$} $text]} {it is not said by what: $text}
	check {[regexp {7011 bytes in 1 blocks are definitely} $text]} {the head is not by itself: $text}
	# What is lost with a suppressed block is suppressed with it; a source file, or a module, is enough.
	live $m "set suppressions [list [list $second]]"
	set text [live $m "malloc leaks all"]
	check {[leak_sum $text suppressed] eq [list [expr {2 * 7001 + 7011 + 7021}] 4]} {not all: $text}
	check {[leak_sum $text "definitely lost"] eq {0 0} && [leak_sum $text "indirectly lost"] eq {0 0}} {still lost: $text}
	check {![regexp {7001} $text]} {a suppressed one is listed: $text}
	set listed [live_value $m "mdbg::leaks suppressed"]
	check {[lsort -unique [lmap leak $listed {dict get $leak suppressed}]] eq [list losses.c\$]} {Tcl knows nothing: $listed}
	check {[live_value $m "mdbg::leaks"] eq {}} {not suppressed for Tcl: $::result}
	# What is reachable is not lost, and so not suppressed.
	check {[regexp {7031 bytes in 1 blocks are still reachable} $text]} {what is kept is suppressed: $text}
	finish $t $m
}

# The words on which all that hangs is suppressed are neither listed nor counted.
case suppressions-held-by-stacks 60 {
	set t [start stale]
	set m [live_start --suppressions [spit $::tmp/list "leak:^wait_with_inner_pointer\$\n"] -p [pid_of $t]]
	orders $t inner alive
	set nr [listed_words [set text [live $m "malloc leaks reachable"]]]
	note $text
	check {$nr && ![regexp {, in wait_with_inner_pointer\+} $text] && ![regexp {words? more} $text]} {not the others alone: $text}
	for {} {$nr < 6} {incr nr} {
		order $t alive
	}
	check {[listed_words [set text [live $m "malloc leaks"]]] == 5} {not the five largest: $text}
	check {[regexp -line {^        \.\.\. and 1 word more \(`malloc leaks reachable` lists} $text]} {the sixth is not counted: $text}
	order $t alive
	set text [live $m "malloc leaks"]
	check {[regexp -line {^        \.\.\. and 2 words more \(`malloc leaks reachable` lists} $text]} {not the sixth and seventh: $text}
	finish $t $m
}

# What the C library itself seems to lose, or does.
case suppressions-built-in 60 {
	start_watched {t m} losses
	order $t own
	set text [live $m "malloc leaks"]
	check {[regexp { bytes in 0 blocks\n.*\n0 loss records listed} $text]} {leaks are reported: $text}
	check {[lindex [leak_sum $text suppressed] 1] > 0} {nothing is suppressed: $text}
	check {[regexp {leak:\^ld-linux \(built in} $text]} {a thread that has ended leaves nothing: $text}
	set text [live $m "malloc leaks suppressed"]
	note $text
	check {[regexp {definitely lost, suppressed by leak:\^_IO_file_fopen\$ \(built in\)} $text]} {not listed: $text}
	finish $t $m
}

case suppressions-refused 60 {
	mdbg -q --suppressions $::tmp/none -c {puts x}
	check_refused 2 "suppressions: open $::tmp/none: No such file" "leak:PATTERN"
	spit $::tmp/good "leak:good\n"
	spit $::tmp/bad "leak:good\n# fine\nthread:bad\n"
	mdbg -q --suppressions $::tmp/good --suppressions $::tmp/bad -c {puts x}
	check_refused 2 "suppressions: $::tmp/bad: line 3: 'thread' is nothing to suppress" "leak:PATTERN"
	check {$::out eq ""} {commands were run: $::out}
	mdbg -q --suppressions
	check {$::status == 2} {no file at all is no error: $::status}
	mdbg_ok -q --suppressions $::tmp/good -c {puts $suppressions}
	check {$::out eq "$::tmp/good\n"} {the setting is $::out}
}
