/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tcl values: dicts with numbers and text. */

#include "cmd/values.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "heap/block.h"

void dict_heap(Tcl_Obj *dict, const char *key, uint16_t heap)
{
	const char *name = heap_name(heap);

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
static Tcl_Obj *value_number(uint64_t value)
{
	return value <= INT64_MAX ? Tcl_NewWideIntObj((Tcl_WideInt)value) :
				    Tcl_ObjPrintf("%" PRIu64, value);
}

Tcl_Obj *value_address(uint64_t address)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	return Tcl_NewStringObj(text, -1);
}

void dict_number(Tcl_Obj *dict, const char *key, uint64_t value)
{
	dict_value(dict, key, value_number(value));
}

void dict_double(Tcl_Obj *dict, const char *key, double value)
{
	dict_value(dict, key, Tcl_NewDoubleObj(value));
}

void dict_address(Tcl_Obj *dict, const char *key, uint64_t address)
{
	dict_value(dict, key, value_address(address));
}

void dict_address_or_none(Tcl_Obj *dict, const char *key, uint64_t address)
{
	dict_value(dict, key, address ? value_address(address) : Tcl_NewStringObj("-", -1));
}

enum shared_kind { SHARED_NUMBER, SHARED_ADDRESS, SHARED_TEXT };

struct err *dicts_init(struct dicts *dicts)
{
	memset(dicts, 0, sizeof(*dicts));
	dicts->shared = calloc(DICTS_SHARED, sizeof(*dicts->shared));
	return dicts->shared ? NULL : err_nomem;
}

void dicts_free(struct dicts *dicts)
{
	for (int i = 0; i < dicts->nr_keys; i++)
		Tcl_DecrRefCount(dicts->word[2 * i]);
	if (dicts->word)
		ckfree(dicts->word);
	for (size_t i = 0; dicts->shared && i < DICTS_SHARED; i++)
		if (dicts->shared[i].obj)
			Tcl_DecrRefCount(dicts->shared[i].obj);
	free(dicts->shared);
	memset(dicts, 0, sizeof(*dicts));
}

static void add_key(struct dicts *dicts, const char *key)
{
	size_t nr = (size_t)dicts->nr_keys++;

	dicts->word = ckrealloc(dicts->word, 2 * (nr + 1) * sizeof(*dicts->word));
	dicts->word[2 * nr] = Tcl_NewStringObj(key, -1);
	Tcl_IncrRefCount(dicts->word[2 * nr]);
}

void dicts_value(struct dicts *dicts, const char *key, Tcl_Obj *value)
{
	int i = dicts->nr++;

	if (i == dicts->nr_keys)
		add_key(dicts, key);
	/*
	 * The reference is kept because a later value may replace this one among the shared ones.
	 */
	Tcl_IncrRefCount(value);
	dicts->word[2 * i + 1] = value;
}

Tcl_Obj *dicts_end(struct dicts *dicts)
{
	Tcl_Obj *dict = Tcl_NewListObj(2 * dicts->nr, dicts->word);

	for (int i = 0; i < dicts->nr; i++)
		Tcl_DecrRefCount(dicts->word[2 * i + 1]);
	dicts->nr = 0;
	return dict;
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

void dicts_text(struct dicts *dicts, const char *key, const char *text)
{
	uint64_t hash = sum_bytes(0, text, strlen(text));
	struct shared_value *at = shared_at(dicts, SHARED_TEXT, hash);
	bool known = is_shared(at, SHARED_TEXT, hash) && !strcmp(Tcl_GetString(at->obj), text);

	dicts_value(dicts, key, known ? at->obj : share(at, SHARED_TEXT, hash,
						     Tcl_NewStringObj(text, -1)));
}

void dicts_number(struct dicts *dicts, const char *key, uint64_t value)
{
	struct shared_value *at = shared_at(dicts, SHARED_NUMBER, value);
	bool known = is_shared(at, SHARED_NUMBER, value);

	dicts_value(dicts, key, known ? at->obj : share(at, SHARED_NUMBER, value,
						     value_number(value)));
}

void dicts_address(struct dicts *dicts, const char *key, uint64_t address)
{
	struct shared_value *at = shared_at(dicts, SHARED_ADDRESS, address);
	bool known = is_shared(at, SHARED_ADDRESS, address);

	dicts_value(dicts, key, known ? at->obj : share(at, SHARED_ADDRESS, address,
						     value_address(address)));
}

void dicts_double(struct dicts *dicts, const char *key, double value)
{
	dicts_value(dicts, key, Tcl_NewDoubleObj(value));
}

void dicts_heap(struct dicts *dicts, const char *key, uint16_t heap)
{
	const char *name = heap_name(heap);

	if (name)
		dicts_text(dicts, key, name);
	else
		dicts_number(dicts, key, heap);
}
