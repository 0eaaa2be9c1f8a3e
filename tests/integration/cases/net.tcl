# SPDX-License-Identifier: GPL-3.0-or-later
# Growth is net: a process that replaces its blocks from before the attach does not grow.

# The sizes of older blocks that were freed are exact, whatever frees them; what fails has freed nothing.
by_both case net-older-bytes 120 {
	start_watched {t before m} renewer 2000
	live $m "malloc mark a"
	set bytes [order $t "renew 1000"]
	incr bytes [order $t "resize 300"]
	order $t fail
	set figures [live_value $m mdbg::malloc]
	check {[dict get $figures sizedbytes] == $bytes} {$bytes: $figures}
	check {[dict get $figures sizedfrees] == 1300} {$figures}
	set said [live $m "malloc diff a"]
	check {[regexp -line {^(\d+) sites changed; grown (\d+) bytes, shrunk 0 bytes$} $said -> sites grown]} {$said}
	check {$grown == $bytes} {$grown and not $bytes: $said}
	check {[regexp -line "^$bytes bytes in 1300 blocks from before the attach were freed meanwhile: grown by 0 bytes in all$" $said]} {$said}
	# All of them, the mapped ones too; then there are none left.
	incr bytes [order $t "renew 2044"]
	set figures [live_value $m mdbg::malloc]
	check {[dict get $figures preattach] == 2} {$figures}
	set older [dict get $figures sizedbytes]
	order $t "renew 2044"
	check {[dict get [live_value $m mdbg::malloc] sizedbytes] == $older} {$::result}
	order $t "leak 50"
	set said [live $m "malloc diff a"]
	check {[regexp -line {^\d+ bytes in 2044 blocks from before the attach were freed meanwhile: grown by (\d+) bytes in all$} $said -> net]} {$said}
	check {$net == 4968} {$said}
	# One part of the sites says nothing about all.
	check {![string match "*before the attach*" [live $m "malloc diff a function == leak"]]} {$::result}
	set last [lindex [live_value $m mdbg::history] end]
	check {[dict get $last older] == $older && [dict get $last unsized] == 0} {$last}
	finish $t $m $before
}

# Those who judge: none of them says that it grows; and all do of what is kept besides.
case net-judges 120 {
	set t [start renewer 50000]
	set pid [pid_of $t]
	exec mkfifo $::tmp/go
	foreach {orders want said} {
		{{renew 20000}} {exit 0} {has grown by 0 bytes}
		{{renew 20000} {leak 50}} {exit 23} {has grown by 5000 bytes}
	} {
		set m [begin_script ci-gate.tcl -p $pid 4999 sh -c "echo begun; cat $::tmp/go"]
		hear $m
		foreach line $orders {
			order $t $line
		}
		spit $::tmp/go ""
		check {[string match "recorded blocks have grown by *, and * bytes from before the attach were freed" [hear $m]]} {no word of the older blocks}
		check {[string match "process $pid $said, a site by *" [set line [hear $m]]]} {$line}
		check {[end_script $m] eq $want} {[slurp $::tmp/script.err]}
	}
	set m [live_start -p $pid]
	live $m memory
	order $t "renew 9000"
	set said [live $m memory]
	check {[string match "*Verdict: nothing grows*" $said]} {$said}
	finish $t $m
}

# Where sizes are not known this is said.
case net-sampled 60 {
	set t [start renewer 2000]
	set m [live_start -p [pid_of $t] --sample 1]
	live $m "malloc mark a"
	order $t "renew 2044"
	check {[string match "*What was freed meanwhile of blocks from before the attach is not known*" [live $m "malloc diff a"]]} {$::result}
	check {[dict get [lindex [live_value $m mdbg::history] end] older] eq "-"} {$::result}
	finish $t $m
}

# malloc watch has heard its first reading when older blocks are freed. Returns the bytes of these, by the program.
proc begin_watch_renewing {t m} {
	puts $m "malloc watch 0.1"
	flush $m
	hear_reading $m
	return [order $t "renew 20000"]
}

proc end_watch {m} {
	exec kill -INT [pid $m]
	live_answer $m 20
	live_end $m
}

case net-watch 120 {
	start_watched {t m} renewer 30000
	set bytes [begin_watch_renewing $t $m]
	set net 0
	set freed 0
	while {$freed < $bytes} {
		set reading [hear_reading $m]
		check {![string match {*not known*} $reading]} {$reading}
		set growth [lindex [watched $reading] 2]
		if {[regexp -line {^ +(\d+) bytes from before the attach were freed: growth ([-+]\d+) in all$} $reading -> some growth]} {
			incr freed $some
		}
		incr net $growth
	}
	check {$freed == $bytes && abs($net) <= $bytes / 20} {$freed of $bytes were freed, and in all it grew by $net}
	end_watch $m
	finish $t
	foreach {options library said} {
		{--sample 64} {} {(what was freed of blocks from before the attach is not known: growth may be less)}
		{} libjemalloc.so.2 {blocks from before the attach, of unknown size, were freed: growth is less by these}
	} {
		set t [expr {$library eq "" ? [start renewer 30000] : [start_below $library renewer 30000]}]
		set m [live_start {*}$options -p [pid_of $t]]
		begin_watch_renewing $t $m
		until {[string match "*$said*" [hear_reading $m]]}
		end_watch $m
		finish $t
	}
}

# The same where sizes are not known: the heaps are walked at both ends.
proc net_judged {options t} {
	exec mkfifo $::tmp/go
	foreach {orders want said} {
		{{renew 20000}} {exit 0} {*}
		{{renew 20000} {leak 50}} {exit 23} {has grown by 5*}
	} {
		set m [open |[list {*}[mdbg_command -q {*}$options -p [pid_of $t] -x $::scripts/ci-gate.tcl -- 4999 \
			sh -c "echo begun; cat $::tmp/go"] 2> $::tmp/script.err] r]
		hear $m
		foreach line $orders {
			order $t $line
		}
		spit $::tmp/go ""
		check {[regexp {^recorded blocks have grown by \d+ bytes, and all that the heaps hold by} [set line [hear $m]]]} {$line}
		check {[string match "process [pid_of $t] $said" [set line [hear $m]]]} {$line}
		check {[end_script $m] eq $want} {[slurp $::tmp/script.err]}
	}
}

case net-judges-elsewhere 120 {
	set t [start_below libjemalloc.so.2 renewer 50000]
	net_judged {} $t
	set m [begin_script leak-hunt.tcl -p [pid_of $t] -every 0.1 0.02]
	hear $m
	chan configure $m -blocking 0
	while {[gets $m line] < 0} {
		order $t "renew 200"
		delay 5000
	}
	check {[string match "* sites have grown by * were freed" $line]} {$line}
	finish $t
	chan configure $m -blocking 1
	check {[end_script $m] eq {exit 0}} {[slurp $::tmp/script.err]}
}

foreach library {libtcmalloc_minimal.so.4 libmimalloc.so.2} {
	case net-judges-[regexp -inline {[a-z]+malloc} $library] 120 [string map [list @library $library] {
		set t [start_below @library renewer 50000]
		net_judged {} $t
		finish $t
	}]
}

case net-judges-sampled 60 {
	set t [start renewer 50000]
	net_judged {--sample 4K} $t
	finish $t
}

foreach library {libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2} {
	case net-judges-sampled-[regexp -inline {[a-z]+malloc} $library] 60 [string map [list @library $library] {
		set t [start_below @library renewer 50000]
		net_judged {--sample 4K} $t
		finish $t
	}]
}
