/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory of a live process.
 *
 * Each read asks first which of its pages may be read (os/page_rules.h), which takes 0.9 us for one
 * page, and 2.4 for 64, and reads no other. Then it uses /proc/TID/mem: the descriptor belongs to
 * one memory for ever, where the id that process_vm_readv takes may mean another process, or
 * another program, the next moment. It never waits for userfaultfd, as process_vm_readv does, and
 * leaves pages alone that are still shared after a fork, which process_vm_readv pins, and so has
 * copied (gup_must_unshare in the kernel's mm). But for 64 KiB it takes 1.5 times as long, since it
 * copies through a page of the kernel's. So process_vm_readv reads many bytes of pages, or of many
 * places, that are the process's alone; after each call the descriptor is asked whether its memory
 * still lives.
 */

#include "os/procmem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/page.h"
#include "os/page_rules.h"
#include "os/procfs.h"

#define ERRAND_NS	300000000ull	/* an answer takes some microseconds */
#define LARGE	16384	/* process_vm_readv is faster from this many bytes on */

static pid_t procmem_tid(const struct procmem *mem)
{
	return __atomic_load_n(&mem->tid, __ATOMIC_RELAXED);
}

static struct err *memory_gone(const struct procmem *mem)
{
	struct err *err = err_create(
		ERR_GONE, "the memory of process %d is gone: it has ended, or runs another program",
		procmem_tid(mem));

	err->errnum = ESRCH;
	return err;
}

/* Like pread, but 0 means that the memory is gone, and EFAULT that addr is not readable. */
static ssize_t fd_read(const struct procmem *mem, uint64_t addr, void *buf, size_t len)
{
	ssize_t got;

	if (addr > INT64_MAX) {		/* the kernel's half, which is no valid offset for pread */
		errno = EFAULT;
		return -1;
	}
	do
		got = pread(mem->fd, buf, len, (off_t)addr);
	while (got < 0 && errno == EINTR);
	return got;
}

/*
 * Read by process_vm_readv, which stops at the first page that it cannot read. Returns the number
 * of bytes; 0 for any failure.
 */
static size_t bulk_read(const struct procmem *mem, uint64_t addr, void *buf, size_t len)
{
	struct iovec local = { buf, len };
	struct iovec remote = { (void *)(uintptr_t)addr, len };
	ssize_t got = process_vm_readv(procmem_tid(mem), &local, 1, &remote, 1, 0);

	return got > 0 ? (size_t)got : 0;
}

static struct err *check_alive(const struct procmem *mem)
{
	return procmem_lives(mem) ? NULL : memory_gone(mem);
}

/* Let an errand read at most ERRAND_BYTES. */
static size_t errand_read(const struct procmem *mem, uint64_t addr, void *buf, size_t len)
{
	struct page_rules *rules = mem->rules;
	struct err *err;
	uint8_t *bytes;
	long got = 0;

	pthread_mutex_lock(&rules->errand_lock);
	err = errands_ready(&rules->errands, &bytes);
	if (!err)
		err = errands_call(&rules->errands, ERRAND_NS, &got, SYS_pread64,
				   (long[6]){ mem->fd, (long)bytes, (long)len, (long)addr });
	if (!err && got > 0)
		memcpy(buf, bytes, (size_t)got);
	pthread_mutex_unlock(&rules->errand_lock);
	return !err && got > 0 ? (size_t)got : 0;
}

/* Read [addr, addr + len), whose pages may all be read in this way. Returns the number of bytes. */
static size_t run_read(const struct procmem *mem, uint64_t addr, uint8_t *buf, size_t len,
		       enum page_how how)
{
	size_t done = how == PAGE_OWN && len > LARGE && !mem->forked ?
		      bulk_read(mem, addr, buf, len) : 0;

	if (how == PAGE_ERRAND)
		return errand_read(mem, addr, buf, len);
	while (done < len) {
		ssize_t got = fd_read(mem, addr + done, buf + done, len - done);

		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

/* Read up to len bytes from as many pages as are asked for at once. */
static size_t part_read(const struct procmem *mem, uint64_t addr, uint8_t *buf, size_t len,
			bool bring)
{
	uint64_t first = ALIGN_DOWN(addr, PAGE);
	enum page_how how[PAGE_RULES_MOST];
	size_t nr = page_rules_ask(mem->rules, procmem_tid(mem), first,
				   (addr + len - first + PAGE - 1) / PAGE, bring, how);
	size_t done = 0;

	for (size_t i = 0, next; i < nr && how[i] != PAGE_NOT; i = next) {
		size_t end, got;

		for (next = i + 1; next < nr && how[next] == how[i];)
			next++;
		end = MIN(len, (size_t)(first + next * PAGE - addr));
		got = run_read(mem, addr + done, buf + done, end - done, how[i]);
		done += got;
		if (done < end)
			break;
	}
	return done;
}

static struct err *read_all(const struct procmem *mem, uint64_t addr, void *buf, size_t len,
			    bool bring, size_t *len_ret)
{
	size_t done = 0, want = 0, got = 0;
	struct err *err;

	/* The kernel's half is no valid offset for pread. */
	while (done < len && got == want && addr + done <= INT64_MAX) {
		want = PAGE_RULES_MOST * PAGE - (addr + done) % PAGE;
		want = MIN(want, len - done);
		got = part_read(mem, addr + done, (uint8_t *)buf + done, want, bring);
		done += got;
	}
	if (!done || len > LARGE) {
		err = check_alive(mem);
		if (err)
			return err;
	}
	if (!done && len)
		return err_create(ERR_MEMORY, "cannot read memory at 0x%" PRIx64, addr);
	*len_ret = done;
	return NULL;
}

static struct err *procmem_read(struct memory *memory, uint64_t addr, void *buf, size_t len,
				size_t *len_ret)
{
	return read_all((const struct procmem *)memory, addr, buf, len, false, len_ret);
}

static struct err *bring_read(struct memory *memory, uint64_t addr, void *buf, size_t len,
			      size_t *len_ret)
{
	const struct procmem *mem = (const struct procmem *)((char *)memory -
							     offsetof(struct procmem, bring));

	return read_all(mem, addr, buf, len, true, len_ret);
}

static bool procmem_next(struct memory *memory, uint64_t start, uint64_t end, uint64_t *start_ret,
			 uint64_t *end_ret)
{
	const struct procmem *mem = (const struct procmem *)memory;

	return page_rules_next(mem->rules, procmem_tid(mem), start, end, start_ret, end_ret);
}

#define PIECES	64u		/* pieces in one system call */

/* Pieces whose pages are all the process's own, which process_vm_readv reads together. */
struct batch {
	struct procmem_piece *piece[PIECES];
	struct iovec local[PIECES], remote[PIECES];
	size_t nr;
};

static void batch_read(const struct procmem *mem, struct batch *batch)
{
	ssize_t got = batch->nr ? process_vm_readv(procmem_tid(mem), batch->local, batch->nr,
						   batch->remote, batch->nr, 0) : 0;
	size_t left = got > 0 ? (size_t)got : 0, i;

	for (i = 0; i < batch->nr && left >= batch->piece[i]->len; i++) {
		batch->piece[i]->got = batch->piece[i]->len;
		left -= batch->piece[i]->len;
	}
	/* process_vm_readv may not be allowed, or a page cannot be read in this way. */
	for (; i < batch->nr; i++)
		batch->piece[i]->got = part_read(mem, batch->piece[i]->addr, batch->piece[i]->buf,
						 batch->piece[i]->len, false);
	batch->nr = 0;
}

static void batch_add(struct batch *batch, struct procmem_piece *piece)
{
	batch->piece[batch->nr] = piece;
	batch->local[batch->nr] = (struct iovec){ piece->buf, piece->len };
	batch->remote[batch->nr++] = (struct iovec){ (void *)(uintptr_t)piece->addr, piece->len };
}

/* Are all pages of the piece the process's own? *last: a page that is known to be. */
static bool is_own(const struct procmem *mem, const struct procmem_piece *piece, uint64_t *last)
{
	uint64_t first = ALIGN_DOWN(piece->addr, PAGE), end = piece->addr + piece->len;
	enum page_how how[PAGE_RULES_MOST];
	size_t nr;

	if (!piece->len || end < piece->addr || end > INT64_MAX || end - first > sizeof(how) /
	    sizeof(how[0]) * PAGE)
		return false;
	if (first == *last && end <= first + PAGE)
		return true;
	nr = (end - first + PAGE - 1) / PAGE;
	if (page_rules_ask(mem->rules, procmem_tid(mem), first, nr, false, how) < nr)
		return false;
	for (size_t i = 0; i < nr; i++)
		if (how[i] != PAGE_OWN)
			return false;
	*last = first;
	return true;
}

struct err *procmem_read_pieces(const struct procmem *mem, struct procmem_piece *piece, size_t nr)
{
	struct batch batch = { .nr = 0 };
	uint64_t last = UINT64_MAX;

	for (size_t i = 0; i < nr; i++) {
		piece[i].got = 0;
		if (is_own(mem, &piece[i], &last))
			batch_add(&batch, &piece[i]);
		else if (piece[i].len && piece[i].addr <= INT64_MAX)
			piece[i].got = part_read(mem, piece[i].addr, piece[i].buf, piece[i].len,
						 false);
		if (batch.nr == PIECES)
			batch_read(mem, &batch);
	}
	batch_read(mem, &batch);
	return check_alive(mem);
}

struct err *procmem_open(pid_t tid, struct procmem *ret)
{
	int fd = procfs_open(tid, "mem", O_RDWR);
	struct page_rules *rules;
	struct err *err;

	/* If /proc is read-only (as in containers), the memory can still be read. */
	if (fd < 0 && (errno == EACCES || errno == EPERM || errno == EROFS))
		fd = procfs_open(tid, "mem", O_RDONLY);
	if (fd < 0 && (errno == ENOENT || errno == ESRCH)) {
		err = err_create(ERR_GONE, "process %d has ended", tid);
		err->errnum = ESRCH;
		return err;
	}
	if (fd < 0)
		return err_sys("/proc/%d/mem", tid);
	err = page_rules_create(tid, &rules);
	if (err) {
		close(fd);
		return err;
	}
	*ret = (struct procmem){
		.memory = { .read = procmem_read, .next = procmem_next },
		.bring = { .read = bring_read },
		.tid = tid, .fd = fd, .rules = rules,
	};
	return NULL;
}

void procmem_take_maps(const struct procmem *mem, const struct proc_maps *maps)
{
	/* Without memory for them they are read again when they are asked for. */
	err_ignore(page_rules_take(mem->rules, maps));
}

void procmem_close(struct procmem *mem)
{
	if (mem->fd >= 0)
		close(mem->fd);
	mem->fd = -1;
	page_rules_free(mem->rules);
	mem->rules = NULL;
}

/* It makes no difference whether anything is mapped at the address. */
bool procmem_lives(const struct procmem *mem)
{
	uint8_t byte;

	return fd_read(mem, 0, &byte, sizeof(byte)) != 0;
}

void procmem_set_tid(struct procmem *mem, pid_t tid)
{
	__atomic_store_n(&mem->tid, tid, __ATOMIC_RELAXED);
}

static struct err *write_refused(const struct procmem *mem, uint64_t addr)
{
	struct err *err;
	uint8_t byte;

	if (errno == EBADF && (fcntl(mem->fd, F_GETFL) & O_ACCMODE) == O_RDONLY) {
		err = err_create(ERR_PERM,
				 "cannot write memory at 0x%" PRIx64
				 ": /proc/%d/mem could be opened for reading only",
				 addr, mem->tid);
		return err_hint(err, "is /proc mounted read-only here? mdbg needs it writable");
	}
	err = err_create(ERR_MEMORY, "cannot write memory at 0x%" PRIx64, addr);
	if (fd_read(mem, addr, &byte, sizeof(byte)) <= 0)
		return err;
	return err_hint(err, "the process itself may not write there: mdbg cannot if the mapping "
			     "is shared, or the kernel was started with "
			     "proc_mem.force_override=never; with =ptrace it can only while it "
			     "traces the process");
}

/*
 * A write to a page of a file copies it, and waits for its file system if the page is not there any
 * more. So an errand first writes one of the page's own bytes back to it. If it is given up, and
 * does so later, it changes nothing.
 */
static struct err *copy_page(const struct procmem *mem, uint64_t addr)
{
	struct page_rules *rules = mem->rules;
	struct err *err;
	uint8_t *byte;
	long put;

	pthread_mutex_lock(&rules->errand_lock);
	err = errands_ready(&rules->errands, &byte);
	for (unsigned i = 0; i < 2 && !err; i++)
		err = errands_call(&rules->errands, ERRAND_NS, &put,
				   i ? SYS_pwrite64 : SYS_pread64,
				   (long[6]){ mem->fd, (long)byte, 1, (long)addr });
	pthread_mutex_unlock(&rules->errand_lock);
	return err ? err_wrap(err, "cannot write memory at 0x%" PRIx64, addr) : NULL;
}

static struct err *copy_pages(const struct procmem *mem, uint64_t addr, size_t len)
{
	uint64_t page = ALIGN_DOWN(addr, PAGE);
	const size_t nr = len ? (addr - page + len + PAGE - 1) / PAGE : 0;
	enum page_how how[PAGE_RULES_MOST];
	struct err *err = NULL;

	for (size_t done = 0, got; done < nr && !err; done += got) {
		got = page_rules_ask(mem->rules, procmem_tid(mem), page + done * PAGE, nr - done,
				     true, how);
		for (size_t i = 0; i < got && !err; i++) {
			const uint64_t at = MAX(addr, page + (done + i) * PAGE);

			if (how[i] == PAGE_ERRAND && !page_rules_copied(mem->rules, at))
				err = copy_page(mem, at);
		}
		if (!got)
			break;
	}
	return err;
}

struct err *procmem_write(struct procmem *mem, uint64_t addr, const void *buf, size_t len)
{
	struct err *err = copy_pages(mem, addr, len);
	size_t done = 0;

	if (err)
		return err;
	while (done < len) {
		uint64_t at = addr + done;
		ssize_t put;

		errno = EFAULT;
		put = at > INT64_MAX
			      ? -1
			      : pwrite(mem->fd, (const char *)buf + done, len - done, (off_t)at);
		if (!put)
			return memory_gone(mem);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return write_refused(mem, at);
		done += (size_t)put;
	}
	return NULL;
}
