# SPDX-License-Identifier: GPL-3.0-or-later
# memory account: the parts add up to what the kernel counts, and are what the program knows of itself.

# The parts as a dict of bytes, checked: those that add up do.
proc account_parts {m} {
	set parts [dict create]
	set sum 0
	foreach row [live_value $m mdbg::memory_account] {
		dict set parts [dict get $row part] [dict get $row bytes]
		if {[dict get $row where] eq "in"} {
			incr sum [dict get $row bytes]
		}
	}
	check {$sum == [dict get $parts all]} {the parts have $sum bytes, and all is [dict get $parts all]}
	return $parts
}

proc rss {pid} {
	check {[regexp -line {^Rss: +(\d+) kB} [slurp /proc/$pid/smaps_rollup] -> kb]} {no Rss of $pid}
	return [expr {$kb * 1024}]
}

# Is a part this large, but for what other parts of the program have of it?
proc check_part {parts part bytes slack} {
	set is [dict get $parts $part]
	check {$is >= $bytes && $is <= $bytes + $slack} {$part is $is, not $bytes: $parts}
}

# Nothing happens in the target between the account and the look at the kernel's own figure.
proc check_same_rss {m pid} {
	until {[dict get [set parts [account_parts $m]] all] == [rss $pid]}
	return $parts
}

# mallinfo2 has all but the caches of threads, which it counts as in use.
proc check_mallinfo {t parts} {
	lassign [order $t info] used mapped free
	set ours [expr {[dict get $parts held] + [dict get $parts overhead] + [dict get $parts cached] +
			[dict get $parts untouched]}]
	check {abs($ours - $used) <= 0.01 * $used + 20000} {$ours bytes are in use, and mallinfo2 says $used: $parts}
	set ours [expr {[dict get $parts free] + [dict get $parts top] + [dict get $parts tops]}]
	# What was not touched of it is in no figure here.
	check {$ours <= $free && $ours >= 0.9 * $free - 200000} {$ours bytes are free, and mallinfo2 says $free: $parts}
}

by_both case account-parts 60 {
	set t [start kinds]
	set pid [pid_of $t]
	set m [live_start -p $pid]
	set was [check_same_rss $m $pid]
	foreach line {
		"heap 8" "reserve 3" "mapped 3" "burst 6" "anonymous 4" "lazy 2" "shared 1" "memfd 5" "threads 3" "ended 2"
		"arenas 2"
	} {
		order $t $line
	}
	live_end $m
	set before [state $pid]
	set m [live_start -p $pid]
	set is [check_same_rss $m $pid]
	foreach {part bytes slack} {
		held 11000000 900000 free 5900000 900000 tops 5000000 1500000 anonymous 4194304 300000 lazyfree 2031616 65536
		shared 1048576 20000 descriptors 5242880 0 stacks 600000 300000 untouched 2900000 500000
	} {
		check_part $is $part $bytes $slack
	}
	check {[dict get $is ended] >= 40000 || $::engine ne "auto"} {$is}
	check_mallinfo $t $is
	check {[dict get $is mdbg] > 0 && [dict get $is heaps] == 0} {$is}
	set text [live $m "memory account"]
	check {[regexp -line {^PART +BYTES +SHARE +NOTE$} $text]} {$text}
	check {[regexp -line {^tops .*\(3; heap \d+ has most, \d+\)$} $text]} {$text}
	check {[regexp -line {^descriptors .*most: \d+, /memfd:spare\)$} $text]} {$text}
	check {[regexp -line {^The process stood still for } $text]} {$text}
	check {![regexp -line {^swapped} $text] || [dict get $is swapped] > 0} {$text}
	foreach line [split $text "\n"] {
		check {[string length $line] <= 100 || [string match Verdict:* $line]} {$line}
	}
	live $m "export csv $::tmp/account.csv memory account"
	check {[regexp -line {^"lazyfree","in",20\d+,} [slurp $::tmp/account.csv]]} {[slurp $::tmp/account.csv]}
	live_end $m
	check_state $before $pid
	finish $t
}

# The kernel's memory for its sockets is told, and which descriptor has most of it.
case account-sockets 60 {
	have_kernel_alone
	set t [start faulter]
	set pid [pid_of $t]
	set m [live_start -p $pid]
	set before [dict get [account_parts $m] sockets]
	order $t "sockets 300"
	set is [account_parts $m]
	set grown [expr {[dict get $is sockets] - $before}]
	check {$grown >= 300 * 1000 && $grown <= 300 * 8192} {300 messages of 1000 bytes are $grown}
	set text [live $m "memory account"]
	check {[regexp -line {^sockets +(\d+) .*not in it: buffers of its sockets, in the kernel \((\d+); most: descriptor (\d+), (\d+)\)$} \
		$text -> bytes number fd most]} {$text}
	check {$bytes == [dict get $is sockets] && $number >= 600 && $most >= 1000} {$text}
	check {[string match socket:* [file readlink /proc/$pid/fd/$fd]]} {descriptor $fd}
	finish $t $m
}

# Of a process with a network of its own mdbg does not know it, and says so.
case account-sockets-elsewhere 60 {
	skip_if {[catch {exec [need unshare] -rn true}]} {nobody may make a network namespace here}
	have_kernel_alone
	set t [start_command unshare -rn $::build/targets/faulter]
	order $t "sockets 3"
	set m [live_start -p [pid_of $t]]
	check {[dict get [account_parts $m] sockets] eq "-"} {[account_parts $m]}
	set text [live $m "memory account"]
	check {[regexp -line {^Buffers of its \d+ sockets are not known: it has a network namespace of its own$} $text]} {$text}
	finish $t $m
}

# Blocks from before the attach are known by size, and so is what is free.
case account-attached-later 60 {
	set t [start kinds]
	foreach line {"heap 4" "burst 9" "threads 2" "arenas 3"} {
		order $t $line
	}
	set m [live_start --no-arm -p [pid_of $t]]
	set is [check_same_rss $m [pid_of $t]]
	check_mallinfo $t $is
	check_part $is held 4100000 600000
	check {[regexp -line {^Of \d+ blocks that are not recorded, } [live $m "memory account"]]} {no word of them}
	finish $t $m
}

# Several arenas with blocks of all sizes, some free, while other threads go on.
case account-arenas 60 {
	start_watched {t m} heaps 20000
	set is [account_parts $m]
	check {[dict get $is free] > 1000000 && [dict get $is tops] > 0 && [dict get $is held] > 1000000} {$is}
	order $t churn
	check_rss_at_work $m [pid_of $t]
	# Wherever it is stopped, the parts are what the kernel counts, to the byte.
	for {set i 0} {$i < 5} {incr i} {
		exec kill -STOP [pid_of $t]
		until {[regexp -line {^State:\s+[Tt]} [slurp /proc/[pid_of $t]/status]]}
		set is [account_parts $m]
		set rss [rss [pid_of $t]]
		exec kill -CONT [pid_of $t]
		check {[dict get $is all] == $rss} {[dict get $is all], and Rss $rss: $is}
	}
	finish $t $m
}

# A fork's child shares all until one of both writes.
case account-forked 60 {
	set t [start kinds]
	orders $t "anonymous 6" fork
	set m [live_start --no-arm -p [pid_of $t]]
	set shared [dict get [account_parts $m] forked]
	check {$shared >= 6 << 20} {$shared bytes}
	order $t change
	set now [dict get [account_parts $m] forked]
	check {$shared - $now >= 6 << 20 && $shared - $now < 7 << 20} {$shared, then $now}
	finish $t $m
}

# Other allocators' heaps are one part; what a program maps itself is another.
case account-other-allocators 60 {
	set path [lindex [glob -nocomplain /usr/lib/*/libjemalloc.so.2] 0]
	skip_if {$path eq ""} {no other allocator is installed}
	set t [start_command env LD_PRELOAD=$path $::build/targets/kinds]
	set m [live_start -p [pid_of $t]]
	order $t "heap 5"
	set is [check_same_rss $m [pid_of $t]]
	check {[dict get $is heaps] == 0 && [dict get $is held] >= 5000000} {$is}
	check {![regexp -line {^Not all heaps are divided: } [live $m "memory account"]]} {[live $m "memory account"]}
	finish $t $m
}

case account-errors 60 {
	mdbg -q -c "memory account"
	check_refused 1 "no process"
	set t [start kinds]
	mdbg -q -c "memory account 3" -p [pid_of $t]
	check_refused 1 memory
	set core [gcore [pid_of $t]]
	set m [live_start --core $core]
	set error [live_error $m "memory account"]
	check {[string match {*core file does not say what was in memory*} $error]} {$error}
	finish $t $m
}

# Under load the sum is the kernel's figure of one moment or another: what the process grows or shrinks by between two
# reads of it is the only difference.
proc check_rss_at_work {m pid} {
	for {set i 0} {$i < 3} {incr i} {
		set before [rss $pid]
		set all [dict get [account_parts $m] all]
		set after [rss $pid]
		set slack [expr {abs($after - $before) + 0.03 * $before + 1000000}]
		check {abs($all - $before) <= $slack || abs($all - $after) <= $slack} {$all; Rss was $before, then $after}
	}
}

case account-real-python 60 {
	set script [spit $::tmp/busy.py {print('ready', flush=True)
import json
kept = []
while True:
    kept.append(json.loads(json.dumps(list(range(2000)))))
    del kept[:-200]
}]
	set t [start_command [system_python] $script]
	set m [live_start -p [pid_of $t]]
	check_rss_at_work $m [pid_of $t]
	live_end $m
	exec kill [pid_of $t]
}

case account-real-node 60 {
	set script [spit $::tmp/busy.js {
console.log('ready');
const kept = [];
setInterval(() => { kept.push(Buffer.alloc(50000, 1), 'x'.repeat(1000)); kept.splice(0, kept.length - 400); }, 1);
}]
	set t [start_command [need node] $script]
	set m [live_start -p [pid_of $t]]
	check_rss_at_work $m [pid_of $t]
	live_end $m
	exec kill [pid_of $t]
}

case account-real-redis 60 {
	start_redis
	start_load
	set m [live_start -p $::redis]
	check_rss_at_work $m $::redis
	live_end $m
	end_load
	end_redis
}
