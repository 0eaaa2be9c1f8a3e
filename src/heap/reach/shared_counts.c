/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Control blocks of std::shared_ptr (shared_counts.h). */

#include "heap/reach/shared_counts.h"

#include <string.h>

#include "base/memory.h"

#define COUNT_MOST	(1u << 30)

/* The name of the type that a table of virtual functions is of; Itanium's ABI of C++. */
static bool read_name(struct memory *memory, uint64_t table, char *name, size_t size)
{
	uint64_t type, at;
	size_t len;

	if (!table || table % 8 || memory_read_u64(memory, table - 8, &type) || !type ||
	    memory_read_u64(memory, type + 8, &at) ||
	    memory_read_some(memory, at, name, size - 1, &len))
		return false;
	name[len] = '\0';
	return true;
}

static bool begins(const char *name, const char *with)
{
	/* A local type's name begins with a star. */
	return !strncmp(name + (*name == '*'), with, strlen(with));
}

bool shared_counts_read(struct memory *memory, struct memory *constants, uint64_t address,
			struct shared_counts *ret)
{
	struct { uint64_t table; uint32_t shared, weak; } head;
	char name[40];

	if (memory_read(memory, address, &head, sizeof(head)) || head.shared > COUNT_MOST ||
	    !head.weak || head.weak > COUNT_MOST ||
	    !read_name(constants, head.table, name, sizeof(name)))
		return false;
	*ret = (struct shared_counts){ .control = address, .shared = head.shared,
				       .weak = head.weak - (head.shared > 0),
				       .within = begins(name, "St23_Sp_counted_ptr_inplace"),
				       .last = begins(name, "St19_Sp_counted_deleter") };
	return ret->within || ret->last || begins(name, "St15_Sp_counted_ptrI");
}

bool shared_counts_leads(const struct shared_counts *counts, uint64_t size, uint64_t place)
{
	return !counts->within && place - counts->control == (counts->last ? size - 8 : 16);
}
