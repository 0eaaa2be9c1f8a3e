/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * replay FILE: the blocks that are live at the end of what an oracle has written, one `ADDRESS SIZE` a line in order of
 * address, as `malloc allocations` writes them. On standard error: `EVENTS GIVEN TAKEN UNFINISHED`, where UNFINISHED are
 * places that a thread had taken and not written. Status 1 if the file was too small.
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

/* One address: order[0] to order[nr - 1] are its events. */
static void replay(const uint32_t *order, uint64_t nr)
{
	uint64_t size = 0;
	int live = 0;

	for (uint64_t i = 0; i < nr; i++) {
		if (event[order[i]].kind == ORACLE_GIVEN)
			size = event[order[i]].size;
		live = event[order[i]].kind != ORACLE_TAKEN;
	}
	if (live)
		printf("0x%016" PRIx64 " %" PRIu64 "\n", event[order[0]].address, size);
}

int main(int argc, char **argv)
{
	const struct oracle *oracle;
	uint64_t nr, known = 0, i, from;
	uint32_t *order;

	if (argc != 2)
		return 2;
	oracle = map(argv[1]);
	event = oracle->event;
	nr = oracle->next;
	order = malloc((nr + 1) * sizeof(*order));
	if (!order)
		fail("malloc");
	for (i = 0; i < nr; i++) {
		count[event[i].kind]++;
		if (event[i].kind != ORACLE_NONE)
			order[known++] = (uint32_t)i;
	}
	qsort(order, known, sizeof(*order), compare);
	for (from = 0; from < known; from = i) {
		for (i = from; i < known && event[order[i]].address == event[order[from]].address; i++)
			;
		replay(order + from, i - from);
	}
	fprintf(stderr, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", nr, count[ORACLE_GIVEN],
		count[ORACLE_TAKEN], count[ORACLE_NONE]);
	free(order);
	return fflush(stdout) != 0;
}
