/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A victim with all that the jump engine puts into a process. */

#include "jumped.h"

#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "os/procfs.h"
#include "tracee/patch.h"
#include "tracee/previous/previous_session.h"
#include "tracee/region.h"
#include "tracee/share.h"
#include "unit.h"

#define TURNS	10000000u	/* that a thread takes inside: some milliseconds */

struct jumped jumped;

__asm__(".text\n.globl probed\n.type probed, @function\n.balign 16\nprobed:\n"
	"	.cfi_startproc\n	movl $7, %eax\n	nop\n	ret\n	.cfi_endproc\n"
	"	.size probed, . - probed\n");

static void caller(void *arg UNUSED)
{
	child_ready(1);
	while (!atomic_load(&jumped.shared->fork)) {
		atomic_store(&jumped.shared->result, (unsigned)probed());
		atomic_fetch_add(&jumped.shared->calls, 1);
	}
	if (atomic_load(&jumped.shared->fork) == 1) {
		pid_t pid = fork();
		int status = -1;

		if (!pid)
			_exit(probed());
		waitpid(pid, &status, 0);
		atomic_store(&jumped.shared->result, 100 + (unsigned)WEXITSTATUS(status));
	}
	child_wait();
}

char *jumped_maps_text(pid_t pid)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	struct str text = STR_INIT;

	CU_ASSERT_PTR_NULL_FATAL(procfs_maps(pid, &maps));
	for (size_t i = 0; i < maps.vec.nr; i++) {
		const struct proc_map *map = &maps.vec.at[i];

		if (!strcmp(map->path, "[stack]"))
			continue;
		CU_ASSERT_PTR_NULL_FATAL(str_addf(&text, "%lx-%lx %d%d%d%d %s\n",
						  (unsigned long)map->start,
						  (unsigned long)map->end, map->read, map->write,
						  map->exec, map->shared, map->path));
	}
	return text.at;
}

bool jumped_begin(char **maps_ret)
{
	uint64_t word;

	memset(jumped.shared, 0, sizeof(*jumped.shared));
	CU_ASSERT_TRUE_FATAL(child_start(&jumped.child, caller, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&jumped.child, &word));
	if (victim_seize(&jumped.victim, jumped.child.pid)) {
		*maps_ret = jumped_maps_text(jumped.child.pid);
		return true;
	}
	child_end(&jumped.child);
	return false;
}

/* `mov $TURNS, %ecx; 1: dec %ecx; jnz 1b; mov $77, %eax; ret` */
static const uint8_t slow[] = { 0xb9, TURNS & 255, TURNS >> 8 & 255, TURNS >> 16 & 255, TURNS >> 24,
				0xff, 0xc9, 0x75, 0xfc, 0xb8, 77, 0, 0, 0, 0xc3 };

static struct err *put_jump(struct victim *v)
{
	const struct arch *arch = v->target->arch;
	uint64_t from = (uintptr_t)probed;
	uint8_t code[16];
	uint32_t entry;
	size_t len;
	struct err *err = patch_fill(v->target, jumped.area, slow, sizeof(slow));

	if (!err)
		err = arch->jump(from, jumped.area, code, &len);
	return err ? err : patch_text(v->target, from, (const void *)(uintptr_t)from, code, len,
				      &entry);
}

struct err *jumped_change(struct victim *v)
{
	uint32_t entry;
	struct err *err;

	jumped.area = ((uintptr_t)probed & ~0xfffull) - (64 << 20);
	err = patch_map(v->target, &v->remote, jumped.area, AREA, 0, &entry);
	if (!err)
		err = patch_map_data(v->target, &v->remote, DATA, &jumped.data, &entry);
	if (!err)
		err = share_log(v->target, &v->remote);
	if (!err)
		err = share_modules(v->target, &v->remote, true, &jumped.map);
	return err ? err : put_jump(v);
}

void jumped_leave(void)
{
	unsigned calls;

	victim_region(&jumped.victim, LIMIT);
	victim_remote(&jumped.victim, jumped_change);
	victim_release(&jumped.victim);
	calls = atomic_load(&jumped.shared->calls);
	while (atomic_load(&jumped.shared->calls) < calls + 2)
		;
	CU_ASSERT_EQUAL(atomic_load(&jumped.shared->result), 77);
}

struct err *jumped_clean(struct victim *v)
{
	/* The mdbg that has made it, which is this process too, is gone. */
	if (v->region)
		region_unlock(v->region);
	jumped.found = false;
	return previous_session_clean(v->target, &jumped.found, jumped.left, sizeof(jumped.left));
}

void jumped_seize_again(void)
{
	victim_release(&jumped.victim);
	CU_ASSERT_TRUE_FATAL(victim_seize(&jumped.victim, jumped.child.pid));
}

void jumped_clean_all(void)
{
	victim_run(&jumped.victim, jumped_clean);
	CU_ASSERT_STRING_EQUAL(jumped.left, "");
}

void jumped_check_maps(const char *before)
{
	AUTO_FREE char *after = jumped_maps_text(jumped.child.pid);

	CU_ASSERT_STRING_EQUAL(before, after);
}

void jumped_works_again(void)
{
	unsigned calls;

	victim_release(&jumped.victim);
	calls = atomic_load(&jumped.shared->calls);
	while (atomic_load(&jumped.shared->calls) < calls + 3)
		;
	CU_ASSERT_EQUAL(atomic_load(&jumped.shared->result), 7);
	atomic_store(&jumped.shared->fork, 2);
	CU_ASSERT_EQUAL(child_end(&jumped.child), 0);
}

struct err *jumped_keep(struct victim *v)
{
	region_keep(v->target);
	return NULL;
}
