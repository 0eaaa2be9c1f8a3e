/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the code of the target that remote calls use, and makes frames that it leads into. A thread
 * makes its call with `syscall; ret`, and returns to one of these:
 *
 *	restorer		mov $__NR_rt_sigreturn, %eax; syscall
 *	pop %rax; ret		takes the number from the stack, and returns into `syscall; ret`
 *
 * The second way is for programs without a restorer: a static musl program has none if it handles
 * no signal, but musl's _init ends with `pop %rax; ret`. Two more words lie before the frame then.
 */

#include "tracee/gadget.h"

#include <string.h>
#include <sys/syscall.h>

#include "arch/sigframe.h"
#include "base/cleanup.h"
#include "base/page.h"
#include "elf/elf_file.h"
#include "tracee/target.h"

#define CHUNK	(256u << 10)

static bool has_bytes(struct target *target, uint64_t at, const uint8_t *bytes, size_t len)
{
	uint8_t there[sizeof(target->arch->restorer_gadget)];

	return !memory_read(&target->mem.bring, at, there, len) && !memcmp(there, bytes, len);
}

/*
 * The module's code, as its file has it: pages of it that the process has not used stay where they
 * are. Without a file, what is in memory. What neither has is zeros.
 */
static void read_code(struct target *target, struct module *module, uint64_t at, uint8_t *buf,
		      size_t len)
{
	if (!module->elf) {
		(void)!memory_read_holes(target->memory, at, buf, len);
		return;
	}
	memset(buf, 0, len);
	if (!elf_file_read(module->elf, at - module->bias, buf, len))
		return;
	for (size_t i = 0; i < len; i += PAGE)	/* of its last page there is only a part */
		err_ignore(elf_file_read(module->elf, at + i - module->bias, buf + i,
					 MIN(PAGE, len - i)));
}

/* The address of pattern in the module's code, or 0. */
static uint64_t search(struct target *target, struct module *module, const uint8_t *pattern,
		       size_t len)
{
	AUTO_FREE uint8_t *buf = malloc(CHUNK);
	uint64_t end = module->exec_end;

	if (!buf)
		return 0;
	for (uint64_t at = module->exec_start; at + len <= end; at += CHUNK - len) {
		size_t want = (size_t)MIN((uint64_t)CHUNK, end - at);
		uint8_t *found = buf;

		read_code(target, module, at, buf, want);
		for (; (found = memmem(found, want - (size_t)(found - buf), pattern, len)); found++)
			if (has_bytes(target, at + (uint64_t)(found - buf), pattern, len))
				return at + (uint64_t)(found - buf);
	}
	return 0;
}

/* Use the place where it was found before, if it is still there: its module may have gone since. */
static uint64_t find(struct target *target, uint64_t before, const uint8_t *pattern, size_t len)
{
	uint64_t found = 0;

	if (before && has_bytes(target, before, pattern, len))
		return before;
	vec_each_while(module, &target->modules.all, !found)
		if ((*module)->died == UINT32_MAX)
			found = search(target, *module, pattern, len);
	return found;
}

struct err *gadget_find(struct target *target, struct gadgets *ret)
{
	const struct arch *arch = target->arch;
	struct gadgets *gadgets = &target->gadgets;

	gadgets->call = find(target, gadgets->call, arch->call_gadget, arch->call_gadget_len);
	/* If `pop` is known, there was no restorer. */
	if (gadgets->pop)
		gadgets->pop = find(target, gadgets->pop, arch->pop_gadget, arch->pop_gadget_len);
	if (!gadgets->pop)
		gadgets->restorer = find(target, gadgets->restorer, arch->restorer_gadget,
					 arch->restorer_gadget_len);
	if (!gadgets->pop && !gadgets->restorer)
		gadgets->pop = find(target, 0, arch->pop_gadget, arch->pop_gadget_len);
	if (!gadgets->call || (!gadgets->restorer && !gadgets->pop))
		return err_create(ERR_UNSUPPORTED,
				  "process %d has no code to make a system call with (no libc)",
				  target->pid);
	*ret = *gadgets;
	return NULL;
}

struct err *gadget_frame(const struct arch *arch, const struct gadgets *gadgets,
			 const struct sigframe_spec *spec, void *buf, size_t room,
			 struct gadget_frame *ret)
{
	const uint64_t way[] = { gadgets->pop, SYS_rt_sigreturn };
	size_t way_len = gadget_way_len(gadgets);
	struct sigframe_spec at = *spec;
	struct gadget_frame frame;
	struct err *err;

	at.restorer = gadgets->pop ? gadgets->call : gadgets->restorer;
	err = arch->sigframe(&at, (uint8_t *)buf + way_len, room - way_len, &frame.sp, &frame.len);
	if (err)
		return err;
	memcpy(buf, way, way_len);
	ret->sp = frame.sp - way_len;
	ret->len = frame.len + way_len;
	return NULL;
}

bool gadget_is_call(struct target *target, uint64_t pc)
{
	return has_bytes(target, pc, target->arch->call_gadget, target->arch->call_gadget_len);
}

bool gadget_is_restorer(struct target *target, uint64_t pc)
{
	return has_bytes(target, pc, target->arch->restorer_gadget,
			 target->arch->restorer_gadget_len);
}

bool gadget_leads_home(struct target *target, uint64_t sp)
{
	const struct arch *arch = target->arch;
	struct { uint64_t to, nr, call; } way;

	if (memory_read(&target->mem.bring, sp, &way, sizeof(way)))
		return false;
	return gadget_is_restorer(target, way.to) ||
		(has_bytes(target, way.to, arch->pop_gadget, arch->pop_gadget_len) &&
		 way.nr == SYS_rt_sigreturn && gadget_is_call(target, way.call));
}
