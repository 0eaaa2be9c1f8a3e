/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which unknown frees were certainly wrong. */

#include "heap/fixture.h"
#include "inspect/unknown_frees.h"
#include "log/log_unknown_free.h"
#include "named.h"
#include "probe/probe.h"

#define BLOCK	0x500000ull
#define ELSEWHERE	0x900000ull

static const struct free_facts facts = { .complete = true };
static struct log log_;
static struct blocks blocks;
static struct named named;
static struct modules modules;
static struct probes probes;
static struct unknown_frees found;

static int start(void)
{
	static const char *const names[] = { "data", NULL };

	named_open(&named, names);
	return vec_push(&modules.all, &named.module) != NULL;
}

static void begin(void)
{
	fixture_open(&log_);
	CU_ASSERT_EQUAL_FATAL(registry_thread(&log_, 1, 1), 1);
	probes.incomplete[0] = '\0';
	named.module.came = 0;
	named.module.died = UINT32_MAX;
	named.module.path = (char *)"/lib/named.so";
}

static void end(void)
{
	unknown_frees_free(&found);
	blocks_free(&blocks);
	fixture_close(&log_);
}

FIXTURE(start, NULL);
EACH(begin, end);

/* Times are those after the log's gap, before which nothing is certain. */
static void add_block(uint64_t time)
{
	struct log_record is = { .address = BLOCK, .size = 64, .time = log_.header->gap + time, .thread = 1,
				 .stack = LOG_STACK_NONE };

	CU_ASSERT_TRUE_FATAL(log_record_insert(&log_, &is, NULL));
}

static void free_at(uint64_t address, uint64_t time, bool on_stack)
{
	static const uint64_t pcs[] = { 0x7100, 0x1000 };
	struct log_unknown_free unknown = {
		.address = address, .time = log_.header->gap + time, .thread = 1, .on_stack = on_stack,
		.stack = stack_table_insert(&log_, pcs, 2, WALK_COMPLETE, 1),
	};

	CU_ASSERT_FALSE_FATAL(log_record_remove(&log_, address, 1, NULL));
	log_unknown_free(&log_, &unknown, &facts, 0, true);
}

/* The only one; UNKNOWN_FREE_NONE if none is listed. */
static enum unknown_free_kind judge(void)
{
	const struct unknown_frees_by by = {
		.log = &log_, .blocks = &blocks, .modules = &modules, .probes = &probes,
	};

	unknown_frees_free(&found);
	blocks_free(&blocks);
	CU_ASSERT_PTR_NULL_FATAL(blocks_from_log(&log_, NULL, &blocks));
	CU_ASSERT_PTR_NULL_FATAL(unknown_frees_judge(&by, &found));
	CU_ASSERT_FATAL(found.vec.nr <= 1);
	return found.vec.nr ? found.vec.at[0].kind : UNKNOWN_FREE_NONE;
}

TEST("a free of what no record knows may be of a block from before the attach")
{
	free_at(ELSEWHERE, 100, false);
	CU_ASSERT_EQUAL(judge(), UNKNOWN_FREE_NONE);
}

TEST("a second free of a block is a double free")
{
	add_block(100);
	CU_ASSERT_TRUE_FATAL(log_record_remove(&log_, BLOCK, 1, NULL));
	free_at(BLOCK, 300, false);
	CU_ASSERT_EQUAL_FATAL(judge(), UNKNOWN_FREE_DOUBLE);
	CU_ASSERT(found.doubles == 1 && found.invalid == 0 && found.vec.at[0].address == BLOCK);
}

TEST("the caller's own stack is no block")
{
	free_at(ELSEWHERE, 100, true);
	CU_ASSERT_EQUAL(judge(), UNKNOWN_FREE_STACK);
	CU_ASSERT_EQUAL(found.invalid, 1);
}

TEST("the inside of a block is none, if the block is older than the free")
{
	add_block(100);
	free_at(BLOCK + 16, 300, false);
	CU_ASSERT_EQUAL_FATAL(judge(), UNKNOWN_FREE_INSIDE);
	CU_ASSERT_EQUAL(found.vec.at[0].around.address, BLOCK);
}

TEST("the inside of a block that came later may have been one")
{
	add_block(500);
	free_at(BLOCK + 16, 300, false);
	CU_ASSERT_EQUAL(judge(), UNKNOWN_FREE_NONE);
}

TEST("a module's data are no block while the module is there")
{
	free_at(NAMED_BASE + 64, 100, false);
	CU_ASSERT_EQUAL_FATAL(judge(), UNKNOWN_FREE_MODULE);
	CU_ASSERT_STRING_EQUAL(found.vec.at[0].module, "named.so");
	named.module.died = 1;
	CU_ASSERT_EQUAL(judge(), UNKNOWN_FREE_NONE);
}

TEST("where not all is probed only a stack is certainly no block")
{
	add_block(100);
	strcpy(probes.incomplete, "realloc is not watched");
	free_at(BLOCK + 16, 300, false);
	CU_ASSERT_EQUAL(judge(), UNKNOWN_FREE_NONE);
	CU_ASSERT_STRING_EQUAL(found.untold, "realloc is not watched");
	free_at(ELSEWHERE, 400, true);
	CU_ASSERT_EQUAL(judge(), UNKNOWN_FREE_STACK);
}

TEST("each kind has a word")
{
	for (unsigned i = 0; i <= UNKNOWN_FREE_NONE; i++)
		CU_ASSERT_PTR_NOT_NULL(unknown_frees_word((enum unknown_free_kind)i));
}
