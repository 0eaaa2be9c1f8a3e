/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The line on references (ref_text.h). */

#include "report/ref_text.h"

#include "answer/stack_names.h"
#include "base/cleanup.h"
#include "report/out.h"
#include "session/pool/session_refs.h"
#include "session/session.h"

#define SHOWN	8u	/* stacks that are named */

static struct err *add_ref(struct stack_names *names, const struct session_ref *ref, bool first,
			   struct str *ret)
{
	struct err *err = str_addf(ret, "%s%" PRIu64 " %s in ", first ? "" : ", ",
				   ref->taken ? ref->taken : ref->given,
				   ref->taken ? "taken" : "given back");

	return err ? err : stack_names_headline(names, ref->stack, ret);
}

struct err *ref_text_print(struct session *session, uint64_t address, struct out *out)
{
	AUTO_STR struct str text = STR_INIT;
	struct session_refs_of refs;
	struct stack_names names;
	struct err *err = session_refs_of(session, address, &refs);

	stack_names_init(&names, session);
	for (size_t i = 0; !err && i < refs.refs.nr && i < SHOWN; i++)
		err = add_ref(&names, &refs.refs.at[i], !i, &text);
	if (!err && refs.refs.nr)
		out_f(out, "References: %s%s; `malloc refs 0x%" PRIx64 "` has the stacks\n",
		      str_text(&text), refs.refs.nr > SHOWN ? " ..." : "", address);
	stack_names_free(&names);
	vec_free(&refs.refs);
	return err;
}
