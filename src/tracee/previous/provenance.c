/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts that a later mdbg must know of a log (theory in provenance.h). */

#include "tracee/previous/provenance.h"

#include "agent/state.h"
#include "base/cleanup.h"
#include "base/page.h"
#include "base/sum.h"
#include "tracee/module.h"

#define MARKS		(PROVENANCE_SIZE - sizeof(uint64_t))
#define MODULES_MAX	((MARKS - sizeof(struct provenance)) / sizeof(struct provenance_module))
#define FORM		1ull	/* of this table */
/* The layout of the agent's threads and of what they keep: another layout means another agent. */
#define LAYOUT \
	((uint64_t)sizeof(struct agent_thread) << 32 ^ AGENT_THREADS << 16 ^ \
	 (uint64_t)offsetof(struct agent_thread, cache) << 4 ^ \
	 (uint64_t)offsetof(struct unwind_cache, room) << 8 ^ sizeof(struct cache_entry) ^ \
	 (uint64_t)AGENT_VERSION << 56 ^ FORM << 60)

static size_t length(const struct provenance *history)
{
	return sizeof(*history) + history->nr * sizeof(struct provenance_module);
}

static uint64_t sum_of(const struct provenance *history)
{
	return sum_bytes(PROVENANCE_SUM, &history->layout,
			 length(history) - offsetof(struct provenance, layout));
}

struct err *provenance_write(int fd, uint64_t at, const struct modules *modules, uint64_t arena_low,
			     uint64_t arena_high)
{
	AUTO_FREE struct provenance *history = calloc(1, PROVENANCE_SIZE);
	size_t len;

	if (!history)
		return err_nomem;
	history->layout = LAYOUT;
	history->arena_low = arena_low;
	history->arena_high = arena_high;
	history->generation = modules->generation;
	for (size_t i = 0; i < modules->live.nr && history->nr < MODULES_MAX; i++) {
		const struct module *module = modules->live.at[i];

		history->module[history->nr++] = (struct provenance_module){
			.start = module->start,
			.end = module->end,
			.inode = module->inode,
			.dev_major = module->dev_major,
			.dev_minor = module->dev_minor,
			.born = module->born,
		};
	}
	history->sum = sum_of(history);
	len = length(history);
	if (pwrite(fd, history, len, (off_t)at) != (ssize_t)len)
		return err_sys("write the modules to the log");
	return NULL;
}

/* A module that was mapped then cannot be younger. */
static bool has_future(const struct provenance *history)
{
	for (uint32_t i = 0; i < history->nr; i++)
		if (history->module[i].born > history->generation)
			return true;
	return false;
}

static bool is_damaged(const struct provenance *history, uint64_t arena_size)
{
	return history->nr > MODULES_MAX || history->sum != sum_of(history) ||
	       history->arena_low > history->arena_high || history->arena_high > arena_size ||
	       history->arena_low % PAGE || history->generation >= UINT32_MAX / 2 ||
	       has_future(history);
}

struct err *provenance_read(int fd, uint64_t at, uint64_t arena_size, uint64_t *marks_ret,
			    struct provenance **ret)
{
	AUTO_FREE struct provenance *history = calloc(1, PROVENANCE_SIZE);

	if (!history)
		return err_nomem;
	if (pread(fd, history, PROVENANCE_SIZE, (off_t)at) < 0)
		return err_sys("read the modules of the log");
	if (history->layout != LAYOUT)
		return err_create(ERR_FORMAT, "another build of mdbg has made it");
	if (is_damaged(history, arena_size))
		return err_create(ERR_FORMAT, "its table of modules is damaged");
	memcpy(marks_ret, (uint8_t *)history + MARKS, sizeof(*marks_ret));
	*ret = take(history);
	return NULL;
}

void provenance_continue(const struct provenance *history, struct modules *modules)
{
	modules->generation = modules->map.generation = history->generation + 1;
	for (size_t i = 0; i < modules->live.nr; i++) {
		struct module *module = modules->live.at[i];

		module->born = modules->generation;
		for (uint32_t k = 0; k < history->nr; k++) {
			const struct provenance_module *was = &history->module[k];

			if (was->start == module->start && was->end == module->end &&
			    was->inode == module->inode && was->dev_major == module->dev_major &&
			    was->dev_minor == module->dev_minor)
				module->born = was->born;
		}
	}
}

struct err *provenance_set_marks(int fd, uint64_t at, uint64_t marks)
{
	if (pwrite(fd, &marks, sizeof(marks), (off_t)(at + MARKS)) != sizeof(marks))
		return err_sys("write to the log's file");
	return NULL;
}
