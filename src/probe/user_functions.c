/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of functions that the user has named, and how one is taken out (user_functions.h). */

#include "probe/user_functions.h"

#include <stdlib.h>
#include <string.h>

#include "probe/probe.h"

static void free_one(struct user_function *user)
{
	free(user->name);
	free(user->path);
	free(user);
}

struct err *user_functions_add(struct user_functions *users, const struct alloc_function *what,
			       const char *name, const char *path, uint64_t value,
			       struct user_function **ret)
{
	struct user_function *user = calloc(1, sizeof(*user));
	struct err *err = err_nomem;

	if (!user)
		return err_nomem;
	user->fn = *what;
	user->name = strdup(name);
	user->path = strdup(path);
	user->value = value;
	if (user->name && user->path)
		err = vec_push(&users->vec, user);
	if (err) {
		free_one(user);
		return err;
	}
	user->fn.symbol = user->fn.name = user->name;
	user->fn.user = true;
	*ret = user;
	return NULL;
}

void user_functions_free(struct user_functions *users)
{
	for (size_t i = 0; i < users->vec.nr; i++)
		free_one(users->vec.at[i]);
	vec_free(&users->vec);
}

struct err *user_functions_drop(struct probes *probes, struct probe *probe)
{
	struct err *err = NULL;

	if (probe->state == PROBE_ACTIVE)
		err = patch_text_undo(probes->target, probe->text_entry);
	if (err)
		return err;
	probe->state = PROBE_REFUSED;
	probe->overwritten = false;
	probe->gone = true;
	return NULL;
}
