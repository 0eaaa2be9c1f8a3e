# SPDX-License-Identifier: GPL-3.0-or-later
# Several C libraries in one process: namespaces of dlmopen and of LD_AUDIT, a static program that loads one. `rooms` keeps
# an account of its blocks by room.

# Each block of the account is listed once, and what else is listed is of no room (`other`: how many of those at most).
proc check_rooms {t m {other 1000000}} {
	set listed [dict create]
	foreach block [dump $m] {
		dict set listed [dict get $block address] $block
	}
	set account [ask_list $t list]
	foreach line $account {
		lassign $line address size room
		check {[dict exists $listed [expr $address]]} {$line is not listed}
		set block [dict get $listed [expr $address]]
		set is [dict get $block size]
		# Of a block from before the attach what malloc has made of the size is known.
		check {$is == $size || ($is > $size && $is < $size + 32) || ($is > 100000 && $is < $size + 4096)} \
			{$line is listed as $block}
		dict unset listed [expr $address]
	}
	check {[dict size $listed] <= $other} {[dict size $listed] blocks are listed that nobody has}
	return [llength $account]
}

# Of the blocks of an earlier account, those that were freed are not listed.
proc check_freed {t m before} {
	foreach line [ask_list $t list] {
		dict set held [lindex $line 0] 1
	}
	foreach block [dump $m] {
		dict set listed [expr {[dict get $block address]}] 1
	}
	set freed 0
	foreach line $before {
		if {[dict exists $held [lindex $line 0]]} {
			continue
		}
		incr freed
		check {![dict exists $listed [expr [lindex $line 0]]]} {$line was freed, and is listed}
	}
	check {$freed > 0} {none was freed}
}

# How many blocks are listed that are in no account.
proc others {t m} {
	return [expr {[llength [dump $m]] - [llength [ask_list $t list]]}]
}

# The heaps of a room are those of the library whose malloc it calls, and no two rooms share one.
proc check_heaps {t m} {
	set heaps [dict get [live_value $m mdbg::malloc] heaps]
	foreach line [ask_list $t rooms] {
		lassign $line room malloc
		set malloc_of($room) [expr $malloc]
	}
	foreach block [live_value $m mdbg::allocations] {
		set heap_of([expr {[dict get $block address]}]) [dict get $block heap]
	}
	foreach line [ask_list $t list] {
		lassign $line address size room
		set heap $heap_of([expr $address])
		if {$heap eq "mmap"} {
			continue
		}
		check {[string is integer -strict $heap]} {$line is in heap $heap}
		set start [dict get [lindex $heaps $heap] libcstart]
		set distance [expr {$malloc_of($room) - $start}]
		check {$distance > 0 && $distance < 0x400000} \
			{$line is in heap $heap of the library at $start, malloc is [format 0x%llx $malloc_of($room)]}
	}
	check {[dict get [lindex $heaps 0] sbrk] > 0} {heap 0 is not the one of sbrk: [lindex $heaps 0]}
	return [llength $heaps]
}

# Late: none is there at the attach. A namespace comes, goes, and comes again elsewhere.
by_both case namespaces-late 60 {
	set t [start rooms]
	order $t "grab 0 10 100"
	set m [live_start -p [pid_of $t]]
	set other [others $t $m]
	order $t "open 1"
	live $m "malloc"
	orders $t "grab 1 [work 300 40] 5000" "grab 0 20 70" "drop 1"
	check_rooms $t $m [expr {$other + 20}]
	order $t "close 1"
	live $m malloc
	check {[lacks $m] eq {}} {a C library has gone: [lacks $m]}
	orders $t "block 300" "open 1" "open 2"
	live $m "malloc"
	orders $t "grab 1 30 33" "grab 2 30 130000" "drop 2"
	check_rooms $t $m
	check {[check_heaps $t $m] >= 3} {there are only [check_heaps $t $m] heaps}
	set text [live $m malloc]
	check {[string match "*of glibc*" $text] && ![string match "*can be walked*" $text]} {malloc: $text}
	# What it gave out before the poll had seen it is not from before the attach; a breakpoint sees it at once.
	set early [work "of them not recorded" "of them from before the attach"]
	check {[string match "*$early*" $text]} {malloc: $text}
	live_end $m
	check {[malloc_code $t 1] eq [malloc_code $t 2]} {a patch has stayed}
	finish $t
}

# What malloc of a room begins with in the process.
proc malloc_code {t room} {
	foreach line [ask_list $t rooms] {
		if {[lindex $line 0] == $room} {
			set chan [open /proc/[pid_of $t]/mem rb]
			chan seek $chan [expr {[lindex $line 1]}]
			set code [read $chan 16]
			close $chan
			return $code
		}
	}
	fail "there is no room $room"
}

# With the poll alone: nobody asks mdbg anything between the load and the calls.
case namespaces-poll 60 {
	set t [start rooms]
	set plain [malloc_code $t 0]
	set m [live_start -p [pid_of $t]]
	orders $t "open 1" "open 2"
	foreach room {1 2} {
		until {[malloc_code $t $room] ne $plain}
	}
	orders $t "grab 1 50 100" "grab 2 50 100"
	set found 0
	foreach block [dump $m] {
		incr found [string match "*room_grab*" [dict get $block stack]]
	}
	check {$found == 100} {$found of 100 blocks are recorded with their stack}
	live_end $m
	check {[malloc_code $t 1] eq $plain && [malloc_code $t 2] eq $plain} {a patch has stayed}
	finish $t
}

# Early: all are there at the attach, some with more than the first megabyte, with threads, with free blocks.
by_both case namespaces-early 90 {
	set t [start rooms]
	foreach room {1 2 3} {
		order $t "open $room"
	}
	orders $t "grab 0 200 90" "grab 1 900 4000" "grab 2 900 6000" "grab 2 20 200000"
	set all [ask_list $t list]
	orders $t "drop 1" "drop 2" "threads 1 3" "threads 0 3"
	attach_to {before m} $t
	set other [others $t $m]
	check_freed $t $m $all
	orders $t "grab 3 50 400" "grab 0 50 500"
	check_rooms $t $m $other
	check {[check_heaps $t $m] >= 6} {there are only [check_heaps $t $m] heaps}
	set check [live_value $m mdbg::check]
	check {[dict get $check damages] == 0 && [dict get $check uncertain] == 0} {check: $check}
	order $t "drop 2"
	check_rooms $t $m $other
	finish $t $m $before
}

# Of a core the same is said as of the process: the heaps of which library come first, and all their chunks.
case namespaces-core 60 {
	set t [start rooms]
	foreach room {1 2} {
		orders $t "open $room" "grab $room [work 300 50] 4000" "drop $room"
	}
	order $t "threads 1 2"
	set core [gcore [pid_of $t]]
	foreach {name args} [list process "-p [pid_of $t]" core "--core $core"] {
		set m [live_start {*}$args]
		set heaps($name) [lmap heap [dict get [live_value $m mdbg::malloc] heaps] {
			list [dict get $heap libcstart] [dict get $heap sbrk] [dict get $heap mmap]
		}]
		foreach command {allocations freespace} {
			live $m "malloc $command > $::tmp/chunks"
			lappend chunks($name) {*}[lmap line [regexp -all -inline -line {^0x.*$} [slurp $::tmp/chunks]] {
				lrange $line 0 2
			}]
		}
		live_end $m
	}
	check {$heaps(core) eq $heaps(process)} {heaps: $heaps(core), of the process: $heaps(process)}
	check {[lsort $chunks(core)] eq [lsort $chunks(process)]} {the core has other chunks}
	finish $t
}

# What nobody has a pointer to is lost, in whichever room; the rest is not.
case namespaces-leaks 60 {
	set t [start rooms]
	order $t "open 1"
	foreach room {0 1} {
		order $t "grab $room 100 300"
		lappend lost [expr {[lindex [order $t "forget $room"] 0]}]
	}
	set m [live_start -p [pid_of $t]]
	foreach room {0 1} {
		order $t "grab $room 100 300"
		lappend lost [expr {[lindex [order $t "forget $room"] 0]}]
	}
	set count 0
	foreach record [live_value $m {mdbg::leaks definite}] {
		incr count [dict get $record count]
	}
	check {$count == 4} {$count blocks are lost for certain: [live $m {malloc leaks}]}
	live $m "malloc trim"
	check {[dict get [live_value $m mdbg::check] damages] == 0} {the heaps are damaged after a trim}
	finish $t $m
}

# LD_AUDIT: a namespace that is there before the program's own.
by_both case namespaces-audit 60 {
	set t [start_command env LD_AUDIT=$::build/targets/libaudit.so AUDIT_ACCOUNT=$::tmp/account $::build/targets/rooms]
	order $t "grab 0 100 100"
	set all [ask_list $t list]
	order $t "drop 0"
	set m [live_start -p [pid_of $t]]
	check_freed $t $m $all
	order $t "open 1"
	set other [others $t $m]
	orders $t "grab 1 20 50" "grab 0 20 50" "drop 1"
	check_rooms $t $m $other
	check_heaps $t $m
	foreach block [live_value $m mdbg::allocations] {
		set size_of([expr {[dict get $block address]}]) [dict get $block size]
	}
	set account [split [string trim [slurp $::tmp/account]] "\n"]
	check {[llength $account] > 4} {the account of the audit library: $account}
	foreach line $account {
		lassign $line address size
		check {[info exists size_of([expr $address])]} {$line of the audit library is not listed}
		set is $size_of([expr $address])
		check {$is >= $size && $is < $size + 32} {$line of the audit library has $is bytes}
	}
	finish $t $m
}

# A static program that loads a library, which brings a C library of its own: late, and before the attach.
by_both case namespaces-static 60 {
	set program [build_target gcc rooms.c -g -static -DSTATIC]
	file copy $::build/targets/libroom.so $::tmp/libroom.so
	set t [start_command $program]
	order $t "grab 0 50 100"
	set m [live_start -p [pid_of $t]]
	order $t "open 1"
	set other [others $t $m]
	orders $t "grab 1 50 6000" "grab 0 50 200"
	check_rooms $t $m $other
	check_heaps $t $m
	live_end $m
	set all [ask_list $t list]
	orders $t "drop 0" "drop 1" "grab 1 300 7000"
	attach_to {before m} $t
	check_rooms $t $m $other
	check_freed $t $m $all
	check {[check_heaps $t $m] == 2} {there are [check_heaps $t $m] heaps}
	finish $t $m $before
}

# A program that mdbg starts under LD_AUDIT (as it is itself then): the loader works in the library's namespace first.
case namespaces-audit-start 60 {
	skip_if_sanitized "a sanitizer does not start under LD_AUDIT"
	set ::env(LD_AUDIT) $::build/targets/libaudit.so
	mdbg_ok -q -c {wait exit} -c {malloc allocations} -- $::build/targets/hello
	unset ::env(LD_AUDIT)
	set early [lsearch -inline [parse_allocations $::out] "*size 12345*"]
	check {[string match "*keep_early*construct*" $early]} {the constructor's block: $early, of: $::out}
}
