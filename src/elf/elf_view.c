/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A copy of an ELF file for libelf (theory in elf_view.h). */

#include "elf/elf_view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/page.h"
#include "os/trust.h"

#define PIECE		(4u << 20)	/* bytes that are read at once */
#define MAP_MIN		(1u << 20)	/* bytes from which on a part may be mapped */

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD	2	/* glibc's elf.h has it since 2.37 */
#endif

static bool is_taken(const struct elf_view *view, uint64_t page)
{
	return view->taken[page / 8] >> page % 8 & 1;
}

static void set_taken(struct elf_view *view, uint64_t page, uint64_t end)
{
	for (; page < end; page++)
		view->taken[page / 8] |= (uint8_t)(1 << page % 8);
}

/* Read pages that are not in the area yet, up to the end of the file. */
static struct err *read_pages(struct elf_view *view, uint64_t first, uint64_t end)
{
	uint64_t at = first * PAGE, stop = MIN(end * PAGE, view->len);

	if (stop - at > LIMIT_READ - MIN(view->read, LIMIT_READ))
		return limit_err(view->name, "too many bytes of it are needed", LIMIT_READ);
	if (mprotect(view->bytes + at, stop - at, PROT_READ | PROT_WRITE))
		return err_nomem;
	for (; at < stop; at += PIECE) {
		uint64_t len = MIN((uint64_t)PIECE, stop - at);
		struct err *err;

		if (fd_read_at(view->fd, at, view->bytes + at, len) < len)
			return errno ? err_sys("%s", view->name) :
				       err_create(ERR_FORMAT, "%s: cut short while it was read",
						  view->name);
		err = view->cancellable ? cancel_check() : NULL;
		if (err)
			return err;
		set_taken(view, at / PAGE, (at + len + PAGE - 1) / PAGE);
		view->read += len;
	}
	return NULL;
}

static struct err *map_pages(struct elf_view *view, uint64_t first, uint64_t end)
{
	uint8_t *at = view->bytes + first * PAGE;
	size_t len = (end - first) * PAGE;

	if (mmap(at, len, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, view->fd,
		 (off_t)(first * PAGE)) != at)
		return err_sys("%s: map", view->name);
	if (!view->guard.start)
		guard_begin(&view->guard, view->bytes, view->len);
	set_taken(view, first, end);
	return NULL;
}

static struct err *have(struct elf_view *view, uint64_t offset, uint64_t size, bool map)
{
	uint64_t page, end, run;

	if (!view->taken || offset >= view->len || !size)
		return NULL;
	size = MIN(size, view->len - offset);
	page = offset / PAGE;
	end = (offset + size + PAGE - 1) / PAGE;
	for (; page < end; page = run) {
		struct err *err;

		run = page + 1;
		if (is_taken(view, page))
			continue;
		while (run < end && !is_taken(view, run))
			run++;
		err = map ? map_pages(view, page, run) : read_pages(view, page, run);
		if (err)
			return err;
	}
	return NULL;
}

struct err *elf_view_take(struct elf_view *view, uint64_t offset, uint64_t size)
{
	return have(view, offset, size, false);
}

struct err *elf_view_map(struct elf_view *view, uint64_t offset, uint64_t size)
{
	return have(view, offset, size, view->owned && size >= MAP_MIN);
}

/* The places of the tables, in a file of either class and byte order. */
struct tables {
	bool wide, big;
	uint64_t sections, sections_nr, names;
	uint64_t segments, segments_nr;
	size_t section_len, segment_len;
};

/* Read a number of an ELF structure in the file's byte order. */
static uint64_t number(const struct elf_view *view, const struct tables *tables, uint64_t offset,
		       size_t len)
{
	uint64_t value = 0;

	for (size_t i = 0; i < len; i++)
		value |= (uint64_t)view->bytes[offset + i] << 8 * (tables->big ? len - 1 - i : i);
	return value;
}

#define FIELD(view, tables, offset, type, field) \
	((tables)->wide ? \
	 number(view, tables, (offset) + offsetof(Elf64_##type, field), \
		sizeof(((Elf64_##type *)0)->field)) : \
	 number(view, tables, (offset) + offsetof(Elf32_##type, field), \
		sizeof(((Elf32_##type *)0)->field)))

static struct err *header_read(struct elf_view *view, struct tables *ret)
{
	struct err *err = elf_view_take(view, 0, sizeof(Elf64_Ehdr));

	if (err)
		return err;
	if (view->len < sizeof(Elf32_Ehdr) || memcmp(view->bytes, ELFMAG, SELFMAG))
		return err_create(ERR_FORMAT, "%s: not an ELF file", view->name);
	ret->wide = view->bytes[EI_CLASS] == ELFCLASS64;
	ret->big = view->bytes[EI_DATA] == ELFDATA2MSB;
	if (ret->wide && view->len < sizeof(Elf64_Ehdr))
		return err_create(ERR_FORMAT, "%s: an ELF file of %zu bytes", view->name,
				  view->len);
	ret->sections = FIELD(view, ret, 0, Ehdr, e_shoff);
	ret->sections_nr = FIELD(view, ret, 0, Ehdr, e_shnum);
	ret->names = FIELD(view, ret, 0, Ehdr, e_shstrndx);
	ret->segments = FIELD(view, ret, 0, Ehdr, e_phoff);
	ret->segments_nr = FIELD(view, ret, 0, Ehdr, e_phnum);
	ret->section_len = ret->wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	ret->segment_len = ret->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	return NULL;
}

static bool has_room(const struct elf_view *view, uint64_t offset, uint64_t len)
{
	return offset <= view->len && len <= view->len - offset;
}

/* Numbers that are too large for the header are in section header 0. */
static struct err *large_numbers(struct elf_view *view, struct tables *tables)
{
	struct err *err;

	if (!tables->sections || !has_room(view, tables->sections, tables->section_len))
		return NULL;	/* libelf then finds no sections */
	err = elf_view_take(view, tables->sections, tables->section_len);
	if (err)
		return err;
	if (!tables->sections_nr)
		tables->sections_nr = FIELD(view, tables, tables->sections, Shdr, sh_size);
	if (tables->names == SHN_XINDEX)
		tables->names = FIELD(view, tables, tables->sections, Shdr, sh_link);
	if (tables->segments_nr == PN_XNUM)
		tables->segments_nr = FIELD(view, tables, tables->sections, Shdr, sh_info);
	return NULL;
}

struct err *elf_view_strings(struct elf_view *view, uint64_t offset, uint64_t len,
			     struct elf_strings *ret)
{
	const char *at, *last;
	struct err *err;

	*ret = (struct elf_strings){ NULL, 0 };
	if (!len || !has_room(view, offset, len))
		return NULL;
	if (len > LIMIT_STRINGS)
		return limit_err(view->name, "too many bytes of names", LIMIT_STRINGS);
	err = elf_view_take(view, offset, len);
	if (err)
		return err;
	at = (const char *)view->bytes + offset;
	last = memrchr(at, '\0', len);
	if (last)
		*ret = (struct elf_strings){ at, (size_t)(last - at) + 1 };
	return NULL;
}

/*
 * libelf allocates a descriptor of some 300 bytes for each section that the header claims. Tables
 * that do not fit in the file, or are longer than those of any program, are refused before libelf
 * sees them.
 */
static struct err *headers_take(struct elf_view *view)
{
	struct tables tables = { 0 };
	uint64_t header;
	struct err *err = header_read(view, &tables);

	if (!err)
		err = large_numbers(view, &tables);
	if (err)
		return err;
	if (tables.sections_nr > view->len / tables.section_len)
		return err_create(ERR_FORMAT,
				  "%s: it claims %" PRIu64 " sections, for which it is too short",
				  view->name, tables.sections_nr);
	if (tables.sections_nr > LIMIT_SECTIONS)
		return limit_err(view->name, "too many sections", LIMIT_SECTIONS);
	if (tables.segments_nr > LIMIT_SEGMENTS)
		return limit_err(view->name, "too many program headers", LIMIT_SEGMENTS);
	err = elf_view_take(view, tables.segments, tables.segments_nr * tables.segment_len);
	if (err || !has_room(view, tables.sections, tables.sections_nr * tables.section_len))
		return err;
	err = elf_view_take(view, tables.sections, tables.sections_nr * tables.section_len);
	header = tables.sections + tables.names * tables.section_len;
	if (err || tables.names >= tables.sections_nr ||
	    FIELD(view, &tables, header, Shdr, sh_type) == SHT_NOBITS)
		return err;
	/*
	 * libelf is not asked for the names, because it would unpack a section that claims to be
	 * compressed.
	 */
	return elf_view_strings(view, FIELD(view, &tables, header, Shdr, sh_offset),
				FIELD(view, &tables, header, Shdr, sh_size), &view->names);
}

struct err *elf_view_take_notes(struct elf_view *view)
{
	Elf_Scn *scn = NULL;
	GElf_Phdr phdr;
	GElf_Shdr shdr;
	size_t nr;
	struct err *err = NULL;

	if (elf_getphdrnum(view->elf, &nr))
		nr = 0;
	for (size_t i = 0; i < nr && !err; i++)
		if (gelf_getphdr(view->elf, (int)i, &phdr) && phdr.p_type == PT_NOTE)
			err = elf_view_take(view, phdr.p_offset, MIN(phdr.p_filesz, LIMIT_NOTES));
	while (!err && (scn = elf_nextscn(view->elf, scn)))
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_NOTE)
			err = elf_view_take(view, shdr.sh_offset, MIN(shdr.sh_size, LIMIT_NOTES));
	return err;
}

Elf_Scn *elf_view_section_of_type(const struct elf_view *view, uint32_t type, GElf_Shdr *shdr_ret)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(view->elf, scn)))
		if (gelf_getshdr(scn, shdr_ret) && shdr_ret->sh_type == type &&
		    !(shdr_ret->sh_flags & SHF_COMPRESSED))
			return scn;
	return NULL;
}

struct err *elf_view_symbols(struct elf_view *view, uint32_t type, struct elf_symtab *ret)
{
	size_t size = gelf_fsize(view->elf, ELF_T_SYM, 1, EV_CURRENT);
	GElf_Shdr shdr, names;
	Elf_Scn *scn = elf_view_section_of_type(view, type, &shdr);
	struct err *err;

	*ret = (struct elf_symtab){ .data = NULL };
	if (!scn || !size || !gelf_getshdr(elf_getscn(view->elf, shdr.sh_link), &names) ||
	    names.sh_type != SHT_STRTAB || names.sh_flags & SHF_COMPRESSED)
		return NULL;
	if (shdr.sh_size / size > LIMIT_SYMBOLS)
		return limit_err(view->name, "too many symbols", LIMIT_SYMBOLS);
	err = elf_view_strings(view, names.sh_offset, names.sh_size, &ret->names);
	if (err || !ret->names.len)
		return err;
	err = elf_view_take(view, shdr.sh_offset, shdr.sh_size);
	if (err)
		return err;
	ret->data = elf_getdata(scn, NULL);
	ret->nr = ret->data ? ret->data->d_size / size : 0;
	return NULL;
}

const char *elf_view_section_name(const struct elf_view *view, const GElf_Shdr *shdr)
{
	return shdr->sh_name < view->names.len ? view->names.at + shdr->sh_name : "";
}

Elf_Scn *elf_view_section(const struct elf_view *view, const char *name, GElf_Shdr *shdr_ret)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(view->elf, scn))) {
		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS ||
		    shdr.sh_type == SHT_NULL || strcmp(elf_view_section_name(view, &shdr), name))
			continue;
		*shdr_ret = shdr;
		break;
	}
	return scn;
}

static void set_bytes(Elf_Data *data, void *bytes, size_t len)
{
	data->d_buf = bytes;
	data->d_size = len;
	data->d_type = ELF_T_BYTE;
}

/*
 * libelf gives out its own descriptors of a section's bytes, raw and converted, and gives out the
 * same ones again. So what is changed in both of them is changed for libdw, too.
 */
static struct err *replace_bytes(const struct elf_view *view, Elf_Scn *scn, GElf_Shdr *shdr,
				 void *bytes, size_t len)
{
	Elf_Data *raw = elf_rawdata(scn, NULL), *data = elf_getdata(scn, NULL);

	shdr->sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
	shdr->sh_size = len;
	if (!raw || !data || !gelf_update_shdr(scn, shdr))
		return err_create(ERR_FORMAT, "%s: %s", view->name, elf_errmsg(-1));
	set_bytes(raw, bytes, len);
	set_bytes(data, bytes, len);
	return NULL;
}

struct err *elf_view_unpack(struct elf_view *view, Elf_Scn *scn)
{
	uint8_t *bytes AUTO_FREE = NULL;
	GElf_Chdr chdr;
	GElf_Shdr shdr;
	size_t header = gelf_fsize(view->elf, ELF_T_CHDR, 1, EV_CURRENT);
	struct err *err;

	if (!gelf_getshdr(scn, &shdr) || !(shdr.sh_flags & SHF_COMPRESSED) ||
	    !has_room(view, shdr.sh_offset, shdr.sh_size) || shdr.sh_size < header ||
	    !gelf_getchdr(scn, &chdr) || chdr.ch_type != ELFCOMPRESS_ZSTD)
		return NULL;
	if (chdr.ch_size > LIMIT_UNPACKED)
		return limit_err(view->name, "too many bytes of compressed sections",
				 LIMIT_UNPACKED);
	bytes = malloc(chdr.ch_size ? chdr.ch_size : 1);
	if (!bytes)
		return err_nomem;
	if (ZSTD_decompress(bytes, chdr.ch_size, view->bytes + shdr.sh_offset + header,
			    shdr.sh_size - header) != chdr.ch_size)
		return err_create(ERR_FORMAT, "%s: %s cannot be unpacked", view->name,
				  elf_view_section_name(view, &shdr));
	err = vec_push(&view->unpacked, (void *)bytes);
	return err ? err : replace_bytes(view, scn, &shdr, take(bytes), chdr.ch_size);
}

static struct err *begin(struct elf_view *view)
{
	struct err *err = headers_take(view);
	GElf_Ehdr header;

	if (err)
		return err;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return err_create(ERR_UNSUPPORTED, "libelf is older than mdbg was built for");
	view->elf = elf_memory((char *)view->bytes, view->len);
	if (!view->elf || elf_kind(view->elf) != ELF_K_ELF || !gelf_getehdr(view->elf, &header))
		return err_create(ERR_FORMAT, "%s: not an ELF file that can be read: %s",
				  view->name, elf_errmsg(-1));
	return NULL;
}

struct err *elf_view_open(int fd, const char *name, struct elf_view *ret)
{
	struct stat st;
	struct err *err;
	void *at;

	*ret = (struct elf_view){ .fd = fd, .name = name };
	if (fstat(fd, &st))
		return err_sys("%s", name);
	if (!S_ISREG(st.st_mode))
		return err_create(ERR_FORMAT, "%s: not a regular file", name);
	if ((uint64_t)st.st_size > LIMIT_FILE)
		return limit_err(name, "too many bytes", LIMIT_FILE);
	if (!st.st_size)
		return err_create(ERR_FORMAT, "%s: not an ELF file", name);
	ret->len = (size_t)st.st_size;
	ret->owned = trust_stat(&st);
	ret->taken = calloc((ret->len / PAGE + 8) / 8, 1);
	/*
	 * This is a mapping of zeros that takes no memory, and none is accounted for, as nobody can
	 * write to it.
	 */
	at = ret->taken ? mmap(NULL, ret->len, PROT_READ,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) :
			  MAP_FAILED;
	ret->bytes = at == MAP_FAILED ? NULL : at;
	err = ret->bytes ? begin(ret) : err_nomem;
	if (err)
		elf_view_close(ret);
	return err;
}

struct err *elf_view_copy(const void *bytes, size_t len, const char *name, struct elf_view *ret)
{
	struct err *err;

	*ret = (struct elf_view){ .fd = -1, .name = name, .len = len };
	ret->bytes = malloc(len ? len : 1);
	if (!ret->bytes)
		return err_nomem;
	if (len)
		memcpy(ret->bytes, bytes, len);
	err = begin(ret);
	if (err)
		elf_view_close(ret);
	return err;
}

void elf_view_close(struct elf_view *view)
{
	elf_end(view->elf);
	guard_end(&view->guard);
	if (view->taken && view->bytes)
		munmap(view->bytes, view->len);
	else
		free(view->bytes);
	free(view->taken);
	vec_each(bytes, &view->unpacked)
		free(*bytes);
	vec_free(&view->unpacked);
	*view = (struct elf_view){ .fd = -1 };
}
