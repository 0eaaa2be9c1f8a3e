/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Core files: what is in one is what was put in; broken ones are refused, and short ones say so. */

#include "elf/core_file.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "core_image.h"
#include "memory_array.h"
#include "unit.h"

static struct core_image image;		/* too large for a stack */

static const char *const names[] = { "/bin/prog", "/lib/libgone.so (deleted)", "/bin/prog" };

/* A process of two threads, with files, registers and all. */
static void whole(void)
{
	static const uint64_t auxv[] = { 9, 0x401000, 0, 0 };
	uint8_t info[136] = { 0 }, signal[128] = { 0 }, vector[64];
	const uint32_t pid = 70, parent = 69, number = 11, code = 1;
	const uint64_t fault = 0x1234;

	core_image_init(&image);
	info[1] = 'R';
	memcpy(info + 24, &pid, sizeof(pid));
	memcpy(info + 28, &parent, sizeof(parent));
	strcpy((char *)info + 40, "prog");
	strcpy((char *)info + 56, "prog -x");
	memcpy(signal, &number, sizeof(number));
	memcpy(signal + 8, &code, sizeof(code));
	memcpy(signal + 16, &fault, sizeof(fault));
	memset(vector, 0x77, sizeof(vector));
	core_image_thread(&image, 71, 11);
	core_image_note(&image, "CORE", NT_PRPSINFO, info, sizeof(info));
	core_image_note(&image, "CORE", NT_SIGINFO, signal, sizeof(signal));
	core_image_note(&image, "CORE", NT_AUXV, auxv, sizeof(auxv));
	core_image_files(&image, 0x400000, names, 3);
	core_image_note(&image, "CORE", NT_FPREGSET, vector, 8);
	core_image_note(&image, "LINUX", NT_X86_XSTATE, vector, sizeof(vector));
	core_image_note(&image, "GDB", NT_PRSTATUS, vector, sizeof(vector));
	core_image_thread(&image, 70, 11);
	core_image_segment(&image, 0x400000, 0x1000, 0x1000, PF_R);
	core_image_segment(&image, 0x401000, 0x2000, 0x800, PF_R | PF_X);
	core_image_segment(&image, 0x403000, 0x1000, 0x1000, PF_R | PF_W);
	core_image_segment(&image, 0x600000, 0x1000, 0, PF_R | PF_W);
}

TEST("process and threads")
{
	struct core_file *core;
	uint64_t entry, bytes;
	size_t len;

	whole();
	core = core_image_open(&image);
	CU_ASSERT_EQUAL(core->process.pid, 70);
	CU_ASSERT_EQUAL(core->process.ppid, 69);
	CU_ASSERT_EQUAL(core->process.state, 'R');
	CU_ASSERT_STRING_EQUAL(core->process.name, "prog");
	CU_ASSERT_STRING_EQUAL(core->process.args, "prog -x");
	CU_ASSERT_EQUAL(core->process.signal, 11);
	CU_ASSERT_EQUAL(core->process.code, 1);
	CU_ASSERT_EQUAL(core->process.fault, 0x1234);
	CU_ASSERT_EQUAL(core->missing, 0);
	CU_ASSERT_PTR_NULL(core_file_auxv(core, 9, &entry));
	CU_ASSERT_EQUAL(entry, 0x401000);
	CU_ASSERT_PTR_NOT_NULL(core_file_auxv(core, 25, &entry));
	CU_ASSERT_EQUAL_FATAL(core->threads.nr, 2);
	CU_ASSERT_EQUAL(core->threads.at[0].tid, 71);
	CU_ASSERT_EQUAL(core->threads.at[0].signal, 11);
	CU_ASSERT_EQUAL(core->threads.at[0].blocked, 1u << 4);
	CU_ASSERT_EQUAL(core->threads.at[0].regs.word[3], 71003);
	CU_ASSERT_EQUAL(core->threads.at[1].regs.word[core->arch->regs_words - 1],
			70000u + core->arch->regs_words - 1);
	/* The larger set of a thread's vector registers. */
	CU_ASSERT_PTR_NULL(core_file_vector(core, &core->threads.at[0], &bytes, 8, &len));
	CU_ASSERT_EQUAL(len, 8);
	CU_ASSERT_EQUAL(bytes, 0x7777777777777777);
	CU_ASSERT_EQUAL(core->threads.at[0].vector_len, 64);
	CU_ASSERT_PTR_NOT_NULL(core_file_vector(core, &core->threads.at[1], &bytes, 8, &len));
	core_file_close(core);
}

TEST("mapped files")
{
	struct core_file *core;

	whole();
	core = core_image_open(&image);
	CU_ASSERT_TRUE(core->has_mapped);
	CU_ASSERT_EQUAL_FATAL(core->mapped.nr, 3);
	CU_ASSERT_STRING_EQUAL(core->mapped.at[1].path, "/lib/libgone.so");
	CU_ASSERT_TRUE(core->mapped.at[1].deleted);
	CU_ASSERT_FALSE(core->mapped.at[0].deleted);
	CU_ASSERT_EQUAL(core->mapped.at[2].offset, 2 * 4096);
	core_file_close(core);
}

static bool has(struct core_file *core, uint64_t address)
{
	uint8_t byte;
	bool is = !memory_read(&core->memory, address, &byte, 1);

	CU_ASSERT(!is || byte == (uint8_t)address);
	return is;
}

TEST("memory")
{
	struct core_file *core;
	uint8_t bytes[0x3000];
	size_t got;

	whole();
	core = core_image_open(&image);
	CU_ASSERT_FALSE(has(core, 0x3fffff));
	CU_ASSERT_TRUE(has(core, 0x400000));
	CU_ASSERT_TRUE(has(core, 0x4017ff));
	CU_ASSERT_FALSE(has(core, 0x401800));
	CU_ASSERT_TRUE(has(core, 0x403fff));
	CU_ASSERT_FALSE(has(core, 0x404000));
	CU_ASSERT_FALSE(has(core, 0x600000));
	CU_ASSERT_FALSE(has(core, UINT64_MAX));
	/* Over the border of two segments, and up to what is missing. */
	CU_ASSERT_PTR_NULL(memory_read_some(&core->memory, 0x400ff0, bytes, sizeof(bytes), &got));
	CU_ASSERT_EQUAL(got, 0x810);
	CU_ASSERT_EQUAL(bytes[0], 0xf0);
	CU_ASSERT_EQUAL(bytes[0x10], 0);
	CU_ASSERT_EQUAL(bytes[0x80f], 0xff);
	core_file_close(core);
}

/* Where two lie over each other, the first in memory counts; others keep what is left. */
TEST("segments that overlap")
{
	struct core_file *core;

	core_image_init(&image);
	core_image_thread(&image, 5, 6);
	core_image_segment(&image, 0x3000, 0x3000, 0x3000, PF_R);
	core_image_segment(&image, 0x1000, 0x4000, 0x3000, PF_R | PF_W);
	core_image_segment(&image, 0x2000, 0x1000, 0x1000, PF_R);
	core_image_segment(&image, 0xfffffffffffff000, 0x2000, 0x1000, PF_R);
	core = core_image_open(&image);
	CU_ASSERT_EQUAL_FATAL(core->segments.nr, 2);
	CU_ASSERT_TRUE(core->segments.at[0].write);
	CU_ASSERT_EQUAL(core->segments.at[1].start, 0x5000);
	CU_ASSERT_EQUAL(core->segments.at[1].len, 0x1000);
	CU_ASSERT_TRUE(has(core, 0x3fff));
	CU_ASSERT_FALSE(has(core, 0x4000));
	CU_ASSERT_TRUE(has(core, 0x5fff));
	CU_ASSERT_FALSE(core->has_mapped);
	core_file_close(core);
}

/* However short: refused, or what is missing is counted. */
TEST("any length")
{
	size_t memory, refused = 0, shorter = 0;

	whole();
	core_image_make(&image);
	memory = image.segment[0].p_offset;
	for (size_t len = 0; len < image.len; len += len < memory ? 1 : 61) {
		struct core_file *core;
		struct memory_array file;
		/* On the heap, so that a sanitizer sees who reads behind it. */
		uint8_t *bytes = malloc(len + 1);
		struct err *err;

		memcpy(bytes, image.bytes, len);
		memory_array_init(&file, bytes, 0, len);
		err = core_file_from(&file.memory, len, "short", &core);
		if (err) {
			refused++;
			CU_ASSERT_EQUAL(err->code, ERR_FORMAT);
			CU_ASSERT(len < 20 || strstr(err->msg, "cut off"));
			CU_ASSERT(len < 20 || strstr(err->hint, "ulimit -c"));
			CU_ASSERT(len < memory);
		} else {
			shorter++;
			CU_ASSERT_EQUAL(core->missing, image.len - len);
			CU_ASSERT(!has(core, 0x400000) == (len == memory));
			CU_ASSERT_FALSE(has(core, 0x403fff));
			core_file_close(core);
		}
		free(bytes);
	}
	CU_ASSERT_EQUAL(refused, memory);
	CU_ASSERT(shorter > 100);
}

static void check_refused(enum err_code code, const char *why)
{
	struct core_file *core;
	struct err *err = core_file_from(&image.file.memory, image.len, "image", &core);

	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_EQUAL(err->code, code);
	if (!strstr(err->msg, why))
		CU_FAIL_FATAL(err->msg);
}

TEST("files that are refused")
{
	static const uint8_t packed[][8] = {
		{ 0x1f, 0x8b }, { 0xfd, '7', 'z', 'X', 'Z', 0 }, { 0x28, 0xb5, 0x2f, 0xfd },
		{ 'B', 'Z', 'h' }, { 0x04, 0x22, 0x4d, 0x18 },
	};
	Elf64_Ehdr *header = (Elf64_Ehdr *)image.bytes;

	for (size_t i = 0; i < ARRAY_SIZE(packed); i++) {
		whole();
		core_image_make(&image);
		memcpy(image.bytes, packed[i], sizeof(packed[i]));
		check_refused(ERR_FORMAT, "packed with");
	}
	whole();
	core_image_make(&image);
	header->e_type = ET_DYN;
	check_refused(ERR_FORMAT, "a program or a library");
	header->e_type = ET_REL;
	check_refused(ERR_FORMAT, "not a core");
	header->e_type = ET_CORE;
	header->e_machine = EM_PPC64;
	check_refused(ERR_UNSUPPORTED, "another processor");
	header->e_machine = arch_host()->elf_machine;
	header->e_ident[EI_CLASS] = ELFCLASS32;
	check_refused(ERR_UNSUPPORTED, "32 bits");
	header->e_ident[EI_CLASS] = ELFCLASS64;
	header->e_ident[EI_DATA] = ELFDATA2MSB;
	check_refused(ERR_UNSUPPORTED, "another processor");
	header->e_ident[EI_DATA] = ELFDATA2LSB;
	header->e_phentsize = 1;
	check_refused(ERR_FORMAT, "make no sense");
	header->e_phentsize = sizeof(Elf64_Phdr);
	header->e_phnum = PN_XNUM;
	header->e_shoff = image.len;
	check_refused(ERR_FORMAT, "cut off");
	core_image_init(&image);
	core_image_make(&image);
	check_refused(ERR_FORMAT, "no thread");
}

/* More segments than e_phnum can say: the first section header says how many. */
TEST("more segments than fit")
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)image.bytes;
	Elf64_Shdr first = { .sh_info = 5 };
	struct core_file *core;

	whole();
	core_image_make(&image);
	header->e_phnum = PN_XNUM;
	header->e_shoff = image.len;
	memcpy(image.bytes + image.len, &first, sizeof(first));
	image.len += sizeof(first);
	memory_array_init(&image.file, image.bytes, 0, image.len);
	CU_ASSERT_PTR_NULL_FATAL(core_file_from(&image.file.memory, image.len, "many", &core));
	CU_ASSERT_EQUAL(core->segments.nr, 4);
	core_file_close(core);
}

static void bad_note(uint32_t type, const void *bytes, size_t len, const char *why)
{
	core_image_init(&image);
	core_image_thread(&image, 5, 6);
	core_image_note(&image, "CORE", type, bytes, len);
	core_image_make(&image);
	check_refused(ERR_FORMAT, why);
}

TEST("bad notes")
{
	const uint64_t many[] = { UINT64_MAX / 2, 4096, 0, 0, 0 };
	const uint64_t nameless[] = { 1, 4096, 0x1000, 0x2000, 0 };
	uint8_t status[336] = { 0 };

	bad_note(NT_PRSTATUS, status, 100, "NT_PRSTATUS");
	bad_note(NT_PRSTATUS, status, sizeof(status), "NT_PRSTATUS");	/* of thread 0 */
	bad_note(NT_FILE, many, 8, "NT_FILE");
	bad_note(NT_FILE, many, sizeof(many), "NT_FILE");
	bad_note(NT_FILE, nameless, sizeof(nameless), "NT_FILE");
	core_image_init(&image);
	core_image_thread(&image, 5, 6);
	image.notes[4] = image.notes[5] = 0xff;	/* n_descsz */
	core_image_make(&image);
	check_refused(ERR_FORMAT, "notes");
}

/* A file with a hole: what was never written is not worth reading. */
TEST("holes")
{
	struct core_file *core;
	uint64_t start = 0, end = 0;
	uint64_t offset;
	char path[32];
	int fd = memfd_create("core", MFD_CLOEXEC);

	CU_ASSERT_FATAL(fd >= 0);
	core_image_init(&image);
	core_image_thread(&image, 5, 6);
	core_image_segment(&image, 0x100000, 0x40000, 0, PF_R | PF_W);
	core_image_make(&image);
	offset = 0x10000;
	((Elf64_Phdr *)(image.bytes + sizeof(Elf64_Ehdr)))[1].p_offset = offset;
	((Elf64_Phdr *)(image.bytes + sizeof(Elf64_Ehdr)))[1].p_filesz = 0x40000;
	CU_ASSERT_EQUAL_FATAL(pwrite(fd, image.bytes, image.len, 0), (ssize_t)image.len);
	CU_ASSERT_EQUAL_FATAL(ftruncate(fd, 0x50000), 0);
	CU_ASSERT_EQUAL_FATAL(pwrite(fd, "x", 1, (off_t)(offset + 0x20000)), 1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	CU_ASSERT_PTR_NULL_FATAL(core_file_open(path, &core));
	CU_ASSERT_TRUE(core_file_next(core, 0x100000, 0x140000, &start, &end));
	CU_ASSERT(start <= 0x120000 && end > 0x120000);
	/* (a file system may have larger blocks, or none) */
	if (start == 0x120000 && end == 0x121000) {
		CU_ASSERT_FALSE(core_file_next(core, end, 0x140000, &start, &end));
		CU_ASSERT_TRUE(core_file_next(core, 0x130000, 0x150000, &start, &end));
		CU_ASSERT(start == 0x140000 && end == 0x150000);	/* not in the core */
	}
	CU_ASSERT_FALSE(core_file_next(core, 0x100000, 0x100000, &start, &end));
	core_file_close(core);
	close(fd);
}

TEST("opening")
{
	struct core_file *core;
	struct err *err = core_file_open("/nonexistent/core", &core);

	CU_ASSERT(err && strstr(err->msg, "/nonexistent/core"));
	err = core_file_open("/dev/null", &core);
	CU_ASSERT(err && err->code == ERR_FORMAT);
	err = core_file_open("/proc/self/exe", &core);
	CU_ASSERT(err && err->code == ERR_FORMAT);
}

/* A hundred PT_NOTEs at the same place, each with the same 8,000 threads. */
TEST("the same notes again")
{
	enum { NOTES = 100, THREADS = 8000, NOTE = 12 + 8 + 336 };
	const size_t tables = sizeof(Elf64_Ehdr) + NOTES * sizeof(Elf64_Phdr);
	size_t len = tables + (size_t)THREADS * NOTE;
	uint8_t *bytes = calloc(1, len), *note = bytes + tables;
	static struct core_image made;
	struct memory_array file;
	struct core_file *core;
	struct err *err;

	CU_ASSERT_FATAL(bytes != NULL);
	core_image_init(&made);
	made.header.e_phnum = NOTES;
	memcpy(bytes, &made.header, sizeof(made.header));
	for (size_t i = 0; i < NOTES; i++) {
		Elf64_Phdr phdr = { .p_type = PT_NOTE, .p_offset = tables,
				    .p_filesz = (size_t)THREADS * NOTE };

		memcpy(bytes + sizeof(Elf64_Ehdr) + i * sizeof(phdr), &phdr, sizeof(phdr));
	}
	for (uint32_t i = 0; i < THREADS; i++, note += NOTE) {
		const Elf64_Nhdr head = { .n_namesz = 5, .n_descsz = 336, .n_type = NT_PRSTATUS };
		uint32_t tid = i + 1;

		memcpy(note, &head, sizeof(head));
		memcpy(note + sizeof(head), "CORE", 5);
		memcpy(note + sizeof(head) + 8 + 32, &tid, sizeof(tid));
	}
	memory_array_init(&file, bytes, 0, len);
	err = core_file_from(&file.memory, len, "same", &core);
	CU_ASSERT(err && err->code == ERR_RANGE);
	CU_ASSERT(err && strstr(err->msg, "same: too many threads (at most"));
	if (!err)
		core_file_close(core);
	free(bytes);
}
