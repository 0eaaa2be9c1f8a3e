/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The templates of the standard library, for fold.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define FOLD_ARGS_MAX	8
#define FOLD_DEFAULTS	4

/*
 * Defaults begin behind the first `required` arguments. $1 stands for the first argument, and so
 * on; the text around it is as the demangler writes it.
 */
struct fold_template {
	const char *name;
	size_t len;
	unsigned required;
	const char *defaults[FOLD_DEFAULTS];
	const char *alias;	/* of NAME<char>: "string"; NULL: it has none */
	bool text;		/* it has u8-, u16- and u32-forms, too */
};

struct fold_arg {
	size_t start, len;	/* position in a text */
};

/* Returns NULL if the name is none of these templates. */
const struct fold_template *fold_table_template(const char *name, size_t len);
/* Returns how many of nr arguments must be kept; at least one. */
size_t fold_table_kept(const struct fold_template *template, const char *text,
		       const struct fold_arg *args, size_t nr);
/* Returns the prefix of the template's alias for this only argument: "" for char; NULL: none. */
const char *fold_table_alias(const struct fold_template *template, const char *arg, size_t len);
/* Is word an inline namespace of the standard library, which users do not write? */
bool fold_table_is_inline(const char *word, size_t len);
