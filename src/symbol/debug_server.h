/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A server of debug files (debuginfod), used through elfutils' libdebuginfod. That library is
 * loaded only when it is needed: it includes an HTTP client, which few users want in a debugger
 * that runs as root. It knows the servers ($DEBUGINFOD_URLS) and keeps files in its own folder
 * ($DEBUGINFOD_CACHE_PATH, or debuginfod_client in $XDG_CACHE_HOME). Its files are as untrusted as
 * all others.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct debug_server;

/*
 * Load the library. ERR_NOTFOUND, with a hint: there is no library, or no server is named. The
 * library stays loaded until mdbg ends, since the libraries that it has loaded may not allow to be
 * unloaded.
 */
struct err *debug_server_create(struct debug_server **ret) MUST_CHECK;

struct debug_request {
	const char *build_id;		/* in hex, lower case */
	uint64_t most_bytes;
	uint32_t most_seconds;
	/*
	 * Called about once a second with the number of bytes so far, and the total or 0. It may be
	 * NULL.
	 */
	void (*step)(void *ctx, uint64_t done, uint64_t total);
	void *ctx;
};

/*
 * Get the debug file with that build-id, open for reading; this may take most_seconds.
 * ERR_NOTFOUND: no server has it. ERR_RANGE: it is longer than allowed. ERR_CANCELLED: Ctrl-C.
 * ERR_TIMEOUT, ERR_SYS: the server does not answer, so it is better not to ask again.
 */
struct err *debug_server_find(struct debug_server *server, const struct debug_request *request,
			      int *fd_ret) MUST_CHECK;
