/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One ELF file with its symbols and debug information, which are opened at first use. Each image is
 * independent, with the file at its own addresses (bias 0), because two modules may be at one
 * address, after a dlclose and a dlopen, and several modules may share an image.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "symbol/debug_file.h"
#include "symbol/source.h"
#include "symbol/symbol.h"
#include "symbol/symtab.h"

struct elf_file;
struct image;

/*
 * Make an image of the file behind fd, which is dup'ed. path is for .gnu_debuglink. search must
 * outlive the image.
 */
struct err *image_create(int fd, const char *path, const struct debug_search *search,
			 struct image **ret) MUST_CHECK;
/* Make an image of bytes in memory, which are copied. */
struct err *image_create_from_bytes(const void *bytes, size_t len, const char *path,
				    const struct debug_search *search,
				    struct image **ret) MUST_CHECK;
void image_destroy(struct image *image);	/* NULL is allowed */
/* Is the image that of the file behind fd, and is the file unchanged? */
bool image_is(const struct image *image, int fd);
/* False if the file cannot be read as ELF. */
bool image_usable(struct image *image);
/* Returns NULL if the file is unusable. */
struct symtab *image_symtab(struct image *image);
/* Returns NULL if there is no debug information. */
struct source *image_source(struct image *image);
/* Get the start of the function at this address of the file, by its CFI. False: it has none there. */
bool image_function_start(struct image *image, uint64_t addr, uint64_t *ret);
/* The file's code and CFI; NULL: it cannot be read. */
struct elf_file *image_file(struct image *image);
/*
 * The debug information itself; bias is to be added to its addresses to get
 * those of the file. NULL: there is none.
 */
Dwarf *image_dwarf(struct image *image, uint64_t *bias_ret);
/*
 * Can the code right before this address of the file end with a call, so that the address can be a
 * return address? True if the code cannot be read.
 */
bool image_ends_in_call(struct image *image, uint64_t addr);
/*
 * Does the file have its own debug information, or is there a debug file? A closed image is opened
 * for this, without a fetch (debug_file.h).
 */
enum symbol_debug image_debug(struct image *image);
/* Append the build-id in hex; nothing is appended if there is none. */
struct err *image_build_id(struct image *image, struct str *ret) MUST_CHECK;
/* Was a line asked for that needs a missing debug file? */
bool image_lacked_lines(const struct image *image);
/* If debug information is missing, let the next question look for it again. */
void image_retry(struct image *image);
