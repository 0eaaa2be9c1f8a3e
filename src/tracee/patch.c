/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changes to a target, through the journal. */

#include "tracee/patch.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "base/trace.h"
#include "os/memory_limits.h"
#include "tracee/region.h"
#include "tracee/remote.h"

#define SIGSET_LEN	8
/* The agent's two handlers are less than this apart. */
#define OURS_LEN	4096

static struct journal_writer *journal_of(struct target *target)
{
	return &target->region->writer;
}

bool patch_text_of_file(const struct target *target, uint64_t address, struct text_place *place_ret,
			uint8_t *bytes_ret, size_t len)
{
	const struct module *module = modules_find(&target->modules, address);
	const struct elf_segment *segment;
	uint64_t at;
	size_t nr;

	if (!module || !module->elf || !module->inode)
		return false;
	at = address - module->bias;
	segment = elf_file_segments(module->elf, &nr);
	for (size_t i = 0; i < nr; i++, segment++) {
		if (!segment->exec || segment->write || at - segment->vaddr >= segment->filesz ||
		    len > segment->filesz - (at - segment->vaddr))
			continue;
		*place_ret = (struct text_place){
			.file = { module->inode, module->dev_major, module->dev_minor },
			.offset = segment->offset + (at - segment->vaddr),
		};
		return !bytes_ret || !elf_file_read(module->elf, at, bytes_ret, len);
	}
	return false;
}

struct err *patch_plan(struct target *target, const struct journal_entry *entry,
		       uint32_t *entry_ret)
{
	struct text_place place = { .offset = 0 };
	struct err *err = journal_writer_plan(journal_of(target), entry, entry_ret);

	if (err || entry->kind != JOURNAL_TEXT)
		return err;
	if (!patch_text_of_file(target, entry->address, &place, NULL, entry->len))
		place = (struct text_place){ .offset = 0 };
	target->region->origin.place[*entry_ret] = place;
	return NULL;
}

/* May anything be put in or written? */
static struct err *check_lost(const struct target *target)
{
	return target->lost ? err_hint(err_create(ERR_STATE, "what mdbg had mapped in process %d is "
						  "not there any more: another mdbg, or the process, "
						  "has taken it out", target->pid),
				       "detach, and attach again") : NULL;
}

/* The planned change was made; or, with err, it was not. */
static struct err *settle(struct target *target, uint32_t index, struct err *err,
			  uint32_t *entry_ret)
{
	if (err) {
		journal_writer_undone(journal_of(target), index);
		return err;
	}
	journal_writer_done(journal_of(target), index);
	*entry_ret = index;
	return NULL;
}

struct err *patch_text(struct target *target, uint64_t address, const void *expect, const void *new,
		       size_t len, uint32_t *entry_ret)
{
	struct journal_entry entry = { .kind = JOURNAL_TEXT, .address = address, .len = len };
	uint32_t index;
	struct err *err = check_lost(target);

	if (err)
		return err;
	if (PAGE - address % PAGE < len)
		return err_create(ERR_RANGE, "the code at 0x%" PRIx64 " lies in two pages",
				  address);
	err = memory_read(&target->mem.bring, address, entry.old, len);
	if (err)
		return err;
	if (memcmp(entry.old, expect, len))
		return err_create(ERR_BUSY, "the code at 0x%" PRIx64 " is not as in its file: "
				  "another tool has patched it", address);
	memcpy(entry.new, new, len);
	err = patch_plan(target, &entry, &index);
	if (err)
		return err;
	return settle(target, index, procmem_write(&target->mem, address, new, len), entry_ret);
}

struct err *patch_write_around(struct procmem *mem, uint64_t address, const uint8_t *bytes,
			       size_t len, uint32_t kept)
{
	struct err *err = NULL;

	for (size_t i = 0, end; i < len && !err; i = end + 1) {
		for (end = i; end < len && !(kept >> end & 1); end++)
			;
		if (end > i)
			err = procmem_write(mem, address + i, bytes + i, end - i);
	}
	return err;
}

struct err *patch_undo_text_entry(struct procmem *mem, const struct journal_entry *entry)
{
	uint8_t now[JOURNAL_BYTES];
	uint32_t kept;

	if (entry->len > JOURNAL_BYTES)
		return err_create(ERR_FORMAT, "a journal entry of %" PRIu64 " bytes", entry->len);
	if (memory_read(&mem->bring, entry->address, now, entry->len))
		return NULL;	/* the module is gone, the patch with it */
	if (!memcmp(now, entry->old, entry->len))
		return NULL;
	if (!undo_is_ours(now, entry->old, entry->new, entry->len, &kept))
		return err_create(ERR_BUSY,
				  "the code at 0x%" PRIx64
				  " was changed by somebody else: left as it is",
				  entry->address);
	return patch_write_around(mem, entry->address, entry->old, entry->len, kept);
}

void patch_see_through(const struct target *target, uint64_t address, uint8_t *bytes, size_t len)
{
	const struct journal *journal = target->region ? target->region->journal : NULL;

	for (uint32_t i = 0; journal && i < journal_entries(journal); i++) {
		const struct journal_entry *entry = &journal->entry[i];
		uint64_t at = entry->address - address;

		if (entry->kind == JOURNAL_TEXT && entry->state == JOURNAL_DONE &&
		    entry->len <= JOURNAL_BYTES && at < len && entry->len <= len - at &&
		    !memcmp(bytes + at, entry->new, entry->len))
			memcpy(bytes + at, entry->old, entry->len);
	}
}

struct err *patch_text_undo(struct target *target, uint32_t entry)
{
	struct err *err = patch_undo_text_entry(&target->mem,
						&target->region->journal->entry[entry]);

	if (!err || err->code == ERR_BUSY)
		journal_writer_undone(journal_of(target), entry);
	return err;
}

static struct err *map_at(struct target *target, struct remote *remote,
			  const struct journal_entry *entry, int prot, uint32_t *entry_ret)
{
	uint64_t got;
	uint32_t index;
	struct err *err = patch_plan(target, entry, &index);

	if (err)
		return err;
	err = remote_syscall(remote, &got, SYS_mmap, entry->address, entry->len, (uint64_t)prot,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, UINT64_MAX, 0);
	if (!err && got != entry->address) {	/* a kernel before 4.17 takes it as a hint */
		err_ignore(remote_unmap(remote, got, entry->len));
		err = err_create(ERR_BUSY, "no memory to be had at 0x%" PRIx64, entry->address);
	}
	return settle(target, index, err, entry_ret);
}

struct err *patch_map(struct target *target, struct remote *remote, uint64_t address, uint64_t len,
		      uint64_t aux, uint32_t *entry_ret)
{
	const struct journal_entry entry = { .kind = JOURNAL_MAPPING, .address = address,
					     .len = len, .aux = aux };

	return map_at(target, remote, &entry, PROT_READ | PROT_EXEC, entry_ret);
}

struct err *patch_map_counts(struct target *target, struct remote *remote, uint64_t address,
			     uint32_t area, uint32_t *entry_ret)
{
	const struct journal_entry entry = { .kind = JOURNAL_DATA, .address = address,
					     .len = COUNT_BYTES };
	uint64_t unused;
	struct err *err = map_at(target, remote, &entry, PROT_READ | PROT_WRITE, entry_ret);

	if (err)
		return err;
	err = remote_syscall(remote, &unused, SYS_madvise, address, COUNT_BYTES, MADV_DONTDUMP);
	if (err)
		return err_first(err, patch_unmap(target, remote, *entry_ret));
	journal_writer_set_aux(journal_of(target), area,
			       address | target->region->journal->entry[area].aux);
	return NULL;
}

/* Why a mapping of len bytes could not be made. */
static struct err *no_room(struct target *target, uint64_t len)
{
	struct memory_limit limit;

	memory_limits_of(target->mem.tid, MEMORY_LIMIT_ADDRESSES, &limit);
	if (limit.left != UINT64_MAX)
		return err_hint(err_create(ERR_UNSUPPORTED, "no room for %" PRIu64 " bytes: %s",
					   len, limit.name), "%s", limit.hint);
	return err_create(ERR_UNSUPPORTED, "no room for %" PRIu64 " bytes in process %d: too "
			  "large, or too many mappings (vm.max_map_count)", len, target->pid);
}

/*
 * Make another mapping of the region's file: len bytes, from the same offset as the page at `from`.
 */
static struct err *map_again(struct target *target, struct remote *remote, uint64_t from,
			     uint64_t len, uint64_t *ret)
{
	struct err *err = remote_syscall(remote, ret, SYS_mremap, from, 0, len, MREMAP_MAYMOVE);

	return err && err->errnum == ENOMEM ? no_room(target, len) : err;
}

/* The address of a page of the region's file in the present mappings, or 0. */
static uint64_t page_of_file(const struct region *region, uint64_t offset)
{
	const struct journal *journal = region->journal;

	if (offset < JOURNAL_SIZE)
		return region->address + offset;
	for_each_entry(entry, journal)
		if (entry->kind == JOURNAL_LOG && entry->state == JOURNAL_DONE &&
		    offset - entry->aux < entry->len)
			return entry->address + (offset - entry->aux);
	return 0;
}

static struct err *fill_data(struct remote *remote, uint64_t address, uint64_t len)
{
	uint64_t unused;
	struct err *err = remote_syscall(remote, &unused, SYS_mmap, address, len,
					 PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, UINT64_MAX, 0);

	if (!err)
		err = remote_syscall(remote, &unused, SYS_madvise, address, len, MADV_DONTDUMP);
	if (err)
		return err;
	err = remote_syscall(remote, &unused, SYS_madvise, address, PAGE, MADV_WIPEONFORK);
	if (err && err->errnum == EINVAL)
		err = err_create(ERR_UNSUPPORTED,
				 "this kernel has no MADV_WIPEONFORK (Linux 4.14)");
	return err;
}

/*
 * The entry must be written ahead, but only the kernel knows where there is room. So mdbg first
 * asks it for a mapping of the region's file, which a cleaner recognises by its name, and then
 * replaces that by the memory.
 */
struct err *patch_map_data(struct target *target, struct remote *remote, uint64_t len,
			   uint64_t *address_ret, uint32_t *entry_ret)
{
	struct journal_entry entry = { .kind = JOURNAL_DATA, .len = ALIGN_UP(len, PAGE) };
	uint32_t index;
	struct err *err = map_again(target, remote, target->region->address, entry.len,
				    &entry.address);

	if (err)
		return err;
	err = patch_plan(target, &entry, &index);
	if (!err)
		err = settle(target, index, fill_data(remote, entry.address, entry.len), entry_ret);
	if (err)
		err_ignore(remote_unmap(remote, entry.address, entry.len));
	else
		*address_ret = entry.address;
	return err;
}

/*
 * No descriptor is needed: mremap with an old length of 0 makes another mapping of a shared one, of
 * any length, from the same page of the file on and with the same flags. If only the page in front
 * is mapped, the new mapping begins with that page.
 */
struct err *patch_map_log(struct remote *remote, uint64_t offset, uint64_t len, bool write,
			  uint64_t *address_ret, uint32_t *entry_ret)
{
	struct target *target = remote->thread->target;
	uint64_t from = page_of_file(target->region, offset), front = 0, unused;
	struct journal_entry entry = { .kind = JOURNAL_LOG };
	uint32_t index;
	struct err *err;

	if (!from) {
		front = PAGE;
		from = page_of_file(target->region, offset - front);
	}
	if (!from)
		return err_create(ERR_STATE, "nothing of the log is mapped at %" PRIu64, offset);
	entry.len = front + ALIGN_UP(len, PAGE);
	entry.aux = offset - front;
	err = map_again(target, remote, from, entry.len, &entry.address);
	if (err)
		return err;
	if (!write)
		err = remote_syscall(remote, &unused, SYS_mprotect, entry.address, entry.len,
				     PROT_READ);
	if (!err)
		err = patch_plan(target, &entry, &index);
	if (err) {
		err_ignore(remote_unmap(remote, entry.address, entry.len));
		return err;
	}
	*address_ret = entry.address + front;
	return settle(target, index, NULL, entry_ret);
}

/* Use its last page, so that the journal stays the only mapping that begins at offset 0. */
struct err *patch_cover(struct remote *remote, uint64_t journal, uint64_t address, uint64_t len)
{
	uint64_t unused;

	return remote_syscall(remote, &unused, SYS_mremap, journal + JOURNAL_SIZE - PAGE, 0, len,
			      MREMAP_MAYMOVE | MREMAP_FIXED, address);
}

/* *ret: is the mapping of this entry of the region's journal in the process of tid? */
static struct err *look(pid_t tid, const struct region *region, const struct journal_entry *entry,
			bool *ret)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	bool all;
	struct err *err = procfs_maps_at(tid, entry->address, entry->address + entry->len, &maps,
					 &all);

	*ret = !err && undo_is_mapped(entry, &maps, &region->origin.file);
	if (!err && !*ret)
		trace_line("%" PRIu64 " bytes at 0x%" PRIx64 " are not ours any more", entry->len,
			   entry->address);
	return err;
}

void patch_look(struct target *target)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	const struct region *region = target->region;
	struct err *err = NULL;
	bool all = false;

	for_each_entry_while(entry, region->journal, !err && !target->lost) {
		if (entry->state != JOURNAL_DONE || !undo_is_mapping(entry))
			continue;
		if (!all) {
			procparse_maps_free(&maps);
			maps = (struct proc_maps){ VEC_INIT };
			err = procfs_maps_at(target->mem.tid, entry->address,
					     entry->address + entry->len, &maps, &all);
		}
		target->lost = !err && !undo_is_mapped(entry, &maps, &region->origin.file);
	}
	if (err)
		trace_line("look at what is mapped in process %d: %s", target->pid, err->msg);
}

struct err *patch_unmap_copy(struct remote *remote, const struct region *region, uint32_t entry)
{
	const struct journal_entry *e = &region->journal->entry[entry];
	bool there;
	struct err *err = look(remote->thread->tid, region, e, &there);

	return err || !there ? err : remote_unmap(remote, e->address, e->len);
}

struct err *patch_unmap(struct target *target, struct remote *remote, uint32_t entry)
{
	const struct journal_entry *e = &target->region->journal->entry[entry];
	bool there;
	struct err *err = look(target->mem.tid, target->region, e, &there);

	if (err)
		return err;
	if (!there) {
		journal_writer_undone(journal_of(target), entry);
		return NULL;
	}
	/* without a replacement, if there is no room (vm.max_map_count) */
	if (e->kind != JOURNAL_LOG)
		err_ignore(patch_cover(remote, target->region->address, e->address, e->len));
	/*
	 * This comes first: once the mapping is gone something else may lie there, even if this
	 * mdbg is killed before it can note that. A mapping of the region's file is recognised as
	 * such.
	 */
	journal_writer_undone(journal_of(target), entry);
	err = remote_unmap(remote, e->address, e->len);
	if (err)
		journal_writer_done(journal_of(target), entry);
	return err;
}

struct err *patch_fill(struct target *target, uint64_t address, const void *bytes, size_t len)
{
	struct err *err = check_lost(target);

	return err ? err : procmem_write(&target->mem, address, bytes, len);
}

struct err *patch_sigaction_call(struct remote *remote, int signal,
				 const struct patch_sigaction *new, struct patch_sigaction *old)
{
	struct target *target = remote->thread->target;
	struct patch_sigaction both[2] = { { 0 } };
	uint64_t at, unused;
	struct err *err;

	if (new)
		both[0] = *new;
	err = remote_scratch(remote, both, sizeof(both), &at);
	if (!err)
		err = remote_syscall(remote, &unused, SYS_rt_sigaction, (uint64_t)signal,
				     new ? at : 0, old ? at + sizeof(both[0]) : 0, SIGSET_LEN);
	if (!err && old)
		err = memory_read(&target->mem.bring, at + sizeof(both[0]), old, sizeof(*old));
	return err;
}

struct err *patch_sigaction(struct target *target, struct remote *remote, int signal,
			    const struct patch_sigaction *new, struct patch_sigaction *old_ret,
			    uint32_t *entry_ret)
{
	struct journal_entry entry = { .kind = JOURNAL_SIGACTION, .aux = (uint64_t)signal,
				       .len = sizeof(*new) };
	uint32_t index;
	struct err *err = patch_sigaction_call(remote, signal, NULL, old_ret);

	if (err)
		return err;
	memcpy(entry.old, old_ret, sizeof(*old_ret));
	memcpy(entry.new, new, sizeof(*new));
	err = patch_plan(target, &entry, &index);
	if (err)
		return err;
	return settle(target, index, patch_sigaction_call(remote, signal, new, NULL), entry_ret);
}

struct err *patch_undo_sigaction_entry(struct remote *remote, const struct journal_entry *entry)
{
	struct patch_sigaction now, ours, old;
	struct err *err = patch_sigaction_call(remote, (int)entry->aux, NULL, &now);

	if (err)
		return err;
	memcpy(&ours, entry->new, sizeof(ours));
	memcpy(&old, entry->old, sizeof(old));
	/*
	 * The kernel's own reset (after a trap in a thread that blocked the signal) is not a change
	 * by the target.
	 */
	if (now.handler - ours.handler + OURS_LEN >= 2 * OURS_LEN && now.handler != 0)
		return NULL;
	/* The agent's other handler means that the old one, with SA_RESETHAND, was used up. */
	if (now.handler != 0 && now.handler != ours.handler)
		old.handler = 0;
	return patch_sigaction_call(remote, (int)entry->aux, &old, NULL);
}

struct err *patch_sigaction_undo(struct target *target, struct remote *remote, uint32_t entry)
{
	struct err *err = patch_undo_sigaction_entry(remote,
						     &target->region->journal->entry[entry]);

	if (!err)
		journal_writer_undone(journal_of(target), entry);
	return err;
}
