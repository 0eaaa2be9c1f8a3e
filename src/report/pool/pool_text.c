/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lines on pools (pool_text.h). */

#include "report/pool/pool_text.h"

#include "base/cleanup.h"
#include "probe/pools.h"
#include "report/out.h"
#include "session/session.h"
#include "session/pool/session_pools.h"

struct err *pool_text_offer(struct session *session, struct str *ret)
{
	AUTO_STR struct str names = STR_INIT, lists = STR_INIT;
	struct session_pools is;
	struct err *err;
	unsigned nr = 0;

	if (!session_armed(session))
		return NULL;
	err = session_pools(session, &is);

	for (unsigned i = 0; !err && i < POOLS; i++) {
		if (!pools[i].offered || !(is.here & ~is.probed & 1u << i))
			continue;
		err = str_addf(ret, "%s%s (%s)", nr ? ", " : "", pools[i].what, pools[i].function);
		if (!err)
			err = str_addf(&names, "%s`probe pool %s`", nr++ ? ", " : "",
				       pools[i].name);
		if (!err && pools[i].lists)
			err = str_addf(&lists, "; `%s` lists those that are there, `%s` those that "
				       "nothing points to", pools[i].lists, pools[i].loses);
	}
	if (err || !nr)
		return err;
	return str_addf(ret, " lie many in one block, which is all that malloc knows; %s record%s "
			"them one by one from now on%s", str_text(&names), nr == 1 ? "s" : "",
			str_text(&lists));
}

struct err *pool_text_print(struct session *session, struct out *out)
{
	AUTO_STR struct str text = STR_INIT;
	struct err *err = pool_text_offer(session, &text);

	if (!err && text.len)
		out_f(out, "Pools: %s\n", str_text(&text));
	return err;
}

struct err *pool_text_print_whole(struct session *session, struct out *out)
{
	struct session_pools is;
	struct err *err = session_pools(session, &is);

	for (unsigned i = 0; !err && i < POOLS; i++)
		if (pools[i].whole && is.probed & 1u << i)
			out_f(out, "Pools: blocks of %s that were freed with a whole pool, by one call, "
				   "stay recorded and may be listed as lost\n", pools[i].what);
	return err;
}
