/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the thread-local data of modules and threads (theory in tls.h). */

#include "inspect/tls.h"

#include <link.h>

#include "base/cleanup.h"
#include "inspect/memory_view.h"
#include "tracee/target.h"

#define MODULES_MAX	4096u	/* with thread-local data; more are not looked at */
#define LISTS_MAX	1024u
#define STATIC_MAX	(64ull << 20)

/* A module of the loader's list. */
struct slot {
	uint64_t generation, dynamic, size;
};

struct slots {
	VEC(struct slot) vec;
};

/* The layout of the loader's list. */
struct layout {
	uint64_t first;			/* of the lists */
	uint32_t len, next, slots;	/* offsets in a list */
	uint32_t slot_size, map, generation;
};

/* "const uint32_t NAME[3] = { bits, elements, offset }" */
bool tls_db_offset(const struct target *target, const char *name, uint32_t *ret)
{
	uint64_t address = modules_symbol(&target->modules, name);
	uint32_t field[3];

	if (!address || modules_read_constant(&target->modules, target->memory, address, field,
					      sizeof(field)))
		return false;
	*ret = field[2];
	return true;
}

static bool read_layout(const struct target *target, struct layout *ret)
{
	uint64_t global = modules_symbol(&target->modules, "_rtld_global");
	uint64_t size = modules_symbol(&target->modules, "_thread_db_sizeof_dtv_slotinfo");
	uint32_t first;

	return global && size &&
	       tls_db_offset(target, "_thread_db_rtld_global__dl_tls_dtv_slotinfo_list", &first) &&
	       tls_db_offset(target, "_thread_db_dtv_slotinfo_list_len", &ret->len) &&
	       tls_db_offset(target, "_thread_db_dtv_slotinfo_list_next", &ret->next) &&
	       tls_db_offset(target, "_thread_db_dtv_slotinfo_list_slotinfo", &ret->slots) &&
	       tls_db_offset(target, "_thread_db_dtv_slotinfo_map", &ret->map) &&
	       tls_db_offset(target, "_thread_db_dtv_slotinfo_gen", &ret->generation) &&
	       !modules_read_constant(&target->modules, target->memory, size, &ret->slot_size,
				      sizeof(ret->slot_size)) &&
	       !memory_read_u64(target->memory, global + first, &ret->first);
}

/* The size of the thread-local data of the module whose dynamic section is there. */
static uint64_t size_of(const struct target *target, uint64_t dynamic)
{
	vec_each_value(module, &target->modules.live) {
		if (dynamic >= module->start && dynamic < module->end)
			return module->elf ? elf_file_tls_size(module->elf) : 0;
	}
	return 0;
}

static struct slot read_slot(const struct target *target, const struct layout *layout, uint64_t at)
{
	struct slot slot = { .generation = 0 };
	uint64_t map;

	if (memory_read_u64(target->memory, at + layout->generation, &slot.generation) ||
	    memory_read_u64(target->memory, at + layout->map, &map) || !map ||
	    memory_read_u64(target->memory, map + offsetof(struct link_map, l_ld), &slot.dynamic))
		return (struct slot){ .generation = 0 };
	slot.size = size_of(target, slot.dynamic);
	return slot;
}

static void read_slots(const struct target *target, struct slots *slots)
{
	struct layout layout;
	uint64_t len;
	unsigned nr = 0;

	if (!read_layout(target, &layout))
		return;
	for (uint64_t list = layout.first; list && nr < LISTS_MAX; nr++) {
		if (memory_read_u64(target->memory, list + layout.len, &len))
			return;
		for (uint64_t i = 0; i < len && slots->vec.nr < MODULES_MAX; i++)
			if (vec_push(&slots->vec,
				     read_slot(target, &layout,
					       list + layout.slots + i * layout.slot_size)))
				return;		/* without memory for it, fewer are known */
		if (memory_read_u64(target->memory, list + layout.next, &list))
			return;
	}
}

/* A pair of a dtv. */
struct pair {
	uint64_t start, to_free;
};

static struct tls_block block_of(const struct slots *slots, uint64_t number, uint64_t generation,
				 const struct pair *pair)
{
	struct tls_block block = { .start = pair->start, .end = pair->start,
				   .dynamic = pair->to_free != 0 };
	const struct slot *slot = number < slots->vec.nr ? &slots->vec.at[number] : NULL;

	if (slot && slot->size && slot->generation <= generation) {
		block.module = slot->dynamic;
		block.end += slot->size;
	}
	return block;
}

/* A thread's table. */
struct table {
	struct pair *pair;	/* those behind pair 0, as many as can be read */
	uint64_t nr, generation;
};

static bool is_made(const struct pair *pair)
{
	return pair->start && pair->start != UINT64_MAX;
}

/* table->pair has room for MODULES_MAX. */
static void read_table(const struct memory_view *view, const struct memory_view_thread *thread,
		       struct table *table)
{
	uint64_t dtv, nr;
	size_t len;

	table->nr = 0;
	if (!thread->tp || memory_read_u64(view->memory, thread->tp + view->arch->dtv, &dtv) ||
	    memory_read_u64(view->memory, dtv - view->arch->dtv_first, &nr) || nr > MODULES_MAX ||
	    memory_read_u64(view->memory, dtv, &table->generation) ||
	    memory_read_some(view->memory, dtv + sizeof(*table->pair), table->pair,
			     nr * sizeof(*table->pair), &len))
		return;
	table->nr = len / sizeof(*table->pair);
}

/* The lowest address of the thread's data below its thread pointer, or that. */
static uint64_t lowest(const struct memory_view_thread *thread, const struct table *table)
{
	uint64_t low = thread->tp;

	for (uint64_t i = 0; i < table->nr; i++) {
		const struct pair *pair = &table->pair[i];

		if (is_made(pair) && !pair->to_free && pair->start < low &&
		    thread->tp - pair->start < STATIC_MAX)
			low = pair->start;
	}
	return low;
}

static struct err *add_blocks(const struct slots *slots, const struct table *table, pid_t tid,
			      struct tls *tls)
{
	struct err *err = NULL;

	for (uint64_t i = 0; i < table->nr && tls->blocks.nr < TLS_BLOCKS_MAX && !err; i++) {
		struct tls_block block = block_of(slots, i + 1, table->generation,
						  &table->pair[i]);

		block.tid = tid;
		if (is_made(&table->pair[i]))
			err = vec_push(&tls->blocks, block);
	}
	return err;
}

static void read_tables(const struct memory_view *view, const struct slots *slots,
			struct tls *ret)
{
	AUTO_FREE struct pair *pairs = malloc(MODULES_MAX * sizeof(*pairs));
	struct table table = { .pair = pairs };

	if (!pairs || vec_reserve(&ret->low, view->threads.nr))
		return;		/* without memory for it, nothing is known */
	vec_each(thread, &view->threads) {
		read_table(view, thread, &table);
		ret->low.at[ret->low.nr++] = lowest(thread, &table);
		if (add_blocks(slots, &table, thread->tid, ret))
			break;
	}
}

void tls_read(const struct memory_view *view, struct tls *ret)
{
	struct slots slots = { VEC_INIT };

	*ret = (struct tls){ VEC_INIT, VEC_INIT };
	if (!view->has_glibc)
		return;
	read_slots(view->target, &slots);
	read_tables(view, &slots, ret);
	vec_free(&slots.vec);
}

uint64_t tls_static_size(const struct memory_view *view)
{
	AUTO_FREE struct pair *pairs = malloc(MODULES_MAX * sizeof(*pairs));
	struct table table = { .pair = pairs };
	uint64_t size = 0;

	vec_each_while(thread, &view->threads, pairs && view->has_glibc) {
		read_table(view, thread, &table);
		size = MAX(size, thread->tp - lowest(thread, &table));
	}
	return size;
}

void tls_free(struct tls *tls)
{
	vec_free(&tls->blocks);
	vec_free(&tls->low);
}

uint64_t tls_low(const struct tls *tls, const struct memory_view *view, size_t thread)
{
	return thread < tls->low.nr ? tls->low.at[thread] : view->threads.at[thread].tp;
}

const struct tls_block *tls_at(const struct tls *tls, uint64_t address)
{
	for (size_t i = 0; i < tls->blocks.nr; i++)
		if (address >= tls->blocks.at[i].start && address < tls->blocks.at[i].end)
			return &tls->blocks.at[i];
	return NULL;
}
