/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * C++ names made short enough to be read, as demangle.c writes them:
 *
 *	std::map<int, std::__cxx11::basic_string<char, ...>, std::less<int>, ...>::clear()
 *	std::map<int, std::string>::clear()
 *
 * Left out are template arguments that are the standard's defaults, the standard library's inline
 * namespaces, (anonymous namespace):: and [abi:...] tags; std::basic_string<char> is std::string,
 * and so on. Nothing else changes: an argument goes only where it is the default for the arguments
 * before it, and all those behind it have gone.
 */
#pragma once

#include <stddef.h>

struct folded {
	char *text;		/* malloc'ed; NULL: there is nothing to leave out, or it is not understood */
	/* Lengths without the parameters: std::map<int, int>::clear. */
	size_t bare;		/* of the name */
	size_t text_bare;	/* of text */
};

/* Names are untrusted: one that is not understood, or nests too deeply, is left as it is. */
struct folded name_fold(const char *name);
/* The length without parameters of a name of any language: up to the first parenthesis. */
size_t name_bare(const char *name);
