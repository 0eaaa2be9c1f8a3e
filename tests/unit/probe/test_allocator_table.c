/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of allocators: who is known by which file, and whose name a function has. */

#include "probe/allocators.h"

#include "tracee/module.h"
#include "unit.h"

TEST("files")
{
	static const struct {
		const char *file;
		const struct allocator *is;
	} files[] = {
		{ "libc.so.6", &allocator_glibc },	{ "libc-2.31.so", &allocator_glibc },
		{ "libjemalloc.so.2", &allocator_jemalloc },
		{ "libtcmalloc_minimal.so.4", &allocator_tcmalloc },
		{ "libmimalloc.so.2.0", &allocator_mimalloc },
		{ "libc.musl-x86_64.so.1", &allocator_musl }, { "ld-musl-x86_64.so.1", &allocator_musl },
		{ "libcrypt.so.1", NULL },	{ "redis-server", NULL },	{ "", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		CU_ASSERT_PTR_EQUAL(allocator_by_file(files[i].file), files[i].is);
}

/* Only where a library is its allocator and nothing else: a program may have more, and libc does. */
TEST("all of a library's code")
{
	static char tcmalloc[] = "/lib/libtcmalloc_minimal.so.4", libc[] = "/lib/libc.so.6";
	struct module module = { .path = tcmalloc, .exec_start = 0x1000, .exec_end = 0x2000 };

	CU_ASSERT_TRUE(allocator_is_inside(&module, 0x1000));
	CU_ASSERT_TRUE(allocator_is_inside(&module, 0x1fff));
	CU_ASSERT_FALSE(allocator_is_inside(&module, 0xfff));
	CU_ASSERT_FALSE(allocator_is_inside(&module, 0x2000));
	module.path = libc;
	CU_ASSERT_FALSE(allocator_is_inside(&module, 0x1000));
}

/* malloc is everybody's, so that the C library's name comes before an allocator's own. */
TEST("functions")
{
	static const struct allocator *const all[] = {
		&allocator_glibc, &allocator_cxx, &allocator_jemalloc, &allocator_mimalloc,
		&allocator_tcmalloc, &allocator_musl,
	};
	size_t rank = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		for (size_t j = 0; j < all[i]->nr_functions; j++) {
			const struct alloc_function *fn = &all[i]->functions[j];

			CU_ASSERT_PTR_EQUAL(alloc_function_find(fn->symbol), fn);
			CU_ASSERT_EQUAL(alloc_function_rank(fn), rank);
			rank++;
		}
	CU_ASSERT(rank > 50);
	CU_ASSERT_PTR_NULL(alloc_function_find("mallopt"));
}

/* Whoever is built in by such a name has a function of it. */
TEST("built in")
{
	static const struct {
		const char *symbol;
		const struct allocator *is;
	} names[] = {
		{ "je_malloc", &allocator_jemalloc },	{ "_rjem_malloc", &allocator_jemalloc },
		{ "mi_malloc", &allocator_mimalloc },
		{ "malloc", NULL },	{ "je_mallocx", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CU_ASSERT_PTR_EQUAL(allocator_built_in(names[i].symbol), names[i].is);
		CU_ASSERT_PTR_NOT_NULL(alloc_function_find(names[i].symbol));
	}
}

/* Who has a walk has a pulse, and can be found without the name of a file. */
TEST("walks")
{
	CU_ASSERT_PTR_NOT_NULL_FATAL(allocator_guess);
	CU_ASSERT_PTR_NOT_NULL(allocator_guess->walk);
	CU_ASSERT_PTR_NOT_NULL(allocator_guess->pulse);
	CU_ASSERT_PTR_NOT_NULL(allocator_guess->version);
}
