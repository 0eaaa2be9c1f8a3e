/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a walk of the heaps is told of a view. */

#include "inspect/heap_view.h"
#include "os/memory_limits.h"
#include "probe/allocators.h"
#include "view_world.h"

#define INSIDE	0x20000ull	/* an address that a thread inside the allocator has in hand */
#define LOOSE	0x20040ull	/* of a chunk that the walk has found by it */

static struct heap_source source;	/* as the walk has seen it */
static struct heap_map first_map;
static uint64_t first_word;
static struct err *answer;

static struct err *fake_walk(const struct heap_source *of, struct heap_walk *ret)
{
	source = *of;
	if (of->nr_maps)
		first_map = of->map[0];
	if (of->nr_in_flight)
		first_word = of->in_flight_word[0];
	return answer ? answer : vec_push(&ret->loose, LOOSE);
}

static const struct allocator allocator = { .walk = fake_walk };

static struct err *other_answer;	/* NULL: it has an arena, with damage */

static struct err *other_walk(const struct heap_source *of UNUSED, struct heap_walk *ret)
{
	if (other_answer)
		return other_answer;
	ret->damages = 1;
	ret->unknown_libcs = 1;
	return vec_push(&ret->arenas, ((struct heap_arena){ .bare = true }));
}

static const struct allocator other = { .walk = other_walk };

static struct memory_limit own;
static struct heaps heaps;
static struct heap_view of_view;

static void add_libc(const struct allocator *of)
{
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&world.view.libcs,
					  ((struct memory_view_libc){ .allocator = of })));
}

static void begin(void)
{
	world_open();
	source = (struct heap_source){ .nr_maps = 0 };
	answer = NULL;
	own = (struct memory_limit){ .left = UINT64_MAX };
	heaps = (struct heaps)HEAPS_INIT;
	of_view = (struct heap_view){ .view = &world.view, .own_memory = &own, .ret = &heaps };
	other_answer = NULL;
	add_libc(&allocator);
}

static void end(void)
{
	heap_view_free(&of_view);
	heaps_free(&heaps);
	world_close();
}

EACH(begin, end);

static void maps_are(const char *text)
{
	procparse_maps_free(&world.view.maps);
	CU_ASSERT_PTR_NULL_FATAL(procparse_maps(text, &world.view.maps));
}

static void run(void)
{
	heaps_free(&heaps);
	CU_ASSERT_PTR_NULL_FATAL(heap_view_walk(&of_view));
}

TEST("without an allocator that can be walked there is no walk")
{
	struct err *err;

	vec_clear(&world.view.libcs);
	err = heap_view_walk(&of_view);
	CU_ASSERT(err && err->code == ERR_UNSUPPORTED);
	CU_ASSERT_FALSE(heaps.walked);
}

TEST("heaps are in private memory that can be read and written")
{
	maps_are("1000-2000 r--p 00000000 00:00 0 \n"
		 "3000-4000 rw-s 00000000 00:01 9 /dev/shm/x\n"
		 "5000-6000 ---p 00000000 00:00 0 \n"
		 "7000-8000 rw-p 00000000 00:00 0 \n");
	run();
	CU_ASSERT_EQUAL_FATAL(source.nr_maps, 1);
	CU_ASSERT(first_map.start == 0x7000 && first_map.end == 0x8000 && first_map.anonymous);
	CU_ASSERT(heaps.walked && !heaps.brk);
}

TEST("mappings of one kind side by side are one heap, and brk is where the last ends")
{
	maps_are("1000-2000 rw-p 00000000 00:00 0 [heap]\n"
		 "2000-4000 rw-p 00000000 00:00 0 [heap]\n"
		 "4000-5000 rw-p 00000000 00:00 0 \n");
	run();
	CU_ASSERT_EQUAL(source.nr_maps, 2);
	CU_ASSERT(first_map.start == 0x1000 && first_map.end == 0x4000 && first_map.brk);
	CU_ASSERT(heaps.brk_start == 0x1000 && heaps.brk == 0x4000);
}

TEST("a C library's data are what can be written of its module")
{
	const struct memory_view_libc libc = {
		.allocator = &allocator, .name = "libc.so.6",
		.start = 0x1000, .end = 0x5000, .main_arena = 0x3000,
	};

	maps_are("1000-3000 r-xp 00000000 08:01 5 /lib/libc.so.6\n"
		 "3000-5000 rw-p 00002000 08:01 5 /lib/libc.so.6\n"
		 "5000-6000 rw-p 00000000 00:00 0 \n");
	world.view.libcs.at[0] = libc;
	run();
	CU_ASSERT_EQUAL_FATAL(source.nr_libcs, 1);
	CU_ASSERT(of_view.libc[0].nr_data == 1 && of_view.libc[0].main_arena == 0x3000);
	CU_ASSERT_EQUAL(of_view.libc[0].data[0].start, 0x3000);
	CU_ASSERT(heaps.nr_libcs == 1 && heaps.libc[0].start == 0x1000);
	CU_ASSERT_STRING_EQUAL(heaps.libc[0].name, "libc.so.6");
}

TEST("a module's bss ends with the module, where its mapping goes on")
{
	maps_are("1000-3000 r-xp 00000000 08:01 5 /lib/libtcmalloc.so.4\n"
		 "3000-4000 rw-p 00002000 08:01 5 /lib/libtcmalloc.so.4\n"
		 "4000-9000 rw-p 00000000 00:00 0 \n");
	world.view.libcs.at[0].start = 0x1000;
	world.view.libcs.at[0].end = 0x6000;
	run();
	CU_ASSERT_EQUAL_FATAL(of_view.libc[0].nr_data, 2);
	CU_ASSERT_EQUAL(of_view.libc[0].data[1].start, 0x4000);
	CU_ASSERT_EQUAL(of_view.libc[0].data[1].end, 0x6000);
}

TEST("a thread inside the allocator has the words of its registers and its stack in hand")
{
	run();
	CU_ASSERT(source.nr_in_flight == 0 && source.nr_inside == 0 && heaps.calm);
	CU_ASSERT(source.all_threads && source.nr_threads == 1);
	regs_set(&the_thread()->regs, world.view.arch->arg[0], INSIDE);
	regs_set(&the_thread()->regs, world.view.arch->arg[1], INSIDE + 4);	/* no chunk's address */
	put(SP + 8, INSIDE + 16);
	the_thread()->inside = true;
	run();
	/* With SP itself. */
	CU_ASSERT_EQUAL(source.nr_in_flight, 3);
	CU_ASSERT(source.nr_inside == 1 && first_word == INSIDE && !heaps.calm);
}

TEST("a thread that could not be stopped may be inside, and has no words")
{
	the_thread()->stopped = false;
	run();
	CU_ASSERT(source.nr_inside == 1 && source.nr_in_flight == 0);
	CU_ASSERT_FALSE(source.all_threads);
}

TEST("chunks that words in flight lead to are in hand, too")
{
	run();
	CU_ASSERT_EQUAL_FATAL(of_view.in_flight_words.vec.nr, 1);
	CU_ASSERT_EQUAL(of_view.in_flight_words.vec.at[0], LOOSE);
}

TEST("the heaps of several allocators are one walk")
{
	vec_clear(&world.view.libcs);
	add_libc(&other);
	add_libc(&allocator);
	add_libc(&allocator);
	run();
	CU_ASSERT(source.nr_libcs == 2 && source.libc == &of_view.libc[1]);
	CU_ASSERT(heaps.walk.arenas.nr == 1 && heaps.walk.damages == 1);
	CU_ASSERT_EQUAL(heaps.walk.loose.nr, 1);
	CU_ASSERT_EQUAL(heaps.nr_libcs, 3);
	vec_clear(&world.view.libcs);
	add_libc(&allocator);
	add_libc(&allocator);
	add_libc(&other);
	run();
	CU_ASSERT(heaps.walk.unknown_libcs == 4 && heaps.walk.arenas.at[0].libc == 2);
}

TEST("an allocator that has nothing, or is laid out otherwise, does not hinder the others")
{
	add_libc(&other);
	other_answer = err_create(ERR_NOTFOUND, "nothing is allocated");
	run();
	CU_ASSERT_STRING_EQUAL(heaps.why, "");
	other_answer = err_create(ERR_UNSUPPORTED, "its table is not known");
	run();
	CU_ASSERT_STRING_EQUAL(heaps.why, "its table is not known");
	answer = err_create(ERR_NOTFOUND, "nothing is allocated");
	heaps_free(&heaps);
	CU_ASSERT_EQUAL(heap_view_walk(&of_view)->code, ERR_UNSUPPORTED);
	CU_ASSERT_FALSE(heaps.walked);
}

TEST("a walk that has met mdbg's own limit is not a walk")
{
	own = (struct memory_limit){ .kind = MEMORY_LIMIT_OWN, .left = 1 << 20 };
	answer = err_create(ERR_RANGE, "too many chunks");
	CU_ASSERT_EQUAL(heap_view_walk(&of_view)->code, ERR_NOMEM);
	CU_ASSERT(source.most_chunks > 0 && source.most_chunks < 1 << 20);
	CU_ASSERT_FALSE(heaps.walked);
}
