# SPDX-License-Identifier: GPL-3.0-or-later
# serve.tcl under a storm of clients that do what they like.

# Nothing is left of them but what the kernel has, and the process has not noticed.
repeated torture-serve 120 {
	set t [start grower]
	order $t "fill 1000"
	set before [state [pid_of $t]]
	set m [begin_serve $t -report 0.1 -account 0.1 0]
	regexp {(\d+)$} $::url port
	order $t "fill 1000"
	fetch /report
	set resident 0
	for {set i 0} {$i < max(1, $::trials / 10)} {incr i} {
		set clients [open |[list [need python3] $::here/clients.py $port storm=150] r+]
		check {[hear $clients 60] eq "storm"} {the clients}
		catch {close $clients}
		check {[lindex [fetch /healthz] 0] == 200} {trial $i: [slurp $::tmp/serve.err]}
		until {[llength [glob -nocomplain /proc/[pid $m]/fd/*]] < 70}
		regexp {VmRSS:\s+(\d+) kB} [slurp /proc/[pid $m]/status] -> now
		# The first two are for what is kept, and for malloc to settle.
		if {$i < 2} {
			set resident $now
		}
		check {$now < $resident + 50000} {trial $i: resident $resident kB, then $now kB}
	}
	# Those that waited for a difference have gone with their marks.
	until {[lindex [fetch /debug/pprof/heap?seconds=1] 0] == 200}
	check {[slurp $::tmp/serve.err] eq ""} {[slurp $::tmp/serve.err]}
	end_serve $m
	order $t verify
	finish $t {} $before
}
