/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of thread-local data: what is read of them, and that no table makes it more. */

#include "arch/arch.h"
#include "inspect/memory_view.h"
#include "inspect/tls.h"
#include "tracee/target.h"
#include "unit.h"

#define THREADS		1000u
#define PAGE		0x1000ull
#define TP		0x7f0000000000ull	/* of the first thread; each has a page of its own */
#define DTV		0x800u			/* in that page */
#define BELOW		256u			/* static data of module 1 begins that far below the thread pointer */

static uint64_t length;				/* of each table, as it says */
static uint64_t reads;

/* A pair is a block of its own wherever nothing else is said. */
static uint64_t word_at(uint64_t address)
{
	uint64_t page = address & -PAGE;

	switch (address - page) {
	case 8:
		return page + DTV;
	case DTV - 16:
		return length;
	case DTV:
		return 1;
	case DTV + 16:
		return page - BELOW;
	case DTV + 24:
		return 0;
	case DTV + 32:
		return UINT64_MAX;
	default:
		return 0x100000;
	}
}

static struct err *read_words(struct memory *memory UNUSED, uint64_t addr, void *buf, size_t len,
			      size_t *len_ret)
{
	for (size_t i = 0; i < len; i += 8) {
		uint64_t word = word_at(addr + i);

		memcpy((uint8_t *)buf + i, &word, 8);
	}
	reads++;
	*len_ret = len;
	return NULL;
}

static struct memory memory = { .read = read_words };

static void memory_view_make(struct memory_view *view)
{
	static struct target target;	/* without modules */

	*view = (struct memory_view){ .memory = &memory, .target = &target, .arch = arch_host(),
				      .has_glibc = true };
	for (uint32_t i = 0; i < THREADS; i++) {
		struct memory_view_thread thread = { .tid = (pid_t)i + 1, .tp = TP + i * PAGE };

		CU_ASSERT_PTR_NULL_FATAL(vec_push(&view->threads, thread));
	}
}

TEST("each thread has the blocks of its own table, but for those that are not made yet")
{
	struct memory_view view;
	struct tls tls;

	memory_view_make(&view);
	length = 3;
	tls_read(&view, &tls);
	/* One that is not made yet is none. */
	CU_ASSERT_EQUAL(tls.blocks.nr, 2 * THREADS);
	for (size_t i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL(tls_low(&tls, &view, i), TP + i * PAGE - BELOW);
	CU_ASSERT_EQUAL(tls_static_size(&view), BELOW);
	view.has_glibc = false;
	CU_ASSERT_EQUAL(tls_static_size(&view), 0);
	tls_free(&tls);
	vec_free(&view.threads);
}

/* The target writes the tables: as long as can be, all of them. */
TEST("tables that are as long as can be are read in bounds")
{
	struct memory_view view;
	struct tls tls;

	memory_view_make(&view);
	length = 4096;
	reads = 0;
	tls_read(&view, &tls);
	CU_ASSERT_EQUAL(tls.blocks.nr, TLS_BLOCKS_MAX);
	CU_ASSERT(reads <= 4 * THREADS);
	CU_ASSERT_EQUAL(tls_low(&tls, &view, 0), TP - BELOW);
	CU_ASSERT(tls_low(&tls, &view, THREADS - 1) <= TP + (THREADS - 1) * PAGE);
	tls_free(&tls);
	vec_free(&view.threads);
}
