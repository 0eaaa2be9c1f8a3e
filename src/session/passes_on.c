/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Does a function pass one of its arguments on as the size that is allocated? */

#include "base/cleanup.h"
#include "elf/cfi.h"
#include "probe/probe.h"
#include "session/private.h"
#include "tracee/target.h"

#define CODE_MOST	8192u	/* bytes from a function's start to the call; wrappers are short */

struct question {
	const uint64_t *pcs;
	uint32_t frame;
	unsigned passed;	/* arguments of the function, as a set */
};

/* The arguments of an allocator's function that make the size. */
static unsigned size_arguments(const struct probes *probes, uint64_t entry)
{
	for (size_t i = 0; probes && i < probes->all.nr; i++) {
		const struct alloc_function *fn = probes->all.at[i]->fn;

		if (!fn || probes->all.at[i]->address != entry)
			continue;
		return (fn->size == ALLOC_NO_ARG ? 0 : 1u << fn->size) |
		       (fn->count == ALLOC_NO_ARG ? 0 : 1u << fn->count);
	}
	return 0;
}

/* Those of the function that has called at this return address which are in the call's `into`. */
static unsigned passed_by(const struct target *target, uint64_t pc, unsigned into)
{
	struct module *module = modules_find(&target->modules, pc - 1);
	AUTO_FREE uint8_t *code = NULL;
	uint64_t start, size;

	if (!module || !module->elf ||
	    cfi_function(module->elf, pc - 1 - module->bias, &start, &size))
		return 0;
	size = pc - module->bias - start;
	code = size <= CODE_MOST ? malloc(size) : NULL;
	if (!code || elf_file_read(module->elf, start, code, size))
		return 0;
	return target->arch->passes_on(code, size, into);
}

static struct err *passes_on_job(struct session *session, void *arg)
{
	const struct target *target = session->current->target;
	struct question *question = arg;

	if (!target)
		return NULL;
	question->passed = size_arguments(session->current->probes, question->pcs[0]);
	for (uint32_t i = 1; i <= question->frame && question->passed; i++)
		question->passed = passed_by(target, question->pcs[i], question->passed);
	return NULL;
}

bool session_passes_on(struct session *session, const uint64_t *pcs, uint32_t frame)
{
	struct question question = { .pcs = pcs, .frame = frame };

	return !session_call(session, passes_on_job, &question) && question.passed;
}
