/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tcl values: dicts with numbers and text. */

#include "cmd/shell/dict.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "heap/block.h"

void dict_heap(Tcl_Obj *dict, const char *key, uint16_t heap)
{
	const char *name = block_heap_name(heap);

	if (name)
		dict_text(dict, key, name);
	else
		dict_number(dict, key, heap);
}

void dict_value(Tcl_Obj *dict, const char *key, Tcl_Obj *value)
{
	Tcl_DictObjPut(NULL, dict, Tcl_NewStringObj(key, -1), value);
}

void dict_text(Tcl_Obj *dict, const char *key, const char *text)
{
	dict_value(dict, key, Tcl_NewStringObj(text ? text : "", -1));
}

/*
 * Tcl_WideInt is signed. A number that does not fit into it (an address in the upper half of the
 * address space) becomes a string that Tcl reads as a number.
 */
Tcl_Obj *dict_value_number(uint64_t value)
{
	return value <= INT64_MAX ? Tcl_NewWideIntObj((Tcl_WideInt)value) :
				    Tcl_ObjPrintf("%" PRIu64, value);
}

Tcl_Obj *dict_value_address(uint64_t address)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	return Tcl_NewStringObj(text, -1);
}

void dict_number(Tcl_Obj *dict, const char *key, uint64_t value)
{
	dict_value(dict, key, dict_value_number(value));
}

void dict_double(Tcl_Obj *dict, const char *key, double value)
{
	dict_value(dict, key, Tcl_NewDoubleObj(value));
}

void dict_address(Tcl_Obj *dict, const char *key, uint64_t address)
{
	dict_value(dict, key, dict_value_address(address));
}

/* How the value of an integer is made. */
enum shared_kind { SHARED_NUMBER, SHARED_ADDRESS, SHARED_TEXT };

static Tcl_Obj *integer_value(enum shared_kind kind, uint64_t number)
{
	return kind == SHARED_ADDRESS ? dict_value_address(number) : dict_value_number(number);
}

/* The place where a value is kept until another one takes its place. */
static struct shared_value *shared_at(struct dicts *dicts, enum shared_kind kind, uint64_t bits)
{
	uint64_t hash = (bits ^ (uint64_t)kind << 62) * 0x9e3779b97f4a7c15ull;

	return &dicts->shared[hash >> 32 & (DICTS_SHARED - 1)];
}

static Tcl_Obj *share(struct shared_value *at, enum shared_kind kind, uint64_t bits, Tcl_Obj *obj)
{
	Tcl_IncrRefCount(obj);
	if (at->obj)
		Tcl_DecrRefCount(at->obj);
	*at = (struct shared_value){ bits, obj, kind };
	return obj;
}

static bool is_shared(const struct shared_value *at, enum shared_kind kind, uint64_t bits)
{
	return at->obj && at->kind == (int)kind && at->bits == bits;
}

/* dicts may be NULL: then the value is shared with nobody. */
static Tcl_Obj *text_value(struct dicts *dicts, const char *text)
{
	uint64_t hash;
	struct shared_value *at;

	if (!dicts)
		return Tcl_NewStringObj(text, -1);
	hash = hash_bytes(text, strlen(text));
	at = shared_at(dicts, SHARED_TEXT, hash);
	return is_shared(at, SHARED_TEXT, hash) && !strcmp(Tcl_GetString(at->obj), text) ?
		       at->obj : share(at, SHARED_TEXT, hash, Tcl_NewStringObj(text, -1));
}

static Tcl_Obj *shared_integer(struct dicts *dicts, enum shared_kind kind, uint64_t number)
{
	struct shared_value *at = dicts ? shared_at(dicts, kind, number) : NULL;

	if (!at)
		return integer_value(kind, number);
	return is_shared(at, kind, number) ? at->obj :
		       share(at, kind, number, integer_value(kind, number));
}

static Tcl_Obj *dict_of(const struct relation *relation, const void *row);

/* The dict of a row, or the one that was made of it before; dicts may be NULL. */
static Tcl_Obj *nested_value(struct dicts *dicts, const struct relation *relation, const void *row)
{
	Tcl_HashEntry *entry;
	Tcl_Obj *dict;
	int is_new;

	if (!dicts || !relation->shared)
		return dict_of(relation, row);
	entry = Tcl_CreateHashEntry(&dicts->rows, row, &is_new);
	if (!is_new)
		return Tcl_GetHashValue(entry);
	dict = dict_of(relation, row);
	Tcl_IncrRefCount(dict);
	Tcl_SetHashValue(entry, dict);
	return dict;
}

/* The rows are in an array, so they cannot fail. */
static Tcl_Obj *rows_value(struct dicts *dicts, const struct answer *rows)
{
	Tcl_Obj *list = Tcl_NewObj();
	struct answer left = *rows;
	const void *row;

	while (!answer_next(&left, &row) && row)
		Tcl_ListObjAppendElement(NULL, list, nested_value(dicts, rows->of, row));
	return list;
}

static Tcl_Obj *column_value_of(struct dicts *dicts, const struct column *column,
				const struct column_value *is)
{
	const char *heap;

	if (!is->known)
		return text_value(dicts, column->flags & COLUMN_EMPTY ? "" : "-");
	switch (column->kind) {
	case COLUMN_NUMBER:
	case COLUMN_BYTES:
	case COLUMN_STACK:
		return shared_integer(dicts, SHARED_NUMBER, is->number);
	case COLUMN_ADDRESS:
		return shared_integer(dicts, SHARED_ADDRESS, is->number);
	case COLUMN_CHANGE:
		return Tcl_NewWideIntObj((Tcl_WideInt)is->number);
	case COLUMN_HEAP:
		heap = block_heap_name((uint16_t)is->number);
		return heap ? text_value(dicts, heap) :
			      shared_integer(dicts, SHARED_NUMBER, is->number);
	case COLUMN_TEXT:
		return text_value(dicts, is->text);
	case COLUMN_ROWS:
		return rows_value(dicts, is->rows);
	case COLUMN_AGE:
	case COLUMN_TIME:
	case COLUMN_REAL:
		break;
	}
	return Tcl_NewDoubleObj(is->real);
}

/* Is there a key for this value in the dict of its row? */
static bool is_in_dict(const struct column *column, const struct column_value *is)
{
	return !(column->flags & COLUMN_NOT_IN_TCL) &&
	       (is->known || !(column->flags & COLUMN_ABSENT));
}

static Tcl_Obj *dict_of(const struct relation *relation, const void *row)
{
	Tcl_Obj *dict = Tcl_NewDictObj();

	for (size_t i = 0; i < relation->nr; i++) {
		const struct column *column = &relation->columns[i];
		const struct column_value is = column_get(column, row);

		if (is_in_dict(column, &is))
			dict_value(dict, column->key, column_value_of(NULL, column, &is));
	}
	return dict;
}

struct err *dicts_init(struct dicts *dicts, const struct relation *relation)
{
	*dicts = (struct dicts){
		.relation = relation,
		.keys = calloc(relation->nr, sizeof(*dicts->keys)),
		.word = calloc(2 * relation->nr, sizeof(*dicts->word)),
		.shared = calloc(DICTS_SHARED, sizeof(*dicts->shared)),
	};
	Tcl_InitHashTable(&dicts->rows, TCL_ONE_WORD_KEYS);
	if (!dicts->keys || !dicts->word || !dicts->shared)
		return err_nomem;
	for (size_t i = 0; i < relation->nr; i++) {
		dicts->keys[i] = Tcl_NewStringObj(relation->columns[i].key, -1);
		Tcl_IncrRefCount(dicts->keys[i]);
	}
	return NULL;
}

static void free_rows(Tcl_HashTable *rows)
{
	Tcl_HashSearch search;

	for (Tcl_HashEntry *entry = Tcl_FirstHashEntry(rows, &search); entry;
	     entry = Tcl_NextHashEntry(&search))
		Tcl_DecrRefCount((Tcl_Obj *)Tcl_GetHashValue(entry));
	Tcl_DeleteHashTable(rows);
}

void dicts_free(struct dicts *dicts)
{
	if (!dicts->relation)
		return;
	free_rows(&dicts->rows);
	for (size_t i = 0; dicts->keys && i < dicts->relation->nr; i++)
		if (dicts->keys[i])
			Tcl_DecrRefCount(dicts->keys[i]);
	for (size_t i = 0; dicts->shared && i < DICTS_SHARED; i++)
		if (dicts->shared[i].obj)
			Tcl_DecrRefCount(dicts->shared[i].obj);
	free(dicts->keys);
	free(dicts->word);
	free(dicts->shared);
	memset(dicts, 0, sizeof(*dicts));
}

Tcl_Obj *dicts_row(struct dicts *dicts, const void *row)
{
	const struct relation *relation = dicts->relation;
	Tcl_Obj *dict;
	int nr = 0;

	for (size_t i = 0; i < relation->nr; i++) {
		const struct column *column = &relation->columns[i];
		const struct column_value is = column_get(column, row);

		if (!is_in_dict(column, &is))
			continue;
		dicts->word[nr++] = dicts->keys[i];
		dicts->word[nr] = column_value_of(dicts, column, &is);
		/*
		 * The reference is kept because a later value may replace this one among the shared
		 * ones.
		 */
		Tcl_IncrRefCount(dicts->word[nr++]);
	}
	dict = Tcl_NewListObj(nr, dicts->word);
	for (int i = 1; i < nr; i += 2)
		Tcl_DecrRefCount(dicts->word[i]);
	return dict;
}
