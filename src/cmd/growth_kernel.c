/* SPDX-License-Identifier: GPL-3.0-or-later */
/* growth kernel (growth.h). */

#include <time.h>

#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/growth.h"
#include "cmd/values.h"
#include "os/procfs.h"
#include "report/kernel.h"
#include "session/growth_kernel.h"
#include "session/session.h"

#define KIND	(1u << GROWTH_KERNEL)
#define LINES	20u	/* of /proc/allocinfo */

static struct err *start(struct session *session, unsigned kinds UNUSED, struct out *out UNUSED)
{
	return session_kernel_start(session);
}

static struct err *stop(struct session *session)
{
	session_kernel_stop(session);
	return NULL;
}

static unsigned running(const struct session *session)
{
	return session_kernel(session) ? KIND : 0;
}

static void sums_free(struct kernel_sums *sums)
{
	vec_free(&sums->vec);
}

static struct err *ask(struct call *call, const struct growth_ask *asked,
		       struct kernel_names *names, struct kernel_sums *sums)
{
	kernel_names_read(names);
	return kernel_add_up(session_kernel(call->session), names, &asked->query.filter,
			     procfs_clock(CLOCK_REALTIME), sums);
}

/* Most kernels do not count by line, and then nothing is said of it. */
static void show_lines(uint64_t limit, struct out *out)
{
	struct allocinfo info;
	struct err *err = allocinfo_read(&info);

	if (!err)
		allocinfo_print(&info, MIN(limit, LINES), out);
	else if (err->code != ERR_NOTFOUND)
		out_f(out, "%s\n\n", err->msg);
	vec_free(&info.vec);
}

static struct err *show(struct call *call, struct growth_ask *asked)
{
	CLEANUP(kernel_names_free) struct kernel_names names = { .known = false };
	CLEANUP(sums_free) struct kernel_sums sums = { .estimated = 0 };
	struct err *err = ask(call, asked, &names, &sums);

	if (!err)
		err = kernel_print(session_kernel(call->session), &names, &sums,
				   asked->query.order.limit, call->out);
	if (!err && !asked->query.filter.conds.nr)
		show_lines(asked->query.order.limit, call->out);
	return err;
}

/* A stack is a list of dicts, as mdbg::frames gives it: the kernel's stacks are in no log. */
static Tcl_Obj *frames(struct kernel_growth *growth, const struct kernel_names *names,
		       uint32_t stack)
{
	Tcl_Obj *list = Tcl_NewObj();
	uint32_t nr;
	const uint64_t *pcs = kernel_stack(growth, names, stack, &nr);

	for (uint32_t i = 0; i < nr; i++) {
		const struct kallsyms_name *sym = kallsyms_find(&names->syms, pcs[i] - 1);
		Tcl_Obj *dict = Tcl_NewDictObj();

		dict_address(dict, "pc", pcs[i]);
		dict_text(dict, "function", sym ? kallsyms_text(&names->syms, sym->name) : "");
		dict_number(dict, "offset", sym ? pcs[i] - sym->address : 0);
		dict_text(dict, "module", sym ? kallsyms_text(&names->syms, sym->module) : "");
		Tcl_ListObjAppendElement(NULL, list, dict);
	}
	return list;
}

static Tcl_Obj *sum_dict(struct kernel_growth *growth, const struct kernel_names *names,
			 const struct kernel_sum *sum)
{
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_number(dict, "bytes", sum->bytes);
	dict_number(dict, "count", sum->count);
	dict_number(dict, "seen", sum->seen);
	dict_text(dict, "kind", sum->pages ? "pages" : "objects");
	dict_value(dict, "stack", frames(growth, names, sum->stack));
	return dict;
}

static struct err *value(struct call *call, struct growth_ask *asked, Tcl_Obj **ret)
{
	CLEANUP(kernel_names_free) struct kernel_names names = { .known = false };
	CLEANUP(sums_free) struct kernel_sums sums = { .estimated = 0 };
	struct kernel_growth *growth = session_kernel(call->session);
	struct err *err = ask(call, asked, &names, &sums);

	if (err)
		return err;
	sums.vec.nr = MIN(sums.vec.nr, asked->query.order.limit);
	*ret = value_list(&sums.vec, sum, sum_dict(growth, &names, sum));
	return NULL;
}

const struct growth_source growth_kernel = {
	.kinds		= KIND,
	.attrs		= 1u << FILTER_ADDRESS | 1u << FILTER_SIZE | 1u << FILTER_TIME |
			  1u << FILTER_AGE | 1u << FILTER_FUNCTION | 1u << FILTER_MODULE,
	.lacks		= "the kernel's allocations have no thread",
	.logless	= true,
	.start		= start,
	.stop		= stop,
	.running	= running,
	.show		= show,
	.value		= value,
};
