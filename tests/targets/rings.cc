/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects of make_shared that are lost in rings, and a hash table that only its head in main's frame leads to.
 *
 *	lose N		loses N rings of two sessions each: four blocks, as each has a name of its own. Stale words point to the
 *			first session of each ring, behind its counts: in a frame of a function that goes on, and in a block
 *			that is lost
 *	watch N		the same, and a block that is in use has such words, too
 *	again		the function that goes on returns
 *	table N		a table as Rust's HashMap has it, each of whose N entries has the only pointer to a block of 5003 bytes
 *	verify, quit
 */
#include <memory>
#include <string>

#include "target.h"

#define RINGS_MAX	64

struct session {
	std::string name;
	std::shared_ptr<session> peer;
};

/* hashbrown's RawTableInner: entries are before the control bytes. */
struct head {
	unsigned char *control;
	uint64_t mask, growth_left, items;
};

static session **volatile watched;

static void *get(size_t size)
{
	void *block = malloc(size);

	if (!block)
		_exit(98);
	memset(block, 0, size);
	return block;
}

static NOINLINE std::shared_ptr<session> make_session(int n)
{
	auto made = std::make_shared<session>();

	made->name = "a name that is too long to be in the object, of " + std::to_string(n);
	return made;
}

static NOINLINE session *lose_ring(int n)
{
	auto one = make_session(2 * n), other = make_session(2 * n + 1);

	one->peer = other;
	other->peer = one;
	__asm__ volatile("" : : "r"(one.get()) : "memory");
	return one.get();
}

static NOINLINE void wipe_stack(void)
{
	volatile char bytes[32 * 1024];

	memset((char *)bytes, 0, sizeof(bytes));
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

static void obey(void);

static NOINLINE void lose(int rings, bool watch)
{
	session *volatile stale[RINGS_MAX] = {};
	session **lost = (session **)get(sizeof(stale));

	if (watch)
		watched = (session **)get(sizeof(stale));
	for (int i = 0; i < rings && i < RINGS_MAX; i++) {
		stale[i] = lost[i] = lose_ring(i);
		if (watch)
			watched[i] = stale[i];
	}
	lost = NULL;
	KEEP(lost);
	wipe_stack();
	say("ok");
	obey();
	if (stale[0])
		stale[0] = NULL;
}

static NOINLINE void make_table(volatile struct head *head, uint64_t entries)
{
	uint64_t buckets = 16;
	void **entry;

	while (buckets * 7 / 8 < entries)
		buckets *= 2;
	entry = (void **)get(buckets * sizeof(*entry) + buckets + 16);
	head->control = (unsigned char *)(entry + buckets);
	head->mask = buckets - 1;
	head->items = entries;
	head->growth_left = buckets * 7 / 8 - entries;
	memset(head->control, 0xff, buckets + 16);
	for (uint64_t i = 0; i < entries; i++) {
		uint64_t at = i * 13 & head->mask;

		entry[buckets - 1 - at] = get(5003);
		head->control[at] = (unsigned char)(i * 37 % 128);
	}
	memcpy(head->control + buckets, head->control, 16);
	entry = NULL;
	KEEP(entry);
	wipe_stack();
}

static void obey(void)
{
	volatile struct head head = {};

	for (char *line = hear(); line; line = hear()) {
		if (!strncmp(line, "lose ", 5)) {
			lose(atoi(line + 5), false);
		} else if (!strncmp(line, "watch ", 6)) {
			lose(atoi(line + 6), true);
		} else if (!strncmp(line, "table ", 6)) {
			make_table(&head, (uint64_t)atoi(line + 6));
		} else if (!strcmp(line, "again")) {
			return;
		} else if (!strcmp(line, "quit")) {
			_exit(0);
		} else if (strcmp(line, "verify")) {
			say("bad %s", line);
			continue;
		}
		say("ok");
	}
}

int main(void)
{
	say_ready();
	obey();
	return 0;
}
