# SPDX-License-Identifier: GPL-3.0-or-later
# Looking at memory changes nothing, and waits for nobody (src/os/page_rules.h).

proc huge_free {} {
	regexp {HugePages_Free: *(\d+)} [slurp /proc/meminfo] - free
	return $free
}

# What is mapped and not touched stays so, whatever is asked; what was touched counts: each block hangs on one page.
case reader-changes-nothing 120 {
	with_huge_pages 12 {
		start_watched {t m} shared
		set nr [order $t "map $::tmp"]
		check {$nr >= 4} {only $nr kinds of memory can be had}
		set figures [order $t figures]
		set free [huge_free]
		foreach how {-stop -snapshot} {
			set text [live $m "malloc leaks $how"]
			check {[regexp -line {^    not read: 12\d{9} bytes of shared memory never touched} $text]} {not said: $text}
			check {[regexp "still reachable.* in $nr blocks" $text]} {not all of $nr blocks are reachable: $text}
			check {[order $t figures] eq $figures} {$how changes $figures to [order $t figures]}
		}
		foreach command {{mdbg::leaks all} {mdbg::stale 0s}} {
			set about [live_value $m "$command -about about; set about"]
			check {[dict get $about absent] > 12e9 && [dict get $about elsewhere] == 0} {$command: $about}
		}
		live_all $m "malloc stale 0s" "report $::tmp/report.html"
		set block [dict get [lindex [live_value $m {mdbg::allocations size == 5003}] 0] address]
		set found [live_value $m "mdbg::find $block"]
		check {[dict get $found keep] >= 1 && [dict get $found absent] > 12e9} {$found}
		check {[string match "*not read: *" [live $m "malloc find $block"]]} {malloc find does not say what it has not read}
		check {[order $t figures] eq $figures} {$figures became [order $t figures]}
		check {[huge_free] == $free} {of $free huge pages [huge_free] are free}
		live_end $m
		mdbg -n -q -p [pid_of $t] --fail-on-leak -c "wait 0.1"
		check {[order $t figures] eq $figures} {--fail-on-leak: $figures became [order $t figures]}
		finish $t
	}
}

# Memory that a FUSE server or userfaultfd has to fill, and that nobody fills: every command ends, soon.
proc check_quick {t args} {
	set begun [clock milliseconds]
	mdbg -limit 30 -n -q -p [pid_of $t] {*}$args
	set took [expr {[clock milliseconds] - $begun}]
	check {$took < 15000 * $::slower} {$args took $took ms}
	order $t verify
	return $::out
}

# The target, which has carried out the order; skipped where that cannot be had.
proc start_with {order what} {
	set t [start shared]
	set answer [ask $t $order]
	if {[lindex $answer 0] ne "ok"} {
		finish $t
		skip "no $what: $answer"
	}
	return $t
}

proc start_fuse {order args} {
	file mkdir $::tmp/mount
	return [start_with [list $order $::tmp/mount {*}$args] "FUSE file system"]
}

case reader-of-fuse 120 {
	set t [start_fuse fuse]
	set m [live_start -p [pid_of $t]]
	live_end $m
	# The page that the process has written to counts.
	foreach how {-stop -snapshot} {
		set text [check_quick $t -c "malloc leaks $how"]
		check {[regexp {definitely lost\.* 0 bytes in 0 blocks} $text]} {the copied page was not read: $text}
	}
	check_quick $t -c "report $::tmp/report.html"
	order $t fuse-stack
	check_quick $t -c "malloc leaks" -c "where all" -c malloc
	check_quick $t --engine breakpoint -c "malloc leaks"
	finish $t
}

# Whoever looks at such a process waits in the kernel, past SIGTERM; mdbg does not begin. Its server gives back the lock after
# some seconds, or ends with the namespace, as `ps` and everybody else would wait as well.
case reader-of-a-locked-memory 120 {
	skip_if {[catch {exec unshare -fp true} why]} {unshare -fp: $why}
	# On a busy machine mdbg may begin to look when the lock is free again: then it is held for longer. The clock tells it: the
	# target may have to wait for its own lock to answer.
	foreach ms {3000 12000} {
		set t [start_command unshare -fp --kill-child $::build/targets/shared]
		set ::pid_of($t) [exec pgrep -P [pid $t]]
		file mkdir $::tmp/mount$ms
		set begun [clock milliseconds]
		set answer [ask $t "fuse-lock $ms $::tmp/mount$ms"]
		if {[lindex $answer 0] ne "ok"} {
			finish $t
			skip "no FUSE file system: $answer"
		}
		mdbg -limit 30 -n -q -p [pid_of $t] -c status
		set took [expr {[clock milliseconds] - $begun}]
		if {$took < $ms || $ms == 12000} {
			break
		}
		finish $t
	}
	check {$took < $ms} {it was not locked for long enough: mdbg took $took ms}
	check_refused 3 "*its memory is locked*" "*/task/*/stack*"
	while {[order $t locked]} {
		after 50
	}
	mdbg_ok -n -q -p [pid_of $t] -c status
	finish $t
}

case reader-of-userfaultfd 60 {
	set t [start_with missing userfaultfd]
	check_quick $t -c "malloc leaks" -c "where all" -c malloc -c "malloc leaks -snapshot"
	finish $t
}

# A library on a FUSE file system: its symbols are known as long as the server answers; and if it does not, mdbg ends.
case reader-of-a-library-on-fuse 120 {
	set t [start_fuse library $::build/targets/libplugin.so]
	set symbol {foreach module [mdbg::modules] {if {[string match */mount/file [dict get $module path]]} {puts $module}}}
	set text [check_quick $t -c $symbol -c "map -v"]
	check {[regexp {/mount/file +own} $text]} {the library was not read: $text}
	order $t stall
	foreach engine {jump breakpoint} {
		set text [check_quick $t --engine $engine -c malloc -c "malloc leaks" -c $symbol -c "map -v"]
		check {[string match */mount/file* $text]} {the library is not listed: $text}
	}
	# The time that it takes is the user's; the process goes on meanwhile, and Ctrl-C is heard.
	order $t go
	set text [check_quick $t -c "map -v"]
	check {[regexp {/mount/file +own} $text]} {the library was not read again: $text}
	finish $t
}
