/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The notes of a core file (layouts: struct elf_prstatus and others of linux/elfcore.h, core(5)).
 */

#include <elf.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>

#include "arch/arch.h"
#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/vec.h"
#include "elf/core_private.h"

/* NT_FILE: number of files, bytes of a page, three words each, then the names */
#define FILE_HEAD	2
#define FILE_WORDS	3

struct note {
	uint32_t type;
	const uint8_t *bytes;
	size_t len;
	uint64_t offset;	/* offset in the file of the note's bytes */
};

static uint32_t half_at(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static uint64_t word_at(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static struct err *wrong(const struct core_file *core, const char *what)
{
	return err_create(ERR_FORMAT, "%s: its %s makes no sense", core->name, what);
}

static struct err *take_status(struct core_file *core, const struct note *note)
{
	size_t regs_len = core->arch->regs_words * sizeof(uint64_t);
	struct core_thread thread = { .tid = 0 };
	struct elf_prstatus status;

	if (note->len < offsetof(struct elf_prstatus, pr_reg) + regs_len)
		return wrong(core, "NT_PRSTATUS");
	memcpy(&status, note->bytes, MIN(note->len, sizeof(status)));
	thread.tid = status.pr_pid;
	thread.signal = (uint16_t)status.pr_cursig;
	thread.blocked = status.pr_sighold;
	memcpy(thread.regs.word, note->bytes + offsetof(struct elf_prstatus, pr_reg), regs_len);
	if (thread.tid <= 0)
		return wrong(core, "NT_PRSTATUS");
	if (core->threads.nr == LIMIT_CORE_THREADS)
		return limit_err(core->name, "too many threads", LIMIT_CORE_THREADS);
	return vec_push(&core->threads, thread);
}

/*
 * Vector registers follow the NT_PRSTATUS of their thread. The note of XSAVE has all of them, so it
 * has priority.
 */
static void take_vector(struct core_file *core, const struct note *note)
{
	struct core_thread *thread =
		core->threads.nr ? &core->threads.at[core->threads.nr - 1] : NULL;

	if (!thread || (thread->vector_len && note->type == NT_FPREGSET))
		return;
	thread->vector = note->offset;
	thread->vector_len = note->len;
}

static void take_info(struct core_file *core, const struct note *note)
{
	struct core_process *process = &core->process;
	struct elf_prpsinfo info;

	if (note->len < sizeof(info) || process->pid)
		return;
	memcpy(&info, note->bytes, sizeof(info));
	process->state = info.pr_sname;
	process->uid = info.pr_uid;
	process->gid = info.pr_gid;
	process->pid = info.pr_pid;
	process->ppid = info.pr_ppid;
	memcpy(process->name, info.pr_fname, sizeof(process->name) - 1);
	memcpy(process->args, info.pr_psargs, sizeof(process->args) - 1);
}

static void take_signal(struct core_file *core, const struct note *note)
{
	struct core_process *process = &core->process;
	siginfo_t info;

	if (note->len < offsetof(siginfo_t, si_addr) + sizeof(info.si_addr) || process->signal)
		return;
	memcpy(&info, note->bytes, MIN(note->len, sizeof(info)));
	process->signal = info.si_signo;
	process->code = info.si_code;
	process->fault = (uintptr_t)info.si_addr;
}

static struct err *take_auxv(struct core_file *core, const struct note *note)
{
	if (core->auxv)
		return NULL;
	core->auxv = malloc(note->len + 1);
	if (!core->auxv)
		return err_nomem;
	memcpy(core->auxv, note->bytes, note->len);
	core->auxv_len = note->len;
	return NULL;
}

static struct err *add_mapped(struct core_file *core, const uint8_t *words, uint64_t page,
			      const char *name)
{
	struct core_mapped mapped = {
		.start = word_at(words),
		.end = word_at(words + sizeof(uint64_t)),
	};
	struct err *err;

	if (mapped.start >= mapped.end ||
	    __builtin_mul_overflow(word_at(words + 2 * sizeof(uint64_t)), page, &mapped.offset))
		return NULL;
	mapped.path = strdup(name);
	if (!mapped.path)
		return err_nomem;
	mapped.deleted = path_cut_deleted(mapped.path);
	err = vec_push(&core->mapped, mapped);
	if (err)
		free(mapped.path);
	return err;
}

static struct err *take_mapped(struct core_file *core, const struct note *note)
{
	const uint8_t *words = note->bytes, *end = note->bytes + note->len;
	const char *name;
	uint64_t nr, page;
	struct err *err = NULL;

	if (core->has_mapped)
		return NULL;
	if (note->len < FILE_HEAD * sizeof(uint64_t))
		return wrong(core, "NT_FILE");
	core->has_mapped = true;
	nr = word_at(words);
	page = word_at(words + sizeof(uint64_t));
	words += FILE_HEAD * sizeof(uint64_t);
	if (nr > (uint64_t)(end - words) / (FILE_WORDS * sizeof(uint64_t)))
		return wrong(core, "NT_FILE");
	if (nr > LIMIT_CORE_FILES)
		return limit_err(core->name, "too many mappings", LIMIT_CORE_FILES);
	name = (const char *)words + nr * FILE_WORDS * sizeof(uint64_t);
	for (uint64_t i = 0; i < nr && !err; i++, words += FILE_WORDS * sizeof(uint64_t)) {
		size_t len = strnlen(name, (size_t)((const char *)end - name));

		if (name + len == (const char *)end)
			return wrong(core, "NT_FILE");
		err = add_mapped(core, words, page, name);
		name += len + 1;
	}
	return err;
}

static struct err *take_note(struct core_file *core, const struct note *note)
{
	switch (note->type) {
	case NT_PRSTATUS:
		return take_status(core, note);
	case NT_AUXV:
		return take_auxv(core, note);
	case NT_FILE:
		return take_mapped(core, note);
	case NT_PRPSINFO:
		take_info(core, note);
		return NULL;
	case NT_SIGINFO:
		take_signal(core, note);
		return NULL;
	default:
		if (note->type == NT_FPREGSET || note->type == arch_host()->note_extended)
			take_vector(core, note);
		return NULL;
	}
}

/* Notes of other owners (GDB, VMCOREINFO) have other numbers. */
static bool is_of_linux(const uint8_t *name, size_t len)
{
	return (len == 5 && !memcmp(name, "CORE", 5)) || (len == 6 && !memcmp(name, "LINUX", 6));
}

static struct err *walk_notes(struct core_file *core, const uint8_t *bytes, size_t len,
			      uint64_t offset)
{
	size_t at = 0;
	struct err *err = NULL;

	while (!err && len - at >= sizeof(Elf64_Nhdr)) {
		uint64_t name_len = half_at(bytes + at), desc_len = half_at(bytes + at + 4);
		size_t name = at + sizeof(Elf64_Nhdr);
		struct note note = { .type = half_at(bytes + at + 8) };

		if (ALIGN_UP(name_len, 4) > len - name ||
		    desc_len > len - name - ALIGN_UP(name_len, 4))
			return wrong(core, "table of notes");
		at = name + ALIGN_UP(name_len, 4);
		note.bytes = bytes + at;
		note.len = desc_len;
		note.offset = offset + at;
		if (is_of_linux(bytes + name, name_len))
			err = take_note(core, &note);
		if (!err)
			err = cancel_check();
		at += MIN(ALIGN_UP(desc_len, 4), len - at);
	}
	return err;
}

struct err *core_note_read(struct core_file *core, uint64_t offset, uint64_t len)
{
	AUTO_FREE uint8_t *bytes = NULL;

	if (offset > core->size || len > core->size - offset)
		return core_file_cut_off(core, "what it says of threads and files");
	/*
	 * The lengths of all notes are added, since several may be at the same place of the file.
	 */
	core->notes += len;
	if (len > LIMIT_CORE_NOTES || core->notes > LIMIT_CORE_NOTES)
		return limit_err(core->name, "too many bytes of notes", LIMIT_CORE_NOTES);
	bytes = malloc(len + 1);
	if (!bytes)
		return err_nomem;
	if (len && core_file_read(core, offset, bytes, len))
		return core_file_cut_off(core, "what it says of threads and files");
	return walk_notes(core, bytes, len, offset);
}

COMPARE_BY(by_start, struct core_mapped, x, x->start)

void core_note_sort_mapped(struct core_file *core)
{
	struct core_mapped *at = core->mapped.at;
	size_t nr = 0;

	vec_sort(&core->mapped, by_start);
	for (size_t i = 0; i < core->mapped.nr; i++) {
		if (nr && at[i].start < at[nr - 1].end)
			free(at[i].path);
		else
			at[nr++] = at[i];
	}
	core->mapped.nr = nr;
}
