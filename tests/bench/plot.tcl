# SPDX-License-Identifier: GPL-3.0-or-later
# A plot of lines as SVG, without help from anybody.
#
#	plot FILE TITLE XLABEL YLABEL ?NAME POINTS?...	POINTS: x y x y …, x in order
#
# The x axis is logarithmic, y begins at 0.

set plot_colours {#1b6ca8 #c0392b #2e8b57 #8e44ad}

proc plot_number {n} {
	foreach {size suffix} {1e6 M 1e3 k} {
		if {$n >= $size} {
			return [format %g [expr {round($n / $size * 10) / 10.0}]]$suffix
		}
	}
	return [format %g [expr {round($n * 100) / 100.0}]]
}

# The least of 1, 2, 5, 10 … times a power of ten that is not below n.
proc plot_round_up {n} {
	set power [expr {pow(10, floor(log10(max($n, 1e-9))))}]
	foreach factor {1 2 5 10} {
		if {$factor * $power >= $n * 0.999999} {
			return [expr {$factor * $power}]
		}
	}
}

proc plot_text {x y text {anchor middle} {more ""}} {
	set text [string map {& &amp; < &lt; > &gt;} $text]
	return "<text x=\"$x\" y=\"$y\" text-anchor=\"$anchor\" $more>$text</text>"
}

proc plot_x {x} {
	lassign $::plot_range low high
	return [format %.1f [expr {70 + 500 * (log($x) - log($low)) / (log($high) - log($low))}]]
}

proc plot_y {y} {
	return [format %.1f [expr {310 - 250.0 * $y / [lindex $::plot_range 2]}]]
}

proc plot_axes {title xlabel ylabel ticks} {
	set lines [list [plot_text 320 22 $title middle {font-weight="bold"}] [plot_text 320 350 $xlabel] \
		[plot_text 0 0 $ylabel middle {transform="translate(16 185) rotate(-90)"}]]
	for {set i 0} {$i <= 5} {incr i} {
		set value [expr {[lindex $::plot_range 2] * $i / 5.0}]
		set y [plot_y $value]
		lappend lines "<line x1=\"70\" y1=\"$y\" x2=\"570\" y2=\"$y\" stroke=\"#ddd\"/>" \
			[plot_text 64 [expr {$y + 4}] [plot_number $value] end]
	}
	foreach x $ticks {
		lappend lines [plot_text [plot_x $x] 328 [plot_number $x]] \
			"<line x1=\"[plot_x $x]\" y1=\"310\" x2=\"[plot_x $x]\" y2=\"314\" stroke=\"#444\"/>"
	}
	return $lines
}

proc plot {file title xlabel ylabel args} {
	set top 0
	set ticks {}
	foreach {name points} $args {
		foreach {x y} $points {
			set top [expr {max($top, $y)}]
			lappend ticks $x
		}
	}
	set ticks [lsort -real -unique $ticks]
	set ::plot_range [list [lindex $ticks 0] [lindex $ticks end] [plot_round_up $top]]
	set lines [plot_axes $title $xlabel $ylabel $ticks]
	set nr 0
	foreach {name points} $args {
		set colour [lindex $::plot_colours $nr]
		set path {}
		foreach {x y} $points {
			lappend path [plot_x $x],[plot_y $y]
			lappend lines "<circle cx=\"[plot_x $x]\" cy=\"[plot_y $y]\" r=\"3\" fill=\"$colour\"/>"
		}
		lappend lines "<polyline points=\"$path\" fill=\"none\" stroke=\"$colour\" stroke-width=\"2\"/>" \
			[plot_text 80 [expr {54 + 17 * $nr}] $name start "fill=\"$colour\""]
		incr nr
	}
	set chan [open $file w]
	puts $chan {<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 360" font-family="sans-serif" font-size="12">}
	puts $chan {<rect width="600" height="360" fill="white"/>}
	puts $chan [join $lines "\n"]
	puts $chan </svg>
	close $chan
}
