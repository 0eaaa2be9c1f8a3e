/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The mappings of a process as its core file has them. */

#include "tracee/core_maps.h"

#include <elf.h>

#include "base/page.h"

#define HEADERS_MAX	1024u	/* program headers read at most */
#define VSYSCALL	0xffffffffff600000ull

static struct err *add(struct proc_maps *maps, uint64_t start, uint64_t end,
		       const struct core_segment *segment, const struct core_mapped *mapped,
		       bool has_mapped)
{
	struct proc_map map = {
		.start = start,
		.end = end,
		.read = segment && segment->read,
		.write = segment && segment->write,
		.exec = segment && segment->exec,
		.unknown_protection = !segment,
		/* Shared memory without a name has a file for the kernel, "/dev/zero". */
		.unknown_sharing = mapped || !has_mapped,
		.offset = mapped ? mapped->offset + (start - mapped->start) : 0,
		.deleted = mapped && mapped->deleted,
		.path = strdup(mapped ? mapped->path : ""),
	};
	struct err *err = map.path ? vec_push(&maps->vec, map) : err_nomem;

	if (err)
		free(map.path);
	return err;
}

/* The range from `at` to the next beginning or end of a segment or file. */
struct sweep {
	const struct core_file *file;
	size_t next_segment, next_mapped;
	/* the first that ends behind `at`; NULL: none does */
	const struct core_segment *segment;
	const struct core_mapped *mapped;
	uint64_t at;
};

static bool sweep_skip(struct sweep *sweep)
{
	const struct core_file *file = sweep->file;
	size_t *segment = &sweep->next_segment, *mapped = &sweep->next_mapped;

	while (*segment < file->segments.nr && file->segments.at[*segment].end <= sweep->at)
		(*segment)++;
	while (*mapped < file->mapped.nr && file->mapped.at[*mapped].end <= sweep->at)
		(*mapped)++;
	sweep->segment = *segment < file->segments.nr ? &file->segments.at[*segment] : NULL;
	sweep->mapped = *mapped < file->mapped.nr ? &file->mapped.at[*mapped] : NULL;
	return sweep->segment || sweep->mapped;
}

static struct err *lay_out(const struct core_file *file, struct proc_maps *maps)
{
	struct sweep sweep = { .file = file };
	struct err *err = NULL;

	while (!err && sweep_skip(&sweep)) {
		const struct core_segment *segment = sweep.segment;
		const struct core_mapped *mapped = sweep.mapped;
		uint64_t start = MIN(segment ? MAX(segment->start, sweep.at) : UINT64_MAX,
				     mapped ? MAX(mapped->start, sweep.at) : UINT64_MAX);
		bool in_segment = segment && segment->start <= start;
		bool in_mapped = mapped && mapped->start <= start;
		uint64_t end = MIN(!segment ? UINT64_MAX :
					      in_segment ? segment->end : segment->start,
				   !mapped ? UINT64_MAX : in_mapped ? mapped->end : mapped->start);

		err = add(maps, start, end, in_segment ? segment : NULL, in_mapped ? mapped : NULL,
			  file->has_mapped);
		sweep.at = end;
	}
	return err;
}

/* Mappings of a file mostly lie side by side, so the last ones are asked first. */
static void number_files(struct proc_maps *maps)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < maps->vec.nr; i++) {
		struct proc_map *map = &maps->vec.at[i];

		for (size_t j = i; *map->path && j-- > 0 && !map->inode;)
			if (!strcmp(maps->vec.at[j].path, map->path))
				map->inode = maps->vec.at[j].inode;
		if (*map->path && !map->inode)
			map->inode = ++nr;
	}
}

static struct proc_map *find(struct proc_maps *maps, uint64_t addr)
{
	const struct proc_map *map = procparse_maps_find(maps, addr);

	return map ? &maps->vec.at[map - maps->vec.at] : NULL;
}

static struct err *name_map(struct proc_map *map, const char *name)
{
	char *copy;

	if (!map || *map->path)
		return NULL;
	copy = strdup(name);
	if (!copy)
		return err_nomem;
	free(map->path);
	map->path = copy;
	return NULL;
}

struct err *core_maps_name(struct proc_maps *maps, uint64_t addr, const char *name)
{
	return name_map(find(maps, addr), name);
}

/* The vDSO's data: a mapping that is read-only, has no file, and is not in the core. */
static struct err *name_vvar(const struct core_file *file, struct proc_maps *maps, uint64_t vdso)
{
	struct proc_map *map = find(maps, vdso);
	struct err *err = NULL;

	while (!err && map && map > maps->vec.at && map[-1].end == map->start) {
		uint64_t word;

		map--;
		if (*map->path || !map->read || map->write || map->exec ||
		    !memory_read_u64((struct memory *)&file->memory, map->start, &word))
			break;
		err = name_map(map, "[vvar]");
	}
	return err;
}

static struct err *name_maps(const struct core_file *file, struct proc_maps *maps)
{
	uint64_t address;
	struct err *err = NULL;

	if (!core_file_auxv(file, AT_RANDOM, &address))
		err = core_maps_name(maps, address, "[stack]");
	if (!err && !core_file_auxv(file, AT_SYSINFO_EHDR, &address)) {
		err = core_maps_name(maps, address, "[vdso]");
		if (!err)
			err = name_vvar(file, maps, address);
	}
	return err ? err : core_maps_name(maps, VSYSCALL, "[vsyscall]");
}

struct err *core_maps_build(const struct core_file *file, struct proc_maps *ret)
{
	struct proc_maps maps = { VEC_INIT };
	struct err *err = lay_out(file, &maps);

	if (!err) {
		number_files(&maps);
		err = name_maps(file, &maps);
	}
	if (err)
		procparse_maps_free(&maps);
	else
		*ret = maps;
	return err;
}

const struct proc_map *core_maps_header(const struct proc_maps *maps, const struct proc_map *map)
{
	for (const struct proc_map *below = map;; below--) {
		if (below->inode == map->inode && !below->offset)
			return below;
		if (below == maps->vec.at)
			return NULL;
	}
}

/* Later segments are mapped over earlier ones. */
void core_maps_protect(struct proc_map *map, const struct proc_map *header, struct memory *elf,
		       uint64_t at)
{
	Elf64_Ehdr head;
	Elf64_Phdr segment;
	uint64_t bias = 0;
	bool has_bias = false;

	if (memory_read(elf, at, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(segment))
		return;
	for (unsigned i = 0; i < MIN(head.e_phnum, HEADERS_MAX); i++) {
		if (memory_read(elf, at + head.e_phoff + i * sizeof(segment), &segment,
				sizeof(segment)))
			return;
		if (segment.p_type != PT_LOAD)
			continue;
		if (!has_bias && segment.p_offset < PAGE)
			bias = header->start - ALIGN_DOWN(segment.p_vaddr, PAGE);
		has_bias |= segment.p_offset < PAGE;
		if (!has_bias || map->start < bias + ALIGN_DOWN(segment.p_vaddr, PAGE) ||
		    map->start - bias >= segment.p_vaddr + segment.p_memsz)
			continue;
		map->read = segment.p_flags & PF_R;
		map->write = segment.p_flags & PF_W;
		map->exec = segment.p_flags & PF_X;
		map->unknown_protection = false;
	}
}
