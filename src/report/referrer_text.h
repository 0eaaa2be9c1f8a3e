/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pointers to a block: the text of `malloc find`. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "symbol/symbol.h"

struct out;
struct session;
struct find_address;
struct find_referrer;
struct symbols;

/* The module, variable or mapping that contains a place of FIND_REFERRER_MEMORY. */
struct referrer_memory {
	const char *module;	/* NULL: it is in none */
	const char *symbol;	/* NULL: unknown */
	uint64_t offset;	/* from the symbol, or else from the start of the mapping */
	const char *mapping;	/* its path, "" for anonymous memory; NULL: it is not known */
};

/* The strings belong to the session's symbols and to find. */
struct referrer_memory referrer_text_memory(struct symbols *symbols,
					    const struct find_address *find,
					    const struct find_referrer *referrer,
					    enum symbol_names names);

/* The thread-local variable that contains a referrer with a tls_module. */
struct symbol_tls referrer_text_tls(struct symbols *symbols, const struct find_address *find,
				    const struct find_referrer *referrer);

/* Add the root at which find->way begins, which is not lost. */
struct err *referrer_text_root(struct session *session, const struct find_address *find,
			       struct str *ret) MUST_CHECK;

/* Print the block at address, and the pointers to it. */
struct err *referrer_text_print(struct session *session, const struct find_address *find,
				uint64_t address, struct out *out) MUST_CHECK;
