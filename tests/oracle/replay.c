/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * replay FILE [LIST]: the blocks that are live at the end of what an oracle has written, one `ADDRESS SIZE` a line in order of
 * address, as `malloc allocations` writes them. On standard error: `EVENTS GIVEN TAKEN UNFINISHED`, where UNFINISHED are
 * places that a thread had taken and not written. Status 1 if the file was too small.
 *
 * With LIST, lines of `malloc allocations` that were written while the process stood still, what is wrong with them:
 *
 *	missing ADDRESS SIZE		a block that is live and not listed
 *	inside ADDRESS SIZE AT ROOM	the same, but a listed block that nobody holds has room for it, from AT on
 *	short ADDRESS SIZE LISTED	a block from before the attach is listed with less than was asked for, or another
 *					one with something else
 *	freed ADDRESS LISTED		a block that is not live is listed
 *	new ADDRESS LISTED		the same, and it was never given
 *
 * A thread that stands between the allocator and the recorder has a block that the two disagree about: what a thread has
 * written down last, if that is a release, is not reported, and for each thread there may be a freed or a new block.
 */
#include "oracle.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct oracle_event *event;
static uint64_t count[ORACLE_KEPT + 1];

static _Noreturn void fail(const char *what)
{
	perror(what);
	exit(1);
}

static const struct oracle *map(const char *path)
{
	int fd = open(path, O_RDONLY);
	const struct oracle *oracle;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		fail(path);
	oracle = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (oracle == MAP_FAILED)
		fail(path);
	if (oracle->magic != ORACLE_MAGIC || oracle->next > ORACLE_EVENTS) {
		fprintf(stderr, "%s: %" PRIu64 " events do not fit\n", path, oracle->next);
		exit(1);
	}
	return oracle;
}

/* By address, then in order of time. */
static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (event[x].address != event[y].address)
		return event[x].address < event[y].address ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* The last events of threads, by their number. */
#define THREADS	65536u

static struct last {
	uint32_t thread, event;		/* thread 0: none */
} last[THREADS];

static struct last *last_of(uint32_t thread)
{
	uint32_t at = thread % THREADS;

	while (last[at].thread && last[at].thread != thread)
		at = (at + 1) % THREADS;
	return &last[at];
}

static void note_last(uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i++)
		if (event[i].kind != ORACLE_NONE)
			*last_of(event[i].thread) = (struct last){ event[i].thread, (uint32_t)i };
}

/* What is known of an address after all of its events. */
struct known {
	uint64_t address, size;
	int live, unfinished;	/* unfinished: that it was taken is the last thing that its thread has written */
	int listed;
};

/* One address: order[0] to order[nr - 1] are its events. */
static struct known replay(const uint32_t *order, uint64_t nr)
{
	struct known known = { .address = event[order[0]].address };
	const struct oracle_event *end = &event[order[nr - 1]];

	for (uint64_t i = 0; i < nr; i++)
		if (event[order[i]].kind == ORACLE_GIVEN)
			known.size = event[order[i]].size;
	known.live = end->kind != ORACLE_TAKEN;
	known.unfinished = !known.live && last_of(end->thread)->event == order[nr - 1];
	return known;
}

/* All addresses in order, of the events in order. */
static uint64_t replay_all(const uint32_t *order, uint64_t nr, struct known *ret)
{
	uint64_t addresses = 0, i;

	for (uint64_t from = 0; from < nr; from = i) {
		for (i = from; i < nr && event[order[i]].address == event[order[from]].address; i++)
			;
		ret[addresses++] = replay(order + from, i - from);
	}
	return addresses;
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Blocks that are listed and not live, in order of address: one of them may be what another one lies in. */
static struct { uint64_t address, size; } *other;
static uint64_t nr_others;

static void check_listed(struct known *known, uint64_t nr, uint64_t address, uint64_t size, int early)
{
	struct known *is = bsearch(&address, known, nr, sizeof(*known), by_address);

	if (is && is->live) {
		is->listed = 1;
		if (early ? size < is->size : size != is->size)
			printf("short 0x%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", address, is->size, size);
		return;
	}
	other[nr_others].address = address;
	other[nr_others++].size = is && is->unfinished ? size | UINT64_C(1) << 63 : size;
}

/* The listed block that nobody holds and that has room for the one that is not; it is nobody's from then on. */
static int is_inside(const struct known *known)
{
	for (uint64_t i = 0; i < nr_others; i++) {
		uint64_t size = other[i].size & ~(UINT64_C(1) << 63);

		if (other[i].address >= known->address || known->address + known->size > other[i].address + size)
			continue;
		printf("inside 0x%" PRIx64 " %" PRIu64 " 0x%" PRIx64 " %" PRIu64 "\n", known->address, known->size,
		       other[i].address, size);
		other[i].size = UINT64_C(1) << 63;
		return 1;
	}
	return 0;
}

static void check_list(const char *path, struct known *known, uint64_t nr)
{
	FILE *file = fopen(path, "r");
	char line[4096], seq[32];
	uint64_t address, size;

	other = malloc((nr + (UINT64_C(1) << 20)) * sizeof(*other));
	if (!file || !other)
		fail(path);
	while (fgets(line, sizeof(line), file))
		if (*line == '0' && sscanf(line, "0x%" SCNx64 " %" SCNu64 " %*s %*s %*s %*s %*s %31s", &address,
					   &size, seq) == 3)
			check_listed(known, nr, address, size, *seq == '-');
	for (uint64_t i = 0; i < nr; i++)
		if (known[i].live && !known[i].listed && !is_inside(&known[i]))
			printf("missing 0x%" PRIx64 " %" PRIu64 "\n", known[i].address, known[i].size);
	for (uint64_t i = 0; i < nr_others; i++)
		if (!(other[i].size >> 63))
			printf("%s 0x%" PRIx64 " %" PRIu64 "\n",
			       bsearch(&other[i].address, known, nr, sizeof(*known), by_address) ? "freed" : "new",
			       other[i].address, other[i].size);
	fclose(file);
}

int main(int argc, char **argv)
{
	const struct oracle *oracle;
	uint64_t nr, nr_order = 0, addresses;
	struct known *known;
	uint32_t *order;

	if (argc != 2 && argc != 3)
		return 2;
	oracle = map(argv[1]);
	event = oracle->event;
	nr = oracle->next;
	order = malloc((nr + 1) * sizeof(*order));
	known = malloc((nr + 1) * sizeof(*known));
	if (!order || !known)
		fail("malloc");
	for (uint64_t i = 0; i < nr; i++) {
		count[event[i].kind]++;
		if (event[i].kind != ORACLE_NONE)
			order[nr_order++] = (uint32_t)i;
	}
	qsort(order, nr_order, sizeof(*order), compare);
	note_last(nr);
	addresses = replay_all(order, nr_order, known);
	if (argc == 3)
		check_list(argv[2], known, addresses);
	for (uint64_t i = 0; argc == 2 && i < addresses; i++)
		if (known[i].live)
			printf("0x%016" PRIx64 " %" PRIu64 "\n", known[i].address, known[i].size);
	fprintf(stderr, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", nr, count[ORACLE_GIVEN],
		count[ORACLE_TAKEN], count[ORACLE_NONE]);
	free(order);
	return fflush(stdout) != 0;
}
