# SPDX-License-Identifier: GPL-3.0-or-later
# Flame graphs and reports: what is in the files, and what Chromium makes of them (tests/integration/browser.py).

set browser [file dirname [info script]]/../browser.py

# The page of a file must do all that browser.py asks of it, with a function that has a frame and a site. A sanitized mdbg
# writes the same pages, of which Chromium makes the same.
proc check_in_browser {kind path function} {
	if {[is_sanitized]} {
		return
	}
	set python [need python3]
	need chromium
	need chromedriver
	if {[catch {exec timeout [expr {200 * $::slower}] $python $::browser $kind $path $function $::tmp 2>@1} said]} {
		fail "$kind in Chromium: $said"
	}
	check {$said eq "ok"} {$kind in Chromium: $said}
}

# The frames of a flame graph, from the file: a list of {name bytes blocks x y width}; x and width in 1/10000 pixel.
proc svg_frames {text} {
	set frames {}
	set pattern {<g class="[a-z0-9]+"><title>([^<]*) \((\d+) bytes in (\d+) blocks, [^()]*\)</title>}
	append pattern {<rect x="([0-9.]+)" y="(\d+)" width="([0-9.]+)" height="\d+"/>}
	foreach {- name bytes blocks x y width} [regexp -all -inline $pattern $text] {
		lappend frames [list $name $bytes $blocks [expr {round(10000 * $x)}] $y [expr {round(10000 * $width)}]]
	}
	check {[llength $frames] == [regexp -all {<g } $text] && [llength $frames]} {frames that are none: [llength $frames]}
	return $frames
}

# Each frame lies on one below, is as wide as its share, and those on one frame are no more than it.
proc check_frames {frames} {
	lassign [lindex $frames 0] - all - - bottom full
	set rows [dict create]
	foreach frame $frames {
		lassign $frame name bytes - x y width
		dict lappend rows $y $frame
		check {abs($width - $full * $bytes / $all) <= 1} {$name of $bytes bytes is $width wide of $full for $all}
	}
	check {[llength [dict get $rows $bottom]] == 1} {more than one frame at the bottom}
	set depths [lsort -integer -decreasing [dict keys $rows]]
	foreach y [lrange $depths 1 end] below [lrange $depths 0 end-1] {
		if {$y eq ""} {
			continue
		}
		foreach under [dict get $rows $below] {
			lassign $under name bytes - x - width
			set sum 0
			foreach frame [dict get $rows $y] {
				lassign $frame - over - at - wide
				if {$at >= $x && $at < $x + $width} {
					incr sum $over
					check {$at + $wide <= $x + $width} {[lindex $frame 0] is wider than $name}
				}
			}
			check {$sum <= $bytes} {$sum bytes on $name, which has $bytes}
		}
	}
}

case flamegraph-adds-up 60 {
	start_watched {t m} orders
	order $t fill
	live $m "export flamegraph $::tmp/a.svg"
	set frames [svg_frames [slurp $::tmp/a.svg]]
	check_frames $frames
	lassign [lindex $frames 0] name bytes blocks
	check {$name eq "all"} {the whole is $name}
	# What is recorded is that of the sites; the rest is older.
	set sites [live_value $m mdbg::sites]
	set recorded [::tcl::mathop::+ {*}[lmap site $sites {dict get $site bytes}]]
	set early [lindex [lsearch -inline -index 0 $frames "(allocated before attach)"] 1]
	check {$early ne "" && $recorded + $early == $bytes} {$recorded bytes of sites and $early older ones are not $bytes}
	# By the same stacks, from another format.
	live $m "export folded $::tmp/a.folded"
	set sum 0
	foreach line [split [string trim [slurp $::tmp/a.folded]] "\n"] {
		incr sum [lindex [split $line " "] end]
	}
	check {$sum == $bytes} {$sum bytes folded, $bytes in the graph}

	live $m "export flamegraph $::tmp/b.svg sort count"
	regexp {<title>all \((\d+) bytes in (\d+) blocks, 100.00 % of the blocks\)} [slurp $::tmp/b.svg] -> b n
	check {$b == $bytes && $n == $blocks} {by blocks: $b bytes in $n blocks}
	finish $t $m
}

# Of growth, what grew and what shrank have a colour each, and are added up apart.
case flamegraph-of-growth 90 {
	start_watched {t m} exact
	# On a busy machine it may be known when it is asked for: then recording begins anew.
	until {[file delete $::tmp/a.svg] eq "" && [live $m "malloc reset"] eq "" && [order $t "ops 20000"] eq "" &&
	       [live_value $m "catch {export flamegraph $::tmp/a.svg sort growth} why"]}
	check {[string match "*growth is not known yet*" [live_value $m {set why}]]} {$::result}
	check {![file exists $::tmp/a.svg]} {a file of what is not known}
	order $t "ops 20000"
	until {![catch {live $m "export flamegraph $::tmp/a.svg sort growth"}]}
	set text [slurp $::tmp/a.svg]
	set frames [regexp -all -inline {<g class="([a-z]+)"><title>[^<]* \((\d+) bytes changed: (\d+) grown, (\d+) shrunk, } $text]
	check {[llength $frames] / 5 == [regexp -all {<g } $text]} {frames that are none: [llength $frames]}
	foreach {- class changed grown shrunk} $frames {
		incr seen($class)
		set wanted [expr {$grown > $shrunk ? "grown" : $grown < $shrunk ? "shrunk" : "even"}]
		check {$grown + $shrunk == $changed} {$grown bytes grown and $shrunk shrunk are not $changed}
		check {$class in [list $wanted whole]} {$class where $grown bytes grew and $shrunk shrank}
	}
	check {$seen(whole) == 1 && [info exists seen(grown)] && [info exists seen(shrunk)]} {[array get seen]}
	finish $t $m
}

case flamegraph-in-browser 240 {
	start_watched {t m} orders
	order $t fill
	live $m "export flamegraph $::tmp/a.svg"
	finish $t $m
	check_in_browser flamegraph $::tmp/a.svg xmalloc
}

case report-in-browser 240 {
	start_watched {t m} orders
	order $t fill
	live $m "report $::tmp/a.html"
	finish $t $m
	check_in_browser report $::tmp/a.html xmalloc
}

# The frames of a graph of a report, by name: {{bytes blocks} ...}.
proc section_frames {text section} {
	check {[regexp "<section id=\"$section\">.*?</section>" $text part]} {no section $section}
	set found {}
	foreach {- name bytes blocks} [regexp -all -inline {<title>([^<]*) \((\d+) bytes in (\d+) blocks, [^()]*\)</title>} $part] {
		dict lappend found $name [list $bytes $blocks]
	}
	return $found
}

# The report has the figures of the commands.
case report-owners 60 {
	start_watched {t m} keepers
	order $t "reader 1000"
	live $m "report $::tmp/a.html"
	set text [slurp $::tmp/a.html]
	foreach {section list key} {owners mdbg::owners label types mdbg::types type} {
		set frames [section_frames $text $section]
		foreach row [live_value $m $list] {
			set name [dict get $row $key]
			# Narrower ones may not be drawn.
			if {[dict get $row share] > 0.1} {
				check {[dict exists $frames $name] && [list [dict get $row bytes] [dict get $row count]] in [dict get $frames $name]} {$row: $frames}
			}
		}
		check {[dict size $frames] > 3} {$frames}
	}
	finish $t $m
}

# Hostile names are text: both files are whole, nothing of them is run, and the names can be read.
case html-hostile-names 240 {
	set t [start jitnames]
	set pid [pid_of $t]
	set m [live_start -p $pid]
	order $t make
	live_all $m "export flamegraph $::tmp/a.svg" "report $::tmp/a.html"
	finish $t $m
	foreach file {a.svg a.html} {
		set text [slurp $::tmp/$file]
		check {[string first "&lt;script&gt;window.hacked=1&lt;/script&gt;" $text] > 0} {$file has not the name of the script}
		foreach raw {<script>window.hacked <img "\]\]><g onload" \033 \177 \a} {
			check {[string first [subst -nocommands $raw] $text] < 0} {$file has $raw}
		}
		check {[string first {\x1b[31mred\x7f} $text] > 0 && [string first {\xff\xfenot\x80UTF-8\xc3} $text] > 0} \
			{$file does not show bytes}
		check {[string first {\u202esdrawkcab} $text] > 0} {$file does not show what changes the direction}
	}
	# The whole of a long name in the graph; in the report its beginning.
	set long [string repeat abcdefghijklmnopqrstuvwxyz 385]
	check {[string first <title>[string range $long 0 9999] [slurp $::tmp/a.svg]] > 0} {the long name is not whole}
	check {[string first <title>[string range $long 0 399]… [slurp $::tmp/a.html]] > 0} {the long name is not cut}
	set python [need python3]
	exec $python -c "import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv\[1\])" $::tmp/a.svg
	check_in_browser flamegraph $::tmp/a.svg make_block
	check_in_browser report $::tmp/a.html make_block
}

# Since a mark a graph is of the difference, also of what has gone altogether; a report has marks and history.
case html-since-a-mark 120 {
	start_watched {t m} exact
	orders $t each "ops 5000"
	live $m "malloc mark before"
	orders $t drop "ops 2000"
	until {[live_value $m "llength \[mdbg::history\]"] > 2}
	live $m "export flamegraph $::tmp/a.svg since before"
	set grown 0
	set shrunk 0
	foreach change [live_value $m "mdbg::diff before"] {
		set bytes [dict get $change bytes]
		incr [expr {$bytes > 0 ? "grown" : "shrunk"}] [expr {abs($bytes)}]
	}
	set text [slurp $::tmp/a.svg]
	check {[regexp {<title>all \((\d+) bytes changed: (\d+) grown, (\d+) shrunk, } $text -> changed up down]} {no difference}
	check {$up == $grown && $down == $shrunk && $grown && $shrunk} {$up grown and $down shrunk, mdbg::diff: $grown and $shrunk}
	live $m "report $::tmp/a.html"
	set text [slurp $::tmp/a.html]
	check {[regexp "\"title\":\"Since the mark before, \[^\"\]* ago\",\"note\":\"\",\"grown\":$grown,\"shrunk\":$shrunk," $text]} \
		{the report has not the difference}
	check {[regexp {<p>In the last [^<]* its recorded blocks have } $text]} {the verdict says nothing of time}
	finish $t $m
	check_in_browser report $::tmp/a.html main
}

# The verdict of a report as text.
proc verdict_of {m} {
	live $m "report $::tmp/verdict.html"
	check {[regexp {<section id="verdict">(.*?)</section>} [slurp $::tmp/verdict.html] -> html]} {no verdict}
	return [regsub -all {<[^>]*>} $html ""]
}

# What is resident and no block's is named, with what gives it back.
case report-verdict-parts 60 {
	foreach {orders words ask} {
		{{heap 1} {threads 4} {arenas 3}} {free, at the ends of other arenas} {memory account}
		{{heap 1} {lazy 9}} {given back \(MADV_FREE\)} {memory account}
		{{heap 1} {memfd 9}} {its descriptors hold 9437184 bytes} {memory account}
		{{heap 1} {burst 9}} {free, in the lists of arenas} {malloc trim}
	} {
		set t [start kinds]
		foreach line $orders {
			order $t $line
		}
		set m [live_start -p [pid_of $t]]
		set text [verdict_of $m]
		check {[regexp {^Verdict\n[\d.]+ MiB are in memory: } $text]} {$text}
		check {[regexp $words $text] && [string match "*Ask `$ask`.*" $text]} {$orders: $text}
		check {![regexp {begin with|Look first} $text]} {$orders: $text}
		check {[regexp {<section id="account">.*<th scope="row">all</th>} [slurp $::tmp/verdict.html]]} {no account}
		finish $t $m
	}
}

# A place without a name is a place. What only leads to lost blocks counts with them; a trifle is none.
case report-verdict-places 60 {
	set strip [need strip]
	exec $strip -o $::tmp/nameless $::build/targets/kinds
	set t [start_command $::tmp/nameless]
	set m [live_start -p [pid_of $t]]
	order $t "heap 8"
	set text [verdict_of $m]
	check {[regexp {the largest part, 8\.\d MiB \(\d+ %\), was allocated in \[nameless\+0x[0-9a-f]+\]} $text]} {$text}
	finish $t $m

	start_watched {t m} losses
	foreach line {lose lose chain} {
		order $t $line
	}
	set text [verdict_of $m]
	check {[regexp {and 27\.4 KiB in 4 blocks are definitely lost} $text]} {$text}
	check {[string match "*above all those of lose_chain:*" $text]} {$text}
	finish $t $m
}
