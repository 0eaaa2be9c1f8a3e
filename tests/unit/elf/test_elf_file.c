/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ELF files: what is said of this process's own modules is what the loader made of them; broken
 * ones are refused.
 */

#include "elf/elf_file.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>

#include "elf/cfi.h"
#include "image.h"
#include "elf/file_private.h"
#include "unit.h"

static void *libc;	/* its own symbols, not a sanitizer's */
static struct elf_file *libc_file;
static struct link_map *libc_map;

/* Functions for their extents: with CFI and without a size, and with neither. */
__asm__(
"	.pushsection .text.extent, \"ax\", @progbits\n"
"	.type extent_cfi, @function\n"
"extent_cfi:\n"
"	.cfi_startproc\n"
"	.skip 23, 0x90\n"
"	.cfi_endproc\n"
"	.type extent_none, @function\n"
"extent_none:\n"
"	.skip 17, 0x90\n"
"extent_next:\n"
"	.skip 5, 0x90\n"
"	.globl extent_cfi, extent_none, extent_next\n"
"	.popsection\n"
);
extern const char extent_cfi[], extent_none[], extent_next[];

static struct elf_file *open_file(const char *path)
{
	struct elf_file *file;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_PTR_NULL_FATAL(elf_file_open(fd, path, &file));
	return file;
}

static int libc_init(void)
{
	int fd;

	libc = dlopen("libc.so.6", RTLD_NOLOAD | RTLD_LAZY);
	if (!libc || dlinfo(libc, RTLD_DI_LINKMAP, &libc_map))
		return 1;
	fd = open(libc_map->l_name, O_RDONLY | O_CLOEXEC);
	return elf_file_open(fd, libc_map->l_name, &libc_file) != NULL;
}

static int libc_deinit(void)
{
	elf_file_close(libc_file);
	elf_file_close(NULL);
	return 0;
}

FIXTURE(libc_init, libc_deinit);

TEST("headers")
{
	struct elf_file *file = open_file("/proc/self/exe");
	const uint8_t *id;
	size_t len;

	CU_ASSERT_EQUAL(elf_file_machine(libc_file), EM_X86_64);
	CU_ASSERT_EQUAL(libc_file->ehdr.e_ident[EI_CLASS], ELFCLASS64);
	CU_ASSERT_EQUAL(libc_file->ehdr.e_type, ET_DYN);
	CU_ASSERT_STRING_EQUAL(elf_file_name(libc_file), libc_map->l_name);
	id = elf_file_build_id(libc_file, &len);
	CU_ASSERT_EQUAL(len, 20);
	CU_ASSERT_PTR_NOT_NULL(id);
	CU_ASSERT_EQUAL(elf_file_entry(file), getauxval(AT_ENTRY) - _r_debug.r_map->l_addr);
	elf_file_close(file);
}

TEST("sections and notes")
{
	struct elf_file *bare;
	size_t len;
	AUTO_FREE uint8_t *bytes = image_of_file("/proc/self/exe", &len);

	CU_ASSERT(elf_file_has_section(libc_file, ".text"));
	CU_ASSERT_FALSE(elf_file_has_section(libc_file, ".tex"));
	CU_ASSERT_FALSE(elf_file_has_section(libc_file, ".bss"));	/* no bytes */
	CU_ASSERT(elf_file_has_note(libc_file, "GNU"));
	CU_ASSERT_FALSE(elf_file_has_note(libc_file, "GN"));
	CU_ASSERT_FALSE(elf_file_has_note(libc_file, "GNU "));
	CU_ASSERT_FALSE(elf_file_has_note(libc_file, ""));
	CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
	image_strip_sections(bytes);
	CU_ASSERT_PTR_NULL_FATAL(elf_file_from_bytes(bytes, len, "bare", &bare));
	CU_ASSERT_FALSE(elf_file_has_section(bare, ".text"));
	CU_ASSERT(elf_file_has_note(bare, "GNU"));
	elf_file_close(bare);
}

/* The loader's own view of the program. */
static int compare_segments(struct dl_phdr_info *info, size_t size, void *ctx)
{
	size_t nr, at = 0;
	const struct elf_segment *segment = elf_file_segments(ctx, &nr);
	uint64_t tls = 0;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];

		if (phdr->p_type == PT_TLS)
			tls = phdr->p_memsz;
		if (phdr->p_type != PT_LOAD)
			continue;
		CU_ASSERT_FATAL(at < nr);
		CU_ASSERT_EQUAL(segment[at].vaddr, phdr->p_vaddr);
		CU_ASSERT_EQUAL(segment[at].memsz, phdr->p_memsz);
		CU_ASSERT_EQUAL(segment[at].filesz, phdr->p_filesz);
		CU_ASSERT_EQUAL(segment[at].offset, phdr->p_offset);
		CU_ASSERT_EQUAL(segment[at].exec, !!(phdr->p_flags & PF_X));
		CU_ASSERT_EQUAL(segment[at].write, !!(phdr->p_flags & PF_W));
		at++;
	}
	CU_ASSERT_EQUAL(at, nr);
	CU_ASSERT_EQUAL(elf_file_tls_size(ctx), tls);
	return 1;
}

TEST("segments")
{
	struct elf_file *file = open_file("/proc/self/exe");

	dl_iterate_phdr(compare_segments, file);
	elf_file_close(file);
	CU_ASSERT(elf_file_tls_size(libc_file) > 0);	/* errno, at least */
}

static void check_symbol(struct elf_file *file, const char *name, bool func)
{
	struct elf_symbol symbol;

	CU_ASSERT_PTR_NULL_FATAL(elf_symbol_named(file, name, &symbol));
	CU_ASSERT_STRING_EQUAL(symbol.name, name);
	CU_ASSERT_EQUAL(symbol.value, (uintptr_t)dlsym(libc, name) - libc_map->l_addr);
	CU_ASSERT_EQUAL(symbol.func, func);
	CU_ASSERT_FALSE(symbol.ifunc);
	CU_ASSERT(symbol.global && symbol.dynamic && symbol.size > 0);
}

TEST("symbols")
{
	struct elf_symbol symbol;
	struct elf_file *file;
	struct err *err;

	check_symbol(libc_file, "getppid", true);
	check_symbol(libc_file, "qsort_r", true);
	check_symbol(libc_file, "tzname", false);
	CU_ASSERT_PTR_NULL_FATAL(elf_symbol_named(libc_file, "strlen", &symbol));
	CU_ASSERT(symbol.func && symbol.ifunc);
	err = elf_symbol_named(libc_file, "no such symbol", &symbol);
	CU_ASSERT(err && err->code == ERR_NOTFOUND);
	/* In itself this program finds what is not exported, too. */
	file = open_file("/proc/self/exe");
	CU_ASSERT_PTR_NULL_FATAL(elf_symbol_named(file, "unit_skip", &symbol));
	CU_ASSERT_EQUAL(symbol.value, (uintptr_t)unit_skip - _r_debug.r_map->l_addr);
	CU_ASSERT_FALSE(symbol.dynamic);
	/* Undefined here: the C library has it. */
	CU_ASSERT_PTR_NOT_NULL(elf_symbol_named(file, "dlinfo", &symbol));
	elf_file_close(file);
}

struct count {
	size_t nr, stop_at;
	uint64_t sum;
};

static struct err *count_symbols(struct elf_file *file, struct count *count)
{
	struct elf_symbols at;
	struct elf_symbol symbol;
	struct err *err = elf_symbols_begin(file, &at);

	while (!err && (!count->stop_at || count->nr < count->stop_at) &&
	       elf_symbols_next(&at, &symbol))
		if (symbol.dynamic) {
			count->nr++;
			count->sum = count->sum * 31 + symbol.value + strlen(symbol.name);
		}
	return err;
}

TEST("all symbols")
{
	struct count all = { 0 }, some = { .stop_at = 7 };

	CU_ASSERT_PTR_NULL(count_symbols(libc_file, &all));
	CU_ASSERT(all.nr > 2000);
	CU_ASSERT_PTR_NULL(count_symbols(libc_file, &some));
	CU_ASSERT_EQUAL(some.nr, 7);
}

/* Without a section header table the same symbols and the same CFI are found. */
static void check_stripped(const char *path)
{
	struct elf_file *file = open_file(path), *stripped;
	struct count before = { 0 }, after = { 0 };
	const struct cfi *cfi, *stripped_cfi;
	uint8_t *bytes;
	size_t len;

	bytes = image_of_file(path, &len);
	CU_ASSERT_FATAL(bytes != NULL);
	image_strip_sections(bytes);
	CU_ASSERT_PTR_NULL_FATAL(elf_file_from_bytes(bytes, len, "stripped", &stripped));
	free(bytes);
	CU_ASSERT_PTR_NULL(count_symbols(file, &before));
	CU_ASSERT_PTR_NULL(count_symbols(stripped, &after));
	CU_ASSERT(after.nr > 0 && after.nr == before.nr && after.sum == before.sum);
	CU_ASSERT_PTR_NULL_FATAL(cfi_of(file, &cfi));
	CU_ASSERT_PTR_NULL_FATAL(cfi_of(stripped, &stripped_cfi));
	CU_ASSERT(stripped_cfi->fdes.nr > 0 && stripped_cfi->fdes.nr == cfi->fdes.nr);
	for (size_t i = 0; i < cfi->fdes.nr && i < stripped_cfi->fdes.nr; i++)
		CU_ASSERT_EQUAL(cfi->fdes.at[i].start, stripped_cfi->fdes.at[i].start);
	CU_ASSERT_EQUAL(cfi->bad + stripped_cfi->bad, 0);
	elf_file_close(file);
	elf_file_close(stripped);
}

/* The C library has both kinds of hash table, the others the GNU one only. */
TEST("no section headers")
{
	Dl_info info;

	check_stripped(libc_map->l_name);
	check_stripped("/lib64/ld-linux-x86-64.so.2");
	CU_ASSERT_FATAL(dladdr((void *)CU_basic_run_tests, &info));
	check_stripped(info.dli_fname);
}

static uint64_t extent_of(struct elf_file *file, const char *label)
{
	uint64_t size = 0;

	CU_ASSERT_PTR_NULL(elf_symbol_function_extent(file,
						      (uintptr_t)label - _r_debug.r_map->l_addr,
						      &size));
	return size;
}

TEST("extents of functions")
{
	struct elf_file *file = open_file("/proc/self/exe");
	struct elf_symbol symbol;
	struct err *err;
	uint64_t size;

	CU_ASSERT_EQUAL(extent_of(file, extent_cfi), 23);
	CU_ASSERT_EQUAL(extent_of(file, extent_none), 17);
	err = elf_symbol_function_extent(file, UINT64_MAX - 5, &size);
	CU_ASSERT(err && err->code == ERR_NOTFOUND);
	elf_file_close(file);
	CU_ASSERT_PTR_NULL_FATAL(elf_symbol_named(libc_file, "qsort_r", &symbol));
	CU_ASSERT_PTR_NULL(elf_symbol_function_extent(libc_file, symbol.value, &size));
	CU_ASSERT_EQUAL(size, symbol.size);
}

TEST("bytes of the image")
{
	struct elf_symbol symbol;
	const struct elf_segment *segment;
	uint8_t bytes[4096];
	struct err *err;
	size_t nr;

	CU_ASSERT_PTR_NULL_FATAL(elf_symbol_named(libc_file, "qsort_r", &symbol));
	CU_ASSERT_PTR_NULL(elf_file_read(libc_file, symbol.value, bytes, 200));
	CU_ASSERT(!memcmp(bytes, dlsym(libc, "qsort_r"), 200));
	/* What the file does not have of a segment is zero; behind it there is nothing. */
	segment = elf_file_segments(libc_file, &nr);
	for (size_t i = 0; i < nr; i++) {
		uint64_t end = segment[i].vaddr + segment[i].memsz;

		if (segment[i].memsz - segment[i].filesz < 16)
			continue;
		memset(bytes, 1, 16);
		CU_ASSERT_PTR_NULL(elf_file_read(libc_file, end - 16, bytes, 16));
		CU_ASSERT(!bytes[0] && !memcmp(bytes, bytes + 1, 15));
		err = elf_file_read(libc_file, end - 8, bytes, 16);
		CU_ASSERT(err && err->code == ERR_RANGE);
	}
	CU_ASSERT_PTR_NULL(elf_file_read(libc_file, symbol.value, bytes, 0));
}

TEST("the vDSO")
{
	const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct elf_symbol symbol;
	struct elf_file *file;

	if (!vdso) {
		unit_skip("no vDSO");
		return;
	}
	CU_ASSERT_PTR_NULL_FATAL(elf_file_from_bytes(vdso, 8192, "[vdso]", &file));
	CU_ASSERT_PTR_NULL(elf_symbol_named(file, "__vdso_clock_gettime", &symbol));
	elf_file_close(file);
}

static void check_refused(const void *bytes, size_t len)
{
	struct elf_file *file;
	struct err *err = elf_file_from_bytes(bytes, len, "broken", &file);

	CU_ASSERT(err && err->code == ERR_FORMAT);
	CU_ASSERT(err && strstr(err->msg, "broken"));
}

TEST("files that are refused")
{
	struct elf_file *file;
	Elf64_Ehdr *ehdr;
	Elf64_Shdr *shdr;
	uint8_t *bytes;
	struct err *err;
	size_t len;
	int fd;

	check_refused("", 0);
	check_refused("#!/bin/sh\nexec true; # and more, as long as a header would be", 60);
	check_refused("\177ELF", 4);
	bytes = image_of_file("/proc/self/exe", &len);
	CU_ASSERT_FATAL(bytes != NULL);
	ehdr = (Elf64_Ehdr *)bytes;
	shdr = (Elf64_Shdr *)(bytes + ehdr->e_shoff);
	/* Four billion sections, for each of which libelf would allocate 300 bytes. */
	ehdr->e_shnum = 0;
	shdr->sh_size = UINT32_MAX;
	check_refused(bytes, len);
	free(bytes);
	fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = elf_file_open(fd, "folder", &file);
	CU_ASSERT(err && err->code == ERR_FORMAT);
	CU_ASSERT_EQUAL(close(fd), 0);	/* it was not taken over */
}

/* A file that loses its end while it is open: errors, no SIGBUS. */
TEST("a file that shrinks")
{
	char path[] = "/tmp/mdbg-elf.XXXXXX";
	struct elf_file *file;
	struct count count = { 0 };
	const struct cfi *cfi;
	uint8_t *bytes, buf[64];
	struct err *err;
	size_t len;
	int fd = mkstemp(path);

	bytes = image_of_file("/proc/self/exe", &len);
	CU_ASSERT_FATAL(fd >= 0 && bytes != NULL);
	unlink(path);
	CU_ASSERT_EQUAL(write(fd, bytes, len), (ssize_t)len);
	free(bytes);
	CU_ASSERT_PTR_NULL_FATAL(elf_file_open(fd, path, &file));
	CU_ASSERT(!ftruncate(fd, 2000));
	err = elf_file_read(file, elf_file_entry(file), buf, sizeof(buf));
	CU_ASSERT(err && err->code == ERR_RANGE);
	CU_ASSERT_PTR_NULL(count_symbols(file, &count));
	CU_ASSERT_PTR_NULL(cfi_of(file, &cfi));
	CU_ASSERT_EQUAL(cfi->fdes.nr, 0);
	elf_file_close(file);
}

TEST("an object that is not linked")
{
	struct elf_file *file;
	struct count count = { 0 };
	uint8_t *bytes;
	struct err *err;
	size_t len;

	bytes = image_of_file("/proc/self/exe", &len);
	CU_ASSERT_FATAL(bytes != NULL);
	((Elf64_Ehdr *)bytes)->e_type = ET_REL;
	CU_ASSERT_PTR_NULL_FATAL(elf_file_from_bytes(bytes, len, "object", &file));
	err = count_symbols(file, &count);
	CU_ASSERT(err && err->code == ERR_UNSUPPORTED);
	elf_file_close(file);
	free(bytes);
}
