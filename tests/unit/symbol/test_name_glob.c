/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Globs for names of functions. */

#include "symbol/name_glob.h"

#include "symbol/string_pool.h"
#include "symbol/symbol.h"
#include "unit.h"

static struct symbol_frame frame_of(struct names *names, const char *name)
{
	struct symbol_frame frame = { .pc = 0 };
	struct shown_name shown;

	if (!string_pool_shown(names, name, SIZE_MAX, &shown))
		CU_FAIL_FATAL("no memory");
	frame.function = shown.full;
	frame.brief = shown.brief;
	frame.linkage = shown.linkage;
	frame.function_bare = shown.full_bare;
	frame.brief_bare = shown.brief_bare;
	return frame;
}

#define MAP	"_ZNSt3mapIiNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt4lessIiESaISt4pairI" \
		"KiS5_EEEixEOi"
#define STRING	"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"

TEST("globs")
{
	static const struct {
		const char *name, *glob;
		bool yes;
	} table[] = {
		{ "malloc", "malloc", true }, { "malloc", "mal*", true }, { "malloc", "m?lloc", true },
		{ "malloc", "*lloc", true }, { "malloc", "*", true }, { "malloc", "[mz]alloc", true },
		{ "malloc", "mallo", false }, { "malloc", "mallocs", false }, { "malloc", "", false },
		{ "malloc", "zmalloc*", false }, { "malloc", "malloc?", false },
		{ "_Z5parsePKc", "parse", true }, { "_Z5parsePKc", "parse(char const*)", true },
		{ "_Z5parsePKc", "parse(char*", true }, { "_Z5parsePKc", "p*e", true },
		{ "_Z5parsePKc", "_Z5parse*", true }, { "_Z5parsePKc", "_Z5parsePKc", true },
		{ "_Z5parsePKc", "pars", false }, { "_Z5parsePKc", "parse(int)", false },
		/* As they are shown, though * and [] are in them. */
		{ MAP, "std::map<int, std::string>::operator[]", true },
		{ MAP, "std::map<int, std::string>::operator[](int&&)", true },
		{ MAP, "std::map<int, std::string>*", true }, { MAP, "std::map<int, *>::operator*", true },
		{ MAP, "std::map<int, " STRING ", std::less<int>, *", true },
		{ MAP, "std::*", true }, { MAP, "*basic_string*", true }, { MAP, "*std::string>*", true },
		{ MAP, "std::map", false }, { MAP, "std::map<int, std::string>", false },
		{ "_ZN12_GLOBAL__N_14workEi", "work", true },
		{ "_ZN12_GLOBAL__N_14workEi", "(anonymous namespace)::work", true },
		{ "_ZN12_GLOBAL__N_14workEi", "(anonymous namespace)*", true },
		{ "_ZN12_GLOBAL__N_14workEi", "(anonymous namespace)", false },
		{ "_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()", true },
		{ "_ZZ4mainENKUliE_clEi", "main*", true }, { "_ZZ4mainENKUliE_clEi", "main", false },
		{ "_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write", true },
	};
	CLEANUP(string_pool_free) struct names names = NAMES_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct symbol_frame frame = frame_of(&names, table[i].name);

		CU_ASSERT_EQUAL(name_glob_matches(table[i].glob, &frame), table[i].yes);
		if (name_glob_matches(table[i].glob, &frame) != table[i].yes)
			printf("%s: %s\n", table[i].name, table[i].glob);
	}
}

TEST("names that are not known")
{
	const struct symbol_frame frame = { .pc = 1 };

	CU_ASSERT_FALSE(name_glob_matches("*", &frame));
	CU_ASSERT_FALSE(name_glob_matches_text("*", NULL));
	CU_ASSERT_TRUE(name_glob_matches_text("operator new", "operator new(unsigned long)"));
}

TEST("lists")
{
	struct name_globs globs = { VEC_INIT };
	struct names names = NAMES_INIT;
	struct symbol_frame frame = frame_of(&names, "_Znwm");

	CU_ASSERT_FALSE(name_globs_match(&globs, &frame));
	CU_ASSERT_PTR_NULL(name_globs_add(&globs, "malloc"));
	CU_ASSERT_FALSE(name_globs_match(&globs, &frame));
	CU_ASSERT_PTR_NULL(name_globs_add(&globs, "operator new*"));
	CU_ASSERT_TRUE(name_globs_match(&globs, &frame));
	CU_ASSERT_TRUE(name_globs_match_text(&globs, "malloc"));
	CU_ASSERT_FALSE(name_globs_match_text(&globs, "free"));
	name_globs_free(&globs);
	string_pool_free(&names);
}

/* Rust's names, and those that are in no symbol table, stay as they are. */
TEST("languages")
{
	CLEANUP(string_pool_free) struct names names = NAMES_INIT;
	struct symbol_frame rust = frame_of(&names, "_ZN4core3fmt5write17h0123456789abcdefE");
	struct symbol_frame new_rust = frame_of(&names, "_RINvNtC3std3mem8align_ofdE");
	struct symbol_frame d = frame_of(&names, "_D3std5stdio4FileFZv");
	struct symbol_frame text = frame_of(&names, "f(std::vector<int, std::allocator<int> >)");
	struct symbol_frame twice = frame_of(&names, MAP), again = frame_of(&names, MAP);

	CU_ASSERT_PTR_EQUAL(rust.brief, rust.function);
	CU_ASSERT_STRING_EQUAL(rust.function, "core::fmt::write");
	CU_ASSERT_PTR_EQUAL(new_rust.brief, new_rust.function);
	CU_ASSERT_PTR_EQUAL(d.brief, d.function);
	CU_ASSERT_PTR_EQUAL(text.brief, text.function);
	/* Once for each name. */
	CU_ASSERT_PTR_EQUAL(twice.brief, again.brief);
	CU_ASSERT_STRING_EQUAL(twice.brief, "std::map<int, std::string>::operator[](int&&)");
}
