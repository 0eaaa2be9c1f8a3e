/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists for each function of the table of allocators how it is probed, or why it is not. */

#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "log/ledger.h"
#include "probe/probe_slot.h"
#include "probe/probe.h"
#include "session/private.h"
#include "tracee/module.h"

static const char *why(const struct session *session, const struct probe *probe)
{
	if (probe->overwritten)
		return "another tool has written over its patch";
	switch (probe->state) {
	case PROBE_REFUSED:
		return probe->why;
	case PROBE_PLANNED:
		return "not armed";
	default:
		return session->config.engine == SESSION_ENGINE_BREAKPOINT
			? "as asked for by --engine"
			: probe->why;
	}
}

static void describe_alloc(const struct alloc_function *fn, struct session_probe *ret)
{
	char size[32];

	if (fn->bytes)
		snprintf(size, sizeof(size), "bytes=%u", fn->bytes);
	else if (fn->count == ALLOC_NO_ARG)
		snprintf(size, sizeof(size), "size=%d", fn->size + 1);
	else
		snprintf(size, sizeof(size), "size=%d*%d", fn->size + 1, fn->count + 1);
	if (fn->role == ALLOC_NEW)
		snprintf(ret->user, sizeof(ret->user), "alloc %s ptr=ret", size);
	else
		snprintf(ret->user, sizeof(ret->user), "alloc %s %s=%d", size,
			 fn->role == ALLOC_RESIZE ? "old" : "ptr", fn->ptr + 1);
}

static void describe_user(const struct alloc_function *fn, struct session_probe *ret)
{
	if (!fn->user)
		return;
	if (fn->call == USER_CALL_CHAIN)
		snprintf(ret->user, sizeof(ret->user), "free ptr=%d next=%d", fn->ptr + 1,
			 fn->count + 1);
	else if (fn->call)
		snprintf(ret->user, sizeof(ret->user), "%s object=%d",
			 fn->call == USER_CALL_REF ? "ref" : "unref", fn->ptr + 1);
	else if (fn->role == ALLOC_FREE)
		snprintf(ret->user, sizeof(ret->user), "free ptr=%d", fn->ptr + 1);
	else
		describe_alloc(fn, ret);
}

static void describe(const struct session *session, const struct probe *probe,
		     struct session_probe *ret)
{
	memset(ret, 0, sizeof(*ret));
	snprintf(ret->function, sizeof(ret->function), "%s", probe->fn->name);
	snprintf(ret->symbol, sizeof(ret->symbol), "%s", probe->fn->symbol);
	snprintf(ret->module, sizeof(ret->module), "%.63s", path_base(probe->module->path));
	ret->address = probe->address;
	ret->patch = probe->patch;
	describe_user(probe->fn, ret);
	ret->active = probe_records(probe);
	if (ret->active)
		snprintf(ret->engine, sizeof(ret->engine),
			 probe->engine == PROBE_JUMP ? "jump" : "breakpoint");
	snprintf(ret->why, sizeof(ret->why), "%.191s", why(session, probe));
}

static struct err *probes_job(struct session *session, void *arg)
{
	struct probes *probes = session->current->probes;
	struct session_probes *ret = arg;

	for (size_t i = 0; probes && i < probes->all.nr; i++) {
		struct session_probe described;
		struct err *err;

		if (!probe_of_allocator(probes->all.at[i]) || probes->all.at[i]->gone ||
		    probe_slot_came_again(probes, i))
			continue;
		describe(session, probes->all.at[i], &described);
		err = vec_push(&ret->vec, described);
		if (err)
			return err;
	}
	return NULL;
}

struct err *session_probes(struct session *session, struct session_probes *ret)
{
	struct err *err;

	*ret = (struct session_probes){ VEC_INIT };
	err = session_call(session, probes_job, ret);
	if (err)
		vec_free(&ret->vec);
	return err;
}
