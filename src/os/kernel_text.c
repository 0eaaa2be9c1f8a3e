/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses the kernel's tables of numbers: proc(5), Documentation/admin-guide/cgroup-v2.rst. */

#include "os/kernel_text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/str.h"

#define LONGEST		(8u << 20)	/* of a file; mountinfo has some 100 bytes a mount */
#define READ_STEP	8192

struct err *kernel_text(const char *path, char **ret)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	AUTO_STR struct str text = STR_INIT;
	struct err *err = str_add(&text, "");	/* an empty file gives a text, too */

	if (fd < 0)
		return err_sys("%s", path);
	while (!err) {
		char step[READ_STEP];
		ssize_t got = read(fd, step, sizeof(step));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_sys("%s", path);
		if (!got) {
			*ret = take(text.at);
			return NULL;
		}
		err = text.len + (size_t)got > LONGEST ?
			limit_err(path, "too many bytes", LONGEST) :
			str_add_bytes(&text, step, (size_t)got);
	}
	return err;
}

uint64_t kernel_text_number(const char *text)
{
	uint64_t value;
	char *end;

	if (!strncmp(text, "max", 3) && (!text[3] || text[3] == '\n'))
		return KERNEL_NO_LIMIT;
	if (!isdigit((unsigned char)*text))
		return KERNEL_UNKNOWN;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || !kernel_is_number(value))
		return KERNEL_UNKNOWN;
	if (!strncmp(end, " kB", 3)) {
		if (value > UINT64_MAX >> 11)
			return KERNEL_UNKNOWN;
		value <<= 10;
		end += 3;
	}
	return !*end || *end == '\n' ? value : KERNEL_UNKNOWN;
}

/* NULL if it cannot be read. */
static char *text_of(const char *folder, const char *name)
{
	AUTO_STR struct str path = STR_INIT;
	char *text = NULL;

	if (str_addf(&path, "%s/%s", folder, name) || kernel_text(path.at, &text))
		return NULL;
	return text;
}

uint64_t kernel_text_number_file(const char *folder, const char *name)
{
	AUTO_FREE char *text = text_of(folder, name);

	return text ? kernel_text_number(text) : KERNEL_UNKNOWN;
}

uint64_t kernel_text_sum(uint64_t a, uint64_t b)
{
	uint64_t sum;

	if (!kernel_is_number(a) || !kernel_is_number(b) || __builtin_add_overflow(a, b, &sum))
		return KERNEL_UNKNOWN;
	return kernel_is_number(sum) ? sum : KERNEL_UNKNOWN;
}

static bool is_name(const struct kernel_key *key, const char *name, size_t len)
{
	size_t want = strlen(key->name);

	return (key->prefix ? len >= want : len == want) && !memcmp(key->name, name, want);
}

/*
 * Take a line. Returns the keys, as bits, whose number is malformed: a sum of several names is not
 * known then, whatever the others have.
 */
static uint64_t take_line(const char *line, const struct kernel_key *keys, size_t nr, void *figures)
{
	size_t len = strcspn(line, ": \n");
	const char *at = line + len + (line[len] == ':');
	uint64_t malformed = 0;

	at += strspn(at, " \t");
	for (size_t i = 0; i < nr; i++) {
		uint64_t *figure = (uint64_t *)((char *)figures + keys[i].offset), value;

		if (!is_name(&keys[i], line, len))
			continue;
		value = kernel_text_number(at);
		if (value == KERNEL_UNKNOWN)
			malformed |= 1ull << i;
		*figure = *figure == KERNEL_UNKNOWN ? value : kernel_text_sum(*figure, value);
	}
	return malformed;
}

void kernel_text_table(const char *text, const struct kernel_key *keys, size_t nr, void *figures)
{
	uint64_t malformed = 0;

	while (*text) {
		malformed |= take_line(text, keys, nr, figures);
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	for (size_t i = 0; i < nr; i++)
		if (malformed & 1ull << i)
			*(uint64_t *)((char *)figures + keys[i].offset) = KERNEL_UNKNOWN;
}

void kernel_text_table_file(const char *folder, const char *name, const struct kernel_key *keys,
			    size_t nr, void *figures)
{
	AUTO_FREE char *text = text_of(folder, name);

	if (text)
		kernel_text_table(text, keys, nr, figures);
}

void kernel_text_unknown(void *figures, size_t nr)
{
	memset(figures, 0xff, nr * sizeof(uint64_t));
}
