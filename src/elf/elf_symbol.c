/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The symbol tables of an ELF file. They are found through the section headers. If those are gone
 * (sstrip, packers), .dynsym is found as the loader finds it, through PT_DYNAMIC, and its length
 * through a hash table.
 */

#include "elf/elf_file.h"

#include <inttypes.h>
#include <string.h>

#include "base/limits.h"
#include "elf/cfi.h"
#include "elf/file_private.h"

/* Entries of PT_DYNAMIC by their tags: addresses in the file, 0 if absent. */
struct dynamic {
	uint64_t value[DT_NUM], gnu_hash;
};

static bool dynamic_read(struct elf_file *file, struct dynamic *ret)
{
	const GElf_Phdr *phdr = &file->dynamic_phdr;
	size_t entry = gelf_fsize(file->elf, ELF_T_DYN, 1, EV_CURRENT);
	Elf_Data *data;
	GElf_Dyn dyn;

	memset(ret, 0, sizeof(*ret));
	if (phdr->p_type != PT_DYNAMIC)
		return false;
	data = elf_file_chunk(file, phdr->p_offset, phdr->p_filesz - phdr->p_filesz % entry,
			      ELF_T_DYN);
	for (int i = 0; data && gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL; i++) {
		if (dyn.d_tag > 0 && dyn.d_tag < DT_NUM)
			ret->value[dyn.d_tag] = dyn.d_un.d_val;
		else if (dyn.d_tag == DT_GNU_HASH)
			ret->gnu_hash = dyn.d_un.d_val;
	}
	return data;
}

/* Get the words of a hash table, from vaddr to the end of its segment. */
static Elf_Data *words_at(struct elf_file *file, uint64_t vaddr)
{
	uint64_t offset, left;

	if (!vaddr || !elf_file_vaddr_to_offset(file, vaddr, &offset, &left))
		return NULL;
	return elf_file_chunk(file, offset, left & ~3ull, ELF_T_WORD);
}

/*
 * Count symbols by DT_GNU_HASH. It has: nbuckets, the first hashed symbol, words of the bloom
 * filter, a shift; the filter; the buckets, each with the first symbol of a chain; a word for each
 * hashed symbol, which is odd at the end of a chain. The last symbol ends the chain of the highest
 * bucket.
 */
static uint64_t gnu_hash_symbols(const struct elf_file *file, const Elf_Data *data)
{
	const uint32_t *word = data->d_buf;
	uint64_t nr = data->d_size / sizeof(*word), buckets, chains, last = 0;

	if (nr < 4)
		return 0;
	buckets = 4 + (uint64_t)word[2] * (file->ehdr.e_ident[EI_CLASS] == ELFCLASS64 ? 2 : 1);
	chains = buckets + word[0];
	if (chains > nr)
		return 0;
	for (uint64_t i = buckets; i < chains; i++)
		last = MAX(last, (uint64_t)word[i]);
	if (last < word[1])
		return word[1];
	while (chains + (last - word[1]) < nr) {
		if (word[chains + (last - word[1])] & 1)
			return last + 1;
		last++;
	}
	return 0;
}

static void dynsym_from_dynamic(struct elf_file *file, const struct dynamic *dynamic,
				const struct elf_strings *names)
{
	size_t entry = gelf_fsize(file->elf, ELF_T_SYM, 1, EV_CURRENT);
	Elf_Data *hash = words_at(file, dynamic->value[DT_HASH]), *gnu_hash;
	uint64_t offset, left, nr = 0;

	if (hash && hash->d_size >= 8)
		nr = ((const uint32_t *)hash->d_buf)[1];	/* nchain */
	else if ((gnu_hash = words_at(file, dynamic->gnu_hash)))
		nr = gnu_hash_symbols(file, gnu_hash);
	if (!names->len || !elf_file_vaddr_to_offset(file, dynamic->value[DT_SYMTAB], &offset,
						     &left))
		return;
	nr = MIN(nr, left / entry);
	if (nr > LIMIT_SYMBOLS) {
		elf_file_add_doubt(file, limit_err(file->name, "too many symbols", LIMIT_SYMBOLS));
		return;
	}
	file->dynsym.names = *names;
	file->dynsym.data = elf_file_chunk(file, offset, nr * entry, ELF_T_SYM);
	file->dynsym.nr = file->dynsym.data ? nr : 0;
}

void elf_symbols_locate(struct elf_file *file)
{
	struct dynamic dynamic;
	struct elf_strings names = { NULL, 0 };
	uint64_t offset, left;

	if (dynamic_read(file, &dynamic) &&
	    elf_file_vaddr_to_offset(file, dynamic.value[DT_STRTAB], &offset, &left))
		elf_file_add_doubt(file, elf_view_strings(&file->view, offset,
							  MIN(dynamic.value[DT_STRSZ], left),
							  &names));
	elf_file_add_doubt(file, elf_view_symbols(&file->view, SHT_SYMTAB, &file->symtab));
	elf_file_add_doubt(file, elf_view_symbols(&file->view, SHT_DYNSYM, &file->dynsym));
	if (!file->dynsym.data)
		dynsym_from_dynamic(file, &dynamic, &names);
}

/*
 * Get symbol i if it has an address: false for undefined, absolute and thread-local ones, sections
 * and files.
 */
static bool symbol_get(const struct elf_symtab *table, size_t i, struct elf_symbol *ret)
{
	GElf_Sym sym;
	unsigned type;

	if (!gelf_getsym(table->data, (int)i, &sym))
		return false;
	type = GELF_ST_TYPE(sym.st_info);
	if (sym.st_shndx == SHN_UNDEF || sym.st_shndx == SHN_ABS || sym.st_shndx == SHN_COMMON)
		return false;
	if (type == STT_SECTION || type == STT_FILE || type == STT_TLS)
		return false;
	ret->name = sym.st_name < table->names.len ? table->names.at + sym.st_name : NULL;
	ret->value = sym.st_value;
	ret->size = sym.st_size;
	ret->ifunc = type == STT_GNU_IFUNC;
	ret->func = type == STT_FUNC || ret->ifunc;
	ret->global = GELF_ST_BIND(sym.st_info) != STB_LOCAL;
	return ret->name && ret->name[0];
}

struct err *elf_symbols_begin(const struct elf_file *file, struct elf_symbols *ret)
{
	*ret = (struct elf_symbols){ .file = file };
	if (file->ehdr.e_type == ET_REL)
		return err_create(ERR_UNSUPPORTED,
				  "%s: it is not linked, its symbols have no addresses",
				  file->name);
	return NULL;
}

bool elf_symbols_next(struct elf_symbols *at, struct elf_symbol *ret)
{
	const struct elf_symtab *table = at->second ? &at->file->symtab : &at->file->dynsym;

	while (at->next < table->nr && at->next <= INT32_MAX)
		if (symbol_get(table, at->next++, ret)) {
			ret->dynamic = !at->second;
			return true;
		}
	if (at->second)
		return false;
	at->second = true;
	at->next = 0;
	return elf_symbols_next(at, ret);
}

struct err *elf_symbol_named(struct elf_file *file, const char *name, struct elf_symbol *ret)
{
	struct elf_symbols at;
	struct elf_symbol symbol;
	struct err *err = elf_symbols_begin(file, &at);

	while (!err && elf_symbols_next(&at, &symbol))
		if (!strcmp(symbol.name, name)) {
			*ret = symbol;
			return NULL;
		}
	return err ? err : err_create(ERR_NOTFOUND, "%s: no symbol %s", file->name, name);
}

/* Returns the name of a symbol of .dynsym, which may be undefined; NULL: it has none. */
static const char *dynamic_name(const struct elf_file *file, uint64_t i)
{
	const struct elf_symtab *table = &file->dynsym;
	GElf_Sym sym;

	if (i >= table->nr || !gelf_getsym(table->data, (int)i, &sym) ||
	    sym.st_name >= table->names.len || !table->names.at[sym.st_name])
		return NULL;
	return table->names.at + sym.st_name;
}

struct err *elf_symbol_relocation(struct elf_file *file, uint64_t value, const char **name_ret)
{
	size_t size = gelf_fsize(file->elf, ELF_T_RELA, 1, EV_CURRENT);
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	GElf_Rela rela;

	while (size && (scn = elf_nextscn(file->elf, scn))) {
		Elf_Data *data;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_RELA ||
		    shdr.sh_flags & SHF_COMPRESSED)
			continue;
		data = elf_file_chunk(file, shdr.sh_offset, shdr.sh_size - shdr.sh_size % size,
				      ELF_T_RELA);
		for (int i = 0; data && gelf_getrela(data, i, &rela); i++) {
			const char *name = rela.r_offset != value ? NULL :
					   dynamic_name(file, GELF_R_SYM(rela.r_info));

			if (name) {
				*name_ret = name;
				return NULL;
			}
		}
	}
	return err_create(ERR_NOTFOUND, "%s: no relocation at 0x%" PRIx64, file->name, value);
}

struct err *elf_symbol_function_extent(struct elf_file *file, uint64_t value, uint64_t *size_ret)
{
	const struct elf_segment *text = elf_file_segment_at(file, value);
	uint64_t size = 0, next = UINT64_MAX, end, fde_start;
	struct elf_symbols at;
	struct elf_symbol symbol;
	struct err *err;

	if (!text || !text->exec)
		return err_create(ERR_NOTFOUND, "%s: no code at 0x%" PRIx64, file->name,
				  value);
	end = text->vaddr + text->memsz;
	err = elf_symbols_begin(file, &at);
	if (err)
		return err;
	while (elf_symbols_next(&at, &symbol)) {
		if (symbol.value == value && symbol.func)
			size = MAX(size, symbol.size);
		if (symbol.value > value)
			next = MIN(next, symbol.value);
	}
	if (!size) {
		err = cfi_function(file, value, &fde_start, &size);
		if (!err)
			size -= value - fde_start;
		else if (err->code != ERR_NOTFOUND)
			return err;
		else if (next < end)
			size = next - value;
	}
	if (!size)
		return err_create(ERR_NOTFOUND,
				  "%s: the end of the function at 0x%" PRIx64 " is not known",
				  file->name, value);
	*size_ret = MIN(size, end - value);
	return NULL;
}
