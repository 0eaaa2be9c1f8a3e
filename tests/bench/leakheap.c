/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A large heap to look for leaks in: leakheap BYTES BLOCKS makes, once it is told to, BLOCKS blocks of BYTES in all, as
 * programs have them:
 *
 *	lists		4096 of them, each of which grows at its head
 *	trees		nodes hang on one of the last few thousand that have room
 *	a hash table	one array of the heap, with chains in no order of address
 *	arrays		of pointers to blocks without any
 *
 * a quarter of the blocks each. One in a thousand is lost: nothing points to it.
 *
 *	make		`ok BLOCKS LOST`
 *	churn N		N threads begin to allocate, free and move blocks, each of which is known to their stacks alone
 *	rest		they stop, and free what they have
 *	fork		`ok NS`: how long a fork takes that nobody asked mdbg for
 *	report		`ok NS`: the longest time that a thread which does nothing but read the clock did not run, since it was
 *			asked last; time in which it could have run, and others had the processor, does not count
 *	verify, quit
 */
#include "own_clock.h"
#include "target.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>

#define LISTS		4096
#define OPEN		8192		/* places where a node may be hung */
#define FANOUT		62
#define LOST_ONE_IN	1000
#define CHURNERS	64
#define CHURNED		256		/* blocks of a churner */

struct node {
	struct node *left, *right;
	uint64_t key;
};

static struct node *list[LISTS];
static struct node *tree, **open_place[OPEN];
static struct node **table;
static uint64_t table_mask;
static struct node *arrays, *array;	/* a list of arrays; the last, with `filled` pointers */
static unsigned filled;
static uint64_t state = 88172645463325252ull, mean, lost, made;

/* Three eighths to thirteen eighths of what is left for a block; what is not a pointer is never an address. */
static struct node *new_node(uint64_t key)
{
	uint64_t size = mean * 3 / 8 + next_random(&state) % (mean * 10 / 8);
	struct node *node = malloc(size < sizeof(*node) ? sizeof(*node) : size);

	if (!node)
		_exit(98);
	for (uint64_t i = sizeof(*node); i + 8 <= size; i += 8)
		*(uint64_t *)((char *)node + i) = key % 1000 + i;
	node->left = node->right = NULL;
	node->key = key;
	made++;
	return node;
}

static NOINLINE void lose(uint64_t key)
{
	struct node *node = new_node(key);

	KEEP(node);
	lost++;
}

static void to_list(uint64_t key)
{
	struct node *node = new_node(key), **head = &list[key % LISTS];

	node->left = *head;
	*head = node;
}

static void to_tree(uint64_t key)
{
	struct node *node = new_node(key);
	struct node ***place = &open_place[key % OPEN];

	if (*place) {
		**place = node;
	} else {		/* its first: hangs on a list of them */
		node->left = tree;
		tree = node;
		*place = &node->right;
		return;
	}
	*place = &node->left;
	open_place[next_random(&state) % OPEN] = &node->right;
}

static void to_table(uint64_t key)
{
	struct node *node = new_node(key), **bucket = &table[key & table_mask];

	node->left = *bucket;
	*bucket = node;
}

static void to_array(uint64_t key)
{
	if (!array || filled == FANOUT) {
		array = calloc(1, sizeof(*array) + FANOUT * sizeof(void *));
		if (!array)
			_exit(98);
		array->left = arrays;
		arrays = array;
		filled = 0;
		made++;
	} else {
		((struct node **)(array + 1))[filled++] = new_node(key);
	}
}

static void make(uint64_t bytes, uint64_t blocks)
{
	mean = bytes / blocks;
	table_mask = 1;
	while (table_mask < blocks / 8)
		table_mask *= 2;
	table = calloc(table_mask--, sizeof(*table));
	if (!table)
		_exit(98);
	made++;
	while (made < blocks) {
		uint64_t key = next_random(&state);

		if (key % LOST_ONE_IN == 7)
			lose(key);
		else if (key >> 62 == 0)
			to_list(key >> 2);
		else if (key >> 62 == 1)
			to_tree(key >> 2);
		else if (key >> 62 == 2)
			to_table(key >> 2);
		else
			to_array(key >> 2);
	}
	say("ok %llu %llu", (unsigned long long)made, (unsigned long long)lost);
}

/* --- churn --- */

static atomic_bool resting;
static pthread_t churner[CHURNERS];
static unsigned nr_churners;

static void *churn(void *arg)
{
	uint64_t *block[CHURNED] = { NULL }, random = (uintptr_t)arg * 2654435761u + 1;

	while (!resting) {
		unsigned i = next_random(&random) % CHURNED;
		size_t size = 16 + next_random(&random) % 500;

		if (next_random(&random) % 4 == 0) {
			free(block[i]);
			block[i] = NULL;
		} else {
			uint64_t *moved = realloc(block[i], size);

			if (!moved)
				_exit(98);
			block[i] = moved;
			*moved = 0;
		}
	}
	for (unsigned i = 0; i < CHURNED; i++)
		free(block[i]);
	return NULL;
}

static void begin_churn(unsigned nr)
{
	resting = false;
	for (nr_churners = 0; nr_churners < nr && nr_churners < CHURNERS; nr_churners++)
		pthread_create(&churner[nr_churners], NULL, churn, (void *)(uintptr_t)(nr_churners + 1));
	say("ok");
}

static void rest(void)
{
	resting = true;
	while (nr_churners)
		pthread_join(churner[--nr_churners], NULL);
	say("ok");
}

/* --- pauses --- */

static void fork_bare(void)
{
	uint64_t begun = clock_ns(CLOCK_MONOTONIC), ns;
	pid_t child = fork();

	if (!child)
		_exit(0);
	ns = clock_ns(CLOCK_MONOTONIC) - begun;
	waitpid(child, NULL, 0);
	say("ok %llu", (unsigned long long)ns);
}

int main(int argc, char *argv[])
{
	char *line;

	if (argc > 2) {
		pthread_t watcher;
		const char *rest_of;

		pthread_create(&watcher, NULL, watch, NULL);
		say_ready();
		while ((line = hear())) {
			if (after(line, "make"))
				make(strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10));
			else if ((rest_of = after(line, "churn")))
				begin_churn((unsigned)atoi(rest_of));
			else if (after(line, "rest"))
				rest();
			else if (after(line, "fork"))
				fork_bare();
			else if (after(line, "report"))
				say("ok %llu", (unsigned long long)atomic_exchange(&longest, 0));
			else if (after(line, "verify"))
				say("ok");
			else if (after(line, "quit"))
				break;
			else
				say("bad %s", line);
		}
		return 0;
	}
	return 2;
}
