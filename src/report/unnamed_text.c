/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What gives names to code that an answer has shown as `??` (unnamed_text.h). */

#include "report/unnamed_text.h"

#include <string.h>

#include "os/procparse.h"
#include "probe/runtimes/runtimes.h"
#include "report/out.h"
#include "session/session.h"
#include "symbol/symbol.h"

/*
 * Memory that the kernel has made ([uprobes], [vdso]) has no compiler's code; a program may name its
 * own.
 */
static bool is_kernels(const struct proc_map *map)
{
	return map->path[0] == '[' && strncmp(map->path, "[anon", strlen("[anon"));
}

/* Does it lie in executable memory of the program's? */
static bool is_code(struct session *session, uint64_t pc)
{
	struct proc_maps maps = { VEC_INIT };
	bool found = false;

	if (session_maps(session, &maps))
		return false;
	vec_each(map, &maps.vec)
		found |= pc >= map->start && pc < map->end && map->exec && !is_kernels(map);
	procparse_maps_free(&maps);
	return found;
}

static const struct runtime *jit_of(struct session *session)
{
	const struct runtimes *runtimes;

	if (session_allocator_runtimes(session, &runtimes))
		return NULL;
	for (size_t i = 0; i < runtimes->nr; i++)
		if (runtimes->at[i]->jit)
			return runtimes->at[i];
	return NULL;
}

void unnamed_text_print(struct session *session, struct out *out)
{
	struct session_naming *naming = session_naming(session);
	const struct symbols *symbols = session_symbols_known(session);
	const struct runtime *runtime;
	uint64_t pc = naming->unnamed;

	naming->unnamed = 0;
	if (!pc || !is_code(session, pc))
		return;
	runtime = jit_of(session);
	/* If there are names, who was told to write them when it started has no others. */
	if (symbols && symbols_has_perf_map(symbols) && (!runtime || !runtime->jit_anew))
		return;
	if (runtime)
		out_f(out, "?? is code that %s has compiled: %s\n", runtime->name, runtime->jit);
	else
		out_text(out, "?? is code of no file, which a JIT compiler has made: some write its "
			      "names to /tmp/perf-PID.map if they are told to, and mdbg reads them\n");
}
