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
	if {[catch {file attributes $::tmp/home/init.tcl -owner 12345}]} {
		skip "not allowed to give a file away"
	}
	check {[at_home] eq "main\n"} {somebody else's: it is run}
	check {[string match "*belongs to user 12345*" [slurp $::tmp/notes]]} {somebody else's: [slurp $::tmp/notes]}
}

# The prompt's history is no symbolic link, and 0600 when it is written.
case history-of-others 60 {
	need script
	file mkdir $::tmp/state/mdbg
	set file $::tmp/state/mdbg/history
	set prompt {exec sh -c "printf 'puts remembered\\nquit\\n' | XDG_STATE_HOME=$::tmp/state HOME=$::tmp TERM=dumb \
		timeout 30 script -qec '$::mdbg_program -n' /dev/null >$::tmp/out 2>&1"}
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
		live $m "report $folder/new.html"
		live $m "status > $folder/new.txt"
		check {[file attributes $folder/new.html -owner] eq "root"} {$round: [exec ls -l $folder]}
		check {[file size $folder/new.txt] > 0} {$round: [exec ls -l $folder]}
	}
	live_end $m
	finish $t
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
	if {[catch {exec chown -Rh nobody $::tmp/home}]} {
		skip "not allowed to give a file away"
	}
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
