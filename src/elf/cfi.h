/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The call frame information of an ELF file: the decoded entries of .eh_frame and .debug_frame,
 * except for the programs in them, which unwind/cfa.h runs. DWARF 5, 6.4; Linux Standard Base,
 * .eh_frame.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct elf_file;

/* The part that several FDEs have in common. The bytes live as long as the elf_file. */
struct cfi_cie {
	uint64_t offset;	/* in the section */
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_column;
	const uint8_t *insns, *insns_end;
	uint8_t encoding;	/* of addresses in its FDEs, DW_EH_PE_* */
	bool signal;		/* 'S': the frames were interrupted by a signal */
	bool sized;		/* 'z': the FDEs have augmentation data that begins with its size */
	size_t fde_augmentation;	/* without 'z': bytes of augmentation data */
	bool debug_frame;
	/* the bytes of the section and its address, for relative pointers */
	const uint8_t *section;
	uint64_t section_vaddr;
};

struct cfi_fde {
	uint64_t start, size;	/* of the code; size is not 0, and start + size does not wrap */
	uint32_t cie;		/* index */
	uint32_t order;		/* position in the file, .eh_frame before .debug_frame */
	const uint8_t *insns, *insns_end;
};

struct cfi {
	VEC(struct cfi_cie) cies;	/* sorted by (debug_frame, offset) */
	VEC(struct cfi_fde) fdes;	/* sorted by (start, order) */
	uint32_t bad;			/* broken entries, which were skipped */
};

/*
 * Get the file's CFI, which is read once and kept with it. A file without CFI has no FDEs.
 * ERR_UNSUPPORTED: the file is not a 64-bit little-endian one. Broken entries are counted; entries
 * behind one with a broken length cannot be found.
 */
struct err *cfi_of(struct elf_file *file, const struct cfi **ret) MUST_CHECK;
/* Get the extent of the FDE that covers value; ERR_NOTFOUND if none does. */
struct err *cfi_function(struct elf_file *file, uint64_t value, uint64_t *start_ret,
			 uint64_t *size_ret) MUST_CHECK;
/*
 * Read the address of an FDE or of DW_CFA_set_loc at *at, in the CIE's encoding, and move *at past
 * it. False: the bytes end before, or the encoding has no meaning in a file.
 */
bool cfi_address(const struct cfi_cie *cie, const uint8_t **at, const uint8_t *end, uint64_t *ret);
/* Read a LEB128 number of at most 64 bits; false if the bytes end before. */
bool cfi_uleb(const uint8_t **at, const uint8_t *end, uint64_t *ret);
bool cfi_sleb(const uint8_t **at, const uint8_t *end, int64_t *ret);
/* Read a little-endian number of 1 to 8 bytes. */
bool cfi_fixed(const uint8_t **at, const uint8_t *end, size_t bytes, uint64_t *ret);

void cfi_deinit(struct cfi *cfi);
