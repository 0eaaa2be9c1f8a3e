/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Asks a debuginfod. The library calls a function of ours about once a second, also while it
 * connects, and stops if that function says so: limits and Ctrl-C are checked there. The library's
 * own limits ($DEBUGINFOD_MAXSIZE, $DEBUGINFOD_MAXTIME, $DEBUGINFOD_TIMEOUT) hold, too.
 */

#include "symbol/debug_server.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "os/tracer.h"
#include "os/trust.h"

#define LIBRARY	"libdebuginfod.so.1"

struct debuginfod_client;	/* the library's */

/* The functions are declared as in elfutils/debuginfod.h, which need not be installed. */
struct debug_server {
	void *library;
	struct debuginfod_client *client;
	struct debuginfod_client *(*begin)(void);
	int (*find)(struct debuginfod_client *client, const unsigned char *id, int len,
		    char **path);
	void (*set_progress)(struct debuginfod_client *client,
			     int (*fn)(struct debuginfod_client *client, long done, long total));
};

/* A request that is under way. */
struct work {
	const struct debug_request *request;
	uint64_t end;		/* as tracer_now() counts */
	struct err *stopped;	/* why it must end; NULL: it must not */
};

static struct err *too_long(uint64_t most)
{
	return err_create(ERR_RANGE, "longer than %llu MB", (unsigned long long)(most >> 20));
}

/* Only the main thread asks, for one file at a time. */
static struct work *at_work;

static int on_progress(struct debuginfod_client *client UNUSED, long done, long total)
{
	struct work *work = at_work;
	const struct debug_request *request = work->request;
	uint64_t bytes = (uint64_t)MAX(done, 0l), all = (uint64_t)MAX(total, 0l);

	if (!work->stopped)
		work->stopped = cancel_check();
	if (!work->stopped && tracer_now() >= work->end)
		work->stopped = err_create(ERR_TIMEOUT, "not there within %u s",
					   request->most_seconds);
	if (!work->stopped && MAX(bytes, all) > request->most_bytes)
		work->stopped = too_long(request->most_bytes);
	if (!work->stopped && request->step && all)
		request->step(request->ctx, bytes, all);
	return work->stopped != NULL;
}

static struct err *load(struct debug_server *server)
{
	const struct {
		const char *name;
		void *to;
	} functions[] = {
		{ "debuginfod_begin", &server->begin },
		{ "debuginfod_find_debuginfo", &server->find },
		{ "debuginfod_set_progressfn", &server->set_progress },
	};

	server->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; server->library && i < ARRAY_SIZE(functions); i++) {
		void *function = dlsym(server->library, functions[i].name);

		if (!function)
			break;
		memcpy(functions[i].to, &function, sizeof(function));
	}
	if (server->library && server->set_progress)
		return NULL;
	return err_hint(err_create(ERR_NOTFOUND, "debuginfod: %s", dlerror()),
			"for an installed mdbg: apt install libdebuginfod1 (Fedora: "
			"elfutils-debuginfod-client)");
}

/* The library makes the folder of its cache, and removes old files there, wherever that is. */
static struct err *check_folder(const char *folder, const char *below)
{
	AUTO_STR struct str path = STR_INIT;
	struct err *err = str_addf(&path, "%s%s", folder, below);

	if (!err)
		err = trust_path(path.at);
	return err && err != err_nomem ?
		err_hint(err_wrap(err, "debuginfod: the folder of its cache"),
			 "before mdbg is started: export DEBUGINFOD_CACHE_PATH=FOLDER, one of your "
			 "own") : err;
}

/* As debuginfod_find_debuginfo(3) finds it; the first one is that of old versions. */
static struct err *check_folders(void)
{
	const char *named = getenv("DEBUGINFOD_CACHE_PATH"), *cache = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	struct err *err;

	if (named && *named)
		return check_folder(named, "");
	err = check_folder(home ? home : "", "/.debuginfod_client_cache");
	if (err)
		return err;
	return cache && *cache ? check_folder(cache, "/debuginfod_client") :
				 check_folder(home ? home : "", "/.cache/debuginfod_client");
}

struct err *debug_server_create(struct debug_server **ret)
{
	AUTO_FREE struct debug_server *server = calloc(1, sizeof(*server));
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct err *err;

	if (!server)
		return err_nomem;
	if (!urls || !urls[strspn(urls, " ")])
		return err_hint(err_create(ERR_NOTFOUND,
					   "debuginfod: DEBUGINFOD_URLS names no server"),
				"before mdbg is started: export DEBUGINFOD_URLS="
				"https://debuginfod.debian.net");
	err = check_folders();
	if (!err)
		err = load(server);
	if (err)
		return err;
	server->client = server->begin();
	if (!server->client)
		return err_create(ERR_NOTFOUND, "debuginfod: the library cannot be initialised");
	server->set_progress(server->client, on_progress);
	*ret = take(server);
	return NULL;
}

static struct err *failed(const struct work *work, int errnum)
{
	if (work->stopped)
		return work->stopped;
	if (errnum == ENOENT)
		return err_create(ERR_NOTFOUND, "no server has it");
	if (errnum == EFBIG)
		return err_create(ERR_RANGE, "longer than DEBUGINFOD_MAXSIZE allows");
	errno = errnum;
	return err_sys("the server");
}

struct err *debug_server_find(struct debug_server *server, const struct debug_request *request,
			      int *fd_ret)
{
	struct work work = {
		.request = request,
		.end = tracer_now() + request->most_seconds * 1000000000ull,
	};
	AUTO_CLOSE int fd = -1;
	struct stat st;

	at_work = &work;
	fd = server->find(server->client, (const unsigned char *)request->build_id, 0, NULL);
	at_work = NULL;
	if (fd < 0)
		return failed(&work, -fd);
	/* The file may have arrived completely before it was found to be too long. */
	if (fstat(fd, &st))
		return err_sys("the file");
	if ((uint64_t)st.st_size > request->most_bytes)
		return too_long(request->most_bytes);
	*fd_ret = take_fd(fd);
	return NULL;
}
