# SPDX-License-Identifier: GPL-3.0-or-later
# mdbg is built hardened: what its own file says, as the loader and the kernel read it.

proc elf {option} {
	return [exec [need readelf] -W {*}$option $::build/mdbg]
}

proc make_variable {name} {
	regexp -line "^$name = ?(.*)$" [slurp $::build/config.mak] -> value
	return $value
}

# What the start files of the C library are marked with; the linker marks the whole with no more than that.
proc crt_has_ibt {} {
	set crt [exec {*}[make_variable CC] -print-file-name=Scrt1.o]
	return [expr {![catch {exec readelf -nW $crt 2>/dev/null} notes] && [regexp IBT $notes]}]
}

proc first_instruction {function} {
	set objdump [need objdump]
	regexp {>:\n +[0-9a-f]+:\t[0-9a-f ]+\t(\S+)} [exec $objdump -d --disassemble=$function $::build/mdbg] -> insn
	return $insn
}

case hardened-binary 20 {
	check {[regexp {Type: +DYN} [elf -h]]} {mdbg is not position-independent}
	set dynamic [elf -d]
	check {[regexp {\(FLAGS\).*BIND_NOW} $dynamic] || [regexp {FLAGS_1\).*NOW} $dynamic]} {mdbg is bound lazily}
	check {[regexp GNU_RELRO [elf -l]]} {no GNU_RELRO}
	check {![regexp {GNU_STACK.* RWE} [elf -l]]} {its stack is executable}
	set symbols [elf {--dyn-syms}]
	check {[regexp {__stack_chk_fail} $symbols]} {no stack protector}
	check {[first_instruction main] eq "endbr64"} {main begins with [first_instruction main]}
	if {[crt_has_ibt]} {
		check {[regexp {IBT.*SHSTK} [elf -n]]} {not marked for IBT and SHSTK}
	}
	# Each takes the sizes of its buffers from the compiler, which must optimise; the sanitizers check more than that.
	if {[make_variable SANITIZE] eq "" && [regexp {(^| )-O[1-3s]} [make_variable CFLAGS]]} {
		foreach function {__memcpy_chk __snprintf_chk __vsnprintf_chk} {
			check {[regexp "${function}@" $symbols]} {$function is not used}
		}
	}
}
