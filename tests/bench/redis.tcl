# SPDX-License-Identifier: GPL-3.0-or-later
# What redis-server keeps of its requests per second while every allocation is recorded with its stack. Where others use the
# machine too, the processor time that the server takes for a request says more.

set rounds 5

# 100,000 keys with values of 100 bytes, so that most blocks that are freed are in no cache; and redis-benchmark's own
# choice, one key with 3 bytes. name, options of redis-benchmark, least share kept
set keys {-d 100 -r 100000}
set loads [subst {
	"SET"			{-t set -n 100000 $keys}		0.95
	"GET"			{-t get -n 100000 $keys}		0.95
	"SET, -P 16"		{-t set -n 1000000 -P 16 $keys}		0.75
	"GET, -P 16"		{-t get -n 1000000 -P 16 $keys}		0.75
	"SET, one key"		{-t set -n 100000}			0.95
	"SET, one key, -P 16"	{-t set -n 1000000 -P 16}		0.75
}]

proc processor_us {pid} {
	set sum 0
	foreach file [glob /proc/$pid/task/*/schedstat] {
		incr sum [lindex [slurp $file] 0]
	}
	return [expr {$sum / 1000.0}]
}

# Requests per second, us of the server's processor time for each.
proc requests_a_second {options} {
	set n [dict get $options -n]
	set before [processor_us $::redis]
	set text [exec redis-benchmark -p $::port -c 50 --csv {*}$options 2>@1]
	if {![regexp -line {^"[SG]ET","([0-9.]+)"} $text -> rate]} {
		fail "redis-benchmark says $text"
	}
	return [list $rate [expr {([processor_us $::redis] - $before) / double($n)}]]
}

proc measure_loads {what} {
	foreach {name options least} $::loads {
		lassign [requests_a_second $options] rate us
		dict lappend ::rates $what,$name $rate
		dict lappend ::us $what,$name $us
	}
}

proc under_mdbg {} {
	set m [live_start -p $::redis]
	measure_loads mdbg
	set ::said [regexp -inline -line {Probes\.+ .*$} [live $m malloc]]
	let_go $m
}

# Its library stays in the server, so that this comes last.
proc under_heaptrack {} {
	set heaptrack [start_heaptrack $::redis]
	if {[catch {measure_loads heaptrack}]} {
		note "(under heaptrack -p the server has crashed)"
	}
	end_by_force $::redis
	end_heaptrack $heaptrack
}

proc bench_redis {} {
	puts "\nredis-server, requests per second (medians of $::rounds alternated rounds); [machine]\n"
	start_redis
	set ::rates [dict create]
	measure_loads warm
	for {set i 0} {$i < $::rounds} {incr i} {
		measure_loads alone
		under_mdbg
	}
	puts "([string trim $::said {{}}])"
	set heaptrack [expr {[auto_execok heaptrack] ne ""}]
	if {$heaptrack} {
		under_heaptrack
	} else {
		end_redis
	}
	puts [format "%-20s %12s %12s %8s %14s %16s %12s" "" undisturbed mdbg kept "heaptrack -p" "server us alone" "under mdbg"]
	foreach {name options least} $::loads {
		set alone [median [dict get $::rates alone,$name]]
		set under [median [dict get $::rates mdbg,$name]]
		set kept [expr {$under / $alone}]
		set theirs [expr {[dict exists $::rates heaptrack,$name] ? [format "%.0f %%" [expr {100 * [dict get $::rates heaptrack,$name] / $alone}]] : "-"}]
		puts [format "%-20s %12.0f %12.0f %6.1f %% %14s %16.2f %12.2f" $name $alone $under [expr {100 * $kept}] $theirs \
			[median [dict get $::us alone,$name]] [median [dict get $::us mdbg,$name]]]
		lappend results $name $kept $least
	}
	puts ""
	foreach {name kept least} $results {
		limit "redis-server, $name: share kept" $kept >= $least
	}
}
