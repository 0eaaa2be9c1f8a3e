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
	attach_to {before m} $t
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
	check {[regexp {\nSession +lost +} [live $m "malloc leaks -brief"]]} {$::result}
	set text [live $m "malloc pymalloc lost limit 1"]
	check {[regexp {Lost: .* blocks that nothing points to} $text]} {$text}
	live_end $m
	check_state $before [pid_of $t]
	order $t more
	quit $t
}

# What the interpreter counts itself, and objects whose last reference was forgotten.
case python-objects 60 {
	check_python [system_python]
}

# Arenas are mapped for whoever needs the next one, so that growth of mmap records the objects, too.
case python-growth 60 {
	set t [start_python [system_python]]
	set m [live_start -p [pid_of $t]]
	check {[regexp {^Python's objects of up to 512 bytes .* `probe pool pymalloc`$} [string trim [live $m "growth start mmap"]]]} {$::result}
	check {[regexp -line {^pymalloc +yes +yes } [live $m "probe pool"]]} {$::result}
	order $t "lose 700"
	check {[regexp -line {^float +indirect +32 +[67]\d\d +\d+ +\S} [live $m "malloc pymalloc lost"]]} {$::result}
	live $m "growth stop"
	check {[string trim [live $m "growth start brk"]] eq ""} {$::result}
	live_end $m
	quit $t
}

# Hardly anything of a Python is malloc's heap: it stands for a fork all the same, and not for a look at each object.
case python-stands-for-a-fork 90 {
	set t [start_python [system_python]]
	order $t "lose 400000"
	set ::env(MDBG_TRACE) $::tmp/trace
	set m [live_start -p [pid_of $t]]
	unset ::env(MDBG_TRACE)
	foreach command {"malloc pymalloc" "malloc pymalloc lost"} {
		spit $::tmp/trace ""
		check {[regexp {stood still} [live $m $command]]} {$command: $::result}
		check {[regexp {looked at in a snapshot: done} [slurp $::tmp/trace]]} {$command: in a stop}
	}
	live_end $m
	quit $t
}

# A Python without pools, and a program that is none, say so.
case python-objects-elsewhere 60 {
	set t [start_python [system_python] env PYTHONMALLOC=malloc]
	set m [live_start -p [pid_of $t]]
	check {[string match "*no arenas of Python's*" [live_error $m "malloc pymalloc"]]} {arenas were found}
	live_end $m
	tell $t quit
	ending $t
	start_watched {t m} million
	check {[string match "*no Python*" [live_error $m "malloc pymalloc"]]} {Python was found}
	check {[string match "*'colour' is not expected*" [live_error $m "malloc pymalloc by colour"]]} {by colour}
	finish $t $m
}

# An extension that forgets a reference to each record which it makes: memory leads to the objects that are lost, and
# these, once the pool is probed, to the function.
case python-extension-forgets 60 {
	set python [system_python]
	if {[catch {exec $python -c {import sysconfig; print("-I" + sysconfig.get_paths()["include"])}} include] ||
	    ![file exists [string range $include 2 end]/Python.h]} {
		skip "Python's headers are not installed"
	}
	spit $::tmp/records.c {
		#include <Python.h>

		static PyObject *make_records(PyObject *self, PyObject *args)
		{
			PyObject *list = PyList_New(0);

			for (long i = 1000; i < 1020; i++)
				PyList_Append(list, Py_BuildValue("(ld)", i, i * 0.5));
			return list;
		}

		static PyMethodDef methods[] = { { "make_records", make_records, METH_VARARGS, "" }, { 0 } };
		static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, "records", 0, -1, methods, 0, 0, 0, 0 };

		PyMODINIT_FUNC PyInit_records(void)
		{
			return PyModule_Create(&module);
		}
	}
	exec [need cc] -g -O1 -w -fPIC -shared $include -o $::tmp/records.so $::tmp/records.c
	set script [spit $::tmp/serve.py {
import sys
sys.path.insert(0, sys.argv[1])
import records

def handle(i):
    page = {str(k): [k, float(k)] for k in range(i % 300)}
    return len(records.make_records()) + len(page)

print("ready", flush=True)
for line in sys.stdin:
    if line.strip() == "quit":
        break
    for i in range(int(line)):
        handle(i)
    print("ok", flush=True)
}]
	set t [start_command $python $script $::tmp]
	order $t 300
	set m [live_start -p [pid_of $t]]
	live $m memory
	order $t 4000
	set text [live $m memory]
	check {[regexp {grows, by .*Ask `malloc pymalloc`} $text]} {$text}
	live $m "probe pool pymalloc"
	order $t 500
	set text [live $m "malloc pymalloc lost limit 4"]
	check {[regexp {\ntuple +lost +64 +(\d+) +\d+ +\S.*Py_BuildValue} $text -> nr] && $nr > 9000} {$text}
	check {[regexp {make_records\+0x} $text]} {$text}
	# malloc leaks has the same, and no object that the interpreter has freed by code without a probe.
	set text [live $m "malloc leaks"]
	check {[regexp {\nPython's Objects that Nothing Points to:\n.*\ntuple +lost +64 +\d+ +\d+ +\S.*make_records\+0x} $text]} {$text}
	check {![regexp {Leak Summary.*(definitely|indirectly) lost\n.*\n +in .*(PyList_New|PyObject_Malloc).*Python's Objects} $text]} {$text}
	foreach row [live_value $m {mdbg::leaks all heap == user}] {
		check {[dict get $row count] < 100} {objects of arenas are judged as blocks: $row}
	}
	check {![string match "*Nothing Points to*" [live $m "malloc leaks size > 0"]]} {$::result}
	# A float that the interpreter has made and given back is nobody's who made another one at its place.
	foreach row [live_value $m "mdbg::pymalloc lost"] {
		if {[dict get $row type] eq "float" && [dict get $row count] > 1000 && [dict get $row function] ne ""} {
			set names [lmap frame [live_value $m "mdbg::frames [dict get $row stack]"] {dict get $frame function}]
			check {"make_records" in $names} {floats of $names}
		}
	}
	live_end $m
	quit $t
}
