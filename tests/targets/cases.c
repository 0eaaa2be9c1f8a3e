/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cases of docs/cases.md, one an order. Each has the defect that its comment names, or none.
 *
 *	index		a table of 1 MB that is needed and stays
 *	history N	forgotten free: N lines are loaded, and 4 bytes of each are lost
 *	frames		fast leaker: a thread takes 8 MB a second, until it has 200 MB or `calm`
 *	burst N		producer and consumer: N messages are queued, and the consumer waits
 *	drain		the consumer takes all messages and frees them
 *	serve N		connections never reused: N requests are served, one after the other
 *	chunks N	kept until exit: N chunks are read and counted, and freed when the program ends
 *	verify		checks all of it
 *	quit
 *
 * Each is answered by `ok`.
 */
#include "target.h"

#include <pthread.h>
#include <stdbool.h>

#define INDEX_SIZE	1000000u
#define FRAME_SIZE	65536u
#define FRAME_US	8000		/* 8 MB a second */
#define FRAMES_MAX	3000u		/* 200 MB: a machine is not harmed */
#define CONNECTIONS_MAX	20000u

struct message {
	struct message *next;
	size_t length;
	unsigned char text[];
};

struct summary {
	struct summary *next;
	char text[2000];
};

struct connection {
	bool busy;
	unsigned long requests;
	unsigned char buffer[1000];
};

struct chunk {
	struct chunk *next;
	unsigned char byte[4096];
};

static unsigned char *index_table;
static struct summary *summaries;
static struct connection *table[CONNECTIONS_MAX];
static unsigned connections;
static unsigned long served;
static struct chunk *chunks;
static unsigned long sum;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static struct message *queue, **queue_end = &queue;
static bool draining, wrong;
static pthread_t shower;
static bool showing;		/* shower is to go on */

/* mdbg passes over a function of this name, as it allocates for its callers (`set skip`). */
static NOINLINE void *xmalloc(size_t size)
{
	void *block = malloc(size);

	if (!block)
		_exit(98);
	KEEP(block);
	return block;
}

static NOINLINE void make_index(void)
{
	index_table = xmalloc(INDEX_SIZE);
	canary_fill(index_table, INDEX_SIZE);
}

/* The defect: nobody frees what the line's number was kept in. */
static NOINLINE unsigned long load_history(unsigned long line)
{
	unsigned *number = xmalloc(sizeof(*number));

	*number = (unsigned)line;
	return *number * 2654435761u;
}

/* The defect: a frame is forgotten as soon as the next one comes. */
static NOINLINE unsigned char *read_frame(unsigned nr)
{
	unsigned char *frame = xmalloc(FRAME_SIZE);

	memset(frame, (int)nr, FRAME_SIZE);
	return frame;
}

static void *show_frames(void *arg UNUSED)
{
	for (unsigned i = 0; i < FRAMES_MAX && __atomic_load_n(&showing, __ATOMIC_RELAXED); i++) {
		unsigned char *frame = read_frame(i);

		if (frame[FRAME_SIZE - 1] != (unsigned char)i)
			wrong = true;
		nap_us(FRAME_US);
	}
	return NULL;
}

static NOINLINE void enqueue(unsigned nr)
{
	size_t length = 100 + nr % 300;
	struct message *message = xmalloc(sizeof(*message) + length);

	message->next = NULL;
	message->length = length;
	canary_fill(message->text, length);
	*queue_end = message;
	queue_end = &message->next;
}

/*
 * A summary is kept. It lies above all messages, so that the heap cannot shrink from its end when
 * they are freed.
 */
static NOINLINE void summarise(unsigned nr)
{
	struct summary *summary = xmalloc(sizeof(*summary));

	snprintf(summary->text, sizeof(summary->text), "a burst of %u messages", nr);
	summary->next = summaries;
	summaries = summary;
}

static void burst(unsigned nr)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < nr; i++)
		enqueue(i);
	pthread_mutex_unlock(&lock);
	summarise(nr);
}

static void *consume(void *arg UNUSED)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!draining)
			pthread_cond_wait(&change, &lock);
		while (queue) {
			struct message *message = queue;

			if (!canary_holds(message->text, message->length))
				wrong = true;
			queue = message->next;
			free(message);
		}
		queue_end = &queue;
		draining = false;
		pthread_cond_broadcast(&change);
	}
	return NULL;
}

static void drain(void)
{
	pthread_mutex_lock(&lock);
	draining = true;
	pthread_cond_broadcast(&change);
	while (draining)
		pthread_cond_wait(&change, &lock);
	pthread_mutex_unlock(&lock);
}

static NOINLINE struct connection *open_connection(void)
{
	struct connection *connection = xmalloc(sizeof(*connection));

	connection->busy = false;
	connection->requests = 0;
	canary_fill(connection->buffer, sizeof(connection->buffer));
	if (connections < CONNECTIONS_MAX)
		table[connections++] = connection;
	return connection;
}

/*
 * The defect: the search ends at a busy slot, and the first slot is the listener's, which is always
 * busy.
 */
static struct connection *find_idle(void)
{
	for (unsigned i = 0; i < connections && !table[i]->busy; i++)
		if (table[i]->requests)
			return table[i];
	return NULL;
}

static void serve(void)
{
	struct connection *connection = find_idle();

	if (!connection)
		connection = open_connection();
	connection->busy = true;
	connection->requests++;
	served++;
	connection->busy = false;
}

/* All chunks are freed at the end, so that none is lost. But none is needed once it is counted. */
static NOINLINE void read_chunk(unsigned nr)
{
	struct chunk *chunk = xmalloc(sizeof(*chunk));

	memset(chunk->byte, (int)nr, sizeof(chunk->byte));
	for (unsigned i = 0; i < sizeof(chunk->byte); i++)
		sum += chunk->byte[i];
	chunk->next = chunks;
	chunks = chunk;
}

static unsigned long chunks_sum(void)
{
	unsigned long found = 0;

	for (const struct chunk *chunk = chunks; chunk; chunk = chunk->next)
		found += chunk->byte[0] * sizeof(chunk->byte);
	return found;
}

static void free_chunks(void)
{
	while (chunks) {
		struct chunk *chunk = chunks;

		chunks = chunk->next;
		free(chunk);
	}
}

static bool all_well(void)
{
	unsigned long requests = 0;

	for (unsigned i = 1; i < connections; i++)
		requests += canary_holds(table[i]->buffer, sizeof(table[i]->buffer)) ? table[i]->requests : 0;
	return !wrong && requests == served && chunks_sum() == sum &&
	       (!index_table || canary_holds(index_table, INDEX_SIZE));
}

static pthread_t begin(void *(*run)(void *arg))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL))
		_exit(98);
	return thread;
}

static void show(void)
{
	if (showing)
		return;
	showing = true;
	shower = begin(show_frames);
}

static void calm(void)
{
	if (!showing)
		return;
	__atomic_store_n(&showing, false, __ATOMIC_RELAXED);
	pthread_join(shower, NULL);
}

static bool obey(const char *line)
{
	static unsigned long lines;
	const char *rest;

	if ((rest = after(line, "history"))) {
		for (int i = 0; i < atoi(rest); i++)
			lines += load_history(lines);
	} else if ((rest = after(line, "burst"))) {
		burst((unsigned)atoi(rest));
	} else if ((rest = after(line, "serve"))) {
		for (int i = 0; i < atoi(rest); i++)
			serve();
	} else if ((rest = after(line, "chunks"))) {
		for (int i = 0; i < atoi(rest); i++)
			read_chunk((unsigned)i);
	} else if (after(line, "index")) {
		make_index();
	} else if (after(line, "frames")) {
		show();
	} else if (after(line, "calm")) {
		calm();
	} else if (after(line, "drain")) {
		drain();
	} else if (after(line, "verify")) {
		return all_well();
	} else {
		return false;
	}
	return true;
}

int main(void)
{
	const char *line;

	/* The listener's. */
	open_connection()->busy = true;
	begin(consume);
	say_ready();
	while ((line = hear()) && !after(line, "quit"))
		say(obey(line) ? "ok" : "bad %s", line);
	calm();
	free_chunks();
	return 0;
}
