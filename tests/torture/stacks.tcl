# SPDX-License-Identifier: GPL-3.0-or-later
# Stacks of many worlds against what the program knows and what gdb shows (cases/stacks.tcl): a thousand of each kind and
# engine in the torture, 2 TRIALS otherwise.

proc nr_stacks {} {
	return [expr {$::env(TRIALS) >= 100 ? 1000 : 2 * $::env(TRIALS)}]
}

# What a stack's last word leads to is one function or another as a compiler has placed them: so it is always the same one.
by_both repeated stacks-of-c 60 {
	set program [build_target gcc stacks.c -g]
	stacks_are_right c [list $program] [nr_stacks] [dict keys $::stacks_kinds]
}

# Its threads are all made after the attach.
by_both repeated stacks-of-musl 60 {
	set program [build_target musl-gcc stacks.c -g]
	stacks_are_right musl [list $program] [nr_stacks] {plain fiber cothread grow signal storm thread}
}

# Frames that do not fit into the first piece of a stack.
by_both repeated stacks-split 60 {
	set program [build_target gcc stacks.c -g -fsplit-stack -fuse-ld=gold -DTAGGED_ROOM=9000]
	stacks_are_right split [list $program] [nr_stacks] {plain thread} {^__morestack$}
}

# A program with one kind of stacks, in a world of its own: behind the tagged functions come those of the pattern, and
# between them those of $passed. gdb: is gdb asked? factor: so many times as many as of other worlds.
proc world_is_right {name command pattern reasons {passed {}} {gdb 1} {factor 1}} {
	set n [expr {$factor * [nr_stacks]}]
	set shown [expr {$gdb ? [gdb_tagged $command [list "run $n"]] : ""}]
	set t [start_command {*}$command]
	set m [live_start --stack-depth 128 -p [pid_of $t]]
	order $t "run $n" 120
	check_tagged $name [compare_tagged [mdbg_tagged $m [pid_of $t]] $shown $pattern $passed] $n $reasons
	live_end $m
	quit $t
}

# Build a text of this file; returns the program.
proc build_text {name text args} {
	spit $::tmp/$name $text
	skip_if {[catch {exec {*}$args 2>@1} message]} {$name cannot be built: [string range $message 0 200]}
	return $::tmp/[file rootname $name]
}

proc targets {} {
	return [file normalize $::here/../targets]
}

set boost {
	#include <boost/context/fiber.hpp>
	#include "tagged.h"

	using boost::context::fiber;
	static unsigned next_n;
	static fiber fibers[4];

	static NOINLINE void fiber_body(void)
	{
		unsigned path = tagged_path(next_n);

		tagged_step(path, tagged_size(1, path));
		KEEP(path);
	}

	static void run(unsigned n)
	{
		fiber &mine = fibers[n % 4];

		next_n = n;
		if (!mine)
			mine = fiber([](fiber &&caller) {
				for (;;) {
					fiber_body();
					caller = std::move(caller).resume();
				}
				return std::move(caller);
			});
		mine = std::move(mine).resume();
	}

	int main(void)
	{
		int status = tagged_serve(run);

		_exit(status);
	}
}

by_both repeated stacks-boost 60 {
	set program [build_text fibers.cc $::boost [need g++] -O2 -g -I[targets] -o $::tmp/fibers $::tmp/fibers.cc -lboost_context]
	world_is_right boost [list $program] {fiber_body .*} {{code without unwind information} {stack memory that cannot be read}}
}

set ocaml_leaf {
	#define CAML_NAME_SPACE
	#include <caml/mlvalues.h>
	#include "tagged.h"

	value tagged_stub(value size)
	{
		tagged_leaf((size_t)Long_val(size));
		KEEP(size);
		return Val_unit;
	}

	value tagged_path_of(value n)
	{
		return Val_long(tagged_path((unsigned)Long_val(n)));
	}
}

set ocaml {
	external leaf : int -> unit = "tagged_stub"
	external path_of : int -> int = "tagged_path_of"

	let rec tagged_left path size =
		step path size;
		ignore (Sys.opaque_identity (ref path))

	and tagged_right path size =
		step path size;
		ignore (Sys.opaque_identity (string_of_int path))

	and step path size =
		if path = 1 then leaf size
		else if path land 1 = 1 then (tagged_right [@inlined never]) (path lsr 1) size
		else (tagged_left [@inlined never]) (path lsr 1) size

	let [@inline never] run n =
		let path = path_of n in
		step path (0xa000 + 2 * path + 1);
		ignore (Sys.opaque_identity path)

	let () =
		print_endline "ready";
		let rec serve () =
			match String.split_on_char ' ' (read_line ()) with
			| [_; number] ->
				for n = 0 to int_of_string number - 1 do run n done;
				print_endline "ok";
				serve ()
			| _ -> ()
		in
		serve ()
}

by_both repeated stacks-ocaml 60 {
	set ocamlopt [need ocamlopt]
	spit $::tmp/leaf.c $::ocaml_leaf
	set program [build_text world.ml $::ocaml sh -c "cd $::tmp && $ocamlopt -g -ccopt '-O2 -g -I[targets]' leaf.c world.ml -o world"]
	set behind {camlWorld__run_\d+ camlWorld__serve_\d+ camlWorld__entry caml_program .* _start}
	world_is_right ocaml [list $program] $behind {} {^tagged_stub$|^caml_c_call$|^camlWorld__step_\d+$}
}

set goroutines {
	package main

	// #include "tagged.h"
	// static size_t size_of(unsigned n) { return tagged_size(1, tagged_path(n)); }
	import "C"

	import (
		"os"
		"strconv"
		"strings"
	)

	//go:noinline
	func tagged_left(path uint32, size C.size_t) uint32 {
		var room [100]uint32
		room[path%100] = path
		step(path, size)
		return room[size%100]
	}

	//go:noinline
	func tagged_right(path uint32, size C.size_t) uint32 {
		step(path, size)
		return path
	}

	func step(path uint32, size C.size_t) {
		if path == 1 {
			C.tagged_leaf(size)
		} else if path&1 != 0 {
			tagged_right(path>>1, size)
		} else {
			tagged_left(path>>1, size)
		}
	}

	func worker(n int, done chan bool) {
		size := C.size_of(C.uint(n))
		step(uint32(size)>>1&0xfff, size)
		done <- true
	}

	func main() {
		line := make([]byte, 100)
		os.Stdout.WriteString("ready\n")
		for n, _ := os.Stdin.Read(line); n > 0 && line[0] != 'q'; n, _ = os.Stdin.Read(line) {
			nr, _ := strconv.Atoi(strings.Fields(string(line[:n]))[1])
			done := make(chan bool)
			for i := 0; i < nr; i++ {
				go worker(i, done)
			}
			for i := 0; i < nr; i++ {
				<-done
			}
			os.Stdout.WriteString("ok\n")
		}
	}
}

# Six thousand goroutines in the torture. (gdb follows CFI, which is wrong behind the switch of stacks.)
by_both repeated stacks-goroutines 90 {
	spit $::tmp/main.go $::goroutines
	set go [list env GOCACHE=$::tmp/cache GOPATH=$::tmp/go GO111MODULE=off GOFLAGS= "CGO_CFLAGS=-O2 -g -I[targets]" [need go] build]
	check {![catch {exec {*}$go -o $::tmp/main $::tmp/main.go 2>@1} message]} {go build: [string range $message 0 200]}
	set behind {main\.worker (?:main\.main\S* )?runtime\.goexit\S*}
	world_is_right goroutines [list $::tmp/main] $behind {} {^_cgo_|^runtime\.\w*cgocall|^main\._Cfunc_|^main\.step$} 0 6
}

set rust {
	use std::arch::global_asm;
	use std::ffi::c_void;
	use std::io::BufRead;

	global_asm!(".globl on_stack", ".type on_stack, @function", "on_stack:", ".cfi_startproc",
		"push rbp", ".cfi_def_cfa rsp, 16", ".cfi_offset rbp, -16",
		"mov rbp, rsp", ".cfi_def_cfa_register rbp",
		"mov rsp, rcx", "call rdx", "mov rsp, rbp", "pop rbp",
		".cfi_def_cfa rsp, 8", "ret", ".cfi_endproc", ".size on_stack, . - on_stack");

	extern "C" {
		fn on_stack(data: *mut c_void, unused: *mut c_void, callback: extern "C" fn(*mut c_void), sp: *mut u8);
		fn malloc(size: usize) -> *mut c_void;
		fn mmap(at: *mut u8, len: usize, prot: i32, flags: i32, fd: i32, offset: i64) -> *mut u8;
		fn munmap(at: *mut u8, len: usize) -> i32;
	}

	const STACK: usize = 65536;

	extern "C" fn tagged_grown(data: *mut c_void) {
		let call = unsafe { *(data as *const (u32, usize)) };
		step(call.0, call.1);
		std::hint::black_box(call);
	}

	#[inline(never)]
	fn tagged_grow(path: u32, size: usize) {
		let mut call = (path, size);
		unsafe {
			let stack = mmap(std::ptr::null_mut(), STACK, 3, 0x22, -1, 0);
			on_stack(&mut call as *mut _ as *mut c_void, std::ptr::null_mut(), tagged_grown, stack.add(STACK));
			munmap(stack, STACK);
		}
	}

	#[inline(never)]
	fn tagged_leaf(size: usize) {
		std::hint::black_box(unsafe { malloc(size) });
	}

	#[inline(never)]
	fn tagged_left(path: u32, size: usize) {
		let mut room = [path; 150];
		std::hint::black_box(&mut room);
		// Every other function has too little of its stack left.
		if path & 2 != 0 { tagged_grow(path, size) } else { step(path, size) }
		std::hint::black_box(&mut room);
	}

	#[inline(never)]
	fn tagged_right(path: u32, size: usize) {
		step(path, size);
		std::hint::black_box(path);
	}

	#[inline(always)]
	fn step(path: u32, size: usize) {
		if path == 1 { tagged_leaf(size) }
		else if path & 1 != 0 { tagged_right(path >> 1, size) }
		else { tagged_left(path >> 1, size) }
	}

	fn path_of(n: u32) -> u32 {
		let mut x = (n + 1).wrapping_mul(2654435761);
		let bits = 2 + (x >> 8) % 10;
		x ^= x >> 15;
		1 << bits | ((x.wrapping_mul(2246822519) >> 12) & ((1 << bits) - 1))
	}

	#[inline(never)]
	fn run(n: u32) {
		let path = path_of(n);
		step(path, 0xa000 + 2 * path as usize + 1);
		std::hint::black_box(path);
	}

	fn main() {
		println!("ready");
		for line in std::io::stdin().lock().lines() {
			let line = line.unwrap();
			match line.split(' ').nth(1) {
				Some(nr) => for n in 0..nr.parse().unwrap() { run(n) },
				None => break,
			}
			println!("ok");
		}
	}
}

# Nested changes of stacks, up and down. (gdb ends where one leads to a lower stack.)
by_both repeated stacks-rust 60 {
	set program [build_text world.rs $::rust [need rustc] -O -g -o $::tmp/world $::tmp/world.rs]
	world_is_right rust [list $program] {world::run world::main .*_start} {} {^on_stack$|tagged_grow}
}

set nif {
	#include <erl_nif.h>
	#include "tagged.h"

	static NOINLINE ERL_NIF_TERM nif_run(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
	{
		unsigned n = 0, path;

		KEEP(argc);
		enif_get_uint(env, argv[0], &n);
		path = tagged_path(n);
		tagged_step(path, tagged_size(1, path));
		return enif_make_uint(env, path);
	}

	static ErlNifFunc functions[] = { { "run", 1, nif_run, 0 } };

	ERL_NIF_INIT(world, functions, NULL, NULL, NULL, NULL)
}

set erlang {
	-module(world).
	-export([main/0, run/1]).

	run(_) -> erlang:nif_error(not_loaded).

	main() ->
		ok = erlang:load_nif("./world", 0),
		io:format("ready~n"),
		serve().

	serve() ->
		case string:lexemes(io:get_line(""), " \n") of
			[_, Number] ->
				lists:foreach(fun run/1, lists:seq(0, list_to_integer(Number) - 1)),
				io:format("ok~n"),
				serve();
			_ -> halt(0)
		end.
}

# What the emulator has compiled calls the function: code in no module, without frame pointers.
by_both repeated stacks-erlang 60 {
	need erlc
	set include [lindex [glob -nocomplain /usr/lib/erlang/usr/include /usr/lib/erlang/erts-*/include] 0]
	spit $::tmp/world.erl $::erlang
	build_text world.c $::nif sh -c "cd $::tmp && erlc world.erl && gcc -O2 -g -shared -fPIC -I$include -I[targets] world.c -o world.so"
	cd $::tmp
	world_is_right erlang [list [need erl] -noshell -s world main] {nif_run beam_jit_call_nif \?\?} {{code in no module}} {} 0
}

# `where` at any moment: as gdb, or longer, or it says why it is shorter (clone3 has no unwind information behind its
# system call). A fifth of the stops of the torture's other figures: each takes a fifth of a second.
repeated stacks-where 240 {
	set out [open $::build/test-logs/stacks.txt a]
	foreach kind [dict keys $::stacks_kinds] {
		set t [start stacks]
		tell $t "$kind 100000000"
		set figures [where_as_gdb $t [expr {$::env(TRIALS) >= 100 ? 200 : 1}]]
		puts $out "where-$kind: $figures"
		flush $out
		exec kill -KILL [pid_of $t]
		catch {ending $t}
		dict for {how nr} $figures {
			check {![string match "differs*" $how] && ![string match "shorter, complete" $how]} {$kind: $figures: [slurp $::tmp/where.out]}
		}
	}
	close $out
}
