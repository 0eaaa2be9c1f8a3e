/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the test targets share: a line protocol on standard input and output, and blocks with canaries.
 *
 * A target prints `ready PID`, then answers each line of standard input with `ok …`, `bad …` or data that ends with
 * `end N`. Nothing here allocates, so that the only allocations in a target are those that it means.
 */
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define UNUSED		__attribute__((unused))
/* A bench that links code of mdbg has base/compiler.h's, which lets gcc copy the function. */
#undef NOINLINE
#ifdef __clang__
#define NOINLINE	__attribute__((noinline))
#else
#define NOINLINE	__attribute__((noinline, noclone))
#endif
/* Keeps a call from becoming a tail call, and a block from being optimised away. */
#define KEEP(p)		__asm__ volatile("" : "+r"(p) : : "memory")
/* Changes registers of arguments, as any callee may. */
#ifdef __x86_64__
#define CHANGE_ARGUMENTS()								\
	__asm__ volatile("xor %%ecx, %%ecx; xor %%r8d, %%r8d; xor %%r9d, %%r9d; "	\
			 "xor %%r10d, %%r10d" : : : "rcx", "r8", "r9", "r10", "cc")
#else
#define CHANGE_ARGUMENTS()	((void)0)
#endif

/* Write all of it; a reader that is gone ends the target quietly. */
static UNUSED void say_bytes(const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(1, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(99);
		text += n;
		len -= (size_t)n;
	}
}

__attribute__((format(printf, 1, 2))) static UNUSED void say(const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text) - 1, fmt, ap);
	va_end(ap);
	if (n > (int)sizeof(text) - 2)
		n = (int)sizeof(text) - 2;
	text[n++] = '\n';
	say_bytes(text, (size_t)n);
}

static UNUSED void say_ready(void)
{
	say("ready %d", (int)getpid());
}

/* The next line of standard input without its newline, or NULL at its end. Valid until the next call. */
static UNUSED char *hear(void)
{
	static char buffer[4096];
	static size_t used, given;
	char *newline;

	memmove(buffer, buffer + given, used - given);
	used -= given;
	given = 0;
	for (;;) {
		ssize_t n;

		newline = (char *)memchr(buffer, '\n', used);
		if (newline)
			break;
		if (used == sizeof(buffer))
			return NULL;
		n = read(0, buffer + used, sizeof(buffer) - used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return NULL;
		used += (size_t)n;
	}
	*newline = '\0';
	given = (size_t)(newline - buffer) + 1;
	return buffer;
}

/* If line is WORD or starts with WORD and a space: the rest, else NULL. */
static UNUSED const char *after(const char *line, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(line, word, len) != 0)
		return NULL;
	if (line[len] == '\0')
		return line + len;
	return line[len] == ' ' ? line + len + 1 : NULL;
}

static UNUSED pid_t my_lwp(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static UNUSED uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static UNUSED void nap_us(long us)
{
	struct timespec nap;

	nap.tv_sec = 0;
	nap.tv_nsec = us * 1000;
	nanosleep(&nap, NULL);
}

/* A small generator of pseudo-random numbers (xorshift); *state is not 0. */
static UNUSED uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static inline unsigned char canary_byte(const void *block, size_t i)
{
	return (unsigned char)(((uintptr_t)block >> 4) * 31 + i * 7 + 1);
}

#define CANARY_EDGE	48u

/* Fill the first and last bytes of a block with what only this block can hold. */
static UNUSED void canary_fill(void *block, size_t size)
{
	unsigned char *byte = (unsigned char *)block;
	size_t i;

	for (i = 0; i < size; i++) {
		if (i == CANARY_EDGE && size > 2 * CANARY_EDGE)
			i = size - CANARY_EDGE;
		byte[i] = canary_byte(block, i);
	}
}

/* Do the first len bytes of data still hold what canary_fill put into a block at address key of that size? */
static UNUSED int canary_holds_as(const void *data, const void *key, size_t size, size_t len)
{
	const unsigned char *byte = (const unsigned char *)data;
	size_t i;

	for (i = 0; i < len; i++) {
		if (i == CANARY_EDGE && size > 2 * CANARY_EDGE)
			i = size - CANARY_EDGE;
		if (i < len && byte[i] != canary_byte(key, i))
			return 0;
	}
	return 1;
}

static UNUSED int canary_holds(const void *block, size_t size)
{
	return canary_holds_as(block, block, size, size);
}
