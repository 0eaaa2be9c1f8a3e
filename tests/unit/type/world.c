/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the tests of types look (world.h). */

#include "world.h"

#include <sys/uio.h>

#include "memory_array.h"
#include "symbol/fixture.h"
#include "type/type_name.h"
#include "unit.h"

static struct memory_array array;

static struct err *read_self(struct memory *memory UNUSED, uint64_t addr, void *buf, size_t len,
			     size_t *len_ret)
{
	struct iovec to = { buf, len }, from = { (void *)(uintptr_t)addr, len };
	ssize_t nr = process_vm_readv(getpid(), &to, 1, &from, 1, 0);

	if (nr <= 0)
		return err_create(ERR_MEMORY, "cannot read memory at 0x%" PRIx64, addr);
	*len_ret = (size_t)nr;
	return NULL;
}

static struct memory self = { .read = read_self };

bool world_of_self(struct value_world *ret)
{
	*ret = (struct value_world){ .memory = &self, .generation = 1 };
	CU_ASSERT_PTR_NULL_FATAL(types_create(fixture_symbols(""), &ret->types));
	return fixture_has_lines();
}

struct value_world world_of_bytes(const void *bytes, uint64_t start, size_t len)
{
	struct value_world world = { .memory = &array.memory, .generation = 1 };
	struct symbols *symbols;

	memory_array_init(&array, bytes, start, len);
	CU_ASSERT_PTR_NULL_FATAL(symbols_create(0, &symbols));
	CU_ASSERT_PTR_NULL_FATAL(types_create(symbols, &world.types));
	return world;
}

void world_free(struct value_world *world)
{
	struct symbols *symbols = types_symbols(world->types);

	types_destroy(world->types);
	symbols_destroy(symbols);
}

static const char *result(struct err *err, struct str *text)
{
	static char kept[4096];

	snprintf(kept, sizeof(kept), "%s%s%s", err ? err_code_name(err->code) : "",
		 err ? ": " : "", err ? err->msg : str_text(text));
	str_free(text);
	return kept;
}

const char *world_print(const struct value_world *world, const char *text)
{
	struct str to = STR_INIT;
	struct expr expr;
	struct err *err = expr_evaluate(world, text, &expr);

	return result(err ? err : value_text_add(world, &expr.value, 0, &to), &to);
}

const char *world_whatis(const struct value_world *world, const char *text)
{
	struct str to = STR_INIT;
	struct expr expr;
	struct err *err = expr_type(world, text, &expr);

	return result(err ? err : type_name_add(expr.value.type, &to), &to);
}
