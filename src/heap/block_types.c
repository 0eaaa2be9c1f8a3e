/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds what blocks are (block_types.h). */

#include "heap/block_types.h"

#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "heap/reach/form.h"
#include "heap/reach/page_cache.h"
#include "heap/redis_form.h"
#include "heap/zero_form.h"

#define WORD		8u
#define NOT_ASKED	0u
#define NO_CLASS	1u	/* classes follow */
#define CLASSES_MAX	(1u << 27)
#define CANCEL_EACH	4096u	/* blocks */
#define HEADER_MOST	(4 * WORD)
#define ROUNDED_UP	15u	/* a block in no record may be this much longer than what was asked for */

struct finder {
	const struct block_types_source *source;
	struct block_types *ret;
	struct page_reader reader;	/* of the blocks, in order of address, ... */
	struct page_cache others;	/* ... and of what they point to */
	struct interner words;		/* first words that lead to constant memory */
	VEC(uint32_t) known;		/* by their numbers: NOT_ASKED, NO_CLASS, class + 2 */
	VEC(uint32_t) python;		/* by the index of the type: class + 2 */
	struct interner keys;		/* of the kinds */
	uint8_t bytes[BLOCK_FORM_READ];
};

static bool is_in(const struct reach_ranges *ranges, uint64_t address)
{
	size_t low = LOWER_BOUND(i, 0, ranges->vec.nr, ranges->vec.at[i].end <= address);

	return low < ranges->vec.nr && ranges->vec.at[low].start <= address;
}

/* 0, the object of the type, which goes to *type_ret, and code. */
static bool is_table(const struct finder *finder, uint64_t address, uint64_t *type_ret)
{
	uint64_t word[3];

	if (address % WORD || address < 2 * WORD ||
	    memory_read(finder->source->memory, address - 2 * WORD, word, sizeof(word)))
		return false;
	*type_ret = word[1];
	return !word[0] && is_in(&finder->source->code, word[2]);
}

/* *ret is without a name if there is no object of the type. */
static struct err *read_class(const struct finder *finder, uint64_t table, struct block_class *ret,
			      bool *is_ret)
{
	uint64_t type, word[2], type_of_type;
	char name[BLOCK_CLASS_NAME];

	*ret = (struct block_class){ .table = table };
	*is_ret = is_table(finder, table, &type);
	if (!*is_ret || !type)
		return NULL;
	*is_ret = type % WORD == 0 &&
		  !memory_read(finder->source->memory, type, word, sizeof(word)) &&
		  is_table(finder, word[0], &type_of_type) &&
		  is_in(&finder->source->constant, word[1]);
	if (!*is_ret)
		return NULL;
	ret->name_at = word[1];
	if (memory_read_string(finder->source->memory, word[1], name, sizeof(name)))
		return NULL;	/* it may be in the file */
	ret->name = strdup(name);
	return ret->name ? NULL : err_nomem;
}

static struct err *add_class(struct finder *finder, const struct block_class *class,
			     uint32_t *ret)
{
	struct err *err = NULL;

	*ret = NO_CLASS;
	if (finder->ret->classes.nr < CLASSES_MAX) {
		err = vec_push(&finder->ret->classes, *class);
		if (!err) {
			*ret = (uint32_t)finder->ret->classes.nr + NO_CLASS;
			return NULL;
		}
	}
	free(class->name);
	return err;
}

static struct err *class_of_word(struct finder *finder, uint64_t word, uint32_t *ret)
{
	struct block_class class;
	uint32_t number, *known;
	struct err *err;
	bool is;

	*ret = NO_CLASS;
	if (!is_in(&finder->source->constant, word))
		return NULL;
	err = interner_number(&finder->words, word, &number);
	if (err)
		return err;
	known = vec_slot(&finder->known, number);
	if (!known)
		return err_nomem;
	if (*known == NOT_ASKED) {
		*known = NO_CLASS;
		err = read_class(finder, word, &class, &is);
		if (!err && is)
			err = add_class(finder, &class, known);
	}
	*ret = *known;
	return err;
}

static struct err *class_of_python(struct finder *finder, size_t len, uint32_t *ret)
{
	struct block_class class = { .table = 0 };
	struct err *err;
	uint16_t type;
	uint32_t *known;

	*ret = NO_CLASS;
	if (!finder->source->type_type)
		return NULL;
	err = pyobjects_type(&finder->ret->python, finder->source->memory,
			     finder->source->type_type, finder->bytes, (uint32_t)len, &type);
	if (err || !type)
		return err;
	known = vec_slot(&finder->python, type);
	if (!known)
		return err_nomem;
	class.python = type;
	if (*known == NOT_ASKED)
		err = add_class(finder, &class, known);
	*ret = *known;
	return err;
}

static struct err *add_kind(struct finder *finder, uint32_t stack, uint32_t class,
			    enum block_form form)
{
	uint64_t key = (uint64_t)(class - NO_CLASS) << 36 | (uint64_t)form << 32 | stack;
	struct block_types *ret = finder->ret;
	struct err *err;
	uint32_t number;

	err = interner_number(&finder->keys, key, &number);
	if (!err && number == ret->kinds.nr)
		err = vec_push(&ret->kinds, ((struct block_kind){
			.class = class - NO_CLASS, .form = form, .stack = stack }));
	return err ? err : vec_push(&ret->of, number);
}

/* Objects side by side, behind their number: as new T[n] makes them of a T that has a destructor. */
static bool is_array(const struct finder *finder, const struct block *block, size_t len)
{
	uint64_t rest = block->size - WORD, nr, table, other, size;

	memcpy(&nr, finder->bytes, sizeof(nr));
	memcpy(&table, finder->bytes + WORD, sizeof(table));
	if (nr < 2 || nr > rest / WORD)
		return false;
	size = rest / nr / WORD * WORD;
	if (rest - size * nr > (block->preattach ? ROUNDED_UP : 0))
		return false;
	for (uint64_t i = 1; i < nr && i * size + 2 * WORD <= len; i++) {
		memcpy(&other, finder->bytes + WORD + i * size, sizeof(other));
		if (other != table)
			return false;
	}
	return true;
}

/* Without an object of its type it may be a struct of C, unless a symbol names the table. */
static bool is_nameless(const struct finder *finder, uint32_t class)
{
	return class == NO_CLASS || (finder->ret->classes.at[class - NO_CLASS - 1].table &&
				     !finder->ret->classes.at[class - NO_CLASS - 1].name_at);
}

/* Behind their number, or behind a header with their size, as MariaDB's my_malloc adds one? */
static bool is_behind(struct finder *finder, const struct block *block, size_t len, size_t at)
{
	return (at == WORD && is_array(finder, block, len)) ||
	       form_of(&finder->others.memory, block, at) == FORM_SIZED;
}

static struct err *class_of_block(struct finder *finder, size_t i, size_t len, uint32_t *ret)
{
	struct block block = packed_block(finder->source->list, i);
	struct err *err = NULL;
	uint64_t word;

	*ret = NO_CLASS;
	for (size_t at = 0; !err && *ret == NO_CLASS && at <= HEADER_MOST && at + WORD <= len; at += WORD) {
		memcpy(&word, finder->bytes + at, sizeof(word));
		if (!at || (is_in(&finder->source->constant, word) && is_behind(finder, &block, len, at)))
			err = class_of_word(finder, word, ret);
	}
	return err;
}

static enum block_form form_of_block(struct finder *finder, size_t i, size_t len)
{
	const struct packed_list *list = finder->source->list;
	const struct packed_block *packed = packed_at(list, i);
	enum block_form form = block_form_of(list, packed, finder->bytes, len);
	/* Small blocks are many, and lie together; of a large one, what was never written is left out. */
	struct memory *memory = len < BLOCK_FORM_READ ? &finder->others.memory : finder->source->memory;

	if (form == BLOCK_FORM_NONE)
		form = redis_form_of(&finder->others.memory, list, packed, finder->bytes, len);
	return form == BLOCK_FORM_NONE ? zero_form_of(memory, list, i) : form;
}

static struct err *take(struct finder *finder, size_t i)
{
	const struct block_types_source *source = finder->source;
	const struct packed_block *packed = packed_at(source->list, i);
	uint64_t size = packed_size(source->list, packed);
	size_t want = (size_t)MIN(size, BLOCK_FORM_READ), len = 0;
	enum block_form form = BLOCK_FORM_NONE;
	uint32_t class;
	struct err *err;

	if (want && memory_read_some(&finder->reader.memory, packed->address, finder->bytes, want,
				     &len))
		len = 0;
	finder->ret->unread += want && !len;
	err = class_of_block(finder, i, len, &class);
	if (!err && class == NO_CLASS && len)
		err = class_of_python(finder, len, &class);
	if (!err && is_nameless(finder, class) && len && len == want)
		form = form_of_block(finder, i, len);
	return err ? err : add_kind(finder, packed->stack, class, form);
}

struct err *block_types_find(const struct block_types_source *source, struct block_types *ret)
{
	struct finder *finder = calloc(1, sizeof(*finder));
	struct err *err;

	*ret = (struct block_types){ .unread = 0 };
	if (!finder)
		return err_nomem;
	finder->source = source;
	finder->ret = ret;
	page_reader_init(&finder->reader, source->memory);
	page_cache_init(&finder->others, source->memory);
	err = pyobjects_begin(&ret->python);
	if (!err)
		err = vec_reserve(&ret->of, source->list->nr);
	for (size_t i = 0; !err && i < source->list->nr; i++) {
		err = take(finder, i);
		if (!err && i % CANCEL_EACH == 0)
			err = cancel_check();
	}
	interner_free(&finder->words);
	interner_free(&finder->keys);
	vec_free(&finder->known);
	vec_free(&finder->python);
	free(finder);
	return err;
}

void block_types_free(struct block_types *types)
{
	vec_each(class, &types->classes)
		free(class->name);
	vec_free(&types->classes);
	vec_free(&types->kinds);
	vec_free(&types->of);
	pyobjects_free(&types->python);
}
