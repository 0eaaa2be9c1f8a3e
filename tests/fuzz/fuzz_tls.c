/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any memory as what glibc tells of its thread-local data, its loader's list and the tables of a few
 * threads. It is read in bounds, and a block that is found at an address holds it.
 */

#include "inspect/tls.h"

#include <stdlib.h>

#include "named.h"
#include "inspect/memory_view.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define THREADS		8u

static const char *const names[] = {
	"_rtld_global",
	"_thread_db_sizeof_dtv_slotinfo",
	"_thread_db_rtld_global__dl_tls_dtv_slotinfo_list",
	"_thread_db_dtv_slotinfo_list_len",
	"_thread_db_dtv_slotinfo_list_next",
	"_thread_db_dtv_slotinfo_list_slotinfo",
	"_thread_db_dtv_slotinfo_map",
	"_thread_db_dtv_slotinfo_gen",
	NULL
};

static void check(const struct tls *tls, const struct memory_view *view)
{
	if (tls->blocks.nr > TLS_BLOCKS_MAX)
		abort();
	for (size_t i = 0; i < view->threads.nr; i++) {
		const struct memory_view_thread *thread = &view->threads.at[i];

		if (tls_low(tls, view, i) > thread->tp)
			abort();
	}
	for (uint64_t address = NAMED_BASE; address < NAMED_BASE + 4096; address += 136) {
		const struct tls_block *block = tls_at(tls, address);

		if (block && (address < block->start || address >= block->end))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static struct named named;
	struct memory_view view = {
		.memory = &named.memory.memory, .target = &named.target, .arch = arch_host(),
		.has_glibc = true,
	};
	struct tls tls;

	if (!named.module.elf)
		named_open(&named, names);
	named_memory(&named, bytes, len);
	for (uint32_t i = 0; i < THREADS; i++) {
		struct memory_view_thread thread = {
			.tid = (pid_t)i + 1, .tp = NAMED_BASE + 256 + 32 * i,
		};

		if (vec_push(&view.threads, thread))
			abort();
	}
	tls_read(&view, &tls);
	check(&tls, &view);
	tls_free(&tls);
	vec_free(&view.threads);
	return 0;
}
