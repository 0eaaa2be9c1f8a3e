/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of the code that V8 (node) has compiled, from its heap as it lies in memory; nothing of V8
 * is run. The layout is that of the numbers that V8 leaves in its binary for debuggers after death
 * (symbols v8dbg_...), and what they do not say is derived and checked:
 *
 *	pc -> InstructionStream: the last header before pc, by the type of its map
 *	   -> Code: the stream's word of that type. It points back to the stream, it has the address
 *	      of its first instruction, and behind that one flags and length; pc lies within
 *	   -> SharedFunctionInfo: optimised code names it in its deoptimization data; baseline code
 *	      is named by it only, so that it is looked for in all of the heap, once an answer
 *	   -> the function's name, and its script
 *
 * Whatever does not fit has no name. V8 moves code and throws it away: a pc must come right behind a
 * call. A function that is interpreted runs in the same code as all others, and has no name here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/memory.h"

struct arch;
struct elf_file;
struct proc_maps;

#define V8_NAME		120u

struct v8_layout {
	int32_t instance_type;			/* offset in a map */
	int32_t stream_start;			/* of the instructions in an InstructionStream */
	int32_t code_deopt;			/* offset in a Code */
	int32_t deopt_function;			/* index of the function in deoptimization data */
	int32_t array_data;			/* offset of a FixedArray's elements */
	int32_t shared_data, shared_name, shared_script;	/* in a SharedFunctionInfo */
	int32_t script_name;
	int32_t string_length, string_chars;
	int32_t kind_mask, kind_baseline;	/* in the flags of a Code */
	int32_t not_string, representation, encoding, one_byte;	/* in the type of a string */
	int32_t stream_type, code_type, array_type, shared_type, scope_type, script_type;
};

struct v8_code {
	struct v8_layout layout;
	bool known;			/* layout is */
	const struct arch *arch;
	struct memory *memory;
	uint64_t stream_map;		/* tagged, as all below; 0: not yet known */
	uint64_t shared_map;
	bool searched;			/* functions has all that there are */
	struct map functions;		/* what a function is run by → its SharedFunctionInfo */
};

struct v8_name {
	char function[V8_NAME];		/* "(anonymous)" if it has none */
	char script[V8_NAME];		/* last component; "": not known */
	uint64_t start;			/* of its instructions */
};

/* Read the layout from the file that V8 is in. False: it is not in this one, or is an unknown V8. */
bool v8_code_layout(struct elf_file *elf, struct v8_layout *ret);
/* Forget what was found in memory: it may have moved. */
void v8_code_forget(struct v8_code *v8);
/* Name the code that a call returns to at pc. maps: of the process. False: it is not known. */
bool v8_code_name(struct v8_code *v8, const struct proc_maps *maps, uint64_t pc,
		  struct v8_name *ret);
