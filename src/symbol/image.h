/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One ELF file with its symbols and debug information, opened at the first question. Each has a
 * Dwfl of its own, with the file at its own addresses (bias 0): a Dwfl cannot hold two modules at
 * one address, as there may be after a dlclose and a dlopen, and several modules may share an
 * image.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "symbol/debug_file.h"
#include "symbol/source.h"
#include "symbol/symtab.h"

struct image;

/*
 * The file behind fd, which is dup'ed. path is for .gnu_debuglink. search must outlive the image.
 */
struct err *image_create(int fd, const char *path, const struct debug_search *search,
			 struct image **ret) MUST_CHECK;
/* An image of bytes in memory, which are copied. */
struct err *image_create_from_bytes(const void *bytes, size_t len, const char *path,
				    const struct debug_search *search,
				    struct image **ret) MUST_CHECK;
void image_destroy(struct image *image);	/* NULL is fine */
/* Is it the file behind fd, unchanged? */
bool image_is(const struct image *image, int fd);
/* False if it cannot be read as ELF. */
bool image_usable(struct image *image);
/* NULL: unusable. */
struct symtab *image_symtab(struct image *image);
/* NULL: no debug information. */
struct source *image_source(struct image *image);
/*
 * Does the file have debug information of its own, or is there a debug file? A closed one is opened
 * for it, without a fetch (debug_file.h).
 */
enum image_debug { IMAGE_DEBUG_NONE, IMAGE_DEBUG_OWN, IMAGE_DEBUG_SEPARATE };
enum image_debug image_debug(struct image *image);
/* In hex; nothing is added if it has none. */
struct err *image_build_id(struct image *image, struct str *ret) MUST_CHECK;
/* Was a line asked for that a missing debug file would have? */
bool image_lacked_lines(const struct image *image);
/* Where debug information is missing, have the next question look for it again. */
void image_retry(struct image *image);
