/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * As little of a libc as a program can have: read, write, malloc and free. Linked with a static
 * musl it has no code for signals, and none that makes rt_sigreturn. Blocks come by a chain of four
 * functions (block_get, shelf_fill, room_fill, main). Commands, of which only the first letter
 * counts: f (fill: free all blocks, and allocate them anew), verify, quit.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE	__attribute__((noinline))
#define BLOCKS		64
#define SIZE		333

static unsigned char *block[BLOCKS];
static unsigned char round_of_fills;

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(2);
}

static NOINLINE unsigned char *block_get(unsigned i)
{
	unsigned char *p = malloc(SIZE);

	if (!p)
		_exit(3);
	memset(p, (int)(i + round_of_fills), SIZE);
	return p;
}

static NOINLINE unsigned shelf_fill(unsigned i)
{
	free(block[i]);
	block[i] = block_get(i);
	return block[i][0];
}

static NOINLINE unsigned room_fill(void)
{
	unsigned sum = 0;

	round_of_fills++;
	for (unsigned i = 0; i < BLOCKS; i++)
		sum += shelf_fill(i);
	return sum;
}

static NOINLINE int is_good(void)
{
	for (unsigned i = 0; i < BLOCKS; i++)
		for (unsigned j = 0; j < SIZE; j++)
			if (block[i][j] != (unsigned char)(i + round_of_fills))
				return 0;
	return 1;
}

int main(void)
{
	unsigned sum = room_fill();
	char word = 0, c;

	say("ready 0\n");
	while (read(0, &c, 1) == 1) {
		if (c != '\n') {
			word = word ? word : c;
			continue;
		}
		if (word == 'q')
			return sum == 0;
		if (word == 'f')
			sum += room_fill();
		say(is_good() ? "ok\n" : "bad\n");
		word = 0;
	}
	return 1;
}
