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

# The keys that `help mdbg::NAME` lists, those of lists in the dicts among them.
proc keys_of_help {name} {
	set keys {}
	foreach line [split [lindex [split [string map [list \n\n \x01] [mdbg_ok -c "help $name"]] \x01] 1] \n] {
		if {[regexp {^ {4}(?: {4})?([a-z]+(?: [a-z]+)*)(?:  |$)} $line - words]} {
			lappend keys {*}$words
		}
	}
	return $keys
}

# The manual's entry of mdbg::NAME, and those of which it says that it has their keys.
proc manual_entry {name} {
	set entries [split [string map [list \n.TP\n \x01 \n.PP\n \x01] [slurp $::here/../../docs/mdbg.1]] \x01]
	set entry [lsearch -inline -regexp $entries "^(?:\\.B |\\\\fB)$name\\M"]
	check {$entry ne ""} {the manual has no entry of $name}
	foreach {- other} [regexp -all -inline {the keys of\n\.BR (mdbg::\w+)} $entry] {
		append entry [manual_entry $other]
	}
	return $entry
}

case manual-has-all-keys 60 {
	set lists 0
	foreach {- name} [regexp -all -inline -line {^(mdbg::\w+)  } [mdbg_ok -c {help mdbg}]] {
		if {![string match "*-each*" [lindex [split [mdbg_ok -c "help $name"] \n] 0]]} {
			continue
		}
		set keys [keys_of_help $name]
		check {[llength $keys] > 1} {help $name lists $keys}
		set entry [manual_entry $name]
		foreach key $keys {
			check {[regexp "\\m$key\\M" $entry]} {the manual's entry of $name does not name $key}
		}
		incr lists
	}
	check {$lists > 10} {$lists lists}
}
