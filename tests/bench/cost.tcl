# SPDX-License-Identifier: GPL-3.0-or-later
# --cost: what recording takes of a process's processor time, alternating with the probes out, beside what was asked for and
# what mdbg says. Processor time says more than the clock where others use the machine too, and medians of ratios more than
# ratios of medians.

set cost_rounds 9
set cost_times 1.5

# Part of the processor time that recording takes while `work` runs, in percent; work returns the time of a unit of work.
proc cost_taken {m work} {
	uplevel #0 $work
	uplevel #0 $work
	for {set i 0} {$i < $::cost_rounds} {incr i} {
		set with [uplevel #0 $work]
		live $m "malloc off"
		set without [uplevel #0 $work]
		live $m "malloc on"
		lappend parts [expr {100.0 * ($with - $without) / $with}]
	}
	return [median $parts]
}

proc cost_line {name pid asked work} {
	set m [live_start --cost $asked -p $pid]
	set taken [cost_taken $m $work]
	set figures [live_value $m mdbg::malloc]
	puts [format "%-36s %6.1f %% %8.2f %% %8.2f %% %12.1f" $name $asked $taken [dict get $figures cost] [dict get $figures oneof]]
	let_go $m
	return $taken
}

proc redis_us {options} {
	return [lindex [requests_a_second $options] 1]
}

# Time of a backend of PostgreSQL for statements that it plans and runs.
proc postgres_us {chan child} {
	set before [processor_us $child]
	for {set i 0} {$i < 300} {incr i} {
		puts $chan "SELECT count(*) >= 0 FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid
			WHERE c.relname LIKE 'a$i%' OR a.attnum = $i;"
		check {[hear $chan 120] eq "t"} {wrong answer}
	}
	return [expr {[processor_us $child] - $before}]
}

proc cost_of_postgres {asked} {
	file delete -force $::tmp/data
	lassign [start_postgres] bin pid chan
	puts $chan "SELECT pg_backend_pid();"
	set child [hear $chan]
	set taken [cost_line "postgres, SELECT" $child $asked [list postgres_us $chan $child]]
	end_postgres $pid $chan
	return $taken
}

# More blocks than any rate of these records as a whole, while the rate changes: by how many standard errors their sums are
# off the truth. The error is that of the mean of rounds, by what these differ.
proc cost_sums {} {
	set n 400000
	set rounds 16
	set t [start sampled]
	set m [live_start --cost 30 -p [pid_of $t]]
	for {set round 0} {$round < $rounds} {incr round} {
		for {set i 0} {$i < 8} {incr i} {
			order $t "small [expr {$n / 8}]" 600
			live $m "set cost [lindex {60 20 80 40} [expr {$i % 4}]]"
		}
		set sum 0
		foreach site [live_value $m "mdbg::sites function == small" 300] {
			incr sum [dict get $site bytes]
		}
		lappend off [expr {100.0 * ($sum - 32 * $n) / (32 * $n)}]
		order $t drop 600
	}
	live_end $m
	finish $t
	set mean [expr {[::tcl::mathop::+ {*}$off] / $rounds}]
	set squares 0
	foreach one $off {
		set squares [expr {$squares + ($one - $mean) ** 2}]
	}
	set error [expr {sqrt($squares / ($rounds - 1) / $rounds)}]
	puts [format "\nsums of %d x %d blocks: %.2f %% off, with a standard error of %.2f %%" $rounds $n $mean $error]
	return [expr {abs($mean) / $error}]
}

proc bench_cost {} {
	load_file [file join $::bench_here redis.tcl]
	puts "\n--cost (medians of $::cost_rounds alternated rounds); [machine]\n"
	puts [format "%-36s %8s %10s %10s %12s" "" asked taken said "one of"]
	set results {}
	set ::cost_target [churn -t 16 -w 16384 -c 400]
	foreach asked {2 5 10} {
		lappend results "16 threads" $asked [cost_line "16 threads" [pid_of $::cost_target] $asked \
			{churn_cpu_ns $::cost_target 256 1500}]
	}
	finish $::cost_target
	start_redis
	foreach {name options asked} {"redis, SET" {-t set -n 60000 -d 100 -r 100000} 2
				      "redis, SET, -P 16" {-t set -n 600000 -P 16 -d 100 -r 100000} 5
				      "redis, SET, -P 16" {-t set -n 600000 -P 16 -d 100 -r 100000} 10} {
		lappend results $name $asked [cost_line $name $::redis $asked [list redis_us $options]]
	}
	end_redis
	foreach asked {2 5} {
		lappend results "postgres, SELECT" $asked [cost_of_postgres $asked]
	}
	set errors [cost_sums]
	puts ""
	foreach {name asked taken} $results {
		limit "$name, --cost $asked: times what was asked" [expr {$taken / $asked}] <= $::cost_times
	}
	limit "sums: standard errors off the truth" $errors <= 3
}
