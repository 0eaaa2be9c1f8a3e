/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes C++ names, as demangle.c writes them, short enough to be read:
 *
 *	std::map<int, std::__cxx11::basic_string<char, ...>, std::less<int>, ...>::clear()
 *	std::map<int, std::string>::clear()
 *
 * It leaves out template arguments that are the standard's defaults, the standard library's inline
 * namespaces, (anonymous namespace):: and [abi:...] tags; std::basic_string<char> becomes
 * std::string, and so on. Nothing else changes: an argument is left out only if it is the default
 * for the arguments before it, and all arguments behind it were left out.
 */
#pragma once

#include <stddef.h>

struct folded {
	/* malloc'ed; NULL: nothing can be left out, or the name is not understood */
	char *text;
	/* Lengths without the parameters: std::map<int, int>::clear. */
	size_t bare;		/* of the name */
	size_t text_bare;	/* of text */
};

/*
 * Fold a name. Names are untrusted: one that is not understood, or nests too deeply, is unchanged.
 */
struct folded fold_name(const char *name);
/* Returns the length of a name of any language without parameters: up to the first parenthesis. */
size_t fold_bare(const char *name);
