/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the head of an export to SQLite (sqlite_head.h). */

#include "export/sqlite_head.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "export/schema.h"

static struct err *no_export(const char *name)
{
	return err_hint(err_create(ERR_FORMAT, "read %s: this is no export of mdbg", name),
			"`export sqlite FILE` writes one");
}

/* The head of the file, by https://www.sqlite.org/fileformat.html, 1.3 */

#define HEAD	100

static uint64_t number_at(const uint8_t *head, unsigned at, unsigned len)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < len; i++)
		number = number << 8 | head[at + i];
	return number;
}

static struct err *check_head(const char *name, const uint8_t *head, uint64_t size)
{
	uint64_t page = number_at(head, 16, 2), version = number_at(head, 60, 4);
	uint64_t pages = number_at(head, 28, 4);

	if (memcmp(head, "SQLite format 3", 16) || number_at(head, 68, 4) != SCHEMA_APPLICATION)
		return no_export(name);
	if (version > SCHEMA_VERSION)
		return err_hint(err_create(ERR_UNSUPPORTED, "read %s: this is an export of a newer "
					   "mdbg (its tables have version %u, this one reads %u)",
					   name, (unsigned)version, SCHEMA_VERSION),
				"compare it by the mdbg that has written it");
	page = page == 1 ? 65536 : page;
	if (version && size == page * pages)
		return NULL;
	return err_hint(err_create(ERR_FORMAT, "read %s: the export is damaged: it has %" PRIu64
				   " bytes, not %" PRIu64, name, size, page * pages),
			"`export sqlite FILE` writes a new one");
}

struct err *sqlite_head_open(const char *name, int *ret)
{
	/* A FIFO is opened without waiting for its writer, and is refused. */
	AUTO_CLOSE int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	uint8_t head[HEAD];
	struct stat stat;
	struct err *err;
	ssize_t len;

	if (fd < 0 || fstat(fd, &stat))
		return err_hint(err_sys("read %s", name),
				"FILE is what `export sqlite FILE` has written");
	if (!S_ISREG(stat.st_mode))
		return no_export(name);
	len = pread(fd, head, sizeof(head), 0);
	if (len < 0)
		return err_sys("read %s", name);
	if (len < HEAD)
		return no_export(name);
	err = check_head(name, head, (uint64_t)stat.st_size);
	if (!err)
		*ret = take_fd(fd);
	return err;
}
