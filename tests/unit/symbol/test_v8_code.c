/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of code that V8 has compiled, from a heap of a few objects. */

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "os/procparse.h"
#include "symbol/v8_code.h"
#include "unit.h"

#define BASE	0x100000ull
#define WORDS	1024u

/* Places of the objects, in words. */
enum {
	META = 8, STREAM_MAP = 16, CODE_MAP = 24, ARRAY_MAP = 32, SHARED_MAP = 40, SCOPE_MAP = 48,
	SCRIPT_MAP = 56, STRING_MAP = 64, STREAM = 126, CODE = 200, ARRAY = 240, SHARED = 280,
	SCOPE = 320, SCRIPT = 360, NAME = 400, PATH = 440,
};

enum { TYPE_STREAM = 200, TYPE_CODE, TYPE_ARRAY, TYPE_SHARED, TYPE_SCOPE, TYPE_SCRIPT };

#define tagged(word)	(BASE + (word) * 8 + 1)
#define INSTRUCTIONS	(BASE + (STREAM + 2) * 8)
#define CALLED		(INSTRUCTIONS + 37)
#define OPTIMISED	1u
#define BASELINE	11u

static const struct v8_layout layout = {
	.instance_type = 12, .stream_start = 16, .code_deopt = 16, .deopt_function = 6,
	.array_data = 16, .shared_data = 8, .shared_name = 16, .shared_script = 32,
	.script_name = 16, .string_length = 12, .string_chars = 16, .kind_mask = 15,
	.kind_baseline = BASELINE, .not_string = -128, .representation = 7, .encoding = 8,
	.one_byte = 8, .stream_type = TYPE_STREAM, .code_type = TYPE_CODE,
	.array_type = TYPE_ARRAY, .shared_type = TYPE_SHARED, .scope_type = TYPE_SCOPE,
	.script_type = TYPE_SCRIPT,
};

struct heap {
	struct memory memory;
	struct proc_map map;
	struct proc_maps maps;
	struct v8_code v8;
	uint64_t word[WORDS];
};

static struct err *heap_read(struct memory *memory, uint64_t addr, void *buf, size_t len,
			     size_t *len_ret)
{
	struct heap *heap = (struct heap *)memory;

	if (addr < BASE || addr >= BASE + sizeof(heap->word))
		return err_create(ERR_MEMORY, "no memory");
	*len_ret = MIN(len, (size_t)(BASE + sizeof(heap->word) - addr));
	memcpy(buf, (const uint8_t *)heap->word + (addr - BASE), *len_ret);
	return NULL;
}

static void add_map(struct heap *heap, unsigned word, uint16_t type)
{
	heap->word[word] = tagged(META);
	heap->word[word + 1] = (uint64_t)type << 32;
}

static void add_string(struct heap *heap, unsigned word, const char *text)
{
	heap->word[word] = tagged(STRING_MAP);
	heap->word[word + 1] = (uint64_t)strlen(text) << 32;
	memcpy(&heap->word[word + 2], text, strlen(text));
}

static void add_function(struct heap *heap)
{
	heap->word[SHARED] = tagged(SHARED_MAP);
	heap->word[SHARED + 1] = tagged(CODE);
	heap->word[SHARED + 2] = tagged(SCOPE);
	heap->word[SHARED + 4] = tagged(SCRIPT);
	heap->word[SCOPE] = tagged(SCOPE_MAP);
	heap->word[SCOPE + 3] = 2ull << 32;		/* two locals, a word and a fact of each */
	heap->word[SCOPE + 8] = tagged(NAME);
	heap->word[SCRIPT] = tagged(SCRIPT_MAP);
	heap->word[SCRIPT + 2] = tagged(PATH);
	add_string(heap, NAME, "readChunk");
	add_string(heap, PATH, "/srv/app/serve.js");
}

static struct heap *heap_open(uint32_t kind)
{
	static const uint8_t call[] = { 0xe8, 0, 1, 0, 0 };
	struct heap *heap = calloc(1, sizeof(*heap));

	CU_ASSERT_PTR_NOT_NULL_FATAL(heap);
	heap->memory.read = heap_read;
	heap->map = (struct proc_map){ .start = BASE, .end = BASE + sizeof(heap->word), .write = true,
				       .path = (char *)"" };
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&heap->maps.vec, heap->map));
	add_map(heap, META, 1);
	for (unsigned i = 0; i < 6; i++)
		add_map(heap, STREAM_MAP + 8 * i, (uint16_t)(TYPE_STREAM + i));
	add_map(heap, STRING_MAP, layout.one_byte);
	heap->word[STREAM] = tagged(STREAM_MAP);
	heap->word[STREAM + 1] = tagged(CODE);
	memcpy((uint8_t *)heap->word + (CALLED - BASE) - sizeof(call), call, sizeof(call));
	heap->word[CODE] = tagged(CODE_MAP);
	heap->word[CODE + 2] = tagged(ARRAY);
	heap->word[CODE + 4] = tagged(STREAM);
	heap->word[CODE + 5] = INSTRUCTIONS;
	heap->word[CODE + 6] = kind;
	heap->word[CODE + 7] = 64;
	heap->word[ARRAY] = tagged(ARRAY_MAP);
	heap->word[ARRAY + 2 + 6] = tagged(SHARED);
	add_function(heap);
	heap->v8 = (struct v8_code){ .layout = layout, .known = true, .arch = arch_host(),
				     .memory = &heap->memory };
	return heap;
}

static void heap_close(struct heap *heap)
{
	v8_code_forget(&heap->v8);
	vec_free(&heap->maps.vec);
	free(heap);
}

static bool names(struct heap *heap, uint64_t pc, struct v8_name *ret)
{
	v8_code_forget(&heap->v8);
	return v8_code_name(&heap->v8, &heap->maps, pc, ret);
}

TEST("function and script, by deoptimization data and by what a function is run by")
{
	static const uint32_t kinds[] = { OPTIMISED, BASELINE };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct heap *heap = heap_open(kinds[i]);
		struct v8_name name;

		CU_ASSERT_FATAL(names(heap, CALLED, &name));
		CU_ASSERT_STRING_EQUAL(name.function, "readChunk");
		CU_ASSERT_STRING_EQUAL(name.script, "serve.js");
		CU_ASSERT_EQUAL(name.start, INSTRUCTIONS);
		heap->word[SCOPE + 8] = 0;
		CU_ASSERT_FATAL(names(heap, CALLED, &name));
		CU_ASSERT_STRING_EQUAL(name.function, "(anonymous)");
		heap->word[SCRIPT] = 0;
		CU_ASSERT_FATAL(names(heap, CALLED, &name));
		CU_ASSERT_STRING_EQUAL(name.script, "");
		heap_close(heap);
	}
}

/* What does not fit has no name. */
TEST("not known")
{
	static const struct {
		unsigned word;
		uint64_t value;
	} cases[] = {
		{ META, BASE + 1 }, { STREAM_MAP + 1, 7ull << 32 }, { STREAM, 0 },
		{ STREAM + 1, BASE + CODE * 8 }, { STREAM + 1, tagged(NAME) },
		{ CODE + 4, tagged(CODE) }, { CODE + 5, INSTRUCTIONS + 1 }, { CODE + 7, 30 },
		{ ARRAY, 0 }, { ARRAY + 8, tagged(SCRIPT) }, { ARRAY + 8, UINT64_MAX },
		{ SHARED + 2, tagged(SCRIPT) }, { SCOPE + 3, UINT64_MAX },
	};
	struct v8_name name;
	struct heap *heap;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		heap = heap_open(OPTIMISED);
		heap->word[cases[i].word] = cases[i].value;
		CU_ASSERT_FALSE(names(heap, CALLED, &name));
		heap_close(heap);
	}
	heap = heap_open(OPTIMISED);
	CU_ASSERT_FALSE(names(heap, CALLED + 1, &name));	/* no call is before it */
	CU_ASSERT_FALSE(names(heap, BASE + sizeof(heap->word) + 64, &name));
	heap->v8.known = false;
	CU_ASSERT_FALSE(names(heap, CALLED, &name));
	heap_close(heap);
	heap = heap_open(BASELINE);
	heap->word[SHARED + 1] = tagged(NAME);
	CU_ASSERT_FALSE(names(heap, CALLED, &name));
	heap_close(heap);
}
