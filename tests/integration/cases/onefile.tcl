# SPDX-License-Identifier: GPL-3.0-or-later
# The one file of `make static`, where there is nothing else: in a root of its own, in namespaces, and beside a container.

# A root with mdbg and an empty /proc. Returns it.
proc static_root {} {
	skip_if {![file exists $::build/mdbg-static]} {no mdbg-static in this build: make static}
	skip_if {[exec id -u] != 0} {needs root, for chroot}
	unshared -m
	file mkdir $::tmp/root/proc
	file copy $::build/mdbg-static $::tmp/root/mdbg
	return $::tmp/root
}

# From now on mdbg is that file, in its root: `prepare` are a shell's commands in a mount namespace of its own, which
# `enter` makes; chroot is called by `call`. The argument `pid` is given to mdbg as `inner`.
proc static_mdbg {prepare {enter {}} {pid {}} {inner {}} {call chroot}} {
	set root $::tmp/root
	set lines [list "#!/bin/sh" \
		"for arg; do shift; \[ \"\$arg\" != '$pid' ] || arg='$inner'; set -- \"\$@\" \"\$arg\"; done" \
		"exec $enter unshare -m sh -c '$prepare && exec $call $root /mdbg \"\$@\"' sh \"\$@\""]
	set ::mdbg_program [spit $::tmp/static "[join $lines "\n"]\n"]
	file attributes $::mdbg_program -permissions 0755
}

# What the cases write is in their folder, under the same name inside.
proc with_case_folder {root} {
	file mkdir $root$::tmp
	return "mount --bind $::tmp $root$::tmp"
}

# A program of tests/targets in a container, made as runtimes do: a root (pivot_root) with what it takes, and namespaces
# of its own. It runs as this user.
proc start_container {program user args} {
	set chroot [need chroot]
	set app $::tmp/app
	set path $::build/targets/$program
	set files [split [exec sh -c "ldd $path | grep -o '/\[^ ]*'"] "\n"]
	file mkdir $app/proc $app/old
	foreach file [concat $path $files] {
		file mkdir $app[file dirname $file]
		exec cp -L $file $app$file
	}
	return [start_in [list {*}[unshared -pm --fork] sh -c "mount --bind $app $app && mount -t proc proc $app/proc &&
		cd $app && pivot_root . old && exec /old$chroot --userspec $user / \"\$@\"" sh] $program {*}$args]
}

# No other file, and none can be written: Tcl's library and the scripts are there all the same.
case onefile-alone 20 {
	set root [static_root]
	static_mdbg "mount --bind $root $root && mount --bind /proc $root/proc && mount -o remount,bind,ro $root"
	check {[string match "mdbg *" [mdbg_ok --version]]} {--version: $::out}
	set t [start_in {} hard -t 3]
	set before [state [pid_of $t]]
	order $t "make 20 777"
	set script {puts "[info library] [clock format 0 -gmt 1 -format %Y] [package require msgcat] [file exists mdbg:/fail-on-leak.tcl]"}
	set said [mdbg_ok -p [pid_of $t] -c $script -c {puts [catch {open /x w} why],$why} -c {where all} -c malloc]
	check {[regexp {^mdbg:/tcl8.6 1970 1[.0-9]+ 1\n} $said]} {no Tcl library inside: $said}
	check {[string match "*read-only file system*" $said]} {something can be written: $said}
	check {[regexp {main.*\(hard.c:\d+\)} $said]} {no lines: $said}
	check {$::err eq "" || ![string match "*Tcl*" $::err]} {$::err}
	foreach script {mdbg:/fail-on-leak.tcl fail-on-leak.tcl} {
		mdbg -n -q -x $script
		check {$::status != 0 && ![string match "*couldn't read*" $::err]} {no $script inside: $::err}
	}
	finish $t {} $before
}

# All is exact, as from outside.
case onefile-chroot 30 {
	set root [static_root]
	static_mdbg "mount --bind /proc $root/proc && [with_case_folder $root]"
	exact_in [start_in {} hard -t 3] jump
}

# In a mount and a pid namespace of its own: it sees what is inside.
case onefile-namespaces 20 {
	set root [static_root]
	set t [start_in [unshared -pm --fork --mount-proc] hard -t 3]
	static_mdbg "mount -t proc proc $root/proc && [with_case_folder $root]" "nsenter -t [pid_of $t] -p --" [pid_of $t] 1
	exact_in $t jump
}

# As `kubectl debug --target`: processes are shared, files are not, and the program and its libraries are in the other
# container only. Their names and lines are found there.
case onefile-ephemeral 30 {
	set root [static_root]
	set t [start_container hard 0:0 -t 3]
	static_mdbg "mount -t proc proc $root/proc && [with_case_folder $root]" "nsenter -t [pid_of $t] -p --" [pid_of $t] 1
	order $t "make 20 777"
	set said [mdbg_ok -p [pid_of $t] -c {where all} -c map]
	check {[regexp {main.*\(hard.c:\d+\)} $said]} {no lines: $said}
	check {[string match "*$::build/targets/hard*" $said]} {no module: $said}
	exact_in $t jump
}

# The rights that docs/containers.md names are enough, and without them it is said which is missing.
case onefile-capabilities 30 {
	set root [static_root]
	set setpriv [need setpriv]
	set prepare "mount -t proc proc $root/proc && [with_case_folder $root]"
	set t [start_container hard 65533:65533 -t 3]
	set enter "nsenter -t [pid_of $t] -p --"
	foreach {caps missing} {+dac_override SYS_PTRACE +sys_ptrace DAC_OVERRIDE +sys_ptrace,+dac_override {}} {
		static_mdbg $prepare $enter [pid_of $t] 1 "$setpriv --bounding-set -all,+sys_chroot,$caps --inh-caps -all chroot"
		if {$missing ne ""} {
			mdbg -q -p [pid_of $t] -c malloc
			check_refused 3 $missing
		}
	}
	exact_in $t jump
}

# Of a program under a seccomp filter, as runtimes put it under, they are not.
case onefile-seccomp 30 {
	set root [static_root]
	set setpriv [need setpriv]
	set prepare "mount -t proc proc $root/proc && [with_case_folder $root]"
	set t [start_container hard 65533:65533 -t 3 -s filter]
	foreach caps {{} ,+sys_admin} {
		static_mdbg $prepare "nsenter -t [pid_of $t] -p --" [pid_of $t] 1 \
			"$setpriv --bounding-set -all,+sys_chroot,+sys_ptrace,+dac_override$caps --inh-caps -all chroot"
		if {$caps eq ""} {
			mdbg -q -p [pid_of $t] -c malloc
			check_refused 3 seccomp "--profile=sysadmin"
		}
	}
	exact_in $t jump
}

# Whatever nsswitch.conf of a container says, none of its libraries is loaded.
case onefile-loads-nothing 20 {
	set root [static_root]
	static_mdbg "mount --bind /proc $root/proc"
	file mkdir $root/etc $root/lib/x86_64-linux-gnu
	spit $root/etc/nsswitch.conf "passwd: mine files\n"
	spit $root/etc/passwd "somebody:x:4711:4711::/home/of/somebody:/bin/sh\n"
	spit $::tmp/mine.c {
		#include <unistd.h>
		__attribute__((constructor)) static void loaded(void) { _exit(77); }
	}
	exec cc -shared -fPIC -o $root/lib/x86_64-linux-gnu/libnss_mine.so.2 $::tmp/mine.c
	foreach lib {libc.so.6 ld-linux-x86-64.so.2} {
		exec cp -L /lib/x86_64-linux-gnu/$lib $root/lib/x86_64-linux-gnu/
	}
	set said [mdbg_ok -q -c {puts [file normalize ~somebody]} -c "puts \[catch {load /lib/x86_64-linux-gnu/libnss_mine.so.2} why],\$why"]
	check {[string match "/home/of/somebody\n1,*loads no libraries\n" $said]} {$said}
}

# Nothing of a killed one stays, neither a file nor a process, and the next one takes over.
case onefile-kill-9 20 {
	set root [static_root]
	static_mdbg "mount --bind /proc $root/proc && [with_case_folder $root]" {} {} {} "env -u HOME -u XDG_CACHE_HOME chroot"
	set files [lsort [exec find $root -not -path $root/proc*]]
	set t [start_in {} hard -t 3]
	set m [live_start -p [pid_of $t]]
	order $t "make 20 777"
	live_kill $m
	check {[lsort [exec find $root -not -path $root/proc*]] eq $files} {new files in $root}
	order $t "make 20 777"
	set m [live_start -p [pid_of $t]]
	check_blocks $m 777 40
	finish $t $m
}
