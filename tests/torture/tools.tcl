# SPDX-License-Identifier: GPL-3.0-or-later
# Other tools on the functions that mdbg watches, in every order of coming and leaving, under load (tools.tcl, debuggers.tcl):
# a fifth of TRIALS of each order.

foreach tool {bpftrace perf} {
	repeated tools-uprobes-$tool 150 "uprobe_rounds $tool"
	repeated tools-uprobes-$tool-by-breakpoints 150 "set ::engine breakpoint; uprobe_rounds $tool"
}

repeated tools-gdb-breaks 60 gdb_rounds
repeated tools-strace 60 strace_rounds
