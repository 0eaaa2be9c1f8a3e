/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is at an address (place.h). */

#include "cmd/expr/place.h"

#include <inttypes.h>
#include <string.h>

#include "answer/stack_names.h"
#include "answer/typed_blocks.h"
#include "base/outside.h"
#include "cmd/shell/call.h"
#include "report/address_text.h"
#include "report/out.h"
#include "session/session.h"
#include "symbol/symbol.h"
#include "type/member_path.h"
#include "type/type_name.h"
#include "type/types.h"

static struct err *add_block(const struct places *places, const struct block *block,
			     uint64_t address, const char *type, struct str *to)
{
	struct err *err = str_addf(to, "byte %" PRIu64 " of a block of %" PRIu64 " bytes at "
				   PRI_ADDRESS, address - block->address, block->size,
				   block->address);

	if (err)
		return err;
	if (block->preattach)
		err = str_addf(to, " %s", no_stack_text(block->unrecorded));
	else
		err = str_addf(to, ", allocated by %s",
			       stack_names_name(places->names,
						stack_names_key(places->names, block->stack,
								SITE_FUNCTION)));
	return err || !type ? err : str_addf(to, ", %s", type);
}

/* A variable with debug information has members. */
static struct err *add_variable(const struct places *places, const struct symbol_frame *frame,
				uint64_t address, struct str *to)
{
	struct named named;
	bool found;
	struct err *err = types_find(places->world->types, NULL, frame->function, &named, &found);

	if (err || !found || named.kind != NAME_VARIABLE ||
	    named.is.where != VARIABLE_ADDRESS || named.is.address != address - frame->offset)
		return err && err->code != ERR_USAGE ? err :
			frame->offset ? str_addf(to, "+%" PRIu64, frame->offset) : NULL;
	err = member_path_add(named.is.type, frame->offset, to, NULL);
	if (!err)
		err = str_add(to, " (");
	if (!err)
		err = type_name_add(named.is.type, to);
	return err ? err : str_add(to, ")");
}

static struct err *add_symbol(const struct places *places, const struct symbol_frame *frame,
			      uint64_t address, struct str *to)
{
	struct err *err = str_add(to, frame->function);

	if (!err)
		err = add_variable(places, frame, address, to);
	return err ? err : str_addf(to, " in %s", frame->module);
}

static struct err *add_mapping(const struct places *places, uint64_t address, struct str *to)
{
	struct proc_maps maps = { VEC_INIT };
	struct err *err = session_maps(places->call->session, &maps);
	const struct proc_map *map = err ? NULL : procparse_maps_find(&maps, address);

	if (map) {
		const char *path = *map->path ? map->path : "an anonymous mapping";

		err = str_addf(to, "byte %" PRIu64 " of ", address - map->start);
		if (!err)
			err = outside_add(to, path, strlen(path), OUTSIDE_ONE_LINE);
		if (!err)
			err = str_addf(to, " at 0x%" PRIx64, map->start);
	}
	procparse_maps_free(&maps);
	return err;
}

/* NULL: it is not known, or was not asked for. */
static const char *type_name(const struct places *places, const struct block *block)
{
	uint32_t number = places->typed ? typed_blocks_of(places->typed, block).number : TYPED_UNKNOWN;

	return number == TYPED_UNKNOWN ? NULL : typed_blocks_name(places->typed, number);
}

struct err *place_find(const struct places *places, uint64_t address, struct found_place *ret,
		       struct str *to)
{
	const struct symbol_frame *frame;
	struct found_at found;
	size_t nr;
	struct err *err = address_text_in(places->call->session, places->heap, address, &found);

	*ret = (struct found_place){ .block = 0 };
	if (err)
		return err;
	if (found.what == FOUND_BLOCK && address - found.block.address <= found.block.size) {
		ret->block = found.block.address;
		ret->type = type_name(places, &found.block);
		return add_block(places, &found.block, address, ret->type, to);
	}
	frame = symbols_resolve(types_symbols(places->world->types), address,
				places->world->generation, false, &nr) + nr - 1;
	if (frame->function && frame->module)
		return add_symbol(places, frame, address, to);
	return add_mapping(places, address, to);
}

struct err *place_add(const struct places *places, uint64_t address, struct str *to)
{
	struct found_place found;

	return place_find(places, address, &found, to);
}
