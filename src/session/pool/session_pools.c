/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which pools a target has (session_pools.h). */

#include "session/pool/session_pools.h"

#include <string.h>

#include "probe/pools.h"
#include "probe/probe.h"
#include "session/private.h"
#include "tracee/target.h"

static bool is_probed(const struct session *session, const struct pool *pool)
{
	vec_each_value(user, &session->users.vec)
		if (!user->deleted && !strcmp(user->name, pool->function))
			return true;
	return false;
}

static struct err *pools_job(struct session *session, void *arg)
{
	struct session_pools *ret = arg;
	const struct target *target = session->current->target;

	if (!target)
		return NULL;
	ret->here = pools_find(&target->modules);
	for (unsigned i = 0; i < POOLS; i++)
		if (is_probed(session, &pools[i]))
			ret->probed |= 1u << i;
	return NULL;
}

struct err *session_pools(struct session *session, struct session_pools *ret)
{
	*ret = (struct session_pools){ .here = 0 };
	return session_call(session, pools_job, ret);
}
