# SPDX-License-Identifier: GPL-3.0-or-later
# Uprobes on the functions that mdbg watches, in every order of coming and leaving, under load (tools.tcl): as many rounds
# of each order as there are fifths of TRIALS.

foreach tool {bpftrace perf} {
	repeated tools-uprobes-$tool 60 "uprobe_rounds $tool"
	repeated tools-uprobes-$tool-by-breakpoints 60 "set ::engine breakpoint; uprobe_rounds $tool"
}
