# SPDX-License-Identifier: GPL-3.0-or-later
# Files of other users: what mdbg reads by itself, and what is written where others may write.

# What mdbg says when HOME is the folder home below $::tmp.
proc at_home {} {
	exec env HOME=$::tmp/home $::mdbg_program -c "puts main" >$::tmp/out 2>$::tmp/notes </dev/null
	return [slurp $::tmp/out]
}

case init-file-of-others 20 {
	file mkdir $::tmp/home
	spit $::tmp/home/.mdbginit "puts from-init\n"
	file attributes $::tmp/home -permissions 0755
	file attributes $::tmp/home/.mdbginit -permissions 0644
	check {[at_home] eq "from-init\nmain\n"} {one's own: [slurp $::tmp/out][slurp $::tmp/notes]}
	foreach {what mode why} {.mdbginit 0664 {its group may write} .mdbginit 0646 {others may write} \
		. 0775 {its folder: its group may write} . 0757 {its folder: others may write}} {
		set path [file join $::tmp/home $what]
		set before [file attributes $path -permissions]
		file attributes $path -permissions $mode
		check {[at_home] eq "main\n"} {$what $mode: it is run}
		check {[string match "*not run*$why*chmod go-w*" [slurp $::tmp/notes]]} {$what $mode: [slurp $::tmp/notes]}
		file attributes $path -permissions $before
	}
	# A link of one's own to a file of one's own.
	file rename $::tmp/home/.mdbginit $::tmp/home/init.tcl
	file link -symbolic $::tmp/home/.mdbginit init.tcl
	check {[at_home] eq "from-init\nmain\n"} {a link: [slurp $::tmp/out][slurp $::tmp/notes]}
	skip_if {[catch {file attributes $::tmp/home/init.tcl -owner 12345}]} {not allowed to give a file away}
	check {[at_home] eq "main\n"} {somebody else's: it is run}
	check {[string match "*belongs to user 12345*" [slurp $::tmp/notes]]} {somebody else's: [slurp $::tmp/notes]}
}

# The prompt's history is no symbolic link, and 0600 when it is written.
case history-of-others 60 {
	need script
	file mkdir $::tmp/state/mdbg
	set file $::tmp/state/mdbg/history
	set prompt {exec sh -c "printf 'puts remembered\\nquit\\n' | XDG_STATE_HOME=$::tmp/state HOME=$::tmp TERM=dumb \
		timeout [expr {30 * $::slower}] script -qec '$::mdbg_program -n' /dev/null >$::tmp/out 2>&1"}
	eval $prompt
	check {[file exists $file]} {no history: [slurp $::tmp/out]}
	check {[string match "*puts remembered*" [slurp $file]]} {what is in it: [slurp $file]}
	check {[file attributes $file -permissions] == 0600} {its mode: [file attributes $file -permissions]}
	spit $::tmp/theirs "untouched\n"
	file delete $file
	file link -symbolic $file $::tmp/theirs
	eval $prompt
	check {[slurp $::tmp/theirs] eq "untouched\n"} {written through a link: [slurp $::tmp/theirs]}
	check {[string match "*no history*symbolic link*" [slurp $::tmp/out]]} {not told: [slurp $::tmp/out]}
}

# What somebody has planted in a folder as /tmp is; the same folder without the sticky bit is no safer.
case output-planted 60 {
	set t [start exact]
	set pid [pid_of $t]
	set folder $::tmp/shared
	file mkdir $folder $::tmp/precious
	exec chmod 1777 $folder
	spit $::tmp/precious/file "untouched\n"
	spit $folder/file ""
	exec mkfifo $folder/fifo
	file link -symbolic $folder/link $::tmp/precious/file
	file link -symbolic $folder/folder $::tmp/precious
	if {[catch {exec chown -h nobody $folder/file $folder/fifo $folder/link $folder/folder}]} {
		skip "not allowed to give a file away"
	}
	exec chmod 0666 $folder/file
	set reader [open $folder/fifo {RDONLY NONBLOCK}]
	set m [live_start -p $pid]
	foreach mode {1777 0777} {
		exec chmod $mode $folder
		foreach name {file fifo link folder/file} {
			foreach command {{export folded %s} {report %s} {export sqlite %s} {status > %s} {status >> %s}} {
				set said [live_error $m [format $command $folder/$name]]
				check {[string match "*belongs to user*" $said]} {$mode, [format $command $name]: $said}
			}
			catch {exec env MDBG_TRACE=$folder/$name $::mdbg_program -n -q -c {puts x} 2>@1} said
			check {[string match "*belongs to user*" $said]} {trace to $name, $mode: $said}
		}
	}
	check {[read $reader] eq ""} {something came by the FIFO}
	close $reader
	check {[file size $folder/file] == 0} {its file was written to}
	check {[slurp $::tmp/precious/file] eq "untouched\n"} {a link was followed}
	check {[llength [glob $::tmp/precious/*]] == 1} {files: [glob $::tmp/precious/*]}
	# A new name, and a file of one's own, are as good there as elsewhere.
	foreach round {new old} {
		live_all $m "report $folder/new.html" "status > $folder/new.txt"
		check {[file attributes $folder/new.html -owner] eq "root"} {$round: [exec ls -l $folder]}
		check {[file size $folder/new.txt] > 0} {$round: [exec ls -l $folder]}
	}
	finish $t $m
}

# Nothing is waited for at a FIFO that nobody reads.
case output-to-a-fifo-without-reader 20 {
	exec mkfifo $::tmp/fifo
	catch {mdbg_ok -c "puts x > $::tmp/fifo"} said
	check {[string match "*open $::tmp/fifo: it is a FIFO that nobody reads*" $said]} {$said}
}

# HOME is another user's: nothing is removed, made or read behind a link of his.
case cache-of-others 30 {
	set t [start exact]
	file mkdir $::tmp/home/.cache $::tmp/home/.local/state $::tmp/precious
	foreach nr {1 2 3} {
		spit $::tmp/precious/database.$nr data
	}
	close [open $::tmp/precious/database.large w]
	exec truncate -s 1100M $::tmp/precious/database.large
	file link -symbolic $::tmp/home/.cache/mdbg $::tmp/precious
	file link -symbolic $::tmp/home/.local/state/mdbg $::tmp/precious
	skip_if {[catch {exec chown -Rh nobody $::tmp/home}]} {not allowed to give a file away}
	set before [lsort [glob $::tmp/precious/*]]
	exec env -u XDG_CACHE_HOME -u XDG_STATE_HOME HOME=$::tmp/home $::mdbg_program -q -p [pid_of $t] -c status \
		2>$::tmp/notes
	check {[lsort [glob $::tmp/precious/*]] eq $before} {files: [glob $::tmp/precious/*]}
	# In a folder of root's the same files are kept, too: they have not the names of the cache's.
	exec chown -Rh root $::tmp/home
	exec env -u XDG_CACHE_HOME -u XDG_STATE_HOME HOME=$::tmp/home $::mdbg_program -q -p [pid_of $t] -c status
	foreach file $before {
		check {[file exists $file]} {$file was removed}
	}
	check {[llength [glob $::tmp/precious/*.rows]] > 0} {no rows were kept}
	finish $t
}

# mdbg's own scripts, by their bare names, are those of mdbg; another bare name is a file that nobody else has made.
case scripts-of-others 60 {
	set folder $::tmp/shared
	file mkdir $folder
	exec chmod 1777 $folder
	foreach name {fleet.tcl serve.tcl leak-hunt.tcl memleak.tcl ci-gate.tcl fail-on-leak.tcl before-oom.tcl report-at-exit.tcl mine.tcl} {
		spit $folder/$name "puts planted; exit 7\n"
	}
	cd $folder
	foreach name {fleet.tcl serve.tcl leak-hunt.tcl memleak.tcl ci-gate.tcl fail-on-leak.tcl before-oom.tcl report-at-exit.tcl} {
		mdbg -x $name -- -h
		check {[string match "usage: mdbg*" [slurp $::tmp/out]]} {-x $name: [slurp $::tmp/out]}
		check {[string match "*mdbg's own script*./$name*" [slurp $::tmp/err]]} {-x $name: [slurp $::tmp/err]}
	}
	mdbg -c {set argv -h; source memleak.tcl}
	check {[string match "usage: mdbg*" [slurp $::tmp/out]]} {source: [slurp $::tmp/out]}
	# One's own file, in a folder in which others cannot replace it.
	mdbg -x mine.tcl
	check {[slurp $::tmp/out] eq "planted\n"} {mine: [slurp $::tmp/out] [slurp $::tmp/err]}
	skip_if {[catch {exec chown nobody $folder/mine.tcl}]} {not allowed to give a file away}
	foreach args {{-x mine.tcl} {-c {source mine.tcl}} {-c {source mine.tcl > out}}} {
		mdbg {*}$args
		check {[slurp $::tmp/out] eq ""} {$args: [slurp $::tmp/out]}
		check {[string match "*belongs to user*./mine.tcl if you mean it*" [slurp $::tmp/err]]} {$args: [slurp $::tmp/err]}
	}
	foreach args {{-x ./mine.tcl} {-c {source ./mine.tcl}}} {
		mdbg {*}$args
		check {[slurp $::tmp/out] eq "planted\n"} {$args: [slurp $::tmp/out]}
	}
}

# Variables that lead libraries to files of others; the program that mdbg starts has them as they were.
case environment-of-others 60 {
	set folder $::tmp/theirs
	file mkdir $folder/tcl8.6 $folder/pkg $folder/tmp
	set mark $::tmp/mark
	spit $folder/tcl8.6/init.tcl "exec touch $mark"
	spit $folder/pkg/pkgIndex.tcl "exec touch $mark"
	spit $folder/pkg/tclIndex "exec touch $mark"
	spit $folder/planted-1.0.tm "exec touch $mark"
	file copy $folder/pkg $folder/pkg2
	skip_if {[catch {exec chown -R nobody $folder}]} {not allowed to give a file away}
	set variables [list TCL_LIBRARY=$folder/tcl8.6 TCLLIBPATH=$folder TCL8_6_TM_PATH=$folder TMPDIR=$folder/tmp \
		TERMINFO=$folder INPUTRC=$folder/inputrc GCONV_PATH=$folder]
	set script {catch {package require planted}; catch {no_such_command}; puts "[info exists env(TMPDIR)] $auto_path"}
	set said [exec env {*}$variables $::mdbg_program -n -c $script 2>$::tmp/notes]
	check {![file exists $mark]} {a file of nobody's was run}
	check {[string match "0 *" $said] && ![string match "*$folder*" $said]} {folders of Tcl: $said}
	foreach name {TCL_LIBRARY TMPDIR TERMINFO INPUTRC GCONV_PATH} {
		check {[string match "*$name is not used: *belongs to user*" [slurp $::tmp/notes]]} {$name: [slurp $::tmp/notes]}
	}
	foreach command [list [list sh -c "echo \$TMPDIR \$MDBG_UNTRUSTED_TMPDIR"]] {
		set said [exec env {*}$variables $::mdbg_program -n -q --no-arm -- {*}$command]
		check {$said eq "$folder/tmp"} {a program: $said}
	}
	set said [exec env {*}$variables $::mdbg_program -n -q -c {sh echo $TMPDIR $MDBG_UNTRUSTED_TMPDIR}]
	check {$said eq "$folder/tmp"} {a shell: $said}
	exec chown -R root $folder
	set said [exec env {*}$variables $::mdbg_program -n -c {puts $env(TMPDIR)} 2>$::tmp/notes]
	check {$said eq "$folder/tmp" && [file exists $mark]} {one's own: $said [slurp $::tmp/notes]}
}

# The library removes old files of its cache by itself.
case debuginfod-of-others 30 {
	file mkdir $::tmp/home
	skip_if {[catch {exec chown nobody $::tmp/home}]} {not allowed to give a file away}
	foreach variables [list "HOME=$::tmp/home" "HOME=$::tmp XDG_CACHE_HOME=$::tmp/home" \
		"HOME=$::tmp DEBUGINFOD_CACHE_PATH=$::tmp/home/new"] {
		catch {exec env -u XDG_CACHE_HOME DEBUGINFOD_URLS=http://localhost:1 {*}$variables \
			$::mdbg_program -n -q -c {set debuginfod on} 2>@1} said
		check {[string match "*the folder of its cache: *belongs to user*DEBUGINFOD_CACHE_PATH=*" $said]} {$variables: $said}
	}
}

# A FIFO that nobody writes to, and one whose writer says nothing, are waited for no longer than is said.
case input-is-a-fifo 60 {
	exec mkfifo $::tmp/fifo
	mdbg --suppressions $::tmp/fifo -c {puts x}
	check {[string match "*suppressions: open $::tmp/fifo: it is a FIFO that nobody writes to*" [slurp $::tmp/err]]} {[slurp $::tmp/err]}
	foreach args [list [list -x $::tmp/fifo] [list -c "source $::tmp/fifo"]] {
		mdbg {*}$args
		check {[string match "*$::tmp/fifo: it is a FIFO that nobody writes to*" [slurp $::tmp/err]]} {$args: [slurp $::tmp/err]}
	}
	set silent [open $::tmp/fifo {RDWR}]
	mdbg --suppressions $::tmp/fifo -c {puts x}
	check {[string match "*nothing came for 10 s*" [slurp $::tmp/err]]} {[slurp $::tmp/err]}
	close $silent
	set said [exec bash -c "$::mdbg_program -n -q --suppressions <(echo leak:abc) -x <(echo 'set suppressions; puts \[info exists x\]') 2>&1"]
	check {[string match "*0" $said]} {a shell's pipes: $said}
}
