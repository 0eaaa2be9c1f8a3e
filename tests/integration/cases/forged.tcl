# SPDX-License-Identifier: GPL-3.0-or-later
# A target that forges its journal, hands its memory file to others, or changes it while mdbg attaches.

# Lines that mdbg has said of a process.
proc said_of {m pid} {
	return [regexp -all -line -inline "^.*process $pid .*\$" [slurp $::live_err($m)]]
}

proc need_root {} {
	skip_if {[exec id -u] != 0} {only root can harm others}
}

# Nothing is done to a process that has the journal mapped but is no forked copy of the target. It is named once.
proc victim_is_spared {who prot where {how ""} {command {}}} {
	need_root
	set t [start_command {*}$command $::build/targets/forger]
	set before [lsearch -all -inline -not [state [pid_of $t]] "fd *"]
	set m [live_start -p [pid_of $t]]
	order $t "alloc 50"
	if {$how eq "shared"} {
		orders $t sharer "share 50"
	}
	set victim [order $t "victim $who $prot $where $how"]
	set maps [slurp /proc/$victim/maps]
	order $t forge
	live $m "malloc off"
	order $t check
	live $m "malloc on"
	live_end $m
	order $t check
	check {[slurp /proc/$victim/maps] eq $maps} {the mappings of the victim are not as before}
	check {[llength [said_of $m $victim]] == 1} {said of it: [said_of $m $victim]}
	order $t end
	check {[lsearch -all -inline -not [state [pid_of $t]] "fd *"] eq $before} {the target is not as before}
	finish $t
}

foreach who {same other} {
	foreach prot {ro rw} {
		foreach where {here there} {
			case forged-victim-$who-$prot-$where 60 "victim_is_spared $who $prot $where"
		}
	}
}

foreach how {forked shared} {
	case forged-victim-$how 60 "victim_is_spared same rw here $how"
	# Where the same program lies at the same addresses after an exec.
	case forged-victim-$how-not-random 60 "victim_is_spared same rw here $how {setarch -R}"
}

# A process that shares the memory is a part of the target: nothing is done by it as if it were a copy.
case forged-sharer 60 {
	need_root
	start_watched {t before m} forger
	set sharer [order $t sharer]
	foreach command {"malloc off" "malloc on" detach} {
		orders $t "share 50" forge
		live $m $command
	}
	live_end $m
	order $t "share 50"
	check {[said_of $m $sharer] eq ""} {said of it: [said_of $m $sharer]}
	check {[is_alive $sharer] && [state $sharer] ne ""} {$sharer is gone}
	order $t end
	check {[lsearch -all -inline -not [state [pid_of $t]] "fd *"] eq
	       [lsearch -all -inline -not $before "fd *"]} {the target is not as before}
	finish $t
}

# The same with a later mdbg, and a sharer that nobody watched when it executed another program.
case forged-sharer-and-left 60 {
	need_root
	set t [start forger]
	order $t sharer
	set m [live_start -p [pid_of $t]]
	order $t "share 50"
	live_kill $m
	order $t "share 50"
	set victim [order $t "victim same rw here shared"]
	set maps [slurp /proc/$victim/maps]
	order $t forge
	set m [live_start -p [pid_of $t]]
	order $t "alloc 50"
	live_end $m
	order $t check
	check {[slurp /proc/$victim/maps] eq $maps} {the mappings of the victim are not as before}
	order $t end
	finish $t
}

# Processes that the journal calls snapshots: nobody is killed, and the dead can be waited for by who made them.
case forged-snapshot 120 {
	need_root
	start_watched {t m} forger
	set other [exec sleep 1000 &]
	set living [list $other [order $t "child same"] [order $t "child other"]]
	# With SIGCHLD, SIGWINCH and no signal; a snapshot has none, and ends as it is told to.
	set killed [list [order $t "dead kill 17"] [order $t "dead kill 28"]]
	set ended [list [order $t "dead exit 17"] [order $t "dead exit 0"]]
	live_kill $m
	foreach pid [list {*}$living {*}$killed {*}$ended [pid_of $t] 1] {
		order $t "snapshot $pid"
	}
	set m [live_start -p [pid_of $t]]
	order $t "alloc 50"
	live_end $m
	foreach pid $living {
		check {[is_alive $pid]} {$pid has ended}
		check {[string match "*TracerPid:\t0\n*" [slurp /proc/$pid/status]]} {$pid is traced}
	}
	foreach status {9 768} list [list $killed $ended] {
		foreach pid $list {
			check {[order $t "reap $pid"] == $status} {the status of $pid is another}
		}
	}
	exec kill $other
	order $t end
	finish $t
}

# A journal full of snapshots that do not end: they are not waited for one by one.
case forged-snapshots 60 {
	need_root
	start_watched {t m} forger
	set child [order $t "dead never 0"]
	live_kill $m
	order $t "snapshot $child all"
	mdbg -q -p [pid_of $t] -c "malloc sites limit 1"
	check {$::status in {0 3}} {mdbg ended with $::status: $::err}
	check {[is_alive $child]} {$child has ended}
	order $t end
	finish $t
}

# A later mdbg, which has no knowledge of its own: the journal that it finds says what the target likes.
case forged-and-left 60 {
	need_root
	start_watched {t m} forger
	set victim [order $t "victim same rw here"]
	live_kill $m
	order $t forge
	set m [live_start -p [pid_of $t]]
	live_end $m
	orders $t check end
	finish $t
}

# Code that is not where the journal says is not taken for gone: the journal stays, and with it who finds it later.
case forged-and-left-elsewhere 60 {
	need_root
	start_watched {t before m} forger
	live_kill $m
	order $t hide
	mdbg -q -p [pid_of $t] -c "malloc sites limit 1"
	check {$::status in {0 3}} {mdbg ended with $::status: $::err}
	check {[string match "*a mapping that is not there: what is mapped stays*" $::err]} {said: $::err}
	order $t show
	mdbg_ok -q -p [pid_of $t] -c "malloc sites limit 1"
	finish $t {} $before
}

# What is kept by a detach is another mdbg's, or this one's, to go on with: both may find it forged.
foreach by {same another} {
	case forged-and-kept-by-$by 60 [string map [list BY $by] {
		need_root
		set t [start forger]
		set before [lsearch -all -inline -not [state [pid_of $t]] "fd *"]
		set m [live_start -p [pid_of $t]]
		set victim [order $t "victim same rw here"]
		set maps [slurp /proc/$victim/maps]
		live $m "detach -keep"
		orders $t "alloc 50" forge
		if {"BY" eq "same"} {
			live $m "attach [pid_of $t]"
		} else {
			live_end $m
			set m [live_start -p [pid_of $t]]
		}
		order $t "alloc 50"
		live_end $m
		order $t check
		check {[slurp /proc/$victim/maps] eq $maps} {the mappings of the victim are not as before}
		order $t end
		finish $t
	}]
}

# A real child is cleaned whatever the journal says; one that has become another user is left alone, and named.
case forged-child 60 {
	need_root
	set t [start forger]
	set before [lsearch -all -inline [state [pid_of $t]] "text *"]
	set m [live_start -p [pid_of $t]]
	set child [order $t "child same"]
	set other [order $t "child other"]
	order $t forge
	live $m detach
	live_end $m
	set now [state $child]
	foreach line $before {
		check {$line in $now} {the text of $child is not clean: $line}
	}
	check {![string match *memfd:mdbg* $now]} {$child has a mapping of mdbg's}
	check {[string match *memfd:mdbg* [state $other]]} {$other was changed}
	check {[llength [said_of $m $child]] == 0 && [llength [said_of $m $other]] == 1} {[slurp $::live_err($m)]}
	order $t end
	finish $t
}

# The size of the memory file is changed while it is made: mdbg does without, or goes on, and does not end by a signal.
repeated forged-size 60 {
	for {set i 0} {$i < $::trials} {incr i} {
		set t [start forger]
		order $t cut
		mdbg -q -p [pid_of $t] -c "malloc sites limit 1"
		check {$::status in {0 3}} {mdbg ended with $::status: $::err}
		order $t end
		finish $t
	}
}

# A descriptor that can only be read is put in its place: mdbg, as root, could write to it.
repeated forged-descriptor 60 {
	need_root
	for {set i 0} {$i < $::trials} {incr i} {
		set t [start forger]
		order $t swap
		mdbg -q -p [pid_of $t] -c "malloc sites limit 1"
		orders $t kept end
		finish $t
	}
}

proc text_of {t} {
	return [lsearch -all -inline [state [pid_of $t]] "text *"]
}

proc check_text {before t} {
	set now [text_of $t]
	check {$now eq $before} {the text is not as before: [lmap line $now {expr {$line in $before ? [continue] : $line}}]}
}

# The journal changes all the time, by a thread, or by a process that mdbg does not stop: while one is at work that has
# written it, and while one comes that finds it. Neither ends by a signal; the target and the others are as they were.
proc flipped_is_endured {who} {
	need_root
	set t [start flipper]
	set before [text_of $t]
	set child [order $t child]
	set m [live_start -p [pid_of $t]]
	for {set i 0} {$i < 2 * $::trials} {incr i} {
		orders $t "flip $who any" "alloc 20"
		live_all $m "malloc off" "malloc on"
		order $t "alloc 20"
		live_end $m
		order $t still
		check_text $before $t
		set m [live_start -p [pid_of $t]]
		live_kill $m
		orders $t "flip $who left" "alloc 20"
		mdbg -q -p [pid_of $t] -c "malloc sites limit 1"
		check {$::status in {0 3}} {mdbg ended with $::status: $::err}
		orders $t still verify
		mdbg_ok -q -p [pid_of $t] -c "malloc sites limit 1"
		order $t verify
		check_text $before $t
		check {[is_alive $child]} {$child has ended}
		set m [live_start -p [pid_of $t]]
	}
	finish $t $m
}

foreach who {thread process} {
	repeated forged-while-read-by-$who 180 "flipped_is_endured $who"
}
