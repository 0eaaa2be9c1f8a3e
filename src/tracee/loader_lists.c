/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the loader's lists of modules (theory in loader_lists.h). */

#include "tracee/loader_lists.h"

#include <string.h>

#define NAMESPACES_MAX	64u
#define LINKS_MAX	65536u
#define GLOBAL_MAX	16384u		/* bytes; _rtld_global has 4,304 in glibc 2.36 */
#define UNREADABLE	1u		/* takes an entry's place in a sum */

/* The fields of link_map that all libcs share. */
struct link {
	uint64_t addr, name, dynamic, next;
};

struct debug {
	uint64_t version, map, brk;	/* version has 32 bits, and 32 of padding */
	uint32_t state, pad;
	uint64_t base;
	uint64_t next;			/* only if version is 2 or more */
};

#define DEBUG_LEN	offsetof(struct debug, base)	/* what is read of each */

struct reading {
	const struct modules *modules;
	struct memory *memory;
	uint64_t seen[NAMESPACES_MAX];	/* structs whose lists were read */
	unsigned nr_seen;
	unsigned links;			/* entries that were read */
	struct loader_state state;
};

static uint64_t symbol_of(struct module *module, const char *name, uint64_t *size_ret)
{
	uint64_t address;

	return module_symbol(module, name, &address, size_ret) ? 0 : address;
}

static bool has_list(struct memory *memory, uint64_t r_debug)
{
	uint64_t map;

	return !memory_read_u64(memory, r_debug + offsetof(struct debug, map), &map) && map;
}

struct finding {
	struct memory *memory;
	struct loader_lists *lists;
};

/* True: this one is the loader's. */
static bool find_lists(void *ctx, struct module *module)
{
	struct finding *finding = ctx;
	struct loader_lists *lists = finding->lists;
	uint64_t size, address = symbol_of(module, "_r_debug", &size);
	bool loader;

	if (!address || !has_list(finding->memory, address))
		return false;
	loader = symbol_of(module, "_dl_debug_state", &size);
	if (lists->r_debug && !loader)
		return false;
	lists->r_debug = address;
	lists->global = symbol_of(module, "_rtld_global", &lists->global_len);
	return loader;
}

void loader_lists_find(const struct modules *modules, struct memory *memory,
		       struct loader_lists *ret)
{
	struct finding finding = { memory, ret };
	uint64_t pointer, address;

	*ret = (struct loader_lists){ .r_debug = 0 };
	if (modules_each_by_size(modules, find_lists, &finding) || ret->r_debug)
		return;
	pointer = modules_symbol(modules, "_dl_debug_addr");
	if (pointer && !memory_read_u64(memory, pointer, &address) && has_list(memory, address))
		ret->r_debug = address;
}

static void add(struct reading *reading, uint64_t word)
{
	reading->state.sum = (reading->state.sum ^ word) * 0x9e3779b97f4a7c15ull;
}

static void read_list(struct reading *reading, uint64_t at)
{
	struct link link;

	for (; at && reading->links < LINKS_MAX; at = link.next, reading->links++) {
		if (memory_read(reading->memory, at, &link, sizeof(link))) {
			add(reading, UNREADABLE);
			return;
		}
		add(reading, at ^ link.addr << 1 ^ link.dynamic << 2 ^ link.name << 3);
		reading->state.unknown += !modules_find(reading->modules, link.dynamic);
	}
}

/* False: it was read before, or there are too many. */
static bool is_new(struct reading *reading, uint64_t address)
{
	for (unsigned i = 0; i < reading->nr_seen; i++)
		if (reading->seen[i] == address)
			return false;
	if (reading->nr_seen == NAMESPACES_MAX)
		return false;
	reading->seen[reading->nr_seen++] = address;
	return true;
}

/* Those that r_next links. */
static void read_next(struct reading *reading, uint64_t address)
{
	struct debug debug;

	while (address && is_new(reading, address)) {
		if (memory_read(reading->memory, address, &debug, sizeof(debug))) {
			add(reading, UNREADABLE);
			return;
		}
		add(reading, address ^ (uint64_t)debug.state << 48);
		read_list(reading, debug.map);
		address = debug.next;
	}
}

/* Those of a loader that does not link them: they have version 1, and the hook of `first`. */
static void read_global(struct reading *reading, const struct loader_lists *lists,
			const struct debug *first)
{
	uint64_t word[GLOBAL_MAX / sizeof(uint64_t)];
	size_t len, words = sizeof(struct debug) / sizeof(uint64_t) - 1;

	if (!lists->global || !first->brk ||
	    memory_read_some(reading->memory, lists->global, word,
			     MIN(lists->global_len, sizeof(word)), &len))
		return;
	for (size_t i = 0; i + words <= len / sizeof(*word); i++) {
		struct debug debug;
		uint64_t address = lists->global + i * sizeof(*word);

		memcpy(&debug, &word[i], DEBUG_LEN);
		if (debug.brk != first->brk || (uint32_t)debug.version != 1 ||
		    !is_new(reading, address))
			continue;
		add(reading, address ^ (uint64_t)debug.state << 48);
		read_list(reading, debug.map);
	}
}

void loader_lists_read(const struct loader_lists *lists, const struct modules *modules,
		       struct memory *memory, struct loader_state *ret)
{
	struct reading reading = { .modules = modules, .memory = memory };
	struct debug first;

	*ret = (struct loader_state){ .sum = 0 };
	if (!lists->r_debug ||
	    memory_read(memory, lists->r_debug, &first, DEBUG_LEN))
		return;
	is_new(&reading, lists->r_debug);
	add(&reading, (uint64_t)first.state + 1);
	read_list(&reading, first.map);
	if ((uint32_t)first.version < 2) {
		read_global(&reading, lists, &first);
	} else if (!memory_read_u64(memory, lists->r_debug + offsetof(struct debug, next),
				    &first.next)) {
		read_next(&reading, first.next);
	}
	*ret = reading.state;
	ret->sum += !ret->sum;		/* 0 is taken */
}
