/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Patches that are lost: this process' own memory is the target's, and its text a mapping of its program that nobody
 * runs.
 */

#include "probe/patch_watch.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "probe/probe.h"
#include "self.h"
#include "tracee/region.h"
#include "tracee/target.h"
#include "unit.h"

#define PAGE	4096u
#define PROBES	200u	/* one a page at most, or several */

static struct target target;
static struct probes *probes;
static struct log log_;
static void *region;
static uint8_t *text;
static int fd;
static unsigned warned;

static void warn(void *ctx UNUSED, const char *what)
{
	CU_ASSERT_PTR_NOT_NULL(strstr(what, "another tool has written over the patch of "));
	warned++;
}

static void map_text(void *at)
{
	text = mmap(at, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | (at ? MAP_FIXED : 0), fd, 0);
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(text, MAP_FAILED);
}

static void put(struct probe *probe)
{
	memcpy((void *)(uintptr_t)probe->patch, probe->put, probe->put_len);
}

static void add(struct module *module, unsigned i)
{
	struct probe *probe = calloc(1, sizeof(*probe));

	CU_ASSERT_PTR_NOT_NULL_FATAL(probe);
	probe->fn = alloc_function_find("malloc");
	probe->module = module;
	probe->state = PROBE_ACTIVE;
	probe->patch = (uintptr_t)text + i % 16 * PAGE + i * 8;
	probe->put_len = 5;
	memset(probe->put, 0xe9, probe->put_len);
	put(probe);
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&probes->all, probe));
}

static void start_with(unsigned nr)
{
	static const struct log_config config = { .region_size = LOG_REGION_MIN, .stack_depth = 4 };
	struct module *module;

	region = mmap(NULL, LOG_REGION_MIN, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CU_ASSERT_FATAL(region != MAP_FAILED && !log_format(region, &config, &log_));
	probes = self_begin(&target, &log_);
	probes->warn = warn;
	probes->armed = true;
	warned = 0;
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	map_text(NULL);
	module = modules_find(&target.modules, (uintptr_t)unit_skip);
	CU_ASSERT_PTR_NOT_NULL_FATAL(module);
	for (unsigned i = 0; i < nr; i++)
		add(module, i);
	CU_ASSERT_FALSE(patch_watch_look(probes, PATCH_WATCH_ALL));
	CU_ASSERT_TRUE(probes->looked > 0 && !probes->lost.nr);
}

static void end(void)
{
	self_end(probes);
	munmap(text, 16 * PAGE);
	munmap(region, LOG_REGION_MIN);
	close(fd);
}

TEST("mapped again")
{
	const struct probe *probe;
	uint64_t before;

	start_with(20);
	probe = probes->all.at[0];
	before = log_now();
	map_text(text);
	CU_ASSERT_TRUE(patch_watch_look(probes, PATCH_WATCH_ALL));
	CU_ASSERT_TRUE(probe->module->replaced && !probe->overwritten);
	CU_ASSERT_FALSE(probes->unsettled);
	CU_ASSERT_EQUAL(warned, 0);
	CU_ASSERT_TRUE(patch_watch_may_have_missed(probes, before, before));
	CU_ASSERT_TRUE(patch_watch_may_have_missed(probes, 0, before));
	CU_ASSERT_FALSE(patch_watch_may_have_missed(probes, 0, 1));
	CU_ASSERT_FALSE(patch_watch_may_have_missed(probes, log_now(), UINT64_MAX));
	CU_ASSERT_FALSE(patch_watch_takes_records(probes));	/* it is not the C library */
	end();
}

TEST("unmapped")
{
	start_with(20);
	munmap(text, 16 * PAGE);
	CU_ASSERT_TRUE(patch_watch_look(probes, PATCH_WATCH_ALL));
	CU_ASSERT_TRUE(probes->all.at[0]->module->replaced);
	end();
}

/* The module had gone when its probes were planned, and is there again when they are looked at. */
TEST("not read")
{
	struct probe *probe;

	start_with(3);
	probe = probes->all.at[1];
	probe->state = PROBE_REFUSED;
	probe->unread = true;
	probe->address = (uintptr_t)text + 8 * PAGE;
	munmap(text + 8 * PAGE, PAGE);
	CU_ASSERT_FALSE(patch_watch_look(probes, PATCH_WATCH_ALL));
	CU_ASSERT_TRUE(probe->unread && !probe->module->replaced);
	CU_ASSERT_PTR_EQUAL_FATAL(mmap(text + 8 * PAGE, PAGE, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_FIXED, fd, 8 * PAGE), text + 8 * PAGE);
	CU_ASSERT_TRUE(patch_watch_look(probes, PATCH_WATCH_ALL));
	CU_ASSERT_TRUE(!probe->unread && probe->module->replaced);
	CU_ASSERT_EQUAL(warned, 0);
	end();
}

/* Of a dead module only what still has its patch is kept, in the journal as well. */
TEST("forgotten")
{
	AUTO_FREE struct journal *journal = calloc(1, JOURNAL_SIZE);
	struct region with_journal = { .writer.own = journal, .journal = journal };
	struct probe **probe;

	CU_ASSERT_PTR_NOT_NULL_FATAL(journal);
	start_with(3);
	journal->nr = 3;
	target.region = &with_journal;
	probe = probes->all.at;
	for (uint32_t i = 0; i < 3; i++) {
		journal->entry[i].state = JOURNAL_DONE;
		probe[i]->text_entry = i;
	}
	patch_watch_forget(probes);
	CU_ASSERT_EQUAL(probe[0]->state, PROBE_ACTIVE);
	*(uint8_t *)(uintptr_t)probe[1]->patch ^= 1;
	probe[2]->state = PROBE_PLANNED;
	probe[0]->module->died = 1;
	patch_watch_forget(probes);
	CU_ASSERT_EQUAL(probe[0]->state, PROBE_ACTIVE);
	CU_ASSERT_EQUAL(journal->entry[0].state, JOURNAL_DONE);
	CU_ASSERT_EQUAL(probe[1]->state, PROBE_REFUSED);
	CU_ASSERT_NOT_EQUAL(journal->entry[1].state, JOURNAL_DONE);
	CU_ASSERT_EQUAL(probe[2]->state, PROBE_REFUSED);
	CU_ASSERT_EQUAL(journal->entry[2].state, JOURNAL_DONE);
	probe[0]->module->died = UINT32_MAX;
	end();
}

TEST("overwritten")
{
	struct probe *probe;
	uint64_t gap;

	start_with(20);
	probe = probes->all.at[7];
	probes->ledger.facts.complete = 1;
	gap = log_.header->gap;
	*(uint8_t *)(uintptr_t)probe->patch = 0xcc;
	CU_ASSERT_FALSE(patch_watch_look(probes, PATCH_WATCH_ALL));
	CU_ASSERT_TRUE(probe->overwritten && !probe_records(probe) && !probe->module->replaced);
	CU_ASSERT_TRUE(probes->unsettled && probes->facts_changed && !probes->ledger.facts.complete);
	CU_ASSERT_TRUE(log_.header->gap > gap);
	CU_ASSERT_TRUE(patch_watch_takes_records(probes));
	CU_ASSERT_FALSE(patch_watch_takes_records(probes));
	CU_ASSERT_EQUAL(warned, 0);
	for (unsigned i = 0; i < 3; i++)
		CU_ASSERT_FALSE(patch_watch_look(probes, PATCH_WATCH_ALL));
	CU_ASSERT_EQUAL(warned, 1);
	CU_ASSERT_EQUAL(probes->lost.nr, 1);
	/* It is ours again, and then not. */
	put(probe);
	CU_ASSERT_FALSE(patch_watch_look(probes, PATCH_WATCH_ALL));
	CU_ASSERT_TRUE(probe_records(probe));
	CU_ASSERT_EQUAL(probes->lost.nr, 2);
	*(uint8_t *)(uintptr_t)probe->patch = 0xcc;
	for (unsigned i = 0; i < 3; i++)
		CU_ASSERT_FALSE(patch_watch_look(probes, PATCH_WATCH_ALL));
	CU_ASSERT_TRUE(probe->overwritten);
	CU_ASSERT_EQUAL(warned, 1);
	/* What was overwritten may go, too. */
	map_text(text);
	CU_ASSERT_TRUE(patch_watch_look(probes, PATCH_WATCH_ALL));
	CU_ASSERT_TRUE(probe->module->replaced);
	end();
}

static const uint8_t original[5] = { 0x55, 0x53, 0x48, 0x89, 0xfb };

/* In the journal and in the text; the byte at `at` is another tool's now. */
static void add_broken(struct journal *journal, uint32_t i, uint32_t at, uint8_t byte)
{
	struct probe *probe = probes->all.at[i];
	struct journal_entry *entry = &journal->entry[i];

	probe->text_entry = i;
	memcpy(probe->expect, original, sizeof(original));
	*entry = (struct journal_entry){ .state = JOURNAL_DONE, .kind = JOURNAL_TEXT,
					 .address = probe->patch, .len = probe->put_len };
	memcpy(entry->old, original, sizeof(original));
	memcpy(entry->new, probe->put, probe->put_len);
	((uint8_t *)(uintptr_t)probe->patch)[at] = byte;
}

static void check_text(const struct probe *probe, uint32_t at, uint8_t byte, const uint8_t *others)
{
	const uint8_t *now = (const uint8_t *)(uintptr_t)probe->patch;

	for (uint32_t i = 0; i < probe->put_len; i++)
		CU_ASSERT_EQUAL(now[i], i == at ? byte : others[i]);
}

/* A jump with another tool's trap in it, or what such a one leaves, is taken out around it; no more is. */
TEST("broken")
{
	AUTO_FREE struct journal *journal = calloc(1, JOURNAL_SIZE);
	struct region with_journal = { .writer.own = journal, .journal = journal };
	struct probe **probe;

	CU_ASSERT_PTR_NOT_NULL_FATAL(journal);
	start_with(5);
	journal->nr = 5;
	target.region = &with_journal;
	probe = probes->all.at;
	add_broken(journal, 0, 0, 0xcc);
	add_broken(journal, 1, 3, 0xcc);
	add_broken(journal, 2, 0, original[0]);
	add_broken(journal, 3, 2, 0x90);
	add_broken(journal, 4, 0, probe[4]->put[0]);	/* nothing */
	CU_ASSERT_FALSE(patch_watch_look(probes, PATCH_WATCH_ALL));
	patch_watch_take_broken(probes);
	check_text(probe[0], 0, 0xcc, original);
	check_text(probe[1], 3, 0xcc, original);
	check_text(probe[2], 0, original[0], original);
	for (uint32_t i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(probe[i]->state, PROBE_REFUSED);
		CU_ASSERT_FALSE(probe[i]->overwritten);
		CU_ASSERT_PTR_NOT_NULL(strstr(probe[i]->why, "another tool"));
		CU_ASSERT_EQUAL(journal->entry[i].state, JOURNAL_UNDONE);
	}
	check_text(probe[3], 2, 0x90, probe[3]->put);
	CU_ASSERT_TRUE(probe[3]->state == PROBE_ACTIVE && probe[3]->overwritten);
	check_text(probe[4], 0, probe[4]->put[0], probe[4]->put);
	CU_ASSERT_TRUE(probe_records(probe[4]));
	end();
}

/* Some at each look, in turn: the last ones are seen as well, and then all are known to have been in place. */
TEST("in turn")
{
	struct probe *last;
	uint64_t looked;
	unsigned looks = 0;

	start_with(PROBES);
	last = probes->all.at[PROBES - 1];
	CU_ASSERT_FALSE(patch_watch_look(probes, 70));
	looked = probes->looked;
	CU_ASSERT_FALSE(patch_watch_look(probes, 70));
	CU_ASSERT_EQUAL(probes->looked, looked);
	CU_ASSERT_FALSE(patch_watch_look(probes, 70));
	CU_ASSERT_TRUE(probes->looked > looked);
	*(uint8_t *)(uintptr_t)last->patch = 0xcc;
	while (!last->overwritten && looks++ < 10)
		CU_ASSERT_FALSE(patch_watch_look(probes, 70));
	CU_ASSERT_EQUAL(looks, 3);
	end();
}
