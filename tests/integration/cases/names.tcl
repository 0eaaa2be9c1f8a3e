# SPDX-License-Identifier: GPL-3.0-or-later
# C++ names, short and in full; the wrappers that sites look through.

# The target has allocated; mdbg is on it.
proc with_orders {body} {
	uplevel 1 {
		start_watched {t before m} orders
		order $t fill
	}
	uplevel 1 $body
	uplevel 1 {
		finish $t $m $before
	}
}

# The line `in …` of the sites that match.
proc headlines {m words} {
	return [lmap {- name} [regexp -all -inline -line {^    in (.+)$} [live $m "malloc sites $words"]] {set name}]
}

# How many blocks.
proc listed_by {m words} {
	return [listed [live $m "malloc allocations $words"]]
}

set cxx_string {std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >}
set cxx_orders "std::map<$cxx_string, Order, std::less<$cxx_string >, std::allocator<std::pair<$cxx_string const, Order> > >"
set add_order_short {add_order<std::map<std::string, Order> >(std::map<std::string, Order>&, Order const&)}
set add_order_full "add_order<$cxx_orders >($cxx_orders&, Order const&)"

case names-short-and-full 60 {
	with_orders {
		set text [live $m "malloc allocations"]
		foreach name [list $::add_order_short {std::map<std::string, Order>::operator[](std::string&&)} \
			{std::map<int, Order, std::greater<int> >::operator[](int&&)} {std::make_shared<Order>()} \
			{std::vector<int, Counted<int> >::} {std::unordered_map<std::string, std::vector<Order> >::operator[]} \
			{Reader::read(std::vector<std::string> const&)} {share(std::function<std::shared_ptr<Order> (int)> const&)}] {
			check {[string first " $name" $text] > 0} {no $name in $text}
		}
		# Compilers name the lambda differently.
		check {[regexp {fill\(\)::(\{lambda\(int\)#1\}|\$_0)} $text]} {no lambda in $text}
		foreach part {__cxx11 {(anonymous namespace)} {char_traits<char>, std::allocator<char> >}} {
			check {[string first $part $text] < 0} {$part in $text}
		}
		foreach command {"malloc sites" "malloc sites by function" "malloc leaks all" "malloc stale 0s"} {
			check {[string first $::add_order_short [live $m $command]] > 0} {not short: $command}
		}
		check {[live_value $m "set names"] eq "short"} {names is [live_value $m "set names"]}
		live $m "set names full"
		set text [live $m "malloc allocations"]
		foreach name [list $::add_order_full "(anonymous namespace)::Reader::read(" "::basic_string<std::allocator<char> >("] {
			check {[string first $name $text] > 0} {no $name in $text}
		}
		foreach command {"malloc sites" "malloc sites by function" "malloc leaks all" "malloc stale 0s"} {
			check {[string first $::add_order_full [live $m $command]] > 0} {not in full: $command}
		}
		check {[string match "*not one of short, full*" [live_error $m "set names long"]]} {$::result}
		live $m "set names short"
		check {[string first __cxx11 [live $m "malloc sites"]] < 0} {set names short}
	}
}

case names-in-values 60 {
	with_orders {
		foreach {names own} [list short $::add_order_short full $::add_order_full] {
			live $m "set names $names"
			set site [live_value $m "lindex \[mdbg::sites size == 1272\] 0"]
			check {[dict get $site function] eq $own} {$names: [dict get $site function]}
			set found 0
			foreach frame [live_value $m "mdbg::frames [dict get $site stack]"] {
				if {[dict get $frame function] eq $own} {
					check {[dict get $frame full] eq $::add_order_full} {full: [dict get $frame full]}
					incr found
				}
			}
			check {$found == 1} {$names: $found frames}
			set site [live_value $m "lindex \[mdbg::sites by function size == 1272\] 0"]
			check {[dict get $site label] eq "function $own"} {$names: [dict get $site label]}
		}
	}
}

case names-in-filters 60 {
	with_orders {
		set want [listed_by $m "function == add_order*"]
		check {$want == 2} {$want blocks of add_order}
		foreach names {short full} {
			live $m "set names $names"
			foreach glob [list $::add_order_short $::add_order_full {add_order<std::map<std::string, Order> >} \
				"add_order<$::cxx_orders >" {add_order<std::map<std::string, *> >} {*std::map<std::string, Order>::operator[[]]*}] {
				set n [listed_by $m "function == {$glob}"]
				check {$n == $want || ($n == 1 && [string match {\**} $glob])} {$names: $n blocks of $glob}
			}
			# As it is shown, brackets and all; without its parameters.
			check {[listed_by $m "function == {std::map<std::string, Order>::operator\[\]}"] == 1} {$names: operator\[\]}
			check {[listed_by $m "function == Reader::read"] == 1} {$names: Reader::read}
			check {[listed_by $m "function == {(anonymous namespace)::Reader::read}"] == 1} {$names: (anonymous namespace)}
			check {[listed_by $m "function == Read"] == 0} {$names: Read}
		}
	}
}

case names-skipped 60 {
	with_orders {
		foreach {size own} {7001 load_row() 5003 shop_alloc 3001 "Reader::read(std::vector<std::string> const&)" 4096 fill()} {
			set lines [headlines $m "size == $size"]
			check {[llength $lines] == 1 && [string match "$own (orders.cc:*)" [lindex $lines 0]]} {$size: $lines}
			set site [live_value $m "lindex \[mdbg::sites size == $size\] 0"]
			check {[dict get $site function] eq $own} {$size: [dict get $site function]}
			set site [live_value $m "lindex \[mdbg::sites by function size == $size\] 0"]
			check {[dict get $site label] eq "function $own"} {$size: [dict get $site label]}
		}
		# The lambda is the program's own; what calls it, between it and make_shared, is the library's.
		check {[string match "*operator()* (orders.cc:*)" [lindex [headlines $m "size == 1224"] 0]]} {[headlines $m "size == 1224"]}
		# One of the user's own, beside the built-in ones.
		live $m "set skip default shop_*"
		check {[string match "load_table() (orders.cc:*)" [lindex [headlines $m "size == 5003"] 0]]} {[headlines $m "size == 5003"]}
		check {[string match "load_row() (orders.cc:*)" [lindex [headlines $m "size == 7001"] 0]]} {[headlines $m "size == 7001"]}
		check {[string match "*{operator new\\*} *zmalloc\\* *shop_\\*" [live_value $m "set skip"]]} {[live_value $m "set skip"]}
		# The traceback stays whole.
		check {[string first " shop_alloc+" [live $m "malloc sites size == 5003"]] > 0} {[live $m "malloc sites size == 5003"]}
		# A short name, a full one, one with parameters.
		foreach glob {Reader::read "(anonymous namespace)::Reader::read" "Reader::read(std::vector<std::string>*"} {
			live $m "set skip [list {operator new*} $glob]"
			check {[string match "fill() (*" [lindex [headlines $m "size == 3001"] 0]]} {$glob: [headlines $m "size == 3001"]}
		}
		# Without any, and where all is skipped: who called malloc.
		foreach skip {{} *} {
			live $m "set skip [list $skip]"
			check {[string match "xmalloc (orders.cc:*)" [lindex [headlines $m "size == 7001"] 0]]} {$skip: [headlines $m "size == 7001"]}
		}
		check {[string match "*is no list of globs*" [live_error $m "set skip \"\\\{a\""]]} {$::result}
		check {[live_value $m "set skip"] eq "*"} {after an error: [live_value $m "set skip"]}
		live $m "set skip default"
		check {[headlines $m "size == 7001 limit 1"] ne "" && [string match load_row* [lindex [headlines $m "size == 7001"] 0]]} {default}
		# Leaks and old blocks have the line, too.
		foreach command {"malloc leaks all size == 7001" "malloc stale 0s"} {
			check {[regexp {\n    in load_row\(\) \(orders\.cc:\d+\)\n        0x[0-9a-f]+ malloc\n} [live $m $command]]} {[live $m $command]}
		}
	}
}

# Faint on a coloured terminal alone, and nothing else of the text changes.
case names-dimmed 60 {
	set t [start orders]
	mdbg_ok --color never -p [pid_of $t] -c "detach -keep"
	order $t fill
	set plain [mdbg_ok --color never -p [pid_of $t] -c "malloc sites size == 7001" -c "malloc sites size == 1272" -c "detach -keep"]
	set colored [mdbg_ok --color always -p [pid_of $t] -c "malloc sites size == 7001" -c "malloc sites size == 1272"]
	check {[string first \033 $plain] < 0} {colour without being asked: $plain}
	foreach dim {" malloc" " xmalloc+" " operator new(unsigned long)" " std::_Rb_tree<std::string, std::pair<std::string const, Order>" " std::map<std::string, Order>::operator"} {
		check {[regexp -line "^\\033\\\[2m *0x\[0-9a-f\]+[string map {( \\( ) \\) + \\+} $dim].*\\033\\\[0m\$" $colored] ||
			[regexp -line "^ *\\033\\\[2m0x\[0-9a-f\]+[string map {( \\( ) \\) + \\+} $dim].*\\033\\\[0m\$" $colored]} {not dim: $dim: $colored}
	}
	foreach bright {load_row() fill() add_order<} {
		check {[regexp -line "^ *0x\[0-9a-f\]+ [string map {( \\( ) \\)} $bright]" $colored]} {dim: $bright: $colored}
	}
	set ages {oldest [0-9.]+ m?s, median [0-9.]+ m?s; .*}
	check {[regsub -all -line $ages [regsub -all {\033\[\d*m} $colored ""] ""] eq [regsub -all -line $ages $plain ""]} {other text: $colored}
	finish $t
}

# Does the command say on standard error that a name is nobody's?
proc warned {m command} {
	set before [string length [slurp $::live_err($m)]]
	live $m $command
	return [string match "*no recorded stack has a *" [string range [slurp $::live_err($m)] $before end]]
}

# A slip of the finger is said on standard error, whatever list is asked for; scripts get the list alone.
case names-of-nobody 60 {
	with_orders {
		live_all $m "malloc mark a" "growth start mmap"
		foreach list {{malloc allocations} {malloc sites} {malloc sites -brief} {malloc leaks} {malloc stale 0s}
			{malloc stale 0s -brief} {malloc diff a} {malloc diff a -brief} {growth mmap} {growth mmap -brief}} {
			check {[warned $m "$list function == no_such_*"]} {$list: nobody is not said}
			check {![warned $m "$list function == *"]} {$list: somebody is said}
		}
		check {[warned $m "export csv $::tmp/nobody.csv allocations module == nosuch*"]} {export: nobody is not said}
		check {![warned $m "mdbg::sites function == no_such_*"]} {a script is told}
	}
}

# An answer for which the process stood says for how long, also as lines and as a file.
case pause-of-lists 60 {
	with_orders {
		foreach command [list {malloc stale 0s -brief} {malloc leaks -brief -stop} {malloc allocations -brief} \
			"export csv $::tmp/p.csv allocations" "export json $::tmp/p.json leaks -stop"] {
			set text [live $m $command]
			check {[regexp -nocase {process stood still for [\d.]+ m?s\M} $text]} {$command: $text}
		}
		# So does what was not seen: it is no matter of the form.
		foreach command [list {malloc stale 0s -brief} "export csv $::tmp/p.csv leaks" "export csv $::tmp/p.csv stale 0s"] {
			check {[regexp {bytes of blocks were searched} [live $m $command]]} {$command}
		}
	}
}

# The target with the names of these functions alone.
proc start_stripped {args} {
	set keep [lmap name $args {string cat --keep-symbol= $name}]
	exec [need strip] {*}$keep -o $::tmp/stripped $::build/targets/wrapped
	return [start_command $::tmp/stripped]
}

# The functions without a name are three, each with its caller; a wrapper's part without a name is none.
case names-stripped 60 {
	set t [start_stripped open_table palloc parse_query]
	set m [live_start -p [pid_of $t]]
	orders $t "rows 50" "nodes 70"
	set sites [live_value $m "mdbg::sites by function"]
	check {[lmap site $sites {dict get $site bytes}] eq {45000 15000 5000 3920}} {$sites}
	set places {}
	foreach site $sites {
		dict with site {}
		check {[regexp {^function \[stripped\+0x[0-9a-f]+\]$} $label] && $label eq "function $function"} {$label, $function}
		check {$caller eq ($bytes == 3920 ? "parse_query" : "open_table")} {$function: called by $caller}
		set places_in [lmap frame [live_value $m "mdbg::frames $stack"] {dict get $frame place}]
		check {$function in $places_in} {$places_in}
		lappend places $function
	}
	check {[llength [lsort -unique $places]] == 4} {$places}
	set large [lindex $places 0]
	set text [live $m "malloc sites by function limit 1"]
	check {[string first "    most of it from\n    called by open_table \[stripped\]\n" $text] > 0} {$text}
	set text [live $m "malloc sites limit 1"]
	check {[string first "    in $large, called by open_table \[stripped\]\n" $text] > 0} {$text}
	set text [live $m "malloc sites by function limit 1 -brief"]
	check {[string first "$large, most of it called by open_table" $text] > 0} {$text}
	check {[llength [live_value $m "mdbg::sites function == {$large}"]] == 1} {$::result}
	live $m "export csv $::tmp/named.csv"
	check {[string first "$large" [slurp $::tmp/named.csv]] > 0} {[slurp $::tmp/named.csv]}
	live $m "export folded $::tmp/named.folded"
	check {[regexp -line "open_table;[string map {[ \\[ ] \\] + \\+} $large];malloc 45000\$" [slurp $::tmp/named.folded]]} {[slurp $::tmp/named.folded]}
	live $m "set skip default {$large}"
	check {[lindex [live_value $m "mdbg::sites by function"] 0] ne [lindex $sites 0]} {passed over: $::result}
	check {[dict get [lindex [live_value $m "mdbg::sites by function limit 1"] 0] function] eq "open_table"} {$::result}
	finish $t $m
}

# In pprof's list what a function holds itself is the program's, not the allocator's or a wrapper's.
case names-pprof-flat 60 {
	need go
	start_watched {t m} wrapped
	orders $t "rows 20" "nodes 2000"
	live_all $m "set skip default context_alloc" "export pprof $::tmp/flat.pb.gz"
	set text [exec env HOME=$::tmp PPROF_TMPDIR=$::tmp go tool pprof -top -unit=B $::tmp/flat.pb.gz 2>@1]
	foreach {bytes function} {112000 make_node 18000 row_large 6000 row_middle 2000 row_small} {
		check {[regexp -line "^ *${bytes}B +\[\\d.\]+% +\[\\d.\]+% +\\d+B +\[\\d.\]+% +$function\$" $text]} {$function: $text}
	}
	check {![regexp -line { (malloc|palloc|context_alloc)$} $text]} {$text}
	# So is what callgrind_annotate lists.
	live $m "export callgrind $::tmp/flat.callgrind"
	check {[regexp -line {^c?fn=\(\d+\) make_node$} [slurp $::tmp/flat.callgrind]]} {[slurp $::tmp/flat.callgrind]}
	check {![regexp -line {^c?fn=\(\d+\) (palloc|context_alloc)$} [slurp $::tmp/flat.callgrind]]} {[slurp $::tmp/flat.callgrind]}
	finish $t $m
}

# Code of no file has names if a map has them; if not, it is said what such code is.
case names-of-a-jit 60 {
	foreach named {1 0} {
		set t [start jitnames]
		set pid [pid_of $t]
		if {!$named} {
			file delete /tmp/perf-$pid.map
		}
		set m [live_start -p $pid]
		order $t make
		set text [live $m "malloc allocations"]
		check {$named == ([string first "<script>window.hacked=1</script>" $text] > 0)} {named $named: $text}
		check {[regexp -all -line {^\?\? is code of no file, which a JIT compiler has made} $text] == !$named} {named $named: $text}
		check {![regexp -line {^\?\? is} [live $m "malloc sites by function -brief"]]} {$::result}
		finish $t $m
	}
}

# What V8 has compiled has its names from V8's own heap, with no option of node's.
case names-of-node 60 {
	set script [spit $::tmp/buffers.js {
		const kept = [];
		function makeBuffer(size) {
			kept.push(Buffer.allocUnsafeSlow(size));
			if (kept.length > 500)
				kept.shift();
		}
		function serveRequest(i) {
			for (let k = 0; k < 3; k++)
				makeBuffer(20000 + i % 100);
		}
		function serveAll(n) {
			for (let i = 0; i < n; i++)
				serveRequest(i);
		}
		serveAll(20000);
		console.log('ready ' + process.pid);
		require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
			if (line === 'quit')
				process.exit(0);
			serveAll(Number(line) || 1);
			console.log('ok ' + kept.length);
		});
	}]
	set t [start_command [need node] $script]
	set pid [pid_of $t]
	if {[catch {exec [need nm] -D /proc/$pid/exe | grep -c v8dbg_class_InstructionStream__}]} {
		skip "this node's V8 is another than 11.3"
	}
	set m [live_start --stack-depth 64 -p $pid]
	order $t 500
	set all 0
	set named 0
	foreach site [live_value $m {mdbg::sites function == *AllocateUninitialized*}] {
		incr all [dict get $site total]
		foreach frame [live_value $m "mdbg::frames [dict get $site stack]"] {
			if {[dict get $frame function] in {serveRequest serveAll makeBuffer} &&
			    [dict get $frame module] eq "buffers.js"} {
				incr named [dict get $site total]
				break
			}
		}
	}
	check {$all > 100 && $named >= 0.99 * $all} {$named of $all blocks}
	check {[regexp -line {^ +0x[0-9a-f]+ serve(Request|All)\+0x[0-9a-f]+ \[buffers.js\]$} [live $m "malloc sites limit 1"]]} {$::result}
	live_end $m
	order $t 1
	quit $t
}

# A wrapper that nobody knows is passed over, and that is said once; what everybody calls but has a size of its own is not.
case names-found-wrapper 60 {
	foreach how {named stripped} {
		set t [expr {$how eq "named" ? [start wrapped] : [start_stripped load_index load_pages make_user make_group]}]
		set m [live_start -p [pid_of $t]]
		order $t "fixed 400"
		check {[dict get [lindex [live_value $m "mdbg::sites by function"] 0] count] == 800} {$::result}
		order $t "own 1000"
		set text [live $m "malloc sites by function limit 2"]
		check {[regexp -all -line {^(\S+) allocates (\d+) % of the blocks, and passes an argument of its own on} $text -> wrapper share] == 1} {$how: $text}
		check {$wrapper eq "memory_get" || ($how eq "stripped" && [string match {\[stripped+0x*\]} $wrapper])} {$how: $wrapper}
		check {$share >= 90} {$how: $share}
		foreach function {load_pages load_index} rank {1 2} {
			check {[regexp -line "^#$rank .*: function $function\$" $text]} {$how: no $function in $text}
		}
		set text [live $m "malloc sites by function limit 2"]
		check {![regexp {allocates \d+ % of the blocks} $text]} {$how: twice: $text}
		live $m "export csv $::tmp/found.csv"
		check {[regexp -all -line {load_pages} [slurp $::tmp/found.csv]] > 0} {[slurp $::tmp/found.csv]}
		live $m "set skip default"
		check {[dict get [lindex [live_value $m "mdbg::sites by function"] 0] function] eq $wrapper} {$how: undone: $::result}
		live $m "set skip default found"
		check {[dict get [lindex [live_value $m "mdbg::sites by function"] 0] function] eq "load_pages"} {$how: again: $::result}
		finish $t $m
	}
}
