# SPDX-License-Identifier: GPL-3.0-or-later
# Marks and the history: what they add to a pair in the target, which part of a processor samples take, and how much memory
# they have after a day.

# ns that watching adds to a pair, with samples and a mark that stands, and without either.
proc begin_plain {t} {
	set m [watched_by $t --engine jump]
	live $m "set history-seconds 0"
	return $m
}

proc begin_marked {t} {
	set m [watched_by $t --engine jump]
	live $m "malloc mark a"
	return $m
}

proc compare_pairs {} {
	puts "\nns added to a malloc+free pair, without and with samples and a mark; [machine]\n"
	foreach column $::columns {
		set plain [alternate $column begin_plain let_go]
		set marked [alternate $column begin_marked let_go]
		puts [format "%-24s %8.1f %8.1f" "threads, paths: $column" $plain $marked]
		lappend plains $plain
		lappend more [expr {$marked - $plain}]
	}
	# What two runs of the same differ by is the noise of this machine.
	set noise [expr {abs([alternate {1 1} begin_plain let_go] - [lindex $plains 0])}]
	limit "ns that samples and a mark add to a pair, median" [median $more] <= [expr {max(2, 2 * $noise)}]
}

proc cpu_s {pid} {
	set stat [slurp /proc/$pid/stat]
	set fields [lrange [string range $stat [string last ")" $stat]+2 end] 11 12]
	return [expr {double([tcl::mathop::+ {*}$fields]) / [exec getconf CLK_TCK]}]
}

proc cpu_share {m seconds} {
	set before [cpu_s [pid $m]]
	live $m "wait $seconds" 600
	return [expr {([cpu_s [pid $m]] - $before) * 100.0 / $seconds}]
}

# 10,000 sites.
proc samples_cost {n seconds} {
	set t [start_bench $::build/bench/manysites]
	set m [live_start -p [pid_of $t]]
	live $m "set history-seconds 0"
	order $t "make $n" 600
	set idle [cpu_share $m $seconds]
	live $m "set history-seconds 1; wait 1"
	set share [cpu_share $m $seconds]
	set of_all [live_value $m "set all \[mdbg::malloc]; format {%.1f ms each, one in %.1f s, %d samples, %d bytes} \
		\[expr {1e3 * \[dict get \$all samplecost]}] \[dict get \$all interval] \[dict get \$all samples] \[dict get \$all samplebytes]"]
	puts "\n$n blocks of 10,000 sites, for $seconds s: $of_all"
	limit "samples of $n blocks, % of a processor" [expr {$share - $idle}] <= 1
	let_go $m
	finish $t
}

proc bench_history {} {
	compare_pairs
	samples_cost 1000000 60
	samples_cost 10000000 60
	puts "\nA day of samples of 10,000 sites, one a second:\n"
	lassign [exec $::build/bench/history_bench] bytes samples most_age us
	limit "memory of the history, MB" [expr {$bytes / 1048576.0}] <= 16
	limit "samples that are kept" $samples >= 200
	limit "how far the nearest one is from any age, %" $most_age <= 5
	limit "us to pack a sample and to make room for it" $us <= 1000
}
