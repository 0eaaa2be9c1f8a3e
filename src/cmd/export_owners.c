/* SPDX-License-Identifier: GPL-3.0-or-later */
/* export heapsnapshot (export_owners.h). */

#include "cmd/export_owners.h"

#include "answer/owner_rows.h"
#include "answer/stack_names.h"
#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "report/lack_text.h"
#include "report/stood_text.h"
#include "session/session.h"

static struct err *write_to(const struct export_format *format, const char *name,
			    struct stack_names *names, const struct owners *owners,
			    struct export_done *done_ret)
{
	Tcl_DString native;
	struct err *err;

	if (!Tcl_TranslateFileName(NULL, name, &native))
		return err_create(ERR_NOTFOUND, "write to %s: no such user", name);
	err = export_format_write_owners(format, names, owners, Tcl_DStringValue(&native),
					 done_ret);
	Tcl_DStringFree(&native);
	return err;
}

struct err *export_owners(const struct call *call, const struct export_format *format,
			  const char *name, struct export_done *done_ret,
			  struct exported_owners *ret)
{
	CLEANUP(stack_names_free) struct stack_names names;
	CLEANUP(owner_rows_free) struct owners owners = { .keeps.of = NULL };
	struct err *err = call->argc ? call_bad_word(call->argv[0]) : call_need_view(call);

	stack_names_init(&names, call->session);
	if (!err)
		err = owner_rows_take(call->session, &(struct owner_ask){ 0 }, &owners);
	if (!err)
		err = owner_rows_find(call->session, true, &owners);
	if (!err)
		err = write_to(format, name, &names, &owners, done_ret);
	if (err)
		return err;
	*ret = (struct exported_owners){ owners.keeps.blocks[owners.keeps.top],
					 dominators_bytes(&owners.keeps, owners.keeps.top),
					 owners.graph.graph.to.nr };
	return NULL;
}

struct err *export_owners_print(const struct call *call, const char *name,
				const struct exported_owners *owners, struct out *out)
{
	out_f(out, "%" PRIu64 " blocks, %s bytes, with %" PRIu64 " pointers written to %s\n",
	      owners->blocks, number_text_size(out, owners->bytes).at, owners->pointers, name);
	stood_text_print(out, session_stood(call->session), "");
	return lack_text_print(call->session, out);
}
