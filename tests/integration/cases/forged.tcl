# SPDX-License-Identifier: GPL-3.0-or-later
# A target that forges its journal, hands its memory file to others, or changes it while mdbg attaches.

# Lines that mdbg has said of a process.
proc said_of {m pid} {
	return [regexp -all -line -inline "^.*process $pid .*\$" [slurp $::live_err($m)]]
}

proc need_root {} {
	if {[exec id -u] != 0} {
		skip {only root can harm others}
	}
}

# Nothing is done to a process that has the journal mapped but is no forked copy of the target. It is named once.
proc victim_is_spared {who prot where} {
	need_root
	set t [start forger]
	set before [lsearch -all -inline -not [state [pid_of $t]] "fd *"]
	set m [live_start -p [pid_of $t]]
	order $t "alloc 50"
	set victim [order $t "victim $who $prot $where"]
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

# A later mdbg, which has no knowledge of its own: the journal that it finds says what the target likes.
case forged-and-left 60 {
	need_root
	set t [start forger]
	set m [live_start -p [pid_of $t]]
	set victim [order $t "victim same rw here"]
	exec kill -KILL [pid $m]
	catch {ending $m}
	order $t forge
	set m [live_start -p [pid_of $t]]
	live_end $m
	order $t check
	order $t end
	finish $t
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
		order $t kept
		order $t end
		finish $t
	}
}
