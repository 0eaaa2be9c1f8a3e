/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An ELF file over libelf: opening, headers, segments, notes, the image's bytes.
 *
 * The file is read, never mapped, and libelf sees only mdbg's own copy (elf_view.h). All bytes come
 * through elf_file_chunk(), which reads them into that copy, so a size in the file can never make
 * mdbg allocate more than LIMIT_READ.
 */

#include "elf/elf_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "elf/cfi.h"
#include "elf/file_private.h"

/* Read up to len bytes at offset; fewer at the end of the file, or if they cannot be read. */
static size_t read_at(const struct elf_file *file, uint64_t offset, void *buf, size_t len)
{
	if (file->fd >= 0)
		return fd_read_at(file->fd, offset, buf, len);
	if (offset >= file->len)
		return 0;
	len = MIN(len, file->len - offset);
	memcpy(buf, file->view.bytes + offset, len);
	return len;
}

void elf_file_add_doubt(struct elf_file *file, const struct err *err)
{
	if (err && !*file->doubt)
		snprintf(file->doubt, sizeof(file->doubt), "%.*s", (int)sizeof(file->doubt) - 1,
			 err->msg);
}

Elf_Data *elf_file_chunk(struct elf_file *file, uint64_t offset, uint64_t size, Elf_Type type)
{
	struct err *err;

	if (!size || offset > file->len || size > file->len - offset)
		return NULL;
	err = elf_view_take(&file->view, offset, size);
	if (err) {
		elf_file_add_doubt(file, err);
		return NULL;
	}
	return elf_getdata_rawchunk(file->elf, (int64_t)offset, size, type);
}

const struct elf_segment *elf_file_segment_at(const struct elf_file *file, uint64_t vaddr)
{
	vec_each(segment, &file->segments)
		if (vaddr >= segment->vaddr && vaddr - segment->vaddr < segment->memsz)
			return segment;
	return NULL;
}

bool elf_file_vaddr_to_offset(const struct elf_file *file, uint64_t vaddr, uint64_t *offset_ret,
			      uint64_t *left_ret)
{
	const struct elf_segment *segment = elf_file_segment_at(file, vaddr);
	uint64_t into = segment ? vaddr - segment->vaddr : 0;

	if (!segment || into >= segment->filesz || segment->offset > file->len ||
	    into >= file->len - segment->offset)
		return false;
	*offset_ret = segment->offset + into;
	*left_ret = MIN(segment->filesz, file->len - segment->offset) - into;
	return true;
}

static struct err *segment_add(struct elf_file *file, const GElf_Phdr *phdr)
{
	struct elf_segment segment = {
		.vaddr	= phdr->p_vaddr,
		.memsz	= phdr->p_memsz,
		.offset	= phdr->p_offset,
		.filesz	= MIN(phdr->p_filesz, phdr->p_memsz),
		.exec	= phdr->p_flags & PF_X,
		.write	= phdr->p_flags & PF_W,
	};

	if (segment.vaddr + segment.memsz < segment.vaddr)
		return err_create(ERR_FORMAT, "%s: a segment at 0x%" PRIx64 " wraps around",
				  file->name, segment.vaddr);
	return vec_push(&file->segments, segment);
}

static Elf_Data *notes_at(struct elf_file *file, uint64_t offset, uint64_t size, uint64_t align)
{
	return elf_file_chunk(file, offset, MIN(size, LIMIT_NOTES),
			      align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
}

/* Is the owner's name at `name` in the notes, including its zeros? */
static bool is_owner(const Elf_Data *notes, const GElf_Nhdr *nhdr, size_t name, const char *owner)
{
	size_t len = strlen(owner);

	return nhdr->n_namesz > len && !memcmp((const char *)notes->d_buf + name, owner, len + 1);
}

static void build_id_find(struct elf_file *file, uint64_t offset, uint64_t size, uint64_t align)
{
	Elf_Data *data = notes_at(file, offset, size, align);
	size_t at = 0, name, desc;
	GElf_Nhdr nhdr;

	while (data && (at = gelf_getnote(data, at, &nhdr, &name, &desc)) > 0) {
		const char *bytes = data->d_buf;

		if (nhdr.n_type != NT_GNU_BUILD_ID || !is_owner(data, &nhdr, name, "GNU"))
			continue;
		if (!nhdr.n_descsz || nhdr.n_descsz > BUILD_ID_MAX)
			continue;
		memcpy(file->build_id, bytes + desc, nhdr.n_descsz);
		file->build_id_len = nhdr.n_descsz;
		return;
	}
}

static struct err *phdr_take(struct elf_file *file, const GElf_Phdr *phdr)
{
	switch (phdr->p_type) {
	case PT_LOAD:
		return segment_add(file, phdr);
	case PT_DYNAMIC:
		file->dynamic_phdr = *phdr;
		break;
	case PT_GNU_EH_FRAME:
		file->eh_frame_hdr_phdr = *phdr;
		break;
	case PT_TLS:
		file->tls_size = phdr->p_memsz;
		break;
	case PT_NOTE:
		if (!file->build_id_len)
			build_id_find(file, phdr->p_offset, phdr->p_filesz, phdr->p_align);
		break;
	}
	return NULL;
}

static struct err *phdrs_read(struct elf_file *file)
{
	size_t nr;

	if (elf_getphdrnum(file->elf, &nr))
		return err_create(ERR_FORMAT, "%s: program headers: %s", file->name,
				  elf_errmsg(-1));
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr phdr;
		struct err *err;

		if (!gelf_getphdr(file->elf, (int)i, &phdr))
			return err_create(ERR_FORMAT, "%s: program headers: %s", file->name,
					  elf_errmsg(-1));
		err = phdr_take(file, &phdr);
		if (err)
			return err;
	}
	return NULL;
}

static struct elf_file *file_alloc(const char *name)
{
	struct elf_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->fd = -1;
	file->name = strdup(name);
	if (!file->name) {
		free(file);
		return NULL;
	}
	return file;
}

static struct err *file_begin(struct elf_file *file)
{
	GElf_Shdr shdr;
	struct err *err;

	file->elf = file->view.elf;
	file->len = file->view.len;
	if (!gelf_getehdr(file->elf, &file->ehdr))
		return err_create(ERR_FORMAT, "%s: not an ELF file that can be read: %s",
				  file->name, elf_errmsg(-1));
	err = phdrs_read(file);
	if (err)
		return err;
	/* Objects that are not linked have their notes only in sections. */
	if (!file->build_id_len && elf_view_section(&file->view, ".note.gnu.build-id", &shdr))
		build_id_find(file, shdr.sh_offset, shdr.sh_size, shdr.sh_addralign);
	elf_symbols_locate(file);
	return NULL;
}

/* Finish the opening. fd becomes the file's if there was no error so far. */
static struct err *finish(struct elf_file *file, int fd, struct err *err, struct elf_file **ret)
{
	if (!err)
		err = file_begin(file);
	if (err) {
		elf_file_close(file);
		return err;
	}
	file->fd = fd;
	*ret = file;
	return NULL;
}

struct err *elf_file_open(int fd, const char *name, struct elf_file **ret)
{
	struct elf_file *file = file_alloc(name);

	return file ? finish(file, fd, elf_view_open(fd, file->name, &file->view), ret) : err_nomem;
}

struct err *elf_file_from_bytes(const void *bytes, size_t len, const char *name,
				struct elf_file **ret)
{
	struct elf_file *file = file_alloc(name);

	return file ? finish(file, -1, elf_view_copy(bytes, len, file->name, &file->view), ret) :
		      err_nomem;
}

void elf_file_close(struct elf_file *file)
{
	if (!file)
		return;
	if (file->cfi) {
		cfi_deinit(file->cfi);
		free(file->cfi);
	}
	elf_view_close(&file->view);
	vec_free(&file->segments);
	free(file->name);
	if (file->fd >= 0)
		close(file->fd);
	free(file);
}

const char *elf_file_doubt(const struct elf_file *file)
{
	return file->doubt;
}

int elf_file_fd(const struct elf_file *file)
{
	return file->fd;
}

const char *elf_file_name(const struct elf_file *file)
{
	return file->name;
}

uint16_t elf_file_machine(const struct elf_file *file)
{
	return file->ehdr.e_machine;
}

uint64_t elf_file_entry(const struct elf_file *file)
{
	return file->ehdr.e_entry;
}

const uint8_t *elf_file_build_id(const struct elf_file *file, size_t *len_ret)
{
	*len_ret = file->build_id_len;
	return file->build_id;
}

bool elf_file_has_section(const struct elf_file *file, const char *name)
{
	GElf_Shdr shdr;

	return elf_view_section(&file->view, name, &shdr);
}

static bool has_note(struct elf_file *file, const GElf_Phdr *phdr, const char *owner)
{
	Elf_Data *data = notes_at(file, phdr->p_offset, phdr->p_filesz, phdr->p_align);
	size_t at = 0, name, desc;
	GElf_Nhdr nhdr;

	while (data && (at = gelf_getnote(data, at, &nhdr, &name, &desc)) > 0)
		if (is_owner(data, &nhdr, name, owner))
			return true;
	return false;
}

bool elf_file_has_note(struct elf_file *file, const char *owner)
{
	GElf_Phdr phdr;
	size_t nr;

	if (elf_getphdrnum(file->elf, &nr))
		return false;
	for (size_t i = 0; i < nr; i++)
		if (gelf_getphdr(file->elf, (int)i, &phdr) && phdr.p_type == PT_NOTE &&
		    has_note(file, &phdr, owner))
			return true;
	return false;
}

uint64_t elf_file_tls_size(const struct elf_file *file)
{
	return file->tls_size;
}

const struct elf_segment *elf_file_segments(const struct elf_file *file, size_t *nr_ret)
{
	*nr_ret = file->segments.nr;
	return file->segments.at;
}

/* Read at vaddr as much of the image as one segment holds; 0 if none does. */
static size_t image_read(const struct elf_file *file, uint64_t vaddr, void *buf, size_t len)
{
	const struct elf_segment *segment = elf_file_segment_at(file, vaddr);
	uint64_t into = segment ? vaddr - segment->vaddr : 0;
	size_t from_file;

	if (!segment)
		return 0;
	len = MIN((uint64_t)len, segment->memsz - into);
	from_file = into < segment->filesz ? MIN((uint64_t)len, segment->filesz - into) : 0;
	if (from_file && read_at(file, segment->offset + into, buf, from_file) < from_file)
		return 0;
	memset((char *)buf + from_file, 0, len - from_file);
	return len;
}

struct err *elf_file_read(struct elf_file *file, uint64_t vaddr, void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		size_t got = image_read(file, vaddr + done, (char *)buf + done, len - done);

		if (!got)
			return err_create(ERR_RANGE, "%s: its image has no bytes at 0x%" PRIx64,
					  file->name, vaddr + done);
		done += got;
	}
	return NULL;
}
