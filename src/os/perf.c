/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens performance events and reads their rings. */

#include "os/perf.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/file.h"

#define PARANOID	"/proc/sys/kernel/perf_event_paranoid"
#define ONLINE		"/sys/devices/system/cpu/online"

static struct err *not_permitted(struct err *err)
{
	uint64_t paranoid;

	if (!file_number(PARANOID, "", &paranoid))
		return err_hint(err, "kernel.perf_event_paranoid forbids it; CAP_PERFMON permits it");
	return err_hint(err, "kernel.perf_event_paranoid is %llu: it takes root or CAP_PERFMON, "
			"or the user of the process and 2 or less", (unsigned long long)paranoid);
}

struct err *perf_event_open(struct perf_event_attr *attr, pid_t pid, int cpu, int *fd_ret)
{
	struct err *err;

	attr->size = sizeof(*attr);
	*fd_ret = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (*fd_ret >= 0)
		return NULL;
	if (errno == ENOSYS)
		return err_create(ERR_UNSUPPORTED,
				  "perf_event_open: the kernel has none (CONFIG_PERF_EVENTS)");
	err = err_sys("perf_event_open");
	return err->code == ERR_PERM ? not_permitted(err) : err;
}

unsigned perf_cpus_parse(const char *text, int *cpus, unsigned nr_max)
{
	unsigned nr = 0;

	while (*text >= '0' && *text <= '9') {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (*end == '-' && end[1] >= '0' && end[1] <= '9')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && first < 65536; first++, nr++)
			if (nr < nr_max)
				cpus[nr] = (int)first;
		text = *end == ',' ? end + 1 : end;
	}
	return nr;
}

unsigned perf_cpus(int *cpus, unsigned nr_max)
{
	AUTO_FCLOSE FILE *file = fopen(ONLINE, "re");
	char text[1024];
	unsigned nr = 0;

	if (file && fgets(text, sizeof(text), file))
		nr = perf_cpus_parse(text, cpus, nr_max);
	if (nr)
		return nr;
	cpus[0] = 0;
	return 1;
}

struct err *perf_ring_map(int fd, size_t bytes, struct perf_ring *ret)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = MAP_FAILED;

	*ret = (struct perf_ring){ .copy = malloc(PERF_RECORD_ROOM) };
	if (!ret->copy)
		return err_nomem;
	for (ret->size = page; ret->size < bytes; )
		ret->size *= 2;
	for (; at == MAP_FAILED && ret->size >= page; ret->size /= 2) {
		at = mmap(NULL, page + ret->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (at != MAP_FAILED)
			break;
	}
	if (at == MAP_FAILED) {
		struct err *err = err_sys("map the ring of an event");

		free(take(ret->copy));
		return err_hint(err, "kernel.perf_event_mlock_kb or `ulimit -l` says how much may "
				"be locked");
	}
	ret->page = at;
	ret->data = (const uint8_t *)at + page;
	return NULL;
}

void perf_ring_unmap(struct perf_ring *ring)
{
	if (ring->page)
		munmap(ring->page, (size_t)(ring->data - (const uint8_t *)ring->page) + ring->size);
	free(ring->copy);
	*ring = (struct perf_ring){ .page = NULL };
}

static void copy_out(const struct perf_ring *ring, uint64_t from, void *to, size_t len)
{
	uint64_t at = from & (ring->size - 1);
	size_t first = MIN(len, ring->size - at);

	memcpy(to, ring->data + at, first);
	memcpy((uint8_t *)to + first, ring->data, len - first);
}

/* struct { header; u64 id; u64 lost; } */
static void count_lost(struct perf_ring *ring, const struct perf_event_header *record)
{
	if (record->size >= sizeof(*record) + 2 * sizeof(uint64_t))
		ring->lost += ((const uint64_t *)(record + 1))[1];
}

size_t perf_ring_take(struct perf_ring *ring, size_t most,
		      void (*fn)(void *ctx, const struct perf_event_header *record), void *ctx)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;
	struct perf_event_header *record = (void *)ring->copy;
	size_t nr;

	for (nr = 0; nr < most && tail != head; nr++) {
		uint64_t room = head - tail;

		if (room > ring->size || room < sizeof(*record) || tail % sizeof(uint64_t)) {
			ring->broken++;
			tail = head;
			break;
		}
		copy_out(ring, tail, record, sizeof(*record));
		if (record->size < sizeof(*record) || record->size > room) {
			ring->broken++;
			tail = head;
			break;
		}
		copy_out(ring, tail, record, record->size);
		tail += record->size;
		if (record->type == PERF_RECORD_LOST)
			count_lost(ring, record);
		else
			fn(ctx, record);
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
	return nr;
}

/* What is left of a record. */
struct rest {
	const uint8_t *at, *end;
};

static bool take_bytes(struct rest *rest, void *to, size_t len)
{
	if ((size_t)(rest->end - rest->at) < len)
		return false;
	memcpy(to, rest->at, len);
	rest->at += len;
	return true;
}

/* The room for the copy of a stack, and behind it how much of it the kernel has filled. */
static bool take_stack(struct rest *rest, struct perf_sample *ret)
{
	uint64_t len, used;

	if (!take_bytes(rest, &len, 8))
		return false;
	if (!len)
		return true;
	if (len > (size_t)(rest->end - rest->at) || (size_t)(rest->end - rest->at) - len < 8)
		return false;
	ret->stack = rest->at;
	memcpy(&used, rest->at + len, sizeof(used));
	rest->at += len + sizeof(used);
	ret->stack_len = MIN(used, len);
	return true;
}

static struct rest rest_of(const struct perf_event_header *record)
{
	return (struct rest){ (const uint8_t *)(record + 1),
			      (const uint8_t *)record + record->size };
}

bool perf_sample_parse(const struct perf_event_header *record, uint64_t mask,
		       struct perf_sample *ret)
{
	struct rest rest = rest_of(record);
	uint64_t abi;

	*ret = (struct perf_sample){ .stack = NULL };
	if (!take_bytes(&rest, &ret->pid, 4) || !take_bytes(&rest, &ret->tid, 4) ||
	    !take_bytes(&rest, &ret->time, 8) || !take_bytes(&rest, &ret->addr, 8) ||
	    !take_bytes(&rest, &abi, 8))
		return false;
	if (abi != PERF_SAMPLE_REGS_ABI_NONE) {
		ret->nr_regs = (uint32_t)__builtin_popcountll(mask);
		if (ret->nr_regs > PERF_REGS ||
		    !take_bytes(&rest, ret->regs, ret->nr_regs * sizeof(uint64_t)))
			return false;
	}
	if (!take_stack(&rest, ret))
		return false;
	take_bytes(&rest, &ret->page_size, sizeof(ret->page_size));
	return true;
}

bool perf_mapping_parse(const struct perf_event_header *record, struct perf_mapping *ret)
{
	/* PERF_RECORD_MMAP2, up to the name. */
	struct {
		uint32_t pid, tid;
		uint64_t addr, len, pgoff;
		uint32_t dev_major, dev_minor;
		uint64_t inode, generation;
		uint32_t prot, flags;
	} head;
	struct rest rest = rest_of(record);

	if (!take_bytes(&rest, &head, sizeof(head)) ||
	    !memchr(rest.at, '\0', (size_t)(rest.end - rest.at)) ||
	    head.addr + head.len < head.addr)
		return false;
	*ret = (struct perf_mapping){
		.pid = head.pid,
		.start = head.addr,
		.end = head.addr + head.len,
		.offset = head.pgoff,
		.inode = head.inode,
		.dev_major = head.dev_major,
		.dev_minor = head.dev_minor,
		.exec = head.prot & PROT_EXEC,
		.path = (const char *)rest.at,
	};
	return true;
}
