/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The templates of the standard library that have default arguments, and their defaults (C++23,
 * [containers], [strings], [input.output], ...). A default that depends on a member of an argument
 * (the duration of a time_point) cannot be derived from names and is not here.
 */

#include "symbol/fold_table.h"

#include <string.h>

#include "base/compiler.h"

#define NAMED(name)	"std::" name, sizeof("std::" name) - 1

#define TRAITS	"std::char_traits<$1>"
#define ALLOC	"std::allocator<$1>"
#define PAIRS	"std::allocator<std::pair<$1 const, $2> >"
#define LESS	"std::less<$1>"
#define HASH	"std::hash<$1>"
#define EQUAL	"std::equal_to<$1>"

static const struct fold_template templates[] = {
	{ NAMED("vector"), 1, .defaults = { ALLOC } },
	{ NAMED("deque"), 1, .defaults = { ALLOC } },
	{ NAMED("list"), 1, .defaults = { ALLOC } },
	{ NAMED("forward_list"), 1, .defaults = { ALLOC } },
	{ NAMED("set"), 1, .defaults = { LESS, ALLOC } },
	{ NAMED("multiset"), 1, .defaults = { LESS, ALLOC } },
	{ NAMED("map"), 2, .defaults = { LESS, PAIRS } },
	{ NAMED("multimap"), 2, .defaults = { LESS, PAIRS } },
	{ NAMED("unordered_set"), 1, .defaults = { HASH, EQUAL, ALLOC } },
	{ NAMED("unordered_multiset"), 1, .defaults = { HASH, EQUAL, ALLOC } },
	{ NAMED("unordered_map"), 2, .defaults = { HASH, EQUAL, PAIRS } },
	{ NAMED("unordered_multimap"), 2, .defaults = { HASH, EQUAL, PAIRS } },
	{ NAMED("flat_set"), 1, .defaults = { LESS, "std::vector<$1>" } },
	{ NAMED("flat_multiset"), 1, .defaults = { LESS, "std::vector<$1>" } },
	{ NAMED("flat_map"), 2, .defaults = { LESS, "std::vector<$1>", "std::vector<$2>" } },
	{ NAMED("flat_multimap"), 2, .defaults = { LESS, "std::vector<$1>", "std::vector<$2>" } },
	{ NAMED("stack"), 1, .defaults = { "std::deque<$1>" } },
	{ NAMED("queue"), 1, .defaults = { "std::deque<$1>" } },
	/*
	 * Its comparison is that of the container's elements, which must have the first argument as
	 * type.
	 */
	{ NAMED("priority_queue"), 1, .defaults = { "std::vector<$1>", LESS } },
	{ NAMED("unique_ptr"), 1, .defaults = { "std::default_delete<$1>" } },
	{ NAMED("span"), 1, .defaults = { "18446744073709551615ul" } },
	{ NAMED("ratio"), 1, .defaults = { "1l" } },
	{ NAMED("chrono::duration"), 1, .defaults = { "std::ratio<1l>" } },
	{ NAMED("enable_if"), 1, .defaults = { "void" } },
	{ NAMED("match_results"), 1, .defaults = { "std::allocator<std::sub_match<$1> >" } },
	{ NAMED("iterator"), 2, .defaults = { "long", "$2*", "$2&" } },
	{ NAMED("istream_iterator"), 1, .defaults = { "char", "std::char_traits<$2>", "long" } },
	{ NAMED("ostream_iterator"), 1, .defaults = { "char", "std::char_traits<$2>" } },
	{ NAMED("istreambuf_iterator"), 1, .defaults = { TRAITS } },
	{ NAMED("ostreambuf_iterator"), 1, .defaults = { TRAITS } },
	{ NAMED("basic_string"), 1, .defaults = { TRAITS, ALLOC }, "string", true },
	{ NAMED("basic_string_view"), 1, .defaults = { TRAITS }, "string_view", true },
	{ NAMED("basic_ios"), 1, .defaults = { TRAITS }, "ios" },
	{ NAMED("basic_streambuf"), 1, .defaults = { TRAITS }, "streambuf" },
	{ NAMED("basic_istream"), 1, .defaults = { TRAITS }, "istream" },
	{ NAMED("basic_ostream"), 1, .defaults = { TRAITS }, "ostream" },
	{ NAMED("basic_iostream"), 1, .defaults = { TRAITS }, "iostream" },
	{ NAMED("basic_filebuf"), 1, .defaults = { TRAITS }, "filebuf" },
	{ NAMED("basic_ifstream"), 1, .defaults = { TRAITS }, "ifstream" },
	{ NAMED("basic_ofstream"), 1, .defaults = { TRAITS }, "ofstream" },
	{ NAMED("basic_fstream"), 1, .defaults = { TRAITS }, "fstream" },
	{ NAMED("basic_stringbuf"), 1, .defaults = { TRAITS, ALLOC }, "stringbuf" },
	{ NAMED("basic_istringstream"), 1, .defaults = { TRAITS, ALLOC }, "istringstream" },
	{ NAMED("basic_ostringstream"), 1, .defaults = { TRAITS, ALLOC }, "ostringstream" },
	{ NAMED("basic_stringstream"), 1, .defaults = { TRAITS, ALLOC }, "stringstream" },
	{ NAMED("basic_spanbuf"), 1, .defaults = { TRAITS }, "spanbuf" },
	{ NAMED("basic_syncbuf"), 1, .defaults = { TRAITS, ALLOC }, "syncbuf" },
	{ NAMED("basic_osyncstream"), 1, .defaults = { TRAITS, ALLOC }, "osyncstream" },
	{ NAMED("basic_regex"), 1, .defaults = { "std::regex_traits<$1>" }, "regex" },
};

/*
 * Those of libstdc++ (the ABI of C++11, later versions of a class), of libc++ (its ABI,
 * filesystem), and of two builds of libc++, Android's and Chromium's.
 */
static const char *const inline_namespaces[] = {
	"__cxx11", "_V2", "__8", "__1", "__2", "__fs", "__ndk1", "__Cr",
};

static bool is(const char *at, size_t len, const char *text)
{
	return strlen(text) == len && !memcmp(at, text, len);
}

bool fold_table_is_inline(const char *word, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(inline_namespaces); i++)
		if (is(word, len, inline_namespaces[i]))
			return true;
	return false;
}

const struct fold_template *fold_table_template(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(templates); i++)
		if (templates[i].len == len && !memcmp(templates[i].name, name, len))
			return &templates[i];
	return NULL;
}

/* Does arg equal the default? A `>` behind another one has a blank before it. */
static bool is_default(const char *pattern, const char *text, const struct fold_arg *args,
		       struct fold_arg arg)
{
	const char *start = text + arg.start, *at = start, *end = start + arg.len;

	for (; *pattern; pattern++) {
		if (*pattern == '$') {
			const struct fold_arg *stands = &args[pattern[1] - '1'];

			if ((size_t)(end - at) < stands->len ||
			    memcmp(at, text + stands->start, stands->len))
				return false;
			at += stands->len;
			pattern++;
			continue;
		}
		if (*pattern == '>' && at > start && at[-1] == '>') {
			if (at == end || *at++ != ' ')
				return false;
		} else if (*pattern == ' ' && pattern[1] == '>') {
			continue;
		}
		if (at == end || *at++ != *pattern)
			return false;
	}
	return at == end;
}

size_t fold_table_kept(const struct fold_template *template, const char *text,
		       const struct fold_arg *args, size_t nr)
{
	while (nr > template->required && nr - template->required <= FOLD_DEFAULTS) {
		const char *pattern = template->defaults[nr - 1 - template->required];

		if (!pattern || !is_default(pattern, text, args, args[nr - 1]))
			break;
		nr--;
	}
	return nr;
}

const char *fold_table_alias(const struct fold_template *template, const char *arg, size_t len)
{
	static const struct {
		const char *type, *prefix;
		bool text;	/* only for strings */
	} forms[] = {
		{ "char", "", false }, { "wchar_t", "w", false }, { "char8_t", "u8", true },
		{ "char16_t", "u16", true }, { "char32_t", "u32", true },
	};

	if (!template->alias)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (is(arg, len, forms[i].type))
			return forms[i].text && !template->text ? NULL : forms[i].prefix;
	return NULL;
}
