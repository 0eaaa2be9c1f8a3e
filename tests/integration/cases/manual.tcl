# SPDX-License-Identifier: GPL-3.0-or-later
# The manual page names all that there is.

# Its text, with one blank where there are some, and no letters of another font.
proc manual_text {} {
	set text [regsub -all -line {^\.(?:BI|BR|RB|RI|IR|IB|B|I) } [slurp $::here/../../docs/mdbg.1] ""]
	return [regsub -all {[\s"]+} [regsub -all {\\f.|\\c|\\} $text ""] " "]
}

case manual-names-everything 30 {
	set manual [manual_text]
	set names {}
	foreach command {help {help mdbg}} {
		lappend names {*}[lmap {- name} [regexp -all -inline -line {^([a-z:]+(?: [a-z]+)?)  +\S} [mdbg_ok -c $command]] {set name}]
	}
	check {[llength $names] > 50 && "malloc watch" in $names && "mdbg::diff" in $names} {commands: $names}
	set settings [lmap {- name} [regexp -all -inline -line {^([a-z-]+) } [mdbg_ok -c set]] {set name}]
	check {[llength $settings] > 10 && "history-seconds" in $settings} {settings: $settings}
	set formats [lmap {- name} [regexp -all -inline -line {^ +(\w+) +\S} [regsub {.*FORMAT is one of:\n(.*?)\n\n.*} [mdbg_ok -c "help export"] {\1}]] {set name}]
	check {"folded" in $formats && "callgrind" in $formats} {formats: $formats}
	set options [lmap {- name} [regexp -all -inline -line {^ +(?:-\w, )?(--[a-z-]+)} [mdbg_ok --help]] {set name}]
	check {[llength $options] > 10} {options: $options}
	foreach name [concat $names $settings $formats $options [lmap path [glob $::here/../../scripts/*.tcl] {file tail $path}]] {
		check {[regexp "(?:^|\[^\\w-])[string map {. \\.} $name](?:\[^\\w-]|\$)" $manual]} {the manual does not name $name}
	}
}
