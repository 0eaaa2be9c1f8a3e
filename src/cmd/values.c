/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tcl values: dicts with numbers and text. */

#include "cmd/values.h"

#include <inttypes.h>
#include <stdio.h>

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
 * Tcl_WideInt is signed; what does not fit into it (an address above half of the space) is a string
 * that Tcl reads as a number.
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
