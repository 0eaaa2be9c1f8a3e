/* SPDX-License-Identifier: GPL-3.0-or-later */
/* memory service, mdbg::memory_service: the processes of a service beside one another. */

#include "cmd/machine/memory_service.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answer/service_rows.h"
#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/shell.h"
#include "os/kernel_text.h"
#include "report/out.h"
#include "report/rows_text.h"

/* Take a look, compare it with the last one of the same service, and keep it. */
static struct err *look(struct call *call, struct service **ret)
{
	struct service **last = &call->shell->service_last;
	struct service *now = calloc(1, sizeof(*now));
	struct err *err = now ? service_look("/proc", call->argv[0], now) : err_nomem;

	if (!err)
		err = service_compare(*last && !strcmp((*last)->what, now->what) ? *last : NULL,
				      now);
	if (err) {
		memory_service_forget(&now);
		return err;
	}
	memory_service_forget(last);
	*last = *ret = now;
	return NULL;
}

void memory_service_forget(struct service **service)
{
	if (*service)
		service_free(*service);
	free(take(*service));
}

static void print_size(struct out *out, uint64_t bytes)
{
	out_text(out, number_text_size(out, bytes).at);
}

static void print_change(struct out *out, int64_t bytes)
{
	out_text(out, bytes < 0 ? "-" : "+");
	print_size(out, bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes);
}

/* A sum of what is known of all; else nothing. */
static void print_sum(const struct service *service, size_t at, const char *name,
		      struct out *out)
{
	uint64_t sum = 0;

	vec_each(member, &service->vec)
		sum = kernel_text_sum(sum, *(const uint64_t *)((const char *)member + at));
	if (!kernel_is_number(sum))
		return;
	out_f(out, ", %s ", name);
	print_size(out, sum);
}

static void print_sums(const struct service *service, struct out *out)
{
	out_f(out, "\n%zu process%s", service->vec.nr, service->vec.nr == 1 ? "" : "es");
	print_sum(service, offsetof(struct service_member, resident), "resident", out);
	print_sum(service, offsetof(struct service_member, pss), "pss", out);
	print_sum(service, offsetof(struct service_member, private), "private", out);
	print_sum(service, offsetof(struct service_member, swap), "swap", out);
	out_text(out, "\n");
	if (service->unread)
		out_f(out, "Of %zu process%s smaps_rollup may not be read: all are compared by their "
		      "resident memory\n", service->unread, service->unread == 1 ? "" : "es");
}

static void print_growth(const struct service *service, struct out *out)
{
	char time[32];

	if (!service->interval_ns) {
		out_text(out, "Growth (-) is known when it is asked again\n");
		return;
	}
	number_text_duration(time, sizeof(time), service->interval_ns);
	out_f(out, "In %s: those that stayed ", time);
	print_change(out, service->growth);
	if (service->came) {
		out_f(out, "; %zu came with ", service->came);
		print_size(out, service->came_bytes);
	}
	if (service->gone) {
		out_f(out, "; %zu went, which had ", service->gone);
		print_size(out, service->gone_bytes);
	}
	out_text(out, "\n");
}

static void print_group(const struct memory_group *group, struct out *out)
{
	uint64_t limit = memory_group_limit(group);

	out_text(out, "Control group ");
	out_outside(out, (struct outside){ group->path });
	if (kernel_is_number(group->use)) {
		out_text(out, ": uses ");
		print_size(out, group->use);
	}
	if (kernel_is_number(limit)) {
		out_text(out, " of ");
		print_size(out, limit);
		out_text(out, ", left ");
		print_size(out, memory_group_left(group));
	} else if (limit == KERNEL_NO_LIMIT) {
		out_text(out, ", no limit");
	}
	if (kernel_is_number(group->at_limit) && group->at_limit)
		out_f(out, ", at its limit %" PRIu64 " times", group->at_limit);
	if (kernel_is_number(group->oom_kills) && group->oom_kills)
		out_f(out, ", %" PRIu64 " killed for lack of memory", group->oom_kills);
	out_text(out, "\n");
}

static void print_outlier(const struct call *call, const struct service *service)
{
	const struct service_member *is = service->outlier;
	struct out *out = call->out;

	if (service->vec.nr < 3)
		return;
	if (!is) {
		out_text(out, "No outlier: none is far above the others\n");
		return;
	}
	out_f(out, "Outlier: %d ", is->pid);
	if (service->grows) {
		out_text(out, "grows: ");
		print_change(out, is->growth);
		out_text(out, ", where the median is ");
		print_change(out, service->median_growth);
	} else {
		out_text(out, "holds ");
		print_size(out, is->size);
		out_text(out, ", where the median is ");
		print_size(out, service->median);
	}
	if (service->outliers > 1)
		out_f(out, "; and %zu more", service->outliers - 1);
	if (session_pid(call->session) == is->pid && session_state(call->session) != SESSION_ENDED)
		out_text(out, "\nNext: malloc sites\n");
	else
		out_f(out, "\nNext: attach %d\n", is->pid);
}

static struct err *run(struct call *call)
{
	struct service *service;
	CLEANUP(answer_free) struct answer rows = { .nr = 0 };
	struct err *err = look(call, &service);

	if (!err)
		err = service_rows(service, &rows);
	if (!err)
		err = rows_text_print(&rows, NULL, call->out);
	if (err)
		return err;
	print_sums(service, call->out);
	print_growth(service, call->out);
	for (size_t i = service->common; i < service->groups.vec.nr; i++)
		print_group(&service->groups.vec.at[i], call->out);
	print_outlier(call, service);
	return NULL;
}

static struct err *rows(struct call *call, struct answer *ret)
{
	struct service *service;
	struct err *err = look(call, &service);

	return err ? err : service_rows(service, ret);
}

static const struct twin twin = {
	.name		= "mdbg::memory_service",
	.brief		= "list of dicts: the processes of `memory service`",
	.help		= "- is what is not known: figures of smaps_rollup that may not be read, and the\n"
			  "growth of a process that the last look at this service did not have.\n",
	.of		= &service_relation,
	.rows		= rows,
};

const struct cmd cmd_memory_service = {
	.name		= "memory service",
	.usage		= "NAME|CGROUP",
	.brief		= "the processes of a service, and which one differs",
	.help		= "No attach is needed, and none is done. NAME is that of the processes or of\n"
			  "their program's file; if none has it, the last part of a control group's path.\n"
			  "CGROUP is such a path, as in /proc/PID/cgroup: /system.slice/web.service. The\n"
			  "groups below it belong to it.\n"
			  "\n"
			  "RESIDENT counts shared pages in each process, PSS its part of them: the sum of\n"
			  "PSS is what they hold together. PRIVATE (USS) goes when the process ends. These\n"
			  "and SWAP are from /proc/PID/smaps_rollup, which belongs to root and the user\n"
			  "of the process. GROWTH is of private memory and swap (or of resident memory, if\n"
			  "others may not be read), since the last `memory service` of the same words.\n"
			  "\n"
			  "An outlier is more than five times as far above the median as processes are\n"
			  "usually apart: 1.48 times the median distance from the median, 256 KB and a\n"
			  "twentieth of the median at least; of growth, 32 KB. Growth goes before size. Of\n"
			  "fewer than three processes none is. Processes that came and went are counted,\n"
			  "with what they hold and held.\n"
			  "\n"
			  "The groups that all of them are in follow, with the limits that the kernel\n"
			  "keeps.\n"
			  "\n"
			  "Error: {MDBG NOTFOUND}: there is no such process or group.\n",
	.example	= "memory service postgres\n"
			  "memory service /system.slice/php-fpm.service\n",
	.run		= run,
	.twin		= &twin,
	.min_args	= 1,
	.max_args	= 1,
	.complete	= COMPLETE_PROCESSES,
};
