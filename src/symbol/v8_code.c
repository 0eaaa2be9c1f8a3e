/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names V8's code (v8_code.h). */

#include "symbol/v8_code.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/path.h"
#include "elf/elf_file.h"
#include "os/procparse.h"

#define PREFIX		"v8dbg_"
#define TAG		1u
#define CODE_ALIGN	64u		/* of a function's first instruction */
#define CODE_MOST	(1u << 18)	/* bytes of a function's code */
#define CODE_WORDS	16u		/* of a Code, in which its start is looked for */
#define PIECE		(1u << 20)	/* bytes of the heap that are searched at once */
#define HEAP_MOST	(1ull << 30)	/* bytes that are searched */
/* A ScopeInfo: flags, parameters and number of local variables, then names and facts of these. */
#define SCOPE_LOCALS	24u
#define SCOPE_HEAD	32u
#define LOCALS_INLINE	75u		/* of more, the names are in a table elsewhere */
#define SCOPE_WORDS	4u		/* behind the locals, in which the name is looked for */

/* The numbers, by what their names have behind "v8dbg_". */
static const struct {
	const char *name;
	size_t at;
} numbers[] = {
#define NUMBER(name, member)	{ name, offsetof(struct v8_layout, member) }
	NUMBER("class_InstructionStream__instruction_start__uintptr_t", stream_start),
	NUMBER("class_Map__instance_type__uint16_t", instance_type),
	NUMBER("class_Code__deoptimization_data__FixedArray", code_deopt),
	NUMBER("DeoptimizationDataSharedFunctionInfoIndex", deopt_function),
	NUMBER("class_FixedArray__data__uintptr_t", array_data),
	NUMBER("class_SharedFunctionInfo__function_data__Object", shared_data),
	NUMBER("class_SharedFunctionInfo__name_or_scope_info__Object", shared_name),
	NUMBER("class_SharedFunctionInfo__script_or_debug_info__HeapObject", shared_script),
	NUMBER("class_Script__name__Object", script_name),
	NUMBER("class_String__length__int32_t", string_length),
	NUMBER("class_SeqOneByteString__chars__char", string_chars),
	NUMBER("CodeKindFieldMask", kind_mask),
	NUMBER("CodeKindBaseline", kind_baseline),
	NUMBER("IsNotStringMask", not_string),
	NUMBER("StringRepresentationMask", representation),
	NUMBER("StringEncodingMask", encoding),
	NUMBER("OneByteStringTag", one_byte),
	NUMBER("type_InstructionStream__INSTRUCTION_STREAM_TYPE", stream_type),
	NUMBER("type_Code__CODE_TYPE", code_type),
	NUMBER("type_FixedArray__FIXED_ARRAY_TYPE", array_type),
	NUMBER("type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", shared_type),
	NUMBER("type_ScopeInfo__SCOPE_INFO_TYPE", scope_type),
	NUMBER("type_Script__SCRIPT_TYPE", script_type),
#undef NUMBER
};

static uint32_t read_number(struct elf_file *elf, const struct elf_symbol *symbol,
			    struct v8_layout *ret)
{
	for (uint32_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		int32_t value;

		if (strcmp(symbol->name + strlen(PREFIX), numbers[i].name))
			continue;
		/* (Only a mask is below zero.) */
		if (elf_file_read(elf, symbol->value, &value, sizeof(value)) ||
		    value < INT16_MIN || value > UINT16_MAX)
			return 0;
		memcpy((char *)ret + numbers[i].at, &value, sizeof(value));
		return 1u << i;
	}
	return 0;
}

bool v8_code_layout(struct elf_file *elf, struct v8_layout *ret)
{
	const uint32_t all = (1u << ARRAY_SIZE(numbers)) - 1;
	struct elf_symbols at;
	struct elf_symbol symbol;
	uint32_t found = 0;

	if (elf_symbols_begin(elf, &at))
		return false;
	while (found != all && elf_symbols_next(&at, &symbol))
		if (!strncmp(symbol.name, PREFIX, strlen(PREFIX)))
			found |= read_number(elf, &symbol, ret);
	return found == all && ret->stream_start > 0 && ret->stream_start < (int32_t)CODE_ALIGN;
}

void v8_code_forget(struct v8_code *v8)
{
	map_free(&v8->functions, NULL);
	v8->stream_map = v8->shared_map = 0;
	v8->searched = false;
}

static bool word_at(const struct v8_code *v8, uint64_t object, int32_t offset, uint64_t *ret)
{
	return object & TAG && !memory_read_u64(v8->memory, object - TAG + (uint32_t)offset, ret);
}

/* Is it a map? The map of maps is its own map. */
static bool is_map(const struct v8_code *v8, uint64_t map)
{
	uint64_t meta, again;

	return word_at(v8, map, 0, &meta) && word_at(v8, meta, 0, &again) && again == meta;
}

/* The type of an object; -1: it is none. */
static int32_t type_of(const struct v8_code *v8, uint64_t object)
{
	uint64_t map;
	uint16_t type;

	if (!word_at(v8, object, 0, &map) || !is_map(v8, map) ||
	    memory_read(v8->memory, map - TAG + (uint32_t)v8->layout.instance_type, &type,
			sizeof(type)))
		return -1;
	return type;
}

static bool has_type(const struct v8_code *v8, uint64_t object, int32_t type)
{
	return type_of(v8, object) == type;
}

/* Read a string of plain characters, whatever it has after a zero. */
static bool read_string(const struct v8_code *v8, uint64_t object, char *ret, size_t room)
{
	const struct v8_layout *layout = &v8->layout;
	int32_t type = type_of(v8, object);
	uint32_t len;

	/* (One whose characters lie in the object itself has no bits of a representation.) */
	if (type < 0 || type & layout->not_string || type & layout->representation ||
	    (type & layout->encoding) != layout->one_byte ||
	    memory_read(v8->memory, object - TAG + (uint32_t)layout->string_length, &len,
			sizeof(len)) || len >= room ||
	    memory_read(v8->memory, object - TAG + (uint32_t)layout->string_chars, ret, len))
		return false;
	ret[len] = '\0';
	for (uint32_t i = 0; i < len; i++)
		if (ret[i] < ' ' || ret[i] > '~')
			return false;
	return true;
}

/* Read the header before pc; *ret is the tagged stream. */
static bool find_stream(struct v8_code *v8, uint64_t pc, uint64_t *ret)
{
	const uint64_t start = (uint32_t)v8->layout.stream_start;
	uint64_t map;

	for (uint64_t at = pc / CODE_ALIGN * CODE_ALIGN; at > start && pc - at < CODE_MOST;
	     at -= CODE_ALIGN) {
		uint64_t stream = at - start + TAG;

		if (!word_at(v8, stream, 0, &map))
			return false;
		if (v8->stream_map ? map != v8->stream_map :
		    !has_type(v8, stream, v8->layout.stream_type))
			continue;
		v8->stream_map = map;
		*ret = stream;
		return true;
	}
	return false;
}

struct code {
	uint64_t object;		/* tagged */
	uint64_t start;			/* of the instructions */
	uint32_t flags, len;
};

/* Is object the Code of this stream? */
static bool read_code(const struct v8_code *v8, uint64_t stream, uint64_t object, struct code *ret)
{
	const uint64_t start = stream - TAG + (uint32_t)v8->layout.stream_start;
	uint64_t word[CODE_WORDS];

	if (!has_type(v8, object, v8->layout.code_type) ||
	    memory_read(v8->memory, object - TAG, word, sizeof(word)))
		return false;
	for (unsigned i = 1; i + 2 < CODE_WORDS; i++) {
		if (word[i] != stream || word[i + 1] != start)
			continue;
		*ret = (struct code){
			.object = object, .start = start,
			.flags = (uint32_t)word[i + 2], .len = (uint32_t)word[i + 3],
		};
		return true;
	}
	return false;
}

static bool find_code(struct v8_code *v8, uint64_t pc, struct code *ret)
{
	uint64_t stream, object;

	if (!find_stream(v8, pc, &stream))
		return false;
	for (int32_t at = 8; at < v8->layout.stream_start; at += 8)
		if (word_at(v8, stream, at, &object) && read_code(v8, stream, object, ret))
			return pc > ret->start && pc - ret->start <= ret->len;
	return false;
}

static bool follows_call(const struct v8_code *v8, uint64_t pc)
{
	uint8_t code[UINT8_MAX];
	size_t len = v8->arch->call_most;

	return !memory_read(v8->memory, pc - len, code, len) && v8->arch->ends_in_call(code, len);
}

/* What a look over the heap does with a word and the address where it is; true: it has enough. */
typedef bool word_fn(struct v8_code *v8, uint64_t at, uint64_t word, uint64_t wanted);

static bool search_map(struct v8_code *v8, const struct proc_map *map, uint64_t *words,
		       word_fn *fn, uint64_t wanted)
{
	for (uint64_t at = map->start; at < map->end && !cancel_requested(); at += PIECE) {
		size_t len;

		if (memory_read_some(v8->memory, at, words, MIN(PIECE, map->end - at), &len))
			continue;
		for (size_t i = 0; i < len / 8; i++)
			if (fn(v8, at + i * 8, words[i], wanted))
				return true;
	}
	return false;
}

static void search(struct v8_code *v8, const struct proc_maps *maps, word_fn *fn, uint64_t wanted)
{
	uint64_t *words AUTO_FREE = malloc(PIECE);
	uint64_t left = HEAP_MOST;

	vec_each(map, &maps->vec) {
		uint64_t size = map->end - map->start;

		if (!words || !map->write || !procparse_map_is_anonymous(map) || size > left)
			continue;
		left -= size;
		if (search_map(v8, map, words, fn, wanted))
			return;
	}
}

/* The word by which a function is run by that code: then the function's map is known. */
static bool learn_map(struct v8_code *v8, uint64_t at, uint64_t word, uint64_t wanted)
{
	uint64_t shared = at - (uint32_t)v8->layout.shared_data + TAG;

	return word == wanted && has_type(v8, shared, v8->layout.shared_type) &&
	       word_at(v8, shared, 0, &v8->shared_map);
}

/* Without memory for it, a function has no name. */
static bool learn_function(struct v8_code *v8, uint64_t at, uint64_t word, uint64_t wanted UNUSED)
{
	uint64_t run_by;

	if (word == v8->shared_map && word_at(v8, at + TAG, v8->layout.shared_data, &run_by))
		err_ignore(map_put(&v8->functions, run_by, (void *)(uintptr_t)(at + TAG)));
	return false;
}

static bool find_function(struct v8_code *v8, const struct proc_maps *maps,
			  const struct code *code, uint64_t *ret)
{
	const struct v8_layout *layout = &v8->layout;
	uint64_t deopt, run_by;

	if ((int32_t)(code->flags & (uint32_t)layout->kind_mask) != layout->kind_baseline)
		return word_at(v8, code->object, layout->code_deopt, &deopt) &&
		       has_type(v8, deopt, layout->array_type) &&
		       word_at(v8, deopt, layout->array_data + 8 * layout->deopt_function, ret);
	if (!v8->searched) {
		v8->searched = true;
		search(v8, maps, learn_map, code->object);
		if (v8->shared_map)
			search(v8, maps, learn_function, 0);
	}
	*ret = (uintptr_t)map_get(&v8->functions, code->object);
	return *ret && word_at(v8, *ret, layout->shared_data, &run_by) && run_by == code->object;
}

/* The first string behind the local variables that is not empty; "" if there is none. */
static bool read_scope_name(const struct v8_code *v8, uint64_t scope, char *ret, size_t room)
{
	uint64_t locals, object;

	if (!word_at(v8, scope, SCOPE_LOCALS, &locals))
		return false;
	locals >>= 32;
	locals += locals < LOCALS_INLINE ? locals : 1;
	if (locals > UINT16_MAX)
		return false;
	for (unsigned i = 0; i < SCOPE_WORDS; i++)
		if (word_at(v8, scope, (int32_t)(SCOPE_HEAD + 8 * (locals + i)), &object) &&
		    read_string(v8, object, ret, room) && *ret)
			return true;
	*ret = '\0';
	return true;
}

static bool read_names(const struct v8_code *v8, uint64_t function, struct v8_name *ret)
{
	const struct v8_layout *layout = &v8->layout;
	char path[1024] = "";
	uint64_t name, script;

	if (!has_type(v8, function, layout->shared_type) ||
	    !word_at(v8, function, layout->shared_name, &name) ||
	    (has_type(v8, name, layout->scope_type) ?
	     !read_scope_name(v8, name, ret->function, sizeof(ret->function)) :
	     !read_string(v8, name, ret->function, sizeof(ret->function))))
		return false;
	if (!*ret->function)
		snprintf(ret->function, sizeof(ret->function), "(anonymous)");
	if (!word_at(v8, function, layout->shared_script, &script) ||
	    !has_type(v8, script, layout->script_type) ||
	    !word_at(v8, script, layout->script_name, &name) ||
	    !read_string(v8, name, path, sizeof(path)))
		*path = '\0';
	snprintf(ret->script, sizeof(ret->script), "%.*s", (int)sizeof(ret->script) - 1,
		 path_base(path));
	return true;
}

bool v8_code_name(struct v8_code *v8, const struct proc_maps *maps, uint64_t pc,
		  struct v8_name *ret)
{
	struct code code;
	uint64_t function;

	if (!v8->known || !find_code(v8, pc, &code) || !follows_call(v8, pc) ||
	    !find_function(v8, maps, &code, &function) || !read_names(v8, function, ret))
		return false;
	ret->start = code.start;
	return true;
}
