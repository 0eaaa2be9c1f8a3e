/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a killed mdbg leaves, with the jump engine's parts, and its forked children. */

#include "tracee/previous_session.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/state.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "child.h"
#include "os/procfs.h"
#include "os/tracer.h"
#include "tracee/patch.h"
#include "tracee/share.h"
#include "unit.h"
#include "victim.h"

void suite_previous_session(void);

#define LIMIT	(64ull << 20)
#define AREA	(256u << 10)	/* as ours are: others are nobody's */
#define DATA	sizeof(struct agent_state)
#define DATA_LEN	ALIGN_UP(DATA, 4096ul)
#define TURNS	10000000u	/* that a thread takes inside: some milliseconds */

struct shared {
	atomic_uint result;	/* of the last call */
	atomic_uint calls;
	atomic_uint fork;
};

static struct shared *shared;
static struct victim victim;
static struct child child;
static char left[256];
static bool found;
static uint64_t map_address, data_address, area_address;

/* Its first five bytes become a jump. */
int probed(void);
__asm__(".text\n.globl probed\n.type probed, @function\n.balign 16\nprobed:\n"
	"	.cfi_startproc\n	movl $7, %eax\n	nop\n	ret\n	.cfi_endproc\n"
	"	.size probed, . - probed\n");

static void caller(void *arg UNUSED)
{
	child_ready(1);
	while (!atomic_load(&shared->fork)) {
		atomic_store(&shared->result, (unsigned)probed());
		atomic_fetch_add(&shared->calls, 1);
	}
	if (atomic_load(&shared->fork) == 1) {
		pid_t pid = fork();
		int status = -1;

		if (!pid)
			_exit(probed());
		waitpid(pid, &status, 0);
		atomic_store(&shared->result, 100 + (unsigned)WEXITSTATUS(status));
	}
	child_wait();
}

/* Mappings, one a line, without what a program changes by itself. */
static char *maps_text(pid_t pid)
{
	struct proc_maps maps = { VEC_INIT };
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
	proc_maps_free(&maps);
	return text.at;
}

static bool begin(char **maps_ret)
{
	uint64_t word;

	memset(shared, 0, sizeof(*shared));
	CU_ASSERT_TRUE_FATAL(child_start(&child, caller, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &word));
	if (victim_seize(&victim, child.pid)) {
		*maps_ret = maps_text(child.pid);
		return true;
	}
	child_end(&child);
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
	struct err *err = patch_fill(v->target, area_address, slow, sizeof(slow));

	if (!err)
		err = arch->jump(from, area_address, code, &len);
	return err ? err : patch_text(v->target, from, (const void *)(uintptr_t)from, code, len,
				      &entry);
}

/* All that the jump engine does to a target. */
static struct err *change(struct victim *v)
{
	uint32_t entry;
	struct err *err;

	area_address = ((uintptr_t)probed & ~0xfffull) - (64 << 20);
	err = patch_map(v->target, &v->remote, area_address, AREA, &entry);
	if (!err)
		err = patch_map_data(v->target, &v->remote, DATA, &data_address, &entry);
	if (!err)
		err = share_log(v->target, &v->remote);
	if (!err)
		err = share_modules(v->target, &v->remote, true, &map_address);
	return err ? err : put_jump(v);
}

/* As after kill -9: the target goes on with all that is in it. */
static void leave(void)
{
	unsigned calls;

	victim_region(&victim, LIMIT);
	victim_remote(&victim, change);
	victim_release(&victim);
	calls = atomic_load(&shared->calls);
	while (atomic_load(&shared->calls) < calls + 2)
		;
	CU_ASSERT_EQUAL(atomic_load(&shared->result), 77);
}

static struct err *clean(struct victim *v)
{
	found = false;
	return previous_session_clean(v->target, &found, left, sizeof(left));
}

/* The next mdbg comes. */
static void seize_again(void)
{
	victim_release(&victim);
	CU_ASSERT_TRUE_FATAL(victim_seize(&victim, child.pid));
}

static void clean_all(void)
{
	victim_run(&victim, clean);
	CU_ASSERT_STRING_EQUAL(left, "");
}

static void check_maps(const char *before)
{
	AUTO_FREE char *after = maps_text(child.pid);

	CU_ASSERT_STRING_EQUAL(before, after);
}

/* It is let go, works on and ends. */
static void works_again(void)
{
	unsigned calls;

	victim_release(&victim);
	calls = atomic_load(&shared->calls);
	while (atomic_load(&shared->calls) < calls + 3)
		;
	CU_ASSERT_EQUAL(atomic_load(&shared->result), 7);
	atomic_store(&shared->fork, 2);
	CU_ASSERT_EQUAL(child_end(&child), 0);
}

/* The thread is inside nearly all the time: the cleaner has to wait for it. */
static void test_clean(void)
{
	AUTO_FREE char *before = NULL;

	if (!begin(&before))
		return;
	leave();
	CU_ASSERT_TRUE_FATAL(victim_seize(&victim, child.pid));
	CU_ASSERT_TRUE(previous_session_exists(victim.target));
	victim_run(&victim, clean);
	CU_ASSERT_TRUE(found);
	CU_ASSERT_STRING_EQUAL(left, "");
	CU_ASSERT_FALSE(previous_session_exists(victim.target));
	check_maps(before);
	works_again();
}

/* Killed while it made private data: a mapping of the file that no entry tells of. */
static struct err *half_way(struct victim *v)
{
	uint64_t at;

	return remote_syscall(&v->remote, &at, SYS_mremap, v->region->address, 0, DATA_LEN,
			      MREMAP_MAYMOVE);
}

/* Killed while it took private data out: the entry tells of it, but a mapping of the file is there. */
static struct err *half_out(struct victim *v)
{
	const struct journal_entry *entry = v->region->journal->entry;
	uint32_t index;
	struct err *err = patch_map_data(v->target, &v->remote, DATA, &data_address, &index);

	if (!err)
		err = patch_cover(&v->remote, v->region->address, data_address, DATA_LEN);
	CU_ASSERT_EQUAL(entry[index].state, JOURNAL_DONE);
	return err ? err : half_way(v);
}

static void clean_half(struct err *(*half)(struct victim *v))
{
	AUTO_FREE char *before = NULL;

	if (!begin(&before))
		return;
	victim_region(&victim, LIMIT);
	victim_remote(&victim, half);
	seize_again();
	clean_all();
	check_maps(before);
	works_again();
}

static void test_half_way(void)
{
	clean_half(half_way);
}

static void test_half_out(void)
{
	clean_half(half_out);
}

/*
 * Code that lies in two pages: the kernel writes one, and then the other. An mdbg from before
 * patch_text refused to, killed between them.
 */
void torn(void);
__asm__(".text\n.balign 4096\n.skip 4094\n.globl torn\n.type torn, @function\ntorn:\n"
	"	movl $7, %eax\n	ret\n	.size torn, . - torn\n");

#define TORN_LEN	5
#define TORN_FIRST	2	/* of them in the first page */

static const uint8_t torn_new[TORN_LEN] = { 0xe9, 1, 2, 3, 4 };

static struct err *refuse_two_pages(struct victim *v)
{
	uint32_t entry;
	struct err *err = patch_text(v->target, (uintptr_t)torn, (const void *)(uintptr_t)torn,
				     torn_new, TORN_LEN, &entry);

	CU_ASSERT_TRUE(err && err->code == ERR_RANGE);
	return NULL;
}

/* The bytes [from, to) are the new ones, and `byte` at `other`, if it is not 0, is somebody else's. */
struct tear {
	size_t from, to, other;
	uint8_t byte;
};

static const struct tear *tear;

static struct err *tear_text(struct victim *v)
{
	struct journal_entry entry = { .kind = JOURNAL_TEXT, .address = (uintptr_t)torn,
				       .len = TORN_LEN };
	uint8_t now[TORN_LEN];
	uint32_t index;
	struct err *err;

	memcpy(entry.old, (const void *)(uintptr_t)torn, TORN_LEN);
	memcpy(entry.new, torn_new, TORN_LEN);
	memcpy(now, entry.old, TORN_LEN);
	memcpy(now + tear->from, torn_new + tear->from, tear->to - tear->from);
	if (tear->byte)
		now[tear->other] = tear->byte;
	err = journal_writer_plan(&v->region->writer, &entry, &index);
	return err ? err : patch_fill(v->target, entry.address, now, TORN_LEN);
}

static void clean_torn(const struct tear *how, bool ours)
{
	AUTO_FREE char *before = NULL;
	uint8_t now[TORN_LEN], want[TORN_LEN];

	tear = how;
	memcpy(want, (const void *)(uintptr_t)torn, TORN_LEN);
	if (how->byte == 0xcc)
		want[how->other] = 0xcc;
	if (!begin(&before))
		return;
	victim_region(&victim, LIMIT);
	victim_remote(&victim, refuse_two_pages);
	victim_remote(&victim, tear_text);
	seize_again();
	victim_run(&victim, clean);
	CU_ASSERT_EQUAL(strstr(left, "somebody else") == NULL, ours);
	CU_ASSERT_PTR_NULL(memory_read(victim.target->memory, (uintptr_t)torn, now, TORN_LEN));
	CU_ASSERT_EQUAL(!memcmp(now, want, TORN_LEN), ours);
	works_again();
}

static void test_torn(void)
{
	CU_ASSERT_EQUAL((uintptr_t)torn % 4096, 4096 - TORN_FIRST);
	clean_torn(&(struct tear){ .from = 0, .to = TORN_FIRST }, true);
	clean_torn(&(struct tear){ .from = TORN_FIRST, .to = TORN_LEN }, true);
	clean_torn(&(struct tear){ 0, TORN_FIRST, TORN_FIRST, 0x90 }, false);
	/* A uprobe inside the patch, which has left, and is there still. */
	clean_torn(&(struct tear){ .from = 1, .to = TORN_LEN }, true);
	clean_torn(&(struct tear){ 0, TORN_LEN, TORN_FIRST, 0xcc }, true);
}

static struct err *later_kind(struct victim *v)
{
	struct journal_entry entry = { .kind = JOURNAL_SNAPSHOT + 1 };
	uint32_t index;

	return journal_writer_plan(&v->region->writer, &entry, &index);
}

/* What a later version has done is left, and the journal with it. */
static void test_later(void)
{
	AUTO_FREE char *before = NULL;

	if (!begin(&before))
		return;
	victim_region(&victim, LIMIT);
	victim_remote(&victim, change);
	victim_remote(&victim, later_kind);
	seize_again();
	victim_run(&victim, clean);
	CU_ASSERT_PTR_NOT_NULL(strstr(left, "later version"));
	CU_ASSERT_TRUE(previous_session_exists(victim.target));
	works_again();
}

static struct err *withdraw_region(struct victim *v)
{
	return region_withdraw(v->target, &v->remote);
}

/* A thread was still inside at the detach: the next mdbg takes out what that one had to leave. */
static void test_left_behind(void)
{
	AUTO_FREE char *before = NULL;

	if (!begin(&before))
		return;
	victim_region(&victim, LIMIT);
	victim_remote(&victim, change);
	victim_remote(&victim, withdraw_region);
	CU_ASSERT_PTR_NULL(victim.target->region);
	CU_ASSERT_EQUAL(victim.region->journal->owner, 0);
	seize_again();
	victim_run(&victim, clean);
	CU_ASSERT_TRUE(found);
	CU_ASSERT_STRING_EQUAL(left, "");
	check_maps(before);
	works_again();
}

/* Memory that a journal tells of but that is something else by now is left. */
static struct err *other_data(struct victim *v)
{
	struct journal_entry entry = { .kind = JOURNAL_DATA, .len = DATA_LEN,
				       .address = (uintptr_t)shared };
	uint32_t index;
	struct err *err = journal_writer_plan(&v->region->writer, &entry, &index);
	entry.address = (uintptr_t)probed & ~0xfffull;
	return err ? err : journal_writer_plan(&v->region->writer, &entry, &index);
}

static void test_other(void)
{
	AUTO_FREE char *before = NULL;

	if (!begin(&before))
		return;
	victim_region(&victim, LIMIT);
	victim_remote(&victim, other_data);
	seize_again();
	victim_run(&victim, clean);
	check_maps(before);
	works_again();
}

/* --- gone on with --- */

/* The entry of the last mapping of the region's file that the journal tells of. */
static const struct journal_entry *last_log(const struct journal *journal)
{
	const struct journal_entry *last = NULL;

	for (uint32_t i = 0; i < journal->nr; i++)
		if (journal->entry[i].kind == JOURNAL_LOG)
			last = &journal->entry[i];
	return last;
}

/*
 * Killed in the middle of a takeover: the module map is unmapped already, and the journal does not
 * say so; another mapping is there, and the journal does not say so; one is planned, and not there.
 */
static struct err *half_over(struct victim *v)
{
	const struct journal_entry *map = last_log(v->region->journal);
	struct journal_entry planned = { .kind = JOURNAL_MAPPING, .len = AREA,
					 .address = area_address + AREA };
	uint32_t index;
	struct err *err = remote_unmap(&v->remote, map->address, map->len);

	if (!err)
		err = journal_writer_plan(&v->region->writer, &planned, &index);
	return err ? err : half_way(v);
}

static struct err *settle(struct victim *v)
{
	struct err *err = previous_session_to_resume(v->target);

	if (!err)
		err = region_adopt(v->target, &v->region);
	return err ? err : previous_session_settle(v->target);
}

/* How many mappings of a region's file there are. */
static unsigned file_mappings(pid_t pid)
{
	struct proc_maps maps = { VEC_INIT };
	unsigned nr = 0;

	CU_ASSERT_PTR_NULL_FATAL(procfs_maps(pid, &maps));
	for (size_t i = 0; i < maps.vec.nr; i++)
		nr += !strcmp(maps.vec.at[i].path, JOURNAL_MEMFD_PATH);
	proc_maps_free(&maps);
	return nr;
}

static struct err *keep(struct victim *v)
{
	region_keep(v->target);
	return NULL;
}

static void check_settled(const struct journal *journal)
{
	unsigned done[JOURNAL_LOG + 1] = { 0 };

	for (uint32_t i = 0; i < journal->nr; i++) {
		const struct journal_entry *entry = &journal->entry[i];

		CU_ASSERT_NOT_EQUAL(entry->state, JOURNAL_PLANNED);
		done[entry->kind] += entry->state == JOURNAL_DONE;
	}
	CU_ASSERT_EQUAL(done[JOURNAL_REGION], 1);
	CU_ASSERT_EQUAL(done[JOURNAL_TEXT], 1);
	CU_ASSERT_EQUAL(done[JOURNAL_MAPPING], 1);
	CU_ASSERT_EQUAL(done[JOURNAL_DATA], 1);
	CU_ASSERT_EQUAL(done[JOURNAL_LOG], 1);
	CU_ASSERT_EQUAL(last_log(journal)->state, JOURNAL_UNDONE);
}

static void test_settle(void)
{
	AUTO_FREE char *before = NULL;

	if (!begin(&before))
		return;
	victim_region(&victim, LIMIT);
	victim_remote(&victim, change);
	victim_remote(&victim, half_over);
	seize_again();
	CU_ASSERT_EQUAL(file_mappings(child.pid), 3);
	victim_run(&victim, settle);
	check_settled(victim.region->journal);
	/* Journal and log. */
	CU_ASSERT_EQUAL(file_mappings(child.pid), 2);
	victim_run(&victim, keep);
	clean_all();
	check_maps(before);
	works_again();
}

/* What is not unmapped is told of again. */
static struct err *not_unmapped(struct victim *v)
{
	uint32_t index = (uint32_t)(last_log(v->region->journal) - v->region->journal->entry);
	struct journal_entry *map = &v->region->writer.own->entry[index];

	map->address++;		/* EINVAL */
	CU_ASSERT_PTR_NOT_NULL(patch_unmap(v->target, &v->remote, index));
	map->address--;
	CU_ASSERT_EQUAL(map->state, JOURNAL_DONE);
	return NULL;
}

static void test_not_unmapped(void)
{
	AUTO_FREE char *before = NULL;

	if (!begin(&before))
		return;
	victim_region(&victim, LIMIT);
	victim_remote(&victim, change);
	victim_remote(&victim, not_unmapped);
	victim_run(&victim, clean);
	works_again();
}

static struct err *borrow(struct victim *v)
{
	struct thread *thread = target_any_stopped(v->target);
	struct err *err;

	CU_ASSERT_FALSE(remote_is_left(thread));
	err = remote_begin(thread, &v->remote);
	if (!err)
		err = tracer_get_regs(thread->tid, &thread->regs);
	CU_ASSERT_TRUE(remote_is_left(thread));
	return err;
}

static struct err *not_borrowed(struct victim *v)
{
	CU_ASSERT_FALSE(remote_is_left(target_any_stopped(v->target)));
	return NULL;
}

/* Killed when a thread was about to make a call for it: the call is waited for. */
static void test_borrowed(void)
{
	AUTO_FREE char *before = NULL;

	if (!begin(&before))
		return;
	victim_run(&victim, borrow);
	victim_run(&victim, clean);
	victim_run(&victim, not_borrowed);
	works_again();
}

/* A forked child is cleaned of what it has inherited. */

static struct target *forked;

static struct err *clean_forked_with(struct victim *v, struct remote *remote)
{
	struct region *region = v->region;
	struct err *err = NULL, *also;
	uint64_t unused;

	for (uint32_t i = 0; i < region->journal->nr && !err; i++) {
		const struct journal_entry *entry = &region->journal->entry[i];

		if (entry->kind == JOURNAL_TEXT)
			err = patch_undo_text_entry(&forked->mem, entry);
	}
	if (!err)
		err = remote_begin_any(forked, remote);
	if (err)
		return err;
	err = remote_syscall(remote, &unused, SYS_munmap, area_address, AREA);
	if (!err)
		err = remote_syscall(remote, &unused, SYS_munmap, data_address, DATA_LEN);
	if (!err)
		err = share_withdraw_forked_copy(v->target, remote);
	if (!err)
		err = region_withdraw_forked_copy(region, remote);
	also = remote_end(remote);
	return err ? err : also;
}

static struct err *clean_forked(struct victim *v)
{
	AUTO_FREE struct remote *remote = malloc(sizeof(*remote));
	struct err *err = target_create(v->tracer, v->forked, NULL, v->target->ops, v, &forked);

	if (err)
		return err;
	forked->modules.map = v->target->modules.map;
	forked->gadgets = v->target->gadgets;
	err = target_adopt(forked, v->forked);
	return err ? err : clean_forked_with(v, remote);
}

static struct err *release_forked(struct victim *v UNUSED)
{
	forked->modules.map = (struct walk_map){ .module = NULL };
	target_release(forked);
	target_destroy(forked);
	return NULL;
}

static void test_forked(void)
{
	AUTO_FREE char *before = NULL;
	AUTO_FREE char *after = NULL;

	if (!begin(&before))
		return;
	victim_region(&victim, LIMIT);
	victim_remote(&victim, change);
	victim_resume(&victim);
	atomic_store(&shared->fork, 1);
	while (!atomic_load(&victim.forked))
		;
	victim_run(&victim, clean_forked);
	after = maps_text(victim.forked);
	CU_ASSERT_STRING_EQUAL(before, after);
	victim_run(&victim, release_forked);
	while (atomic_load(&shared->result) < 100)
		;
	CU_ASSERT_EQUAL(atomic_load(&shared->result), 107);
	victim_stop(&victim);
	clean_all();
	victim_release(&victim);
	CU_ASSERT_EQUAL(child_end(&child), 0);
}

/* What the target has made of the number of entries. */
static void test_wild_journal(void)
{
	AUTO_FREE char *before = NULL;
	struct journal *shared_journal;
	uint8_t bytes[5], text[5];
	uint32_t nr;

	if (!begin(&before))
		return;
	victim_region(&victim, LIMIT);
	victim_remote(&victim, change);
	shared_journal = victim.region->base;
	nr = shared_journal->nr;
	shared_journal->nr = UINT32_MAX;
	CU_ASSERT_PTR_NULL(memory_read(&victim.target->mem.memory, (uintptr_t)probed, bytes,
				       sizeof(bytes)));
	memcpy(text, (const void *)(uintptr_t)probed, sizeof(text));
	CU_ASSERT_NOT_EQUAL(memcmp(bytes, text, sizeof(text)), 0);
	patch_see_through(victim.target, (uintptr_t)probed, bytes, sizeof(bytes));
	CU_ASSERT_EQUAL(memcmp(bytes, text, sizeof(text)), 0);
	shared_journal->nr = nr;
	victim_run(&victim, keep);
	clean_all();
	works_again();
}

/*
 * What an earlier mdbg has left says what the target likes: of its own text, of a signal, of memory of
 * other lengths, and of more entries than there are.
 */
static struct err *forge(struct victim *v)
{
	struct journal *journal = v->region->base;
	struct journal_entry *text = &journal->entry[journal->nr];
	struct journal_entry *action = text + 1, *memory = text + 2;

	*text = (struct journal_entry){ .state = JOURNAL_DONE, .kind = JOURNAL_TEXT, .len = 5,
					.address = (uintptr_t)torn, .old = "evil" };
	memcpy(text->new, (const void *)(uintptr_t)torn, 5);
	*action = (struct journal_entry){ .state = JOURNAL_DONE, .kind = JOURNAL_SIGACTION,
					  .aux = SIGUSR1, .len = 32 };
	*memory = (struct journal_entry){ .state = JOURNAL_DONE, .kind = JOURNAL_MAPPING,
					  .address = area_address, .len = 4096 };
	journal->nr += 3;
	return NULL;
}

static void test_forged(void)
{
	AUTO_FREE char *before = NULL;
	uint8_t now[TORN_LEN];

	if (!begin(&before))
		return;
	victim_region(&victim, LIMIT);
	victim_remote(&victim, change);
	victim_run(&victim, forge);
	seize_again();
	victim_run(&victim, clean);
	CU_ASSERT_PTR_NOT_NULL(strstr(left, "what is mapped stays"));
	CU_ASSERT_PTR_NULL(memory_read(victim.target->memory, (uintptr_t)torn, now, TORN_LEN));
	CU_ASSERT_EQUAL(memcmp(now, (const void *)(uintptr_t)torn, TORN_LEN), 0);
	/* Its text leads there no more. */
	CU_ASSERT_PTR_NULL(memory_read(victim.target->memory, (uintptr_t)probed, now, TORN_LEN));
	CU_ASSERT_EQUAL(memcmp(now, (const void *)(uintptr_t)probed, TORN_LEN), 0);
	works_again();
}

/* What this mdbg did it undoes, whatever the shared journal says by now. */
static struct err *undo_all(struct victim *v)
{
	const struct journal *journal = v->region->journal;
	struct err *err = NULL;

	memset(v->region->base, 0xff, JOURNAL_SIZE);
	for (uint32_t i = journal_entries(journal); i-- > 0 && !err;) {
		if (journal->entry[i].kind == JOURNAL_TEXT)
			err = patch_text_undo(v->target, i);
		else if (journal->entry[i].kind == JOURNAL_MAPPING ||
			 journal->entry[i].kind == JOURNAL_DATA)
			err = patch_unmap(v->target, &v->remote, i);
	}
	if (!err)
		err = share_withdraw(v->target, &v->remote);
	return err ? err : region_withdraw(v->target, &v->remote);
}

static void test_overwritten(void)
{
	AUTO_FREE char *before = NULL;

	if (!begin(&before))
		return;
	/* Nobody is inside: it stands still, and what it has entered it leaves. */
	victim_region(&victim, LIMIT);
	victim_remote(&victim, change);
	victim_remote(&victim, undo_all);
	check_maps(before);
	works_again();
}

/* A log as an mdbg makes it, but for its size, which can be changed. */
static void make_unsealed(void *arg UNUSED)
{
	const struct log_config config = { .region_size = LOG_REGION_MIN, .stack_depth = 1 };
	int fd = memfd_create(JOURNAL_MEMFD_NAME, MFD_ALLOW_SEALING);
	struct proc_stat stat;
	struct journal *journal;
	struct log log;

	if (ftruncate(fd, (off_t)share_file_size(config.region_size, AGENT_THREADS)) || procfs_stat(getpid(), &stat))
		_exit(1);
	journal = mmap(NULL, config.region_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (journal == MAP_FAILED || log_format(journal, &config, &log))
		_exit(1);
	journal->target_start = stat.start_time;
	munmap((uint8_t *)journal + JOURNAL_SIZE, config.region_size - JOURNAL_SIZE);
	child_ready(1);
	child_wait();
}

static struct err *adopt_unsealed(struct victim *v)
{
	struct err *err = region_adopt(v->target, &v->region);

	CU_ASSERT_TRUE(err && err->code == ERR_FORMAT);
	return NULL;
}

static void test_unsealed(void)
{
	uint64_t word;

	CU_ASSERT_TRUE_FATAL(child_start(&child, make_unsealed, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &word));
	if (victim_seize(&victim, child.pid)) {
		victim_run(&victim, adopt_unsealed);
		victim_release(&victim);
	}
	CU_ASSERT_EQUAL(child_end(&child), 0);
}

CHILD_SHARED(shared)

void suite_previous_session(void)
{
	CU_pSuite suite = CU_add_suite("previous session", setup, teardown);

	CU_add_test(suite, "jumps, code, data and log, with a thread inside", test_clean);
	CU_add_test(suite, "killed half-way", test_half_way);
	CU_add_test(suite, "killed half-way out", test_half_out);
	CU_add_test(suite, "killed between two pages of a patch", test_torn);
	CU_add_test(suite, "left behind by a detach", test_left_behind);
	CU_add_test(suite, "a later version's changes", test_later);
	CU_add_test(suite, "somebody else's memory by now", test_other);
	CU_add_test(suite, "gone on with: what was in hand", test_settle);
	CU_add_test(suite, "a journal that the target has damaged", test_wild_journal);
	CU_add_test(suite, "a journal that the target has forged", test_forged);
	CU_add_test(suite, "one that it has overwritten", test_overwritten);
	CU_add_test(suite, "a log whose size the target can change", test_unsealed);
	CU_add_test(suite, "an entry that could not be undone", test_not_unmapped);
	CU_add_test(suite, "a thread that is still to make a call", test_borrowed);
	CU_add_test(suite, "a forked child", test_forked);
}
