/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a `symbols` that symbol_file.c and symbol_complete.c use. */
#pragma once

#include "symbol/debug_file.h"
#include "symbol/image.h"
#include "symbol/symbol.h"

struct debug_search *symbols_search(struct symbols *symbols);
struct names *symbols_names(struct symbols *symbols);
size_t symbols_modules(const struct symbols *symbols);
/*
 * Returns the image of module i if it is mapped, and no mapped module before it has the same file;
 * else NULL.
 */
struct image *symbols_image(const struct symbols *symbols, size_t i, const char **path_ret);
