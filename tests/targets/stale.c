/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Words of stacks and registers that blocks hang on alone, live ones and dead ones, and inner pointers.
 *
 *	dead		a block of 6007 bytes, and one of 6011 that hangs on it: lost, but for a slot in a frame of a function
 *			that goes on, in which an array is no longer used
 *	alive		one of 6029, which a variable of a function that waits has
 *	based		one of 6059, which a variable of a function that waits has; its frame is known by BP alone
 *	exit		one of 6053, which a variable of the function that calls exit has
 *	inner		one of 6047, into whose middle a variable of a function that waits points, and nothing else
 *	ended		one of 6037, lost by a thread that has ended, on the stack that libc keeps
 *	again		the functions of dead and alive return, and free theirs
 *	strings N	N blocks of 6043 with a header of 24 bytes, behind which a table points
 *	nodes N		N blocks of 12047: each is pointed to behind its header by a place of the table, and has the only pointer
 *			to the start of one of 18053
 *	wild N		N blocks of 6091, into each of which a place of the table points, anywhere
 *	few N		N blocks of 12107, with a header of 24 bytes
 *	one		one of 6067, to a byte in the middle of which a variable points, and nothing else
 *	pool		one of 24073 that begins as nginx's pools do; a variable points into it, and it to the start of one of 24119
 *	end		main returns, and leaves all words of an array in its frame that point to one of 6089, which is lost then
 *	verify, quit
 */
#include <pthread.h>

#include "target.h"

#define TABLE	1000

static char *volatile table[2 * TABLE], *volatile middle, *volatile pool;
static unsigned used;
static int ending;

static NOINLINE char *make(size_t size)
{
	char *block = malloc(size);

	if (!block)
		_exit(98);
	memset(block, 1, size);
	KEEP(block);
	return block;
}

/* Registers and the stack below are as after other work. */
static NOINLINE void cover(void)
{
	static char *volatile other;
	volatile char room[16384];

	free(other);
	other = make(32);
	memset((char *)room, 0, sizeof(room));
}

static void obey(void);

/* The array's only pointer is of no use to it any more. */
static NOINLINE void wait_in_dead_frame(void)
{
	char *volatile array[4] = { NULL };

	array[2] = make(6007);
	*(char **)array[2] = make(6011);
	cover();
	say("ok");
	obey();
	free(*(char **)array[2]);
	free(array[2]);
}

static NOINLINE void wait_with_variable(void)
{
	char *volatile variable = make(6029);

	cover();
	say("ok");
	obey();
	free(variable);
}

static NOINLINE void wait_with_inner_pointer(void)
{
	char *volatile variable = make(6047) + 3000;

	cover();
	say("ok");
	obey();
	free(variable - 3000);
}

/* A compiler does not know the size of the frame. */
static NOINLINE void wait_in_based_frame(void)
{
	volatile char *room = __builtin_alloca(used + 64);
	char *volatile variable = make(6059);

	room[0] = 1;
	cover();
	say("ok");
	obey();
	free(variable);
}

/* The call of exit is the last instruction: the address behind it is the next function's. */
static NOINLINE void exit_in_place(void)
{
	char *volatile variable = make(6053);

	cover();
	exit(variable == NULL);
}

/* Calls of the library end up farther down, so that what this leaves behind stays. */
static NOINLINE void *lose_in_thread(void *arg)
{
	char *volatile last[32];

	last[20] = make(6037);
	return last[20] ? arg : NULL;
}

static void *end_at_once(void *arg)
{
	return arg;
}

static void run_thread(void *(*run)(void *arg))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL) || pthread_join(thread, NULL))
		_exit(98);
}

static NOINLINE void add_strings(int nr, size_t size, size_t offset, size_t next)
{
	for (int i = 0; i < nr && used < 2 * TABLE; i++) {
		char *block = make(size);

		if (next)
			*(char **)block = make(next);
		table[used++] = block + offset;
	}
}

/* A site of its own: a compiler may make one call of two that differ in their arguments alone. */
static NOINLINE void add_few(int nr)
{
	add_strings(nr, 12107, 24, 0);
}

static NOINLINE void make_pool(void)
{
	char **block = (char **)make(24073);

	block[0] = (char *)block + 512;
	block[1] = (char *)block + 24073;
	block[2] = make(24119);
	pool = (char *)block + 208;
}

/* Returns at `again`, at the end of input, or after another function has waited. */
static void obey(void)
{
	for (char *line = hear(); line; line = hear()) {
		if (!strcmp(line, "dead")) {
			wait_in_dead_frame();
		} else if (!strcmp(line, "alive")) {
			wait_with_variable();
		} else if (!strcmp(line, "inner")) {
			wait_with_inner_pointer();
		} else if (!strcmp(line, "based")) {
			wait_in_based_frame();
		} else if (!strcmp(line, "exit")) {
			exit_in_place();
		} else if (!strcmp(line, "again")) {
			return;
		} else if (!strcmp(line, "end")) {
			ending = 1;
			return;
		} else if (!strcmp(line, "quit")) {
			_exit(0);
		} else if (!strcmp(line, "ended")) {
			run_thread(lose_in_thread);
		} else if (!strncmp(line, "strings ", 8)) {
			add_strings(atoi(line + 8), 6043, 24, 0);
		} else if (!strncmp(line, "nodes ", 6)) {
			add_strings(atoi(line + 6), 12047, 40, 18053);
		} else if (!strncmp(line, "few ", 4)) {
			add_few(atoi(line + 4));
		} else if (!strncmp(line, "wild ", 5)) {
			for (int i = 0; i < atoi(line + 5); i++)
				add_strings(1, 6091, 100 + 137 * (size_t)i, 0);
		} else if (!strcmp(line, "one")) {
			middle = make(6067) + 3000;
		} else if (!strcmp(line, "pool")) {
			make_pool();
		} else if (strcmp(line, "verify")) {
			say("bad %s", line);
			continue;
		}
		cover();
		say("ok");
	}
}

int main(void)
{
	char *volatile array[64];

	/* With its first thread libc takes a signal for itself. */
	run_thread(end_at_once);
	say_ready();
	obey();
	array[0] = ending ? make(6089) : NULL;
	for (int i = 1; i < 64; i++)
		array[i] = array[0];
	return 0;
}
