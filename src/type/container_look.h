/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the kinds of containers (container.h) have in common: each library's are in a file of their own,
 * and each kind is a function that fills in a struct container. It returns false if a member is
 * missing, or what the members say does not fit: then the value is a struct like any other.
 */
#pragma once

#include <inttypes.h>

#include "base/compiler.h"
#include "type/container.h"

struct container_look {
	struct memory *memory;
	struct value value;
	struct type *type;		/* plain */
	struct container *to;		/* of zeros at first */
};

struct container_kind {
	const char *name;		/* of the type, up to the template's arguments; NULL ends the list */
	bool (*look)(const struct container_look *look);
};

extern const struct container_kind container_libstdcxx_kinds[], container_libcxx_kinds[],
				   container_rust_kinds[];

bool container_btree_map(const struct container_look *look);
bool container_btree_set(const struct container_look *look);

/* The type that is the template's argument of that number, of the types among them; or NULL. */
struct type *container_look_argument(struct type *type, unsigned nr);
/* Follow names of members, "a.b.c"; *is is false from then on if one is missing. */
struct value container_look_inner(struct memory *memory, struct value from, bool *is,
				  const char *names);
/* The same, and the number that is there. */
uint64_t container_look_word(struct memory *memory, struct value from, bool *is,
			     const char *names);
void container_look_title(const struct container_look *look, const char *fmt, ...) PRINTF(2, 3);
/* "std::optional<int>", of the first template argument. */
void container_look_title_of(const struct container_look *look, const char *what);
/* Trees and tables of hashes alike: the style, and "std::map with 2 elements". */
void container_look_elements(const struct container_look *look);
/* A smart pointer's one value. */
void container_look_pointer(const struct container_look *look, struct value pointer);
/*
 * The elements of a std::vector, of which look->to has the type and the first one's address, up to
 * end, in room up to another. False: these are no elements.
 */
bool container_look_vector(const struct container_look *look, uint64_t end, uint64_t room);
/* An optional, whose count is 0 or 1: what it has, or its place. */
void container_look_optional(const struct container_look *look, struct value value);
#define CONTAINER_VARIANTS	1024u	/* no variant has as many types */
/* A variant: the value is that of this index; NULL: it has none. */
bool container_look_variant(const struct container_look *look, uint64_t index,
			    const struct value *value);
/* The name without arguments, and without the library's own namespace in it. */
struct container_bare {
	char text[64];
};

struct container_bare container_look_bare(const struct type *type);
/* Nodes whose first word leads to the next one. */
struct err *container_look_chain(struct memory *memory, struct container *container);
/* Elements in blocks, of which node leads to the present one, and the word behind it to the next. */
struct err *container_look_blocks(struct memory *memory, struct container *container);
