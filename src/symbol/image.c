/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One ELF file through libdwfl.
 *
 * libdwfl is given the file and its debug file by callbacks of our own, for two reasons: the
 * standard ones ask a debuginfod server, and they open files by name. The dwz file is set
 * afterwards by hand, as the callback cannot tell which is asked for.
 */

#include "symbol/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elfutils/libdwfl.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/trace.h"

/*
 * A file that is cut short while it is mapped raises SIGBUS; one that is read does not. Up to this
 * size it is read (libelf reads a section when it is asked for); what is larger is mapped, at that
 * risk.
 */
#define READ_MAX	(128L << 20)

struct image {
	int fd;			/* -1: from bytes */
	void *bytes;
	size_t bytes_len;
	struct stat st;		/* of fd */
	char *path;
	const struct debug_search *search;
	bool opened;
	Elf *elf;
	Dwfl *dwfl;
	Dwfl_Module *mod;	/* NULL: unusable */
	int debug_fd;		/* the debug file, -1: none */
	Dwarf *alt;
	struct symtab symtab;
	bool symtab_tried;
	struct source *source;
	bool source_tried;
};

static struct err *create(const char *path, const struct debug_search *search, struct image **ret)
{
	struct image *image = calloc(1, sizeof(*image));

	if (!image)
		return err_nomem;
	image->fd = image->debug_fd = -1;
	image->search = search;
	image->path = strdup(path);
	if (!image->path) {
		free(image);
		return err_nomem;
	}
	*ret = image;
	return NULL;
}

struct err *image_create(int fd, const char *path, const struct debug_search *search,
			 struct image **ret)
{
	struct image *image;
	struct err *err = create(path, search, &image);

	if (err)
		return err;
	image->fd = fd_keep(fd);
	if (image->fd < 0 || fstat(image->fd, &image->st)) {
		err = err_sys("keep %s open", path);
		image_destroy(image);
		return err;
	}
	*ret = image;
	return NULL;
}

struct err *image_create_from_bytes(const void *bytes, size_t len, const char *path,
				    const struct debug_search *search, struct image **ret)
{
	struct image *image;
	struct err *err = create(path, search, &image);

	if (err)
		return err;
	image->bytes = malloc(len ? len : 1);
	if (!image->bytes) {
		image_destroy(image);
		return err_nomem;
	}
	memcpy(image->bytes, bytes, len);
	image->bytes_len = len;
	*ret = image;
	return NULL;
}

void image_destroy(struct image *image)
{
	if (!image)
		return;
	source_destroy(image->source);
	symtab_free(&image->symtab);
	dwfl_end(image->dwfl);
	elf_end(image->elf);
	dwarf_end(image->alt);
	if (image->fd >= 0)
		close(image->fd);
	if (image->debug_fd >= 0)
		close(image->debug_fd);
	free(image->bytes);
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

/* libdwfl asks for the file: it gets a reference of its own to the open one. */
static int give_elf(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
		    char **file_name, Elf **elf_ret)
{
	struct image *image = *userdata;

	(void)mod, (void)name, (void)base;
	*file_name = strdup(image->path);
	*elf_ret = elf_begin(-1, ELF_C_READ, image->elf);
	return -1;
}

/* libdwfl asks for the debug file, or for the dwz file, which it does not get here. */
static int give_debug(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
		      const char *file_name, const char *link, GElf_Word crc, char **ret)
{
	struct image *image = *userdata;

	(void)mod, (void)name, (void)base, (void)file_name, (void)link, (void)crc;
	*ret = NULL;
	return image->debug_fd < 0 ? -1 : fd_keep(image->debug_fd);
}

static const Dwfl_Callbacks callbacks = {
	.find_elf	= give_elf,
	.find_debuginfo	= give_debug,
};

static bool has_section(Elf *elf, const char *name)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *text =
			gelf_getshdr(scn, &shdr) ? elf_strptr(elf, names, shdr.sh_name) : NULL;

		if (text && !strcmp(text, name) && shdr.sh_type != SHT_NOBITS)
			return true;
	}
	return false;
}

/*
 * The addresses that the file takes up. libdwfl wants the first loaded page at the start, for its
 * bias to be 0.
 */
static bool extent_of(Elf *elf, GElf_Addr *start_ret, GElf_Addr *end_ret)
{
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
		*end_ret = any ? MAX(*end_ret, phdr.p_vaddr + phdr.p_memsz)
			       : phdr.p_vaddr + phdr.p_memsz;
		any = true;
	}
	return any && *start_ret < *end_ret;
}

static Elf *begin_elf(struct image *image)
{
	if (image->fd < 0)
		return elf_memory(image->bytes, image->bytes_len);
	return elf_begin(image->fd, image->st.st_size <= READ_MAX ? ELF_C_READ : ELF_C_READ_MMAP,
			 NULL);
}

static void find_debug_file(struct image *image)
{
	AUTO_CLOSE int found = debug_file_find(image->search, image->elf, image->path);

	if (found < 0)
		return;
	image->debug_fd = fd_keep(found);
	if (image->debug_fd < 0)
		trace_line("symbol: %s: debug file: %s", image->path, strerror(errno));
}

/* The image as the one module of a Dwfl, its symbols at the file's own addresses. */
static bool report(struct image *image)
{
	GElf_Addr start = 0, end = 0, bias;
	Dwfl_Module *mod;
	void **userdata;

	image->elf = begin_elf(image);
	if (!image->elf || elf_kind(image->elf) != ELF_K_ELF ||
	    !extent_of(image->elf, &start, &end))
		return false;
	if (!has_section(image->elf, ".debug_info") && !has_section(image->elf, ".zdebug_info"))
		find_debug_file(image);
	image->dwfl = dwfl_begin(&callbacks);
	if (!image->dwfl)
		return false;
	dwfl_report_begin(image->dwfl);
	mod = dwfl_report_module(image->dwfl, image->path, start, end);
	if (dwfl_report_end(image->dwfl, NULL, NULL) || !mod ||
	    !dwfl_module_info(mod, &userdata, NULL, NULL, NULL, NULL, NULL, NULL))
		return false;
	*userdata = image;
	if (!dwfl_module_getelf(mod, &bias) || bias != 0)
		return false;
	image->mod = mod;
	return true;
}

bool image_usable(struct image *image)
{
	if (!image->opened) {
		image->opened = true;
		elf_version(EV_CURRENT);
		if (!report(image))
			trace_line("symbol: %s: %s", image->path,
				   image->dwfl ? dwfl_errmsg(-1) : elf_errmsg(-1));
	}
	return image->mod != NULL;
}

struct symtab *image_symtab(struct image *image)
{
	if (!image_usable(image))
		return NULL;
	if (!image->symtab_tried) {
		image->symtab_tried = true;
		if (symtab_read(&image->symtab, image->mod, image->elf)) {
			/* No memory: no names. */
			symtab_free(&image->symtab);
		}
	}
	return &image->symtab;
}

static void open_source(struct image *image)
{
	Dwarf_Addr bias;
	Dwarf *dwarf = dwfl_module_getdwarf(image->mod, &bias);
	struct err *err;

	if (!dwarf) {
		trace_line("symbol: %s: %s", image->path, dwfl_errmsg(-1));
		return;
	}
	image->alt = debug_alt_find(image->search, dwarf,
				    image->debug_fd < 0 ? image->fd : image->debug_fd);
	if (image->alt)
		dwarf_setalt(dwarf, image->alt);
	err = source_create(dwarf, bias, &image->source);
	if (err)
		trace_line("symbol: %s: %s", image->path, err->msg);
}

struct source *image_source(struct image *image)
{
	if (!image_usable(image))
		return NULL;
	if (!image->source_tried) {
		image->source_tried = true;
		open_source(image);
	}
	return image->source;
}
