# SPDX-License-Identifier: GPL-3.0-or-later
# Stacks of the log against two witnesses: what the program knows (tests/targets/tagged.h: a block's size says by which
# functions it was asked for), and what gdb shows in another run, at the calls of malloc for blocks of the same sizes.
# The cases are in tests/torture/stacks.tcl.
#
# A stack is compared by the places of its return addresses, FILE+OFFSET, frame by frame. The two runs do the same, but
# for the instruction that a signal interrupts in the storm of `stacks`: what lies between the signal's frame and the
# caller of `busy` is compared by the names of its functions.
#
# BUILD/test-logs/stacks.txt gets a line for each kind of stacks: how many were looked at, how many are as the program
# knows them and how many as gdb shows them, and how the others end.

# Kinds 1 to 8.
set tagged_least 0xa000
set tagged_most 0x19fff

# What gdb shows when the command obeys these lines: a dict of lists of stacks by size. A stack is a list of {place
# function}, malloc's caller first.
proc gdb_tagged {command lines} {
	set input [spit $::tmp/gdb.in [join [concat $lines quit] "\n"]\n]
	set out $::tmp/gdb.out
	set gdb [list [need gdb] -nx -batch -x $::here/stacks_gdb.py --args {*}$command]
	check {![catch {exec env STACKS_IN=$input STACKS_OUT=$out {*}$gdb > $::tmp/gdb.log 2>@1} message]} {gdb: $message}
	set stacks [dict create]
	foreach line [split [string trimright [slurp $out]] "\n"] {
		set fields [split $line "\t"]
		set frames [lmap frame [lrange $fields 1 end] {
			set at [string first = $frame]
			list [string range $frame 0 $at-1] [string range $frame $at+1 end]
		}]
		# All code of these programs is in files: what comes from elsewhere on gdb has made up, or it is the end.
		set made_up [lsearch -glob $frames "0x*"]
		dict lappend stacks [lindex $fields 0] [expr {$made_up < 0 ? $frames : [lrange $frames 0 $made_up-1]}]
	}
	return $stacks
}

# The file mappings of the process: start, end, offset, name.
proc file_maps {pid} {
	set maps {}
	foreach line [split [slurp /proc/$pid/maps] "\n"] {
		if {[regexp {^([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) \S+ \d+ +(.+)$} $line -> start end offset name]} {
			lappend maps [list 0x$start 0x$end 0x$offset [file tail $name]]
		}
	}
	return $maps
}

proc place_in {maps pc} {
	foreach map $maps {
		lassign $map start end offset name
		if {$start <= $pc && $pc < $end} {
			return [format %s+0x%llx $name [expr {$pc - $start + $offset}]]
		}
	}
	return [format 0x%llx $pc]
}

# Of the tagged blocks of mdbg: a list of {size stack end}, with stacks as of gdb_tagged; end is "" or why it ends early.
proc mdbg_tagged {m pid} {
	set maps [file_maps $pid]
	live $m "malloc allocations size >= $::tagged_least and size <= $::tagged_most > $::tmp/tagged"
	set blocks {}
	foreach block [parse_allocations [slurp $::tmp/tagged]] {
		if {[dict get $block size] % 2 == 0} {
			continue
		}
		set frames {}
		set end ""
		foreach frame [dict get $block stack] {
			lassign $frame pc text
			if {$pc == 0} {
				regexp {stack ends here: ([^)]*)} $text -> end
			} elseif {![string match "* (inlined)" $text]} {
				if {![info exists place($pc)]} {
					set place($pc) [place_in $maps $pc]
				}
				regsub {(?:\+0x[0-9a-f]+)?(?: \([^()]*:\d+\)| \[[^\[]*\])?$} $text "" function
				lappend frames [list $place($pc) $function]
			}
		}
		lappend blocks [list [dict get $block size] [lrange $frames 1 end] $end]
	}
	return $blocks
}

# What lies between the signal's frame and the caller of `busy`, by name.
proc without_interrupted {stack} {
	set names [lmap frame $stack {lindex $frame 1}]
	set at [lsearch -exact $names handle_storm]
	set busy [lsearch -exact $names busy]
	if {$at < 0 || $busy < $at || [lrange $names $at+2 $busy] ni {busy {spin busy}}} {
		return $stack
	}
	return [concat [lrange $stack 0 $at+1] [lrange $stack $busy+1 end]]
}

proc places {stack} {
	return [lmap frame [without_interrupted $stack] {lindex $frame 0}]
}

# The tagged functions of a size, innermost first.
proc tagged_names {size} {
	set names {}
	for {set path [expr {$size >> 1 & 0xfff}]} {$path > 1} {set path [expr {$path >> 1}]} {
		set names [linsert $names 0 [expr {$path & 1 ? "tagged_right" : "tagged_left"}]]
	}
	return [linsert $names 0 tagged_leaf]
}

# Names of functions as they are in the source: of a C program, of Go's, Rust's and OCaml's. Functions of $passed only lead
# from one to the next (a call of C by Go, a change of stacks).
proc source_names {stack passed} {
	set names {}
	foreach frame $stack {
		regsub {\(.*\)$} [lindex $frame 1] "" name
		regsub {^(?:main\.|caml[A-Z][a-z]*__|.*::)(tagged_\w+?)(?:_\d+)?$} $name {\1} name
		if {$passed eq "" || ![regexp $passed $name]} {
			lappend names $name
		}
	}
	return $names
}

# Are the functions those that the size says, and those behind them as the pattern says?
proc is_known {size stack pattern passed} {
	set names [tagged_names $size]
	set got [source_names $stack $passed]
	return [expr {[lrange $got 0 [llength $names]-1] eq $names && [regexp "^(?:$pattern)\$" [join [lrange $got [llength $names] end]]]}]
}

# Compare mdbg's blocks with what gdb has shown ("": it was not asked) and with the pattern. Where gdb ends earlier than
# the program knows it is not the better witness. Returns a dict of figures.
proc compare_tagged {blocks shown pattern {passed {}}} {
	set figures [dict create all 0 known 0 shown 0 beyond 0 wrong {} ends {}]
	foreach block $blocks {
		lassign $block size stack end
		set mine [places $stack]
		set known [is_known $size $stack $pattern $passed]
		set same 0
		set beyond 0
		if {$shown ne ""} {
			foreach his [dict get $shown $size] {
				set his [places $his]
				set same [expr {$same || $mine eq $his}]
				set beyond [expr {$beyond || ($known && $his eq [lrange $mine 0 [llength $his]-1])}]
			}
		}
		dict incr figures all
		dict incr figures known $known
		dict incr figures shown $same
		dict incr figures beyond [expr {!$same && $beyond}]
		if {!$known || ($shown ne "" && !$same && !$beyond)} {
			dict lappend figures wrong $block
		}
		if {$end ne ""} {
			dict set figures ends $end [expr {[dict exists $figures ends $end] ? [dict get $figures ends $end] + 1 : 1}]
		}
	}
	return $figures
}

proc write_figures {name figures} {
	set out [open $::build/test-logs/stacks.txt a]
	puts $out "[format "%-28s %-10s" $name $::engine] [dict get $figures all] stacks, [dict get $figures known] as known,\
		[dict get $figures shown] as gdb, [dict get $figures beyond] longer than gdb's, [llength [dict get $figures wrong]] wrong;\
		ends: [dict get $figures ends]"
	close $out
}

# At least so many, and all but one in a thousand are right; those that end early do so for one of these reasons.
proc check_tagged {name figures least reasons} {
	write_figures $name $figures
	set all [dict get $figures all]
	set wrong [dict get $figures wrong]
	check {$all >= $least} {$name: only $all blocks}
	check {1000 * [llength $wrong] <= $all} {$name: [llength $wrong] of $all stacks are wrong: [lindex $wrong 0]}
	dict for {reason nr} [dict get $figures ends] {
		check {$reason in $reasons} {$name: $nr stacks end for this reason: $reason}
	}
}

# The kinds of `stacks`: number, the functions behind the tagged ones, and the reasons for which stacks end that are so.
# Coroutines end in their first function, or in what their library has put behind it.
# musl's libc has no unwind information.
set stacks_libc {(?:__libc_start_call_main __libc_start_main _start|\[libc\.so\+\S+)}
set stacks_thread {(?:start_thread clone3|\[libc\.so\+\S+)}
set stacks_words [list MUSL {{{code without unwind information}}} LIBC $stacks_libc THREAD $stacks_thread SIGNAL {\S+}]
set stacks_kinds [dict create {*}[string map $stacks_words {
	plain { 1 {run_plain main LIBC} MUSL }
	ucontext { 2 {context_main __start_context} {{code without unwind information}} }
	fiber { 3 {fiber_loop coro_init \S+} {{stack memory that cannot be read} {code without unwind information}} }
	cothread { 4 {cothread_main \S+} {} }
	grow { 5 {(?:grown_twice on_stack )?grown_once on_stack run_grow main LIBC} MUSL }
	signal { 6 {handle_signal SIGNAL (?:(?:\S+ )+run_signal main LIBC|\[libc\.so\+\S+)} MUSL }
	storm { 7 {handle_storm SIGNAL (?:spin )?busy run_storm main LIBC} MUSL }
	thread { 8 {thread_main THREAD} MUSL }
}]]

proc of_kind {blocks number} {
	return [lmap block $blocks {
		if {([lindex $block 0] - $::tagged_least) >> 13 != $number - 1} {
			continue
		}
		set block
	}]
}

# N stacks of each kind.
proc stacks_are_right {name command n kinds {passed {}}} {
	need gdb
	set lines [lmap kind $kinds {string cat "$kind $n"}]
	set shown [gdb_tagged $command $lines]
	set t [start_command {*}$command]
	set m [live_start --stack-depth 128 -p [pid_of $t]]
	foreach line $lines {
		order $t $line 120
	}
	set blocks [mdbg_tagged $m [pid_of $t]]
	foreach kind $kinds {
		lassign [dict get $::stacks_kinds $kind] number pattern reasons
		check_tagged $name-$kind [compare_tagged [of_kind $blocks $number] $shown $pattern $passed] $n $reasons
	}
	finish $t $m
}

# mdbg's `where` and gdb, one after the other, at stops at any moment of the work. Returns a dict of numbers by how the
# stacks compare and how mdbg's end.
proc where_as_gdb {t times} {
	set out $::tmp/where.out
	set command {foreach s [mdbg::where] { puts [join [list [dict get $s thread] [dict get $s end] [dict get $s stack]] \t] }}
	set variables [list STACKS_OUT=$out STACKS_PID=[pid_of $t] STACKS_TIMES=$times STACKS_MDBG=$::mdbg_program]
	lappend variables STACKS_COMMAND=$command
	if {[catch {exec env {*}$variables [need gdb] -nx -batch -x $::here/stacks_gdb.py > $::tmp/gdb.log 2>@1} message]} {
		fail "gdb: $message: [string range [slurp $::tmp/gdb.log] end-300 end]"
	}
	set figures [dict create]
	set lines [split [string trimright [slurp $out]] "\n"]
	check {[llength $lines] >= $times} {gdb: [string range [slurp $::tmp/gdb.log] end-300 end]}
	foreach line $lines {
		dict incr figures [join [lrange [split $line "\t"] 0 1] ", "]
	}
	return $figures
}
