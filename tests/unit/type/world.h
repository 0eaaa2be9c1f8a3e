/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the tests of types look: at this very program, or at nothing but an array. */
#pragma once

#include "type/expr.h"
#include "type/types.h"

/* This process' own memory, and its own debug information. False: it has none (CFLAGS without -g). */
bool world_of_self(struct value_world *ret);
/* No debug information, and `len` bytes that pretend to lie at `start`. */
struct value_world world_of_bytes(const void *bytes, uint64_t start, size_t len);
void world_free(struct value_world *world);

/* The text of an expression, or "CODE: message" of its error. Valid until the next call. */
const char *world_print(const struct value_world *world, const char *text);
const char *world_whatis(const struct value_world *world, const char *text);
