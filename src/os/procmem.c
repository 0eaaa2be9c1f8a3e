/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory of a live process.
 *
 * The descriptor of /proc/TID/mem belongs to one memory for ever, but the id that process_vm_readv
 * takes may mean another process, or another program, the next moment. So small reads use the
 * descriptor, which is also faster for them (1.5 us against 2.1 us for a page), and after each
 * process_vm_readv the descriptor is asked whether its memory still lives. For 64 KiB it takes 1.7
 * times as long as process_vm_readv, since it copies through a page of the kernel's. But
 * process_vm_readv pins the pages that it reads, and so a page that is still shared after a fork is
 * copied (gup_must_unshare in the kernel's mm). If all of a forked child were read in this way, it
 * would become as large as its parent.
 */

#include "os/procmem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/procfs.h"

#define LARGE	16384	/* process_vm_readv is faster from this many bytes on */

static struct err *memory_gone(const struct procmem *mem)
{
	struct err *err = err_create(
		ERR_GONE, "the memory of process %d is gone: it has ended, or runs another program",
		__atomic_load_n(&mem->tid, __ATOMIC_RELAXED));

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
	pid_t tid = __atomic_load_n(&mem->tid, __ATOMIC_RELAXED);
	ssize_t got = process_vm_readv(tid, &local, 1, &remote, 1, 0);

	return got > 0 ? (size_t)got : 0;
}

static struct err *check_alive(const struct procmem *mem)
{
	return procmem_lives(mem) ? NULL : memory_gone(mem);
}

static struct err *procmem_read(struct memory *memory, uint64_t addr, void *buf, size_t len,
				size_t *len_ret)
{
	struct procmem *mem = (struct procmem *)memory;
	size_t done = 0;

	if (len > LARGE && !mem->forked) {
		done = bulk_read(mem, addr, buf, len);
		if (done) {
			struct err *err = check_alive(mem);

			if (err)
				return err;
		}
	}
	while (done < len) {
		ssize_t got = fd_read(mem, addr + done, (char *)buf + done, len - done);

		if (!got)
			return memory_gone(mem);
		if (got < 0 && !done)
			return err_create(ERR_MEMORY, "cannot read memory at 0x%" PRIx64, addr);
		if (got < 0)
			break;
		done += (size_t)got;
	}
	*len_ret = done;
	return NULL;
}

#define PIECES	64u		/* pieces in one system call */

/*
 * Returns how many of the pieces are done; the last of them may be done because it cannot be read.
 */
static size_t read_some(const struct procmem *mem, struct procmem_piece *piece, size_t nr)
{
	struct iovec local[PIECES], remote[PIECES];
	pid_t tid = __atomic_load_n(&mem->tid, __ATOMIC_RELAXED);
	size_t left, i;
	ssize_t got;

	nr = MIN(nr, PIECES);
	if (!nr)
		return 0;
	for (i = 0; i < nr; i++) {
		local[i] = (struct iovec){ piece[i].buf, piece[i].len };
		remote[i] = (struct iovec){ (void *)(uintptr_t)piece[i].addr, piece[i].len };
	}
	got = process_vm_readv(tid, local, nr, remote, nr, 0);
	if (got < 0 && errno != EFAULT)
		return 0;
	left = got > 0 ? (size_t)got : 0;
	for (i = 0; i < nr && left >= piece[i].len; i++) {
		piece[i].got = piece[i].len;
		left -= piece[i].len;
	}
	if (i == nr)
		return nr;
	piece[i].got = left;
	return i + 1;
}

struct err *procmem_read_pieces(const struct procmem *mem, struct procmem_piece *piece, size_t nr)
{
	size_t done = 0, some = 1;

	for (size_t i = 0; i < nr; i++)
		piece[i].got = 0;
	for (; done < nr && some; done += some)
		some = read_some(mem, piece + done, nr - done);
	return check_alive(mem);
}

struct err *procmem_open(pid_t tid, struct procmem *ret)
{
	int fd = procfs_open(tid, "mem", O_RDWR);

	/* If /proc is read-only (as in containers), the memory can still be read. */
	if (fd < 0 && (errno == EACCES || errno == EPERM || errno == EROFS))
		fd = procfs_open(tid, "mem", O_RDONLY);
	if (fd < 0 && (errno == ENOENT || errno == ESRCH)) {
		struct err *err = err_create(ERR_GONE, "process %d has ended", tid);

		err->errnum = ESRCH;
		return err;
	}
	if (fd < 0)
		return err_sys("/proc/%d/mem", tid);
	*ret = (struct procmem){ .memory = { .read = procmem_read }, .tid = tid, .fd = fd };
	return NULL;
}

void procmem_close(struct procmem *mem)
{
	if (mem->fd >= 0)
		close(mem->fd);
	mem->fd = -1;
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

struct err *procmem_write(struct procmem *mem, uint64_t addr, const void *buf, size_t len)
{
	size_t done = 0;

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
