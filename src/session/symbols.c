/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names for the code of the processes: symbols and entry names follow the module maps. */

#include <string.h>

#include "os/tracer.h"
#include "probe/probe.h"
#include "session/private.h"
#include "symbol/symbol.h"
#include "tracee/target.h"

/* What was found in V8's heap is used by all answers of so short a time: a script may ask for thousands. */
#define V8_FRESH_NS	1000000000ull

static void warn_of_names(void *ctx, const char *text)
{
	struct session *session = ctx;

	session->names_warned = true;
	session_warn(session, text);
}

bool session_symbols_warned(struct session *session)
{
	bool warned = session->names_warned;

	session->names_warned = false;
	return warned;
}

static struct err *know_module(struct session *session, const struct module *module,
			       struct known_modules *known)
{
	struct symbol_module symbol = {
		.path = module->path,
		.fd = module->fd,
		.bytes = module->image,
		.bytes_len = module->image_len,
		.start = module->start,
		.end = module->end,
		.bias = module->bias,
		.born = module->born,
		.died = module->died,
	};
	struct known_module now = {
		.start = module->start,
		.serial = module->serial,
		.born = module->born,
		.died = module->died,
	};
	struct err *err = vec_reserve(&known->vec, 1);

	if (!err)
		err = symbols_add(session->symbols, &symbol);
	if (err)
		return err;
	known->vec.at[known->vec.nr++] = now;
	if (module->over_limit)
		warn_of_names(session, module->why);
	return NULL;
}

/* The module was merged with an earlier one (modules_merge), which now lives longer. */
static void forget_module(struct session *session, struct known_modules *known, size_t at)
{
	const struct known_module *gone = &known->vec.at[at];

	symbols_end(session->symbols, gone->start, gone->born, gone->born);
	vec_remove(&known->vec, at);
}

static void follow_module(struct session *session, const struct module *module,
			  struct known_module *was)
{
	if (was->died == module->died)
		return;
	symbols_end(session->symbols, was->start, was->born, module->died);
	was->died = module->died;
}

/*
 * The modules that were added to a module map, or removed from it, since the last time. Both lists
 * are in order of serials.
 */
static struct err *know_modules(struct session *session, const struct modules *modules,
				struct known_modules *known)
{
	struct err *err = NULL;
	size_t at = 0;

	for (size_t i = 0; i < modules->all.nr && !err; i++, at++) {
		const struct module *module = modules->all.at[i];

		while (at < known->vec.nr && known->vec.at[at].serial < module->serial)
			forget_module(session, known, at);
		if (at < known->vec.nr)
			follow_module(session, module, &known->vec.at[at]);
		else
			err = know_module(session, module, known);
	}
	while (!err && at < known->vec.nr)
		forget_module(session, known, at);
	return err;
}

static struct err *know_entry(struct session *session, uint64_t address, const char *known_as)
{
	char *name;
	struct err *err;

	if (map_get(&session->entry_names, address))
		return NULL;
	name = strdup(known_as);
	err = name ? map_put(&session->entry_names, address, name) : err_nomem;
	if (err)
		free(name);
	return err;
}

static struct err *know_entries(struct session *session)
{
	struct probes *probes = session->current->probes;
	struct err *err = NULL;

	for (size_t i = 0; probes && i < probes->past_entries.nr && !err; i++)
		err = know_entry(session, probes->past_entries.at[i].address,
				 probes->past_entries.at[i].name);
	if (probes && !err)
		vec_clear(&probes->past_entries);
	for (size_t i = 0; probes && i < probes->all.nr && !err; i++)
		if (probes->all.at[i]->fn)
			err = know_entry(session, probes->all.at[i]->address,
					 probes->all.at[i]->fn->name);
	return err;
}

/* Changes whenever the module map of any process does. */
static uint64_t map_generations(const struct session *session)
{
	uint64_t sum = 0;

	for_each_process(process, session)
		if (process->target)
			sum += process->target->modules.generation;
	return sum;
}

static struct err *find_v8(struct session *session, void *arg UNUSED)
{
	struct v8_code *v8 = &session->v8;

	v8->known = false;
	vec_each_value(module, &session->current->target->modules.live)
		v8->known = v8->known || (module->elf && v8_code_layout(module->elf, &v8->layout));
	return NULL;
}

/* Name code that V8 has compiled in the current process. */
static bool name_v8(void *ctx, uint64_t pc, struct v8_name *ret)
{
	struct session *session = ctx;
	struct v8_code *v8 = &session->v8;
	struct proc_maps maps = { VEC_INIT };
	bool named;

	if (!session->current->target)
		return false;
	if (session->v8_generation != session->known_generation &&
	    session_call(session, find_v8, NULL))
		return false;
	session->v8_generation = session->known_generation;
	if (!v8->known || session_maps(session, &maps))
		return false;
	v8->arch = session_arch(session);
	v8->memory = session_memory(session);
	named = v8_code_name(v8, &maps, pc, ret);
	procparse_maps_free(&maps);
	return named;
}

/*
 * This runs on the tracer thread while the main thread waits, so that neither sees data that is
 * half changed.
 */
static struct err *sync_job(struct session *session, void *arg UNUSED)
{
	struct err *err = NULL;

	if (!session->symbols)
		err = symbols_create(session->current->target->kind->live ?
					     session->current->pid : 0, &session->symbols);
	if (!err)
		symbols_set_warn(session->symbols, warn_of_names, session);
	if (!err)
		symbols_set_v8(session->symbols, name_v8, session);
	if (!err)
		symbols_floor(session->symbols, session->floor);
	for_each_process(process, session)
		if (!err && process->target)
			err = know_modules(session, &process->target->modules, &process->known);
	if (!err)
		err = know_entries(session);
	if (!err)
		session->known_generation = map_generations(session);
	return err;
}

struct err *session_symbols_sync(struct session *session)
{
	struct err *err = session->current->target ? untraced_poll(session) : NULL;

	if (err || !session->current->target ||
	    (session->symbols && session->known_generation == map_generations(session)))
		return err;
	return session_call(session, sync_job, NULL);
}

struct symbols *session_symbols(struct session *session)
{
	/* if it fails, new modules have no names yet */
	err_ignore(session_symbols_sync(session));
	if (session->symbols)
		symbols_begin(session->symbols);
	if (tracer_now() - session->v8_ns > V8_FRESH_NS) {
		v8_code_forget(&session->v8);
		session->v8_ns = tracer_now();
	}
	return session->symbols;
}

struct symbols *session_symbols_known(struct session *session)
{
	return session->symbols;
}

const char *session_symbols_entry(struct session *session, uint64_t pc)
{
	return map_get(&session->entry_names, pc);
}
