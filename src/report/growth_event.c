/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A line of `growth log`. */

#include <inttypes.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "base/compiler.h"
#include "log/growth_ring.h"
#include "report/growth.h"
#include "report/out.h"
#include "report/traceback.h"
#include "session/session.h"

struct flag {
	uint64_t bits;
	const char *name;
};

#define FLAG(name)	{ name, #name }

static const struct flag protections[] = {
	FLAG(PROT_READ), FLAG(PROT_WRITE), FLAG(PROT_EXEC), { 0, NULL },
};

static const struct flag map_flags[] = {
	FLAG(MAP_FIXED), FLAG(MAP_ANONYMOUS), FLAG(MAP_GROWSDOWN), FLAG(MAP_DENYWRITE),
	FLAG(MAP_EXECUTABLE), FLAG(MAP_LOCKED), FLAG(MAP_NORESERVE), FLAG(MAP_POPULATE),
	FLAG(MAP_NONBLOCK), FLAG(MAP_STACK), FLAG(MAP_HUGETLB), FLAG(MAP_SYNC),
	{ 0x100000, "MAP_FIXED_NOREPLACE" }, { 0, NULL },
};

static const struct flag remap_flags[] = {
	{ 1, "MREMAP_MAYMOVE" }, { 2, "MREMAP_FIXED" }, { 4, "MREMAP_DONTUNMAP" }, { 0, NULL },
};

static const struct flag attach_flags[] = {
	{ SHM_RDONLY, "SHM_RDONLY" }, { SHM_RND, "SHM_RND" }, { 040000, "SHM_REMAP" },
	{ 0100000, "SHM_EXEC" }, { 0, NULL },
};

static const struct flag get_flags[] = {
	FLAG(IPC_CREAT), FLAG(IPC_EXCL), { 04000, "SHM_HUGETLB" }, { 010000, "SHM_NORESERVE" },
	{ 0, NULL },
};

/* "A|B|0x80"; `none` if no bit is set. */
static void print_flags(uint64_t value, const struct flag *flags, const char *none, bool any,
			struct out *out)
{
	const char *before = any ? "|" : "";

	for (; flags->name; flags++) {
		if ((value & flags->bits) != flags->bits)
			continue;
		out_f(out, "%s%s", before, flags->name);
		value &= ~flags->bits;
		before = "|";
	}
	if (value)
		out_f(out, "%s0x%" PRIx64, before, value);
	else if (!*before)
		out_text(out, none);
}

/* A mapping of a file has its name behind it, which may have blanks. */
static void print_file(const char *name, struct out *out)
{
	out_text(out, " file ");
	if (name)
		out_outside(out, (struct outside){ name });
	else
		out_text(out, "-");
}

static void print_mmap(const struct growth_event *event, const struct mapped_file_list *files,
		       struct out *out)
{
	static const char *const types[] = { "0", "MAP_SHARED", "MAP_PRIVATE",
					     "MAP_SHARED_VALIDATE" };
	uint64_t flags = (uint32_t)event->arg[3];
	int fd = (int)event->arg[4];

	out_f(out, " 0x%" PRIx64 " %" PRIu64 " ", event->result, event->arg[1]);
	print_flags((uint32_t)event->arg[2], protections, "PROT_NONE", false, out);
	out_f(out, " %s", flags & 0xc ? "0" : types[flags & 3]);
	print_flags(flags & (flags & 0xc ? ~0ull : ~3ull), map_flags, "", true, out);
	out_f(out, " fd %d offset %" PRIu64, fd, event->arg[5]);
	if (!(flags & MAP_ANONYMOUS))
		print_file(mapped_file_name(files, event->number), out);
}

static void print_mremap(const struct growth_event *event, struct out *out)
{
	out_f(out, " 0x%" PRIx64 " %" PRIu64 " from 0x%" PRIx64 " %" PRIu64 " ", event->result,
	      event->arg[2], event->arg[0], event->arg[1]);
	print_flags((uint32_t)event->arg[3], remap_flags, "0", false, out);
}

static void print_shmat(struct session *session, const struct growth_event *event,
			struct out *out)
{
	uint64_t size = growth_replay_event_failed(event) ? 0 :
			session_growth_segment(session, (uint32_t)event->arg[0], event->result);

	out_f(out, " 0x%" PRIx64, event->result);
	if (size)
		out_f(out, " %" PRIu64, size);
	else
		out_text(out, " -");
	out_f(out, " id %d ", (int)event->arg[0]);
	print_flags((uint32_t)event->arg[2], attach_flags, "0", false, out);
}

static void print_shmget(const struct growth_event *event, struct out *out)
{
	out_f(out, " key 0x%x %" PRIu64 " ", (uint32_t)event->arg[0], event->arg[1]);
	print_flags((uint32_t)event->arg[2] & ~0777u, get_flags, "0", false, out);
	out_f(out, " 0%o id %d", (uint32_t)event->arg[2] & 0777, (int)event->result);
}

static void print_shmctl(const struct growth_event *event, struct out *out)
{
	static const char *const commands[] = { [IPC_RMID] = "IPC_RMID", [IPC_SET] = "IPC_SET",
						[IPC_STAT] = "IPC_STAT" };
	uint32_t command = (uint32_t)event->arg[1];

	out_f(out, " id %d ", (int)event->arg[0]);
	if (command < ARRAY_SIZE(commands))
		out_text(out, commands[command]);
	else
		out_f(out, "%u", command);
}

/* "brk 0x55d0bfe22000 +135168"; the change of the heap is not known of the first one. */
static void print_brk(const struct growth_event *event, bool known, int64_t change, struct out *out)
{
	out_f(out, "brk 0x%" PRIx64, event->arg[0]);
	if (known && event->arg[0] && !growth_replay_event_failed(event))
		out_f(out, " %+" PRId64, change);
	else
		out_text(out, " -");
}

static void print_arguments(struct session *session, const struct growth_event *event,
			    const struct mapped_file_list *files, uint64_t *brk, struct out *out)
{
	bool known = *brk;
	int64_t added = growth_added(session, event, brk);

	switch ((enum growth_call)event->call) {
	case GROWTH_CALL_BRK:
		print_brk(event, known, added, out);
		break;
	case GROWTH_CALL_MMAP:
		out_text(out, "mmap");
		print_mmap(event, files, out);
		break;
	case GROWTH_CALL_MUNMAP:
		out_f(out, "munmap 0x%" PRIx64 " %" PRIu64, event->arg[0], event->arg[1]);
		break;
	case GROWTH_CALL_MREMAP:
		out_text(out, "mremap");
		print_mremap(event, out);
		break;
	case GROWTH_CALL_SHMAT:
		out_text(out, "shmat");
		print_shmat(session, event, out);
		break;
	case GROWTH_CALL_SHMDT:
		out_f(out, "shmdt 0x%" PRIx64, event->arg[0]);
		break;
	case GROWTH_CALL_SHMGET:
		out_text(out, "shmget");
		print_shmget(event, out);
		break;
	case GROWTH_CALL_SHMCTL:
		out_text(out, "shmctl");
		print_shmctl(event, out);
		break;
	case GROWTH_CALLS:
		break;
	}
}

/* When the call has returned: "2026-11-27 17:03:11.123456 ". */
static void print_time(const struct log *log, const struct growth_event *event, struct out *out)
{
	uint64_t ns = log_clock_realtime(log, event->left);
	char time[32];

	number_text_time(time, sizeof(time), ns);
	out_f(out, "%s.%06" PRIu64 " ", time, ns / 1000 % 1000000);
}

struct err *growth_event_print(struct session *session, const struct growth_event *event,
			       const struct mapped_file_list *files, struct stack_texts *texts,
			       uint64_t *brk, struct out *out)
{
	struct log_thread_view thread = reader_thread(session_log(session), event->thread);

	print_time(session_log(session), event, out);
	if (thread.lwp)
		out_f(out, "%u ", thread.lwp);
	else
		out_text(out, "- ");
	print_arguments(session, event, files, brk, out);
	if (growth_replay_event_failed(event))
		out_text(out, " failed");
	out_text(out, "\n");
	if (!texts)
		return NULL;
	out_blanks(out, GROWTH_INDENT);
	return traceback_texts_print(texts, log_deferred_whole(session_log(session), event->stack),
				     out);
}
