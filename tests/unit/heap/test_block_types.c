/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What blocks are by their bytes: classes by tables of virtual functions, and forms. */

#include <string.h>

#include "fixture.h"
#include "heap/block_types.h"
#include "words.h"

/* Places, in words: a class and its type, the class of types, code, names, blocks. */
enum { TABLE = 100, TYPE = 200, TYPES_TABLE = 220, CODE = 300, NAME = 400, BLOCK = 1000 };

static struct reach_ranges range_of(struct reach_range *at)
{
	return (struct reach_ranges){ .vec = { at, 1, 1 } };
}

static void make_table(struct words *in, unsigned place, uint64_t top, uint64_t type)
{
	in->word[place - 2] = top;
	in->word[place - 1] = type;
	in->word[place] = at(CODE);
}

static void make_class(struct words *in)
{
	make_table(in, TABLE, 0, at(TYPE));
	make_table(in, TYPES_TABLE, 0, 0);
	in->word[TYPE] = at(TYPES_TABLE);
	in->word[TYPE + 1] = at(NAME);
	memcpy(&in->word[NAME], "5Shape", 7);
}

static void add_block(struct packed_list *list, unsigned place, uint64_t size, uint32_t stack)
{
	struct block block = { .address = at(place), .size = size, .stack = stack };

	CU_ASSERT_PTR_NULL_FATAL(packed_add(list, &block));
	list->nr_outer = list->nr;
}

static void find(struct words *in, const struct packed_list *list, struct block_types *ret)
{
	struct reach_range constant = { at(TABLE - 2), at(BLOCK) }, code = { at(CODE), at(CODE + 8) };
	const struct block_types_source source = {
		.memory = &in->memory, .list = list, .constant = range_of(&constant),
		.code = range_of(&code),
	};

	CU_ASSERT_PTR_NULL_FATAL(block_types_find(&source, ret));
}

/* The class of one block whose first word leads there; NULL: it has none. */
static const char *class_of(struct words *in, uint64_t word, char ret[64])
{
	struct packed_list list = PACKED_INIT;
	struct block_types types;
	const char *name = NULL;

	in->word[BLOCK] = word;
	add_block(&list, BLOCK, 32, 1);
	find(in, &list, &types);
	if (types.kinds.nr == 1 && types.kinds.at[0].class) {
		name = types.classes.at[0].name;
		snprintf(ret, 64, "%s", name ? name : "");
		name = ret;
	}
	block_types_free(&types);
	packed_free(&list);
	return name;
}

TEST("a class by its table")
{
	struct words in;
	char name[64];

	words_open(&in);
	make_class(&in);
	CU_ASSERT_STRING_EQUAL(class_of(&in, at(TABLE), name), "5Shape");
	CU_ASSERT_PTR_NULL(class_of(&in, at(TABLE) + 4, name));
	CU_ASSERT_PTR_NULL(class_of(&in, at(TABLE + 1), name));
	CU_ASSERT_PTR_NULL(class_of(&in, at(CODE), name));
	CU_ASSERT_PTR_NULL(class_of(&in, at(TYPE), name));
	/* The table of a part of an object. */
	make_table(&in, TABLE, (uint64_t)-16, at(TYPE));
	CU_ASSERT_PTR_NULL(class_of(&in, at(TABLE), name));
	/* No type's object: only a symbol can name it. */
	make_table(&in, TABLE, 0, 0);
	CU_ASSERT_STRING_EQUAL(class_of(&in, at(TABLE), name), "");
	/* Something else in its place. */
	make_table(&in, TABLE, 0, at(NAME));
	CU_ASSERT_PTR_NULL(class_of(&in, at(TABLE), name));
	make_table(&in, TABLE, 0, at(TYPE));
	in.word[TABLE] = at(NAME);
	CU_ASSERT_PTR_NULL(class_of(&in, at(TABLE), name));
	/* In memory that can be written. */
	make_table(&in, BLOCK + 100, 0, at(TYPE));
	CU_ASSERT_PTR_NULL(class_of(&in, at(BLOCK + 100), name));
	free(in.word);
}

TEST("a class behind a header with its size, or behind a number of objects")
{
	struct words in;
	char name[64];

	words_open(&in);
	make_class(&in);
	for (unsigned i = 1; i < 4; i++) {
		in.word[BLOCK + i] = at(TABLE);
		CU_ASSERT_PTR_NULL(class_of(&in, 7, name));
		CU_ASSERT_STRING_EQUAL(class_of(&in, 32 - 8 * i, name), "5Shape");
		CU_ASSERT_STRING_EQUAL(class_of(&in, (32 - 8 * i) | 2, name), "5Shape");
		in.word[BLOCK + i] = 0;
	}
	CU_ASSERT_PTR_NULL(class_of(&in, 24, name));
	/* Three of 8 bytes; two would be larger; and one that is not there. */
	for (unsigned i = 1; i < 4; i++)
		in.word[BLOCK + i] = at(TABLE);
	CU_ASSERT_STRING_EQUAL(class_of(&in, 3, name), "5Shape");
	CU_ASSERT_PTR_NULL(class_of(&in, 2, name));
	in.word[BLOCK + 3] = at(TYPE);
	CU_ASSERT_PTR_NULL(class_of(&in, 3, name));
	free(in.word);
}

TEST("the form of what has a table without a type")
{
	struct packed_list list = PACKED_INIT;
	struct block_types types;
	struct words in;

	words_open(&in);
	make_table(&in, TABLE, 0, 0);
	in.word[BLOCK] = at(TABLE);
	in.word[BLOCK + 1] = at(BLOCK + 4);
	in.word[BLOCK + 2] = at(BLOCK + 16);
	add_block(&list, BLOCK, 128, 1);
	find(&in, &list, &types);
	CU_ASSERT_EQUAL_FATAL(types.kinds.nr, 1);
	CU_ASSERT_EQUAL(types.kinds.at[0].class, 1);
	CU_ASSERT_EQUAL(types.kinds.at[0].form, BLOCK_FORM_POOL);
	block_types_free(&types);
	packed_free(&list);
	free(in.word);
}

TEST("kinds")
{
	struct packed_list list = PACKED_INIT;
	struct block_types types;
	struct words in;

	words_open(&in);
	make_class(&in);
	for (unsigned i = 0; i < 4; i++) {
		in.word[BLOCK + 8 * i] = at(TABLE);
		add_block(&list, BLOCK + 8 * i, i == 3 ? 16 : 32, i == 2 ? 2 : 1);
	}
	find(&in, &list, &types);
	CU_ASSERT_EQUAL_FATAL(types.of.nr, 4);
	CU_ASSERT_EQUAL_FATAL(types.kinds.nr, 2);
	for (unsigned i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(types.of.at[i], i == 2);
	CU_ASSERT_EQUAL(types.kinds.at[1].stack, 2);
	CU_ASSERT_EQUAL(types.kinds.at[1].class, types.kinds.at[0].class);
	CU_ASSERT_EQUAL(types.classes.nr, 1);
	block_types_free(&types);
	/* What cannot be read is not known. */
	in.hole = at(BLOCK);
	in.hole_end = at(BLOCK + 8);
	find(&in, &list, &types);
	CU_ASSERT_EQUAL(types.unread, 1);
	CU_ASSERT_EQUAL(types.of.nr, 4);
	block_types_free(&types);
	packed_free(&list);
	free(in.word);
}

TEST("forms")
{
	static const struct {
		const char *bytes;
		uint64_t size;
		bool preattach;
		enum block_form form;
	} cases[] = {
		{ "eight ok", 9, false, BLOCK_FORM_TEXT },
		{ "eight ok", 24, false, BLOCK_FORM_NONE },	/* it may be a number */
		{ "eight ok", 24, true, BLOCK_FORM_TEXT },
		{ "eight ok", 32, true, BLOCK_FORM_NONE },
		{ "sixteen letters!", 40, false, BLOCK_FORM_TEXT },
		{ "sixteen letters!", 16, false, BLOCK_FORM_NONE },	/* no end */
		{ "z\xc3\xbcrich, z\xc3\xbcrich", 40, false, BLOCK_FORM_TEXT },
		{ "z\xc3.rich, zxxxxxrich", 40, false, BLOCK_FORM_NONE },
		{ "abc", 4, false, BLOCK_FORM_NONE },
		{ "", 40, false, BLOCK_FORM_ZEROS },
		{ "\5\5\1hello", 9, false, BLOCK_FORM_SDS },
		{ "\5\x0c\1hello", 9, false, BLOCK_FORM_SDS },
		{ "\5\5\2hello", 9, false, BLOCK_FORM_NONE },
		{ "\6\5\1hello", 9, false, BLOCK_FORM_NONE },
		{ "\xa0twenty letters of it", 22, false, BLOCK_FORM_SDS },
		{ "\xa0nineteen letters of", 22, false, BLOCK_FORM_NONE },
		{ "\xa0twenty letters of it", 64, false, BLOCK_FORM_NONE },
		{ "\5\5\1hel\1o", 9, false, BLOCK_FORM_NONE },
		{ "\3\3\1abc", 7, false, BLOCK_FORM_NONE },	/* it may be a number */
		{ "\5\0\5\0\2hello", 11, false, BLOCK_FORM_NONE },	/* too wide a header */
		{ "\5\5\1hello", 64, false, BLOCK_FORM_NONE },	/* the room is another one */
	};
	struct packed_list list = PACKED_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct packed_block block = { .address = at(1), .size = (uint32_t)cases[i].size,
					      .preattach = cases[i].preattach };
		uint8_t bytes[64] = { 0 };

		memcpy(bytes, cases[i].bytes, strlen(cases[i].bytes));
		CU_ASSERT_EQUAL(block_form_of(&list, &block, bytes, cases[i].size), cases[i].form);
	}
}

TEST("arrays of pointers")
{
	struct packed_list list = PACKED_INIT;
	uint64_t word[8] = { at(10), 0, at(20), at(30), at(10), 0, 0, 0 };

	for (unsigned i = 1; i <= 4; i++)
		add_block(&list, i * 10, 64, 1);
	CU_ASSERT_EQUAL(block_form_of(&list, packed_at(&list, 0), (uint8_t *)word, 64),
			BLOCK_FORM_POINTERS);
	word[7] = at(30) + 8;	/* the inside of one */
	CU_ASSERT_EQUAL(block_form_of(&list, packed_at(&list, 0), (uint8_t *)word, 64),
			BLOCK_FORM_NONE);
	word[7] = word[4] = 0;
	CU_ASSERT_EQUAL(block_form_of(&list, packed_at(&list, 0), (uint8_t *)word, 64),
			BLOCK_FORM_NONE);
	CU_ASSERT_STRING_EQUAL(block_form_name(BLOCK_FORM_POINTERS), "pointers");
	packed_free(&list);
}

TEST("pools")
{
	struct packed_list list = PACKED_INIT;
	struct packed_block *block;
	uint64_t word[64] = { 7, at(10) + 40, at(10) + 512 };

	add_block(&list, 10, 512, 1);
	block = packed_at(&list, 0);
	CU_ASSERT_EQUAL(block_form_of(&list, block, (uint8_t *)word, 512), BLOCK_FORM_POOL);
	word[2] -= 8;			/* not its end, unless that is not known so exactly */
	CU_ASSERT_EQUAL(block_form_of(&list, block, (uint8_t *)word, 512), BLOCK_FORM_NONE);
	block->preattach = 1;
	CU_ASSERT_EQUAL(block_form_of(&list, block, (uint8_t *)word, 512), BLOCK_FORM_POOL);
	word[1] = at(10);		/* no place behind these words */
	CU_ASSERT_EQUAL(block_form_of(&list, block, (uint8_t *)word, 512), BLOCK_FORM_NONE);
	/* A context has its first block in its own, which leads back. */
	word[26] = word[27] = at(10) + 512;
	CU_ASSERT_EQUAL(block_form_of(&list, block, (uint8_t *)word, 512), BLOCK_FORM_NONE);
	word[23] = at(10);
	CU_ASSERT_EQUAL(block_form_of(&list, block, (uint8_t *)word, 512), BLOCK_FORM_POOL);
	/* Its size behind a header, which has it as well, and a flag. */
	memset(word, 0, sizeof(word));
	word[1] = 488 | 2;
	word[5] = 488;
	CU_ASSERT_EQUAL(block_form_of(&list, block, (uint8_t *)word, 512), BLOCK_FORM_POOL);
	word[5] = 480;
	CU_ASSERT_EQUAL(block_form_of(&list, block, (uint8_t *)word, 512), BLOCK_FORM_NONE);
	packed_free(&list);
}
