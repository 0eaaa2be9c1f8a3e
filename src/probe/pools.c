/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of pools. */

#include "probe/pools.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/path.h"
#include "tracee/module.h"

/*
 * GLib's file has 100 times its minor version in its name. From 2.76 on a slice is a block of
 * malloc.
 */
#define GLIB		"libglib-2.0.so.0."
#define GLIB_PLAIN	7600

static bool begins(const char *file, const char *with)
{
	return !strncmp(file, with, strlen(with));
}

static bool in_glib(const char *file)
{
	return begins(file, GLIB) && strtol(file + strlen(GLIB), NULL, 10) < GLIB_PLAIN;
}

static bool in_python(const char *file)
{
	return begins(file, "libpython3") || begins(file, "python3");
}

static bool in_postgres(const char *file)
{
	return !strcmp(file, "postgres");
}

static bool in_nginx(const char *file)
{
	return !strcmp(file, "nginx");
}

static bool in_apr(const char *file)
{
	return begins(file, "libapr-1.so");
}

static bool in_talloc(const char *file)
{
	return begins(file, "libtalloc.so");
}

static bool in_sqlite(const char *file)
{
	return begins(file, "libsqlite3.so");
}

#define AT_ONCE	"Blocks that are freed with a whole pool, by one call, stay listed until `malloc reset`"

const struct pool pools[POOLS] = {
	{ "gslice", "GLib's slices", "g_slice_alloc", in_glib, true, false, NULL, NULL, NULL },
	{ "pymalloc", "Python's objects of up to 512 bytes", "PyObject_Malloc", in_python, true, false,
	  "malloc pymalloc", "malloc pymalloc lost",
	  "What the interpreter makes and frees by inner functions is not seen, so that blocks that "
	  "are free may stay listed, and one that it has made where another was may have the other's "
	  "stack; `malloc pymalloc lost` names who made what was lost from now on" },
	{ "palloc", "PostgreSQL's memory contexts", "palloc", in_postgres, true, true, NULL, NULL, AT_ONCE },
	{ "nginx", "nginx's pools", "ngx_palloc", in_nginx, true, true, NULL, NULL, AT_ONCE },
	{ "apr", "the pools of Apache's runtime", "apr_palloc", in_apr, true, true, NULL, NULL, AT_ONCE },
	/* These get a block of malloc for each of most objects. */
	{ "talloc", "talloc's hierarchy", "_talloc_array", in_talloc, false, true, NULL, NULL,
	  AT_ONCE ". Strings (talloc_strdup, talloc_asprintf) are not seen" },
	{ "sqlite", "SQLite's allocator", "sqlite3_malloc", in_sqlite, false, false, NULL, NULL,
	  "What SQLite allocates for itself are blocks of malloc, and not seen by these" },
};

uint32_t pools_find(const struct modules *modules)
{
	uint32_t found = 0;

	vec_each_value(module, &modules->live) {
		const char *file = path_base(module->path);

		for (unsigned i = 0; i < POOLS; i++)
			if (pools[i].is_in(file))
				found |= 1u << i;
	}
	return found;
}
