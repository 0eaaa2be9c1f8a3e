/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program that knows who keeps its blocks. Each kind has a size of its own, which the allocator does not round up.
 *
 *	cache		a table of 1000 bytes, 10 entries of 72, each with a value of 312
 *	sessions[1]	a session of 552 bytes, its reader of 216, 50 versions of 40 in a list, each with a table of 1016
 *	newest		a second way to the last version
 *	one, other	both to a block of 776 bytes
 *	conn		a ring: a connection of 136 bytes and its callback of 88, which has a buffer of 2008
 *	a thread	its stack alone has a block of 616 bytes, and points into the middle of the list of versions
 *
 *	reader N	sessions[2]: a session whose reader has N versions, and nobody closes it: `ok`
 *	lose		forgets conn: the ring is lost: `ok`
 *	verify, quit
 */
#include "target.h"

#include <pthread.h>

#define VERSIONS	50u

struct version { struct version *newer; void *table; char more[24]; };
struct session { char name[32]; struct reader *reader; char buffer[512]; };
struct reader { struct version *version; char scratch[208]; };
struct ring { struct ring *other; void *buffer; };

void **cache;
struct session *sessions[4];
struct version *newest;
void *one, *other;
struct ring *conn;
static struct version *middle;
static pthread_barrier_t there;

static NOINLINE void *need(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		_exit(99);
	return p;
}

static NOINLINE void fill_cache(void)
{
	cache = need(1000);
	for (unsigned i = 0; i < 10; i++) {
		void **entry = need(72);

		*entry = need(312);
		cache[i] = entry;
	}
}

static NOINLINE struct version *add_version(void)
{
	struct version *version = need(sizeof(*version));

	version->table = need(1016);
	return version;
}

static NOINLINE struct reader *open_reader(unsigned versions)
{
	struct reader *reader = need(sizeof(*reader));

	newest = reader->version = add_version();
	for (unsigned i = 1; i < versions; i++) {
		newest = newest->newer = add_version();
		middle = versions == VERSIONS && i == VERSIONS / 2 ? newest : middle;
	}
	return reader;
}

static NOINLINE void start_session(unsigned number, unsigned versions)
{
	struct session *session = need(sizeof(*session));

	session->reader = open_reader(versions);
	sessions[number] = session;
}

/* In a thread of its own, whose stack nobody looks at afterwards: no word of it may be left anywhere. */
static void *make_ring(void *arg UNUSED)
{
	conn = need(136);
	conn->other = need(88);
	conn->other->other = conn;
	conn->other->buffer = need(2008);
	return NULL;
}

static NOINLINE void *wait_with_block(void *arg UNUSED)
{
	void *volatile held = need(616);
	struct version *volatile cursor = middle;

	middle = NULL;
	pthread_barrier_wait(&there);
	for (;;)
		pause();
	KEEP(held);
	KEEP(cursor);
	return NULL;
}

int main(void)
{
	pthread_t thread;
	char *line;

	fill_cache();
	start_session(1, VERSIONS);
	pthread_create(&thread, NULL, make_ring, NULL);
	pthread_join(thread, NULL);
	one = other = need(776);
	pthread_barrier_init(&there, NULL, 2);
	pthread_create(&thread, NULL, wait_with_block, NULL);
	pthread_barrier_wait(&there);
	say_ready();
	while ((line = hear()) && strcmp(line, "quit")) {
		const char *number = after(line, "reader");

		if (number)
			start_session(2, (unsigned)strtoul(number, NULL, 10));
		else if (!strcmp(line, "lose"))
			conn = NULL;
		say(number || !strcmp(line, "lose") || !strcmp(line, "verify") ? "ok" : "bad command");
	}
	_exit(0);
}
