/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names of mapped files, from mappings made by hand. */

#include "growth/mapped_files.h"

#include <sys/mman.h>

#include "growth/growth_replay.h"
#include "unit.h"

#define STEP	0x1000ull

static struct mapped_files files;
static struct growth_replay replay;
static uint64_t now, number;

static uint64_t no_size(void *ctx, uint64_t id, uint64_t address)
{
	(void)ctx;
	(void)id;
	(void)address;
	return 0;
}

/* Replay a call that was entered at `entered` and has returned by now; returns its number. */
static uint64_t call(struct growth_event event, uint64_t entered)
{
	const struct growth_world world = { .shm_size = no_size };

	event.number = ++number;
	event.entered = entered;
	event.left = ++now;
	mapped_files_event(&files, &event);
	CU_ASSERT_PTR_NULL_FATAL(growth_replay_event(&replay, &event, &world));
	return number;
}

static uint64_t map(uint64_t at, uint64_t pages, uint64_t flags, uint64_t offset)
{
	return call((struct growth_event){ .call = GROWTH_CALL_MMAP, .result = at,
					   .arg = { 0, pages * STEP, 0, flags, 3, offset } },
		    ++now);
}

static void unmap(uint64_t at, uint64_t pages, uint64_t entered)
{
	call((struct growth_event){ .call = GROWTH_CALL_MUNMAP, .arg = { at, pages * STEP } },
	     entered);
}

/* A page is moved. */
static void move(uint64_t from, uint64_t to)
{
	call((struct growth_event){ .call = GROWTH_CALL_MREMAP, .result = to,
				    .arg = { from, STEP, STEP, MREMAP_MAYMOVE } }, ++now);
}

/* A look at one mapping, which was read since `began`. */
static void look_since(uint64_t began, uint64_t start, uint64_t pages, uint64_t offset,
		       const char *path)
{
	struct proc_map map = { .start = start, .end = start + pages * STEP, .offset = offset,
				.path = strdup(path) };
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };

	CU_ASSERT_PTR_NULL_FATAL(vec_push(&maps.vec, map));
	mapped_files_settle(&files);
	mapped_files_look(&files, &replay.held, &maps, began, ++now);
}

static void look(uint64_t start, uint64_t pages, uint64_t offset, const char *path)
{
	look_since(++now, start, pages, offset, path);
}

static bool is_known(uint64_t event, const char *name)
{
	const char *got = mapped_file_name(&files.known, event);

	return name ? got && !strcmp(got, name) : !got;
}

static void begin(void)
{
	replay = (struct growth_replay){ .kinds = 1u << HELD_MMAP };
	now = number = 0;
}

static void end(void)
{
	mapped_files_free(&files);
	growth_replay_free(&replay);
	files = (struct mapped_files)MAPPED_FILES_INIT;
}

EACH(begin, end);

TEST("known")
{
	CLEANUP(mapped_file_list_free) struct mapped_file_list copy = { VEC_INIT };
	uint64_t first, second, third;

	first = map(8 * STEP, 4, MAP_PRIVATE, 2 * STEP);
	look(8 * STEP, 4, 2 * STEP, "/a b");
	CU_ASSERT(is_known(first, NULL));	/* not before the next events */
	mapped_files_settle(&files);
	CU_ASSERT(is_known(first, "/a b"));
	/* It stays known when it has gone; a part that has moved tells as well. */
	unmap(8 * STEP, 4, ++now);
	CU_ASSERT(is_known(first, "/a b"));
	second = map(8 * STEP, 4, MAP_SHARED, 0);
	unmap(8 * STEP, 1, ++now);
	call((struct growth_event){ .call = GROWTH_CALL_MREMAP, .result = 64 * STEP,
				    .arg = { 9 * STEP, 3 * STEP, 3 * STEP, MREMAP_MAYMOVE } },
	     ++now);
	look(64 * STEP, 3, STEP, "/b");
	third = map(8 * STEP, 1, MAP_PRIVATE, 0);
	look(64 * STEP, 3, STEP, "/b");
	mapped_files_settle(&files);
	CU_ASSERT(is_known(second, "/b") && is_known(third, NULL));
	CU_ASSERT_PTR_NULL(mapped_files_copy(&files, &copy));
	CU_ASSERT_STRING_EQUAL(mapped_file_name(&copy, first), "/a b");
	CU_ASSERT_PTR_NULL(mapped_file_name(&copy, number + 1));
}

/* The mapping is that of a later call, whose event comes after the look. */
TEST("addresses that are used again")
{
	uint64_t first, second, third, looked;

	first = map(8 * STEP, 4, MAP_PRIVATE, 0);
	look(8 * STEP, 2, 0, "/second");
	unmap(8 * STEP, 4, 1);			/* entered before the look */
	second = map(8 * STEP, 2, MAP_PRIVATE, 0);
	look(8 * STEP, 2, 0, "/second");
	looked = now;
	unmap(8 * STEP, 2, looked + 1);		/* entered behind it */
	mapped_files_settle(&files);
	CU_ASSERT(is_known(first, NULL) && is_known(second, "/second"));
	/* Covered at once, and covered elsewhere. */
	third = map(8 * STEP, 2, MAP_PRIVATE, 0);
	look(8 * STEP, 2, 0, "/fourth");
	looked = now;
	call((struct growth_event){ .call = GROWTH_CALL_MMAP, .result = 8 * STEP,
				    .arg = { 0, STEP, 0, MAP_PRIVATE | MAP_FIXED, 3, 0 } },
	     looked);
	mapped_files_settle(&files);
	CU_ASSERT(is_known(third, NULL));
}

/* The mapping is that of an earlier call: it was read before the last one, whose event was. */
TEST("mappings that were read too early")
{
	uint64_t first, second, began;

	first = map(8 * STEP, 1, MAP_PRIVATE | MAP_FIXED, 0);
	began = ++now;
	second = map(8 * STEP, 2, MAP_PRIVATE | MAP_FIXED, 0);
	look_since(began, 8 * STEP, 1, 0, "/first");
	mapped_files_settle(&files);
	CU_ASSERT(is_known(first, NULL) && is_known(second, NULL));
	/* The next look is in time for the second one. */
	look(8 * STEP, 2, 0, "/second");
	mapped_files_settle(&files);
	CU_ASSERT(is_known(first, NULL) && is_known(second, "/second"));
	/* A mremap has moved it to the place of another one meanwhile. */
	first = map(16 * STEP, 1, MAP_PRIVATE, 0);
	began = ++now;
	move(16 * STEP, 32 * STEP);
	look_since(began, 32 * STEP, 1, 0, "/before it");
	mapped_files_settle(&files);
	CU_ASSERT(is_known(first, NULL));
	look(32 * STEP, 1, 0, "/first");
	mapped_files_settle(&files);
	CU_ASSERT(is_known(first, "/first"));
}

/* While a call waits for the next look, a later one is known. */
TEST("known after a later one")
{
	uint64_t first, second, began;

	first = map(16 * STEP, 1, MAP_PRIVATE, 0);
	second = map(8 * STEP, 1, MAP_PRIVATE, 0);
	began = ++now;
	move(16 * STEP, 32 * STEP);
	look_since(began, 8 * STEP, 1, 0, "/second");
	look(32 * STEP, 1, 0, "/first");
	CU_ASSERT(is_known(first, NULL) && is_known(second, "/second"));
	mapped_files_settle(&files);
	CU_ASSERT(is_known(first, "/first") && is_known(second, "/second"));
}

/* An event of a call that nobody waited for any more shows that the name was another's. */
TEST("taken back")
{
	uint64_t first, second, looked;

	first = map(8 * STEP, 2, MAP_PRIVATE, 0);
	second = map(16 * STEP, 2, MAP_PRIVATE, 0);
	look(8 * STEP, 2, 0, "/first");
	looked = now;
	mapped_files_settle(&files);
	CU_ASSERT(is_known(first, "/first") && is_known(second, NULL));
	unmap(8 * STEP, 2, looked + 1);
	CU_ASSERT(is_known(first, "/first"));
	unmap(8 * STEP, 2, looked - 1);
	CU_ASSERT(is_known(first, NULL));
}

/* Other mappings than that of the call, and calls that have none. */
TEST("not found")
{
	static const struct {
		uint64_t start, offset;
		const char *path;
	} others[] = {
		{ 8, 1, "/file" }, { 40, 0, "/file" }, { 8, 0, "" }, { 8, 0, "[heap]" },
	};
	uint64_t event;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		event = map(8 * STEP, 2, MAP_PRIVATE | MAP_FIXED, 0);
		look(others[i].start * STEP, 2, others[i].offset * STEP, others[i].path);
		look(8 * STEP, 2, 0, "/later");
		mapped_files_settle(&files);
		CU_ASSERT(is_known(event, NULL));
	}
	event = map(8 * STEP, 2, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, 0);
	look(8 * STEP, 2, 0, "/file");
	mapped_files_settle(&files);
	CU_ASSERT(is_known(event, NULL));
	event = map(UINT64_MAX, 2, MAP_PRIVATE, 0);
	look(UINT64_MAX - STEP, 1, 0, "/file");
	/* Nothing is known of what was asked for before events were lost. */
	event = map(8 * STEP, 2, MAP_PRIVATE | MAP_FIXED, 0);
	mapped_files_lose(&files);
	look(8 * STEP, 2, 0, "/file");
	mapped_files_settle(&files);
	CU_ASSERT(is_known(event, NULL) && !files.known.vec.nr);
}

/* The newest stay. */
TEST("many")
{
	uint64_t last = 0;

	for (unsigned i = 0; i < MAPPED_FILES_MAX + 10; i++) {
		last = map(8 * STEP, 1, MAP_PRIVATE | MAP_FIXED, 0);
		look(8 * STEP, 1, 0, "/file");
	}
	mapped_files_settle(&files);
	CU_ASSERT(is_known(last, "/file") && is_known(1, NULL));
	CU_ASSERT(files.known.vec.nr <= MAPPED_FILES_MAX &&
		  files.known.vec.nr >= MAPPED_FILES_MAX / 2);
}
