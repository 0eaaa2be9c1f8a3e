/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The journal that a killed mdbg leaves: torn, of a later version, or damaged, forged and
 * overwritten by the target.
 */

#include "tracee/previous/previous_session.h"

#include <signal.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "jumped.h"
#include "os/procfs.h"
#include "tracee/patch.h"
#include "tracee/share.h"
#include "unit.h"

CHILD_SHARED(jumped.shared);

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
	if (!jumped_begin(&before))
		return;
	victim_region(&jumped.victim, LIMIT);
	victim_remote(&jumped.victim, refuse_two_pages);
	victim_remote(&jumped.victim, tear_text);
	jumped_seize_again();
	victim_run(&jumped.victim, jumped_clean);
	CU_ASSERT_EQUAL(strstr(jumped.left, "somebody else") == NULL, ours);
	CU_ASSERT_PTR_NULL(memory_read(&jumped.victim.target->mem.bring, (uintptr_t)torn, now, TORN_LEN));
	CU_ASSERT_EQUAL(!memcmp(now, want, TORN_LEN), ours);
	jumped_works_again();
}

TEST("killed between two pages of a patch")
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
TEST("a later version's changes")
{
	AUTO_FREE char *before = NULL;

	if (!jumped_begin(&before))
		return;
	victim_region(&jumped.victim, LIMIT);
	victim_remote(&jumped.victim, jumped_change);
	victim_remote(&jumped.victim, later_kind);
	jumped_seize_again();
	victim_run(&jumped.victim, jumped_clean);
	CU_ASSERT_PTR_NOT_NULL(strstr(jumped.left, "later version"));
	CU_ASSERT_TRUE(previous_session_exists(jumped.victim.target));
	jumped_works_again();
}

/* What the target has made of the number of entries. */
TEST("a journal that the target has damaged")
{
	AUTO_FREE char *before = NULL;
	struct journal *shared_journal;
	uint8_t bytes[5], text[5];
	uint32_t nr;

	if (!jumped_begin(&before))
		return;
	victim_region(&jumped.victim, LIMIT);
	victim_remote(&jumped.victim, jumped_change);
	shared_journal = jumped.victim.region->base;
	nr = shared_journal->nr;
	shared_journal->nr = UINT32_MAX;
	CU_ASSERT_PTR_NULL(memory_read(&jumped.victim.target->mem.bring, (uintptr_t)probed, bytes,
				       sizeof(bytes)));
	memcpy(text, (const void *)(uintptr_t)probed, sizeof(text));
	CU_ASSERT_NOT_EQUAL(memcmp(bytes, text, sizeof(text)), 0);
	patch_see_through(jumped.victim.target, (uintptr_t)probed, bytes, sizeof(bytes));
	CU_ASSERT_EQUAL(memcmp(bytes, text, sizeof(text)), 0);
	shared_journal->nr = nr;
	victim_run(&jumped.victim, jumped_keep);
	jumped_clean_all();
	jumped_works_again();
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
					  .address = jumped.area, .len = 4096 };
	journal->nr += 3;
	return NULL;
}

TEST("a journal that the target has forged")
{
	AUTO_FREE char *before = NULL;
	uint8_t now[TORN_LEN];

	if (!jumped_begin(&before))
		return;
	victim_region(&jumped.victim, LIMIT);
	victim_remote(&jumped.victim, jumped_change);
	victim_run(&jumped.victim, forge);
	jumped_seize_again();
	victim_run(&jumped.victim, jumped_clean);
	CU_ASSERT_PTR_NOT_NULL(strstr(jumped.left, "what is mapped stays"));
	CU_ASSERT_PTR_NULL(memory_read(&jumped.victim.target->mem.bring, (uintptr_t)torn, now, TORN_LEN));
	CU_ASSERT_EQUAL(memcmp(now, (const void *)(uintptr_t)torn, TORN_LEN), 0);
	/* Its text leads there no more. */
	CU_ASSERT_PTR_NULL(memory_read(&jumped.victim.target->mem.bring, (uintptr_t)probed, now, TORN_LEN));
	CU_ASSERT_EQUAL(memcmp(now, (const void *)(uintptr_t)probed, TORN_LEN), 0);
	jumped_works_again();
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

TEST("one that it has overwritten")
{
	AUTO_FREE char *before = NULL;

	if (!jumped_begin(&before))
		return;
	/* Nobody is inside: it stands still, and what it has entered it leaves. */
	victim_region(&jumped.victim, LIMIT);
	victim_remote(&jumped.victim, jumped_change);
	victim_remote(&jumped.victim, undo_all);
	jumped_check_maps(before);
	jumped_works_again();
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

TEST("a log whose size the target can change")
{
	uint64_t word;

	CU_ASSERT_TRUE_FATAL(child_start(&jumped.child, make_unsealed, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&jumped.child, &word));
	if (victim_seize(&jumped.victim, jumped.child.pid)) {
		victim_run(&jumped.victim, adopt_unsealed);
		victim_release(&jumped.victim);
	}
	CU_ASSERT_EQUAL(child_end(&jumped.child), 0);
}
