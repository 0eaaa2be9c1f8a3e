/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What symbol_file.c and symbol_complete.c see of a `symbols`. */
#pragma once

#include "symbol/debug_file.h"
#include "symbol/image.h"
#include "symbol/symbol.h"

struct debug_search *symbols_search(struct symbols *symbols);
struct names *symbols_names(struct symbols *symbols);
size_t symbols_modules(const struct symbols *symbols);
/* The image of module i if it is mapped, and no mapped module before it has the file; or NULL. */
struct image *symbols_image(const struct symbols *symbols, size_t i, const char **path_ret);
