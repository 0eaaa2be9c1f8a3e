/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Control blocks of std::shared_ptr, by the name of their type. */

#include <string.h>

#include "fixture.h"
#include "heap/reach/shared_counts.h"
#include "memory_array.h"

#define START	0x10000u

/* A control block, a table of virtual functions behind the address of a type, and its name. */
struct image {
	struct { uint64_t table; uint32_t shared, weak; uint64_t word; } control;
	uint64_t type_of, table[2];
	uint64_t type[2];
	char name[64];
};

#define PLACE(member)	(START + offsetof(struct image, member))

static bool look(const char *name, uint32_t shared, uint32_t weak, struct shared_counts *ret)
{
	struct image image = { .control = { PLACE(table), shared, weak, 0 },
			       .type_of = PLACE(type), .type = { 0, PLACE(name) } };
	struct memory_array memory;

	snprintf(image.name, sizeof(image.name), "%s", name);
	memory_array_init(&memory, &image, START, sizeof(image));
	return shared_counts_read(&memory.memory, &memory.memory, START, ret);
}

TEST("counts of shared_ptr and weak_ptr")
{
	static const struct {
		const char *name;
		uint32_t shared, weak, weak_ret;
		bool is, within, last;
	} cases[] = {
		{ "St23_Sp_counted_ptr_inplaceI1T", 3, 2, 1, true, true, false },
		{ "St15_Sp_counted_ptrIP1TL", 2, 1, 0, true, false, false },
		{ "St19_Sp_counted_deleterIP1T", 1, 1, 0, true, false, true },
		{ "*St15_Sp_counted_ptrIP1TL", 1, 1, 0, true, false, false },
		{ "St15_Sp_counted_ptrIP1TL", 0, 2, 2, true, false, false },	/* only weak ones are left */
		{ "St15_Sp_counted_ptrIP1TL", 1, 0, 0, false, false, false },	/* nobody has it */
		{ "St15_Sp_counted_ptrIP1TL", 0x80000000, 1, 0, false, false, false },
		{ "St16_Sp_counted_base", 1, 1, 0, false, false, false },
		{ "7session", 1, 1, 0, false, false, false },
		{ "", 1, 1, 0, false, false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct shared_counts is = { .control = 0 };

		CU_ASSERT_EQUAL(look(cases[i].name, cases[i].shared, cases[i].weak, &is),
				cases[i].is);
		if (!cases[i].is)
			continue;
		CU_ASSERT(is.control == START && is.shared == cases[i].shared &&
			  is.weak == cases[i].weak_ret);
		CU_ASSERT(is.within == cases[i].within && is.last == cases[i].last);
	}
}

TEST("which word of it is the object's address")
{
	struct shared_counts plain = { .control = START }, last = { .control = START, .last = true };
	struct shared_counts within = { .control = START, .within = true };

	CU_ASSERT_TRUE(shared_counts_leads(&plain, 24, START + 16));
	CU_ASSERT_FALSE(shared_counts_leads(&plain, 40, START + 24));
	CU_ASSERT_TRUE(shared_counts_leads(&last, 32, START + 24));
	/* What a deleter has captured. */
	CU_ASSERT_FALSE(shared_counts_leads(&last, 32, START + 16));
	CU_ASSERT_FALSE(shared_counts_leads(&within, 24, START + 16));
}

TEST("wild pointers on the way to the name")
{
	struct image image = { .control = { PLACE(table), 1, 1, 0 }, .type_of = PLACE(type),
			       .type = { 0, PLACE(name) } };
	struct shared_counts is;
	struct memory_array memory;
	uint64_t *const wild[] = { &image.control.table, &image.type_of, &image.type[1] };

	memcpy(image.name, "St15_Sp_counted_ptrI", 21);
	memory_array_init(&memory, &image, START, sizeof(image));
	CU_ASSERT_TRUE(shared_counts_read(&memory.memory, &memory.memory, START, &is));
	for (size_t i = 0; i < ARRAY_SIZE(wild); i++) {
		static const uint64_t words[] = { 0, 1, 8, START - 8, UINT64_MAX, UINT64_MAX - 7 };
		uint64_t right = *wild[i];

		for (size_t j = 0; j < ARRAY_SIZE(words); j++) {
			*wild[i] = words[j];
			CU_ASSERT_FALSE(shared_counts_read(&memory.memory, &memory.memory, START, &is));
		}
		*wild[i] = right;
	}
}
