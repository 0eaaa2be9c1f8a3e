/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A server of debug files (debuginfod), through elfutils' libdebuginfod, which is loaded when it is
 * asked for and not before: it brings an HTTP client along, and few users want one in a debugger
 * that is root. It knows the servers ($DEBUGINFOD_URLS) and keeps what it gets in its own folder
 * ($DEBUGINFOD_CACHE_PATH, or debuginfod_client in $XDG_CACHE_HOME). What it gives is no more to be
 * believed than any other file.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct debug_server;

/*
 * ERR_NOTFOUND, with a hint: no library, or no server is named. It stays until mdbg ends: what the
 * library has loaded in its turn may not like to go.
 */
struct err *debug_server_create(struct debug_server **ret) MUST_CHECK;

struct debug_request {
	const char *build_id;		/* in hex, lower case */
	uint64_t most_bytes;
	uint32_t most_seconds;
	/* Called about once a second with the bytes so far, and all of them or 0. NULL: nobody. */
	void (*step)(void *ctx, uint64_t done, uint64_t total);
	void *ctx;
};

/*
 * The debug file of that build-id, open for reading; it may take most_seconds. ERR_NOTFOUND: no
 * server has it. ERR_RANGE: it is longer. ERR_CANCELLED: Ctrl-C. ERR_TIMEOUT, ERR_SYS: the server
 * does not answer, so that one had better not ask again.
 */
struct err *debug_server_find(struct debug_server *server, const struct debug_request *request,
			      int *fd_ret) MUST_CHECK;
