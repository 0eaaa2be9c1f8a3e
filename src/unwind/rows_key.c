/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys of compiled rows (theory in rows_key.h). */

#include "unwind/rows_key.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <time.h>

#include "base/str.h"
#include "elf/cfi.h"
#include "elf/elf_file.h"
#include "os/trust.h"
#include "unwind/go_switch.h"

#define SETTLED_S	2
#define FLAGS_ARE_THERE	0x20	/* the kernel's ST_VALID: f_flags are set */

/* Digests begin with one of these, so that no identity is the digest of a file's CFI. */
enum kind { KIND_IDENTITY = 1, KIND_CFI };

static struct err *add_numbers(struct str *to, const uint64_t *numbers, size_t nr)
{
	return str_add_bytes(to, numbers, nr * sizeof(*numbers));
}

#define ADD(to, ...)								\
	add_numbers(to, (const uint64_t[]){ __VA_ARGS__ },			\
		    sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static bool is_settled(const struct stat *st)
{
	struct timespec now;

	/* A clock that was set back makes no file old. */
	return !clock_gettime(CLOCK_REALTIME, &now) && now.tv_sec > st->st_ctim.tv_sec + SETTLED_S;
}

static bool has_identity(int fd, const struct stat *st)
{
	struct statfs fs;

	return S_ISREG(st->st_mode) && trust_stat(st) && is_settled(st) && !fstatfs(fd, &fs) &&
	       fs.f_flags & FLAGS_ARE_THERE && !(fs.f_flags & ST_NOSUID);
}

static struct err *add_identity(struct str *to, const struct stat *st)
{
	return ADD(to, st->st_dev, st->st_ino, (uint64_t)st->st_size,
		   (uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec,
		   (uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec);
}

/*
 * Add instructions. Where they lie is a part of them, as they may have relative pointers
 * (DW_CFA_set_loc).
 */
static struct err *add_insns(struct str *to, const struct cfi_cie *cie, const uint8_t *insns,
			     const uint8_t *end)
{
	size_t len = (size_t)(end - insns);
	struct err *err = ADD(to, cie->section_vaddr + (uint64_t)(insns - cie->section), len);

	return err ? err : str_add_bytes(to, insns, len);
}

/* Add all that rows_compile reads; the length of each part comes before it. */
static struct err *add_cfi(struct str *to, const struct cfi *cfi)
{
	struct err *err = ADD(to, cfi->bad, cfi->cies.nr, cfi->fdes.nr);

	vec_each_while(cie, &cfi->cies, !err) {
		err = ADD(to, cie->code_align, (uint64_t)cie->data_align, cie->return_column,
			  cie->encoding, cie->signal, cie->debug_frame);
		if (!err)
			err = add_insns(to, cie, cie->insns, cie->insns_end);
	}
	vec_each_while(fde, &cfi->fdes, !err) {
		err = ADD(to, fde->start, fde->size, fde->cie);
		if (!err)
			err = add_insns(to, &cfi->cies.at[fde->cie], fde->insns, fde->insns_end);
	}
	return err;
}

static struct err *add_contents(struct str *to, struct elf_file *file)
{
	struct go_switches switches;
	const struct cfi *cfi;
	struct err *err = cfi_of(file, &cfi);

	if (!err)
		err = add_cfi(to, cfi);
	if (!err)
		err = go_switch_find(file, &switches);
	for (uint32_t i = 0; !err && i < switches.nr; i++)
		err = ADD(to, switches.at[i].start, switches.at[i].size);
	return err;
}

struct err *rows_key_make(struct elf_file *file, uint64_t vaddr, uint64_t size, uint32_t version,
			  struct rows_key *ret)
{
	AUTO_STR struct str input = STR_INIT;
	int fd = elf_file_fd(file);
	struct stat st = { .st_uid = ROWS_KEY_NOBODY };
	struct err *err;

	if (fd >= 0 && fstat(fd, &st))
		return err_sys("fstat %s", elf_file_name(file));
	*ret = (struct rows_key){ .owner = st.st_uid };
	ret->trusted = fd >= 0 && has_identity(fd, &st);
	err = ADD(&input, ret->trusted ? KIND_IDENTITY : KIND_CFI, version, ret->owner, vaddr, size);
	if (!err)
		err = ret->trusted ? add_identity(&input, &st) : add_contents(&input, file);
	return err ? err : digest_make(input.at, input.len, ret->bytes);
}

bool rows_key_same(const struct rows_key *a, const struct rows_key *b)
{
	return a->trusted == b->trusted && a->owner == b->owner &&
	       !memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}
