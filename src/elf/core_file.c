/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Core files: headers, segments, memory. The notes are in core_note.c.
 *
 * The file is read, never mapped, and never as a whole: it may be longer than memory, and may be
 * cut off while it is read. libelf is not used: it needs section headers, which a core seldom has,
 * and it expects a complete file, whereas this reader must handle one that is cut off.
 */

#include "elf/core_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/fd.h"
#include "base/limits.h"
#include "elf/core_private.h"
#include "os/file.h"
#include "os/procparse.h"

static struct err *read_file(struct memory *memory, uint64_t offset, void *buf, size_t len,
			     size_t *len_ret)
{
	struct core_file *core = (struct core_file *)((char *)memory -
						      offsetof(struct core_file, pread));

	*len_ret = fd_read_at(core->fd, offset, buf, len);
	return *len_ret ? NULL : err_create(ERR_MEMORY, "%s: cannot read at %" PRIu64, core->name,
					    offset);
}

struct err *core_file_read(const struct core_file *core, uint64_t offset, void *buf, size_t len)
{
	return memory_read(core->bytes, offset, buf, len);
}

static struct err *check_packed(const struct core_file *core, const uint8_t *start)
{
	static const struct {
		uint8_t magic[6], len;
		const char *name, *tool;
	} packer[] = {
		{ { 0x1f, 0x8b }, 2, "gzip", "gunzip" },
		{ { 0xfd, '7', 'z', 'X', 'Z', 0 }, 6, "xz", "unxz" },
		{ { 0x28, 0xb5, 0x2f, 0xfd }, 4, "zstd", "unzstd" },
		{ { 'B', 'Z', 'h' }, 3, "bzip2", "bunzip2" },
		{ { 0x04, 0x22, 0x4d, 0x18 }, 4, "lz4", "unlz4" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(packer); i++)
		if (!memcmp(start, packer[i].magic, packer[i].len))
			return err_hint(err_create(ERR_FORMAT, "%s: packed with %s", core->name,
						   packer[i].name),
					"unpack it first: %s, or `coredumpctl dump -o FILE PID`",
					packer[i].tool);
	return NULL;
}

static struct err *foreign(const struct core_file *core, const Elf64_Ehdr *header)
{
	const struct arch *host = arch_host();

	return err_hint(err_create(ERR_UNSUPPORTED,
				   "%s: a core of another processor (ELF machine %u, %s bits)",
				   core->name, header->e_machine,
				   header->e_ident[EI_CLASS] == ELFCLASS64 ? "64" : "32"),
			"this mdbg knows %s", host->name);
}

static struct err *no_core(const struct core_file *core, const Elf64_Ehdr *header)
{
	if (header->e_type == ET_EXEC || header->e_type == ET_DYN)
		return err_hint(err_create(ERR_FORMAT,
					   "%s: a program or a library, not a core file",
					   core->name),
				"mdbg --core CORE [EXE]");
	return err_create(ERR_FORMAT, "%s: an ELF file, but not a core", core->name);
}

/* The end of e_machine. The fields up to there have the same places in files of all kinds. */
#define HEADER_MIN	(offsetof(Elf64_Ehdr, e_machine) + sizeof(Elf64_Half))

static struct err *read_header(struct core_file *core, Elf64_Ehdr *ret)
{
	size_t got = 0;
	struct err *err;

	memset(ret, 0, sizeof(*ret));
	if (core->size && memory_read_some(core->bytes, 0, ret, sizeof(*ret), &got))
		got = 0;
	if (!got)
		return err_hint(err_create(ERR_FORMAT, "%s: empty", core->name),
				"`ulimit -c unlimited` before the program is started, and room on "
				"the disk");
	err = check_packed(core, ret->e_ident);
	if (err)
		return err;
	if (got < HEADER_MIN || memcmp(ret->e_ident, ELFMAG, SELFMAG))
		return err_hint(err_create(ERR_FORMAT, "%s: not a core file (no ELF file)",
					   core->name),
				"the kernel writes a core file at a fatal signal, and gcore one of a "
				"process that goes on");
	if (ret->e_ident[EI_DATA] != ELFDATA2LSB)
		return foreign(core, ret);
	if (ret->e_type != ET_CORE)
		return no_core(core, ret);
	core->arch = arch_find(ret->e_machine, ret->e_ident[EI_CLASS]);
	if (core->arch != arch_host())
		return foreign(core, ret);
	return got < sizeof(*ret) ? core_file_cut_off(core, "its header") : NULL;
}

struct err *core_file_cut_off(const struct core_file *core, const char *what)
{
	return err_hint(err_create(ERR_FORMAT, "%s: cut off: %s is not in its %" PRIu64 " bytes",
				   core->name, what, core->size),
			"`ulimit -c unlimited` before the program is started, and room on "
			"the disk");
}

static struct err *add_segment(struct core_file *core, const Elf64_Phdr *from)
{
	uint64_t len = MIN(from->p_filesz, from->p_memsz), left;
	struct core_segment segment = {
		.start = from->p_vaddr,
		.offset = from->p_offset,
		.read = from->p_flags & PF_R,
		.write = from->p_flags & PF_W,
		.exec = from->p_flags & PF_X,
	};

	/* A segment that does not fit in an address space is left out. */
	if (!from->p_memsz ||
	    __builtin_add_overflow(from->p_vaddr, from->p_memsz, &segment.end))
		return NULL;
	left = from->p_offset < core->size ? core->size - from->p_offset : 0;
	segment.len = MIN(len, left);
	core->missing += len - segment.len;
	return vec_push(&core->segments, segment);
}

COMPARE_BY(by_start, struct core_segment, x, x->start)

/* If two segments overlap, the one that begins later loses the common part. */
static void sort_segments(struct core_file *core)
{
	struct core_segment *at = core->segments.at;
	size_t nr = 0;

	vec_sort(&core->segments, by_start);
	for (size_t i = 0; i < core->segments.nr; i++) {
		struct core_segment segment = at[i];
		uint64_t end = nr ? at[nr - 1].end : 0;

		if (segment.end <= end)
			continue;
		if (segment.start < end) {
			uint64_t cut = MIN(end - segment.start, segment.len);

			segment.offset += cut;
			segment.len -= cut;
			segment.start = end;
		}
		at[nr++] = segment;
	}
	core->segments.nr = nr;
}

static struct err *read_segments(struct core_file *core, const Elf64_Ehdr *header)
{
	uint64_t nr = header->e_phnum;
	Elf64_Shdr first;
	struct err *err = NULL;

	/* If the number is too large for e_phnum, the first section header has it. */
	if (nr == PN_XNUM) {
		if (core_file_read(core, header->e_shoff, &first, sizeof(first)))
			return core_file_cut_off(core, "the number of its segments");
		nr = first.sh_info;
	}
	if (header->e_phentsize != sizeof(Elf64_Phdr))
		return err_create(ERR_FORMAT, "%s: its program headers make no sense", core->name);
	if (nr > LIMIT_CORE_SEGMENTS)
		return limit_err(core->name, "too many segments", LIMIT_CORE_SEGMENTS);
	for (uint64_t i = 0; i < nr && !err; i++) {
		Elf64_Phdr segment;

		err = cancel_check();
		if (err)
			return err;
		if (core_file_read(core, header->e_phoff + i * sizeof(segment), &segment,
				   sizeof(segment)))
			return core_file_cut_off(core, "the table of its segments");
		if (segment.p_type == PT_LOAD)
			err = add_segment(core, &segment);
		else if (segment.p_type == PT_NOTE)
			err = core_note_read(core, segment.p_offset, segment.p_filesz);
	}
	sort_segments(core);
	return err;
}

static const struct core_segment *segment_at(const struct core_file *core, uint64_t address)
{
	size_t low = LOWER_BOUND(i, 0, core->segments.nr, core->segments.at[i].end <= address);

	return low < core->segments.nr && core->segments.at[low].start <= address ?
		&core->segments.at[low] : NULL;
}

static struct err *read_memory(struct memory *memory, uint64_t addr, void *buf, size_t len,
			       size_t *len_ret)
{
	struct core_file *core = (struct core_file *)memory;
	size_t done = 0;

	while (done < len) {
		const struct core_segment *segment = segment_at(core, addr + done);
		uint64_t into = segment ? addr + done - segment->start : 0;
		size_t part, got = 0;

		if (!segment || into >= segment->len)
			break;
		part = MIN(len - done, segment->len - into);
		if (memory_read_some(core->bytes, segment->offset + into, (char *)buf + done, part,
				     &got))
			break;
		done += got;
		if (got < part)
			break;
	}
	if (!done)
		return err_create(ERR_MEMORY, "the core has no memory at 0x%" PRIx64, addr);
	*len_ret = done;
	return NULL;
}

/* Find the next data between the holes of the file; one without holes has data everywhere. */
static bool find_data(const struct core_file *core, uint64_t from, uint64_t stop,
		      uint64_t *data_ret, uint64_t *hole_ret)
{
	off_t data = lseek(core->fd, (off_t)from, SEEK_DATA), hole;

	if (data < 0 && errno == ENXIO)
		return false;
	hole = data < 0 ? -1 : lseek(core->fd, data, SEEK_HOLE);
	*data_ret = data < 0 ? from : (uint64_t)data;
	*hole_ret = hole < 0 ? stop : MIN((uint64_t)hole, stop);
	return *data_ret < stop;
}

bool core_file_next(const struct core_file *core, uint64_t start, uint64_t end,
		    uint64_t *start_ret, uint64_t *end_ret)
{
	while (start < end) {
		const struct core_segment *segment = segment_at(core, start);
		uint64_t from, stop, data, hole;

		if (core->fd < 0 || !segment || start - segment->start >= segment->len) {
			*start_ret = start;
			*end_ret = end;
			return true;
		}
		from = segment->offset + (start - segment->start);
		stop = MIN(segment->offset + segment->len, from + (end - start));
		if (find_data(core, from, stop, &data, &hole)) {
			*start_ret = start + (data - from);
			*end_ret = start + (hole - from);
			return true;
		}
		start += stop - from;
	}
	return false;
}

static struct err *open_file(struct core_file *core)
{
	AUTO_CLOSE int path_fd = open(core->name, O_PATH | O_CLOEXEC);
	struct stat st;
	struct err *err;

	if (path_fd < 0)
		return err_sys("%s", core->name);
	err = file_reopen_named(path_fd, INT64_MAX, &st, &core->fd);
	if (err && err->code == ERR_FORMAT)
		return err_create(ERR_FORMAT, "%s: not a core file (no regular file)", core->name);
	if (err)
		return err_create(err->code, "%s: %s", core->name, strerror(err->errnum));
	core->size = (uint64_t)st.st_size;
	core->pread.read = read_file;
	core->bytes = &core->pread;
	return NULL;
}

/* If bytes is NULL, the bytes are those of the file `name`. */
static struct err *create(struct memory *bytes, uint64_t size, const char *name,
			  struct core_file **ret)
{
	struct core_file *core = calloc(1, sizeof(*core));
	Elf64_Ehdr header;
	struct err *err = NULL;

	if (!core)
		return err_nomem;
	core->fd = -1;
	core->memory.read = read_memory;
	core->bytes = bytes;
	core->size = size;
	core->name = strdup(name);
	if (!core->name)
		err = err_nomem;
	else if (!bytes)
		err = open_file(core);
	if (!err)
		err = read_header(core, &header);
	if (!err)
		err = read_segments(core, &header);
	if (!err && !core->threads.nr)
		err = err_create(ERR_FORMAT, "%s: it has no thread (NT_PRSTATUS)", core->name);
	if (err) {
		core_file_close(core);
		return err;
	}
	core_note_sort_mapped(core);
	*ret = core;
	return NULL;
}

struct err *core_file_open(const char *path, struct core_file **ret)
{
	return create(NULL, 0, path, ret);
}

struct err *core_file_from(struct memory *bytes, uint64_t size, const char *name,
			   struct core_file **ret)
{
	return create(bytes, size, name, ret);
}

void core_file_close(struct core_file *core)
{
	if (!core)
		return;
	for (size_t i = 0; i < core->mapped.nr; i++)
		free(core->mapped.at[i].path);
	vec_free(&core->mapped);
	vec_free(&core->segments);
	vec_free(&core->threads);
	free(core->auxv);
	if (core->fd >= 0)
		close(core->fd);
	free((char *)core->name);
	free(core);
}

struct err *core_file_auxv(const struct core_file *core, uint64_t type, uint64_t *ret)
{
	return procparse_auxv(core->auxv, core->auxv_len, type, ret);
}

struct err *core_file_vector(const struct core_file *core, const struct core_thread *thread,
			     void *buf, size_t room, size_t *len_ret)
{
	size_t len = MIN(room, thread->vector_len);
	struct err *err;

	if (!len)
		return err_create(ERR_NOTFOUND, "the core has no vector registers of thread %d",
				  thread->tid);
	err = core_file_read(core, thread->vector, buf, len);
	if (!err)
		*len_ret = len;
	return err;
}
