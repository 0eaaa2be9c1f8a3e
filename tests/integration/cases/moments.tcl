# SPDX-License-Identifier: GPL-3.0-or-later
# Marks, differences, the history: what they say is what complete lists of the same moments say.

# In mdbg: what is recorded, by stack, of a complete list; and the changes between two such sums, as mdbg::diff has them.
set moments_sums {
	proc sums {} {
		set sums {}
		mdbg::allocations -each block {
			if {[dict get $block preattach]} {
				continue
			}
			set stack [dict get $block stack]
			lassign [expr {[dict exists $sums $stack] ? [dict get $sums $stack] : {0 0}}] bytes count
			dict set sums $stack [list [incr bytes [dict get $block size]] [incr count]]
		}
		return $sums
	}
	proc changes {from to} {
		set changes {}
		foreach stack [lsort -unique [concat [dict keys $from] [dict keys $to]]] {
			lassign [expr {[dict exists $from $stack] ? [dict get $from $stack] : {0 0}}] bytes count
			lassign [expr {[dict exists $to $stack] ? [dict get $to $stack] : {0 0}}] later more
			if {$bytes != $later || $count != $more} {
				lappend changes [list [expr {$later - $bytes}] [expr {$more - $count}] $stack]
			}
		}
		return [lsort $changes]
	}
	proc told {args} {
		lsort [lmap change [mdbg::diff {*}$args] {list [dict get $change bytes] [dict get $change count] [dict get $change stack]}]
	}
	proc recorded_bytes {} {
		set malloc [mdbg::malloc]
		expr {[dict get $malloc bytes] - [dict get $malloc preattachbytes]}
	}
}

proc moments_define {m} {
	live $m [string map {"\n" ";"} $::moments_sums]
}

# The sums of the last line of `malloc diff`.
proc moments_ends {text} {
	check {[regexp -line {^\d+ sites changed; grown (\d+) bytes, shrunk (\d+) bytes$} $text -> grown shrunk]} {no sums: [string range $text end-200 end]}
	return [list $grown $shrunk]
}

# Threads at work are stopped at random, and each time the difference with some earlier stop is that of the two lists.
by_both case moments-are-exact-under-load 120 {
	start_watched {t before m} exact -t 3 {*}$::rest
	moments_define $m
	order $t go
	set moments [expr {min(100, 10 * $::trials)}]
	for {set i 0} {$i < $moments} {incr i} {
		order $t "more [expr {1 + int(rand() * [work 300 30])}]"
		set j [expr {int(rand() * $i)}]
		live $m "interrupt; mdbg::mark t$i; set sums($i) \[sums]; set bytes($i) \[recorded_bytes]"
		set bad [live_value $m "set want \[changes \$sums($j) \$sums($i)]; expr {\[told t$j t$i] eq \$want && \[told t$j] eq \$want && \[told now t$j] eq \[changes \$sums($i) \$sums($j)] ? {} : \[list \[told t$j] \$want]}"]
		check {$bad eq ""} {moment $i, since $j: [string range $bad 0 300]}
		lassign [moments_ends [live $m "malloc diff t$j"]] grown shrunk
		check {$grown - $shrunk == [live_value $m "expr {\$bytes($i) - \$bytes($j)}"]} {moment $i, since $j: grown $grown, shrunk $shrunk, but the totals differ by $::result}
		live $m cont
	}
	# Those that nobody has asked about since are as they were; and the largest change is the first.
	set j [expr {$moments - 1}]
	check {[live_value $m "expr {\[told t0 t$j] eq \[changes \$sums(0) \$sums($j)]}"]} {the first and the last}
	set sizes [live_value $m "lmap change \[mdbg::diff t0 t$j] {expr {abs(\[dict get \$change bytes])}}"]
	check {$sizes eq [lsort -integer -decreasing $sizes] && [llength $sizes] > 5} {not in order: $sizes}
	order $t pause
	finish $t $m $before
}

# What has not changed is in no answer; what has is, in text, since and at.
by_both case moments-marks 60 {
	start_watched {t before m} grower
	orders $t "table 1000000" "fill 100"
	check {[live $m "malloc mark"] eq "m1"} {the name that was made up: [live $m "malloc mark"]}
	check {[moments_ends [live $m "malloc diff m1"]] eq {0 0}} {nothing has changed}
	order $t "fill 50"
	set text [live $m "malloc diff m1"]
	check {[regexp {#1  \+1600 bytes in \+50 blocks\n    in grow_filled.*\n +0x\S+ malloc\n +0x\S+ grow_filled} $text]} {grown: $text}
	check {[moments_ends $text] eq {1600 0}} {sums: $text}
	check {![string match "*#2*" $text]} {the table has not changed: $text}
	check {[moments_ends [live $m "malloc diff now m1"]] eq {0 1600}} {the other way round}
	live $m "malloc mark after"
	order $t "fill 7"
	check {[moments_ends [live $m "malloc diff m1 after"]] eq {1600 0}} {between two marks}
	check {[moments_ends [live $m "malloc diff after"]] eq {224 0}} {since the second}
	foreach {options want} {"since m1" 1824 "since after" 224 "at after since m1" 1600} {
		set text [live $m "malloc sites function == grow_filled $options"]
		check {[regexp "growth \\+$want bytes in " $text]} {$options: $text}
		check {[regexp -line {^Growth is since (m1|after) \(\d{4}-\d\d-\d\d [\d:]+, .* ago\)$} $text]} {since when: $text}
	}
	check {[live_value $m "dict get \[lindex \[mdbg::sites by function sort growth since m1 limit 1] 0] growth"] == 1824} {by function: $::result}
	set text [live $m "malloc sites at m1"]
	check {[regexp {at m1 \(.* ago\):\n\n#1  1000000 bytes in 1 blocks} $text]} {at m1: $text}
	check {[regexp {#2  3200 bytes in 100 blocks} $text] && ![regexp {oldest|all-time|growth} $text]} {at m1: $text}
	check {[live_value $m "lmap site \[mdbg::sites at after] {dict get \$site bytes}"] eq {1000000 4800}} {at after: $::result}
	finish $t $m $before
}

# What a sampled log has is scaled, and so are differences, which say so.
case moments-with-sampling 60 {
	set t [start sampled]
	set m [live_start --sample 2048 -p [pid_of $t]]
	order $t "small 50000"
	# (Where samples are scaled, what has no record is in no total.)
	live $m "mdbg::mark a; set before \[dict get \[mdbg::malloc] bytes]"
	orders $t "small 100000" "large 500"
	set text [live $m "malloc diff a"]
	lassign [moments_ends $text] grown shrunk
	check {$shrunk == 0 && abs($grown - 5248000) < 524800} {$grown bytes, and not about 5248000: $text}
	check {[regexp -line {^Sampled \(one in 2048 bytes\): all figures are estimates$} $text]} {it is not said: $text}
	check {$grown == [live_value $m "expr {\[dict get \[mdbg::malloc] bytes] - \$before}"]} {grown $grown, but the totals by $::result}
	check {[regexp -line {^Sampled} [live $m "malloc sites at a"]]} {sites at a mark}
	finish $t $m
}

# Each is one line and a hint, and ends with 1; nothing is printed.
case moments-refused 60 {
	set t [start grower]
	set pid [pid_of $t]
	foreach {commands pattern hint} {
		{{malloc diff a}} "there is no mark 'a'" "malloc mark NAME"
		{{malloc mark b} {malloc diff a}} "there is no mark 'a'" "marks: b"
		{{malloc sites since a}} "there is no mark 'a'" "malloc mark NAME"
		{{malloc sites at a}} "there is no mark 'a'" "malloc mark NAME"
		{{malloc mark a} {malloc mark a}} "there is a mark 'a' already" "another name"
		{{malloc mark peak}} "'peak' is no name" "other moments"
		{{malloc mark a/b}} "is no name" "no slash"
		{{malloc mark a} {malloc reset} {malloc diff a}} "'a' is from before `malloc reset`" "malloc mark a"
		{{malloc mark a} {malloc reset} {malloc sites at a}} "'a' is from before `malloc reset`" "malloc mark a"
		{{malloc diff -1h}} "-1h is before the history" "the history begins at"
		{{malloc sites since -1h}} "-1h is before the history" "the history begins at"
		{{malloc diff -1y}} "'-1y' is no moment" "-10m"
		{{malloc sites since now}} "not before now" "a mark"
		{{malloc mark a} {malloc sites size > 10 at a}} "size is not known for an earlier moment" "function"
		{{malloc mark a} {malloc sites by thread at a}} "thread is not known for an earlier moment" "function"
		{{malloc mark a b}} "'b' is not expected" "usage"
		{{malloc diff}} "too few words" "usage"
	} {
		mdbg -q -p $pid {*}[concat {*}[lmap command $commands {list -c $command}]]
		check_refused 1 $pattern $hint
		check {$::out eq ""} {it prints: $::out}
	}
	foreach command {{malloc mark} {malloc diff now} {malloc sites at peak} mdbg::mark {mdbg::diff now} mdbg::history} {
		mdbg -q -c $command
		check_refused 1 "no process" "attach PID"
		mdbg -q --no-arm -p $pid -c $command
		check_refused 1 "nothing is recorded" "malloc"
	}
	finish $t
}

case moments-of-a-core 60 {
	set t [start grower]
	set core [gcore [pid_of $t]]
	foreach command {{malloc mark a} {malloc diff a} {malloc sites at peak} mdbg::history} {
		mdbg -q -c $command --core $core $::build/targets/grower
		check_refused 1 "there is no process, only its core file" "malloc"
	}
	finish $t
}

# A sample a second or so, unasked; how long ago is a moment, and it is said which one was taken.
by_both case moments-history 60 {
	start_watched {t m} grower
	order $t "fill 100"
	live $m "wait until {\[dict get \[lindex \[mdbg::history] end] count] == 100} timeout 20"
	set then [live_value $m "dict get \[lindex \[mdbg::history] end] time"]
	order $t "fill 10"
	live $m "wait until {\[dict get \[lindex \[mdbg::history] end] count] == 110} timeout 20"
	live $m "set n \[llength \[mdbg::history]]; wait until {\[llength \[mdbg::history]] >= \$n + 4} timeout 30"
	set samples [live_value $m mdbg::history]
	check {[lrange [lindex $samples 0] 2 5] eq {bytes 0 count 0}} {it begins with the log: [lindex $samples 0]}
	set last 0
	set apart {}
	foreach sample $samples {
		check {[dict get $sample time] > $last && [dict get $sample rss] > 100000 && ![dict get $sample gap]} {a sample: $sample}
		lappend apart [expr {[dict get $sample time] - $last}]
		set last [dict get $sample time]
	}
	set apart [lsort -real [lrange $apart 1 end]]
	check {[lindex $apart [expr {[llength $apart] / 2}]] < 0.5 + $::slower} {samples are apart by: $apart}
	# As long ago as that sample is. (The nearest one is meant, and the others are half a second away.)
	set text [live $m "set ago \[expr {\[clock microseconds] / 1e6 - $then}]; malloc diff -\${ago}s"]
	set ago [live_value $m {set ago}]
	check {[regexp -line "^    from -${ago}s \\(\\d{4}-.* ago\\): 3200 bytes in 100 blocks\$" $text]} {which one: $text}
	check {[moments_ends $text] eq {320 0}} {since $ago s ago: $text}
	set text [live $m "malloc -v"]
	check {[regexp {\n    interval\.+ 1\.0 s\n    processor time of a sample\.+ [0-9.]+ ms\n    samples\.+ (\d+)\n} $text -> n]} {malloc -v: $text}
	check {$n >= [llength $samples]} {$n samples of [llength $samples]}
	check {[live_value $m "dict get \[mdbg::malloc] samplecost"] < 0.01} {a sample of a small program costs $::result s}
	finish $t $m
}

# The highest sample has its sites long after it.
case moments-peak 60 {
	start_watched {t m} sampled
	orders $t "small 10" "large 1000"
	live $m "wait until {\[dict get \[lindex \[mdbg::history] end] bytes] > 4000000} timeout 20"
	order $t drop
	live $m "wait until {\[dict get \[lindex \[mdbg::history] end] bytes] < 4000000} timeout 20"
	set text [live $m "malloc sites at peak"]
	check {[regexp {at peak \(.* ago\):\n\n#1  4096000 bytes in 1000 blocks.*#2  320 bytes in 10 blocks} $text]} {at the peak: $text}
	check {[moments_ends [live $m "malloc diff peak"]] eq {0 4096320}} {since the peak}
	finish $t $m
}

# While nothing is recorded there are no samples, and a difference over that time says so.
by_both case moments-gap 60 {
	start_watched {t before m} grower
	order $t "fill 10"
	live_all $m "malloc mark a" "malloc off"
	set n [live_value $m "llength \[mdbg::history]"]
	order $t "fill 10"
	# Longer than a sample takes to come: there is nothing that says that none comes.
	live_all $m "wait 2" "malloc sites"
	check {[live_value $m "llength \[mdbg::history]"] == $n} {samples while it is off}
	check {[regexp -line {^Recording was off for [\d.]+ s in between: } [live $m "malloc diff a"]]} {while it is off}
	live $m "malloc on"
	order $t "fill 10"
	live $m "wait until {\[llength \[mdbg::history]] > $n} timeout 20"
	check {[live_value $m "lmap was \[lrange \[mdbg::history] 0 $n] {dict get \$was gap}"] eq [concat [lrepeat $n 0] 1]} {gaps: $::result}
	set text [live $m "malloc diff a"]
	check {[moments_ends $text] eq {320 0}} {what was recorded: $text}
	check {[regexp -line {^Recording was off for } $text]} {not said: $text}
	check {[regexp -line {^Recording was off for } [live $m "malloc sites since a"]]} {sites since}
	live $m "malloc mark b"
	order $t "fill 1"
	check {![string match "*Recording was off*" [live $m "malloc diff b"]]} {not since b}
	finish $t $m $before
}

# Left in the process by -keep, the log goes on by itself: marks hold, and nobody has taken samples.
case moments-keep 60 {
	start_watched {t before m} grower
	order $t "fill 10"
	live_all $m "malloc mark a" "detach -keep"
	order $t "fill 20"
	live $m "attach [pid_of $t]"
	set text [live $m "malloc diff a"]
	check {[moments_ends $text] eq {640 0} && ![string match "*Recording was off*" $text]} {since the mark: $text}
	check {[live_value $m "expr {1 in \[lmap was \[mdbg::history] {dict get \$was gap}]}"]} {no gap: [live_value $m mdbg::history]}
	# A log of its own, and no mark in it.
	live_all $m detach "attach [pid_of $t]"
	check {[string match "*there is no mark 'a'*" [live_error $m "malloc diff a"]]} {another log: $::result}
	finish $t $m $before
}

# The process has ended, and what was there can still be compared.
case moments-after-the-end 60 {
	start_watched {t m} grower
	order $t "fill 10"
	live $m "malloc mark a"
	order $t "fill 5"
	finish $t
	live $m "wait exit timeout 20"
	check {[moments_ends [live $m "malloc diff a"]] eq {160 0}} {since a mark}
	check {[live_value $m "dict get \[lindex \[mdbg::sites at a] 0] count"] == 10} {at a mark: $::result}
	live $m "malloc mark b"
	check {[moments_ends [live $m "malloc diff b"]] eq {0 0}} {nothing changes any more}
	live_end $m
}
