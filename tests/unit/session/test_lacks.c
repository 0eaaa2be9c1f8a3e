/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which functions that are not watched the user is told of, and when an attach is refused. */

#include <sys/eventfd.h>

#include "probe/probe.h"
#include "session/lacks.h"
#include "session/private.h"
#include "unit.h"

#define NR	5u

static const struct alloc_function functions[NR] = {
	{ .name = "malloc", .role = ALLOC_NEW }, { .name = "calloc", .role = ALLOC_NEW },
	{ .name = "realloc", .role = ALLOC_NEW }, { .name = "memalign", .role = ALLOC_NEW },
	{ .name = "free", .role = ALLOC_FREE },
};

static struct session session;
static struct probes probes;
static struct probe probe[NR];
static struct module module;

/* All are watched by jumps. */
static void begin(void)
{
	memset(&session, 0, sizeof(session));
	memset(&probes, 0, sizeof(probes));
	session.current = session.process;
	session.current->probes = &probes;
	session.event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	CU_ASSERT_FATAL(session.event_fd >= 0);
	CU_ASSERT_FATAL(!pthread_mutex_init(&session.lock, NULL));
	module = (struct module){ .path = (char *)"/lib/libc.so.6", .died = UINT32_MAX };
	probes.armed = true;
	for (size_t i = 0; i < NR; i++) {
		probe[i] = (struct probe){ .fn = &functions[i], .module = &module,
					   .state = PROBE_ACTIVE, .engine = PROBE_JUMP };
		CU_ASSERT_PTR_NULL_FATAL(vec_push(&probes.all, &probe[i]));
	}
}

static void end(void)
{
	vec_free(&probes.all);
	vec_free(&session.events);
	close(session.event_fd);
	pthread_mutex_destroy(&session.lock);
}

EACH(begin, end);

static void refuse(size_t i, const char *why)
{
	probe[i].state = PROBE_REFUSED;
	snprintf(probe[i].why, sizeof(probe[i].why), "%s", why);
}

/* NULL: there is none. */
static void check_next(const char *text)
{
	struct session_event event = { .text = "" };
	bool have = event_queue_pop(&session, &event);

	CU_ASSERT_EQUAL(have, text != NULL);
	if (text)
		CU_ASSERT_PTR_NOT_NULL_FATAL(strstr(event.text, text));
}

TEST("functions of a module with one reason are told in one warning, and once")
{
	refuse(0, "too short");
	refuse(1, "too short");
	refuse(2, "starts with an int3");
	lacks_tell_probes(&session, &probes);
	check_next("malloc and calloc are not watched: too short (libc.so.6)");
	check_next("realloc is not watched: starts with an int3");
	check_next(NULL);
	lacks_tell_probes(&session, &probes);
	check_next(NULL);
}

TEST("of many functions with one reason two are named")
{
	for (size_t i = 0; i < NR; i++)
		refuse(i, "too short");
	lacks_tell_probes(&session, &probes);
	check_next("malloc, calloc and 3 others are not watched: too short");
	check_next("nothing is recorded");
	check_next(NULL);
}

TEST("a breakpoint in place of a jump is told, and one that was asked for is not")
{
	probe[0].engine = PROBE_BREAKPOINT;
	snprintf(probe[0].why, sizeof(probe[0].why), "no jump: too short");
	probes.policy = PROBE_ONLY_BREAKPOINT;
	lacks_tell_probes(&session, &probes);
	check_next(NULL);
	probes.policy = PROBE_AUTO;
	lacks_tell_probes(&session, &probes);
	check_next("malloc is watched by breakpoints: too short");
}

TEST("what was deleted, is recorded elsewhere or has gone with its module is not missed")
{
	for (size_t i = 0; i < 3; i++)
		refuse(i, "x");
	probe[0].gone = true;
	probe[1].elsewhere = true;
	module.died = 3;
	lacks_tell_probes(&session, &probes);
	check_next(NULL);
}

TEST("before the probes are in nothing is missed")
{
	refuse(0, "too short");
	probes.armed = false;
	lacks_tell_probes(&session, &probes);
	check_next(NULL);
}

TEST("an attach is refused if no function can be watched, or one under --engine jump")
{
	CU_ASSERT_PTR_NULL(lacks_refuse(&session));
	refuse(0, "too short");
	CU_ASSERT_PTR_NULL(lacks_refuse(&session));
	probes.policy = PROBE_ONLY_JUMP;
	CU_ASSERT_EQUAL_FATAL(lacks_refuse(&session)->code, ERR_ATTACH);
	probes.policy = PROBE_AUTO;
	for (size_t i = 1; i < NR; i++)
		refuse(i, "too short");
	CU_ASSERT_EQUAL_FATAL(lacks_refuse(&session)->code, ERR_ATTACH);
}
