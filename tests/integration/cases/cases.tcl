# SPDX-License-Identifier: GPL-3.0-or-later
# The cases of docs/cases.md: what is typed there is typed here, and what the page shows is printed.

# {command lines command lines ...} of the session below a heading of the page.
proc page_session {heading} {
	set text [slurp $::here/../../docs/cases.md]
	set at [string first "\n## $heading\n" $text]
	check {$at >= 0} {the page has no '$heading'}
	set end [string first "\n## " $text $at+1]
	set session {}
	foreach line [split [string range $text $at [expr {$end < 0 ? "end" : $end}]] \n] {
		if {[regexp {^    \(mdbg\) (.*)} $line -> command]} {
			lappend session $command {}
		} elseif {[string match "    ?*" $line] && $session ne {}} {
			lset session end [concat [lindex $session end] [list $line]]
		}
	}
	return $session
}

# A line of the page as a pattern: figures, times and addresses are others each time.
proc page_pattern {line} {
	set pattern [regsub -all {[][\\.*+?(){}|^$]} [string trim $line] {\\&}]
	set pattern [regsub -all {0x[0-9a-f]+} $pattern "\1"]
	set pattern [regsub -all {[0-9]+(?:\\\.[0-9]+)?(?: (?:ms|s|m|h)\y(?: [0-9]+ (?:s|m|h)\y)?)?} $pattern "\2"]
	# A verdict says over which time, if there has been one.
	set pattern [regsub "(?:, in \2)?\\\\\\. Ask " $pattern "(?:, in \2)?\\\\. Ask "]
	set pattern [regsub -all { +} $pattern { +}]
	return "^ *[string map [list \1 {0x[0-9a-f]+} \2 {[0-9.]+(?: (?:ms|s|m|h)(?: [0-9]+ (?:s|m|h))?)?}] $pattern]\$"
}

# Type the next command of ::session, and see all lines that the page shows of its answer, in this order. `instead` is typed
# in place of a command that would take too long. Returns the whole answer.
proc typed {m command {instead ""}} {
	set ::session [lassign $::session want shown]
	check {$command eq $want} {the page has '$want', and not '$command'}
	set text [live $m [expr {$instead eq "" ? $command : $instead}]]
	set lines [split $text \n]
	foreach line $shown {
		if {[string trim $line] eq "..."} {
			continue
		}
		set at [lsearch -regexp $lines [page_pattern $line]]
		check {$at >= 0} {$command does not print '[string trim $line]' (any more): $text}
		set lines [lrange $lines $at+1 end]
	}
	return $text
}

# Do the session of a case: start what follows, attach, and type all that the page has.
proc investigate {heading command body} {
	set ::session [page_session $heading]
	set t [start_command {*}$command]
	attach_to {before m} $t
	uplevel 1 [list set t $t]
	uplevel 1 [list set m $m]
	uplevel 1 $body
	check {$::session eq {}} {the page also has: $::session}
	live_end $m
	if {[is_alive [pid_of $t]]} {
		finish $t {} $before
	}
}

# The first site of an answer: {bytes blocks function}.
proc first_site {text} {
	check {[regexp {\n#1  \+?(\d+) bytes in \+?(\d+) blocks[^\n]*\n(?:    [^\n]*\n)*?    in (\S+)} $text -> bytes count function]} {no site: $text}
	return [list $bytes $count $function]
}

proc lost_bytes {text} {
	check {[regexp {definitely lost\.+ (\d+) bytes} $text -> bytes]} {no summary: $text}
	return $bytes
}

by_both case cases-forgotten-free 60 {
	investigate "Forgotten free" $::build/targets/cases {
		orders $t index "history 1000"
		typed $m "malloc mark start"
		order $t "history 500"
		set text [typed $m "malloc sites sort growth since start limit 1"]
		check {[first_site $text] eq {6000 1500 load_history}} {$text}
		check {[regexp {growth \+2000 bytes in } $text] && [regexp { 1500 blocks, 6000 bytes; 0 freed} $text]} {$text}
		set text [typed $m "malloc leaks definite"]
		# The last one may be in a register still.
		lassign [first_site $text] bytes count function
		check {$function eq "load_history" && $count >= 1498 && $bytes == 4 * $count} {$text}
	}
}

case cases-fast-leaker 60 {
	investigate "Fast leaker" $::build/targets/cases {
		orders $t index frames
		live $m {wait until {[dict get [lindex [mdbg::sites sort rate limit 1] 0] growth] ne "-"} timeout 20}
		set text [typed $m "malloc sites sort rate limit 1"]
		lassign [first_site $text] bytes count function
		check {$function eq "read_frame" && $bytes == 65536 * $count} {$text}
		set rate [live_value $m {dict get [lindex [mdbg::sites sort rate limit 1] 0] rate}]
		# A busy machine wakes its thread late, but never early.
		check {$rate > 500000 && $rate < 8.3e6} {$rate bytes a second}
		set text [typed $m "malloc leaks definite"]
		check {[lindex [first_site $text] 2] eq "read_frame" && [lost_bytes $text] >= 65536 * ($count - 3)} {$text}
		order $t calm
	}
}

by_both case cases-producer-and-consumer 60 {
	investigate "Producer and consumer" $::build/targets/cases {
		set burst [work 100000 20000]
		order $t "burst $burst"
		live $m "wait until {\[dict get \[lindex \[mdbg::history] end] count] >= $burst} timeout 20"
		order $t drain
		typed $m memory
		set text [typed $m malloc]
		set free [figure_of_heap $text "bytes in the freespace tree"]
		set held [figure_of_heap $text "bytes held, with headers"]
		check {$free > 200 * $burst && $held < $free / 50} {$held bytes held, $free free}
		check {[figure_of_heap $text "most that it ever was"] >= $free} {$text}
		set text [typed $m "malloc sites at peak limit 1"]
		check {[lrange [first_site $text] 1 2] eq [list $burst enqueue]} {$text}
		check {[lost_bytes [typed $m "malloc leaks"]] == 0} {lost}
		set text [typed $m "malloc trim"]
		check {[regexp {(\d+) KB given back} $text -> given] && $given * 1024 > $free * 3 / 4} {of $free bytes free: $text}
	}
}

# A figure of the heap of the first thread.
proc figure_of_heap {text name} {
	check {[regexp "Heap 0\n.*?$name\\.+ (\\d+)\n" $text -> bytes]} {malloc does not print: $name: $text}
	return $bytes
}

by_both case cases-connections-never-reused 60 {
	investigate "Connections never reused" $::build/targets/cases {
		orders $t index "serve 100"
		typed $m "malloc mark morning"
		order $t "serve 1000"
		set text [typed $m "malloc diff morning"]
		check {[lrange [first_site $text] 1 2] eq {1000 open_connection}} {$text}
		check {[regexp {\n1 sites changed; grown \d+ bytes, shrunk 0 bytes$} $text]} {$text}
		live $m {wait until {[mdbg::sites age < 0.2s] eq {}} timeout 20}
		set text [typed $m "malloc stale 10m" "malloc stale 0.2s"]
		check {[lrange [first_site $text] 1 2] eq {1100 open_connection}} {$text}
		check {[lost_bytes [typed $m "malloc leaks"]] == 0} {lost}
		typed $m "malloc owners limit 1"
	}
}

by_both case cases-kept-until-exit 60 {
	investigate "Kept until exit" $::build/targets/cases {
		order $t "chunks 100"
		typed $m "malloc mark half"
		order $t "chunks 1000"
		set text [typed $m "malloc diff half"]
		check {[lrange [first_site $text] 1 2] eq {1000 read_chunk}} {$text}
		live $m {wait until {[mdbg::sites age < 0.2s] eq {}} timeout 20}
		set text [typed $m "malloc stale 1m" "malloc stale 0.2s"]
		check {[lrange [first_site $text] 1 2] eq {1100 read_chunk}} {$text}
		typed $m "set leaks-at-end on"
		finish $t
		typed $m "wait exit"
		set text [typed $m "malloc leaks"]
		check {[lost_bytes $text] == 0} {$text}
		check {[live_value $m "mdbg::sites function == read_chunk"] eq {}} {not freed: $::result}
	}
}

# What `export` makes of a job hangs on two sites alone: the variable and its place in the table.
by_both case cases-environment-of-a-shell 60 {
	investigate "Environment of a shell" [list [need bash] $::here/../targets/exporter.bash] {
		order $t "jobs 5"
		typed $m "malloc mark start"
		order $t "jobs 50"
		set text [typed $m "malloc sites function == set_or_show_attributes sort growth since start limit 1"]
		check {[lindex [first_site $text] 1] == 55 && [regexp { 55 blocks, \d+ bytes; 0 freed} $text]} {$text}
		set text [typed $m "malloc diff start"]
		check {[regexp {grown (\d+) bytes, shrunk (\d+) bytes} $text -> grown shrunk] && $grown > 50 * 100 && $shrunk < $grown / 10} {$text}
	}
}

# Type `memory`, have the target do its work, and type it again. Returns the second answer.
proc typed_memory_twice {t m work} {
	typed $m memory
	order $t $work
	return [typed $m memory]
}

case cases-mapped-and-given-back-in-part 60 {
	investigate "Mapped and given back in part" $::build/targets/beside {
		order $t "tiles 10"
		set text [typed_memory_twice $t $m "tiles 300"]
		check {[regexp {without malloc grows, by (\d+) bytes} $text -> bytes] && $bytes == 300 * 4096} {$text}
		typed $m "growth start mmap"
		order $t "tiles 200"
		set text [typed $m "growth mmap limit 1"]
		check {[string match "*\n#1  819200 bytes in 200 mappings\n*" $text]} {$text}
		set text [typed $m "growth log mmap"]
		check {[llength [regexp -all -inline -line {^\S+ \S+ \d+ mmap 0x[0-9a-f]+ 135168 } $text]] == 200} {$text}
		check {[llength [regexp -all -inline -line {^\S+ \S+ \d+ munmap 0x[0-9a-f]+ 131072$} $text]] == 200} {$text}
	}
}

case cases-the-same-pages-again-and-again 60 {
	investigate "The same pages again and again" $::build/targets/beside {
		start_growth $m fault
		live $m "growth stop"
		order $t "answers 2"
		typed_memory_twice $t $m "answers 200"
		typed $m "growth start fault"
		order $t "answers 100"
		set text [typed $m "growth fault limit 1"]
		check {[regexp {\n#1  (\d+) pages in (\d+) faults } $text -> pages faults]} {$text}
		# On a busy machine mdbg may be too late for some; the answer counts them then.
		set lost 0
		regexp {(\d+) page faults were lost} $text -> lost
		check {$pages >= 250 && $pages <= 256 && $faults <= 101 * $pages} {$text}
		check {$faults + $lost >= 99 * $pages} {$text}
	}
}

case cases-threads-that-nobody-joins 60 {
	investigate "Threads that nobody joins" $::build/targets/beside {
		order $t "jobs 1"
		typed_memory_twice $t $m "jobs 20"
		set text [typed $m thread]
		check {[llength [regexp -all -inline {ended, not joined} $text]] == 21} {$text}
		typed $m "growth start mmap"
		order $t "jobs 2"
		set text [typed $m thread]
		check {[llength [regexp -all -inline {ended, not joined} $text]] == 23} {$text}
		check {[llength [regexp -all -inline {its stack was mapped by} $text]] == 2} {$text}
	}
}

case cases-outside-the-process 60 {
	have_kernel_alone
	investigate "Outside the process" $::build/targets/sockets {
		# The code that it runs later is in memory now, and does not count as growth.
		order $t "fill 1"
		typed $m "memory"
		typed $m "memory system limit 0"
		set written [lindex [order $t "fill 20"] 0]
		typed $m "memory"
		set text [typed $m "memory system limit 3"]
		check {[regexp -line {^socket buffers +\d+ +\+(\d+) } $text -> more] && $more > $written / 2} {$written bytes were written: $text}
		order $t drain
	}
}

case cases-leaker-below-a-limit 60 {
	with_group 96M {
		skip_if {![file exists $group/memory.limit_in_bytes]} {the page has version 1}
		investigate "Leaker below a limit" $::build/targets/cases {
			spit_into $group/cgroup.procs [pid_of $t]
			order $t frames
			typed $m "memory system limit 0"
			order $t calm
		}
	}
}

case cases-small-blocks-on-many-pages 60 {
	investigate "Small blocks on many pages" $::build/targets/pins {
		order $t "pin 20000"
		set text [typed $m malloc]
		check {[regexp {kept by live blocks \(pins\)\.+ (\d+)} $text -> pinned] && $pinned > 70000000} {$text}
		typed $m "malloc trim"
		set text [typed $m "malloc pins limit 1"]
		check {[regexp {would give back (\d+) bytes} $text -> promised]} {$text}
		order $t "free small"
		lassign [order $t trim] rss after
		check {abs($promised - ($rss - $after)) < $promised / 20} {promised: $promised, given back: [expr {$rss - $after}]}
		set before [state [pid_of $t]]
	}
}

case cases-a-peak-that-is-over 60 {
	investigate "A peak that is over" $::build/targets/branches {
		# Where others have the processors mdbg may come too late, and then says how much of the peak it has.
		until {[live $m "malloc reset"] eq "" && [order $t "left 200 500"] eq "" && [order $t "peak 1600 65536"] eq "" &&
		       [regexp {burst.*4 ms have seen\n} [live $m "malloc sites at peak limit 1"]]}
		typed $m "malloc sites at peak limit 1"
		order $t "right 300000 100"
		typed $m "malloc sites sort temporary limit 1"
		set text [typed $m "malloc tree by function sort calls"]
		check {[regexp {main.*work.*right} $text]} {$text}
	}
}

case cases-a-reader-that-nobody-closes 60 {
	investigate "A reader that nobody closes" $::build/targets/keepers {
		order $t "reader 50000"
		typed $m "malloc sites limit 1"
		typed $m "malloc owners limit 1"
		set session [dict get [lindex [live_value $m "mdbg::owners limit 1"] 0] address]
		typed $m [lindex $::session 0] "malloc owners $session"
		set block [dict get [lindex [live_value $m "mdbg::allocations size == 1016"] 25000] address]
		typed $m [lindex $::session 0] "malloc path $block"
		set before [state [pid_of $t]]
	}
}

case cases-a-callback-in-a-ring 60 {
	investigate "A callback in a ring" $::build/targets/holders {
		typed_memory_twice $t $m "connect 2000"
		check {[lost_bytes [typed $m "malloc leaks definite limit 1"]] == 2000 * 2080} {lost}
		set block [dict get [lindex [live_value $m "mdbg::leaks definite"] 0] address]
		typed $m [lindex $::session 0] "malloc find $block"
	}
}

case cases-a-cache-without-eviction 60 {
	investigate "A cache without eviction" $::build/targets/holders {
		typed_memory_twice $t $m "render 3000"
		check {[lrange [first_site [typed $m "malloc sites sort growth limit 1"]] 1 2] eq {3000 render_page()}} {sites}
		set text [typed $m "malloc owners limit 1"]
		check {[regexp {#1  (\d+) bytes in 9001 blocks } $text -> bytes] && $bytes > 3000 * 4000} {$text}
	}
}

case cases-a-reference-of-an-extension 60 {
	investigate "A reference of an extension" [list [need python3] $::here/../targets/requests.py $::build/targets/libkept.so] {
		typed_memory_twice $t $m "requests 3000"
		typed $m "malloc sites sort growth limit 1"
		set text [typed $m "malloc owners limit 1"]
		check {[regexp {#1  \d+ bytes in (\d+) blocks } $text -> count] && $count > 2900} {$text}
	}
}

case cases-large-and-little-is-held 60 {
	investigate "Large, and little is held" $::build/targets/kinds {
		foreach line {"heap 1" "threads 12" "arenas 16" "lazy 20" "memfd 30" fork} {
			order $t $line
		}
		typed $m memory
		set text [typed $m "memory account"]
		check {[regexp -line {^tops +(\d+) } $text -> tops] && $tops > 180000000} {$text}
		check {[regexp -line {^held +(\d+) } $text -> held] && $held < 1500000} {$text}
		# It has more threads than before.
		finish $t
	}
}
