/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names for addresses: modules in time.
 *
 *	pc, generation -> module	looked up in spans every time: it is cheap, and later
 *					modules are seen
 *	pc, module -> frames, text	kept (resolved.h), but for JIT code without a name so far,
 *					which may get one
 *	module -> image			one for each file, however often it was mapped
 */

#include "symbol/symbol.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "symbol/image.h"
#include "symbol/perf_map.h"
#include "symbol/resolved.h"
#include "symbol/spans.h"
#include "symbol/string_pool.h"
#include "symbol/symbol_private.h"
#include "symbol/v8_code.h"

#define DEBUG_PATH	"/usr/lib/debug"
#define TOLD_MAX	100		/* there are no more warnings after these */

struct symbols {
	struct debug_search search;
	struct perf_map perf_map;
	struct names names;
	VEC(struct image *) images;
	struct symbols *files;		/* that has the images of files; NULL: these are its own */
	VEC(struct module) modules;
	struct spans spans;		/* of modules */
	bool sorted;
	uint32_t floor;
	struct resolved_cache resolved;
	struct symbol_frame unknown;	/* used if there is no memory for a better answer */
	char unknown_text[20];
	void (*warn)(void *ctx, const char *text);
	void *warn_ctx;
	bool (*v8_name)(void *ctx, uint64_t pc, struct v8_name *ret);
	void *v8_ctx;
	VEC(char *) told;		/* warnings that were given */
};

void symbols_set_warn(struct symbols *symbols, void (*warn)(void *ctx, const char *text), void *ctx)
{
	symbols->warn = warn;
	symbols->warn_ctx = ctx;
}

void symbols_set_v8(struct symbols *symbols,
		    bool (*name)(void *ctx, uint64_t pc, struct v8_name *ret), void *ctx)
{
	symbols->v8_name = name;
	symbols->v8_ctx = ctx;
}

/* A file below two roots, or one with many units, causes the same warning several times. */
static void warn_once(void *ctx, const char *text)
{
	struct symbols *symbols = ctx;
	char *copy;

	for (size_t i = 0; i < symbols->told.nr; i++)
		if (!strcmp(symbols->told.at[i], text))
			return;
	if (!symbols->warn || symbols->told.nr == TOLD_MAX)
		return;
	copy = strdup(text);
	if (!copy || vec_push(&symbols->told, copy))
		free(copy);
	symbols->warn(symbols->warn_ctx, text);
}

static void tell_names(struct symbols *symbols)
{
	struct err *err = string_pool_lack(&symbols->names);

	if (err)
		warn_once(symbols, err->msg);
}

struct err *symbols_create(int target_pid, struct symbols **ret)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));
	char root[32];

	if (!symbols)
		return err_nomem;
	symbols->search.root_fd = -1;
	symbols->search.warn = warn_once;
	symbols->search.warn_ctx = symbols;
	symbols->search.path = strdup(DEBUG_PATH);
	if (!symbols->search.path) {
		free(symbols);
		return err_nomem;
	}
	if (target_pid > 0) {
		snprintf(root, sizeof(root), "/proc/%d/root", target_pid);
		symbols->search.root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	perf_map_init(&symbols->perf_map, target_pid, &symbols->search);
	*ret = symbols;
	return NULL;
}

void symbols_destroy(struct symbols *symbols)
{
	if (!symbols)
		return;
	resolved_free(&symbols->resolved);
	for (size_t i = 0; i < symbols->images.nr; i++)
		image_destroy(symbols->images.at[i]);
	vec_free(&symbols->images);
	vec_free(&symbols->modules);
	spans_free(&symbols->spans);
	perf_map_deinit(&symbols->perf_map);
	for (size_t i = 0; i < symbols->told.nr; i++)
		free(symbols->told.at[i]);
	vec_free(&symbols->told);
	string_pool_free(&symbols->names);
	if (symbols->search.root_fd >= 0)
		close(symbols->search.root_fd);
	free(symbols->search.path);
	free(symbols);
}

struct err *symbols_set_debug_path(struct symbols *symbols, const char *path)
{
	char *copy = strdup(path);

	if (!copy)
		return err_nomem;
	free(symbols->search.path);
	symbols->search.path = copy;
	return NULL;
}

void symbols_share(struct symbols *symbols, struct symbols *files)
{
	if (debug_file_same_root(&symbols->search, &files->search))
		symbols->files = files;
}

bool symbols_has_perf_map(const struct symbols *symbols)
{
	return symbols->perf_map.fd >= 0;
}

void symbols_retry(struct symbols *symbols)
{
	resolved_free(&symbols->resolved);
	for (size_t i = 0; i < symbols->images.nr; i++)
		image_retry(symbols->images.at[i]);
}

struct debug_search *symbols_search(struct symbols *symbols)
{
	return &symbols->search;
}

struct image *symbols_image(const struct symbols *symbols, size_t i, const char **path_ret)
{
	const struct module *module = &symbols->modules.at[i];

	*path_ret = module->path;
	if (module->died != UINT32_MAX)
		return NULL;
	for (size_t j = 0; j < i; j++)
		if (symbols->modules.at[j].image == module->image &&
		    symbols->modules.at[j].died == UINT32_MAX)
			return NULL;
	return module->image;
}

Dwarf *symbols_image_dwarf(const struct symbols *symbols, size_t i, struct symbol_dwarf *ret)
{
	struct image *image = symbols_image(symbols, i, &ret->path);

	ret->bias = 0;
	ret->module = symbols->modules.at[i].start;
	ret->dwarf = image ? image_dwarf(image, &ret->bias) : NULL;
	ret->bias += symbols->modules.at[i].bias;
	return ret->dwarf;
}

size_t symbols_modules(const struct symbols *symbols)
{
	return symbols->modules.nr;
}

const struct module *symbols_module(const struct symbols *symbols, uint32_t number)
{
	return &symbols->modules.at[number];
}

struct resolved_cache *symbols_resolved(struct symbols *symbols)
{
	return &symbols->resolved;
}

struct names *symbols_names(struct symbols *symbols)
{
	return &symbols->names;
}

/* Get the image of a module, an existing one if possible. NULL without an error: it has no file. */
static struct err *image_of(struct symbols *symbols, const struct symbol_module *module,
			    struct image **ret)
{
	struct image *image = NULL;
	struct err *err;

	*ret = NULL;
	if (module->fd >= 0 && symbols->files)
		return image_of(symbols->files, module, ret);
	for (size_t i = 0; module->fd >= 0 && i < symbols->images.nr; i++) {
		if (image_is(symbols->images.at[i], module->fd)) {
			*ret = symbols->images.at[i];
			return NULL;
		}
	}
	err = vec_reserve(&symbols->images, 1);
	if (err)
		return err;
	if (module->fd >= 0)
		err = image_create(module->fd, module->path, &symbols->search, &image);
	else if (module->bytes)
		err = image_create_from_bytes(module->bytes, module->bytes_len, module->path,
					      &symbols->search, &image);
	if (err)
		return err;
	if (image)
		symbols->images.at[symbols->images.nr++] = image;
	*ret = image;
	return NULL;
}

static bool reconcile_same(const struct module *x, const struct module *y)
{
	return x->image == y->image && x->path == y->path && x->start == y->start &&
	       x->end == y->end && x->bias == y->bias && x->build_id == y->build_id;
}

struct err *symbols_add(struct symbols *symbols, const struct symbol_module *module)
{
	const char *name = path_base(module->path);
	uint32_t index = (uint32_t)symbols->modules.nr;
	struct module new = {
		.path = string_pool_keep(&symbols->names, module->path, SIZE_MAX),
		.name = string_pool_keep(&symbols->names, *name ? name : module->path, SIZE_MAX),
		.build_id = module->build_id ?
			string_pool_keep(&symbols->names, module->build_id, SIZE_MAX) : NULL,
		.start = module->start,
		.end = module->end,
		.bias = module->bias,
		.born = module->born,
		.died = module->died,
		.same = index,
	};
	bool kept = new.path && new.name && !new.build_id == !module->build_id;
	struct err *err = kept ? image_of(symbols, module, &new.image) : err_nomem;

	if (!err)
		err = vec_reserve(&symbols->modules, 1);
	if (!err)
		err = spans_add(&symbols->spans, new.start, new.end, index);
	if (err)
		return err;
	for (uint32_t i = index; i-- > 0;)
		if (reconcile_same(&symbols->modules.at[i], &new))
			new.same = symbols->modules.at[i].same;
	symbols->modules.at[symbols->modules.nr++] = new;
	symbols->sorted = false;
	return NULL;
}

void symbols_begin(struct symbols *symbols)
{
	perf_map_begin(&symbols->perf_map);
}

void symbols_floor(struct symbols *symbols, uint32_t generation)
{
	symbols->floor = generation;
}

void symbols_end(struct symbols *symbols, uint64_t start, uint32_t born, uint32_t died)
{
	vec_each(module, &symbols->modules)
		if (module->start == start && module->born == born)
			module->died = died;
}

/*
 * Returns the module at addr in that generation. If there was none and `after` is set, it is the
 * first one that came there later: code runs before mdbg has noticed that it was mapped, so a stack
 * may have an earlier generation. This is not done below the floor: there the map has changed
 * unseen, and the address may have belonged to another module.
 */
static uint32_t module_at(struct symbols *symbols, uint64_t addr, uint32_t generation, bool after)
{
	const struct span *span = NULL;
	uint32_t best = NO_MODULE;

	if (!symbols->sorted)
		spans_sort(&symbols->spans);
	symbols->sorted = true;
	while ((span = spans_find(&symbols->spans, addr, span))) {
		const struct module *module = &symbols->modules.at[span->value];

		if (module->born <= generation && generation < module->died)
			return module->same;
		if (after && generation >= symbols->floor && module->born > generation &&
		    (best == NO_MODULE || module->born < symbols->modules.at[best].born))
			best = span->value;
	}
	return best == NO_MODULE ? NO_MODULE : symbols->modules.at[best].same;
}

/* A question while it is being answered. */
struct query {
	uint64_t pc, addr;		/* addr is the address to look up */
	uint32_t module;
	size_t nr;
	bool open;
	const char *script;		/* that the code was compiled from; NULL: none is known */
	struct symbol_frame frames[SOURCE_FRAMES];
};

static void name_frame(struct symbols *symbols, struct symbol_frame *frame, const char *name,
		       size_t len)
{
	struct shown_name shown;

	if (!string_pool_shown(&symbols->names, name, len, &shown))
		return;
	tell_names(symbols);
	frame->function = shown.full;
	frame->brief = shown.brief;
	frame->linkage = shown.linkage;
	frame->function_bare = shown.full_bare;
	frame->brief_bare = shown.brief_bare;
}

/*
 * Take the names from the debug information. If there is a symbol, the real function gets its name:
 * others call it by that name (malloc, not __libc_malloc), and it gives parts of functions
 * (foo.cold) the right offset.
 */
static void query_image(struct symbols *symbols, struct query *query)
{
	const struct module *module = &symbols->modules.at[query->module];
	uint64_t addr = query->addr - module->bias;
	struct symtab *symtab = image_symtab(module->image);
	struct source *source = image_source(module->image);
	const struct symtab_entry *entry = symtab ? symtab_at(symtab, addr) : NULL;
	struct symbol_frame *real;
	uint64_t start = 0;

	if (source) {
		struct source_frame frames[SOURCE_FRAMES];

		query->nr = source_at(source, addr, frames);
		for (size_t i = 0; i < query->nr; i++) {
			const struct source_frame *from = &frames[i];
			struct symbol_frame *to = &query->frames[i];

			if (from->name)
				name_frame(symbols, to, from->name, SIZE_MAX);
			if (!from->file || !from->line)
				continue;
			to->file = string_pool_keep(&symbols->names, from->file, SIZE_MAX);
			to->line = to->file ? from->line : 0;
		}
		start = frames[query->nr - 1].start;
	}
	real = &query->frames[query->nr - 1];
	if (entry) {
		name_frame(symbols, real, entry->name, entry->len);
		start = entry->start;
	}
	if (real->function)
		real->offset = query->pc - module->bias - start;
}

static void name_code(struct symbols *symbols, struct query *query, const char *name,
		      uint64_t start)
{
	name_frame(symbols, &query->frames[0], name, SIZE_MAX);
	query->frames[0].offset = query->pc - start;
	query->open = false;
}

static void query_v8(struct symbols *symbols, struct query *query)
{
	struct v8_name name;

	if (!symbols->v8_name || query->addr == query->pc ||
	    !symbols->v8_name(symbols->v8_ctx, query->pc, &name))
		return;
	name_code(symbols, query, name.function, name.start);
	if (*name.script)
		query->script = string_pool_keep(&symbols->names, name.script, SIZE_MAX);
}

static void query_perf_map(struct symbols *symbols, struct query *query)
{
	const char *name;
	uint64_t start;

	query->open = true;
	if (perf_map_find(&symbols->perf_map, query->addr, &name, &start))
		name_code(symbols, query, name, start);
	else
		query_v8(symbols, query);
}

/* A function without a name gets its start instead. */
static void query_place(struct symbols *symbols, struct query *query, const struct module *module)
{
	struct symbol_frame *real = &query->frames[query->nr - 1];
	uint64_t at = query->pc - module->bias, start;
	AUTO_STR struct str text = STR_INIT;
	const char *name;
	int len;

	if (module->image &&
	    image_function_start(module->image, query->addr - module->bias, &start)) {
		real->offset = at - start;
		at = start;
	}
	name = symbol_private_bare(module->name, &len);
	/* Without memory there is no place. */
	if (!str_addf(&text, "[%.*s+0x%" PRIx64 "]", len, name, at))
		real->place = string_pool_keep(&symbols->names, text.at, text.len);
}

static void query_run(struct symbols *symbols, struct query *query)
{
	const struct module *module =
		query->module == NO_MODULE ? NULL : &symbols->modules.at[query->module];

	query->nr = 1;
	query->script = NULL;
	memset(query->frames, 0, sizeof(query->frames));
	if (module && module->image && image_usable(module->image)) {
		if (query->addr != query->pc &&
		    !image_ends_in_call(module->image, query->pc - module->bias))
			query->addr = query->pc;
		query_image(symbols, query);
	} else {
		query_perf_map(symbols, query);
	}
	if (module && !query->frames[query->nr - 1].function)
		query_place(symbols, query, module);
	for (size_t i = 0; i < query->nr; i++) {
		struct symbol_frame *frame = &query->frames[i];

		frame->pc = query->pc;
		frame->offset = query->frames[query->nr - 1].offset;
		frame->module = module ? module->name : query->script;
		frame->path = module ? module->path : NULL;
		frame->inlined = i + 1 < query->nr;
	}
	/* Ctrl-C may have interrupted the reading of a file: the next question reads it again. */
	query->open |= cancel_requested();
}

/* Returns NULL if there is no memory. */
static struct resolved *resolve(struct symbols *symbols, uint64_t pc, uint32_t generation,
				bool return_address)
{
	struct query query = { .pc = pc, .addr = pc - (return_address && pc) };
	struct resolved *resolved;

	query.module = module_at(symbols, query.addr, generation, true);
	resolved = resolved_find(&symbols->resolved, pc, query.module, return_address);
	if (resolved)
		return resolved;
	query_run(symbols, &query);
	resolved = resolved_create(pc, query.module, return_address, query.nr, query.frames);
	return resolved ? resolved_add(&symbols->resolved, resolved, !query.open) : NULL;
}

const struct symbol_frame *symbols_resolve(struct symbols *symbols, uint64_t pc,
					   uint32_t generation, bool return_address, size_t *nr_ret)
{
	struct resolved *resolved = resolve(symbols, pc, generation, return_address);

	if (!resolved) {
		symbols->unknown = (struct symbol_frame){ .pc = pc };
		*nr_ret = 1;
		return &symbols->unknown;
	}
	*nr_ret = resolved->nr;
	return resolved->frames;
}

uint32_t symbols_module_number(struct symbols *symbols, uint64_t address, uint32_t generation)
{
	return module_at(symbols, address, generation, true);
}

const struct module *symbols_module_at(struct symbols *symbols, uint64_t address,
				       uint32_t generation)
{
	uint32_t i = symbols_module_number(symbols, address, generation);

	return i == NO_MODULE ? NULL : &symbols->modules.at[i];
}

static struct err *add_text(const struct symbols *symbols, const struct resolved *resolved,
			    enum symbol_names names, struct str *text)
{
	const struct symbol_frame *frame = &resolved->frames[resolved->nr - 1];
	const char *module = frame->module;
	struct err *err;
	int len = 0;

	if (module)
		module = symbol_private_bare(module, &len);
	if (!frame->function && !module)
		return str_addf(text, "0x%016" PRIx64, frame->pc);
	if (!frame->function)
		return str_addf(text, "[%.*s+0x%" PRIx64 "]", len, module,
				frame->pc - symbols->modules.at[resolved->module].bias);
	err = str_add(text, symbol_frame_name(frame, names));
	if (!err && frame->offset)
		err = str_addf(text, "+0x%" PRIx64, frame->offset);
	if (!err && frame->line)
		err = str_addf(text, " (%s:%d)", path_source(frame->file), frame->line);
	else if (!err && module)
		err = str_addf(text, " [%.*s]", len, module);
	return err;
}

const char *symbols_text(struct symbols *symbols, uint64_t pc, uint32_t generation,
			 bool return_address, enum symbol_names names)
{
	struct resolved *resolved = resolve(symbols, pc, generation, return_address);
	struct str text AUTO_STR = STR_INIT;

	if (resolved && resolved->text[names])
		return resolved->text[names];
	if (!resolved || add_text(symbols, resolved, names, &text)) {
		snprintf(symbols->unknown_text, sizeof(symbols->unknown_text), "0x%016" PRIx64, pc);
		return symbols->unknown_text;
	}
	return resolved_add_text(&symbols->resolved, resolved, names, take(text.at));
}

struct err *symbols_find(struct symbols *symbols, const char *name, uint64_t *addr_ret,
			 uint64_t *size_ret)
{
	const char *quote = strchr(name, '`');
	const char *symbol = quote ? quote + 1 : name;
	const struct symtab_entry *best = NULL;
	uint64_t bias = 0;

	vec_each(module, &symbols->modules) {
		const struct symtab_entry *entry;
		struct symtab *symtab;

		if (module->died != UINT32_MAX || !module->image ||
		    (quote && !symbol_private_named(module, name, (size_t)(quote - name))))
			continue;
		symtab = image_symtab(module->image);
		entry = symtab ? symtab_find(symtab, &symbols->names, symbol) : NULL;
		if (!entry || (best && best->kind >= entry->kind))
			continue;
		best = entry;
		bias = module->bias;
	}
	tell_names(symbols);
	if (!best)
		return err_create(ERR_NOTFOUND, "no symbol %s", name);
	*addr_ret = best->start + bias;
	*size_ret = best->end - best->start;
	return NULL;
}
