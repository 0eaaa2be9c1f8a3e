/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A process whose files are made to harm who reads them: hostile KIND FOLDER. It runs in code of a
 * file, FOLDER/hostile.so, that is cheap on disk and claims much. KIND:
 *
 *	sections	four million section headers, in a hole of the file
 *	names		section names of 3 GB, a hole
 *	strings		a .strtab of 3 GB, a hole
 *	symbols		a .symtab of 2 GB, a hole
 *	packed		.debug_info that claims to unpack to 100 GB
 *	mini		.gnu_debugdata, taken from the file FOLDER/mini.xz
 *	debuglink	its debug file is a hole of 4 TB
 *	dwo		its .dwo file is a FIFO
 *	perf		no file: JIT code, and /tmp/perf-PID.map with 20 million lines
 *
 * `ready PID`, then `verify` and `quit`.
 */

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE		4096u
#define TEXT		PAGE
#define BYTES		(2 * PAGE)	/* of the sections */
#define BYTES_MAX	(1u << 20)
#define HOLE		(BYTES + BYTES_MAX)
#define SECTIONS_MAX	8u
#define PERF_LINES	20000000u

static char folder[3072];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };

struct file {
	Elf64_Shdr section[SECTIONS_MAX];
	size_t nr;
	char names[256];
	size_t names_len;
	uint8_t bytes[BYTES_MAX];
	size_t len;
};

static Elf64_Shdr *add(struct file *file, const char *name, uint32_t type, const void *bytes,
		       size_t len)
{
	Elf64_Shdr *shdr = &file->section[file->nr++];

	shdr->sh_name = (uint32_t)file->names_len;
	shdr->sh_type = type;
	shdr->sh_offset = BYTES + file->len;
	shdr->sh_size = len;
	shdr->sh_addralign = 1;
	strcpy(file->names + file->names_len, name);
	file->names_len += strlen(name) + 1;
	memcpy(file->bytes + file->len, bytes, len);
	file->len += (len + 15) & ~(size_t)15;
	return shdr;
}

/* A section that lies in a hole at the end of the file. */
static uint64_t add_hole(struct file *file, const char *name, uint32_t type, uint64_t len)
{
	Elf64_Shdr *shdr = add(file, name, type, "", 0);

	shdr->sh_offset = HOLE;
	shdr->sh_size = len;
	return HOLE + len;
}

static void add_symbols(struct file *file)
{
	Elf64_Sym symbols[2] = { { 0 }, {
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1,
		.st_value = TEXT, .st_size = sizeof(code), .st_name = 1,
	} };

	add(file, ".symtab", SHT_SYMTAB, symbols, sizeof(symbols));
}

static void add_packed(struct file *file)
{
	Elf64_Chdr header = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = 100ull << 30, .ch_addralign = 1 };
	uint8_t bytes[512 << 10] = { 0 };

	memcpy(bytes, &header, sizeof(header));
	add(file, ".debug_info", SHT_PROGBITS, bytes, sizeof(bytes))->sh_flags = SHF_COMPRESSED;
}

static void add_mini(struct file *file)
{
	static uint8_t bytes[BYTES_MAX - PAGE];
	char path[4096];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "%s/mini.xz", folder);
	fd = open(path, O_RDONLY);
	len = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
	if (len <= 0)
		die(path);
	add(file, ".gnu_debugdata", SHT_PROGBITS, bytes, (size_t)len);
}

static void add_debuglink(struct file *file)
{
	const uint8_t link[16] = "hostile.debug\0\0";	/* the CRC is behind it */
	uint8_t bytes[20] = { 0 };
	char path[4096];
	int fd;

	memcpy(bytes, link, sizeof(link));
	add(file, ".gnu_debuglink", SHT_PROGBITS, bytes, sizeof(bytes));
	snprintf(path, sizeof(path), "%s/hostile.debug", folder);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || ftruncate(fd, 4ll << 40))
		die("4 TB");
}

static void add_dwo(struct file *file)
{
	const uint8_t abbrev[] = {
		1, 0x4a, 0,		/* DW_TAG_skeleton_unit, no children */
		0x11, 0x01,		/* DW_AT_low_pc, DW_FORM_addr */
		0x12, 0x07,		/* DW_AT_high_pc, DW_FORM_data8 */
		0x76, 0x08,		/* DW_AT_dwo_name, DW_FORM_string */
		0x1b, 0x08,		/* DW_AT_comp_dir */
		0, 0, 0,
	};
	struct {
		uint32_t len;
		uint16_t version;
		uint8_t type, address_size;
		uint32_t abbrev;
		uint64_t id;
		uint8_t code;
		uint64_t low, size;
		char text[4096];
	} __attribute__((packed)) info = {
		.version = 5, .type = 4, .address_size = 8, .id = 1, .code = 1,
		.low = TEXT, .size = sizeof(code),
	};
	char path[4096];
	size_t len = 1 + (size_t)sprintf(info.text, "hostile.dwo");

	len += 1 + (size_t)sprintf(info.text + len, "%s", folder);
	len += sizeof(info) - sizeof(info.text);
	info.len = (uint32_t)(len - sizeof(info.len));
	add(file, ".debug_abbrev", SHT_PROGBITS, abbrev, sizeof(abbrev));
	add(file, ".debug_info", SHT_PROGBITS, &info, len);
	snprintf(path, sizeof(path), "%s/hostile.dwo", folder);
	if (mkfifo(path, 0644))
		die(path);
}

static uint64_t fill(struct file *file, const char *kind)
{
	Elf64_Shdr *strings;

	file->nr = file->names_len = 1;
	add(file, ".text", SHT_PROGBITS, "", 0)->sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	file->section[1].sh_addr = file->section[1].sh_offset = TEXT;
	file->section[1].sh_size = sizeof(code);
	if (!strcmp(kind, "strings")) {
		add_symbols(file);
		file->section[2].sh_link = 3;
		return add_hole(file, ".strtab", SHT_STRTAB, 3ull << 30);
	}
	if (!strcmp(kind, "symbols")) {
		strings = add(file, ".strtab", SHT_STRTAB, "\0run", 5);
		add_hole(file, ".symtab", SHT_SYMTAB, 2ull << 30);
		file->section[3].sh_link = (uint32_t)(strings - file->section);
		return HOLE + (2ull << 30);
	}
	if (!strcmp(kind, "packed"))
		add_packed(file);
	else if (!strcmp(kind, "mini"))
		add_mini(file);
	else if (!strcmp(kind, "debuglink"))
		add_debuglink(file);
	else if (!strcmp(kind, "dwo"))
		add_dwo(file);
	return HOLE;
}

static void put(int fd, const void *bytes, size_t len, uint64_t offset)
{
	if (pwrite(fd, bytes, len, (off_t)offset) != (ssize_t)len)
		die("write");
}

static void finish(int fd, struct file *file, const char *kind, uint64_t end)
{
	Elf64_Ehdr header = {
		.e_ident = ELFMAG "\2\1\1", .e_type = ET_DYN, .e_machine = EM_X86_64,
		.e_version = EV_CURRENT, .e_phoff = sizeof(header), .e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1, .e_shentsize = sizeof(Elf64_Shdr),
	};
	const Elf64_Phdr text = {
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = TEXT, .p_vaddr = TEXT,
		.p_filesz = PAGE, .p_memsz = PAGE, .p_align = PAGE,
	};
	Elf64_Shdr *names = add(file, ".shstrtab", SHT_STRTAB, file->names, sizeof(file->names));

	memcpy(file->bytes + names->sh_offset - BYTES, file->names, sizeof(file->names));
	if (!strcmp(kind, "names")) {
		names->sh_offset = HOLE;
		names->sh_size = 3ull << 30;
		end = HOLE + names->sh_size;
	}
	header.e_shoff = end;
	header.e_shstrndx = (uint16_t)(file->nr - 1);
	header.e_shnum = (uint16_t)file->nr;
	if (!strcmp(kind, "sections")) {
		header.e_shnum = 0;
		file->section[0].sh_size = 4000000;
	}
	put(fd, &header, sizeof(header), 0);
	put(fd, &text, sizeof(text), sizeof(header));
	put(fd, code, sizeof(code), TEXT);
	put(fd, file->bytes, file->len, BYTES);
	put(fd, file->section, sizeof(file->section), end);
	if (file->section[0].sh_size && ftruncate(fd, (off_t)(end + 4000000ull * sizeof(Elf64_Shdr))))
		die("truncate");
}

static void *map_file(const char *kind)
{
	static struct file file;
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/hostile.so", folder);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0755);
	if (fd < 0)
		die(path);
	finish(fd, &file, kind, fill(&file, kind));
	return mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, TEXT);
}

static void *map_jit(void)
{
	void *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	if (!map || at == MAP_FAILED)
		die(path);
	for (unsigned i = 0; i < PERF_LINES; i++)
		fputs("1 1 a\n", map);
	fprintf(map, "%lx 8 run\n", (unsigned long)at);
	if (fclose(map))
		die(path);
	memcpy(at, code, sizeof(code));
	return mprotect(at, PAGE, PROT_READ | PROT_EXEC) ? MAP_FAILED : at;
}

static void wait_for_end(void)
{
	char line[256];

	printf("ready %d\n", getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "quit\n")) {
		puts("ok");
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	char path[64];
	void *at;

	if (argc != 3 || strlen(argv[2]) >= sizeof(folder))
		return 2;
	strcpy(folder, argv[2]);
	at = strcmp(argv[1], "perf") ? map_file(argv[1]) : map_jit();
	if (at == MAP_FAILED)
		die("map");
	((void (*)(void (*fn)(void)))at)(wait_for_end);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	unlink(path);
	return 0;
}
