/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Readable names; see also symbol_demangle in symbol.h. */
#ifndef SYMBOL_DEMANGLE_H
#define SYMBOL_DEMANGLE_H

#include <stdbool.h>

/* Does it look like a C++ or Rust name? */
bool is_mangled(const char *name);
/* As symbol_demangle, without parameters: "std::vector<int>::push_back". */
char *demangle_bare(const char *name);

#endif
