/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where modules lie: program headers made here, laid over mappings made here. */

#include "tracee/module_new.h"

#include <elf.h>

#include "base/cleanup.h"
#include "os/procparse.h"
#include "unit.h"

#define SEGMENTS_MAX	8

struct seg {
	uint32_t flags;
	uint64_t offset, vaddr, filesz, memsz;
};

/* An ELF file that has nothing but these segments. */
static struct elf_file *make_elf(uint16_t type, const struct seg *seg, size_t nr)
{
	struct {
		Elf64_Ehdr ehdr;
		Elf64_Phdr phdr[SEGMENTS_MAX];
	} image = {
		.ehdr = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
				     ELFDATA2LSB, EV_CURRENT },
			.e_type = type,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(image.ehdr),
			.e_ehsize = sizeof(image.ehdr),
			.e_phentsize = sizeof(image.phdr[0]),
			.e_phnum = (uint16_t)nr,
		},
	};
	struct elf_file *elf = NULL;
	size_t i;

	for (i = 0; i < nr; i++) {
		image.phdr[i] = (Elf64_Phdr){
			.p_type = PT_LOAD,
			.p_flags = seg[i].flags,
			.p_offset = seg[i].offset,
			.p_vaddr = seg[i].vaddr,
			.p_filesz = seg[i].filesz,
			.p_memsz = seg[i].memsz,
			.p_align = 4096,
		};
	}
	CU_ASSERT_PTR_NULL_FATAL(elf_file_from_bytes(&image, sizeof(image), "made", &elf));
	return elf;
}

static void parse(const char *text, struct proc_maps *maps)
{
	CU_ASSERT_PTR_NULL_FATAL(procparse_maps(text, maps));
}

static struct module module_of(struct elf_file *elf, const struct proc_map *map)
{
	return (struct module){
		.elf = elf,
		.dev_major = map->dev_major,
		.dev_minor = map->dev_minor,
		.inode = map->inode,
		.fd = -1,
	};
}

/*
 * What lld and ld lay out today: headers, code, constants, data with bss; data is one page further
 * than its offset.
 */
static const struct seg usual[] = {
	{ PF_R, 0, 0, 0x1500, 0x1500 },
	{ PF_R | PF_X, 0x2000, 0x2000, 0x4800, 0x4800 },
	{ PF_R, 0x7000, 0x7000, 0x1000, 0x1000 },
	{ PF_R | PF_W, 0x8d00, 0x9d00, 0x400, 0x2000 },
};

#define USUAL_HEADERS	"10000000-10002000 r--p 00000000 08:01 99     /lib/a.so\n"
#define USUAL_TEXT	"10002000-10007000 r-xp 00002000 08:01 99     /lib/a.so\n"
#define USUAL_REST	"10007000-10008000 r--p 00007000 08:01 99     /lib/a.so\n" \
			"10009000-1000a000 r--p 00008000 08:01 99     /lib/a.so\n" \
			"1000a000-1000b000 rw-p 00009000 08:01 99     /lib/a.so\n" \
			"1000b000-1000c000 rw-p 00000000 00:00 0 \n"

/* Place the elf by mapping number at of text; false if it cannot be. */
static bool place(struct elf_file *elf, const char *text, size_t at, struct module *module)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };

	parse(text, &maps);
	*module = module_of(elf, &maps.vec.at[at]);
	return module_layout_bias(elf, &maps.vec.at[at], &module->bias) && module_layout(module,
											 &maps);
}

static void is_usual(const struct module *module)
{
	CU_ASSERT_EQUAL(module->bias, 0x10000000);
	CU_ASSERT_EQUAL(module->start, 0x10000000);
	CU_ASSERT_EQUAL(module->end, 0x1000c000);
	CU_ASSERT_EQUAL(module->exec_start, 0x10002000);
	CU_ASSERT_EQUAL(module->exec_end, 0x10007000);
}

TEST("a library")
{
	struct elf_file *elf = make_elf(ET_DYN, usual, ARRAY_SIZE(usual));
	struct module module;
	size_t at;

	for (at = 0; at < 5; at++) {	/* any of its mappings tells the bias */
		CU_ASSERT_TRUE(place(elf, USUAL_HEADERS USUAL_TEXT USUAL_REST, at, &module));
		is_usual(&module);
	}
	elf_file_close(elf);
}

/* A piece of its code is mapped once more, between memory of others. */
TEST("a piece of a file")
{
	struct elf_file *elf = make_elf(ET_DYN, usual, ARRAY_SIZE(usual));
	struct module module;

	CU_ASSERT_TRUE(place(elf, USUAL_HEADERS USUAL_TEXT USUAL_REST
			     "20002000-20003000 rw-p 00000000 00:00 0 \n"
			     "20003000-20005000 r-xp 00003000 08:01 99     /lib/a.so\n"
			     "20005000-20100000 rw-p 00000000 00:00 0 \n", 7, &module));
	CU_ASSERT_EQUAL(module.bias, 0x20000000);
	CU_ASSERT_EQUAL(module.start, 0x20003000);
	CU_ASSERT_EQUAL(module.end, 0x20005000);
	CU_ASSERT_EQUAL(module.exec_start, 0x20003000);
	CU_ASSERT_EQUAL(module.exec_end, 0x20005000);
	elf_file_close(elf);
}

TEST("text split by mprotect")
{
	struct elf_file *elf = make_elf(ET_DYN, usual, ARRAY_SIZE(usual));
	struct module module;

	/* Made writable in the middle, by somebody who patches. */
	CU_ASSERT_TRUE(place(elf, USUAL_HEADERS
			     "10002000-10004000 r-xp 00002000 08:01 99     /lib/a.so\n"
			     "10004000-10005000 rw-p 00004000 08:01 99     /lib/a.so\n"
			     "10005000-10007000 r-xp 00005000 08:01 99     /lib/a.so\n"
			     USUAL_REST, 3, &module));
	is_usual(&module);
	/* At its end. */
	CU_ASSERT_TRUE(place(elf, USUAL_HEADERS
			     "10002000-10006000 r-xp 00002000 08:01 99     /lib/a.so\n"
			     "10006000-10007000 rwxp 00006000 08:01 99     /lib/a.so\n"
			     USUAL_REST, 1, &module));
	is_usual(&module);
	elf_file_close(elf);
}

TEST("text in anonymous and huge pages")
{
	struct elf_file *elf = make_elf(ET_DYN, usual, ARRAY_SIZE(usual));
	struct module module;

	CU_ASSERT_TRUE(place(elf, USUAL_HEADERS
			     "10002000-10003000 r-xp 00002000 08:01 99     /lib/a.so\n"
			     "10003000-10006000 r-xp 00000000 00:00 0 \n"
			     "10006000-10007000 r-xp 00006000 08:01 99     /lib/a.so\n"
			     USUAL_REST, 1, &module));
	is_usual(&module);
	CU_ASSERT_TRUE(place(
		elf,
		USUAL_HEADERS
		"10002000-10007000 r-xp 00000000 00:0f 5     /anon_hugepage (deleted)\n" USUAL_REST,
		0, &module));
	is_usual(&module);
	/* Gone altogether. */
	CU_ASSERT_FALSE(place(elf, USUAL_HEADERS USUAL_REST, 0, &module));
	elf_file_close(elf);
}

TEST("a program at a fixed address, with a hole")
{
	static const struct seg segs[] = {
		{ PF_R | PF_X, 0, 0x400000, 0x1234, 0x1234 },
		{ PF_R | PF_W, 0x1e10, 0x602e10, 0x200, 0x300 },	/* a hole of 2 MB */
	};
	struct elf_file *elf = make_elf(ET_EXEC, segs, ARRAY_SIZE(segs));
	struct module module;

	CU_ASSERT_TRUE(place(elf,
			     "400000-402000 r-xp 00000000 08:01 99     /bin/a\n"
			     "602000-604000 rw-p 00001000 08:01 99     /bin/a\n", 0, &module));
	CU_ASSERT_EQUAL(module.bias, 0);
	CU_ASSERT_EQUAL(module.start, 0x400000);
	CU_ASSERT_EQUAL(module.end, 0x604000);
	CU_ASSERT_EQUAL(module.exec_start, 0x400000);
	CU_ASSERT_EQUAL(module.exec_end, 0x402000);
	elf_file_close(elf);
}

TEST("a prelinked library")
{
	static const struct seg segs[] = {
		{ PF_R | PF_X, 0, 0x3a00000000, 0x5000, 0x5000 },
		{ PF_R | PF_W, 0x5000, 0x3a00205000, 0x1000, 0x1000 },
	};
	struct elf_file *elf = make_elf(ET_DYN, segs, ARRAY_SIZE(segs));
	struct module module;

	CU_ASSERT_TRUE(place(elf, "3a00000000-3a00005000 r-xp 00000000 08:01 99     /lib/p.so\n", 0,
			     &module));
	CU_ASSERT_EQUAL(module.bias, 0);
	CU_ASSERT_EQUAL(module.exec_start, 0x3a00000000);
	/* Its place was taken. */
	CU_ASSERT_TRUE(place(elf,
			     "7f0000000000-7f0000005000 r-xp 00000000 08:01 99     /lib/p.so\n", 0,
			     &module));
	CU_ASSERT_EQUAL(module.bias, 0x7f0000000000 - 0x3a00000000);
	CU_ASSERT_EQUAL(module.exec_end, 0x7f0000005000);
	elf_file_close(elf);
}

TEST("two texts")
{
	static const struct seg segs[] = {
		{ PF_R | PF_X, 0, 0, 0x1000, 0x1000 },
		{ PF_R, 0x1000, 0x1000, 0x1000, 0x1000 },
		{ PF_R | PF_X, 0x2000, 0x8000, 0x800, 0x800 },
	};
	static const char text[] =
		"20000000-20001000 r-xp 00000000 08:01 99     /lib/t.so\n"
		"20001000-20002000 r--p 00001000 08:01 99     /lib/t.so\n"
		"20008000-20009000 r-xp 00002000 08:01 99     /lib/t.so\n";
	struct elf_file *elf = make_elf(ET_DYN, segs, ARRAY_SIZE(segs));
	struct module module;
	size_t at;

	for (at = 0; at < 3; at++) {
		CU_ASSERT_TRUE(place(elf, text, at, &module));
		CU_ASSERT_EQUAL(module.bias, 0x20000000);
		CU_ASSERT_EQUAL(module.exec_start, 0x20000000);
		CU_ASSERT_EQUAL(module.exec_end, 0x20009000);
	}
	elf_file_close(elf);
}

/* Every mapping is executable in a process of READ_IMPLIES_EXEC; text is still text only. */
TEST("everything executable")
{
	struct elf_file *elf = make_elf(ET_DYN, usual, ARRAY_SIZE(usual));
	struct module module;

	CU_ASSERT_TRUE(place(elf,
			     "10000000-10002000 r-xp 00000000 08:01 99     /lib/a.so\n" USUAL_TEXT
			     "10007000-10008000 r-xp 00007000 08:01 99     /lib/a.so\n",
			     0, &module));
	CU_ASSERT_EQUAL(module.bias, 0x10000000);
	CU_ASSERT_EQUAL(module.exec_start, 0x10002000);
	CU_ASSERT_EQUAL(module.exec_end, 0x10007000);
	elf_file_close(elf);
}

TEST("senseless segments")
{
	static const struct seg segs[] = {
		{ PF_R | PF_X, 0x5000, 0, 0x1000, 0 },
		{ PF_R | PF_X, 0x1000, 0xfffffffffffff000, 0x1000, 0x800 },
		{ PF_R | PF_X, 0xfffffffffffff000, 0x1000, 0xffffffffffffffff, 0x1000 },
		{ PF_R, 0x2000, 0x2000, 0x1000, 0x1000 },
	};
	struct elf_file *elf = make_elf(ET_DYN, segs, ARRAY_SIZE(segs));
	struct module module;

	CU_ASSERT_FALSE(
		place(elf, "10000000-10001000 r-xp 00005000 08:01 99     /x\n", 0, &module));
	CU_ASSERT_FALSE(
		place(elf, "10000000-10001000 r-xp 00001000 08:01 99     /x\n", 0, &module));
	CU_ASSERT_FALSE(
		place(elf, "10000000-10001000 r-xp 00002000 08:01 99     /x\n", 0, &module));
	CU_ASSERT_FALSE(
		place(elf, "10000000-10001000 r-xp 00009000 08:01 99     /x\n", 0, &module));
	elf_file_close(elf);
}

static bool mapped_in(const struct module *module, const char *text)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };

	parse(text, &maps);
	return module_layout_still_mapped(module, &maps);
}

TEST("stays or goes")
{
	struct elf_file *elf = make_elf(ET_DYN, usual, ARRAY_SIZE(usual));
	struct module module;

	CU_ASSERT_TRUE(place(elf, USUAL_HEADERS USUAL_TEXT USUAL_REST, 1, &module));
	CU_ASSERT_TRUE(mapped_in(&module, USUAL_HEADERS USUAL_TEXT USUAL_REST));
	CU_ASSERT_TRUE(mapped_in(&module, USUAL_HEADERS));
	CU_ASSERT_TRUE(
		mapped_in(&module, "10003000-10004000 rw-p 00003000 08:01 99     /lib/a.so\n"));
	CU_ASSERT_FALSE(mapped_in(&module, ""));
	/* The same file elsewhere, another file here, the same file here by another bias. */
	CU_ASSERT_FALSE(
		mapped_in(&module, "20002000-20007000 r-xp 00002000 08:01 99     /lib/a.so\n"));
	CU_ASSERT_FALSE(
		mapped_in(&module, "10002000-10007000 r-xp 00002000 08:01 98     /lib/a.so\n"));
	CU_ASSERT_FALSE(
		mapped_in(&module, "10002000-10007000 r-xp 00002000 08:02 99     /lib/a.so\n"));
	CU_ASSERT_FALSE(
		mapped_in(&module, "10003000-10008000 r-xp 00002000 08:01 99     /lib/a.so\n"));
	CU_ASSERT_FALSE(mapped_in(&module, "10002000-10007000 r-xp 00000000 00:00 0 \n"));
	/* Without its file known, the very mapping must be there. */
	module.elf = NULL;
	module.start = 0x10002000;
	CU_ASSERT_TRUE(mapped_in(&module, USUAL_HEADERS USUAL_TEXT));
	CU_ASSERT_FALSE(
		mapped_in(&module, "10003000-10004000 r-xp 00003000 08:01 99     /lib/a.so\n"));
	CU_ASSERT_FALSE(
		mapped_in(&module, "10002000-10004000 r--p 00003000 08:01 99     /lib/a.so\n"));
	elf_file_close(elf);
}

