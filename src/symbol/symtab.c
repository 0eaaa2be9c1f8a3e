/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The symbols of one ELF file. Two tables are read: .symtab of the file, of its debug file or of
 * .gnu_debugdata; and .dynsym, since only it says, by .gnu.version, which of several `memcpy` is
 * current. A symbol that is in both is kept once.
 */

#include "symbol/symtab.h"

#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"

#define CANCEL_EVERY	4096u	/* symbols */

static bool is_public(const struct symtab_entry *entry)
{
	return entry->name[0] != '_' || demangle_is_mangled(entry->name);
}

static int by_text(const struct symtab_entry *x, const struct symtab_entry *y)
{
	int order = memcmp(x->name, y->name, MIN(x->len, y->len));

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

/*
 * Positive if x is the better name for an address that both have. Functions are preferred; malloc
 * to __libc_malloc; global to local; current to old; free to cfree; else the alphabet decides, so
 * that the result is always the same.
 */
static int preferred(const struct symtab_entry *x, const struct symtab_entry *y)
{
	if (x->kind != y->kind)
		return x->kind - y->kind;
	if (is_public(x) != is_public(y))
		return is_public(x) - is_public(y);
	if (x->global != y->global)
		return x->global - y->global;
	if (x->old != y->old)
		return y->old - x->old;
	if (x->len != y->len)
		return x->len < y->len ? 1 : -1;
	return by_text(y, x);
}

static int by_address(const void *a, const void *b)
{
	const struct symtab_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return preferred(x, y);
}

/* Indexed by the type of a symbol; the kind plus 1; 0: not used here. */
static const uint8_t kinds[16] = {
	[STT_FUNC]	= 1 + SYMTAB_FUNCTION,
	[STT_GNU_IFUNC]	= 1 + SYMTAB_FUNCTION,
	[STT_OBJECT]	= 1 + SYMTAB_DATA,
	[STT_TLS]	= 1 + SYMTAB_DATA,
	[STT_NOTYPE]	= 1 + SYMTAB_LABEL,
};

/* Get the number of bytes from sym to the end of its section, if that is mapped. */
static bool room_of(Elf *elf, const GElf_Sym *sym, uint64_t *ret)
{
	Elf_Scn *scn = elf_getscn(elf, sym->st_shndx);
	GElf_Shdr mem, *shdr = scn ? gelf_getshdr(scn, &mem) : NULL;

	if (!shdr || !(shdr->sh_flags & SHF_ALLOC) || sym->st_value < shdr->sh_addr ||
	    sym->st_value - shdr->sh_addr > shdr->sh_size)
		return false;
	*ret = shdr->sh_addr + shdr->sh_size - sym->st_value;
	return true;
}

static struct err *add(struct symtab *symtab, const struct symtab_file *file, const GElf_Sym *sym,
		       const char *name, bool old)
{
	uint8_t type = GELF_ST_TYPE(sym->st_info);
	bool tls = type == STT_TLS;
	struct symtab_entry entry = {
		.start = sym->st_value + (tls ? 0 : file->bias), .name = name,
		.sized = sym->st_size != 0, .old = old,
		.global = GELF_ST_BIND(sym->st_info) != STB_LOCAL,
	};
	uint64_t room = sym->st_size;
	const char *version;

	if (!*name || sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS ||
	    !kinds[type] || (!tls && !room_of(file->view->elf, sym, &room)))
		return NULL;
	entry.kind = kinds[type] - 1;
	entry.end = entry.start + (entry.sized ? MIN(sym->st_size, room) : room);
	version = strchr(name + 1, '@');
	if (version && version[1] != '@')
		entry.old = true;
	entry.len = (uint32_t)MIN(version ? (size_t)(version - name) : strlen(name),
				  (size_t)NAME_MAX_LEN);
	if (!tls)
		return vec_push(&symtab->entries, entry);
	/* A variable without a size covers nothing. */
	return entry.end > entry.start ? vec_push(&symtab->tls, entry) : NULL;
}

bool symtab_has_own(const struct elf_view *view)
{
	GElf_Shdr shdr;

	return elf_view_section_of_type(view, SHT_SYMTAB, &shdr) != NULL;
}

/* *ret is NULL if there are none. */
static struct err *take_versions(struct elf_view *view, Elf_Data **ret)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = elf_view_section_of_type(view, SHT_GNU_versym, &shdr);
	struct err *err = scn ? elf_view_take(view, shdr.sh_offset, shdr.sh_size) : NULL;

	*ret = scn && !err ? elf_getdata(scn, NULL) : NULL;
	return err;
}

static struct err *read_table(struct symtab *symtab, const struct symtab_file *file,
			      GElf_Word type)
{
	struct elf_symtab table;
	Elf_Data *versions = NULL;
	struct err *err = elf_view_symbols(file->view, type, &table);

	if (!err && type == SHT_DYNSYM && table.data)
		err = take_versions(file->view, &versions);
	for (size_t i = 1; i < table.nr && !err; i++) {
		GElf_Versym version = 0;
		GElf_Sym sym;

		if (!gelf_getsym(table.data, (int)i, &sym))
			break;
		if (versions && !gelf_getversym(versions, (int)i, &version))
			version = 0;
		if (sym.st_name < table.names.len)
			err = add(symtab, file, &sym, table.names.at + sym.st_name,
				  version & 0x8000);
		if (!err && i % CANCEL_EVERY == 0)
			err = cancel_check();
	}
	return err;
}

static int by_address_and_text(const void *a, const void *b)
{
	const struct symtab_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return by_text(x, y);
}

/* A symbol that is in both tables is old if one of them says so. */
static void drop_doubles(struct symtab *symtab)
{
	struct symtab_entry *entries = symtab->entries.at;
	size_t nr = 0;

	vec_sort(&symtab->entries, by_address_and_text);
	for (size_t i = 0; i < symtab->entries.nr; i++) {
		if (nr && !by_address_and_text(&entries[nr - 1], &entries[i]))
			entries[nr - 1].old |= entries[i].old;
		else
			entries[nr++] = entries[i];
	}
	symtab->entries.nr = nr;
}

/* Symbols without a size end at the next symbol. The entries are sorted. */
static void end_unsized(struct symtab *symtab)
{
	struct symtab_entry *entries = symtab->entries.at;
	size_t nr = symtab->entries.nr;

	for (size_t i = nr, next = nr; i-- > 0;) {
		if (next < nr && !entries[i].sized)
			entries[i].end = MIN(entries[i].end, entries[next].start);
		if (i > 0 && entries[i - 1].start < entries[i].start)
			next = i;
	}
}

struct err *symtab_read(struct symtab *symtab, const struct symtab_file *files, size_t nr)
{
	struct err *err = read_table(symtab, &files[0], SHT_DYNSYM);

	for (size_t i = 0; i < nr && !err; i++) {
		if (!files[i].view->elf || !symtab_has_own(files[i].view))
			continue;
		err = read_table(symtab, &files[i], SHT_SYMTAB);
		break;
	}
	if (err)
		return err;
	drop_doubles(symtab);
	vec_sort(&symtab->entries, by_address);
	end_unsized(symtab);
	vec_sort(&symtab->tls, by_address);
	for (size_t i = 0; i < symtab->entries.nr; i++) {
		const struct symtab_entry *entry = &symtab->entries.at[i];

		err = spans_add(entry->sized ? &symtab->sized : &symtab->unsized, entry->start,
				entry->end, (uint32_t)i);
		if (err)
			return err;
	}
	spans_sort(&symtab->sized);
	spans_sort(&symtab->unsized);
	return NULL;
}

void symtab_free(struct symtab *symtab)
{
	vec_free(&symtab->entries);
	vec_free(&symtab->tls);
	spans_free(&symtab->sized);
	spans_free(&symtab->unsized);
	vec_free(&symtab->by_name);
}

const struct symtab_entry *symtab_at(const struct symtab *symtab, uint64_t addr)
{
	/* A label inside of a function is no function. */
	const struct span *span = spans_find(&symtab->sized, addr, NULL);

	if (!span)
		span = spans_find(&symtab->unsized, addr, NULL);
	return span ? &symtab->entries.at[span->value] : NULL;
}

const struct symtab_entry *symtab_tls_at(const struct symtab *symtab, uint64_t offset)
{
	size_t i = symtab->tls.nr;

	while (i > 0 &&
	       (offset < symtab->tls.at[i - 1].start || offset >= symtab->tls.at[i - 1].end))
		i--;
	return i ? &symtab->tls.at[i - 1] : NULL;
}

static struct err *add_name(struct symtab *symtab, const char *text, size_t entry)
{
	struct symtab_name name = { text, (uint32_t)entry };

	return text ? vec_push(&symtab->by_name, name) : err_nomem;
}

/*
 * Add the linkage name and, if it is mangled, the readable forms, unless it is a part of a function
 * (`.cold`), which no user means.
 */
static struct err *add_names(struct symtab *symtab, struct names *names, size_t i)
{
	const struct symtab_entry *entry = &symtab->entries.at[i];
	const char *text = entry->name, *readable, *bare;
	struct err *err;

	if (text[entry->len])
		text = string_pool_keep(names, text, entry->len);
	err = add_name(symtab, text, i);
	if (err || !demangle_is_mangled(text) || strchr(text, '.'))
		return err;
	readable = string_pool_readable(names, text, entry->len, NULL);
	if (readable && !strcmp(readable, text))
		return NULL;
	err = add_name(symtab, readable, i);
	bare = string_pool_bare(names, text);
	if (!err && bare && bare != readable)
		err = add_name(symtab, bare, i);
	return err;
}

/*
 * Sort by text; entries with the same text by what users probably mean: functions, current
 * versions, the lowest address.
 */
static int by_name(const void *a, const void *b, void *ctx)
{
	const struct symtab_name *x = a, *y = b;
	const struct symtab_entry *entries = ctx;
	const struct symtab_entry *ex = &entries[x->entry], *ey = &entries[y->entry];
	int order = strcmp(x->text, y->text);

	if (order)
		return order;
	if (ex->kind != ey->kind)
		return ey->kind - ex->kind;
	if (ex->old != ey->old)
		return ex->old - ey->old;
	if (ex->global != ey->global)
		return ey->global - ex->global;
	return (x->entry > y->entry) - (x->entry < y->entry);
}

static void make_names(struct symtab *symtab, struct names *names)
{
	if (symtab->named)
		return;
	for (size_t i = 0; i < symtab->entries.nr; i++) {
		if (add_names(symtab, names, i)) {
			/* Without memory, no names are better than only some of them. */
			vec_free(&symtab->by_name);
			return;
		}
	}
	if (symtab->by_name.nr)
		qsort_r(symtab->by_name.at, symtab->by_name.nr, sizeof(*symtab->by_name.at),
			by_name, symtab->entries.at);
	symtab->named = true;
}

/* Returns the index of the first name that is not less than text. */
static size_t first_name(const struct symtab *symtab, const char *text)
{
	return LOWER_BOUND(i, 0, symtab->by_name.nr, strcmp(symtab->by_name.at[i].text, text) < 0);
}

const struct symtab_entry *symtab_find(struct symtab *symtab, struct names *names, const char *name)
{
	size_t i;

	make_names(symtab, names);
	i = first_name(symtab, name);
	if (i == symtab->by_name.nr || strcmp(symtab->by_name.at[i].text, name))
		return NULL;
	return &symtab->entries.at[symtab->by_name.at[i].entry];
}

const char *symtab_complete(struct symtab *symtab, struct names *names, const char *prefix,
			    size_t *at)
{
	size_t len = strlen(prefix);

	make_names(symtab, names);
	if (!*at)
		*at = first_name(symtab, prefix);
	while (*at < symtab->by_name.nr &&
	       !strncmp(symtab->by_name.at[*at].text, prefix, len)) {
		const struct symtab_name *name = &symtab->by_name.at[(*at)++];

		if (symtab->entries.at[name->entry].kind == SYMTAB_FUNCTION)
			return name->text;
	}
	return NULL;
}
