# SPDX-License-Identifier: GPL-3.0-or-later
# print, whatis and x: gdb's own text is what they are compared with. docs/design.md ("Types and expressions") lists what
# differs, which is not among these.

set c_expressions {
p whole
p/x whole
p &whole
p whole.name
p garr
p zeros
p big
p buf8
p cc
p uc
p sc
p ff
p dd
p ld
p bb
p sh
p ul
p i128
p flags
p flags2
p no_flags
p no_color
p cvi
p ip
p ap
p *ap
p argvv
p fp
p *fp
p add
p &add
p main
p mi
p st
p msg
p &msg
p null
p np
p *np
p *np->next
p not_a_number
p infinite
p wild
p wc
p unread
p reps
p counter::calls
p many
p nodes
p text_run
p alternating
p run_end
p all_zero
p tail_run
p runs
p ends_run
p long_runs
p one_double
p zero_nodes
p one_byte
p/x runs
p/d text_run
p *runs@215
p 5/2.0
p 'a'
p sizeof(whole)
p sizeof(struct whole)
p &whole.arr[1]
p *&whole.arr[1]
p whole.arr[0]@2
p (long)ip
p/x ul
p/t 5
p/c 65
p/d RED
p RED
p RED+1
p (enum color)5
p (char)65
p 10000000000
p "abc"
p whole.flex
p &whole.flex
p &n1.next
p !5
p np == &n1
p &garr[2]-&garr[0]
p garr[1]
p garr[1][1]
p *garr
p **garr
p ip-1
p ip[3]
p whole.p
p *whole.p
p whole.p[1]
p &whole.pt
p *(struct node*)np
p (struct node*)0
p ((struct node*)np)->v
p whole.un
p whole.col
p whole.fn
p *whole.fn
p &whole.fn
p whole.vp
p (void*)np
p &ip
p *&ip
p &garr
p &garr[0]
p nodes[0].v
p (unsigned char)300
p (float)1/3
p 1.0f
p 3.0
p 1e100
p -1 > 0u
p 5 && 0
p 1ul << 40
p 4294967295
p 2147483648
p -5/2
p 7%3
p 3.5 + 1
p cc + 1
p sh * 2
p uc + sc
p bb + 1
p dd * 2
p ff * 2
p 1?2:3
p 07
p 0x1f
p 5u
p '\n'
p '\101'
p '\x41'
p whole.bits
p whole.bits.b
p &whole.bits.a
p sizeof(int[3])
p sizeof(int*)
p (char*)msg
p *msg@3
p msg[2]
p &msg[2]
p {int}ip
p {struct node}&n1
p *argvv@2
p whole.cp
p whole.bytes
p/x whole.bytes
p/d whole.bytes
p/x garr
p/c buf8
p/x np
p/d 0x10
p/o 8
p/x -1
p/x sh
p/z 5
p/a &n1
p/f 3
p/f 1.5
p/x 1.5
p/s msg
whatis whole
whatis &whole
whatis whole.fn
whatis garr
whatis ap
whatis argvv
whatis struct whole
whatis mi
whatis cvi
whatis whole.cp
whatis add
whatis &add
whatis 1+2
whatis 'a'
whatis whole.pt
whatis whole.un
whatis whole.bits.b
whatis 1.5
whatis 1.5f
whatis sh+1
whatis ul+1
whatis ip-ip
whatis ip==ip
whatis &garr[0]
whatis *garr
whatis (char)1
whatis msg
whatis RED
whatis flags
whatis "abc"
x/4dw garr
x/2gx &n1
x/s msg
x/3s argvv[0]
x/8xb &whole
x/3c buf8
x/5uh &whole
x/3dw many
x/2o garr
x/2t garr
}

set cxx_expressions {
p derived
p *pb
p pb
p diamond
p diamond.vb
p rb
p ri
p &ri
p str
p longstr
p empty
p ps
p *ps
p rs
p vi
p ve
p vs
p vb
p vv
p msi
p miv
p si
p mm
p me
p um
p us
p ump
p li
p le
p up
p upe
p *up
p sp
p spe
p wp
p pr
p emp
p of_empty
p tt
p c16
p c32
p wc
p un
p parr
p cs
p anon_enum
p ANON_A
p ldv
p ull
p ns::value
p ns::hidden
p ns::in::deep
p ns::col
p ns::mode
p ns::point
p ns::outer
p ns::RED
p ns::Mode::ON
p ns::Outer::K
p ns::Outer::B1
p bi
p bs
p &bi
p Derived::count
p derived.count
p derived.b
p derived.o
p derived.d
p &derived
p &derived.o
p (Base*)&derived
p *(Derived*)pb
p pb->b
p &parr[1]
p parr[1].x
p fn
p &fn
p fn::calls
p sizeof(Derived)
p sizeof(ns::P)
p sizeof(std::string)
p 1 == 1
p 1 < 2 && tt
p !tt
p (ns::Color)1
p {ns::P}&parr
p *parr@2
p (bool)5
p ns::value + 1
p &ns::value
p &::ns::value
p ::tt
p vi._M_impl._M_start
p vi._M_impl._M_start[1]
p *vi._M_impl._M_start@3
p sizeof(Box<int>)
p *(Box<int>*)&bi
p &str
p &vi
p ns::outer.i
p ns::outer.e
p/x vi
whatis derived
whatis pb
whatis str
whatis bi
whatis &bi
whatis ns::col
whatis ns::mode
whatis ns::RED
whatis rb
whatis ri
whatis fn
whatis &fn
whatis ns::outer
whatis ns::outer.i
whatis 1==1
whatis cs
whatis parr
whatis anon_enum
whatis c16
whatis rs
whatis tt
}

# Lines of a text behind each mark, in a dict by the numbers of the marks.
proc by_mark {text} {
	set answers {}
	set at {}
	foreach line [split $text \n] {
		if {[regexp {^@@(\d+)$} $line -> at]} {
			dict set answers $at {}
		} elseif {$at ne {}} {
			dict lappend answers $at $line
		}
	}
	return $answers
}

proc lines_of {expressions} {
	return [lmap line [split [string trim $expressions] \n] {string trim $line}]
}

# What gdb says of a process; its language is that of libc, where the process waits.
proc gdb_says {pid language expressions} {
	set script [open $::tmp/gdb.script w]
	puts $script "set pagination off\nset style enabled off\nset language $language"
	set i 0
	foreach expression [lines_of $expressions] {
		puts $script "echo @@$i\\n\n$expression"
		incr i
	}
	close $script
	catch {exec env LC_ALL=C.UTF-8 [need gdb] -nx -q -batch -p $pid -x $::tmp/gdb.script 2>@1} text
	set text [regsub -all {warning: RTTI [^\n]*\n} $text {}]
	set text [regsub -all -line {^(\$\d+ = |type = )} $text {}]
	return [by_mark [regsub {\n\[Inferior 1 [^\n]*\].*$} $text {}]]
}

proc mdbg_says {how expressions} {
	set i -1
	set lines [lmap expression [lines_of $expressions] {string cat "puts @@[incr i]\n" $expression}]
	set in [spit $::tmp/mdbg.lines "[join $lines \n]\n"]
	mdbg -in $in {*}$how
	return [by_mark [regsub -all -line {^The process stood still for .*\n} $::out {}]]
}

# Where mdbg and gdb differ; lines of gdb's with the program's own addresses are the same, since both ask one process.
proc compare_with_gdb {pid how language expressions} {
	set gdb [gdb_says $pid $language $expressions]
	set mdbg [mdbg_says $how $expressions]
	set i 0
	set differ {}
	foreach expression [lines_of $expressions] {
		set of_gdb [string trim [join [dict get $gdb $i] \n]]
		set of_mdbg [string trim [join [dict get $mdbg $i] \n]]
		if {$of_gdb ne $of_mdbg} {
			lappend differ "$expression: [string range $of_mdbg 0 200], and gdb says [string range $of_gdb 0 200]"
		}
		incr i
	}
	check {$differ eq {}} {[llength $differ] of $i differ: [join [lrange $differ 0 9] "; "]}
	return $i
}

# Local variables by function, innermost first.
set locals {
	inlined {of factor twice buffer}
	leaf {item real point wide narrow calls both flag array array[1] both.y item->name *item}
	hop {hopped step}
	jumps {jumping step before}
	recursive {list depth text shadowed sum rest *list $rsp}
	Counter::run {this *this first label seen before count_ name_ made Counter::made}
	main {argc *argv last middle first counter label sum &first first.next->next->id}
}

# What gdb says to these orders. It reads them until its end, whatever it says to one.
proc gdb_orders {pid args} {
	catch {exec env LC_ALL=C.UTF-8 [need gdb] -nx -q -batch -p $pid -ex "set pagination off" -ex "set style enabled off" \
		{*}[concat {*}[lmap order $args {list -ex $order}]] 2>@1} text
	return [regsub {\n\[Inferior 1 [^\n]*\].*$} $text {}]
}

# The innermost frame of a function, by its number in gdb, where what is inlined is a frame of its own.
proc gdb_locals {pid} {
	set stack [gdb_orders $pid bt]
	set orders {}
	foreach {function names} $::locals {
		# A function that has jumped to another one it finds in most builds.
		if {![regexp -line "^#(\\d+) +(?:0x\[0-9a-f\]+ in )?$function \\(" $stack -> number]} {
			check {$function eq "hop"} {$function: $stack}
			continue
		}
		lappend orders "frame $number"
		foreach name $names {
			lappend orders "echo @@$function/[string map {$ {} [ . ] {}} $name]\\n" "print $name"
		}
	}
	return [by_name [gdb_orders $pid {*}$orders]]
}

# The first line behind each mark, without gdb's `$1 = `.
proc by_name {text} {
	set answers {}
	foreach {- name said} [regexp -all -inline {@@(\S+)\n([^\n]*)} $text] {
		# What is refused is on standard error.
		dict set answers $name [expr {[string match "@@*" $said] ? "" : [regsub {^\$\d+ = } $said {}]}]
	}
	return $answers
}

# The same of mdbg: the frame of a function is the first one of `where` that has it.
proc mdbg_locals {how} {
	mdbg {*}$how -c where
	set lines {}
	foreach {function names} $::locals {
		set number -1
		foreach line [split $::out \n] {
			regexp {^#(\d+) } $line -> number
			if {[regexp " $function\\M" $line]} {
				break
			}
		}
		# gdb finds functions that have jumped to others.
		if {![regexp " $function\\M" $line]} {
			continue
		}
		append lines "frame $number\n"
		foreach name $names {
			append lines "puts @@$function/[string map {$ {} [ . ] {}} $name]\nprint $name\n"
		}
	}
	mdbg -in [spit $::tmp/mdbg.lines $lines] {*}$how
	return [by_name $::out]
}

# gdb follows calls through tail calls and registers that mdbg does not have: what mdbg does not know, it may know. What mdbg
# says is what gdb says. Returns how many are known to gdb, and to mdbg.
proc compare_locals {pid how} {
	set gdb [gdb_locals $pid]
	set mdbg [mdbg_locals $how]
	set differ {}
	set of_gdb 0
	set of_mdbg 0
	check {[dict size $gdb] > 30} {$gdb}
	dict for {name said} $gdb {
		set ours [expr {[dict exists $mdbg $name] ? [dict get $mdbg $name] : ""}]
		incr of_gdb [expr {$said ne "<optimized out>"}]
		if {[regexp {^<not known: |^$} $ours]} {
			continue
		}
		incr of_mdbg [expr {$ours ne "<optimized out>"}]
		if {$ours ne $said} {
			lappend differ "$name: $ours, and gdb says $said"
		}
	}
	check {$differ eq {}} {[join $differ "; "]}
	return [list $of_gdb $of_mdbg]
}

# A program of the two by a compiler and its flags. Split files go to where the compiler runs. What has been compiled
# before, with the same flags in the same folder, is taken from ccache if that is installed.
proc built_by {source args} {
	set binary $::tmp/values
	set compiler [lreplace $args 0 0 [need [lindex $args 0]]]
	exec sh -c {cd "$1" && shift && exec "$@"} sh $::tmp {*}[auto_execok ccache] {*}$compiler -w -D_GNU_SOURCE \
		-I$::here/../targets -c -o $binary.o $::here/../targets/$source
	exec {*}$compiler -w -o $binary $binary.o
	return [start_command $binary]
}

proc compare_build {source language expressions args} {
	set t [built_by $source {*}$args]
	compare_with_gdb [pid_of $t] [list --no-arm -p [pid_of $t]] $language $expressions
	finish $t
}

case print-as-gdb-c 60 {
	compare_build values.c c $::c_expressions gcc -O0 -gdwarf-5
	compare_build values.c c $::c_expressions clang -O2 -gdwarf-4
}

case print-as-gdb-cxx 60 {
	compare_build values_cxx.cc c++ $::cxx_expressions g++ -O0 -gdwarf-5 -std=gnu++17
}

# All builds: in the torture.
repeated print-as-gdb-builds 200 {
	skip_if {$::trials < 50} {all builds are compared in the torture}
	foreach {c cxx} {gcc g++ clang clang++} {
		foreach level {-O0 -O1 -O2} {
			foreach dwarf {-gdwarf-4 -gdwarf-5} {
				compare_build values.c c $::c_expressions $c $level $dwarf
				compare_build values_cxx.cc c++ $::cxx_expressions $cxx $level $dwarf -std=gnu++17 \
					{*}[expr {$cxx eq "clang++" ? "-fstandalone-debug" : ""}]
				compare_locals_build $cxx $level $dwarf {*}[expr {$cxx eq "clang++" ? "-fstandalone-debug" : ""}]
			}
			if {$c eq "gcc"} {
				compare_build values.c c $::c_expressions $c $level -g -fdebug-types-section
			}
			compare_build values.c c $::c_expressions $c $level -g -gsplit-dwarf
		}
	}
}

# A core, and the stopped process, say what the running process says.
case print-of-a-core 60 {
	set t [start values]
	set live [mdbg_says [list --no-arm -p [pid_of $t]] $::c_expressions]
	set stopped [mdbg_says [list --no-arm --stop -p [pid_of $t]] $::c_expressions]
	need gdb
	catch {exec [need gcore] -o $::tmp/core [pid_of $t] 2>@1} text
	check {[file exists $::tmp/core.[pid_of $t]]} {gcore: [string range $text 0 300]}
	set core [mdbg_says [list --core $::tmp/core.[pid_of $t]] $::c_expressions]
	foreach i [dict keys $live] {
		check {[dict get $live $i] eq [dict get $stopped $i]} {$i: [dict get $live $i], stopped [dict get $stopped $i]}
		check {[dict get $live $i] eq [dict get $core $i]} {$i: [dict get $live $i], in the core [dict get $core $i]}
	}
	finish $t
}

# One line of error each, and what the process says of itself afterwards is as before.
case print-wrong-input 30 {
	set t [start values]
	set nested [string repeat ( 10000]1
	set wrong [list "whole.nam" garrr $nested [string repeat - 10000]1 {*(int *)0} {*(struct whole *)0x10} \
		"garr\[1000000000\]" np->next->next->next {whole = 1} whole++ add(1) {(struct nosuch *)0} \
		{sizeof(int[1152921504606846976][1152921504606846976])} "\"open" 1/0 unread\[0\] {} ) {whole + 1}]
	foreach line $wrong {
		mdbg -in [spit $::tmp/one "print $line\n"] --no-arm -p [pid_of $t]
		check {[regexp {^mdbg: print[: ].*\n(hint: .*\n)?$} $::err]} {print [string range $line 0 40]: $::err}
	}
	mdbg -in [spit $::tmp/one "print garrr\n"] --no-arm -p [pid_of $t]
	check {[string match "*hint: near it: garr*" $::err]} {$::err}
	mdbg -in [spit $::tmp/one "print \$eflagz\n"] --no-arm -p [pid_of $t]
	check {$::err eq "mdbg: print: no register \$eflagz\nhint: `registers` shows those of the thread\n"} {$::err}
	mdbg -in [spit $::tmp/one "print {int\[1152921504606846976\]} &garr\n"] --no-arm -p [pid_of $t]
	check {[string match "{1, 2, 3, 4, 5, 6, *...}*" $::out]} {$::out}
	check {[lindex [ask $t verify] 0] eq "ok"} {it does not answer}
	finish $t
}

# What a block is, by the log; and what a pointer in a global points to.
case print-whatis-x 30 {
	set t [start values]
	set out [mdbg_ok --no-arm -p [pid_of $t] -c {whatis &whole.pt} -c {puts [mdbg::eval {(long) &whole.pt.y}]} -c {x/2a &n1}]
	lassign [split $out \n] type address line
	check {$type eq "point *"} {$out}
	check {[regexp {^0x[0-9a-f]+ <n1>:\t0x[0-9a-f]+ <n2>\tn2.next \(struct node\) in values$} $line]} {$out}
	set out [mdbg_ok --no-arm -p [pid_of $t] -c "set a $address" -c {whatis $a}]
	check {$out eq "$address\nwhole.pt.y (struct whole) in values\n" || $out eq "whole.pt.y (struct whole) in values\n"} {$out}
	finish $t
}

proc compare_locals_build {args} {
	set t [built_by locals.cc {*}$args]
	lassign [compare_locals [pid_of $t] [list --no-arm -p [pid_of $t]]] of_gdb of_mdbg
	order $t go
	close $t
	return [list $of_gdb $of_mdbg]
}

case print-locals-as-gdb 60 {
	lassign [compare_locals_build g++ -O2 -g] of_gdb of_mdbg
	check {$of_mdbg > $of_gdb * 3 / 4} {$of_mdbg of $of_gdb are known}
}

# Thread-local variables of the program, of a function, and of a library that was loaded later.
set own_words {own own_pair own_pair.y own_text counted::calls &own *&own}

# The orders for gdb and mdbg, and what they say: each thread's own, and what is in vector registers.
proc compare_threads {pid core} {
	set gdb {}
	set mdbg {}
	set i 0
	foreach lwp [lsort -integer [glob -tails -directory /proc/$pid/task *]] {
		lappend gdb "thread [incr i]"
		lappend mdbg "thread $lwp"
		set names $::own_words
		if {$i == 2} {
			lappend names sum part
		} else {
			lappend names {lib_own[3]} {&lib_own[3]}
		}
		foreach name $names {
			lappend gdb "echo @@$i/$name\\n" "print $name"
			lappend mdbg "puts {@@$i/$name}" "print $name"
		}
	}
	set of_gdb [by_name [expr {$core eq "" ? [gdb_orders $pid {*}$gdb] : [gdb_core_orders $core {*}$gdb]}]]
	mdbg -in [spit $::tmp/mdbg.lines [join $mdbg \n]\n] {*}[expr {$core eq "" ? [list --no-arm -p $pid] : [list --core $core]}]
	set of_mdbg [by_name $::out]
	check {[dict size $of_gdb] == 2 * [llength $::own_words] + 4} {$of_gdb}
	dict for {name said} $of_gdb {
		check {$said ne ""} {gdb says nothing of $name}
		check {[dict get $of_mdbg $name] eq $said} {$name: [dict get $of_mdbg $name], and gdb says $said; $::err}
	}
	check {[dict get $of_gdb 1/own] == 1 && [dict get $of_gdb 2/own] == 11} {$of_gdb}
	# clang has no place for the sum.
	check {[dict get $of_gdb 2/sum] in {4.5 {<optimized out>}} && [dict get $of_gdb 2/part] == 2.75} {$of_gdb}
}

proc gdb_core_orders {core args} {
	catch {exec env LC_ALL=C.UTF-8 [need gdb] -nx -q -batch -ex "set pagination off" -ex "set style enabled off" \
		$::build/targets/places $core {*}[concat {*}[lmap order $args {list -ex $order}]] 2>@1} text
	return $text
}

case print-each-thread 60 {
	set t [start places]
	set pid [pid_of $t]
	compare_threads $pid ""
	exec [need gcore] -o $::tmp/core $pid 2>@1
	compare_threads $pid $::tmp/core.$pid
	# Nobody is stopped for what needs no thread.
	set out [mdbg_ok --no-arm -p $pid -c {whatis own_pair} -c {print sizeof(own_pair)}]
	check {$out eq "struct pair\n8\n"} {$out}
	# The other thread has not asked for the library's so far.
	mdbg -in [spit $::tmp/one "thread [lindex [lsort -integer [glob -tails -directory /proc/$pid/task *]] 1]\nprint lib_own\n"] --no-arm -p $pid
	check {[string match "*lib_own: thread * has no data of this module*" $::err]} {$::err}
	finish $t
}

# Where the kernel says that some bytes are, in all that may be read, one after the other.
proc places_in {pid bytes} {
	set mem [open /proc/$pid/mem rb]
	set places {}
	foreach line [split [slurp /proc/$pid/maps] \n] {
		if {![regexp {^(\w+)-(\w+) r.*?(\[v\w+\])?$} $line -> start end virtual] || $virtual ne ""} {
			continue
		}
		scan $start %llx start
		scan $end %llx end
		seek $mem $start
		if {[catch {read $mem [expr {$end - $start}]} memory]} {
			continue
		}
		for {set at 0} {[set at [string first $bytes $memory $at]] >= 0} {incr at} {
			lappend places [format 0x%x [expr {$start + $at}]]
		}
	}
	close $mem
	return $places
}

proc found_at {places} {
	return [lmap place $places {dict get $place address}]
}

# All places, and no other, of a process that runs, of a snapshot, and of a core; each with its name.
case find-in-memory 60 {
	set t [start places]
	set pid [pid_of $t]
	set truth [places_in $pid "a needle in"]
	set marked [places_in $pid [binary format w 0x6e65656400000001]]
	set pair [places_in $pid [binary format ii 7 8]]
	check {[llength $truth] >= 3 && [llength $marked] >= 2 && [llength $pair] >= 2} {$truth $marked $pair}
	set m [live_start -p $pid]
	foreach option {{} -snapshot} {
		check {[found_at [live_value $m "mdbg::places $option {\"a needle in\"}"]] eq $truth} {$option, $truth}
		check {[found_at [live_value $m "mdbg::places $option 0x6e65656400000001"]] eq $marked} {$option, $marked}
	}
	check {[found_at [live_value $m "mdbg::places {pairs\[0\]} limit 100000"]] eq $pair} {$pair}
	# A whole word has the same bytes as two that are smaller.
	check {[found_at [live_value $m "mdbg::places /g 0x6e65656400000001"]] eq $marked} {$marked}
	check {[llength [live_value $m "mdbg::places /w 0x6e656564"]] >= [llength $marked]} {units}
	set said [live $m {find {"a needle in"} limit 3}]
	# The first two are those of the constant, in a page that is mapped twice.
	check {[regexp "\n0x\[0-9a-f\]{16}  in_data\\\[0\\\] \\(char \\\[17\\\]\\) in places\n" $said]} {$said}
	check {[string match "*\n[llength $truth] places, of which the first 3 are shown; * bytes were searched, and * others *" $said]} {$said}
	set said [live $m {find {"needle"} in &in_data +17}]
	check {[string match "*in_data\\\[2\\\]*\n1 place; 17 bytes were searched" $said]} {$said}
	set said [live $m {find {"needle"} size == 104}]
	check {[string match "*  byte 2 of a block of 1?? bytes at *\n1 place; ??? bytes were searched\n*" $said]} {$said}
	set place [lindex [live_value $m "mdbg::places -v {\"needle in the heap\"}"] end]
	check {[dict get $place offset] == 2 && [dict exists $place block]} {$place}
	live_end $m
	exec [need gcore] -o $::tmp/core $pid 2>@1
	set places [lindex [split [mdbg_ok --core $::tmp/core.$pid -c {puts [mdbg::places {"a needle in"}]}] \n] 0]
	check {[lsort [concat $truth [found_at $places]]] eq [lsort [concat $truth $truth]]} {$truth, in the core $places}
	finish $t
}

case find-wrong-input 30 {
	set t [start places]
	foreach {line pattern} {
		{find} "an expression is missing"  {find "open} "*"  {find ""} "empty"  {find nosuch} "no variable"
		{find/q 1} "no unit"  {find/w "text"} "no unit"  {find 1 in 5} "two addresses"  {find 1 limit} "number"
		{find 1 sizee > 4} "sizee"  {find -snapshot 1 size > 4} "FILTER"  {find struct pair} "*"
		{find "a" b} "*"  {find 1 limit 99999999999} "at most"
	} {
		mdbg -in [spit $::tmp/one "$line\n"] --no-arm -p [pid_of $t]
		check {[regexp {^mdbg: find[: ].*\n(hint: .*\n)?$} $::err] && [string match *$pattern* $::err]} {$line: $::err}
	}
	finish $t
}

set container_words {
p text
p long_text
p no_text
p view
p part
p numbers
p no_numbers
p words
p nested
p queue
p no_queue
p moved
p texts
p large
p list
p no_list
p letters
p set
p small_set
p deep
p map
p of_vectors
p no_map
p multi
p hashed
p tight
p hashed_set
p five
p nothing
p number
p fraction
p unique
p no_unique
p shared
p none
p weak
p expired
}

# What differs between libraries: namespaces, how much room there is, and addresses.
proc without_library {text} {
	regsub -all {__cxx11::|__1::} $text {} text
	regsub -all {capacity \d+} $text {capacity N} text
	return [regsub -all {0x[0-9a-f]+} $text {0xN}]
}

# libstdc++ is compared with gdb's printers; for libc++ gdb has none, and the program has the same in it.
case print-containers 90 {
	# The headers of the containers take a compiler longer than all the rest of this takes, and where it ran is of no
	# concern here: what the case has compiled for one build of mdbg is good for another one.
	set ::env(CCACHE_NOHASHDIR) 1
	set words "$::container_words\np some\np either\n"
	foreach {compiler args} {g++ {-O0 -gdwarf-5} clang++ {-O2 -gdwarf-4 -fstandalone-debug}} {
		set t [built_by containers.cc $compiler {*}$args -std=gnu++17]
		compare_with_gdb [pid_of $t] [list --no-arm -p [pid_of $t]] c++ $::container_words
		set said [mdbg_says [list --no-arm -p [pid_of $t]] $words]
		finish $t
	}
	set either [lindex [dict get $said [expr {[llength [lines_of $words]] - 1}]] 0]
	check {$either eq {std::variant<char, std::vector<int, std::allocator<int> >, double> [index 1] = {std::vector of length 2, capacity 2 = {4, 5}}}} {$either}
	if {![file exists /usr/include/c++/v1] && ![llength [glob -nocomplain /usr/lib/llvm-*/include/c++/v1]]} {
		skip "libc++ is not installed"
	}
	foreach args {{-O0 -gdwarf-5} {-O2 -gdwarf-4}} {
		set t [built_by containers.cc clang++ -stdlib=libc++ {*}$args -fstandalone-debug -std=gnu++17]
		set there [mdbg_says [list --no-arm -p [pid_of $t]] $words]
		foreach i [dict keys $said] line [lines_of $words] {
			set ours [without_library [join [dict get $there $i]]]
			check {$ours eq [without_library [join [dict get $said $i]]]} {$args $line: $ours, and of libstdc++ [dict get $said $i]}
		}
		finish $t
	}
}

proc lseq_of {from to} {
	for {set i $from} {$i <= $to} {incr i} {
		lappend list $i
	}
	return $list
}

# What the program has put into its tree, in order.
proc tree_pairs {} {
	for {set i 0} {$i < 200} {incr i} {
		lappend pairs [list [expr {($i * 73) % 251}] $i]
	}
	return [join [lmap pair [lsort -integer -index 0 $pairs] {string cat "\[[lindex $pair 0]\] = [lindex $pair 1]"}] {, }]
}

case print-containers-of-rust 60 {
	set program $::tmp/containers
	exec [need rustc] -g -o $program $::here/../targets/containers.rs 2>@1
	set t [start_command $program]
	mdbg --no-arm -p [pid_of $t] -c where
	check {[regexp -line {^#(\d+) .* containers::main} $::out -> frame]} {$::out}
	foreach {name want} {
		map {HashMap(size=1) = {["one"] = 1}}  empty HashMap(size=0)  set {HashSet(size=1) = {7}}
		rc {Rc(strong=2, weak=1) = {value = {x = 5, name = "rc"}}}  arc {Arc(strong=1, weak=0) = {value = 42}}
		cell {Rc(strong=1, weak=0) = {value = {borrow = {value = {value = 0}}, value = {value = 3}}}}
		vector {Vec(size=3) = {1, 2, 3}}  ring {VecDeque(size=3) = {3, 4, 5}}  ringless VecDeque(size=0)
		nothings {VecDeque(size=2) = {(), ()}}  text {"text"}  slice {"slice"}  some {Some {__0 = 4}}
	} {
		set said [lindex [split [mdbg_ok --no-arm -p [pid_of $t] -c "frame $frame" -c "print $name"] \n] end-2]
		check {$said eq $want} {$name: $said}
	}
	foreach {name want} [list \
			names {BTreeMap(size=2) = {["a"] = {x = 1, name = "one"}, ["b"] = {x = 2, name = "two"}}} leafless BTreeMap(size=0) \
			sorted "BTreeSet(size=30) = {[join [lseq_of 71 100] {, }]}" tree "BTreeMap(size=200) = {[tree_pairs]}"] {
		set said [lindex [split [mdbg_ok --no-arm -p [pid_of $t] -c "frame $frame" -c "print $name"] \n] end-2]
		check {$said eq $want} {$name: $said, and not $want}
	}
	set said [mdbg_ok --no-arm -p [pid_of $t] -c "frame $frame" -c "print many"]
	check {[regexp {HashMap\(size=3\) = \{(.*)\}\n} $said -> pairs]} {$said}
	check {[lsort [split [string map {", " ,} $pairs] ,]] eq {{[0] = 0} {[1] = 3} {[2] = 6}}} {$said}
	finish $t
}

# Registers and their parts, as gdb has them; the process stands in a system call.
case print-registers-as-gdb 30 {
	set t [start values]
	set words {}
	foreach name {rip pc rsp sp rbp rax rbx rcx rdx rsi rdi r8 r12 r15 eax ax al ah ebx bx bl bh esi sil r8d r12d r12w r12l} {
		append words "p \$$name\nwhatis \$$name\n"
	}
	append words "p/x \$rax\np \$rsp == \$sp\np *(long *)\$rsp\np (char)\$al\n"
	# libc's function has several names.
	set gdb [gdb_says [pid_of $t] c $words]
	set mdbg [mdbg_says [list --no-arm -p [pid_of $t]] $words]
	foreach i [dict keys $gdb] line [lines_of $words] {
		set said [regsub { <[^>]*>$} [string trim [join [dict get $gdb $i]]] {}]
		check {$said ne "" && [regsub { <[^>]*>$} [string trim [join [dict get $mdbg $i]]] {}] eq $said} {
			$line: [dict get $mdbg $i], and gdb says $said}
	}
	finish $t
}

# gdb, too, is asked to show them as it shows C++. What mdbg has in the way of Rust is not among them: enums with
# contents, characters, and bytes, which are numbers.
set rust_words {
	i s l z w f g t tuple array nested zeros point wrap color red reference *reference raw *raw either func boxed *boxed
	point.x point.y wrap.__0 wrap.__1 wrap.__1.y tuple.__0 tuple.__1 array[1] nested[1] nested[1][0] either.i either.f
	&i &point &array &array[1] array[0]@2 raw->x raw->y GLOBAL TABLE TABLE[2] COUNTER values::GLOBAL values::TABLE
	inner::DEEP values::inner::DEEP &GLOBAL add &add i+1 s*2 l/3 f/2 f*g i<<3 {i&0xff} {-i} {~i} {i<0} {z==9} {*func}
}

proc rust_says {how frame} {
	set lines $frame
	foreach word $::rust_words {
		append lines "\np $word"
		append lines [expr {[regexp {[-+*/<&~=]} $word] ? "" : "\nwhatis $word"}]
	}
	return [list $lines [{*}$how $lines]]
}

# Returns how many were compared.
proc compare_rust {gdb how} {
	mdbg {*}$how -c where
	check {[regexp -line {^#(\d+) .* values::main} $::out -> frame]} {$::out}
	lassign [rust_says $gdb "frame function values::main"] lines gdb
	lassign [rust_says [list mdbg_says $how] "frame $frame"] - mdbg
	set lines [lines_of $lines]
	for {set i 1} {$i < [llength $lines]} {incr i} {
		# mdbg's names are without the hash at their end.
		set of_gdb [regsub {::h[0-9a-f]{16}>} [string trim [join [dict get $gdb $i] \n]] >]
		set of_mdbg [string trim [join [dict get $mdbg $i] \n]]
		check {$of_gdb eq $of_mdbg} {[lindex $lines $i]: $of_mdbg, and gdb says $of_gdb}
	}
	return [expr {$i - 1}]
}

proc gdb_core_says {program core language expressions} {
	set script "set pagination off\nset style enabled off\nset language $language\n"
	set i -1
	foreach expression [lines_of $expressions] {
		append script "echo @@[incr i]\\n\n$expression\n"
	}
	catch {exec env LC_ALL=C.UTF-8 [need gdb] -nx -q -batch $program $core -x [spit $::tmp/gdb.script $script] 2>@1} text
	set text [regsub -all {warning: RTTI [^\n]*\n} $text {}]
	return [by_mark [regsub -all -line {^(\$\d+ = |type = )} $text {}]]
}

case print-as-gdb-rust 90 {
	set program $::tmp/values
	foreach args {{-C opt-level=0} {-C opt-level=0 -C dwarf-version=5}} {
		exec [need rustc] -g -A warnings {*}$args -o $program $::here/../targets/values.rs 2>@1
		set t [start_command $program]
		set pid [pid_of $t]
		check {[compare_rust [list gdb_says $pid c++] [list --no-arm -p $pid]] > 90} {few}
	}
	exec [need gcore] -o $::tmp/core $pid 2>@1
	compare_rust [list gdb_core_says $program $::tmp/core.$pid c++] [list --core $::tmp/core.$pid]
	finish $t
}

# gdb and mdbg of one core; a process that waits in libc has gdb take C, so the language is set.
case print-of-a-core-as-gdb-cxx 60 {
	set t [built_by values_cxx.cc g++ -O2 -gdwarf-4 -std=gnu++17]
	set pid [pid_of $t]
	exec [need gcore] -o $::tmp/core $pid 2>@1
	set gdb [gdb_core_says $::tmp/values $::tmp/core.$pid c++ $::cxx_expressions]
	set mdbg [mdbg_says [list --core $::tmp/core.$pid] $::cxx_expressions]
	foreach i [dict keys $gdb] line [lines_of $::cxx_expressions] {
		set of_gdb [string trim [join [dict get $gdb $i] \n]]
		set of_mdbg [string trim [join [dict get $mdbg $i] \n]]
		check {$of_gdb eq $of_mdbg} {$line: $of_mdbg, and gdb says $of_gdb}
	}
	finish $t
}
