/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds up and prints what the kernel holds. */

#include "report/kernel.h"

#include <inttypes.h>
#include <string.h>

#include "answer/process_code.h"
#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "report/out.h"
#include "report/traceback.h"
#include "session/session.h"
#include "symbol/name_glob.h"

#define INDENT	8

void kernel_names_read(struct kernel_names *names)
{
	struct err *err = kallsyms_read(&names->syms);

	names->known = !err;
	if (err)
		err_copy(&names->why, err);
}

void kernel_names_free(struct kernel_names *names)
{
	kallsyms_free(&names->syms);
}

static const char *name_at(const struct kernel_names *names, uint64_t pc)
{
	const struct kallsyms_name *sym = names->known ? kallsyms_find(&names->syms, pc - 1) : NULL;

	return sym ? kallsyms_text(&names->syms, sym->name) : "";
}

/*
 * Is this one of the frames of tracing, from the BPF program to the function that has the
 * tracepoint?
 */
static bool is_tracing(const char *name)
{
	static const char *const begins[] = { "bpf_trace_run", "__bpf_trace_", "__traceiter_",
					      "bpf_prog_", "trace_" };

	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return true;
	return false;
}

const uint64_t *kernel_stack(struct kernel_growth *growth, const struct kernel_names *names,
			     uint32_t stack, uint32_t *nr_ret)
{
	uint32_t nr, skip = 0;
	const uint64_t *pcs = kernel_growth_stack(growth, stack, &nr);

	for (uint32_t i = 0; i < MIN(nr, 4u); i++)
		if (is_tracing(name_at(names, pcs[i])))
			skip = i + 1;
	*nr_ret = nr - skip;
	return nr ? pcs + skip : NULL;
}

static uint64_t attr_of(const struct kernel_held *held, enum filter_attr attr, uint64_t now_ns)
{
	switch (attr) {
	case FILTER_ADDRESS:
		return held->key;
	case FILTER_SIZE:
		return held->size;
	case FILTER_TIME:
		return now_ns - held->age;
	default:
		return held->age;
	}
}

static bool keeps_numbers(const struct filter *filter, const struct kernel_held *held,
			  uint64_t now_ns)
{
	vec_each(cond, &filter->conds)
		if (!cond->glob && !filter_compares(attr_of(held, cond->attr, now_ns),
						    cond->relop, cond->number))
			return false;
	return true;
}

/* Does any frame match? */
static bool stack_has(struct kernel_growth *growth, const struct kernel_names *names,
		      uint32_t stack, const struct filter_cond *cond)
{
	uint32_t nr;
	const uint64_t *pcs = kernel_stack(growth, names, stack, &nr);

	for (uint32_t i = 0; i < nr; i++) {
		const struct kallsyms_name *sym = kallsyms_find(&names->syms, pcs[i] - 1);
		const char *text = !sym ? "" : kallsyms_text(&names->syms,
							     cond->attr == FILTER_MODULE ?
							     sym->module : sym->name);

		if (name_glob_matches_text(cond->glob, text))
			return true;
	}
	return false;
}

static bool keeps_stack(struct kernel_growth *growth, const struct kernel_names *names,
			const struct filter *filter, uint32_t stack)
{
	vec_each(cond, &filter->conds)
		if (cond->glob && stack_has(growth, names, stack, cond) !=
		    (cond->relop == FILTER_EQ))
			return false;
	return true;
}

struct adding {
	const struct filter *filter;
	uint64_t now_ns;
	bool by_user;
	struct kernel_sums *sums;
	struct map at;			/* user, stack << 1 | pages → number of the sum + 1 */
};

static struct err *add(const struct kernel_held *held, void *ctx)
{
	struct adding *adding = ctx;
	uint32_t user = adding->by_user ? held->user : 0;
	uint64_t key = (uint64_t)user << 32 | held->stack << 1 | held->pages;
	struct kernel_sum *sum;
	uintptr_t nr;
	struct err *err = NULL;

	if (!keeps_numbers(adding->filter, held, adding->now_ns))
		return NULL;
	nr = (uintptr_t)map_get(&adding->at, key);
	if (!nr) {
		err = vec_push(&adding->sums->vec,
			       ((struct kernel_sum){ .stack = held->stack, .user = user,
						     .pages = held->pages,
						     .time = UINT64_MAX }));
		nr = adding->sums->vec.nr;
		if (!err)
			err = map_put(&adding->at, key, (void *)nr);
	}
	if (err)
		return err;
	sum = &adding->sums->vec.at[nr - 1];
	sum->bytes += (uint64_t)held->size * held->weight;
	sum->count += held->weight;
	sum->seen++;
	sum->time = MIN(sum->time, adding->now_ns - held->age);
	if (held->weight > 1)
		sum->estimated += held->weight;
	return NULL;
}

COMPARE_BY(by_bytes, struct kernel_sum, sum, ~sum->bytes)

/* A filter by names that are hidden would keep nothing, and that would look like an answer. */
static struct err *check_names(const struct kernel_names *names, const struct filter *filter)
{
	vec_each(cond, &filter->conds)
		if (cond->glob && !names->known)
			return err_hint(err_create(names->why.code, "%s", names->why.msg), "%s",
					names->why.hint);
	return NULL;
}

struct err *kernel_add_up(struct kernel_growth *growth, const struct kernel_names *names,
			  const struct filter *filter, bool by_user, uint64_t now_ns,
			  struct kernel_sums *ret)
{
	struct adding adding = { filter, now_ns, by_user, ret, MAP_INIT };
	struct err *err = check_names(names, filter);
	size_t nr = 0;

	if (!err)
		err = kernel_growth_each(growth, add, &adding);
	map_free(&adding.at, NULL);
	if (err)
		return err;
	vec_each(sum, &ret->vec) {
		if (!keeps_stack(growth, names, filter, sum->stack))
			continue;
		ret->bytes[sum->pages] += sum->bytes;
		ret->count[sum->pages] += sum->count;
		ret->estimated += sum->estimated;
		ret->vec.at[nr++] = *sum;
	}
	ret->vec.nr = nr;
	vec_sort(&ret->vec, by_bytes);
	return NULL;
}

static void print_frame(const struct kernel_names *names, uint64_t pc, struct out *out)
{
	const struct kallsyms_name *sym = names->known ? kallsyms_find(&names->syms, pc - 1) : NULL;
	const char *module;

	out_address(out, pc);
	if (!sym) {
		out_text(out, " ??\n");
		return;
	}
	module = kallsyms_text(&names->syms, sym->module);
	out_text(out, " ");
	out_outside(out, (struct outside){ kallsyms_text(&names->syms, sym->name) });
	out_f(out, "+0x%" PRIx64, pc - sym->address);
	if (*module) {
		out_text(out, " [");
		out_outside(out, (struct outside){ module });
		out_text(out, "]");
	}
	out_text(out, "\n");
}

/* The caller's name is that of one of its threads. */
static void print_caller(const struct kernel_caller *caller, struct out *out)
{
	char comm[sizeof(caller->comm) + 1] = "";

	if (caller->pid < 0) {
		out_text(out, "a process that is not known");
		return;
	}
	memcpy(comm, caller->comm, sizeof(caller->comm));
	out_f(out, "process %d (", caller->pid);
	out_outside(out, (struct outside){ comm });
	out_text(out, ")");
}

const struct process_code *kernel_code(struct process_codes *codes,
				       const struct kernel_caller *caller, uint64_t time)
{
	char comm[sizeof(caller->comm) + 1] = "";

	memcpy(comm, caller->comm, sizeof(caller->comm));
	return process_codes_find(codes, caller->pid, comm, time);
}

/* The functions at an address, one a line, those that are inlined there first. */
static struct err *print_place(const struct process_code *code, uint64_t pc, bool entry,
			       enum symbol_names names, struct out *out)
{
	struct process_code_place place = process_code_at(code, pc, entry);
	struct err *err = NULL;

	for (size_t i = 0; !err && i < MAX(place.nr, (size_t)1); i++) {
		AUTO_STR struct str text = STR_INIT;

		if (i + 1 < place.nr)
			err = traceback_inlined(&text, &place.frames[i], names);
		else if (place.nr)
			err = str_add(&text, symbols_text(code->symbols, pc, code->generation,
							  !entry, names));
		else if (place.file)
			err = str_addf(&text, "[%s+0x%" PRIx64 "]", place.file, place.offset);
		out_blanks(out, INDENT);
		out_address(out, pc);
		if (text.len) {
			out_text(out, " ");
			out_outside(out, (struct outside){ text.at });
		}
		out_text(out, "\n");
	}
	return err;
}

/* Without names there are addresses alone, and the reason. */
static struct err *print_users_stack(struct process_codes *codes, const struct kernel_caller *caller,
				     uint64_t time, struct out *out)
{
	enum symbol_names names = session_naming(codes->session)->names;
	const struct process_code *code = NULL;
	struct err *err = NULL;

	if (caller->nr)
		code = kernel_code(codes, caller, time);
	for (uint32_t i = 0; !err && i < caller->nr; i++)
		err = print_place(code, caller->pcs[i], !i, names, out);
	if (code && *code->why.msg) {
		out_blanks(out, INDENT);
		out_text(out, "(no names: ");
		out_outside(out, (struct outside){ code->why.msg });
		out_text(out, ")\n");
	}
	return err;
}

static struct err *print_sum(struct kernel_growth *growth, const struct kernel_names *names,
			     const struct kernel_sum *sum, struct process_codes *codes, size_t rank,
			     struct out *out)
{
	struct kernel_caller caller = { .pid = 0 };
	uint32_t nr;
	const uint64_t *pcs = kernel_stack(growth, names, sum->stack, &nr);
	struct err *err;

	out_f(out, "#%zu  %s bytes in %" PRIu64 " %s", rank, number_text_size(out, sum->bytes).at,
	      sum->count, sum->pages ? "page allocations" : "objects");
	if (sum->count != sum->seen)
		out_f(out, " (estimated from %" PRIu64 ")", sum->seen);
	if (codes) {
		caller = kernel_growth_caller(growth, sum->user);
		out_text(out, " by ");
		print_caller(&caller, out);
	}
	out_text(out, "\n");
	for (uint32_t i = 0; i < nr; i++) {
		out_blanks(out, INDENT);
		print_frame(names, pcs[i], out);
	}
	if (!nr) {
		out_blanks(out, INDENT);
		out_text(out, "(no stack)\n");
	}
	err = codes ? print_users_stack(codes, &caller, sum->time, out) : NULL;
	out_text(out, "\n");
	return err;
}

struct process_sum {
	struct kernel_caller caller;
	uint64_t bytes[2];		/* of objects, and of pages */
};

struct process_sums {
	VEC(struct process_sum) vec;
};

COMPARE_BY(by_larger, struct process_sum, sum, ~MAX(sum->bytes[0], sum->bytes[1]))

static struct err *add_processes(struct kernel_growth *growth, const struct kernel_sums *sums,
				 struct process_sums *ret)
{
	struct map at = MAP_INIT;	/* process number + 2 → number of the sum + 1 */
	struct err *err = NULL;

	for (size_t i = 0; !err && i < sums->vec.nr; i++) {
		const struct kernel_sum *sum = &sums->vec.at[i];
		struct kernel_caller caller = kernel_growth_caller(growth, sum->user);
		uint64_t key = (uint64_t)caller.pid + 2;
		uintptr_t nr = (uintptr_t)map_get(&at, key);

		if (!nr) {
			err = vec_push(&ret->vec, ((struct process_sum){ .caller = caller }));
			nr = ret->vec.nr;
			if (!err)
				err = map_put(&at, key, (void *)nr);
		}
		if (!err)
			ret->vec.at[nr - 1].bytes[sum->pages] += sum->bytes;
	}
	map_free(&at, NULL);
	return err;
}

static struct err *print_processes(struct kernel_growth *growth, const struct kernel_sums *sums,
				   uint64_t limit, struct out *out)
{
	struct process_sums processes = { VEC_INIT };
	struct err *err = add_processes(growth, sums, &processes);

	if (!err)
		vec_sort(&processes.vec, by_larger);
	for (size_t i = 0; !err && i < MIN(processes.vec.nr, limit); i++) {
		const struct process_sum *sum = &processes.vec.at[i];

		print_caller(&sum->caller, out);
		out_f(out, ": %s bytes of objects, ", number_text_size(out, sum->bytes[0]).at);
		out_f(out, "%s bytes of pages\n", number_text_size(out, sum->bytes[1]).at);
	}
	if (!err)
		out_text(out, "\n");
	vec_free(&processes.vec);
	return err;
}

struct err *kernel_print(struct kernel_growth *growth, const struct kernel_names *names,
			 const struct kernel_sums *sums, struct process_codes *codes, uint64_t limit,
			 struct out *out)
{
	struct kernel_figures figures;
	struct err *err = NULL;

	out_heading(out, "Held by the kernel, since `growth start`:");
	if (codes)
		err = print_processes(growth, sums, limit, out);
	for (size_t i = 0; !err && !out_done(out) && i < MIN(sums->vec.nr, limit); i++) {
		err = print_sum(growth, names, &sums->vec.at[i], codes, i + 1, out);
		if (!err)
			err = cancel_check();
	}
	kernel_growth_figures(growth, &figures);
	out_f(out, "objects   %s bytes in %" PRIu64 " (kmalloc, kmem_cache)\n",
	      number_text_size(out, sums->bytes[0]).at, sums->count[0]);
	out_f(out, "pages     %s bytes in %" PRIu64 "; the objects lie in some of them\n",
	      number_text_size(out, sums->bytes[1]).at, sums->count[1]);
	out_count(out, "%" PRIu64 " of the allocations are estimated: they came too fast for all "
		  "to be recorded (`set kernel-sampling off`)\n", sums->estimated);
	out_count(out, "%" PRIu64 " allocations are not in it: the table was full (--log-limit)\n",
		  figures.full);
	out_count(out, "%" PRIu64 " events are not in it: they came inside of another one\n",
		  figures.missed);
	if (!names->known)
		out_f(out, "no names: %s; %s\n", names->why.msg, names->why.hint);
	out_text(out, "\n");
	return err;
}

void kernel_print_allocinfo(const struct allocinfo *info, uint64_t limit, struct out *out)
{
	uint64_t nr = MIN(info->vec.nr, limit);

	out_heading(out, "All that the kernel holds since boot, by line (/proc/allocinfo):");
	for (uint64_t i = 0; i < nr && !out_done(out); i++) {
		const struct allocinfo_line *line = &info->vec.at[i];

		out_f(out, "%s bytes in %" PRIu64 "  ", number_text_size(out, line->bytes).at,
		      line->calls);
		out_outside(out, (struct outside){ line->place });
		out_text(out, "\n");
	}
	out_count(out, "%" PRIu64 " more lines hold less\n", info->vec.nr - nr);
	out_text(out, "\n");
}
