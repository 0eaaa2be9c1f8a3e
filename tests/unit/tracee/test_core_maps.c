/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mappings out of a core file's segments and its list of files. */

#include "tracee/core_maps.h"

#include <elf.h>

#include "memory_array.h"
#include "unit.h"

static struct core_segment segment[] = {
	{ .start = 0x1000, .end = 0x2000, .len = 0x1000, .read = true },
	{ .start = 0x2000, .end = 0x4000, .read = true, .exec = true },
	{ .start = 0x4000, .end = 0x6000, .len = 0x2000, .read = true, .write = true },
	{ .start = 0x8000, .end = 0x9000, .len = 0x1000, .read = true, .write = true },
	{ .start = 0xa000, .end = 0xb000, .read = true },
	{ .start = 0xb000, .end = 0xc000, .read = true },
	{ .start = 0xc000, .end = 0xd000, .len = 0x1000, .read = true, .exec = true },
	{ .start = 0xe000, .end = 0xf000, .len = 0x1000, .read = true, .write = true },
};

static char prog[] = "/bin/prog", lib[] = "/lib/lib.so";

static struct core_mapped mapped[] = {
	{ .start = 0x1000, .end = 0x2000, .path = prog },
	{ .start = 0x2000, .end = 0x5000, .offset = 0x1000, .path = prog },
	{ .start = 0x6000, .end = 0x7000, .path = lib, .deleted = true },
	{ .start = 0x7000, .end = 0x8000, .offset = 0x1000, .path = lib, .deleted = true },
};

static uint64_t auxv[] = { AT_RANDOM, 0xe010, AT_SYSINFO_EHDR, 0xc000, 0, 0 };

/* As much is there as the segments say; it is all zeros. */
static struct err *read_zeros(struct memory *memory UNUSED, uint64_t addr, void *buf, size_t len,
			      size_t *len_ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(segment); i++) {
		if (addr < segment[i].start || addr - segment[i].start >= segment[i].len)
			continue;
		*len_ret = MIN(len, segment[i].start + segment[i].len - addr);
		memset(buf, 0, *len_ret);
		return NULL;
	}
	return err_create(ERR_MEMORY, "nothing there");
}

static struct core_file core = {
	.memory = { .read = read_zeros },
	.segments = { segment, ARRAY_SIZE(segment), ARRAY_SIZE(segment) },
	.mapped = { mapped, ARRAY_SIZE(mapped), ARRAY_SIZE(mapped) },
	.auxv = auxv,
	.auxv_len = sizeof(auxv),
	.has_mapped = true,
};

static void check_map(const struct proc_map *map, uint64_t start, uint64_t end, const char *text,
		      uint64_t inode, uint64_t offset, const char *path)
{
	char protection[5];

	procparse_map_protection(map, protection);
	CU_ASSERT_EQUAL(map->start, start);
	CU_ASSERT_EQUAL(map->end, end);
	CU_ASSERT_STRING_EQUAL(protection, text);
	CU_ASSERT_EQUAL(map->inode, inode);
	CU_ASSERT_EQUAL(map->offset, offset);
	CU_ASSERT_STRING_EQUAL(map->path, path);
}

TEST("segments and files")
{
	const struct proc_map *map;
	CLEANUP(procparse_maps_free) struct proc_maps maps;

	CU_ASSERT_PTR_NULL_FATAL(core_maps_build(&core, &maps));
	CU_ASSERT_EQUAL_FATAL(maps.vec.nr, 11);
	map = maps.vec.at;
	check_map(&map[0], 0x1000, 0x2000, "r--?", 1, 0, prog);
	check_map(&map[1], 0x2000, 0x4000, "r-x?", 1, 0x1000, prog);
	/* A segment of which the file has a part. */
	check_map(&map[2], 0x4000, 0x5000, "rw-?", 1, 0x3000, prog);
	check_map(&map[3], 0x5000, 0x6000, "rw-p", 0, 0, "");
	/* Files without a segment. */
	check_map(&map[4], 0x6000, 0x7000, "????", 2, 0, lib);
	check_map(&map[5], 0x7000, 0x8000, "????", 2, 0x1000, lib);
	CU_ASSERT_TRUE(map[4].deleted);
	check_map(&map[6], 0x8000, 0x9000, "rw-p", 0, 0, "");
	check_map(&map[7], 0xa000, 0xb000, "r--p", 0, 0, "[vvar]");
	check_map(&map[8], 0xb000, 0xc000, "r--p", 0, 0, "[vvar]");
	check_map(&map[9], 0xc000, 0xd000, "r-xp", 0, 0, "[vdso]");
	check_map(&map[10], 0xe000, 0xf000, "rw-p", 0, 0, "[stack]");
	CU_ASSERT_PTR_NULL(core_maps_name(&maps, 0x8fff, "[heap]"));
	CU_ASSERT_STRING_EQUAL(map[6].path, "[heap]");
	/* One that has a name keeps it; where nothing is, nothing is named. */
	CU_ASSERT_PTR_NULL(core_maps_name(&maps, 0x1000, "[heap]"));
	CU_ASSERT_STRING_EQUAL(map[0].path, prog);
	CU_ASSERT_PTR_NULL(core_maps_name(&maps, 0x9000, "[heap]"));
}

/* Without a list of files it is not known what is shared. */
TEST("no list of files")
{
	struct core_file without = core;
	CLEANUP(procparse_maps_free) struct proc_maps maps;

	without.mapped.nr = 0;
	without.has_mapped = false;
	without.auxv_len = 0;
	CU_ASSERT_PTR_NULL_FATAL(core_maps_build(&without, &maps));
	CU_ASSERT_EQUAL_FATAL(maps.vec.nr, ARRAY_SIZE(segment));
	check_map(&maps.vec.at[2], 0x4000, 0x6000, "rw-?", 0, 0, "");
	check_map(&maps.vec.at[7], 0xe000, 0xf000, "rw-?", 0, 0, "");
}

/* The program headers tell what the core does not. */
TEST("protection by program headers")
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segment[4];
	} file = {
		.header = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB },
			.e_phoff = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 4,
		},
		.segment = {
			{ .p_type = PT_LOAD, .p_flags = PF_R, .p_memsz = 0x700, .p_filesz = 0x700 },
			{ .p_type = PT_NOTE, .p_flags = PF_R | PF_W, .p_memsz = 0x10000 },
			{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = 0x1000,
			  .p_vaddr = 0x1000, .p_memsz = 0x234 },
			{ .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_offset = 0x1234,
			  .p_vaddr = 0x2234, .p_memsz = 0x2000 },
		},
	};
	struct memory_array bytes;
	CLEANUP(procparse_maps_free) struct proc_maps maps;
	struct proc_map *map, far;

	CU_ASSERT_PTR_NULL_FATAL(core_maps_build(&core, &maps));
	map = maps.vec.at;
	CU_ASSERT_PTR_EQUAL(core_maps_header(&maps, &map[5]), &map[4]);
	CU_ASSERT_PTR_EQUAL(core_maps_header(&maps, &map[2]), &map[0]);
	CU_ASSERT_PTR_EQUAL(core_maps_header(&maps, &map[4]), &map[4]);
	memory_array_init(&bytes, &file, 0x50, sizeof(file));
	core_maps_protect(&map[5], &map[4], &bytes.memory, 0x50);
	check_map(&map[5], 0x7000, 0x8000, "r-x?", 2, 0x1000, lib);
	far = map[4];
	far.start = 0x9000;
	core_maps_protect(&far, &map[4], &bytes.memory, 0x50);
	CU_ASSERT(far.write && !far.unknown_protection);
	/* Where none of them is, nothing is known. */
	far = map[4];
	far.start = 0xb000;
	core_maps_protect(&far, &map[4], &bytes.memory, 0x50);
	CU_ASSERT_TRUE(far.unknown_protection);
	file.header.e_ident[0] = 0;
	core_maps_protect(&map[4], &map[4], &bytes.memory, 0x50);
	CU_ASSERT_TRUE(map[4].unknown_protection);
	file.header.e_ident[0] = 0x7f;
	file.header.e_phnum = 5;	/* more than are there */
	core_maps_protect(&map[4], &map[4], &bytes.memory, 0x50);
	CU_ASSERT_FALSE(map[4].unknown_protection);
}
