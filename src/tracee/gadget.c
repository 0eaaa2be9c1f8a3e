/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finding `syscall; ret` and a restorer in the target's modules. */

#include "tracee/remote.h"

#include "base/cleanup.h"

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

/* Use the place where it was found before, if it is still there: its module may have gone since. */
static uint64_t find(struct target *target, uint64_t before, const uint8_t *pattern, size_t len)
{
	uint64_t found = 0;
	uint8_t now[16];

	if (before && !memory_read(&target->mem.memory, before, now, len) &&
	    !memcmp(now, pattern, len))
		return before;
	vec_each_while(module, &target->modules.all, !found)
		if ((*module)->died == UINT32_MAX)
			found = search(target, (*module)->exec_start, (*module)->exec_end, pattern,
				       len);
	return found;
}

struct err *gadget_find(struct target *target, uint64_t *call_ret, uint64_t *restorer_ret)
{
	const struct arch *arch = target->arch;

	target->call_gadget = find(target, target->call_gadget, arch->call_gadget,
				   arch->call_gadget_len);
	target->restorer_gadget = find(target, target->restorer_gadget, arch->restorer_gadget,
				       arch->restorer_gadget_len);
	if (!target->call_gadget || !target->restorer_gadget)
		return err_create(ERR_UNSUPPORTED,
				  "process %d has no code to make a system call with (no libc)",
				  target->pid);
	*call_ret = target->call_gadget;
	*restorer_ret = target->restorer_gadget;
	return NULL;
}
