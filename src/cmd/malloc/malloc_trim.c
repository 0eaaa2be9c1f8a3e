/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc trim, mdbg::trim: have the target give free pages back. */

#include "cmd/shell/cmd.h"

#include <inttypes.h>

#include "answer/heap_use.h"
#include "answer/stack_names.h"
#include "base/cleanup.h"
#include "cmd/free_dict.h"
#include "cmd/shell/dict.h"
#include "cmd/trimming.h"
#include "heap/filter.h"
#include "report/blocks.h"
#include "report/free_text.h"
#include "report/pins.h"
#include "session/trim/trim.h"

#define WORTH_SAYING	(1u << 20)	/* bytes that are left, for a reason to be given */

/* What was done, and what is left: looked at behind the call. */
struct trimmed {
	struct session_trim did;
	struct stack_names names;
	struct heap_use use;
	struct pins pins;
};

static void trimmed_free(struct trimmed *trimmed)
{
	pins_free(&trimmed->pins);
	heap_use_free(&trimmed->use);
	stack_names_free(&trimmed->names);
}

static struct err *look(struct call *call, struct trimmed *trimmed)
{
	struct err *err = heap_use_take(call->session, false, &trimmed->use);
	struct pins_source source = heap_use_source(&trimmed->use);

	return err ? err : pins_build(&source, &trimmed->pins);
}

/* Why is there free memory that is still resident? */
static struct err *say_why(struct trimmed *trimmed, struct out *out)
{
	const struct pins_text text = { .names = &trimmed->names, .pins = &trimmed->pins };
	const struct free_space *space = &trimmed->pins.space;
	struct err *err = NULL;

	if (space->all.resident < WORTH_SAYING)
		return NULL;
	free_text_print(space, out);
	if (space->all.kept[FREE_PINNED] >= WORTH_SAYING)
		err = pins_print_largest(&text, out);
	if (!err)
		blocks_print_heap_stood(&trimmed->use.heap, out);
	return err;
}

static struct err *trim_every(struct call *call)
{
	const char *word = call->argc > 1 ? call->argv[1] : NULL;
	uint64_t every;
	struct err *err = NULL;

	if (strcmp(call->argv[0], "every"))
		return call_bad_word(call->argv[0]);
	if (word && !strcmp(word, "off")) {
		trimming_end(call->shell);
	} else if (word) {
		err = parse_duration(word, &every);
		if (!err)
			err = trimming_begin(call->shell, every);
	}
	if (!err)
		trimming_print(call->shell, call->out);
	return err;
}

static struct err *trim_now(struct call *call)
{
	CLEANUP(trimmed_free) struct trimmed trimmed = { .use = HEAP_USE_INIT, .pins = PINS_INIT };
	const struct session_trim *did = &trimmed.did;
	struct err *err = trim_run(call->session, &trimmed.did);
	char pause[32];

	stack_names_init(&trimmed.names, call->session);
	if (err)
		return err;
	number_text_duration(pause, sizeof(pause), did->pause_ns);
	out_f(call->out, "%" PRIu64 " KB resident before, %" PRIu64 " KB after: %" PRIu64
			 " KB given back; the process stood still for %s\n",
	      did->before_kb, did->after_kb,
	      did->before_kb > did->after_kb ? did->before_kb - did->after_kb : 0, pause);
	err = look(call, &trimmed);
	if (!err)
		return say_why(&trimmed, call->out);
	out_f(call->out, "What is free and still resident is not known: %s\n", err->msg);
	return NULL;
}

static struct err *run(struct call *call)
{
	return call->argc ? trim_every(call) : trim_now(call);
}

static struct err *value(struct call *call, Tcl_Obj **ret)
{
	CLEANUP(trimmed_free) struct trimmed trimmed = { .use = HEAP_USE_INIT, .pins = PINS_INIT };
	const struct session_trim *did = &trimmed.did;
	struct err *err = call->argc ? call_bad_word(call->argv[0]) :
				       trim_run(call->session, &trimmed.did);

	stack_names_init(&trimmed.names, call->session);
	if (err)
		return err;
	*ret = Tcl_NewDictObj();
	dict_number(*ret, "before", did->before_kb << 10);
	dict_number(*ret, "after", did->after_kb << 10);
	dict_double(*ret, "pause", (double)did->pause_ns / 1e9);
	/* What was done is done, also where what is left cannot be looked at. */
	if (!look(call, &trimmed))
		free_dict_add(*ret, &trimmed.pins.space.all, true);
	return NULL;
}

static const struct twin twin = {
	.name		= "mdbg::trim",
	.usage		= "",
	.brief		= "dict: what `malloc trim` did",
	.help		= "It has: before after (resident bytes) pause (seconds), and what is left then,\n"
			  "if that could be looked at: unused unusedresident trimmable pinned ends cached\n"
			  "cachedresident, as in `help mdbg::malloc`.\n",
	.value		= value,
};

const struct cmd cmd_malloc_trim = {
	.name		= "malloc trim",
	.usage		= "?every TIME|off?",
	.brief		= "have the process give free pages back (malloc_trim)",
	.help		= "A thread of the process that waits in a system call calls glibc's\n"
			  "malloc_trim(0), while all others stand still; of jemalloc, tcmalloc and\n"
			  "mimalloc, as libraries, what corresponds to it. mdbg refuses where the\n"
			  "call could do harm: with damaged heaps, under a seccomp filter, with\n"
			  "another allocator, without probes. If no thread can make the call at the\n"
			  "moment, it says so: try again. The process stands still for the walk of\n"
			  "its heaps and for the call.\n"
			  "\n"
			  "If a megabyte or more is free and still resident then, the heaps are looked at\n"
			  "again, and the answer says what keeps it (`help malloc pins`): live blocks on\n"
			  "the same pages, and whose most of these are; or the ends of other arenas than\n"
			  "the main one, where malloc_trim does not reach.\n"
			  "\n"
			  "`every TIME` (10s, 5m) does it again and again, while mdbg is attached and\n"
			  "waits (at the prompt, in `wait`), until `every off`; `every` says what came of\n"
			  "it. A call that is not possible at the moment is left out.\n",
	.example	= "malloc trim every 5m\n",
	.need		= call_need_target,
	.run		= run,
	.twin		= &twin,
	.max_args	= 2,
};
