/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers the sites of stacks (like_sites.h). */

#include "answer/like_sites.h"

#include "answer/stack_names.h"
#include "log/log.h"
#include "session/session.h"

void like_sites_free(struct like_sites *sites)
{
	text_set_free(&sites->names);
	vec_free(&sites->of_stack);
}

struct err *like_sites_take(struct stack_names *names, struct like_sites *ret)
{
	uint32_t nr = reader_stacks(session_log(names->session));
	struct err *err = NULL;

	for (uint32_t stack = 1; !err && stack <= nr; stack++) {
		struct stack_own own;
		const char *name;
		uint32_t number, *of;

		if (!stack_names_own(names, stack, &own))
			continue;
		name = own.frame.function ? own.frame.function : own.frame.place;
		if (!name)
			continue;
		err = text_set_copy(&ret->names, name, &number);
		of = err ? NULL : vec_slot(&ret->of_stack, stack);
		if (!err && !of)
			err = err_nomem;
		if (!err)
			*of = number + 1;
	}
	return err;
}
