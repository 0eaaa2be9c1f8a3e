/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the agent needs, mapped into real processes. */

#include "tracee/share.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "agent/state.h"
#include "base/cleanup.h"
#include "child.h"
#include "os/memory_limits.h"
#include "os/procfs.h"
#include "tracee/patch.h"
#include "tracee/undo.h"
#include "unit.h"
#include "victim.h"

#define LIMIT	(64ull << 20)

/* What the child does while it runs: works on memory that it is told of. */
struct shared {
	_Atomic uint64_t address;	/* write 1 there and go on at the next */
	atomic_int done;
};

static struct shared *shared;

CHILD_SHARED(shared);
static struct victim victim;
static struct child child;
static uint64_t map_address, data_address;
static uint32_t data_entry;

static void idle(void *arg UNUSED)
{
	child_ready(1);
	child_wait();
}

static void locked(void *arg UNUSED)
{
	child_ready(mlockall(MCL_FUTURE) ? 0 : 1);
	child_wait();
}

static bool limit_addresses(void)
{
	unsigned long pages = 0;
	FILE *statm = fopen("/proc/self/statm", "r");
	struct rlimit limit;

	if (!statm || fscanf(statm, "%lu", &pages) != 1)
		_exit(1);
	fclose(statm);
	limit.rlim_cur = limit.rlim_max = pages * 4096 + (512 << 20);
	return !setrlimit(RLIMIT_AS, &limit);
}

static void limited(void *arg UNUSED)
{
	child_ready(limit_addresses());
	child_wait();
}

/* Writes where it is told to, as the agent does. */
static void write_once(void)
{
	uint64_t address;

	while (!(address = atomic_load(&shared->address)))
		;
	*(volatile uint64_t *)(uintptr_t)address = 0x1234;
	atomic_store(&shared->done, 1);
	child_wait();
}

static void writer(void *arg UNUSED)
{
	child_ready(1);
	write_once();
}

static void limited_writer(void *arg UNUSED)
{
	child_ready(limit_addresses());
	write_once();
}

static bool begin(void (*body)(void *arg))
{
	uint64_t word;

	memset(shared, 0, sizeof(*shared));
	CU_ASSERT_TRUE_FATAL(child_start(&child, body, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &word));
	CU_ASSERT_EQUAL_FATAL(word, 1);
	if (victim_seize(&victim, child.pid))
		return true;
	child_end(&child);
	return false;
}

static struct err *withdraw(struct victim *v)
{
	struct err *err = share_withdraw(v->target, &v->remote);

	return err ? err : region_withdraw(v->target, &v->remote);
}

/* Mappings of the child that are ours; with len, the number of their bytes. */
static unsigned mappings(uint64_t *len)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	unsigned nr = 0;

	CU_ASSERT_PTR_NULL_FATAL(procfs_maps(child.pid, &maps));
	*len = 0;
	for (size_t i = 0; i < maps.vec.nr; i++)
		if (!strcmp(maps.vec.at[i].path, "/memfd:mdbg")) {
			*len += maps.vec.at[i].end - maps.vec.at[i].start;
			nr++;
		}
	return nr;
}

static void end(void)
{
	uint64_t len;

	victim_remote(&victim, withdraw);
	CU_ASSERT_EQUAL(mappings(&len), 0);
	victim_release(&victim);
	CU_ASSERT_EQUAL(child_end(&child), 0);
}

static struct err *log_and_map(struct victim *v)
{
	struct err *err = share_log(v->target, &v->remote);

	return err ? err : share_modules(v->target, &v->remote, true, &map_address);
}

static void there(uint64_t address, void *buf, size_t len)
{
	CU_ASSERT_PTR_NULL_FATAL(memory_read(&victim.target->mem.bring, address, buf, len));
}

static uint64_t there_of(const void *pointer)
{
	return (uintptr_t)pointer;
}

/* The map at address in the target says the same as modules.map. */
static void same_map(uint64_t address)
{
	const struct walk_map *want = &victim.target->modules.map;
	struct walk_map map;

	there(address, &map, sizeof(map));
	CU_ASSERT_EQUAL_FATAL(map.nr, want->nr);
	CU_ASSERT_EQUAL(map.generation, want->generation);
	CU_ASSERT_PTR_NULL(map.cache);
	for (uint32_t i = 0; i < map.nr; i++) {
		const struct walk_module *have = &want->module[i];
		size_t bytes = have->rows.nr * sizeof(struct row);
		size_t index_bytes = have->rows.index ? have->rows.nr_index * sizeof(uint32_t) : 0;
		AUTO_FREE uint8_t *rows = malloc(bytes + index_bytes + 1);
		struct walk_module module;

		there(there_of(map.module + i), &module, sizeof(module));
		CU_ASSERT_EQUAL(module.start, have->start);
		CU_ASSERT_EQUAL(module.end, have->end);
		CU_ASSERT_EQUAL_FATAL(module.rows.nr, have->rows.nr);
		if (!module.rows.nr)
			continue;
		there(there_of(module.rows.row), rows, bytes);
		CU_ASSERT_EQUAL(memcmp(rows, have->rows.row, bytes), 0);
		if (!index_bytes)
			continue;
		there(there_of(module.rows.index), rows + bytes, index_bytes);
		CU_ASSERT_EQUAL(memcmp(rows + bytes, have->rows.index, index_bytes), 0);
	}
}

TEST("module maps are in the target as here")
{
	const struct journal *journal;
	uint64_t len, old;

	if (!begin(idle))
		return;
	victim_region(&victim, LIMIT);
	CU_ASSERT_EQUAL(mappings(&len), 1);
	CU_ASSERT_EQUAL(len, JOURNAL_SIZE);
	victim_remote(&victim, log_and_map);
	CU_ASSERT_EQUAL(mappings(&len), 3);
	CU_ASSERT_TRUE(victim.target->modules.map.nr > 2);
	same_map(map_address);
	old = map_address;
	victim_remote(&victim, log_and_map);
	CU_ASSERT_NOT_EQUAL(map_address, old);
	CU_ASSERT_EQUAL(mappings(&len), 3);
	same_map(map_address);
	same_map(old);
	journal = victim.region->journal;
	CU_ASSERT_PTR_NULL(journal_check(journal, victim.region->size));
	CU_ASSERT_EQUAL(journal->region_size, LIMIT);
	end();
}

/* Modules of the test's own: one for each bit of mask, of nr rows. */

#define FAKES	3

static struct row *fake[FAKES];
static struct walk_module fakes[FAKES];
static struct walk_map own;
static bool quiet;

static void fake_modules(unsigned mask, uint32_t nr)
{
	uint32_t count = 0;

	for (unsigned i = 0; i < FAKES; i++) {
		if (!(mask & 1u << i))
			continue;
		if (!fake[i])
			fake[i] = calloc(nr, sizeof(struct row));
		CU_ASSERT_PTR_NOT_NULL_FATAL(fake[i]);
		for (uint32_t k = 0; k < nr; k++)
			fake[i][k] = (struct row){ .pc = k, .cfa_offset = (int32_t)i };
		fakes[count].start = 0x1000 * (i + 1);
		fakes[count].end = 0x1000 * (i + 2);
		fakes[count++].rows = (struct rows){ .row = fake[i], .nr = nr };
	}
	victim.target->modules.map = (struct walk_map){
		.module = fakes, .nr = count,
		.generation = victim.target->modules.map.generation + 1,
	};
}

static void real_modules(void)
{
	victim.target->modules.map = own;
	for (unsigned i = 0; i < FAKES; i++) {
		free(fake[i]);
		fake[i] = NULL;
	}
}

static struct err *publish(struct victim *v)
{
	return share_modules(v->target, &v->remote, quiet, &map_address);
}

static uint64_t blocks(void)
{
	struct stat stat;

	CU_ASSERT_EQUAL_FATAL(fstat(victim.region->fd, &stat), 0);
	return (uint64_t)stat.st_blocks * 512;
}

/* Modules that come and go all the time take no more room than those that are there. */
TEST("modules that come and go")
{
	uint64_t len, old, before;

	if (!begin(idle))
		return;
	own = victim.target->modules.map;
	victim_region(&victim, LIMIT);
	victim_remote(&victim, log_and_map);
	quiet = true;
	fake_modules(3, 5000);
	victim_remote(&victim, publish);
	same_map(map_address);
	before = blocks();
	for (unsigned i = 0; i < 200; i++) {
		fake_modules(3 << i % 2, 5000);
		old = map_address;
		victim_remote(&victim, publish);
		same_map(map_address);
		CU_ASSERT_NOT_EQUAL(map_address, old);
	}
	CU_ASSERT_TRUE(blocks() < before + (1 << 20));
	CU_ASSERT_EQUAL(mappings(&len), 3);
	real_modules();
	end();
}

/* Somebody may still read by the first map: it stays as it was. */
TEST("modules that go while the agent reads")
{
	struct walk_map map;
	uint64_t first;

	if (!begin(idle))
		return;
	own = victim.target->modules.map;
	victim_region(&victim, LIMIT);
	victim_remote(&victim, log_and_map);
	first = map_address;
	quiet = false;
	for (unsigned i = 0; i < 20; i++) {
		fake_modules(1u << i % FAKES, 5000);
		victim_remote(&victim, publish);
		same_map(map_address);
	}
	map = victim.target->modules.map;
	victim.target->modules.map = own;
	same_map(first);
	victim.target->modules.map = map;
	real_modules();
	end();
}

/* More rows than the target has mapped: a larger mapping, and the old one while it is in use. */
TEST("modules with more rows than were mapped")
{
	uint64_t len, first, more;

	if (!begin(idle))
		return;
	own = victim.target->modules.map;
	victim_region(&victim, LIMIT);
	victim_remote(&victim, log_and_map);
	first = map_address;
	quiet = true;
	fake_modules(1, 2 << 20);
	victim_remote(&victim, publish);
	CU_ASSERT_EQUAL(mappings(&more), 4);
	same_map(map_address);
	victim.target->modules.map = own;
	same_map(first);
	victim_remote(&victim, publish);
	CU_ASSERT_EQUAL(mappings(&len), 3);
	CU_ASSERT_TRUE(len < more);
	same_map(map_address);
	real_modules();
	end();
}

static uint64_t log_offset(const void *here)
{
	return (uint64_t)((const uint8_t *)here - (uint8_t *)victim.region->base);
}

static void count_thread(struct agent_thread *thread, void *ctx)
{
	unsigned *count = ctx;

	CU_ASSERT_EQUAL(thread->ledger.key, 0x1234);
	++*count;
}

/* What the target writes is seen here: in the log's last page, and in the threads. */
static void write_at(uint64_t address)
{
	victim_resume(&victim);
	atomic_store(&shared->done, 0);
	atomic_store(&shared->address, address);
	while (!atomic_load(&shared->done))
		;
	victim_stop(&victim);
}

TEST("what the target writes is seen here")
{
	unsigned count = 0;
	uint64_t *last;

	if (!begin(writer))
		return;
	victim_region(&victim, LIMIT);
	victim_remote(&victim, log_and_map);
	last = (uint64_t *)((uint8_t *)victim.region->base + LIMIT - 8);
	CU_ASSERT_EQUAL(log_offset(last), LIMIT - 8);
	write_at(victim.region->log_address + log_offset(last));
	CU_ASSERT_EQUAL(*last, 0x1234);
	share_each_thread(victim.region, count_thread, &count);
	CU_ASSERT_EQUAL(count, 0);
	end();

	if (!begin(writer))
		return;
	victim_region(&victim, LIMIT);
	victim_remote(&victim, log_and_map);
	write_at(share_threads_address(victim.target) + 7 * sizeof(struct agent_thread) +
		 offsetof(struct agent_thread, ledger.key));
	share_each_thread(victim.region, count_thread, &count);
	CU_ASSERT_EQUAL(count, 1);
	CU_ASSERT_PTR_NULL(share_reserve(victim.target));
	end();
}

TEST("a target that locks its memory")
{
	AUTO_FREE char *status = NULL;
	unsigned long kb = 0;
	char *line;

	if (!begin(locked))
		return;
	victim_region(&victim, LIMIT);
	victim_remote(&victim, log_and_map);
	CU_ASSERT_PTR_NULL_FATAL(procfs_file(child.pid, "status", &status, NULL));
	line = strstr(status, "VmLck:");
	CU_ASSERT_TRUE_FATAL(line && sscanf(line, "VmLck: %lu", &kb) == 1);
	CU_ASSERT_TRUE(kb < 1024);
	end();
}

TEST("a target with little address space")
{
	struct err *err;

	if (!begin(limited))
		return;
	victim_region(&victim, 1ull << 30);
	err = victim_try(&victim, log_and_map);
	CU_ASSERT_FATAL(err && err->code == ERR_UNSUPPORTED);
	CU_ASSERT_PTR_NOT_NULL(strstr(err->msg, "RLIMIT_AS"));
	CU_ASSERT_PTR_NOT_NULL(strstr(err->hint, "prlimit --pid"));
	end();
}

/* What was chosen by the room that there is can be mapped, and an agent's thread at the table's end be found. */
TEST("as much as there is room for")
{
	const struct agent_thread *last;
	unsigned count = 0;
	struct memory_limits limits;
	struct room room;
	uint64_t len;

	if (!begin(limited_writer))
		return;
	memory_limits_open(victim.target->mem.tid, &limits);
	CU_ASSERT_PTR_NULL(room_find(victim.target, &limits, 1ull << 30, &room));
	memory_limits_close(&limits);
	CU_ASSERT_TRUE(room.tight && room.log >= LOG_REGION_MIN && room.log < 256 << 20);
	CU_ASSERT_TRUE(room.threads >= 64 && room.threads < AGENT_THREADS);
	CU_ASSERT_PTR_NOT_NULL(strstr(room.why, "RLIMIT_AS"));
	CU_ASSERT_PTR_NOT_NULL(strstr(room.hint, "prlimit --pid"));
	victim_region_in(&victim, &room);
	CU_ASSERT_EQUAL(victim.region->log.size, room.log);
	victim_remote(&victim, log_and_map);
	mappings(&len);
	CU_ASSERT_TRUE(len < 256 << 20);
	write_at(share_threads_address(victim.target) + (room.threads - 1) * sizeof(*last) +
		 offsetof(struct agent_thread, ledger.key));
	share_each_thread(victim.region, count_thread, &count);
	CU_ASSERT_EQUAL(count, 1);
	end();
}

static struct err *map_data(struct victim *v)
{
	return patch_map_data(v->target, &v->remote, 100000, &data_address, &data_entry);
}

static struct err *unmap_data(struct victim *v)
{
	return patch_unmap(v->target, &v->remote, data_entry);
}

/* Forks when it has written; the child's own view of two words, a page apart, is its exit status. */
static void forker(void *arg UNUSED)
{
	volatile uint64_t *first, *second;
	uint64_t address;
	int status = -1;
	pid_t pid;

	child_ready(1);
	while (!(address = atomic_load(&shared->address)))
		;
	first = (volatile uint64_t *)(uintptr_t)address;
	second = first + LOG_PAGE / sizeof(*first);
	*first = *second = 0x1234;
	pid = fork();
	if (!pid)
		_exit(*first == 0 && *second == 0x1234 ? 17 : 18);
	waitpid(pid, &status, 0);
	atomic_store(&shared->done, WEXITSTATUS(status));
	child_wait();
}

TEST("the first page of private data is zero in a forked child")
{
	struct proc_maps maps = { VEC_INIT };
	const struct journal_entry *entry;
	const struct proc_map *map;

	if (!begin(forker))
		return;
	victim_region(&victim, LIMIT);
	victim_remote(&victim, map_data);
	CU_ASSERT_PTR_NULL_FATAL(procfs_maps(child.pid, &maps));
	map = procparse_maps_find(&maps, data_address);
	CU_ASSERT_PTR_NOT_NULL_FATAL(map);
	CU_ASSERT_TRUE(map->read && map->write && !map->exec && !map->shared && !map->inode);
	entry = &victim.region->journal->entry[data_entry];
	CU_ASSERT_EQUAL(entry->kind, JOURNAL_DATA);
	CU_ASSERT_EQUAL(entry->address, data_address);
	CU_ASSERT_TRUE(entry->len >= 100000);
	CU_ASSERT_TRUE(undo_is_mapped(entry, &maps, NULL));
	procparse_maps_free(&maps);
	victim_release(&victim);

	atomic_store(&shared->address, data_address);
	while (!atomic_load(&shared->done))
		;
	CU_ASSERT_EQUAL(shared->done, 17);
	CU_ASSERT_EQUAL(child_end(&child), 0);
}

TEST("private data goes without a trace")
{
	struct proc_maps maps = { VEC_INIT };

	if (!begin(idle))
		return;
	victim_region(&victim, LIMIT);
	victim_remote(&victim, map_data);
	victim_remote(&victim, unmap_data);
	CU_ASSERT_PTR_NULL_FATAL(procfs_maps(child.pid, &maps));
	CU_ASSERT_PTR_NULL(procparse_maps_find(&maps, data_address));
	procparse_maps_free(&maps);
	CU_ASSERT_EQUAL(victim.region->journal->entry[data_entry].state, JOURNAL_UNDONE);
	end();
}
