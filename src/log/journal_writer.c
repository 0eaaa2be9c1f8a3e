/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The journal in private memory and in the region (theory in journal_writer.h). */

#include "log/journal_writer.h"

#include <string.h>

#include "base/cleanup.h"

struct err *journal_writer_begin(struct journal_writer *writer, struct journal *shared,
				 uint64_t region_size)
{
	writer->own = calloc(1, JOURNAL_SIZE);
	if (!writer->own)
		return err_nomem;
	writer->shared = shared;
	journal_init_zeroed(writer->own, region_size, JOURNAL_SIZE);
	journal_init_zeroed(shared, region_size, JOURNAL_SIZE);
	return NULL;
}

struct err *journal_writer_adopt(struct journal_writer *writer, struct journal *shared,
				 uint64_t region_size)
{
	AUTO_FREE struct journal *own = malloc(JOURNAL_SIZE);
	struct err *err;

	if (!own)
		return err_nomem;
	memcpy(own, shared, JOURNAL_SIZE);
	err = journal_check(own, region_size);
	if (err)
		return err;
	writer->own = take(own);
	writer->shared = shared;
	return NULL;
}

void journal_writer_free(struct journal_writer *writer)
{
	free(writer->own);
	writer->own = NULL;
}

void journal_writer_own(struct journal_writer *writer, uint32_t owner, uint64_t owner_start,
			uint64_t target_start)
{
	struct journal *both[] = { writer->own, writer->shared };

	for (size_t i = 0; i < ARRAY_SIZE(both) && both[i]; i++) {
		both[i]->owner = owner;
		both[i]->owner_start = owner_start;
		both[i]->target_start = target_start;
		both[i]->tracer = 0;
	}
}

/*
 * First all of the entry but its state, then the number of entries, and the state, which makes the
 * entry count, last.
 */
struct err *journal_writer_plan(struct journal_writer *writer, const struct journal_entry *entry,
				uint32_t *ret)
{
	struct err *err = journal_plan(writer->own, entry, ret);

	if (!err && writer->shared)
		journal_put(writer->shared, *ret, &writer->own->entry[*ret],
			    journal_entries(writer->own));
	return err;
}

void journal_writer_done(struct journal_writer *writer, uint32_t index)
{
	journal_done(writer->own, index);
	if (writer->shared)
		journal_done(writer->shared, index);
}

void journal_writer_undone(struct journal_writer *writer, uint32_t index)
{
	journal_undone(writer->own, index);
	if (writer->shared)
		journal_undone(writer->shared, index);
}

void journal_writer_set_aux(struct journal_writer *writer, uint32_t index, uint64_t aux)
{
	writer->own->entry[index].aux = aux;
	if (writer->shared)
		writer->shared->entry[index].aux = aux;
}
