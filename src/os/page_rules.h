/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which pages of another process may be read without changing anything and without waiting for
 * anybody. It is decided here for every read (os/procmem.c), by facts and not by names:
 *
 *	the page	is read only if the process has it in its page tables, or swapped out. Then no
 *			page is allocated, nothing is read from a file, and no stack grows. So shared
 *			memory, mapped files and huge pages that were never touched stay so, and a page
 *			that userfaultfd would have to fill is not asked for.
 *	memory without a file	is read wherever there is a page.
 *	local files	(os/local_files.h), shared memory and huge pages: the same.
 *	other files	of FUSE, NFS and the like, and of what is not known. Their server may take a
 *			page away between the look and the read, and the read would wait for it. So
 *			only pages are read that the process has copied (it has written to them),
 *			and these by an errand (os/errand.h), since a server can take even a copy away.
 *	devices		Their memory may act when it is read, and is in page tables like a copied
 *			page, but belongs to nobody (no PAGEMAP_EXCLUSIVE). A copied page that is not
 *			exclusive, since a forked child has it as well, is told from it by
 *			move_pages(2), which only looks.
 *
 * Where mdbg is about to change memory, or must know a program's text or an earlier mdbg's journal
 * (`bring`), pages that are not there are brought in. Those of files by an errand.
 *
 * A process that runs may change its mappings between the look and the read. It is then its own
 * page that is read; where the process stands, nobody changes them.
 *
 * Of a mapping only the last maps that were taken are known. If a page lies in none of them, they
 * are read again.
 */
#pragma once

#include <pthread.h>

#include "os/errand.h"
#include "os/local_files.h"
#include "os/procfs.h"

struct page_map {
	uint64_t start, end;
	uint32_t dev_major, dev_minor;
	bool of_file, shared;
	bool placed;			/* place is known */
	enum file_place place;
};

/* The last answer of one page; words of a page are often read one after the other. */
struct page_asked {
	uint64_t address, ns;
	bool bring;
	uint8_t how;
};

struct page_rules {
	pthread_mutex_t lock;		/* guards what follows, since any thread may read memory */
	/* descriptors, which belong to one memory; -1: the kernel has none */
	int pagemap, maps_fd;
	VEC(struct page_map) maps;	/* in order of address */
	struct local_files files;
	struct page_asked asked;
	/* guards what follows; never taken while the other one is held */
	pthread_mutex_t errand_lock;
	struct errands errands;
};

struct err *page_rules_create(pid_t tid, struct page_rules **ret) MUST_CHECK;
void page_rules_free(struct page_rules *rules);
/* From now on these are the mappings. */
struct err *page_rules_take(struct page_rules *rules, const struct proc_maps *maps) MUST_CHECK;

enum page_how {
	PAGE_NOT,		/* it must not be read */
	PAGE_READ,
	PAGE_OWN,		/* it is the process's alone: process_vm_readv will not copy it */
	PAGE_ERRAND,		/* only by an errand */
};

#define PAGE_RULES_MOST	64u

/*
 * How may the nr pages (at most PAGE_RULES_MOST) from address on be read? Returns for how many of
 * them how_ret is set; 0: the process has ended, or no process can have the address.
 */
size_t page_rules_ask(struct page_rules *rules, pid_t tid, uint64_t address, size_t nr, bool bring,
		      enum page_how *how_ret);
/* Is the page at address in memory, and no page of a file? */
bool page_rules_copied(struct page_rules *rules, uint64_t address);
/* The next part of [start, end) of which pages may be read, all or some; false: there is none. */
bool page_rules_next(struct page_rules *rules, pid_t tid, uint64_t start, uint64_t end,
		     uint64_t *start_ret, uint64_t *end_ret);
