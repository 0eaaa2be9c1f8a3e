# SPDX-License-Identifier: GPL-3.0-or-later
# What was there before mdbg came, at random moments of programs under load (oracle_before.tcl): a fifth of TRIALS of
# each program under each allocator, at least one.

foreach program {crowd redis python3 sqlite3 nginx} {
	foreach allocator [dict keys $oracle_allocators] {
		repeated oracle-moments-$program-$allocator 600 "
			build_oracle
			for {set i 0} {\$i < max(1, \$::trials / 5)} {incr i} {
				oracle_moment $program $allocator
			}
		"
	}
}
