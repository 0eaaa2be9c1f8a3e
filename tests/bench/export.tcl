# SPDX-License-Identifier: GPL-3.0-or-later
# A million blocks of 10,000 sites with long C++ names as a file in each format: how long it takes, what mdbg has of its own
# meanwhile, and for how long the target stands still for the blocks from before the attach.

# The pause, in ms, that an export says.
proc stood {text} {
	if {![regexp {stood still for ([0-9.]+) (ms|s)} $text -> value unit]} {
		return 0
	}
	return [expr {$unit eq "s" ? 1000 * $value : $value}]
}

proc bench_export {} {
	set n 1000000
	set t [start_bench $::build/bench/manysites]
	order $t "make 100000" 600
	set m [live_start -p [pid_of $t]]
	order $t "make $n" 600
	puts "\n$n blocks of 10,000 sites with C++ names, and 100,000 from before the attach:\n"
	# Symbols are read once, whoever asks first.
	live $m "malloc sites > $::tmp/sites" 300
	# That of a list of the blocks, which sqlite has.
	set list 0
	foreach {format most} {sqlite 10 json 10 csv 10 folded 2 pprof 2 massif 2 callgrind 2} {
		if {[catch {live $m "export $format $::tmp/$format" 300} text]} {
			puts "($text)"
			continue
		}
		limit "export $format, s" [seconds $m "export $format $::tmp/$format > $::tmp/said" 3] <= $most
		limit "export $format, MB" [own_mb $m "export $format $::tmp/$format > $::tmp/said"] <= 300
		set stood [stood [slurp $::tmp/said]]
		if {$format eq "sqlite"} {
			set list $stood
		}
		limit "export $format, ms of pause" $stood <= [expr {$list ? 1.5 * $list : 1000}]
		puts [format "%-64s %10.2f" "export $format, MB of the file" [expr {[file size $::tmp/$format] / 1e6}]]
	}
	check {[exec grep -c {;malloc } $::tmp/folded] == 10000} {not all sites are in the file}
	let_go $m
	finish $t
}
