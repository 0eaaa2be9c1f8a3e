# SPDX-License-Identifier: GPL-3.0-or-later
# Programs whose runtime has a heap without malloc: mdbg says so, and what helps there (src/probe/runtimes/runtimes.h).

# Build a Go program; options are those of `go build`.
proc build_go {text args} {
	set source [spit $::tmp/main.go $text]
	set go [list env GOCACHE=$::tmp/cache GOPATH=$::tmp/go GO111MODULE=off GOFLAGS= [need go] build]
	if {[catch {exec {*}$go {*}$args -o $::tmp/main $source 2>@1} message]} {
		fail "go build $args: [string range $message 0 200]"
	}
	return $::tmp/main
}

# (With few packages, each of which is compiled anew.)
set pure_go {
	package main

	import "os"

	var kept [][]byte

	func main() {
		line := make([]byte, 100)
		os.Stdout.WriteString("ready\n")
		for n, _ := os.Stdin.Read(line); n > 0 && line[0] != 'q'; n, _ = os.Stdin.Read(line) {
			kept = append(kept, make([]byte, 100000))
			os.Stdout.WriteString("ok\n")
		}
	}
}

set cgo {
	package main

	// #include <stdlib.h>
	// static void *get(int size) { return malloc(size); }
	import "C"

	import (
		"os"
		"unsafe"
	)

	var kept []unsafe.Pointer

	func main() {
		line := make([]byte, 100)
		os.Stdout.WriteString("ready\n")
		for n, _ := os.Stdin.Read(line); n > 0 && line[0] != 'q'; n, _ = os.Stdin.Read(line) {
			kept = append(kept, C.get(777))
			os.Stdout.WriteString("ok\n")
		}
	}
}

# What the command and its twin say of runtimes, by the pattern of one line, and name.
proc check_runtime {m name pattern} {
	set lines [lsearch -all -inline -glob [split [live $m malloc] "\n"] "Not in these figures: *"]
	check {[llength $lines] == 1 && [string match "*$pattern*" [lindex $lines 0]]} {malloc says: $lines}
	set runtimes [live_value $m {dict get [mdbg::malloc] runtimes}]
	check {[lmap runtime $runtimes {dict get $runtime name}] eq [list $name]} {mdbg::malloc says: $runtimes}
	set text "[dict get [lindex $runtimes 0] heap]; [dict get [lindex $runtimes 0] help]"
	check {[lindex $lines 0] eq "Not in these figures: $text"} {$lines, and $runtimes}
}

# By its note, or where it has none by its sections; without symbols or with them.
case runtime-go 90 {
	foreach options {{} {-ldflags=-s} {{-ldflags=-s -buildid=}}} {
		set t [start_command [build_go $::pure_go {*}$options]]
		set before [state [pid_of $t] -t]
		mdbg -q -p [pid_of $t] -c malloc
		check_refused 3 "no allocator found*runs Go*Go's heap" "go tool pprof"
		check_state $before [pid_of $t] -t
		order $t more
		quit $t
	}
}

# The C side of it is watched.
by_both case runtime-go-with-c 90 {
	set t [start_command [build_go $::cgo]]
	set m [live_start -p [pid_of $t]]
	for {set i 1} {$i <= 20} {incr i} {
		order $t more
	}
	check_blocks $m 777 20
	check_runtime $m Go "Go's heap*go tool pprof"
	live_end $m
	order $t more
	quit $t
}

# One call of C code by many goroutines is one site, and behind the switch of stacks come the goroutine's frames.
by_both case runtime-goroutines-call-c 90 {
	set program [string map {
		"kept = append(kept, C.get(777))" {
			done := make(chan bool)
			for i := 0; i < 50; i++ {
				go func() { leaf(); done <- true }()
			}
			for i := 0; i < 50; i++ {
				<-done
			}
		}
		"var kept []unsafe.Pointer" {
			var kept [1000000]unsafe.Pointer
			var nr int32

			//go:noinline
			func leaf() { kept[atomic.AddInt32(&nr, 1)] = C.get(778) }
		}
		"\"unsafe\"" "\"sync/atomic\"\n\"unsafe\""
	} $::cgo]
	set t [start_command [build_go $program]]
	set m [live_start -p [pid_of $t]]
	orders $t more more
	set sites {}
	foreach site [live_value $m mdbg::sites] {
		if {[dict get $site bytes] % 778 == 0} {
			lappend sites [lmap frame [live_value $m "mdbg::frames [dict get $site stack]"] {dict get $frame function}]
		}
	}
	check {[llength $sites] == 1} {[llength $sites] sites: $sites}
	set functions [lindex $sites 0]
	set at [lsearch -glob $functions runtime.asmcgocall*]
	check {$at > 0 && [string match main._Cfunc_get* [lindex $functions $at+1]] && "main.leaf" in $functions} {$functions}
	live_end $m
	order $t more
	quit $t
}

case runtime-node 30 {
	set script [spit $::tmp/wait.js {
		console.log('ready ' + process.pid);
		require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
			if (line === 'quit')
				process.exit(0);
			console.log('ok');
		});
	}]
	set t [start_command [need node] $script]
	set m [live_start -p [pid_of $t]]
	check_runtime $m "JavaScript (V8)" "heap snapshot"
	live_end $m
	order $t more
	quit $t
}

case runtime-python 30 {
	set python [system_python]
	set script [spit $::tmp/wait.py {
import sys
print("ready", flush=True)
for line in sys.stdin:
    if line.strip() == "quit":
        break
    print("ok", flush=True)
}]
	set t [start_command $python $script]
	set m [live_start -p [pid_of $t]]
	check_runtime $m Python "PYTHONMALLOC=malloc"
	live_end $m
	order $t more
	quit $t
}

case runtime-erlang 40 {
	set program [spit $::tmp/wait.escript {#!/usr/bin/env escript
main(_) -> io:format("ready~n"), wait(io:get_line("")).
wait("quit\n") -> ok;
wait(eof) -> ok;
wait(_) -> io:format("ok~n"), wait(io:get_line("")).
}]
	set t [start_command [need escript] $program]
	set m [live_start -p [pid_of $t]]
	check_runtime $m Erlang "instrument:allocations()"
	live_end $m
	order $t more
	quit $t
}

# (A library stands for PHP: the runtime is known by a function that it defines.)
case runtime-php-by-name 20 {
	set source [spit $::tmp/php.c {
		#include <stdio.h>
		#include <stdlib.h>

		void *_emalloc(size_t size) { return malloc(size); }

		int main(void)
		{
			char line[80];

			puts("ready");
			fflush(stdout);
			while (fgets(line, sizeof(line), stdin) && *line != 'q') {
				free(_emalloc(10));
				puts("ok");
				fflush(stdout);
			}
			return 0;
		}
	}]
	exec [need cc] -o $::tmp/php $source
	set t [start_command $::tmp/php]
	set m [live_start -p [pid_of $t]]
	check_runtime $m PHP "USE_ZEND_ALLOC=0*memory_get_usage()"
	live_end $m
	order $t more
	quit $t
}

case runtime-php 40 {
	set script [spit $::tmp/wait.php {<?php
		$kept = [];
		echo "ready\n";
		while (($line = fgets(STDIN)) !== false && trim($line) != "quit") {
			for ($i = 0; $i < 1000; $i++)
				$kept[] = str_repeat("row $i", 100);
			echo "ok\n";
		}
	}]
	set t [start_command [need php] $script]
	set m [live_start -p [pid_of $t]]
	check_runtime $m PHP "USE_ZEND_ALLOC=0*memory_get_usage()"
	live_end $m
	order $t more
	tell $t quit
	check {[ending $t] eq {exit 0}} {it ended otherwise}
}

# What its strings hold is malloc's, and is named after what made them: not after the function by which all blocks come.
case runtime-ruby 40 {
	set script [spit $::tmp/wait.rb {
		kept = []
		puts "ready"
		$stdout.flush
		while (line = $stdin.gets) && line.strip != "quit"
			1000.times { |i| kept << "row #{i} " * 100 }
			puts "ok"
			$stdout.flush
		end
	}]
	set t [start_command [need ruby] $script]
	set m [live_start -p [pid_of $t]]
	order $t more
	check_runtime $m Ruby "ObjectSpace.dump_all"
	set first [lindex [live_value $m mdbg::sites] 0]
	check {[dict get $first count] == 1000 && [string match *rb_str_times* [live $m "malloc sites limit 1"]]} {$first}
	check {![regexp {in (objspace|ruby)_x?malloc} [live $m "malloc sites limit 1"]]} {$::result}
	live_end $m
	order $t more
	tell $t quit
	check {[ending $t] eq {exit 0}} {it ended otherwise}
}

case runtime-java 40 {
	need javac
	set java [need java]
	spit $::tmp/Wait.java {
		import java.io.*;

		public class Wait {
			static java.util.ArrayList<Object> kept = new java.util.ArrayList<>();

			public static void main(String[] args) throws Exception {
				BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
				System.out.println("ready");
				for (String line; (line = lines.readLine()) != null && !line.equals("quit");) {
					if (line.equals("inflate"))
						kept.add(new java.util.zip.Inflater());
					System.out.println("ok");
				}
			}
		}
	}
	exec javac -d $::tmp $::tmp/Wait.java
	set t [start_command $java -XX:-UsePerfData -cp $::tmp Wait]
	set m [live_start -p [pid_of $t]]
	check_runtime $m Java "jcmd PID GC.class_histogram"
	order $t inflate
	# What has called the JVM's library is Java's, and only Java has its name.
	set text [live $m "malloc sites limit 3"]
	check {[regexp -all -line {^\?\? is code that Java has compiled: `jcmd PID Compiler\.perfmap` } $text] == 1} {$text}
	check {![regexp -line {^\?\? is} [live $m "malloc"]]} {$::result}
	live_end $m
	order $t more
	quit $t
}

# A program without any: nothing is said.
case runtime-none 20 {
	start_watched {t m} million
	check {[live_value $m {dict get [mdbg::malloc] runtimes}] eq ""} {it has a runtime}
	check {![string match "*Not in these figures*" [live $m malloc]]} {[live $m malloc]}
	finish $t $m
}

# An allocator that is built in beside the C library's malloc, as Rust programs have jemalloc.
by_both case runtime-built-in-allocator 30 {
	set source [spit $::tmp/built.c {
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>

		#define NOINLINE __attribute__((noinline, noclone))

		static char room[1 << 20];
		static size_t used;

		NOINLINE void *_rjem_malloc(size_t size)
		{
			void *p = room + used;

			used += (size + 15) & ~15ul;
			return used < sizeof(room) ? p : NULL;
		}

		NOINLINE void _rjem_sdallocx(void *p, size_t size, int flags)
		{
			memset(p, flags, size);
		}

		int main(void)
		{
			void *volatile kept = NULL;
			char line[80];

			free(malloc(10));
			puts("ready");
			fflush(stdout);
			while (fgets(line, sizeof(line), stdin) && *line != 'q') {
				void *p = _rjem_malloc(333);

				kept = _rjem_malloc(444);
				_rjem_sdallocx(p, 333, 0);
				puts("ok");
				fflush(stdout);
			}
			return !kept;
		}
	}]
	exec [need cc] -O2 -g -o $::tmp/built $source
	set t [start_command $::tmp/built]
	attach_to {before m} $t
	for {set i 1} {$i <= 20} {incr i} {
		order $t more
	}
	check_blocks $m 333 0
	foreach block [check_blocks $m 444 20] {
		check {[lindex [dict get $block stack] 0 1] eq "_rjem_malloc"} {$block}
	}
	set text [live $m malloc]
	check {[string match "*glibc*, jemalloc (in built)*" $text]} {its allocators: $text}
	check {[string match "*cannot walk the heaps of jemalloc (in built)\n*" [live $m {malloc allocations}]]} \
		{[live $m {malloc allocations}]}
	live_end $m
	check_state $before [pid_of $t]
	order $t more
	quit $t
}
