/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CFI sections made by hand: encodings, augmentations, and every way for an entry to be broken. */

#include "elf/cfi.h"

#include <dwarf.h>
#include <elf.h>

#include <zstd.h>

#include "elf/elf_file.h"
#include "image.h"
#include "unit.h"

#define SECTION_VADDR	0x5000

/* A section being written. */
struct writer {
	uint8_t bytes[1024];
	size_t len, entry;
};

static void put(struct writer *writer, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		writer->bytes[writer->len++] = (uint8_t)(value >> 8 * i);
}

static void entry_begin(struct writer *writer)
{
	writer->entry = writer->len;
	put(writer, 0, 4);
}

static void entry_end(struct writer *writer)
{
	uint32_t len;

	while (writer->len % 4)
		put(writer, DW_CFA_nop, 1);
	len = (uint32_t)(writer->len - writer->entry - 4);
	memcpy(writer->bytes + writer->entry, &len, 4);
}

/* A CIE with an augmentation and its data; returns its offset. */
static size_t put_cie(struct writer *writer, const char *augmentation, const char *data,
		      size_t data_len, uint32_t id)
{
	size_t offset = writer->len;

	entry_begin(writer);
	put(writer, id, 4);
	put(writer, 1, 1);	/* version */
	memcpy(writer->bytes + writer->len, augmentation, strlen(augmentation) + 1);
	writer->len += strlen(augmentation) + 1;
	put(writer, 1, 1);	/* code alignment */
	put(writer, 0x78, 1);	/* data alignment: -8 */
	put(writer, 16, 1);	/* return address */
	if (augmentation[0] == 'z')
		put(writer, data_len, 1);
	memcpy(writer->bytes + writer->len, data, data_len);
	writer->len += data_len;
	put(writer, DW_CFA_def_cfa, 1);
	put(writer, 7, 1);
	put(writer, 8, 1);
	entry_end(writer);
	return offset;
}

static void fde_begin(struct writer *writer, size_t cie)
{
	entry_begin(writer);
	put(writer, writer->len - cie, 4);
}

/* An FDE of .eh_frame with plain 8-byte addresses and no augmentation data. */
static void put_fde(struct writer *writer, size_t cie, uint64_t start, uint64_t size, bool sized)
{
	fde_begin(writer, cie);
	put(writer, start, 8);
	put(writer, size, 8);
	if (sized)
		put(writer, 0, 1);
	entry_end(writer);
}

static struct elf_file *open_sections(const struct writer *eh_frame,
				      const struct writer *debug_frame)
{
	struct image_section section[2] = { 0 };
	size_t nr = 0;

	if (eh_frame)
		section[nr++] = (struct image_section){
			".eh_frame", SHT_PROGBITS, SECTION_VADDR, eh_frame->bytes, eh_frame->len, 0,
		};
	if (debug_frame)
		section[nr++] = (struct image_section){
			".debug_frame", SHT_PROGBITS, 0, debug_frame->bytes, debug_frame->len, 0,
		};
	return image_open(section, nr);
}

/* The CFI of the sections is nr FDEs, the first at start with size, and bad entries. */
static void check(const struct writer *eh_frame, size_t nr, uint64_t start, uint64_t size,
		  uint32_t bad)
{
	struct elf_file *file = open_sections(eh_frame, NULL);
	const struct cfi *cfi, *again;

	CU_ASSERT_PTR_NULL_FATAL(cfi_of(file, &cfi));
	CU_ASSERT_EQUAL(cfi->bad, bad);
	CU_ASSERT_EQUAL_FATAL(cfi->fdes.nr, nr);
	if (nr) {
		CU_ASSERT_EQUAL(cfi->fdes.at[0].start, start);
		CU_ASSERT_EQUAL(cfi->fdes.at[0].size, size);
	}
	CU_ASSERT_PTR_NULL(cfi_of(file, &again));
	CU_ASSERT_PTR_EQUAL(cfi, again);
	elf_file_close(file);
}

TEST("plain entries")
{
	struct writer w = { .len = 0 };
	size_t cie = put_cie(&w, "", "", 0, 0);

	put_fde(&w, cie, 0x1100, 0x20, false);
	put_fde(&w, cie, 0x1000, 0x10, false);
	put_fde(&w, cie, 0x1200, 0, false);	/* discarded by the linker: not broken, not there */
	put(&w, 0, 4);
	check(&w, 2, 0x1000, 0x10, 0);
}

/* An address in each encoding: value as it is written, and what it must come to. */
static void check_encoding(uint8_t encoding, uint64_t written, size_t bytes, uint64_t start,
			   bool good)
{
	struct writer w = { .len = 0 };
	size_t cie = put_cie(&w, "zR", (const char *)&encoding, 1, 0);

	fde_begin(&w, cie);
	put(&w, written, bytes);
	put(&w, 0x10, bytes);
	put(&w, 0, 1);
	entry_end(&w);
	check(&w, good, start, 0x10, !good);
}

TEST("encodings")
{
	/*
	 * Where the address of the one FDE lies: behind a CIE of 20 bytes, a length and a CIE
	 * pointer.
	 */
	const uint64_t here = SECTION_VADDR + 20 + 8;

	check_encoding(DW_EH_PE_absptr, 0x1100, 8, 0x1100, true);
	check_encoding(DW_EH_PE_udata2, 0x9100, 2, 0x9100, true);
	check_encoding(DW_EH_PE_udata4, 0x80001100, 4, 0x80001100, true);
	check_encoding(DW_EH_PE_udata8, 0x1100, 8, 0x1100, true);
	check_encoding(DW_EH_PE_sdata4, 0x1100, 4, 0x1100, true);
	check_encoding(DW_EH_PE_uleb128, 0x22, 1, 0x22, true);
	check_encoding(DW_EH_PE_sleb128, 0x22, 1, 0x22, true);
	check_encoding(DW_EH_PE_pcrel | DW_EH_PE_sdata4, 0x1100 - here, 4, 0x1100, true);
	check_encoding(DW_EH_PE_pcrel | DW_EH_PE_sdata2, 0x1100 - here, 2, 0x1100, true);
	check_encoding(DW_EH_PE_pcrel | DW_EH_PE_sdata8, 0x1100 - here, 8, 0x1100, true);
	check_encoding(DW_EH_PE_pcrel | DW_EH_PE_absptr, 0x1100 - here, 8, 0x1100, true);
	check_encoding(DW_EH_PE_datarel | DW_EH_PE_sdata4, 0x1100, 4, 0, false);
	check_encoding(DW_EH_PE_indirect | DW_EH_PE_absptr, 0x1100, 8, 0, false);
	check_encoding(DW_EH_PE_omit, 0x1100, 8, 0, false);
	check_encoding(0x05, 0x1100, 8, 0, false);
}

TEST("augmentations")
{
	static const char all[] = { DW_EH_PE_absptr, 1, 2, 3, 4, 5, 6, 7, 8, DW_EH_PE_udata4,
		DW_EH_PE_absptr };
	struct writer w = { .len = 0 };
	size_t cie = put_cie(&w, "zPLRS", all, sizeof(all), 0);
	struct elf_file *file;
	const struct cfi *cfi;

	put_fde(&w, cie, 0x1100, 0x10, true);
	file = open_sections(&w, NULL);
	CU_ASSERT_PTR_NULL_FATAL(cfi_of(file, &cfi));
	CU_ASSERT_EQUAL_FATAL(cfi->fdes.nr, 1);
	CU_ASSERT(cfi->cies.at[cfi->fdes.at[0].cie].signal);
	elf_file_close(file);
	w.len = 0;
	cie = put_cie(&w, "S", "", 0, 0);
	put_fde(&w, cie, 0x1100, 0x10, false);
	check(&w, 1, 0x1100, 0x10, 0);
	/* A letter that nobody knows; data that are shorter than the letters ask. */
	w.len = 0;
	cie = put_cie(&w, "z?R", all, 2, 0);
	put_fde(&w, cie, 0x1100, 0x10, true);
	check(&w, 0, 0, 0, 2);
	w.len = 0;
	cie = put_cie(&w, "zPLR", all, 3, 0);
	put_fde(&w, cie, 0x1100, 0x10, true);
	check(&w, 0, 0, 0, 2);
}

TEST("broken entries")
{
	struct writer w = { .len = 0 };
	size_t cie = put_cie(&w, "zR", "", 1, 0), good;

	w.bytes[17] = DW_EH_PE_absptr;
	put_fde(&w, cie + 4, 0x1000, 0x10, true);		/* no CIE is there */
	put_fde(&w, cie, UINT64_MAX - 4, 0x10, true);		/* wraps */
	fde_begin(&w, cie);
	put(&w, 0x1000, 8);
	put(&w, 0x10, 8);
	/* more augmentation data than there are bytes */
	put(&w, 100, 1);
	entry_end(&w);
	fde_begin(&w, cie);
	put(&w, 0x1000, 4);					/* half an address */
	entry_end(&w);
	good = w.len;
	put_fde(&w, cie, 0x1500, 0x10, true);
	check(&w, 1, 0x1500, 0x10, 4);
	/* A length beyond the end: all before it counts. */
	put_fde(&w, cie, 0x1600, 0x10, true);
	w.bytes[w.entry + 1] = 0x40;
	check(&w, 1, 0x1500, 0x10, 5);
	w.bytes[good + 3] = 0x7f;
	check(&w, 0, 0, 0, 5);
	/* Cut anywhere. */
	for (size_t len = w.len; len; len--) {
		struct elf_file *file;
		const struct cfi *cfi;

		w.len = len;
		file = open_sections(&w, NULL);
		CU_ASSERT_PTR_NULL(cfi_of(file, &cfi));
		elf_file_close(file);
	}
}

/* An entry of .debug_frame and its CIE behind it: pointers to CIEs are offsets here. */
static void put_debug_frame(struct writer *writer)
{
	entry_begin(writer);
	put(writer, 24, 4);
	put(writer, 0x1300, 8);
	put(writer, 0x30, 8);
	entry_end(writer);
	CU_ASSERT_EQUAL_FATAL(put_cie(writer, "", "", 0, UINT32_MAX), 24);
}

TEST(".debug_frame")
{
	struct writer debug = { .len = 0 }, eh = { .len = 0 };
	struct elf_file *file;
	const struct cfi *cfi;
	uint64_t start, size;
	struct err *err;

	put_debug_frame(&debug);
	put_fde(&eh, put_cie(&eh, "", "", 0, 0), 0x1100, 0x10, false);
	file = open_sections(&eh, &debug);
	CU_ASSERT_PTR_NULL_FATAL(cfi_of(file, &cfi));
	CU_ASSERT_EQUAL(cfi->bad, 0);
	CU_ASSERT_EQUAL_FATAL(cfi->fdes.nr, 2);
	CU_ASSERT_FALSE(cfi->cies.at[cfi->fdes.at[0].cie].debug_frame);
	CU_ASSERT_TRUE(cfi->cies.at[cfi->fdes.at[1].cie].debug_frame);
	CU_ASSERT_PTR_NULL(cfi_function(file, 0x132f, &start, &size));
	CU_ASSERT(start == 0x1300 && size == 0x30);
	err = cfi_function(file, 0x1330, &start, &size);
	CU_ASSERT(err && err->code == ERR_NOTFOUND);
	err = cfi_function(file, 0x10ff, &start, &size);
	CU_ASSERT(err && err->code == ERR_NOTFOUND);
	elf_file_close(file);
}

/* The FDEs of a .debug_frame of these bytes, with a header that says how they are packed. */
static size_t packed_fdes(const Elf64_Chdr *chdr, const void *bytes, size_t len, bool *doubt_ret)
{
	uint8_t section[2048];
	struct elf_file *file;
	const struct cfi *cfi;
	size_t nr;

	memcpy(section, chdr, sizeof(*chdr));
	memcpy(section + sizeof(*chdr), bytes, len);
	file = image_open(&(struct image_section){
		".debug_frame", SHT_PROGBITS, 0, section, sizeof(*chdr) + len, SHF_COMPRESSED,
	}, 1);
	CU_ASSERT_PTR_NULL_FATAL(cfi_of(file, &cfi));
	nr = cfi->fdes.nr;
	*doubt_ret = *elf_file_doubt(file) != '\0';
	elf_file_close(file);
	return nr;
}

/* .debug_frame packed by zstd; what cannot be unpacked is said. */
TEST(".debug_frame packed by zstd")
{
	Elf64_Chdr chdr = { .ch_type = 2, .ch_addralign = 1 };
	struct writer debug = { .len = 0 };
	uint8_t packed[1024];
	size_t len;
	bool doubt;

	put_debug_frame(&debug);
	len = ZSTD_compress(packed, sizeof(packed), debug.bytes, debug.len, 3);
	CU_ASSERT_FATAL(!ZSTD_isError(len));
	chdr.ch_size = debug.len;
	CU_ASSERT(packed_fdes(&chdr, packed, len, &doubt) == 1 && !doubt);
	CU_ASSERT(packed_fdes(&chdr, packed, len - 1, &doubt) == 0 && doubt);
	chdr.ch_size = debug.len + 1;
	CU_ASSERT(packed_fdes(&chdr, packed, len, &doubt) == 0 && doubt);
	chdr.ch_size = UINT64_MAX;
	CU_ASSERT(packed_fdes(&chdr, packed, len, &doubt) == 0 && doubt);
	chdr.ch_type = 3;
	chdr.ch_size = debug.len;
	CU_ASSERT(packed_fdes(&chdr, packed, len, &doubt) == 0 && doubt);
}

TEST("no CFI")
{
	struct elf_file *file = open_sections(NULL, NULL);
	const struct cfi *cfi;

	CU_ASSERT_PTR_NULL_FATAL(cfi_of(file, &cfi));
	CU_ASSERT_EQUAL(cfi->fdes.nr, 0);
	elf_file_close(file);
}

TEST("numbers")
{
	const uint8_t bytes[] = { 0x80, 0x01, 0x7f, 0xff, 0x7e, 0x80 };
	const uint8_t *at = bytes, *end = bytes + sizeof(bytes);
	const uint8_t longest[] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x80, 0x80, 0x01,
	};
	uint64_t number;
	int64_t value;

	CU_ASSERT(cfi_uleb(&at, end, &number) && number == 128);
	CU_ASSERT(cfi_sleb(&at, end, &value) && value == -1);
	CU_ASSERT(cfi_sleb(&at, end, &value) && value == -129);
	CU_ASSERT_FALSE(cfi_uleb(&at, end, &number));
	at = bytes + 5;
	CU_ASSERT_FALSE(cfi_sleb(&at, end, &value));
	at = longest;
	CU_ASSERT(cfi_uleb(&at, longest + sizeof(longest), &number) && number == UINT64_MAX);
	CU_ASSERT_PTR_EQUAL(at, longest + sizeof(longest));
	at = bytes;
	CU_ASSERT(cfi_fixed(&at, end, 4, &number) && number == 0xff7f0180);
	CU_ASSERT_FALSE(cfi_fixed(&at, end, 4, &number));
}
