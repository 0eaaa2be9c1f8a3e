/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The wrappers of the allocator that were found, in lines of text. */

#include "report/wrapper_text.h"

#include "report/out.h"
#include "session/session.h"

void wrapper_text_print(struct session *session, struct out *out)
{
	struct session_naming *naming = session_naming(session);

	for (; naming->nr_said < naming->nr_wrappers; naming->nr_said++) {
		const struct session_wrapper *is = &naming->wrapper[naming->nr_said];

		out_f(out, "%s allocates %u %% of the blocks, and passes an argument of its own on as "
			   "their size: sites are named after its callers (`set skip default` undoes "
			   "this)\n", is->name, is->share);
	}
}
