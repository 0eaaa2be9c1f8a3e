# SPDX-License-Identifier: GPL-3.0-or-later
# The peak: the most that blocks have held since recording began, and whose they were.

# {bytes count} of the blocks of burst at the peak.
proc peak_of {m} {
	if {[live_value $m {catch {mdbg::sites by function function == burst at peak} sites}]} {
		return {0 0}
	}
	set sum {0 0}
	foreach site [live_value $m {set sites}] {
		set sum [list [expr {[lindex $sum 0] + [dict get $site bytes]}] [expr {[lindex $sum 1] + [dict get $site count]}]]
	}
	return $sum
}

# So many blocks of 8000 bytes, and their table, are its peak: all but a hundredth of them.
proc is_peak {m nr} {
	lassign [peak_of $m] bytes count
	return [expr {$bytes <= 8008 * $nr && $bytes >= 0.99 * 8008 * $nr && $count <= $nr + 1}]
}

# It is caught without anybody asking for it, also while a command keeps mdbg busy, and stays when it is over.
by_both case peak-is-kept 60 {
	start_watched {t before m} branches
	live $m "set history-seconds 0"
	orders $t "left 10 500" "hold 1000 8000"
	until {[is_peak $m 1000]}
	set most {Recorded blocks have held 8013000 bytes at most, at \d{4}-[-0-9: ]+, as far as looks every 4 ms have seen}
	until {[regexp $most [live $m "malloc sites at peak"]]}
	tell $t drop
	check {[hear $t] eq "ok"} {no answer}
	order $t "left 10 500"
	check {[is_peak $m 1000]} {[peak_of $m]}
	set text [live $m "malloc sites at peak"]
	check {[regexp $most $text]} {$text}
	check {[regexp {Most that the process has had in memory \(VmHWM\): \d+ bytes} $text]} {$text}
	check {[regexp {shrunk (8\d{6}|79[2-9]\d{4}) bytes} [live $m "malloc diff peak"]]} {$::result}
	# A higher one takes its place, a lower one does not; and none is left by a reset.
	order $t "hold 100 8000"
	tell $t drop
	hear $t
	check {[is_peak $m 1000]} {[peak_of $m]}
	order $t "hold 2000 8000"
	until {[is_peak $m 2000]}
	tell $t drop
	hear $t
	live $m "malloc reset"
	order $t "left 3 10000"
	until {[live_value $m {llength [mdbg::sites at peak]}] == 1}
	check {[peak_of $m] eq {0 0}} {[peak_of $m]}
	live_all $m "malloc off" "malloc on" "malloc sites at peak"
	finish $t $m $before
}

# A shell command runs, and mdbg waits for it.
case peak-meanwhile 60 {
	start_watched {t m} branches
	exec mkfifo $::tmp/go
	live $m "set history-seconds 0"
	puts $m "sh {cat $::tmp/go}"
	order $t "hold 1000 8000"
	# So long mdbg sees nothing but what its own thread sees.
	delay [expr {200000 * $::slower}]
	tell $t drop
	hear $t
	spit $::tmp/go ""
	live_answer $m 30
	check {[is_peak $m 1000]} {[peak_of $m]}
	finish $t $m
}

# A peak of 20 ms, with nine tenths of its bytes. Where others have the processors mdbg may come too late: then it is tried
# more often. (Looks of a second, as those of the history, would see one in fifty.)
repeated peak-of-20-ms 120 {
	start_watched {t m} branches
	live $m "set history-seconds 0"
	set caught 0
	set wanted [expr {max(1, $::trials / 2)}]
	for {set i 0} {$i < $::trials || ($caught < $wanted && $i < 5 * $::trials)} {incr i} {
		live $m "malloc reset"
		orders $t "left 1 5000" "peak 1600 65536"
		incr caught [expr {[lindex [peak_of $m] 0] >= 0.9 * 1600 * 65536}]
	}
	check {$caught >= $wanted} {$caught of $i}
	note "$caught of $i"
	finish $t $m
}
