# SPDX-License-Identifier: GPL-3.0-or-later
# The manual page names all that there is.

# Its lines without fonts and quotes, and with one blank where there are some.
proc manual_lines {} {
	set text [regsub -all -line {^\.(?:BI|BR|RB|RI|IR|IB|B|I) } [slurp $::here/../../docs/mdbg.1] ""]
	return [regsub -all {[ \t"]+} [regsub -all {\\f.|\\c|\\} $text ""] " "]
}

proc manual_text {} {
	return [regsub -all {\s+} [manual_lines] " "]
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

# A dict of what `help` says of each command, for those that print and those that give values.
proc help_pages {} {
	set names [regexp -all -inline -line {^(?:mdbg::)?[a-z_]+(?: [a-z]+)?(?=  +\S)} [mdbg_ok -c help -c {help mdbg}]]
	set pages [split [mdbg_ok {*}[concat {*}[lmap name $names {list -c "help {*}{$name}" -c "puts -nonewline \x01"}]]] \x01]
	return [concat {*}[lmap name $names page [lrange $pages 0 end-1] {list $name $page}]]
}

# The keys that a page lists, those of lists in the dicts among them.
proc keys_of_page {page} {
	set keys {}
	foreach line [split [lindex [split [string map [list \n\n \x01] $page] \x01] 1] \n] {
		if {[regexp {^ {4}(?: {4})?([a-z]+(?: [a-z]+)*)(?:  |$)} $line - words]} {
			lappend keys {*}$words
		}
	}
	return $keys
}

# The entry of the manual that has this name in its heading; "" if there is none.
proc manual_entry {name} {
	set parts [split [string map [list \n.TP\n \x01 \n.PP\n \x01] [manual_lines]] \x01]
	return [lsearch -inline -regexp $parts "(?:^|\n\\.TQ\n)${name}(?:\n| \[^a-z])"]
}

case manual-has-all-keys 60 {
	set lists 0
	dict for {name page} [help_pages] {
		if {![string match "mdbg::*-each*" [lindex [split $page \n] 0]]} {
			continue
		}
		set keys [keys_of_page $page]
		check {[llength $keys] > 1} {help $name lists $keys}
		set entry [manual_entry $name]
		check {$entry ne ""} {the manual has no entry of $name}
		foreach {- other} [regexp -all -inline {the keys of\s(mdbg::\w+)} $entry] {
			append entry [manual_entry $other]
		}
		foreach key $keys {
			check {[regexp "\\m$key\\M" $entry]} {the manual's entry of $name does not name $key}
		}
		incr lists
	}
	check {$lists > 10} {$lists lists}
}

case manual-has-all-words 60 {
	set nr 0
	dict for {name page} [help_pages] {
		set entry [manual_entry $name]
		set usage [string range [lindex [split $page \n] 0] [string length $name] end]
		if {[string match mdbg::* $name]} {
			# For the choices the manual refers to the command that prints.
			set usage [regsub -all {[\w-]+(?:\|[\w-]+)+} $usage ""]
		}
		foreach word [expr {$entry eq "" ? {} : [regexp -all -inline -- {-?[a-z][a-z-]+} $usage]}] {
			# A kind may have an entry of its own: growth fault.
			check {[regexp "(?:^|\[^\\w-])$word\(?:\[^\\w-]|\$)" $entry] || [manual_entry "$name $word"] ne ""} \
				{the manual's entry of $name does not name $word: $usage}
			incr nr
		}
	}
	check {$nr > 100} {$nr words}
}
