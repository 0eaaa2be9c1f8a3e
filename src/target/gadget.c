/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finding `syscall; ret` and a restorer in the target's modules. */

#include "target/gadget.h"

#include "base/cleanup.h"
#include "target/target.h"

#define CHUNK	(1u << 20)

/* The address of pattern in memory [start, end), or 0. */
static uint64_t search(struct target *target, uint64_t start, uint64_t end, const uint8_t *pattern,
		       size_t len)
{
	AUTO_FREE uint8_t *buf = malloc(CHUNK);

	if (!buf)
		return 0;
	for (uint64_t at = start; at + len <= end; at += CHUNK - len) {
		size_t want = (size_t)MIN((uint64_t)CHUNK, end - at), got;
		uint8_t *found;

		if (memory_read_some(&target->mem.memory, at, buf, want, &got))
			return 0;
		found = memmem(buf, got, pattern, len);
		if (found)
			return at + (uint64_t)(found - buf);
	}
	return 0;
}

/* Is it still there? A module may have gone since. */
static void verify(struct target *target, uint64_t *gadget, const uint8_t *pattern, size_t len)
{
	uint8_t now[16];

	if (*gadget && (memory_read(&target->mem.memory, *gadget, now, len) || memcmp(now, pattern, len)))
		*gadget = 0;
}

struct err *gadget_find(struct target *target, uint64_t *call_ret, uint64_t *restorer_ret)
{
	const struct arch *arch = target->arch;

	verify(target, &target->call_gadget, arch->call_gadget, arch->call_gadget_len);
	verify(target, &target->restorer_gadget, arch->restorer_gadget, arch->restorer_gadget_len);
	for (size_t i = 0; i < target->modules.all.nr; i++) {
		const struct module *module = target->modules.all.at[i];

		if (target->call_gadget && target->restorer_gadget)
			break;
		if (module->died != UINT32_MAX)
			continue;
		if (!target->call_gadget)
			target->call_gadget = search(target, module->exec_start, module->exec_end,
						     arch->call_gadget, arch->call_gadget_len);
		if (!target->restorer_gadget)
			target->restorer_gadget =
				search(target, module->exec_start, module->exec_end,
				       arch->restorer_gadget, arch->restorer_gadget_len);
	}
	if (!target->call_gadget || !target->restorer_gadget)
		return err_create(ERR_UNSUPPORTED,
				  "process %d has no code to make a system call with (no libc)",
				  target->pid);
	*call_ret = target->call_gadget;
	*restorer_ret = target->restorer_gadget;
	return NULL;
}
