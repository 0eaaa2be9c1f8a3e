/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every function that real libraries export is displaced, for both kinds of probe, and the copy is
 * decoded again: each instruction must refer to the addresses that the original refers to. Zydis is
 * asked directly here, not through the code under test.
 */

#include <Zydis/Zydis.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "unit.h"

#define LIBS	"/usr/lib/x86_64-linux-gnu/"
#define AWAY	0x10000000	/* the copy lies that far behind the library's start */

struct lib {
	const uint8_t *bytes;
	size_t len;
	const Elf64_Sym *syms;
	size_t nr_syms;
	const char *names;
};

struct insn {
	ZydisDecodedInstruction info;
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
	uint64_t pc;
};

static bool lib_open(const char *path, struct lib *lib)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	const Elf64_Ehdr *ehdr;
	const Elf64_Shdr *shdr;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return false;
	lib->len = st.st_size;
	lib->bytes = mmap(NULL, lib->len, PROT_READ, MAP_PRIVATE, fd, 0);
	CU_ASSERT_FATAL(lib->bytes != MAP_FAILED);
	ehdr = (const void *)lib->bytes;
	shdr = (const void *)(lib->bytes + ehdr->e_shoff);
	for (unsigned i = 0; i < ehdr->e_shnum; i++)
		if (shdr[i].sh_type == SHT_DYNSYM) {
			lib->syms = (const void *)(lib->bytes + shdr[i].sh_offset);
			lib->nr_syms = shdr[i].sh_size / sizeof(*lib->syms);
			lib->names = (const char *)lib->bytes + shdr[shdr[i].sh_link].sh_offset;
		}
	return true;
}

/* The bytes at a virtual address. */
static const uint8_t *lib_at(const struct lib *lib, uint64_t vaddr)
{
	const Elf64_Ehdr *ehdr = (const void *)lib->bytes;
	const Elf64_Phdr *phdr = (const void *)(lib->bytes + ehdr->e_phoff);

	for (unsigned i = 0; i < ehdr->e_phnum; i++)
		if (phdr[i].p_type == PT_LOAD && vaddr >= phdr[i].p_vaddr &&
		    vaddr - phdr[i].p_vaddr < phdr[i].p_filesz)
			return lib->bytes + phdr[i].p_offset + (vaddr - phdr[i].p_vaddr);
	return NULL;
}

static void decode(const uint8_t *code, size_t len, uint64_t pc, struct insn *insn)
{
	ZydisDecoder decoder;

	memset(insn, 0, sizeof(*insn));
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	insn->pc = pc;
	CU_ASSERT_TRUE_FATAL(ZYAN_SUCCESS(
		ZydisDecoderDecodeFull(&decoder, code, len, &insn->info, insn->operand)));
}

/* The address that it refers to relative to its own, or 0. */
static uint64_t refers_to(const struct insn *insn)
{
	uint64_t address;

	if (insn->info.attributes & ZYDIS_ATTRIB_IS_RELATIVE)
		for (unsigned i = 0; i < insn->info.operand_count_visible; i++)
			if (ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&insn->info, &insn->operand[i],
								  insn->pc, &address)) &&
			    (insn->operand[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE ||
			     insn->operand[i].mem.base == ZYDIS_REGISTER_RIP))
				return address;
	return 0;
}

/* Where the address of an original instruction lies in the copy, or itself. */
static uint64_t translate(const struct displaced *d, uint64_t from, uint64_t to, uint64_t address)
{
	for (size_t i = 0; i < d->nr; i++)
		if (from + d->insn[i].from == address)
			return to + d->insn[i].to;
	return address;
}

/* The copy of a call: push the low half of the return address, store the high one, jump. */
static bool call_matches(const struct insn *original, const uint8_t *code, uint64_t pc)
{
	uint64_t ret = original->pc + original->info.length;
	struct insn jump;
	uint32_t low, high;

	memcpy(&low, code + 1, 4);
	memcpy(&high, code + 9, 4);
	decode(code + 13, 15, pc + 13, &jump);
	return code[0] == 0x68 && !memcmp(code + 5, "\xc7\x44\x24\x04", 4) &&
	       low == (uint32_t)ret &&
	       (uint64_t)(int32_t)low >> 32 == (low >> 31 ? 0xffffffff : 0) && high == ret >> 32 &&
	       jump.info.mnemonic == ZYDIS_MNEMONIC_JMP && refers_to(&jump) == refers_to(original);
}

static bool insn_matches(const struct displaced *d, const struct insn *original,
			 const struct insn *copy, uint64_t from, uint64_t to)
{
	uint64_t target = refers_to(original);

	if (original->info.meta.category == ZYDIS_CATEGORY_CALL)
		return call_matches(original, d->code + (copy->pc - to), copy->pc);
	if (original->info.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE &&
	    original->info.raw.imm[0].is_relative)
		target = translate(d, from, to, target);
	return original->info.mnemonic == copy->info.mnemonic && refers_to(copy) == target &&
	       (target || original->info.length == copy->info.length);
}

static bool copy_matches(const struct displaced *d, const uint8_t *code, uint64_t from, uint64_t to)
{
	struct insn original, copy;

	for (size_t i = 0; i < d->nr; i++) {
		decode(code + d->insn[i].from, 15, from + d->insn[i].from, &original);
		decode(d->code + d->insn[i].to, 15, to + d->insn[i].to, &copy);
		if (!insn_matches(d, &original, &copy, from, to))
			return false;
	}
	/* What does not leave for good ends in a jump to what follows. */
	if (original.info.meta.category == ZYDIS_CATEGORY_RET ||
	    original.info.mnemonic == ZYDIS_MNEMONIC_JMP ||
	    original.info.meta.category == ZYDIS_CATEGORY_CALL)
		return true;
	decode(d->code + d->len - 5, 5, to + d->len - 5, &copy);
	return copy.info.mnemonic == ZYDIS_MNEMONIC_JMP && refers_to(&copy) == from + d->consumed;
}

struct count {
	unsigned functions, stay, moved[2], refused[2], wrong;
};

static void displace_symbol(const struct lib *lib, const Elf64_Sym *sym, struct count *count)
{
	static const size_t min_len[2] = { 1, 5 };
	const uint8_t *code = lib_at(lib, sym->st_value);
	struct entry_insn first = { 0, 0 };

	if (ELF64_ST_TYPE(sym->st_info) != STT_FUNC || !sym->st_size || !code)
		return;
	count->functions++;
	count->stay += arch_x86_64.entry_insn(code, sym->st_size, 0, &first);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t from = sym->st_value;
		struct displaced d;
		struct err *err = arch_x86_64.displace(code, sym->st_size, from, from + AWAY,
						       first.len + min_len[i], &d);

		if (err) {
			CU_ASSERT(err->code == ERR_UNSUPPORTED && !strncmp(err->msg, "0x", 2));
			count->refused[i]++;
		} else if (copy_matches(&d, code, from, from + AWAY)) {
			count->moved[i]++;
		} else {
			printf("%s: wrong copy for %zu bytes\n", lib->names + sym->st_name,
			       min_len[i]);
			count->wrong++;
		}
	}
}

/* Of allocators that are tried here; the table itself is in a layer above. */
static bool is_allocator(const char *name)
{
	static const char *const names[] = {
		"malloc", "free", "calloc", "realloc", "reallocarray", "memalign", "aligned_alloc",
		"posix_memalign", "valloc", "pvalloc", "mallocx", "rallocx", "dallocx", "sdallocx",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return !strncmp(name, "_Znwm", 5) || !strncmp(name, "_Znam", 5) ||
	       !strncmp(name, "_ZdlPv", 6) || !strncmp(name, "_ZdaPv", 6) ||
	       !strncmp(name, "tc_", 3) || !strncmp(name, "mi_malloc", 9) || !strcmp(name, "mi_free");
}

static bool has_room(const uint8_t *code, size_t len, uint64_t address)
{
	struct displaced d;

	return !arch_x86_64.displace(code, len, address, address + AWAY, arch_x86_64.jump_len,
				     &d) &&
	       !arch_x86_64.jumps_into(code, len, address, address + 1,
				       address + arch_x86_64.jump_len, NULL) &&
	       !arch_x86_64.loops_at(code, len, address, address);
}

/* An allocator's functions must have room for a jump, with nothing that goes there or loops. */
static void check_allocator(const char *path, unsigned least)
{
	unsigned functions = 0, bad = 0;
	struct lib lib = { 0 };

	if (!lib_open(path, &lib)) {
		unit_skip("not installed");
		return;
	}
	for (size_t i = 0; i < lib.nr_syms; i++) {
		const Elf64_Sym *sym = &lib.syms[i];
		const char *name = lib.names + sym->st_name;
		const uint8_t *code = lib_at(&lib, sym->st_value);

		if (ELF64_ST_TYPE(sym->st_info) != STT_FUNC || !sym->st_size || !code ||
		    !is_allocator(name))
			continue;
		functions++;
		if (!has_room(code, sym->st_size, sym->st_value)) {
			printf("%s: %s: no room for a jump\n", path, name);
			bad++;
		}
	}
	munmap((void *)lib.bytes, lib.len);
	printf("%s: %u of %u ", strrchr(path, '/') + 1, functions - bad, functions);
	CU_ASSERT(functions >= least);
	CU_ASSERT_EQUAL(bad, 0);
}

TEST("allocators have room for jumps")
{
	check_allocator(LIBS "libc.so.6", 10);
	check_allocator(LIBS "libjemalloc.so.2", 30);
	check_allocator(LIBS "libtcmalloc_minimal.so.4", 40);
	check_allocator(LIBS "libmimalloc.so.2.0", 30);
	check_allocator("/usr/lib/x86_64-linux-musl/libc.so", 8);
}

/* least[i]: per cent that must be possible to displace for 1 and for 5 bytes. */
static void check_lib(const char *path, const unsigned least[2])
{
	struct count count = { 0 };
	struct lib lib = { 0 };

	if (!lib_open(path, &lib)) {
		unit_skip("not installed");
		return;
	}
	for (size_t i = 0; i < lib.nr_syms; i++)
		displace_symbol(&lib, &lib.syms[i], &count);
	munmap((void *)lib.bytes, lib.len);
	printf("%u functions, %u whose first instruction stays: 1 byte %u moved, %u refused; 5 bytes %u moved, %u refused ",
	       count.functions, count.stay, count.moved[0], count.refused[0], count.moved[1], count.refused[1]);
	CU_ASSERT_EQUAL(count.wrong, 0);
	CU_ASSERT(count.functions > 0);
	for (unsigned i = 0; i < 2; i++)
		CU_ASSERT(count.moved[i] * 100 >= count.functions * least[i]);
}

TEST("libc")
{
	check_lib(LIBS "libc.so.6", (const unsigned[]){ 99, 95 });
}

TEST("libjemalloc")
{
	check_lib(LIBS "libjemalloc.so.2", (const unsigned[]){ 100, 100 });
}

TEST("libtcmalloc_minimal")
{
	check_lib(LIBS "libtcmalloc_minimal.so.4", (const unsigned[]){ 99, 90 });
}

TEST("libmimalloc")
{
	check_lib(LIBS "libmimalloc.so.2.0", (const unsigned[]){ 99, 90 });
}

TEST("libstdc++")
{
	check_lib(LIBS "libstdc++.so.6", (const unsigned[]){ 99, 80 });
}
