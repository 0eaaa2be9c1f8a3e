/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Blocks of C whose type the program knows: put into variables, members and global variables, by
 * wrappers of malloc, and reached through others only. Three of each are there before it is ready.
 *
 *	make N		N of each once more
 *	list		a line for each: ADDRESS TYPE, the blanks of the type as `_`; `?` if nobody can know it;
 *			`end NUMBER`
 *	quit
 */
#include <stddef.h>

#include "target.h"

struct item {
	struct item *next;
	int value;
	char *text;
};

struct table {
	struct item **slots;
	unsigned long nr;
	struct item *last;
	void *any;
	struct table *older;
};

struct link {
	struct link *next, *before;
};

/* Begins with a link: a pointer to that says less. */
struct chained {
	struct link link;
	long value[6];
};

struct message {
	unsigned len;
	struct item *from;
	char text[];
};

union either {
	struct item *item;
	struct table *table;
};

struct holder {
	union either either;
	struct message *message;
	struct link *chain;
	double *numbers;
};

static struct table *newest;
static struct holder **holders;
static void *volatile headed;

#define MOST	200000

static struct {
	const void *address;
	const char *type;
} known[MOST];
static size_t nr_known;

static void note(const void *address, const char *type)
{
	if (nr_known < MOST) {
		known[nr_known].address = address;
		known[nr_known++].type = type;
	}
}

static void *checked_malloc(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	return block;
}

static NOINLINE void *zeroed_malloc(size_t size)
{
	void *block = malloc(size);

	if (block)
		memset(block, 0, size);
	return block;
}

/* Lays a number in front of what it gives out. */
static void *headed_malloc(size_t size)
{
	size_t *head = malloc(sizeof(*head) + size);

	*head = size;
	return head + 1;
}

/* Its blocks go to whoever asked for them, but not to its caller. */
static NOINLINE int make_into(void **to, size_t size)
{
	*to = malloc(size);
	return *to != NULL;
}

static NOINLINE struct item *make_item(struct item *next)
{
	struct item *item = malloc(sizeof(*item));

	item->next = next;
	item->value = 1;
	item->text = strdup("a text of some length");
	return item;
}

static NOINLINE struct item *return_item(void)
{
	return zeroed_malloc(sizeof(struct item));
}

static NOINLINE void fill_table(struct table *table)
{
	table->slots = calloc(8, sizeof(*table->slots));
	note(table->slots, "struct_item_*");
	for (unsigned i = 0; i < 4; i++) {
		table->slots[i] = make_item(NULL);
		note(table->slots[i], "struct_item");
	}
	table->slots[5] = zeroed_malloc(sizeof(struct item));
	note(table->slots[5], "struct_item");
	table->last = checked_malloc(sizeof(*table->last));
	table->last->next = return_item();
	table->last->value = 0;
	table->last->text = NULL;
	note(table->last, "struct_item");
	note(table->last->next, "struct_item");
	table->any = malloc(77);
	memset(table->any, 1, 77);
	note(table->any, "?");
	headed = headed_malloc(72);
	memset((void *)headed, 1, 72);
	note((char *)headed - sizeof(size_t), "?");
}

static NOINLINE void make_table(void)
{
	struct table *older = newest;

	newest = checked_malloc(sizeof(*newest));
	newest->older = older;
	newest->nr = 8;
	note(newest, "struct_table");
	fill_table(newest);
}

/* What only a union, or a pointer to its first member, leads to is not known. */
static NOINLINE void make_rest(struct holder *held, unsigned nr)
{
	void *message, *chained, *item, *numbers;

	if (!make_into(&message, sizeof(struct message) + 100 + nr) ||
	    !make_into(&chained, sizeof(struct chained)) ||
	    !make_into(&item, sizeof(struct item)) || !make_into(&numbers, 16 * sizeof(double)))
		abort();
	memset(message, 0, sizeof(struct message));
	memset(chained, 1, sizeof(struct chained));
	memset(item, 1, sizeof(struct item));
	memset(numbers, 1, 16 * sizeof(double));
	held->message = message;
	held->chain = chained;
	held->either.item = item;
	held->numbers = numbers;
	note(message, "struct_message");
	note(chained, "?");
	note(item, "?");
	note(numbers, "double");
}

static NOINLINE void make_holder(unsigned nr)
{
	struct holder *held = zeroed_malloc(sizeof(*held));
	static unsigned nr_all;

	holders = realloc(holders, (nr_all + 1) * sizeof(*holders));
	holders[nr_all++] = held;
	note(held, "struct_holder");
	make_rest(held, nr);
}

static void list(void)
{
	for (size_t i = 0; i < nr_known; i++)
		say("0x%lx %s", (unsigned long)known[i].address, known[i].type);
	say("end %zu", nr_known);
}

static void make(unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		make_table();
		make_holder(i);
	}
}

int main(void)
{
	make(3);
	say_ready();
	for (char *line = hear(); line; line = hear()) {
		if (!strncmp(line, "make ", 5)) {
			make((unsigned)atoi(line + 5));
		} else if (!strcmp(line, "list")) {
			list();
			continue;
		} else if (!strcmp(line, "quit")) {
			_exit(0);
		} else if (strcmp(line, "verify")) {
			say("bad %s", line);
			continue;
		}
		say("ok");
	}
}
