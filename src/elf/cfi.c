/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads .eh_frame and .debug_frame: libdw splits them into entries, and the code here decodes the
 * addresses in those.
 */

#include "elf/cfi.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/limits.h"
#include "elf/file_private.h"

/* A section of CFI. */
struct source {
	Elf_Data *data;
	uint64_t vaddr;
	bool debug_frame;
};

bool cfi_fixed(const uint8_t **at, const uint8_t *end, size_t bytes, uint64_t *ret)
{
	uint64_t value = 0;

	if ((size_t)(end - *at) < bytes)
		return false;
	for (size_t i = 0; i < bytes; i++)
		value |= (uint64_t)(*at)[i] << 8 * i;
	*at += bytes;
	*ret = value;
	return true;
}

static bool leb(const uint8_t **at, const uint8_t *end, bool has_sign, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned shift = 0; *at < end;) {
		uint8_t byte = *(*at)++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte & 0x80)
			continue;
		if (has_sign && byte & 0x40 && shift < 64)
			value |= ~0ull << shift;
		*ret = value;
		return true;
	}
	return false;
}

bool cfi_uleb(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	return leb(at, end, false, ret);
}

bool cfi_sleb(const uint8_t **at, const uint8_t *end, int64_t *ret)
{
	return leb(at, end, true, (uint64_t *)ret);
}

/* Read a number in one of the formats of DW_EH_PE_*; one with a sign is sign-extended. */
static bool encoded_number(uint8_t format, const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	static const uint8_t bytes[16] = {
		[DW_EH_PE_absptr] = 8,
		[DW_EH_PE_udata2] = 2, [DW_EH_PE_udata4] = 4, [DW_EH_PE_udata8] = 8,
		[DW_EH_PE_sdata2] = 2, [DW_EH_PE_sdata4] = 4, [DW_EH_PE_sdata8] = 8,
	};
	uint64_t value;

	format &= 0xf;
	if (format == DW_EH_PE_uleb128)
		return cfi_uleb(at, end, ret);
	if (format == DW_EH_PE_sleb128)
		return cfi_sleb(at, end, (int64_t *)ret);
	if (!bytes[format] || !cfi_fixed(at, end, bytes[format], &value))
		return false;
	if (format == DW_EH_PE_sdata2)
		value = (uint64_t)(int64_t)(int16_t)value;
	else if (format == DW_EH_PE_sdata4)
		value = (uint64_t)(int64_t)(int32_t)value;
	*ret = value;
	return true;
}

bool cfi_address(const struct cfi_cie *cie, const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	uint64_t here = cie->section_vaddr + (uint64_t)(*at - cie->section), value;
	uint8_t relative = cie->encoding & 0x70;

	if (cie->encoding & DW_EH_PE_indirect || (relative != 0 && relative != DW_EH_PE_pcrel))
		return false;
	if (!encoded_number(cie->encoding, at, end, &value))
		return false;
	*ret = relative == DW_EH_PE_pcrel ? here + value : value;
	return true;
}

/* Read the augmentation "z..."; false if a letter is unknown. */
static bool cie_augmentation(const Dwarf_CIE *from, struct cfi_cie *cie)
{
	const uint8_t *at = from->augmentation_data, *end = at + from->augmentation_data_size;
	const char *letter = from->augmentation;
	uint64_t ignored;

	if (*letter == 'z') {
		cie->sized = true;
		letter++;
	} else if (letter[strspn(letter, "S")]) {
		/* "eh" (of GCC 2), or unknown; in .debug_frame "S" comes alone */
		return false;
	}
	for (; *letter; letter++) {
		switch (*letter) {
		case 'S':
			cie->signal = true;
			break;
		case 'L':
			at++;
			break;
		case 'R':
			if (at >= end)
				return false;
			cie->encoding = *at++;
			break;
		case 'P':
			if (at >= end)
				return false;
			at++;
			if (!encoded_number(at[-1], &at, end, &ignored))
				return false;
			break;
		default:
			return false;
		}
	}
	return at <= end;
}

static struct err *cie_add(struct cfi *cfi, const struct source *source, uint64_t offset,
			   const Dwarf_CIE *from)
{
	struct cfi_cie cie = {
		.offset		= offset,
		.code_align	= from->code_alignment_factor,
		.data_align	= from->data_alignment_factor,
		.return_column	= from->return_address_register,
		.insns		= from->initial_instructions,
		.insns_end	= from->initial_instructions_end,
		.encoding	= DW_EH_PE_absptr,
		.debug_frame	= source->debug_frame,
		.section	= source->data->d_buf,
		.section_vaddr	= source->vaddr,
	};

	cie.fde_augmentation = from->fde_augmentation_data_size;
	if (!cie_augmentation(from, &cie) || cie.insns > cie.insns_end ||
	    cfi->cies.nr == UINT32_MAX) {
		cfi->bad++;
		return NULL;
	}
	return vec_push(&cfi->cies, cie);
}

/*
 * Find a CIE. Sections refer to CIEs by offset, and the CIEs of a section are in that order in the
 * vector.
 */
static const struct cfi_cie *cie_find(const struct cfi *cfi, size_t first, uint64_t offset)
{
	size_t low = LOWER_BOUND(i, first, cfi->cies.nr, cfi->cies.at[i].offset < offset);

	return low < cfi->cies.nr && cfi->cies.at[low].offset == offset ? &cfi->cies.at[low] : NULL;
}

/*
 * Decode an FDE into *ret; false if it is broken. An FDE of size 0 is not broken: its function was
 * discarded.
 */
static bool fde_decode(const struct cfi_cie *cie, const Dwarf_FDE *from, struct cfi_fde *ret)
{
	const uint8_t *at = from->start, *end = from->end;
	uint64_t skip = cie->fde_augmentation;

	if (at > end || !cfi_address(cie, &at, end, &ret->start))
		return false;
	if (!encoded_number(cie->encoding, &at, end, &ret->size))
		return false;
	if (cie->sized && !cfi_uleb(&at, end, &skip))
		return false;
	if (skip > (uint64_t)(end - at) || ret->start + ret->size < ret->start)
		return false;
	ret->insns = at + skip;
	ret->insns_end = end;
	return true;
}

static struct err *fde_add(struct cfi *cfi, size_t first_cie, const Dwarf_FDE *from)
{
	const struct cfi_cie *cie = cie_find(cfi, first_cie, from->CIE_pointer);
	struct cfi_fde fde = { .order = (uint32_t)cfi->fdes.nr };

	if (!cie || cfi->fdes.nr == UINT32_MAX || !fde_decode(cie, from, &fde)) {
		cfi->bad++;
		return NULL;
	}
	if (!fde.size)
		return NULL;
	fde.cie = (uint32_t)(cie - cfi->cies.at);
	return vec_push(&cfi->fdes, fde);
}

/*
 * Make one pass over a section, for its CIEs or for its FDEs: in .debug_frame an FDE may come
 * before its CIE.
 */
static struct err *source_pass(struct elf_file *file, struct cfi *cfi, const struct source *source,
			       size_t first_cie, bool cies)
{
	const unsigned char *ident = file->ehdr.e_ident;
	Dwarf_Off offset = 0, next;
	Dwarf_CFI_Entry entry;
	struct err *err;
	int result;

	while (1) {
		next = offset;
		result = dwarf_next_cfi(ident, source->data, !source->debug_frame, offset, &next,
					&entry);
		if (result > 0)
			return NULL;
		if (!result) {
			err = NULL;
			if (dwarf_cfi_cie_p(&entry) && cies)
				err = cie_add(cfi, source, offset, &entry.cie);
			else if (!dwarf_cfi_cie_p(&entry) && !cies)
				err = fde_add(cfi, first_cie, &entry.fde);
			if (err)
				return err;
			if (cfi->cies.nr > LIMIT_FDES || cfi->fdes.nr > LIMIT_FDES)
				return limit_err(file->name, "too many entries of CFI", LIMIT_FDES);
		} else if (cies) {
			cfi->bad++;
		}
		if (next == (Dwarf_Off)-1 || next <= offset)
			return NULL;
		offset = next;
	}
}

static struct err *source_read(struct elf_file *file, struct cfi *cfi, const struct source *source)
{
	size_t first_cie = cfi->cies.nr;
	struct err *err;

	if (!source->data)
		return NULL;
	err = source_pass(file, cfi, source, first_cie, true);
	if (!err)
		err = source_pass(file, cfi, source, first_cie, false);
	return err;
}

/*
 * Find .eh_frame without section headers: .eh_frame_hdr, which the loader knows, points to it, and
 * it ends with a zero.
 */
static void eh_frame_from_header(struct elf_file *file, struct source *ret)
{
	const GElf_Phdr *phdr = &file->eh_frame_hdr_phdr;
	Elf_Data *header;
	const uint8_t *at, *end;
	struct cfi_cie frame;
	uint64_t offset, left;

	if (phdr->p_type != PT_GNU_EH_FRAME)
		return;
	header = elf_file_chunk(file, phdr->p_offset, phdr->p_filesz, ELF_T_BYTE);
	if (!header || header->d_size < 4)
		return;
	at = header->d_buf;
	end = at + header->d_size;
	frame = (struct cfi_cie){
		.encoding	= at[1],
		.section	= at,
		.section_vaddr	= phdr->p_vaddr,
	};
	/*
	 * skip the version, and the encodings of the pointer, of the table's length and of the
	 * table
	 */
	at += 4;
	if (cfi_address(&frame, &at, end, &ret->vaddr) &&
	    elf_file_vaddr_to_offset(file, ret->vaddr, &offset, &left))
		ret->data = elf_file_chunk(file, offset, left, ELF_T_BYTE);
}

static void eh_frame_find(struct elf_file *file, struct source *ret)
{
	GElf_Shdr shdr;

	if (elf_view_section(&file->view, ".eh_frame", &shdr) &&
	    !(shdr.sh_flags & SHF_COMPRESSED)) {
		ret->data = elf_file_chunk(file, shdr.sh_offset, shdr.sh_size, ELF_T_BYTE);
		ret->vaddr = shdr.sh_addr;
	}
	if (!ret->data)
		eh_frame_from_header(file, ret);
}

/*
 * Get the section from libelf, uncompressed in place if necessary; its claimed size is checked
 * first.
 */
static Elf_Data *section_uncompressed(struct elf_file *file, const char *name)
{
	GElf_Chdr chdr;
	GElf_Shdr shdr;
	Elf_Scn *scn = elf_view_section(&file->view, name, &shdr);
	struct err *err;

	if (!scn)
		return NULL;
	if (!(shdr.sh_flags & SHF_COMPRESSED))
		return elf_file_chunk(file, shdr.sh_offset, shdr.sh_size, ELF_T_BYTE);
	if (!elf_file_chunk(file, shdr.sh_offset, shdr.sh_size, ELF_T_BYTE))
		return NULL;
	err = elf_view_unpack(&file->view, scn);
	if (err) {
		elf_file_add_doubt(file, err);
		return NULL;
	}
	if (!gelf_getshdr(scn, &shdr) || !(shdr.sh_flags & SHF_COMPRESSED))
		return elf_rawdata(scn, NULL);
	if (!gelf_getchdr(scn, &chdr) || chdr.ch_type != ELFCOMPRESS_ZLIB) {
		elf_file_add_doubt(file, err_create(ERR_UNSUPPORTED,
						    "%s: %s is packed in an unknown way",
						    file->name, name));
		return NULL;
	}
	if (chdr.ch_size > LIMIT_UNPACKED) {
		elf_file_add_doubt(file, limit_err(file->name,
						   "too many bytes of compressed sections",
						   LIMIT_UNPACKED));
		return NULL;
	}
	return elf_compress(scn, 0, 0) < 0 ? NULL : elf_rawdata(scn, NULL);
}

COMPARE_BY(fde_compare, struct cfi_fde, x, COMPARE_KEYS(x->start, x->order))

static struct err *cfi_read(struct elf_file *file, struct cfi *cfi)
{
	struct source eh_frame = { .data = NULL }, debug_frame = { .debug_frame = true };
	struct err *err;

	if (file->ehdr.e_type == ET_REL)
		return NULL;	/* its addresses are not yet relocated */
	eh_frame_find(file, &eh_frame);
	debug_frame.data = section_uncompressed(file, ".debug_frame");
	err = source_read(file, cfi, &eh_frame);
	if (!err)
		err = source_read(file, cfi, &debug_frame);
	if (err)
		return err;
	for (size_t i = 1; i < cfi->fdes.nr; i++)
		if (fde_compare(&cfi->fdes.at[i - 1], &cfi->fdes.at[i]) > 0) {
			vec_sort(&cfi->fdes, fde_compare);
			break;
		}
	return NULL;
}

struct err *cfi_of(struct elf_file *file, const struct cfi **ret)
{
	const unsigned char *ident = file->ehdr.e_ident;
	struct cfi *cfi;
	struct err *err;

	if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB)
		return err_create(ERR_UNSUPPORTED,
				  "%s: only 64-bit little-endian files can be unwound", file->name);
	if (!file->cfi) {
		cfi = calloc(1, sizeof(*cfi));
		if (!cfi)
			return err_nomem;
		err = cfi_read(file, cfi);
		if (err) {
			cfi_deinit(cfi);
			free(cfi);
			return err;
		}
		file->cfi = cfi;
	}
	*ret = file->cfi;
	return NULL;
}

struct err *cfi_function(struct elf_file *file, uint64_t value, uint64_t *start_ret,
			 uint64_t *size_ret)
{
	const struct cfi *cfi;
	size_t low;
	struct err *err = cfi_of(file, &cfi);

	if (err)
		return err;
	low = LOWER_BOUND(i, 0, cfi->fdes.nr, cfi->fdes.at[i].start <= value);
	if (!low || value - cfi->fdes.at[low - 1].start >= cfi->fdes.at[low - 1].size)
		return err_create(ERR_NOTFOUND, "%s: no CFI at 0x%" PRIx64, file->name, value);
	*start_ret = cfi->fdes.at[low - 1].start;
	*size_ret = cfi->fdes.at[low - 1].size;
	return NULL;
}

void cfi_deinit(struct cfi *cfi)
{
	vec_free(&cfi->cies);
	vec_free(&cfi->fdes);
}
