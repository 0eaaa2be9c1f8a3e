# SPDX-License-Identifier: GPL-3.0-or-later
# The tools of those who change mdbg.

# Commits `lines` new lines with this message; what the hook says, or "".
proc commit_with {lines message} {
	set file [open $::tmp/repo/file a]
	puts -nonewline $file [string repeat "new\n" $lines]
	close $file
	exec git -C $::tmp/repo add file
	return [expr {[catch {exec git -C $::tmp/repo commit -q -m $message 2>@1} said] ? $said : ""}]
}

case commit-messages 30 {
	need git
	foreach name {AUTHOR COMMITTER} {
		set ::env(GIT_${name}_NAME) tester
		set ::env(GIT_${name}_EMAIL) tester@localhost
	}
	foreach name [array names ::env GIT_*] {
		if {![regexp {_(NAME|EMAIL)$} $name]} {
			unset ::env($name)
		}
	}
	set ::env(GIT_CONFIG_GLOBAL) /dev/null
	exec git init -q $::tmp/repo
	file mkdir $::tmp/repo/.git/hooks
	file link $::tmp/repo/.git/hooks/commit-msg [file normalize $::here/../../scripts/dev/commit-msg]
	set long [string repeat o 65]
	set body "\n\nThe problem, and why it is solved this way."
	foreach {lines message want} [list \
		30 "os: look first$body"			"" \
		3 "os: look first"				"" \
		30 "os: loo${long}k$body"			"*more than 72 characters*" \
		30 "os: l\u00f6${long}k$body"	"" \
		30 "os: look first"				"*no body, and * lines*" \
		30 "os: look first\nThe problem."		"*no empty line*" \
		30 "Look first$body"				"*'layer: what is done'*" \
		30 "os: look first.$body"			"*without a full stop*" \
		30 "fixup! os: look first"			"" \
	] {
		check {[string match $want [set said [commit_with $lines $message]]]} {$lines lines, "$message": $said}
	}
}
