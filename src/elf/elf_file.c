/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An ELF file over libelf: opening, headers, segments, notes, the image's bytes.
 *
 * The file is read (ELF_C_READ), never mapped: one that is truncated under a mapping would kill
 * mdbg with SIGBUS, a short read is an error like any other. All bytes come through elf_chunk(),
 * which libelf checks against the file's length, so a size in the file can never make mdbg allocate
 * more than the file is long. The one exception is the section header table, which libelf sizes by
 * itself; headers_check() looks at it before.
 */

#include "elf/elf_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/cfi.h"
#include "elf/file_private.h"

#define SEGMENTS_MAX	65535	/* e_phnum cannot say more, PN_XNUM can */
#define SECTIONS_MAX	(1u << 22)

/* Read up to len bytes at offset; less at the end of the file, or where it cannot be read. */
static size_t read_at(const struct elf_file *file, uint64_t offset, void *buf, size_t len)
{
	size_t got = 0;

	if (file->bytes) {
		if (offset >= file->len)
			return 0;
		len = MIN(len, file->len - offset);
		memcpy(buf, file->bytes + offset, len);
		return len;
	}
	while (got < len && offset + got <= INT64_MAX) {
		ssize_t n = pread(file->fd, (char *)buf + got, len - got, (off_t)(offset + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	return got;
}

Elf_Data *elf_chunk(struct elf_file *file, uint64_t offset, uint64_t size, Elf_Type type)
{
	if (!size || offset > file->len || size > file->len - offset)
		return NULL;
	return elf_getdata_rawchunk(file->elf, (int64_t)offset, size, type);
}

bool elf_vaddr_to_offset(const struct elf_file *file, uint64_t vaddr, uint64_t *offset_ret,
			 uint64_t *left_ret)
{
	for (size_t i = 0; i < file->segments.nr; i++) {
		const struct elf_segment *segment = &file->segments.at[i];
		uint64_t into = vaddr - segment->vaddr;

		if (vaddr < segment->vaddr || into >= segment->filesz)
			continue;
		if (segment->offset > file->len || into >= file->len - segment->offset)
			return false;
		*offset_ret = segment->offset + into;
		*left_ret = MIN(segment->filesz, file->len - segment->offset) - into;
		return true;
	}
	return false;
}

/* A number in the file's byte order. */
static uint64_t number(const uint8_t *bytes, size_t len, bool big)
{
	uint64_t value = 0;

	for (size_t i = 0; i < len; i++)
		value |= (uint64_t)bytes[i] << 8 * (big ? len - 1 - i : i);
	return value;
}

/*
 * libelf allocates a descriptor of some 300 bytes for each section that the header claims, and
 * reads the real number from section 0 where e_shnum is 0. A table that does not fit the file is
 * refused before libelf sees it.
 */
static struct err *headers_check(const struct elf_file *file)
{
	uint8_t ehdr[sizeof(Elf64_Ehdr)] = { 0 }, first[sizeof(Elf64_Shdr)];
	uint64_t offset, nr;
	size_t entry;
	bool wide, big;

	if (read_at(file, 0, ehdr, sizeof(ehdr)) < sizeof(Elf32_Ehdr) ||
	    memcmp(ehdr, ELFMAG, SELFMAG))
		return err_create(ERR_FORMAT, "%s: not an ELF file", file->name);
	wide = ehdr[EI_CLASS] == ELFCLASS64;
	big = ehdr[EI_DATA] == ELFDATA2MSB;
	entry = wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	offset = wide ? number(ehdr + offsetof(Elf64_Ehdr, e_shoff), 8, big) :
			number(ehdr + offsetof(Elf32_Ehdr, e_shoff), 4, big);
	nr = number(ehdr + (wide ? offsetof(Elf64_Ehdr, e_shnum) : offsetof(Elf32_Ehdr, e_shnum)),
		    2, big);
	if (!nr && offset) {
		if (read_at(file, offset, first, entry) < entry)
			return NULL;	/* libelf finds no sections then */
		nr = wide ? number(first + offsetof(Elf64_Shdr, sh_size), 8, big) :
			    number(first + offsetof(Elf32_Shdr, sh_size), 4, big);
	}
	if (nr > SECTIONS_MAX || nr * entry > file->len)
		return err_create(ERR_FORMAT,
				  "%s: it claims %" PRIu64 " sections, for which it is too short",
				  file->name, nr);
	return NULL;
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

static void build_id_find(struct elf_file *file, uint64_t offset, uint64_t size, uint64_t align)
{
	Elf_Data *data = elf_chunk(file, offset, size, align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	size_t at = 0, name, desc;
	GElf_Nhdr nhdr;

	while (data && (at = gelf_getnote(data, at, &nhdr, &name, &desc)) > 0) {
		const char *bytes = data->d_buf;

		if (nhdr.n_type != NT_GNU_BUILD_ID || nhdr.n_namesz != sizeof("GNU") ||
		    memcmp(bytes + name, "GNU", sizeof("GNU")))
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
	if (nr > SEGMENTS_MAX)
		return err_create(ERR_FORMAT, "%s: it claims %zu program headers", file->name, nr);
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

/* Objects that were not linked have their notes in sections only. */
static void build_id_from_sections(struct elf_file *file)
{
	GElf_Shdr shdr;

	if (!file->build_id_len && elf_section(file, ".note.gnu.build-id", &shdr))
		build_id_find(file, shdr.sh_offset, shdr.sh_size, shdr.sh_addralign);
}

static struct err *file_begin(struct elf_file *file)
{
	struct err *err = headers_check(file);

	if (err)
		return err;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return err_create(ERR_UNSUPPORTED, "libelf is older than mdbg was built for");
	file->elf = file->bytes ? elf_memory((char *)file->bytes, file->len) :
				  elf_begin(file->fd, ELF_C_READ, NULL);
	if (!file->elf || elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, &file->ehdr))
		return err_create(ERR_FORMAT, "%s: not an ELF file that can be read: %s",
				  file->name, elf_errmsg(-1));
	err = phdrs_read(file);
	if (err)
		return err;
	build_id_from_sections(file);
	elf_symbols_locate(file);
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

struct err *elf_file_open(int fd, const char *name, struct elf_file **ret)
{
	struct elf_file *file;
	struct stat st;
	struct err *err;

	if (fstat(fd, &st))
		return err_sys("%s", name);
	if (!S_ISREG(st.st_mode))
		return err_create(ERR_FORMAT, "%s: not a regular file", name);
	file = file_alloc(name);
	if (!file)
		return err_nomem;
	file->fd = fd;
	file->len = (size_t)st.st_size;
	err = file_begin(file);
	if (err) {
		file->fd = -1;	/* the caller's still */
		elf_file_close(file);
		return err;
	}
	*ret = file;
	return NULL;
}

struct err *elf_file_from_bytes(const void *bytes, size_t len, const char *name,
				struct elf_file **ret)
{
	struct elf_file *file = file_alloc(name);
	struct err *err;

	if (!file)
		return err_nomem;
	file->bytes = malloc(len ? len : 1);
	if (!file->bytes) {
		elf_file_close(file);
		return err_nomem;
	}
	if (len)
		memcpy(file->bytes, bytes, len);
	file->len = len;
	err = file_begin(file);
	if (err) {
		elf_file_close(file);
		return err;
	}
	*ret = file;
	return NULL;
}

void elf_file_close(struct elf_file *file)
{
	if (!file)
		return;
	if (file->cfi) {
		cfi_deinit(file->cfi);
		free(file->cfi);
	}
	elf_end(file->elf);
	vec_free(&file->segments);
	free(file->bytes);
	free(file->name);
	if (file->fd >= 0)
		close(file->fd);
	free(file);
}

const char *elf_file_name(const struct elf_file *file)
{
	return file->name;
}

uint16_t elf_file_machine(const struct elf_file *file)
{
	return file->ehdr.e_machine;
}

uint8_t elf_file_class(const struct elf_file *file)
{
	return file->ehdr.e_ident[EI_CLASS];
}

uint16_t elf_file_type(const struct elf_file *file)
{
	return file->ehdr.e_type;
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

uint64_t elf_file_tls_size(const struct elf_file *file)
{
	return file->tls_size;
}

const struct elf_segment *elf_file_segments(const struct elf_file *file, size_t *nr_ret)
{
	*nr_ret = file->segments.nr;
	return file->segments.at;
}

/* As much of the image as one segment holds at vaddr; 0 if none does. */
static size_t image_read(const struct elf_file *file, uint64_t vaddr, void *buf, size_t len)
{
	for (size_t i = 0; i < file->segments.nr; i++) {
		const struct elf_segment *segment = &file->segments.at[i];
		uint64_t into = vaddr - segment->vaddr;
		size_t from_file;

		if (vaddr < segment->vaddr || into >= segment->memsz)
			continue;
		len = MIN((uint64_t)len, segment->memsz - into);
		from_file = into < segment->filesz ? MIN((uint64_t)len, segment->filesz - into) : 0;
		if (from_file && read_at(file, segment->offset + into, buf, from_file) < from_file)
			return 0;
		memset((char *)buf + from_file, 0, len - from_file);
		return len;
	}
	return 0;
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
