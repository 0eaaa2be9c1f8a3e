/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Has SQLite read an untrusted database from a descriptor (sqlite_source.h). */

#ifdef HAVE_SQLITE
#include "export/sqlite_source.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/compiler.h"

#define NAME		"mdbg-export"
#define CANCEL_STEPS	10000		/* of SQLite's machine between two looks for Ctrl-C */

/* The file, as SQLite has it. */
struct source_file {
	sqlite3_file base;
	int fd;
};

static int source_fd(sqlite3_file *file)
{
	return ((struct source_file *)file)->fd;
}

/* SQLite wants zeros behind the end of the file. */
static int read_bytes(sqlite3_file *file, void *to, int len, sqlite3_int64 offset)
{
	char *at = to;

	while (len) {
		ssize_t got = pread(source_fd(file), at, (size_t)len, offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return SQLITE_IOERR_READ;
		if (!got) {
			memset(at, 0, (size_t)len);
			return SQLITE_IOERR_SHORT_READ;
		}
		at += got;
		offset += got;
		len -= (int)got;
	}
	return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret)
{
	struct stat stat;

	if (fstat(source_fd(file), &stat))
		return SQLITE_IOERR_FSTAT;
	*ret = stat.st_size;
	return SQLITE_OK;
}

static int write_bytes(sqlite3_file *file UNUSED, const void *from UNUSED, int len UNUSED,
		       sqlite3_int64 offset UNUSED)
{
	return SQLITE_READONLY;
}

static int truncate_file(sqlite3_file *file UNUSED, sqlite3_int64 size UNUSED)
{
	return SQLITE_READONLY;
}

static int do_nothing(sqlite3_file *file UNUSED, int how UNUSED)
{
	return SQLITE_OK;
}

static int is_reserved(sqlite3_file *file UNUSED, int *ret)
{
	*ret = 0;
	return SQLITE_OK;
}

static int control(sqlite3_file *file UNUSED, int what UNUSED, void *arg UNUSED)
{
	return SQLITE_NOTFOUND;
}

/* The descriptor is the caller's. */
static int close_file(sqlite3_file *file UNUSED)
{
	return SQLITE_OK;
}

static int sector_size(sqlite3_file *file UNUSED)
{
	return 0;
}

/* SQLite locks no file that nobody changes, and looks for no journal beside it. */
static int characteristics(sqlite3_file *file UNUSED)
{
	return SQLITE_IOCAP_IMMUTABLE;
}

static const sqlite3_io_methods methods = {
	.iVersion = 1, .xClose = close_file, .xRead = read_bytes, .xWrite = write_bytes,
	.xTruncate = truncate_file, .xSync = do_nothing, .xFileSize = file_size,
	.xLock = do_nothing, .xUnlock = do_nothing, .xCheckReservedLock = is_reserved,
	.xFileControl = control, .xSectorSize = sector_size,
	.xDeviceCharacteristics = characteristics,
};

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
		     int *flags_ret)
{
	const struct sqlite_source *source = vfs->pAppData;

	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return source->usual->xOpen(source->usual, name, file, flags, flags_ret);
	*(struct source_file *)file = (struct source_file){ { &methods }, source->fd };
	if (flags_ret)
		*flags_ret = SQLITE_OPEN_READONLY;
	return SQLITE_OK;
}

static int full_name(sqlite3_vfs *vfs UNUSED, const char *name, int room, char *ret)
{
	sqlite3_snprintf(room, ret, "%s", name);
	return SQLITE_OK;
}

static int look_for_cancel(void *ctx UNUSED)
{
	return cancel_requested();
}

/* Only columns of tables may be read, and not by a view or a trigger, which `inner` names. */
static int allow(void *ctx UNUSED, int action, const char *table UNUSED, const char *column UNUSED,
		 const char *database UNUSED, const char *inner)
{
	return (action == SQLITE_SELECT || action == SQLITE_READ) && !inner ? SQLITE_OK :
									      SQLITE_DENY;
}

static int restrict_reading(sqlite3 *sql, int length_most)
{
	int code;

	sqlite3_limit(sql, SQLITE_LIMIT_LENGTH, length_most);
	sqlite3_db_config(sql, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(sql, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	/* Without this SQLite takes a name in quotes for a string if there is no such column. */
	sqlite3_db_config(sql, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	sqlite3_progress_handler(sql, CANCEL_STEPS, look_for_cancel, NULL);
	code = sqlite3_exec(sql, "PRAGMA cell_size_check=1; PRAGMA mmap_size=0", NULL, NULL, NULL);
	sqlite3_set_authorizer(sql, allow, NULL);
	return code;
}

int sqlite_source_open(struct sqlite_source *source, int fd, int length_most)
{
	sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
	int code;

	*source = (struct sqlite_source){ .usual = usual, .fd = fd };
	if (!usual)
		return SQLITE_NOMEM;
	source->vfs = *usual;
	source->vfs.pNext = NULL;
	source->vfs.zName = NAME;
	source->vfs.pAppData = source;
	source->vfs.szOsFile = MAX(usual->szOsFile, (int)sizeof(struct source_file));
	source->vfs.xOpen = open_file;
	source->vfs.xFullPathname = full_name;
	code = sqlite3_vfs_register(&source->vfs, 0);
	if (code == SQLITE_OK)
		code = sqlite3_open_v2(NAME, &source->sql, SQLITE_OPEN_READONLY, NAME);
	return code == SQLITE_OK ? restrict_reading(source->sql, length_most) : code;
}

void sqlite_source_close(struct sqlite_source *source)
{
	sqlite3_close(source->sql);
	sqlite3_vfs_unregister(&source->vfs);
}
#endif
