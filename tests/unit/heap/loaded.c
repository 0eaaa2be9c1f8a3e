/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A real allocator, loaded beside the C library (loaded.h). */

#include "loaded.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/page.h"
#include "log/log.h"

#define LIBRARIES	"/usr/lib/x86_64-linux-gnu/"

static const struct heap_map *map_of(const struct loaded *loaded, uint64_t address)
{
	vec_each(map, &loaded->maps)
		if (address >= map->start && address < map->end)
			return map;
	return NULL;
}

static void note(struct loaded *loaded, uint64_t address, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i + 8 <= len; i += 8) {
		uint64_t word;

		memcpy(&word, bytes + i, sizeof(word));
		if (word && vec_push(&loaded->noted, address + i))
			abort();
	}
}

/* A plain copy would be of memory that a sanitizer guards. */
static size_t copy(uint64_t address, void *buf, size_t len)
{
	const struct iovec to = { buf, len }, from = { (void *)address, len };
	ssize_t got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);

	return got < 0 ? 0 : (size_t)got;
}

uint64_t loaded_word(uint64_t address)
{
	uint64_t word;

	return copy(address, &word, sizeof(word)) == sizeof(word) ? word : 0;
}

static struct err *read_own(struct memory *memory, uint64_t address, void *buf, size_t len,
			    size_t *len_ret)
{
	struct loaded *loaded = (struct loaded *)memory;
	const struct heap_map *map = map_of(loaded, address);


	len = map ? copy(address, buf, MIN(len, (size_t)(map->end - address))) : 0;
	if (!len)
		return err_create(ERR_MEMORY, "cannot read memory at 0x%" PRIx64, address);
	vec_each(change, &loaded->changes)
		for (unsigned i = 0; change->address + 7 - address < len + 7 && i < 8; i++)
			if (change->address + i - address < len)
				((uint8_t *)buf)[change->address + i - address] =
					(uint8_t)(change->word >> i * 8);
	if (loaded->note && address % 8 == 0)
		note(loaded, address, buf, len);
	*len_ret = len;
	return NULL;
}

void *loaded_function(const struct loaded *loaded, const char *name)
{
	void *fn = dlsym(loaded->handle, name);

	if (!fn)
		abort();
	return fn;
}

/* The end of its bss; the mapping may go on with somebody else's memory. */
static uint64_t end_of(const struct link_map *link)
{
	const ElfW(Ehdr) *head = (const void *)link->l_addr;
	const ElfW(Phdr) *part = (const void *)(link->l_addr + head->e_phoff);
	uint64_t end = 0;

	for (unsigned i = 0; i < head->e_phnum; i++)
		if (part[i].p_type == PT_LOAD)
			end = MAX(end, part[i].p_vaddr + part[i].p_memsz);
	return link->l_addr + ALIGN_UP(end, PAGE);
}

static void add_data(struct loaded *loaded, struct heap_map map, uint64_t end)
{
	map.end = MIN(map.end, end);
	if (map.start < map.end && vec_push(&loaded->data, map))
		abort();
}

void loaded_look(struct loaded *loaded)
{
	const struct link_map *link = loaded->handle;
	uint64_t end = end_of(link);
	FILE *file = fopen("/proc/self/maps", "r");
	bool own = false;
	char line[512];

	vec_clear(&loaded->maps);
	vec_clear(&loaded->data);
	while (file && fgets(line, sizeof(line), file)) {
		struct heap_map map = { .start = 0 };
		char mode[5];

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &map.start, &map.end, mode) != 3)
			abort();
		/* Its bss follows what is mapped of its file. */
		own = strstr(line, strrchr(link->l_name, '/')) || (own && !strchr(line, '/') &&
				!strchr(line, '['));
		map.brk = strstr(line, "[heap]");
		map.anonymous = !strchr(line, '/');
		if (strcmp(mode, "rw-p") != 0)
			continue;
		if (vec_push(&loaded->maps, map))
			abort();
		if (own)
			add_data(loaded, map, end);
	}
	if (!file)
		abort();
	fclose(file);
	loaded->libc = (struct heap_libc){ .data = loaded->data.at, .nr_data = loaded->data.nr };
	loaded->source.map = loaded->maps.at;
	loaded->source.nr_maps = loaded->maps.nr;
}

bool loaded_open(struct loaded *loaded, const char *file)
{
	char path[256];

	snprintf(path, sizeof(path), LIBRARIES "%s", file);
	*loaded = (struct loaded){ .memory.read = read_own };
	loaded->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	loaded->source = (struct heap_source){ .memory = &loaded->memory, .libc = &loaded->libc,
					       .nr_libcs = 1, .all_threads = true };
	return loaded->handle;
}

void loaded_change(struct loaded *loaded, uint64_t address, uint64_t word)
{
	if (vec_push(&loaded->changes, ((struct loaded_change){ address, word })))
		abort();
}

void loaded_close(struct loaded *loaded)
{
	vec_free(&loaded->maps);
	vec_free(&loaded->data);
	vec_free(&loaded->changes);
	vec_free(&loaded->noted);
}

static const char *check_chunk(const struct heap_walk *walk, const struct heap_chunk *chunk,
			       uint64_t behind)
{
	size_t span = LOWER_BOUND(i, 0, walk->spans.nr, walk->spans.at[i].end <= chunk->address);

	if (chunk->address < behind)
		return "chunks overlap";
	if (!chunk->bare || !chunk->size || chunk->note || chunk->kind >= CHUNK_KINDS)
		return "a chunk is none";
	if (chunk->heap >= walk->arenas.nr && chunk->heap != LOG_HEAP_MMAP)
		return "a chunk of no heap";
	if (span == walk->spans.nr || walk->spans.at[span].start > chunk->address ||
	    walk->spans.at[span].end < chunk->address + chunk->size ||
	    walk->spans.at[span].heap != chunk->heap)
		return "a chunk is in no span of its heap";
	return NULL;
}

const char *loaded_check(const struct heap_walk *walk)
{
	struct chunk_at at = heap_chunks_start();
	uint64_t bytes[CHUNK_KINDS] = { 0 }, nr = 0, behind = 0;
	const char *wrong = NULL;
	struct heap_chunk chunk;

	for (; !wrong && heap_chunks_next(&walk->chunks, &at, &chunk); nr++) {
		wrong = check_chunk(walk, &chunk, behind);
		behind = chunk.address + chunk.size;
		if (chunk.heap < walk->arenas.nr)
			bytes[chunk.kind] += chunk.size;
	}
	vec_each(arena, &walk->arenas)
		for (unsigned i = 0; i < CHUNK_KINDS; i++)
			bytes[i] -= arena->bytes[i];
	for (unsigned i = 0; i < CHUNK_KINDS && !wrong; i++)
		wrong = bytes[i] ? "sums are wrong" : NULL;
	if (!wrong && nr != walk->chunks.nr)
		wrong = "there are more chunks, or less";
	if (!wrong && walk->damage.nr > HEAP_DAMAGE_MAX)
		wrong = "too much damage is listed";
	return wrong;
}
