/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One ELF file with its debug file, through libelf and libdw.
 *
 * Both files are read through an elf_view; only the parts that names and lines come from are taken.
 * libdwfl, which finds and opens all these files itself, is not used: it opens by name, contacts a
 * debuginfod server without being asked, maps the files that it opens, and unpacks compressed
 * sections of any length.
 */

#include "symbol/image.h"

#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elfutils/libdw.h>

#include "arch/arch.h"
#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/trace.h"
#include "elf/elf_view.h"
#include "symbol/function_start.h"

struct image {
	int fd;			/* -1: made from bytes */
	struct stat st;		/* of fd */
	char *path;
	const struct debug_search *search;
	bool opened;
	bool usable;
	struct elf_view view;
	uint64_t start;		/* first address that the file occupies */
	int debug_fd;		/* of the debug file; -1: none */
	struct elf_view debug;
	char *debug_name;	/* of debug, for messages */
	struct elf_view mini;	/* .gnu_debugdata */
	int alt_fd;		/* of the dwz file; -1: none */
	struct elf_view alt;
	Dwarf *dwarf, *alt_dwarf;
	bool dwarf_tried;
	struct symtab symtab;
	bool symtab_tried;
	struct source *source;
	bool source_tried;
	struct function_starts starts;
	bool cut;		/* the user was told that a file was cut short */
};

static struct err *create(const char *path, const struct debug_search *search, struct image **ret)
{
	struct image *image = calloc(1, sizeof(*image));

	if (!image)
		return err_nomem;
	image->fd = image->debug_fd = image->alt_fd = -1;
	image->search = search;
	image->path = strdup(path);
	*ret = image;
	return image->path ? NULL : err_nomem;
}

struct err *image_create(int fd, const char *path, const struct debug_search *search,
			 struct image **ret)
{
	struct image *image = NULL;
	struct err *err = create(path, search, &image);

	if (!err) {
		image->fd = fd_keep(fd);
		if (image->fd < 0 || fstat(image->fd, &image->st))
			err = err_sys("keep %s open", path);
	}
	if (err)
		image_destroy(image);
	else
		*ret = image;
	return err;
}

struct err *image_create_from_bytes(const void *bytes, size_t len, const char *path,
				    const struct debug_search *search, struct image **ret)
{
	struct image *image = NULL;
	struct err *err = create(path, search, &image);

	if (!err)
		err = elf_view_copy(bytes, len, image->path, &image->view);
	/* Bytes that are not an ELF file give an image without names. */
	if (err && err->code == ERR_NOMEM)
		image_destroy(image);
	else
		*ret = image;
	return err && err->code == ERR_NOMEM ? err : NULL;
}

static void close_dwarf(struct image *image)
{
	source_destroy(take(image->source));
	dwarf_end(take(image->dwarf));
	dwarf_end(take(image->alt_dwarf));
	elf_view_close(&image->alt);
	if (image->alt_fd >= 0)
		close(take_fd(image->alt_fd));
}

/* Close all that was opened after the creation. */
static void close_files(struct image *image)
{
	close_dwarf(image);
	symtab_free(&image->symtab);
	elf_view_close(&image->debug);
	elf_view_close(&image->mini);
	if (image->debug_fd >= 0)
		close(take_fd(image->debug_fd));
	free(take(image->debug_name));
}

void image_destroy(struct image *image)
{
	if (!image)
		return;
	close_files(image);
	elf_view_close(&image->view);
	function_starts_free(&image->starts);
	if (image->fd >= 0)
		close(image->fd);
	free(image->path);
	free(image);
}

bool image_is(const struct image *image, int fd)
{
	struct stat st;

	return image->fd >= 0 && !fstat(fd, &st) && st.st_dev == image->st.st_dev &&
	       st.st_ino == image->st.st_ino && st.st_size == image->st.st_size &&
	       st.st_mtim.tv_sec == image->st.st_mtim.tv_sec &&
	       st.st_mtim.tv_nsec == image->st.st_mtim.tv_nsec;
}

/*
 * Is it one of the debug sections that names, lines and places of variables come from? libdw reads
 * others, too.
 */
static bool is_debug(const char *name)
{
	static const char *const parts[] = {
		"info", "types", "abbrev", "addr", "line", "line_str", "str", "str_offsets",
		"ranges", "rnglists", "loc", "loclists",
	};

	if (!strncmp(name, ".zdebug_", 8))
		name += 8;
	else if (!strncmp(name, ".debug_", 7))
		name += 7;
	else
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (!strcmp(name, parts[i]))
			return true;
	return false;
}

/*
 * libelf and libdw unpack compressed sections when they look at them, whatever length these claim.
 * So those that are not needed are hidden from them.
 */
static void drop_packed(struct elf_view *view)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(view->elf, scn))) {
		const char *name;

		if (!gelf_getshdr(scn, &shdr))
			continue;
		name = elf_view_section_name(view, &shdr);
		if (!(shdr.sh_flags & SHF_COMPRESSED || !strncmp(name, ".zdebug", 7)) ||
		    is_debug(name))
			continue;
		shdr.sh_type = SHT_NOBITS;
		gelf_update_shdr(scn, &shdr);
	}
}

static bool has_debug(const struct elf_view *view)
{
	GElf_Shdr shdr;

	return elf_view_section(view, ".debug_info", &shdr) ||
	       elf_view_section(view, ".zdebug_info", &shdr);
}

/*
 * Returns the length of a section when libdw has unpacked it; 0: it is not compressed. The section
 * has been taken.
 */
static uint64_t unpacked_size(const struct elf_view *view, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	const uint8_t *at = view->bytes + shdr->sh_offset;
	uint64_t size = 0;
	GElf_Chdr chdr;

	if (shdr->sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(scn, &chdr) ? chdr.ch_size : 0;
	/* This is GNU's old format: "ZLIB" and the size in eight bytes. */
	if (elf_view_section_name(view, shdr)[1] != 'z' || shdr->sh_size < 12 ||
	    memcmp(at, "ZLIB", 4))
		return 0;
	for (int i = 4; i < 12; i++)
		size = size << 8 | at[i];
	return size;
}

static struct err *take_debug(struct elf_view *view)
{
	uint64_t unpacked = 0;
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	drop_packed(view);
	while ((scn = elf_nextscn(view->elf, scn))) {
		uint64_t size;
		struct err *err;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS ||
		    !is_debug(elf_view_section_name(view, &shdr)) ||
		    shdr.sh_offset > view->len || shdr.sh_size > view->len - shdr.sh_offset)
			continue;
		err = elf_view_map(view, shdr.sh_offset, shdr.sh_size);
		if (err)
			return err;
		size = unpacked_size(view, scn, &shdr);
		if (size > LIMIT_UNPACKED || (unpacked += size) > LIMIT_UNPACKED)
			return limit_err(view->name, "too many bytes of packed debug information",
					 LIMIT_UNPACKED);
		err = elf_view_unpack(view, scn);
		if (err)
			return err;
	}
	return NULL;
}

static struct err *take_section(struct elf_view *view, const char *name)
{
	GElf_Shdr shdr;

	return elf_view_section(view, name, &shdr) ?
		elf_view_take(view, shdr.sh_offset, shdr.sh_size) : NULL;
}

/* Get the first address that a file occupies; false: it occupies none. */
static bool extent_of(Elf *elf, uint64_t *start_ret)
{
	GElf_Addr end = 0;
	bool any = false;
	size_t nr;

	if (elf_getphdrnum(elf, &nr))
		return false;
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_LOAD)
			continue;
		if (!any)
			*start_ret = phdr.p_align > 1 ? phdr.p_vaddr & -phdr.p_align : phdr.p_vaddr;
		end = MAX(end, phdr.p_vaddr + phdr.p_memsz);
		any = true;
	}
	return any && *start_ret < end;
}

/* Returns the number to add to an address of the debug file to get that of the main file. */
static uint64_t debug_bias(const struct image *image)
{
	uint64_t start;

	return image->debug.elf && extent_of(image->debug.elf, &start) ? image->start - start : 0;
}

static struct err *open_debug(struct image *image)
{
	AUTO_CLOSE int found = debug_file_find(image->search, image->view.elf, image->path);
	struct str name AUTO_STR = STR_INIT;
	struct err *err;

	if (found < 0)
		return cancel_check();
	image->debug_fd = fd_keep(found);
	if (image->debug_fd < 0)
		return err_sys("%s: debug file", image->path);
	err = str_addf(&name, "%s: debug file", image->path);
	if (err)
		return err;
	image->debug_name = take(name.at);
	err = elf_view_open(image->debug_fd, image->debug_name, &image->debug);
	if (!err)
		image->debug.cancellable = true;
	return err;
}

/* If one of the files is bad, the user is told, and the others are used. False: Ctrl-C. */
static bool go_on(const struct image *image, struct err *err)
{
	bool cancelled = err && err->code == ERR_CANCELLED;

	if (err && !cancelled && err->code != ERR_NOTFOUND)
		debug_file_warn(image->search, err);
	return !cancelled;
}

static bool open_files(struct image *image)
{
	struct err *err = image->fd < 0 || image->view.elf ? NULL :
		elf_view_open(image->fd, image->path, &image->view);

	if (err || !image->view.elf || !extent_of(image->view.elf, &image->start)) {
		trace_line("symbol: %s: %s", image->path, err ? err->msg : "not an ELF file");
		if (err && err->code == ERR_RANGE)
			debug_file_warn(image->search, err);
		return false;
	}
	image->view.cancellable = true;
	drop_packed(&image->view);
	err = elf_view_take_notes(&image->view);
	if (!err)
		err = take_section(&image->view, ".gnu_debuglink");
	if (!err && !has_debug(&image->view))
		err = open_debug(image);
	image->usable = true;
	return go_on(image, err);
}

bool image_usable(struct image *image)
{
	if (!image->opened) {
		image->usable = false;
		image->opened = open_files(image) || !cancel_requested();
		if (!image->opened)
			close_files(image);
	}
	return image->opened && image->usable;
}

/* If a file was cut short, data that was read since may be zeros; the user is told once. */
static void check_cut(struct image *image)
{
	if (image->cut || !(image->view.guard.cut || image->debug.guard.cut ||
			    image->alt.guard.cut))
		return;
	image->cut = true;
	debug_file_warn(image->search,
			err_create(ERR_FORMAT,
				   "%s: cut short while its debug information was read: "
				   "lines and inlined functions may be missing", image->path));
}

/*
 * Open the mini debug information of Fedora: an ELF file within the file, compressed by xz, with
 * symbols that .dynsym lacks.
 */
static struct err *open_mini(struct image *image)
{
	uint64_t memory = LIMIT_UNPACKED / 4;
	size_t room = 0, in = 0, out = 0;
	uint8_t *bytes AUTO_FREE = NULL;
	GElf_Shdr shdr;
	lzma_ret result;

	if (!elf_view_section(&image->view, ".gnu_debugdata", &shdr) ||
	    shdr.sh_offset > image->view.len || shdr.sh_size > image->view.len - shdr.sh_offset)
		return NULL;
	do {
		room = room ? 2 * room : 1u << 20;
		if (room > LIMIT_UNPACKED / 4)
			return limit_err(image->path, "too many bytes in .gnu_debugdata",
					 LIMIT_UNPACKED / 4);
		free(take(bytes));
		bytes = malloc(room);
		if (!bytes)
			return err_nomem;
		in = out = 0;
		result = lzma_stream_buffer_decode(&memory, 0, NULL,
						   image->view.bytes + shdr.sh_offset, &in,
						   shdr.sh_size, bytes, &out, room);
	} while (result == LZMA_BUF_ERROR && in < shdr.sh_size && !cancel_requested());
	if (result != LZMA_OK)
		return err_create(ERR_FORMAT, "%s: .gnu_debugdata cannot be unpacked", image->path);
	return elf_view_copy(bytes, out, image->path, &image->mini);
}

static struct err *read_symtab(struct image *image)
{
	struct symtab_file files[] = {
		{ .view = &image->view },
		{ .view = &image->debug, .bias = debug_bias(image) },
		{ .view = &image->mini },
	};
	struct err *err = NULL;

	if (!symtab_has_own(&image->view) &&
	    !(image->debug.elf && symtab_has_own(&image->debug))) {
		err = take_section(&image->view, ".gnu_debugdata");
		if (!err)
			err = open_mini(image);
		if (!go_on(image, err))
			return err;
	}
	return symtab_read(&image->symtab, files, ARRAY_SIZE(files));
}

struct symtab *image_symtab(struct image *image)
{
	if (!image_usable(image))
		return NULL;
	if (!image->symtab_tried) {
		struct err *err = read_symtab(image);

		/* No names are better than only some of them. */
		if (err)
			symtab_free(&image->symtab);
		image->symtab_tried = go_on(image, err);
	}
	return &image->symtab;
}

/* Returns the offset in the file of addr; *len_ret bytes before it are in its segment. */
static uint64_t code_before(Elf *elf, uint64_t addr, uint64_t *len_ret)
{
	size_t nr = 0;

	elf_getphdrnum(elf, &nr);
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr phdr;

		if (gelf_getphdr(elf, (int)i, &phdr) && phdr.p_type == PT_LOAD &&
		    addr > phdr.p_vaddr && addr - phdr.p_vaddr <= phdr.p_filesz) {
			*len_ret = addr - phdr.p_vaddr;
			return phdr.p_offset + *len_ret;
		}
	}
	*len_ret = 0;
	return 0;
}

/* (The few bytes are not taken into the view: each would bring its page.) */
bool image_ends_in_call(struct image *image, uint64_t addr)
{
	uint8_t code[UINT8_MAX];
	const struct arch *arch;
	uint64_t end, len;
	GElf_Ehdr ehdr;

	if (!image_usable(image) || !gelf_getehdr(image->view.elf, &ehdr))
		return true;
	arch = arch_find(ehdr.e_machine, ehdr.e_ident[EI_CLASS]);
	end = code_before(image->view.elf, addr, &len);
	if (!arch || !len)
		return true;
	len = MIN(len, (uint64_t)arch->call_most);
	if (image->fd < 0) {
		if (end > image->view.len)
			return true;
		memcpy(code, image->view.bytes + end - len, len);
	} else if (pread(image->fd, code, len, (off_t)(end - len)) != (ssize_t)len) {
		return true;
	}
	return arch->ends_in_call(code, len);
}

bool image_function_start(struct image *image, uint64_t addr, uint64_t *ret)
{
	return function_start_at(&image->starts, image->fd, image->path, addr, ret);
}

struct elf_file *image_file(struct image *image)
{
	return function_start_file(&image->starts, image->fd, image->path);
}

static struct err *open_alt(struct image *image)
{
	struct err *err;

	image->alt_fd = debug_file_find_alt(image->search, image->dwarf,
					    image->debug_fd < 0 ? image->fd : image->debug_fd);
	if (image->alt_fd < 0)
		return NULL;
	err = elf_view_open(image->alt_fd, image->path, &image->alt);
	if (err)
		return err;
	image->alt.cancellable = true;
	err = take_debug(&image->alt);
	if (err)
		return err;
	image->alt_dwarf = dwarf_begin_elf(image->alt.elf, DWARF_C_READ, NULL);
	if (image->alt_dwarf)
		dwarf_setalt(image->dwarf, image->alt_dwarf);
	return NULL;
}

static struct elf_view *debug_view(struct image *image)
{
	return has_debug(&image->view) ? &image->view : &image->debug;
}

static struct err *open_dwarf(struct image *image)
{
	struct elf_view *view = debug_view(image);
	struct err *err;

	if (!view->elf || !has_debug(view))
		return NULL;
	err = take_debug(view);
	if (!err)
		err = take_section(view, ".gnu_debugaltlink");
	if (err)
		return err;
	image->dwarf = dwarf_begin_elf(view->elf, DWARF_C_READ, NULL);
	if (!image->dwarf)
		return err_create(ERR_NOTFOUND, "%s: %s", image->path, dwarf_errmsg(-1));
	return open_alt(image);
}

Dwarf *image_dwarf(struct image *image, uint64_t *bias_ret)
{
	if (!image_usable(image))
		return NULL;
	if (!image->dwarf_tried) {
		struct err *err = open_dwarf(image);

		if (err)
			close_dwarf(image);
		image->dwarf_tried = go_on(image, err);
	}
	check_cut(image);
	*bias_ret = debug_view(image) == &image->debug ? debug_bias(image) : 0;
	return image->dwarf;
}

struct source *image_source(struct image *image)
{
	uint64_t bias;
	Dwarf *dwarf = image_dwarf(image, &bias);

	if (image->dwarf_tried && !image->source_tried) {
		struct err *err = dwarf ? source_create(dwarf, bias, debug_view(image),
							image->search, &image->source) : NULL;

		image->source_tried = go_on(image, err);
	}
	check_cut(image);
	return image->source;
}

enum symbol_debug image_debug(struct image *image)
{
	if (!image_usable(image))
		return SYMBOL_DEBUG_NONE;
	if (has_debug(&image->view))
		return SYMBOL_DEBUG_OWN;
	return image->debug.elf && has_debug(&image->debug) ? SYMBOL_DEBUG_SEPARATE :
							      SYMBOL_DEBUG_NONE;
}

struct err *image_build_id(struct image *image, struct str *ret)
{
	return image_usable(image) ? debug_file_build_id(image->view.elf, ret) : NULL;
}

bool image_lacked_lines(const struct image *image)
{
	return image->fd >= 0 && image->usable && image->source_tried && !image->source &&
	       !has_debug(&image->view) && !image->debug.elf;
}

void image_retry(struct image *image)
{
	if (!image->opened || image_debug(image) != SYMBOL_DEBUG_NONE)
		return;
	close_files(image);
	image->opened = image->symtab_tried = image->dwarf_tried = image->source_tried = false;
}
