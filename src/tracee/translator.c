/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Valgrind and its kin (translator.h). */

#include "tracee/translator.h"

#include <fnmatch.h>

#include "base/path.h"
#include "os/procfs.h"

enum translator_kind { VALGRIND, QEMU, RR, DYNAMORIO, PIN };

static const struct translator translators[] = {
	[VALGRIND] = {
		"it runs under valgrind, which executes a translation of its code: probes would see nothing",
		"memcheck (--leak-check=full), massif and dhat tell there; or start the program without valgrind",
	},
	[QEMU] = {
		"it runs under qemu-user, which executes a translation of its code: probes would see nothing",
		"run mdbg where the program runs without an emulator, on a machine or in a VM of its processor",
	},
	[RR] = {
		"it runs under rr, whose recording would not be true any more",
		"debug the recording with `rr replay`; or start the program without rr",
	},
	[DYNAMORIO] = {
		"it runs under DynamoRIO, which executes a translation of its code: probes would see nothing",
		"Dr. Memory tells there; or start the program without DynamoRIO",
	},
	[PIN] = {
		"it runs under Pin, which executes a translation of its code: probes would see nothing",
		"use a tool of Pin's own there; or start the program without Pin",
	},
};

/*
 * Names of files that are mapped as code. valgrind's tools are the program itself, and are named
 * one by one: many a program is called NAME-amd64-linux. The same with qemu: qemu-system-x86_64
 * is a program like any other.
 */
static const struct {
	const char *name;
	enum translator_kind kind;
} known[] = {
	{ "vgpreload_*.so", VALGRIND },
	{ "memcheck-*-linux", VALGRIND },
	{ "none-*-linux", VALGRIND },
	{ "massif-*-linux", VALGRIND },
	{ "dhat-*-linux", VALGRIND },
	{ "cachegrind-*-linux", VALGRIND },
	{ "callgrind-*-linux", VALGRIND },
	{ "helgrind-*-linux", VALGRIND },
	{ "drd-*-linux", VALGRIND },
	{ "lackey-*-linux", VALGRIND },
	{ "exp-bbv-*-linux", VALGRIND },
	{ "qemu-x86_64", QEMU },
	{ "qemu-x86_64-static", QEMU },
	{ "qemu-i386", QEMU },
	{ "qemu-i386-static", QEMU },
	{ "qemu-a[ar]*", QEMU },	/* aarch64, arm */
	{ "qemu-alpha*", QEMU },
	{ "qemu-cris*", QEMU },
	{ "qemu-h[ep][xp]*", QEMU },	/* hexagon, hppa */
	{ "qemu-loongarch64*", QEMU },
	{ "qemu-m68k*", QEMU },
	{ "qemu-mi[cp]*", QEMU },	/* microblaze, mips */
	{ "qemu-nios2*", QEMU },
	{ "qemu-or1k*", QEMU },
	{ "qemu-ppc*", QEMU },
	{ "qemu-riscv*", QEMU },
	{ "qemu-s390x*", QEMU },
	{ "qemu-sh4*", QEMU },
	{ "qemu-sparc*", QEMU },
	{ "qemu-xtensa*", QEMU },
	{ "librrpreload*.so", RR },
	{ "rr_page_*", RR },
	{ "libdynamorio.so*", DYNAMORIO },
	{ "pinbin", PIN },
	{ "libpin*dwarf.so", PIN },
};

static const struct translator *of_file(const char *path)
{
	const char *name = path_base(path);

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!fnmatch(known[i].name, name, 0))
			return &translators[known[i].kind];
	/*
	 * A tool of valgrind's that is not listed, where Debian and valgrind's own `make install`
	 * put it.
	 */
	return fnmatch("*/valgrind/*-linux", path, 0) ? NULL : &translators[VALGRIND];
}

const struct translator *translator_find(const struct proc_maps *maps)
{
	vec_each(map, &maps->vec) {
		const struct translator *translator =
			map->exec && *map->path == '/' ? of_file(map->path) : NULL;

		if (translator)
			return translator;
	}
	return NULL;
}
