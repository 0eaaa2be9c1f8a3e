/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The templates of the standard library, as fold.c needs them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define FOLD_ARGS_MAX	8
#define FOLD_DEFAULTS	4

/*
 * Defaults begin behind the `required` first arguments. $1 stands for the first argument, and so
 * on; what surrounds it is as the demangler writes it.
 */
struct fold_template {
	const char *name;
	size_t len;
	unsigned required;
	const char *defaults[FOLD_DEFAULTS];
	const char *alias;	/* of NAME<char>: "string"; NULL: it has none */
	bool text;		/* there are u8-, u16- and u32-forms of it, too */
};

struct fold_arg {
	size_t start, len;	/* in a text */
};

/* NULL: it is none of them. */
const struct fold_template *fold_template_find(const char *name, size_t len);
/* How many of nr arguments remain; at least one. */
size_t fold_kept(const struct fold_template *template, const char *text,
		 const struct fold_arg *args, size_t nr);
/* What goes before the template's alias for this only argument: "" for char; NULL: none. */
const char *fold_alias(const struct fold_template *template, const char *arg, size_t len);
/* Is it one of the standard library's that users do not write? */
bool is_inline_namespace(const char *word, size_t len);
