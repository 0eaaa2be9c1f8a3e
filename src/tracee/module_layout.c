/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds where a module lies, by comparing its PT_LOAD segments with the mappings of a process. */

#include "tracee/module_new.h"

#include "base/page.h"

struct range {
	uint64_t start, end;
};

static void extend(struct range *range, struct range by)
{
	if (range->start == range->end)
		*range = by;
	range->start = MIN(range->start, by.start);
	range->end = MAX(range->end, by.end);
}

/*
 * The pages of a segment in the process. False if the segment has none, or fits in no address
 * space.
 */
static bool segment_range(const struct elf_segment *segment, uint64_t bias, struct range *ret)
{
	uint64_t end;

	if (!segment->memsz ||
	    __builtin_add_overflow(segment->vaddr, segment->memsz + PAGE - 1, &end))
		return false;
	ret->start = bias + ALIGN_DOWN(segment->vaddr, PAGE);
	ret->end = bias + ALIGN_DOWN(end, PAGE);
	return ret->start < ret->end;
}

/* What start - offset of a mapping of the segment is, if the bias is 0. */
static uint64_t segment_slide(const struct elf_segment *segment)
{
	return ALIGN_DOWN(segment->vaddr, PAGE) - ALIGN_DOWN(segment->offset, PAGE);
}

static bool segment_has_offset(const struct elf_segment *segment, uint64_t offset)
{
	uint64_t start = ALIGN_DOWN(segment->offset, PAGE);

	return segment->filesz && offset >= start &&
	       offset - start < segment->filesz + (segment->offset - start);
}

bool module_layout_bias(const struct elf_file *elf, const struct proc_map *map, uint64_t *bias_ret)
{
	size_t nr;
	const struct elf_segment *segment = elf_file_segments(elf, &nr);

	for (size_t pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < nr; i++) {
			struct range range;

			if (segment[i].exec != !pass ||
			    !segment_has_offset(&segment[i], map->offset) ||
			    !segment_range(&segment[i], 0, &range))
				continue;
			*bias_ret = map->start - map->offset - segment_slide(&segment[i]);
			return true;
		}
	}
	return false;
}

bool module_layout_maps_file(const struct module *module, const struct proc_map *map)
{
	return module_file_same(map, module->dev_major, module->dev_minor, module->inode);
}

/* The index of the first mapping that ends above addr. */
static size_t first_map(const struct proc_maps *maps, uint64_t addr)
{
	return LOWER_BOUND(i, 0, maps->vec.nr, maps->vec.at[i].end <= addr);
}

/*
 * The part of an executable segment that is mapped. It includes all executable mappings there, of
 * the file or of memory that has replaced it, and parts of the file that are not executable at this
 * moment.
 */
static void extend_by_segment(struct range *exec, const struct module *module,
			      const struct proc_maps *maps, struct range segment)
{
	for (size_t i = first_map(maps, segment.start); i < maps->vec.nr; i++) {
		const struct proc_map *map = &maps->vec.at[i];
		const struct range part = {
			MAX(map->start, segment.start), MIN(map->end, segment.end),
		};

		if (map->start >= segment.end)
			break;
		if ((map->exec || module_layout_maps_file(module, map)) && part.start < part.end)
			extend(exec, part);
	}
}

/*
 * If only a part of the code is mapped, the module is that part: a program may map some of its own
 * file a second time (V8 does so with its builtins, near the code that it makes). The memory around
 * that part belongs to others.
 */
bool module_layout(struct module *module, const struct proc_maps *maps)
{
	struct range all = { 0, 0 }, code = { 0, 0 }, exec = { 0, 0 }, range;
	size_t nr;
	const struct elf_segment *segment = elf_file_segments(module->elf, &nr);

	for (size_t i = 0; i < nr; i++) {
		if (!segment_range(&segment[i], module->bias, &range))
			continue;
		extend(&all, range);
		if (!segment[i].exec)
			continue;
		extend(&code, range);
		extend_by_segment(&exec, module, maps, range);
	}
	if (exec.start != code.start || exec.end != code.end)
		all = exec;
	module->start = all.start;
	module->end = all.end;
	module->exec_start = exec.start;
	module->exec_end = exec.end;
	return exec.start < exec.end;
}

bool module_layout_is_vdso(const struct proc_map *map)
{
	return !strcmp(map->path, "[vdso]");
}

/* Does map lie where the module's segments put it? */
static bool belongs(const struct module *module, const struct proc_map *map)
{
	size_t nr;
	const struct elf_segment *segment;

	if (!module->inode)
		return module_layout_is_vdso(map) && map->start == module->start;
	if (!module_layout_maps_file(module, map))
		return false;
	if (!module->elf)
		return map->exec && map->start == module->start;
	segment = elf_file_segments(module->elf, &nr);
	for (size_t i = 0; i < nr; i++) {
		if (segment_has_offset(&segment[i], map->offset) &&
		    map->start - map->offset == module->bias + segment_slide(&segment[i]))
			return true;
	}
	return false;
}

bool module_layout_still_mapped(const struct module *module, const struct proc_maps *maps)
{
	for (size_t i = first_map(maps, module->start); i < maps->vec.nr; i++) {
		if (maps->vec.at[i].start >= module->end)
			break;
		if (belongs(module, &maps->vec.at[i]))
			return true;
	}
	return false;
}
