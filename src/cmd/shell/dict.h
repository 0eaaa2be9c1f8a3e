/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tcl values: dicts with numbers and text, one by one or many with the same keys. */
#pragma once

#include <stdint.h>
#include <tcl.h>

#include "answer/answer.h"
#include "base/compiler.h"
#include "base/err.h"

/* dict must not be shared. Text that is no UTF-8 is read byte by byte as Latin-1, as Tcl does. */
void dict_text(Tcl_Obj *dict, const char *key, const char *text);
void dict_number(Tcl_Obj *dict, const char *key, uint64_t value);
void dict_double(Tcl_Obj *dict, const char *key, double value);
/* The value is "0x" and hex digits, as addresses are written everywhere. */
void dict_address(Tcl_Obj *dict, const char *key, uint64_t address);
/* The value is a number, or "mmap", "user", "-" (block_heap_name). */
void dict_heap(Tcl_Obj *dict, const char *key, uint16_t heap);
void dict_value(Tcl_Obj *dict, const char *key, Tcl_Obj *value);
Tcl_Obj *dict_value_number(uint64_t value);
Tcl_Obj *dict_value_address(uint64_t address);
/* A list with the value `value` for each element of a vector, whose name in it is `element`. */
#define value_list(v, element, value) \
	({ Tcl_Obj *value_all = Tcl_NewObj(); \
	   for (size_t value_i = 0; value_i < (v)->nr; value_i++) { \
		   __typeof__(&(v)->at[0]) element = &(v)->at[value_i]; \
\
		   Tcl_ListObjAppendElement(NULL, value_all, value); \
	   } \
	   value_all; })

/*
 * Many dicts of one relation. If dicts of eleven keys are made one by one, each takes 3.2 KB: it
 * has words and numbers of its own, and Tcl's allocator rounds the entry of each key up to 128
 * bytes. So all dicts share the objects of the keys here, and those of values that come again soon.
 * Each dict is made as a list of keys and values; Tcl turns it into a dict, in place, when it is
 * first used as one. Such a list takes 0.5 KB, and 2 KB as a dict.
 */
#define DICTS_SHARED	1024	/* values; a power of two */

struct shared_value {
	uint64_t bits;		/* the number, or a hash of the text */
	Tcl_Obj *obj;
	int kind;
};

struct dicts {
	const struct relation *relation;
	Tcl_HashTable rows;		/* those of relations that are shared -> their dicts */
	Tcl_Obj **keys;			/* by column */
	Tcl_Obj **word;			/* room for the keys and values of a row */
	struct shared_value *shared;	/* DICTS_SHARED of them */
};

/* dicts_free frees what this has made, also after an error; it may be called on zeros. */
struct err *dicts_init(struct dicts *dicts, const struct relation *relation) MUST_CHECK;
void dicts_free(struct dicts *dicts);
Tcl_Obj *dicts_row(struct dicts *dicts, const void *row);
