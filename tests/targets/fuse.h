/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A FUSE file system by the kernel's own protocol (linux/fuse.h), with one file, "file". It has the bytes of another file
 * (`bytes`); then nothing is answered while there is a file named `stall`. Or it has FUSE_LEN bytes: its first page is
 * zeros, and who reads another one waits until a file named `until` is there, or for `most` ms at most, if that is not 0.
 */
#pragma once

#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "target.h"

#define FUSE_LEN	65536u
#define FUSE_WAITING	64u
#define FUSE_STEP	20		/* ms */
#define MIN_OF(a, b)	((a) < (b) ? (a) : (b))

struct fuse {
	int fd;
	int bytes;			/* -1: zeros */
	uint64_t len;
	const char *until, *stall;
	unsigned most, waited;		/* ms */
	char in[1 << 17], out[1 << 17];		/* out: zeros without `bytes` */
	unsigned nr;
	struct {
		uint64_t unique;
		uint32_t size;
	} waiting[FUSE_WAITING];
};

static void fuse_answer(const struct fuse *fuse, uint64_t unique, int error, const void *data, size_t len)
{
	struct fuse_out_header out = { .len = (uint32_t)(sizeof(out) + (error ? 0 : len)), .error = error,
				       .unique = unique };
	struct iovec part[2] = { { &out, sizeof(out) }, { (void *)data, error ? 0 : len } };

	(void)!writev(fuse->fd, part, 2);
}

static struct fuse_attr fuse_attr_of(const struct fuse *fuse, uint64_t node)
{
	bool root = node == FUSE_ROOT_ID;

	return (struct fuse_attr){ .ino = node, .size = root ? 0 : fuse->len, .blocks = fuse->len / 512,
				   .mode = root ? S_IFDIR | 0777 : S_IFREG | 0777, .nlink = 1, .blksize = 4096 };
}

static bool fuse_is_over(const struct fuse *fuse)
{
	return !access(fuse->until, F_OK) || (fuse->most && fuse->waited > fuse->most);
}

static void fuse_read(struct fuse *fuse, const struct fuse_in_header *in, const struct fuse_read_in *read)
{
	if (fuse->bytes < 0 && read->offset >= 4096 && !fuse_is_over(fuse) && fuse->nr < FUSE_WAITING) {
		fuse->waiting[fuse->nr].unique = in->unique;
		fuse->waiting[fuse->nr++].size = read->size;
		return;
	}
	if (fuse->bytes >= 0) {
		ssize_t got = pread(fuse->bytes, fuse->out, MIN_OF(read->size, sizeof(fuse->out)), (off_t)read->offset);

		fuse_answer(fuse, in->unique, got < 0 ? -EIO : 0, fuse->out, got < 0 ? 0 : (size_t)got);
		return;
	}
	fuse_answer(fuse, in->unique, 0, fuse->out, read->size);
}

static void fuse_obey(struct fuse *fuse, const struct fuse_in_header *in)
{
	const struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 65536,
					    .max_background = 16, .max_pages = 1 };
	const uint64_t valid = fuse->bytes < 0 ? 1000 : 0;	/* s */
	const struct fuse_entry_out entry = { .nodeid = 2, .attr_valid = valid, .entry_valid = valid,
					      .attr = fuse_attr_of(fuse, 2) };
	const struct fuse_attr_out attr = { .attr_valid = valid, .attr = fuse_attr_of(fuse, in->nodeid) };
	const struct fuse_open_out open = { .fh = 1 };
	const void *arg = in + 1;

	switch (in->opcode) {
	case FUSE_INIT:
		fuse_answer(fuse, in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		fuse_answer(fuse, in->unique, strcmp(arg, "file") ? -ENOENT : 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		fuse_answer(fuse, in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN: case FUSE_OPENDIR:
		fuse_answer(fuse, in->unique, 0, &open, sizeof(open));
		break;
	case FUSE_READ:
		fuse_read(fuse, in, arg);
		break;
	case FUSE_FORGET: case FUSE_BATCH_FORGET: case FUSE_INTERRUPT:
		break;
	case FUSE_RELEASE: case FUSE_FLUSH: case FUSE_RELEASEDIR: case FUSE_ACCESS: case FUSE_FSYNC:
		fuse_answer(fuse, in->unique, 0, NULL, 0);
		break;
	default:
		fuse_answer(fuse, in->unique, -ENOSYS, NULL, 0);
	}
}

/* Serve until it is unmounted. */
static void fuse_serve(struct fuse *fuse)
{
	struct pollfd request = { .fd = fuse->fd, .events = POLLIN };

	for (;;) {
		ssize_t len;

		if (!poll(&request, 1, FUSE_STEP) && fuse->nr)
			fuse->waited += FUSE_STEP;
		if (fuse->stall && !access(fuse->stall, F_OK)) {
			nap_us(5000);
			continue;
		}
		if (fuse->nr && fuse_is_over(fuse))
			while (fuse->nr--)
				fuse_answer(fuse, fuse->waiting[fuse->nr].unique, 0, fuse->out,
					    fuse->waiting[fuse->nr].size);
		fuse->nr = fuse->nr == ~0u ? 0 : fuse->nr;
		len = read(fuse->fd, fuse->in, sizeof(fuse->in));
		if (len > 0)
			fuse_obey(fuse, (const void *)fuse->in);
		else if (errno != EAGAIN && errno != EINTR && errno != ENOENT)
			return;
	}
}

/* Mount it at folder, for root, where this process alone sees it. Returns false, and errno. */
static bool fuse_mount(struct fuse *fuse, const char *folder)
{
	char options[96];

	fuse->fd = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse->fd);
	return fuse->fd >= 0 && !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("mdbg-test", folder, "fuse", MS_NOSUID | MS_NODEV, options);
}
