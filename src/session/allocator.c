/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds out which allocators the target uses, and which runtimes have a heap without them. */

#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "probe/probe.h"
#include "session/private.h"
#include "tracee/target.h"

#define NAMES_MAX	16u

/* What the allocators are called. */
struct naming {
	struct session_allocators *is;
	struct walkable walkable;
	char name[NAMES_MAX][64];
	unsigned times[NAMES_MAX];	/* how many have this name */
	bool walked[NAMES_MAX];		/* the heaps of all of them can be walked */
	unsigned nr;
};

static void add_name(struct naming *naming, const char *text, bool walked)
{
	unsigned i = 0;

	while (i < naming->nr && strcmp(naming->name[i], text))
		i++;
	if (i == NAMES_MAX)
		return;
	if (i == naming->nr) {
		snprintf(naming->name[naming->nr++], sizeof(naming->name[0]), "%s", text);
		naming->walked[i] = true;
	}
	naming->times[i]++;
	naming->walked[i] &= walked;
}

static void name_allocator(struct naming *naming, struct module *module)
{
	struct session_allocators *is = naming->is;
	const struct allocator *allocator;
	char text[64];

	allocator = allocator_of(module, text, sizeof(text));
	add_name(naming, text, allocators_walkable_has(&naming->walkable, module));
	if (!is->nr++)
		is->first = allocator;
	if (allocator && allocator->purge)
		is->purges = allocator;
	/* A static program's own may be that one. */
	is->guessed |= !allocator && !is->walkable;
	if (!allocator)
		allocator = allocator_guess;
	if (!is->walkable && allocator->walk)
		is->walkable = allocator;
}

/* The allocator is in the program itself, beside the malloc of the C library. */
static void name_built_in(struct naming *naming, const struct module *module, const char *symbol)
{
	const struct allocator *allocator = allocator_built_in(symbol);
	const char *file = path_base(module->path);
	char text[64];

	if (!allocator || allocator_by_file(file) == allocator)
		return;
	snprintf(text, sizeof(text), "%s (in %.40s)", allocator->name, file);
	add_name(naming, text, allocators_walkable_has(&naming->walkable, module));
	naming->is->others++;
}

/* One that was known by its constants alone, since the program has no symbols. */
static void name_linked_in(struct naming *naming, const struct walkable_module *of)
{
	char text[64];

	if (!of->allocator->sign || allocator_by_file(path_base(of->module->path)) == of->allocator)
		return;
	snprintf(text, sizeof(text), "%s (in %.40s)", of->allocator->name,
		 path_base(of->module->path));
	for (unsigned i = 0; i < naming->nr; i++)
		if (!strcmp(naming->name[i], text))
			return;
	add_name(naming, text, true);
	naming->is->others++;
	naming->is->walkable = naming->is->walkable ? naming->is->walkable : of->allocator;
}

/* Those, or all, whose heaps cannot be walked. */
static void join_names(const struct naming *naming, bool unwalked, char *ret, size_t room)
{
	for (unsigned i = 0; i < naming->nr; i++) {
		size_t len = strlen(ret);
		char times[16] = "";

		if (unwalked && naming->walked[i])
			continue;
		if (naming->times[i] > 1)
			snprintf(times, sizeof(times), "%u of ", naming->times[i]);
		snprintf(ret + len, room - len, "%s%s%s", len ? ", " : "", times, naming->name[i]);
	}
}

static void name_modules(struct session *session, struct naming *naming)
{
	const struct target *target = session->current->target;
	const struct probes *probes = session->current->probes;

	/* A core file has no probes: take any module that has a malloc. */
	for (size_t i = 0; !target->kind->live && i < target->modules.live.nr; i++)
		if (allocator_defined(target->modules.live.at[i]))
			name_allocator(naming, target->modules.live.at[i]);
	for (size_t i = 0; probes && i < probes->all.nr; i++) {
		const struct probe *probe = probes->all.at[i];

		if (probe->fn && !strcmp(probe->fn->symbol, "malloc") &&
		    probe->module->died == UINT32_MAX)
			name_allocator(naming, probe->module);
	}
	for (size_t i = 0; probes && i < probes->all.nr; i++) {
		const struct probe *probe = probes->all.at[i];

		if (probe_of_allocator(probe) && !probe->fn->user &&
		    probe->module->died == UINT32_MAX)
			name_built_in(naming, probe->module, probe->fn->symbol);
	}
}

static struct err *allocator_job(struct session *session, void *arg UNUSED)
{
	const struct target *target = session->current->target;
	struct session_allocators *is = &session->allocators;
	struct naming naming = { .is = is };

	if (!target || (is->nr && is->pid == target->pid &&
			is->generation == target->modules.generation))
		return NULL;
	*is = (struct session_allocators){ .pid = target->pid,
					   .generation = target->modules.generation };
	allocators_to_walk(&target->modules, &naming.walkable);
	name_modules(session, &naming);
	for (unsigned i = 0; i < naming.walkable.nr; i++)
		name_linked_in(&naming, &naming.walkable.at[i]);
	join_names(&naming, false, is->text, sizeof(is->text));
	join_names(&naming, true, is->unwalked, sizeof(is->unwalked));
	is->partly = is->nr + is->others > 1 && *is->unwalked;
	return NULL;
}

const struct session_allocators *session_allocators(struct session *session)
{
	err_ignore(session_call(session, allocator_job, NULL));
	return &session->allocators;
}

const char *session_allocator(struct session *session)
{
	return *session_allocators(session)->text ? session->allocators.text : "unknown";
}

static struct err *runtimes_job(struct session *session, void *arg UNUSED)
{
	const struct target *target = session->current->target;
	struct session_runtimes *runtimes = &session->runtimes;

	if (!target || (runtimes->pid == target->pid &&
			runtimes->generation == target->modules.generation))
		return NULL;
	runtimes_find(&target->modules, &runtimes->found);
	runtimes->pid = target->pid;
	runtimes->generation = target->modules.generation;
	return NULL;
}

struct err *session_allocator_runtimes(struct session *session, const struct runtimes **ret)
{
	struct err *err = session_call(session, runtimes_job, NULL);

	if (!err)
		*ret = &session->runtimes.found;
	return err;
}
