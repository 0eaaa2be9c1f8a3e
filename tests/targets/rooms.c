/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target with C libraries of its own in namespaces of dlmopen: rooms 1 to 9. Room 0 is the program's. Built with
 * STATIC, and -static, it has room 0 in itself, and one room more, of dlopen. Commands:
 *
 *	open N		libroom.so beside it comes into a new namespace, as room N
 *	close N		it goes, and the blocks in it are no blocks any more
 *	block PAGES	map so much, so that what is loaded next comes to another place
 *	grab N COUNT SIZE	COUNT blocks more in room N, of SIZE bytes, SIZE + 1, ...
 *	drop N		every second block of room N is freed
 *	forget N	nobody has a pointer to the last block of room N any more: `ok ADDRESS`
 *	threads N COUNT	as many threads that grab a block of 777 bytes in room N, and stay
 *	rooms		a line `N MALLOC` for each
 *	list		a line `ADDRESS SIZE N` for each block, `end COUNT`
 *	verify, quit
 */
#include "target.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>

#ifdef STATIC
#include "libroom.c"
#endif

#define ROOMS	10
#define BLOCKS	4096

/* Only what is not a pointer to a block: the address is masked. */
struct kept {
	uintptr_t masked;
	size_t size;
};

#define MASK	((uintptr_t)0x5a5a5a5a5a5a5a5a)

static struct room {
	void *handle;
	void *(*grab)(int slot, size_t size);
	void (*drop)(int slot, int forget);
	void *(*malloc)(void);
	struct kept kept[BLOCKS];
	int nr;
} rooms[ROOMS];

static char library[PATH_MAX + 16];
static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int open_room(struct room *room)
{
#ifdef STATIC
	if (room == rooms) {
		*room = (struct room){ .handle = room, .grab = room_grab, .drop = room_drop,
				       .malloc = room_malloc };
		return 0;
	}
	room->handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
#else
	if (room == rooms)
		room->handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	else
		room->handle = dlmopen(LM_ID_NEWLM, library, RTLD_NOW);
#endif
	if (!room->handle)
		return -1;
	*(void **)&room->grab = dlsym(room->handle, "room_grab");
	*(void **)&room->drop = dlsym(room->handle, "room_drop");
	*(void **)&room->malloc = dlsym(room->handle, "room_malloc");
	room->nr = 0;
	return room->grab && room->drop && room->malloc ? 0 : -1;
}

static void grab(struct room *room, size_t size)
{
	pthread_mutex_lock(&lock);
	if (room->nr < BLOCKS) {
		room->kept[room->nr].masked = (uintptr_t)room->grab(room->nr, size) ^ MASK;
		room->kept[room->nr++].size = size;
	}
	pthread_mutex_unlock(&lock);
}

static void drop(struct room *room)
{
	for (int i = 0; i < room->nr; i += 2) {
		if (room->kept[i].size)
			room->drop(i, 0);
		room->kept[i].size = 0;
	}
}

static void *thread(void *arg)
{
	grab(arg, 777);
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
	return NULL;
}

static int threads(struct room *room, unsigned nr)
{
	pthread_t id;

	pthread_barrier_init(&barrier, NULL, nr + 1);
	for (unsigned i = 0; i < nr; i++)
		if (pthread_create(&id, NULL, thread, room))
			return -1;
	pthread_barrier_wait(&barrier);
	return 0;
}

static int verify(void)
{
	int bad = 0;

	for (int n = 0; n < ROOMS; n++)
		for (int i = 0; rooms[n].handle && i < rooms[n].nr; i++)
			bad += rooms[n].kept[i].size &&
			       !canary_holds((void *)(rooms[n].kept[i].masked ^ MASK),
					     rooms[n].kept[i].size);
	return bad;
}

static void list(void)
{
	int nr = 0;

	for (int n = 0; n < ROOMS; n++)
		for (int i = 0; rooms[n].handle && i < rooms[n].nr; i++)
			if (rooms[n].kept[i].size) {
				say("%p %zu %d", (void *)(rooms[n].kept[i].masked ^ MASK),
				    rooms[n].kept[i].size, n);
				nr++;
			}
	say("end %d", nr);
}

static void list_rooms(void)
{
	int nr = 0;

	for (int n = 0; n < ROOMS; n++)
		if (rooms[n].handle) {
			say("%d %p", n, rooms[n].malloc());
			nr++;
		}
	say("end %d", nr);
}

static int obey(const char *line)
{
	const char *rest;
	long pages;
	int n = 0, count = 0;
	size_t size = 0;

	if ((rest = after(line, "block")))
		return (pages = atol(rest)) > 0 &&
		       mmap(NULL, (size_t)pages << 12, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0) != MAP_FAILED ? 0 : -1;
	if (sscanf(line, "%*s %d %d %zu", &n, &count, &size) < 1 || n < 0 || n >= ROOMS)
		return -1;
	if (after(line, "open"))
		return open_room(&rooms[n]);
	if (!rooms[n].handle)
		return -1;
	if (after(line, "threads"))
		return threads(&rooms[n], (unsigned)count);
	if (after(line, "drop"))
		drop(&rooms[n]);
	for (int i = 0; after(line, "grab") && i < count; i++)
		grab(&rooms[n], size + (size_t)i);
	if (after(line, "close")) {
		void *handle = rooms[n].handle;

		rooms[n].handle = NULL;
		return dlclose(handle);
	}
	return 0;
}

static void forget(const char *rest)
{
	int n = atoi(rest);
	struct room *room = &rooms[n > 0 && n < ROOMS ? n : 0];
	struct kept *last = &room->kept[room->nr - 1];

	room->drop(room->nr - 1, 1);
	say("ok %p", (void *)(last->masked ^ MASK));
}

int main(void)
{
	static char self[PATH_MAX];
	const char *rest;
	char *line;
	ssize_t len;

	len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (len < 0)
		return 1;
	snprintf(library, sizeof(library), "%s/libroom.so", dirname(self));
	if (open_room(rooms))
		return 1;
	say_ready();
	while ((line = hear()) && !after(line, "quit")) {
		if ((rest = after(line, "forget")))
			forget(rest);
		else if (after(line, "rooms"))
			list_rooms();
		else if (after(line, "list"))
			list();
		else if (after(line, "verify"))
			say("%s", verify() ? "bad" : "ok");
		else
			say("%s", obey(line) ? "bad" : "ok");
	}
	return verify() != 0;
}
