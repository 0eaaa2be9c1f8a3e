# SPDX-License-Identifier: GPL-3.0-or-later
# C++ names, short and in full.

# The target has allocated; mdbg is on it.
proc with_orders {body} {
	uplevel 1 {
		set t [start orders]
		set before [state [pid_of $t]]
		set m [live_start -p [pid_of $t]]
		order $t fill
	}
	uplevel 1 $body
	uplevel 1 {
		live_end $m
		check_state $before [pid_of $t]
		finish $t
	}
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
			set found 0
			foreach frame [live_value $m "mdbg::frames [dict get $site stack]"] {
				if {[dict get $frame function] eq $own} {
					check {[dict get $frame full] eq $::add_order_full} {full: [dict get $frame full]}
					incr found
				}
			}
			check {$found == 1} {$names: $found frames}
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
