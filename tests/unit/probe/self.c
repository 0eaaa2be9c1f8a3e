/* SPDX-License-Identifier: GPL-3.0-or-later */
/* This process as a target (self.h). */

#include "self.h"

#include "probe/probe.h"
#include "tracee/target.h"
#include "unit.h"

struct probes *self_begin(struct target *target, struct log *log)
{
	struct probes *probes = NULL;

	memset(target, 0, sizeof(*target));
	target->pid = getpid();
	target->kind = &target_kind_process;
	target->arch = arch_host();
	target->memory = &target->mem.memory;
	modules_init(&target->modules, NULL);
	CU_ASSERT_PTR_NULL_FATAL(procmem_open(getpid(), &target->mem));
	CU_ASSERT_PTR_NULL_FATAL(target_refresh(target, NULL));
	CU_ASSERT_PTR_NULL_FATAL(probes_create(target, log, &probes));
	return probes;
}

void self_end(struct probes *probes)
{
	struct target *target = probes->target;

	probes_destroy(probes);
	modules_deinit(&target->modules);
	procmem_close(&target->mem);
}
