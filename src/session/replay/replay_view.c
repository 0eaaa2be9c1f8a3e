/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The recordings that a session has open. */

#include "session/replay/replay_view.h"

#include <stdlib.h>

#include "base/cleanup.h"

struct err *replay_view_history(struct replay *replay, struct history *ret)
{
	AUTO_FREE struct record_reader **readers = calloc(replay->sources.nr, sizeof(*readers));

	if (!readers)
		return err_nomem;
	for (size_t i = 0; i < replay->sources.nr; i++)
		readers[i] = replay->sources.at[i].reader;
	return replay_timeline_history(&replay->timeline, readers, replay->sources.nr,
				       replay->only, ret);
}
