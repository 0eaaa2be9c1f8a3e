/* SPDX-License-Identifier: GPL-3.0-or-later */
/* C++ and Rust names, and names that only look like them. */

#include "symbol/string_pool.h"

#include "base/cleanup.h"
#include "unit.h"

static const struct {
	const char *name, *readable, *bare;
} table[] = {
	{ "_Znwm", "operator new(unsigned long)", "operator new" },
	{ "_ZdlPvmSt11align_val_t", "operator delete(void*, unsigned long, std::align_val_t)", "operator delete" },
	{ "_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back(int const&)",
	  "std::vector<int, std::allocator<int> >::push_back" },
	{ "_ZNK1A1bEv", "A::b() const", "A::b" },
	{ "_ZN12_GLOBAL__N_14workEi", "(anonymous namespace)::work(int)", "(anonymous namespace)::work" },
	{ "_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const", "main::{lambda()#1}::operator()" },
	{ "_Z4workRKSs.cold", "work(std::string const&) [clone .cold]", "work" },
	{ "_Z4sortIiEvPT_", "sort<int>(int*)", "sort<int>" },
	{ "_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write", "core::fmt::write" },
	{ "_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$4drop17h0123456789abcdefE",
	  "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop", "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop" },
	{ "_RNvC6_123foo3bar", "123foo::bar", "123foo::bar" },
	{ "_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>", "std::mem::align_of::<f64>" },
	{ "_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate", "<std::path::PathBuf>::new",
	  "<std::path::PathBuf>::new" },
	{ "_RINvCu9maana_pta1fuE", "ma\u00f1ana::f::<()>", "ma\u00f1ana::f::<()>" },
	/* A hash with the letters of a long loop, and a name with those of one that is not ASCII. */
	{ "_RNvCsDGzzzzzz_5u8abc1f", "u8abc::f", "u8abc::f" },
	{ "malloc", NULL, NULL }, { "", NULL, NULL }, { "_", NULL, NULL }, { "__libc_malloc", NULL, NULL },
	{ "_Z", NULL, NULL }, { "_R", NULL, NULL }, { "_ReadFile", NULL, NULL }, { "_Zzzzz", NULL, NULL },
	{ "_ZN", NULL, NULL }, { "_ZN3fo", NULL, NULL },
};

static bool same(const char *x, const char *y)
{
	return x && y ? !strcmp(x, y) : x == y;
}

TEST("C++ and Rust")
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		char *readable AUTO_FREE = NULL;
		char *bare AUTO_FREE = NULL;

		demangle_whole(table[i].name, &readable);
		demangle_bare(table[i].name, &bare);
		CU_ASSERT(same(readable, table[i].readable));
		CU_ASSERT(same(bare, table[i].bare));
		if (!same(readable, table[i].readable) || !same(bare, table[i].bare))
			printf("%s: %s, %s\n", table[i].name, readable, bare);
	}
}

/*
 * f(std::pair<X, X>), where X is that again, and so on: each level adds 10 characters and doubles
 * the text.
 */
static char *explode(int levels)
{
	char name[1024] = "_Z1fSt4pairIiiE", *end = name + strlen(name), *readable;

	for (int i = 0; i < levels; i++) {
		char id = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i];

		end += sprintf(end, "S_IS%c_S%c_E", id, id);
	}
	demangle_whole(name, &readable);
	return readable;
}

TEST("a name that explodes")
{
	AUTO_FREE char *small = explode(5), *large = explode(30);

	CU_ASSERT_PTR_NOT_NULL_FATAL(small);
	CU_ASSERT(strlen(small) > 1000);
	/* 30 GiB. */
	CU_ASSERT_PTR_NULL(large);
}

TEST("a name that nests")
{
	static char name[1 << 20];

	for (size_t len = 64; len < sizeof(name) - 16; len *= 2) {
		char *readable;

		strcpy(name, "_Z1f");
		memset(name + 4, 'P', len);
		strcpy(name + 4 + len, "i");
		demangle_whole(name, &readable);
		/* libiberty itself prints no more than 1,024 levels. */
		CU_ASSERT_EQUAL(readable != NULL, len < 1024);
		free(readable);
	}
}

/*
 * Rust names that refer to themselves, and one with a loop of lifetimes that are not printed, which
 * would take centuries: nothing of it can be seen beforehand.
 */
TEST("Rust names without an end")
{
	static const struct {
		const char *name;
		enum mangling mangling;
	} bad[] = {
		{ "_RB_", NOT_MANGLED }, { "_RNvB_1a", NOT_MANGLED }, { "_RINvB_1aB_E", NOT_MANGLED },
		{ "_RMFGzzzzzzzzz_EuEu", NOT_MANGLED },
		{ "_RMINvC1a1fFGzzzzzzzzz_EuEu", MANGLED_LOST },
		/* The same after an identifier that is not ASCII, for which there is memory, is refused. */
		{ "_RINvCu9maana_pta1fMINvC1a1fFGzzzzzzzzz_EuEuuE", NOT_MANGLED },
		{ "_RINvCu9maana_pta1fMINvC1a1fFGFGzzzzzzz_EuEuuE", NOT_MANGLED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char *readable AUTO_FREE = NULL;
		enum mangling mangling = demangle_whole(bad[i].name, &readable);

		CU_ASSERT_PTR_NULL(readable);
		CU_ASSERT_EQUAL(mangling, bad[i].mangling);
		if (mangling != bad[i].mangling)
			printf("%s: %d\n", bad[i].name, mangling);
	}
}

/*
 * f<int, ...>(T_&, ...): the printer of libiberty has an array on its stack of 16 bytes for each
 * template and each reference, twice.
 */
static char *pairs(unsigned templates, unsigned references)
{
	static char name[8192];
	char *end = name + sprintf(name, "_Z1f");

	for (unsigned i = 0; i < templates; i++)
		end += sprintf(end, "I1a");
	end += sprintf(end, "i");
	for (unsigned i = 0; i < templates; i++)
		*end++ = 'E';
	*end++ = 'v';
	for (unsigned i = 0; i < references; i++)
		end += sprintf(end, "RT_");
	*end = '\0';
	return name;
}

TEST("pairs of a template and a reference")
{
	/* Shorter than the limit of lengths, but some of them take hundreds of megabytes. */
	for (unsigned templates = 50; templates < 800; templates += 50) {
		unsigned references = (4000 - 4 * templates) / 3;
		char *readable;

		CU_ASSERT_NOT_EQUAL(demangle_whole(pairs(templates, references), &readable),
				    MANGLED_LOST);
		free(readable);
	}
}

/* A long name is demangled, on a stack of its own. */
TEST("a long name")
{
	char name[2048] = "_Z1f", *readable;

	for (unsigned i = 0; i < 700; i++)
		strcat(name, "Pi");
	CU_ASSERT_EQUAL(demangle_whole(name, &readable), MANGLED_CXX);
	CU_ASSERT_PTR_NOT_NULL_FATAL(readable);
	CU_ASSERT_EQUAL(strlen(readable), 3 + 700 * 6 - 2);
	free(readable);
}
