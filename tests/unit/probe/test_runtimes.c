/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which runtimes are found: this program has a note of one, and a symbol of another. */

#include "probe/runtimes/runtimes.h"

#include <fcntl.h>

#include "elf/elf_file.h"
#include "self.h"
#include "tracee/target.h"
#include "unit.h"

__asm__(".pushsection .note.test, \"a\", @note\n"
	"	.balign 4\n	.long 3, 4, 4\n	.asciz \"Go\"\n	.balign 4\n	.long 0\n"
	".popsection\n"
	".pushsection .text\n"
	"	.globl PyObject_Malloc\n	.type PyObject_Malloc, @function\n"
	"PyObject_Malloc:\n"
	"	ret\n"
	"	.size PyObject_Malloc, .-PyObject_Malloc\n"
	".popsection\n");

static bool has(const struct runtimes *runtimes, const struct runtime *runtime)
{
	for (size_t i = 0; i < runtimes->nr; i++)
		if (runtimes->at[i] == runtime)
			return true;
	return false;
}

TEST("by note and symbol")
{
	struct target target;
	struct probes *probes = self_begin(&target, NULL);
	struct runtimes runtimes;

	runtimes_find(&target.modules, &runtimes);
	CU_ASSERT_EQUAL(runtimes.nr, 2);
	CU_ASSERT(has(&runtimes, &runtime_go));
	CU_ASSERT(has(&runtimes, &runtime_python));
	self_end(probes);
}

/* The loader's file, by other names. */
TEST("by the name of a library")
{
	static const struct {
		const char *path;
		const struct runtime *is;
	} files[] = {
		{ "/usr/lib/jvm/java-17/lib/server/libjvm.so", &runtime_jvm },
		{ "/opt/semeru/lib/default/libj9vm29.so", &runtime_jvm },
		{ "/usr/lib/x86_64-linux-gnu/libnode.so.108", &runtime_v8 },
		{ "/usr/share/dotnet/shared/8.0.0/libcoreclr.so", &runtime_dotnet },
		{ "/usr/lib/ghc/lib/libHSrts-1.0.2-ghc9.4.7.so", &runtime_ghc },
		{ "/usr/lib/apache2/modules/libphp8.2.so", &runtime_php },
		{ "/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1.2", &runtime_ruby },
		{ "/usr/lib/x86_64-linux-gnu/libluajit-5.1.so.2.1.0", &runtime_lua },
		{ "/usr/lib/erlang/erts-13.1.5/bin/beam.smp", &runtime_erlang },
		{ "/usr/lib/libjvm/libz.so.1", NULL },
		{ "/usr/lib/libj.so", NULL },
	};
	int fd = open("/lib64/ld-linux-x86-64.so.2", O_RDONLY | O_CLOEXEC);
	struct elf_file *elf;

	CU_ASSERT_PTR_NULL_FATAL(elf_file_open(fd, "ld.so", &elf));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct module module = { .path = (char *)files[i].path, .elf = elf };
		struct modules modules = { .generation = 1 };
		struct runtimes runtimes;

		CU_ASSERT_PTR_NULL_FATAL(vec_push(&modules.live, &module));
		runtimes_find(&modules, &runtimes);
		CU_ASSERT_EQUAL(runtimes.nr, files[i].is ? 1 : 0);
		CU_ASSERT(!files[i].is || has(&runtimes, files[i].is));
		vec_free(&modules.live);
	}
	elf_file_close(elf);
}

/* Whoever is found is printed. */
TEST("texts")
{
	static const struct runtime *const all[] = {
		&runtime_dotnet, &runtime_erlang, &runtime_ghc, &runtime_go, &runtime_jvm,
		&runtime_lua, &runtime_ocaml, &runtime_php, &runtime_python, &runtime_ruby,
		&runtime_v8, &runtime_zig,
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		CU_ASSERT(all[i]->name && *all[i]->name);
		CU_ASSERT(all[i]->heap && *all[i]->heap);
		CU_ASSERT(all[i]->help && *all[i]->help);
		CU_ASSERT(all[i]->files[0] || all[i]->sections[0] || all[i]->note ||
			  all[i]->symbols[0]);
	}
}
