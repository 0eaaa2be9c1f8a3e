/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tcl values: dicts with numbers and text, one by one or many with the same keys. */
#pragma once

#include <stdint.h>
#include <tcl.h>

#include "base/compiler.h"
#include "base/err.h"

/* dict must not be shared. Text that is no UTF-8 is taken byte by byte as Latin-1, as Tcl does. */
void dict_text(Tcl_Obj *dict, const char *key, const char *text);
void dict_number(Tcl_Obj *dict, const char *key, uint64_t value);
void dict_double(Tcl_Obj *dict, const char *key, double value);
/* "0x" and hex digits, as addresses are written everywhere. */
void dict_address(Tcl_Obj *dict, const char *key, uint64_t address);
/* "-" for 0. */
void dict_address_or_none(Tcl_Obj *dict, const char *key, uint64_t address);
/* A number, or "mmap", "user", "-" (heap_name). */
void dict_heap(Tcl_Obj *dict, const char *key, uint16_t heap);
void dict_value(Tcl_Obj *dict, const char *key, Tcl_Obj *value);
Tcl_Obj *value_address(uint64_t address);
/* A list: `value` of each element of a vector or its like, which it calls `element`. */
#define value_list(v, element, value) \
	({ Tcl_Obj *value_all = Tcl_NewObj(); \
	   for (size_t value_i = 0; value_i < (v)->nr; value_i++) { \
		   __typeof__(&(v)->at[0]) element = &(v)->at[value_i]; \
\
		   Tcl_ListObjAppendElement(NULL, value_all, value); \
	   } \
	   value_all; })

/*
 * Many dicts with the same keys. Made one by one, a dict of eleven keys takes 3.2 KB: each has
 * words and numbers of its own, and Tcl's allocator rounds the entry of each key up to 128 bytes.
 * So the keys of all are the same objects here, and so are values that come again soon. And each is
 * a list of keys and values, of which Tcl makes a dict, in place, when it is first used as one.
 * Such a list takes 0.5 KB, and 2 KB as a dict.
 */
#define DICTS_SHARED	1024	/* values; a power of two */

struct shared_value {
	uint64_t bits;		/* the number; of text a hash */
	Tcl_Obj *obj;
	int kind;
};

struct dicts {
	Tcl_Obj **word;			/* keys, which stay, and the values of the dict at hand */
	int nr_keys, nr;		/* of all dicts; of the one at hand so far */
	struct shared_value *shared;	/* DICTS_SHARED of them; NULL: not initialised */
};

/* What dicts_init has made, or zeros, are to be freed. */
struct err *dicts_init(struct dicts *dicts) MUST_CHECK;
void dicts_free(struct dicts *dicts);
/* One more key of the dict at hand. All have the same keys, which are constants, in one order. */
void dicts_text(struct dicts *dicts, const char *key, const char *text);
void dicts_number(struct dicts *dicts, const char *key, uint64_t value);
void dicts_double(struct dicts *dicts, const char *key, double value);
void dicts_address(struct dicts *dicts, const char *key, uint64_t address);
void dicts_heap(struct dicts *dicts, const char *key, uint16_t heap);
/* value may be shared with others. */
void dicts_value(struct dicts *dicts, const char *key, Tcl_Obj *value);
/* The dict at hand; what is added from here on is of the next one. */
Tcl_Obj *dicts_end(struct dicts *dicts);
