# SPDX-License-Identifier: GPL-3.0-or-later
# The memory contexts of a PostgreSQL backend, as pg_log_backend_memory_contexts writes them to the server's
# log, without a call and without a connection. `mdbg -x postgres-contexts.tcl -- -h` says how it is used.
#
# Theory. MemoryContextData (src/include/nodes/memnodes.h, 13 to 17), in bytes:
#	0 NodeTag, flags   8 mem_allocated   16 methods   24 parent   32 firstchild   40 prevchild
#	48 nextchild   56 name   64 ident   72 reset_cbs
# A context is believed if the links of its parent and its neighbours lead back to it. If it is an
# AllocSetContext (aset.c), then behind these 80 bytes come its blocks and 11 lists of free chunks; that it is
# one is proved where its blocks lead to it and add up to mem_allocated. Of others only mem_allocated is
# known. A block: aset, prev, next, freeptr, endptr. A free chunk of list N has 8 << N bytes; the link is 8
# bytes behind its start, and up to 15 its first word is that size and its header has 16 bytes, later 8.

set usage "usage: mdbg -p PID --no-arm -x postgres-contexts.tcl \[-- \[OPTION\]...\]
Print the tree of memory contexts of a PostgreSQL backend (13 to 17), with what each has got from malloc,
what of that is free, and what is used. The process stands still meanwhile.

  -least BYTES   leave out contexts that have less, with all below them (0)
  -h             this text"

proc misused {why} {
	puts stderr "postgres-contexts: $why"
	puts stderr $::usage
	exit 2
}

set least 0
while {[llength $argv]} {
	set argv [lassign $argv option]
	switch -- $option {
		-h - --help { puts $usage; exit 0 }
		-least {
			set argv [lassign $argv least]
			if {![string is integer -strict $least]} {
				misused "'$least' is no number of bytes"
			}
		}
		default { misused "there is no option $option" }
	}
}
if {![mdbg::pid]} {
	misused "there is no process"
}

set deepest 100		;# levels, and ...
set most 1000000	;# ... contexts or blocks, of which more are taken for a ring

proc words {address nr} {
	binary scan [mdbg::read $address [expr {8 * $nr}]] wu$nr list
	return $list
}

# Constants of the program may be in pages that this backend has not touched: then its file has them.
proc from_file {address size} {
	foreach map [mdbg::maps] {
		if {$address >= [dict get $map start] && $address + $size <= [dict get $map end]} {
			set file [open /proc/[mdbg::pid]/root[dict get $map path] rb]
			seek $file [expr {$address - [dict get $map start] + [dict get $map offset]}]
			set bytes [read $file $size]
			close $file
			return $bytes
		}
	}
	error "no such mapping"
}

proc text {address} {
	set text ""
	while {$address && [string length $text] < 1024} {
		set size [expr {64 - $address % 64}]
		if {[catch {mdbg::read $address $size} bytes] && [catch {from_file $address $size} bytes]} {
			break
		}
		set end [string first \0 $bytes]
		append text [string range $bytes 0 [expr {$end < 0 ? "end" : $end - 1}]]
		if {$end >= 0} {
			break
		}
		incr address [string length $bytes]
	}
	return [regsub -all {[^ -~]+} $text " "]
}

# {blocks free chunks} of an AllocSetContext; empty if it is none.
proc allocset {context allocated} {
	set rest [words [expr {$context + 80}] 12]
	set spans {}
	set free 0
	set total 0
	for {set block [lindex $rest 0]; set previous 0} {$block} {set previous $block; set block $next} {
		lassign [words $block 5] aset prev next freeptr endptr
		if {$aset != $context || $prev != $previous || $freeptr < $block || $freeptr > $endptr ||
		    [llength $spans] > $::most} {
			return ""
		}
		lappend spans $block $endptr
		incr free [expr {$endptr - $freeptr}]
		# The first block of most contexts lies behind the context itself.
		set head [expr {$block - $context}]
		incr total [expr {$endptr - $block + ($head > 0 && $head < 1024 ? $head : 0)}]
	}
	if {$total != $allocated} {
		return ""
	}
	set chunks 0
	for {set n 0} {$n < 11} {incr n} {
		for {set chunk [lindex $rest [expr {$n + 1}]]} {$chunk} {set chunk $next} {
			lassign [words $chunk 2] size next
			if {[incr chunks] > $::most} {
				return ""
			}
			incr free [expr {(8 << $n) + ($size == 8 << $n ? 16 : 8)}]
		}
	}
	return [list [expr {[llength $spans] / 2}] $free $chunks]
}

proc sum {what} {
	lassign $what allocated blocks free chunks known
	if {!$known} {
		return "$allocated total"
	}
	return "$allocated total in $blocks blocks; $free free ($chunks chunks); [expr {$allocated - $free}] used"
}

# Print a context and those below it. Counts them in all: allocated, blocks, free, chunks, contexts, others.
proc walk {context parent previous level} {
	global all
	lassign [words $context 9] tag allocated methods up child back next name ident
	if {$up != $parent || $back != $previous || $level > $::deepest || $context % 8 ||
	    [incr all(contexts)] > $::most} {
		error "a context at [format 0x%x $context] does not fit: the backend is at work on it, or it is another version"
	}
	set is [allocset $context $allocated]
	set what [list $allocated {*}[expr {$is eq "" ? {0 0 0 0} : "$is 1"}]]
	incr all(allocated) $allocated
	incr all(blocks) [lindex $what 1]
	incr all(free) [lindex $what 2]
	incr all(chunks) [lindex $what 3]
	incr all(others) [expr {$is eq ""}]
	if {$allocated >= $::least} {
		set label [text $name]
		set more [text $ident]
		# As PostgreSQL has it: of hash tables the name of the table.
		if {$label eq "dynahash" && $more ne ""} {
			lassign [list $more ""] label more
		}
		puts "level: $level; $label: [sum $what][expr {$more eq "" ? "" : ": $more"}]"
	}
	for {set at $child; set before 0} {$at} {set before $at; set at $after} {
		set after [walk $at $context $before [expr {$level + 1}]]
	}
	return $next
}

if {[catch {mdbg::address TopMemoryContext} top]} {
	puts stderr "postgres-contexts: process [mdbg::pid] is no PostgreSQL: it has no TopMemoryContext"
	exit 1
}
array set all {allocated 0 blocks 0 free 0 chunks 0 contexts 0 others 0}
interrupt
set code [catch {walk [lindex [words $top 1] 0] 0 0 0} message]
cont
if {$code} {
	puts stderr "postgres-contexts: $message"
	exit 1
}
puts "Grand total: $all(allocated) bytes in $all(blocks) blocks of $all(contexts) contexts; $all(free) free\
	($all(chunks) chunks); [expr {$all(allocated) - $all(free)}] used"
if {$all(others)} {
	puts "$all(others) contexts are no AllocSet: what is free in them is not known, and counts as used"
}
