# SPDX-License-Identifier: GPL-3.0-or-later
# Other tools on the functions that mdbg watches, in every order of coming and leaving, under load (tools.tcl,
# debuggers.tcl): a fifth of TRIALS of each order.

foreach {name rounds} {
	uprobes-bpftrace {uprobe_rounds bpftrace uprobe}
	uretprobes-bpftrace {uprobe_rounds bpftrace uretprobe}
	uprobes-perf {uprobe_rounds perf}
} {
	repeated tools-$name 150 $rounds
	repeated tools-$name-by-breakpoints 150 "set ::engine breakpoint; $rounds"
}

repeated tools-gdb-breaks 60 gdb_rounds
repeated tools-strace 60 strace_rounds
