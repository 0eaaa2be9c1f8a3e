/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tcl values: dicts with numbers and text. */
#pragma once

#include <stdint.h>
#include <tcl.h>

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
