# SPDX-License-Identifier: GPL-3.0-or-later
# What is walked of Python's own allocator, and what an extension has forgotten.

proc start_python {python args} {
	set script [spit $::tmp/objects.py {
import ctypes, gc, os, sys

class Session:
    def __init__(self, i):
        self.number = i

class Slot:
    __slots__ = ("a", "b")

take = ctypes.pythonapi.Py_IncRef
take.argtypes = [ctypes.py_object]

def lose(n):
    for i in range(n):
        session = Session(i * 1.5)
        take(session)

def stats(file):
    sys.stderr.flush()
    old = os.dup(2)
    new = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(new, 2)
    sys._debugmallocstats()
    os.dup2(old, 2)
    os.close(old)
    os.close(new)

sessions = [Session(i) for i in range(4321)]
slots = [Slot() for i in range(1234)]
tables = {i: (i, str(i)) for i in range(2000)}
gc.collect()
print("ready", flush=True)
while True:
    words = sys.stdin.readline().split()
    if not words or words[0] == "quit":
        break
    if words[0] == "stats":
        stats(words[1])
    elif words[0] == "lose":
        lose(int(words[1]))
    print("ok", flush=True)
}]
	return [start_command {*}$args $python $script]
}

# Size of blocks -> how many the interpreter itself counts.
proc python_counts {t} {
	set counts [dict create]
	order $t "stats $::tmp/stats"
	foreach line [split [slurp $::tmp/stats] "\n"] {
		if {[regexp {^ *\d+ +(\d+) +\d+ +(\d+) +\d+$} $line all size blocks] && $blocks} {
			dict set counts $size $blocks
		}
	}
	return $counts
}

# type -> {count lost}
proc python_types {m words} {
	set types [dict create]
	foreach row [live_value $m "mdbg::pymalloc $words"] {
		dict incr types [dict get $row type] [dict get $row count]
	}
	return $types
}

proc check_python {python} {
	set t [start_python $python]
	set before [state [pid_of $t]]
	set m [live_start -p [pid_of $t]]
	# The interpreter's own count comes after a line that it reads and prints: a block or two of a size differ.
	set sizes [dict create]
	foreach row [live_value $m {mdbg::pymalloc by size}] {
		dict set sizes [dict get $row size] [dict get $row count]
	}
	set counts [python_counts $t]
	check {[dict size $counts] > 20} {the interpreter says $counts}
	dict for {size count} $counts {
		set is [expr {[dict exists $sizes $size] ? [dict get $sizes $size] : 0}]
		check {abs($is - $count) <= 40} {of $size bytes: $is, and the interpreter has $count}
	}
	set types [python_types $m "by type"]
	check {[dict get $types Session] == 4321 && [dict get $types Slot] == 1234} {$types}
	check {![string match "*Incomplete*" [live $m "malloc pymalloc limit 3"]]} {[live $m "malloc pymalloc limit 3"]}
	set lost [python_types $m "lost"]
	check {![dict exists $lost Session]} {lost before one was: $lost}
	order $t "lose 700"
	set lost [python_types $m "lost"]
	check {[dict exists $lost Session] && [dict get $lost Session] >= 670 && [dict get $lost Session] <= 700} {lost: $lost}
	check {[dict get $lost float] >= 650} {what they hold: $lost}
	set text [live $m "malloc pymalloc lost limit 1"]
	check {[regexp {Lost: .* blocks that nothing points to} $text]} {$text}
	live_end $m
	check_state $before [pid_of $t]
	order $t more
	tell $t quit
	check {[ending $t] eq {exit 0}} {it ended otherwise}
}

# What the interpreter counts itself, and objects whose last reference was forgotten.
case python-objects 60 {
	check_python [system_python]
}

# A Python without pools, and a program that is none, say so.
case python-objects-elsewhere 60 {
	set t [start_python [system_python] env PYTHONMALLOC=malloc]
	set m [live_start -p [pid_of $t]]
	check {[string match "*no arenas of Python's*" [live_error $m "malloc pymalloc"]]} {arenas were found}
	live_end $m
	tell $t quit
	ending $t
	set t [start million]
	set m [live_start -p [pid_of $t]]
	check {[string match "*no Python*" [live_error $m "malloc pymalloc"]]} {Python was found}
	check {[string match "*'colour' is not expected*" [live_error $m "malloc pymalloc by colour"]]} {by colour}
	live_end $m
	finish $t
}
