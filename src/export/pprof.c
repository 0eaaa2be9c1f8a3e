/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * export pprof: profile.proto, gzipped, as `go tool pprof`, Pyroscope, Parca and others read it.
 *
 * Each site is a sample, also one that holds nothing now, because it has alloc_space and
 * alloc_objects. All names are in the profile, so that readers do not need the target's files. The
 * format asks for addresses inside of the calls, which are one less than the return addresses.
 */

#include "export/export_file.h"
#include "export/format_list.h"

#ifdef HAVE_PROTOBUF_C
#include <inttypes.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "export/drop_frames.h"
#include "export/model.h"
#include "export/text.h"
#include "heap/interner.h"
#include "profile.pb-c.h"

#define pb(name)	Perftools__Profiles__##name
#define PACKED_ROOM	(64u << 10)

/* In the order of a sample's values. Of an earlier moment only those before PAST are known. */
enum value { INUSE_SPACE, INUSE_OBJECTS, PAST, ALLOC_SPACE = PAST, ALLOC_OBJECTS, VALUES };

static const struct {
	const char *type, *unit;
} values[VALUES] = {
	[INUSE_SPACE]	= { "inuse_space", "bytes" },
	[INUSE_OBJECTS]	= { "inuse_objects", "count" },
	[ALLOC_SPACE]	= { "alloc_space", "bytes" },
	[ALLOC_OBJECTS]	= { "alloc_objects", "count" },
};

/* Of free memory that blocks keep, and of memory beside malloc, in their place. */
static const char *const pinned[PAST] = {
	[INUSE_SPACE]	= "pinned_space",
	[INUSE_OBJECTS]	= "pinned_pages",
};
static const char *const growth[PAST] = {
	[INUSE_SPACE]	= "growth_space",
	[INUSE_OBJECTS]	= "growth_objects",
};

static unsigned values_of(const struct model *model)
{
	return model->past ? PAST : VALUES;
}

/* The strings of a profile, by number; the first is empty. */
struct strings {
	struct interner pointers;	/* of texts, most of which there is one copy of */
	VEC(uint32_t) numbers;		/* by number of a pointer */
	VEC(char *) texts;
	struct str clean;
};

static void strings_free(struct strings *strings)
{
	interner_free(&strings->pointers);
	vec_free(&strings->numbers);
	vec_each_value(text, &strings->texts)
		free(text);
	vec_free(&strings->texts);
	str_free(&strings->clean);
}

static struct err *add_string(struct strings *strings, const char *text, int64_t *ret)
{
	char *copy;
	struct err *err = text_clean(&strings->clean, text);

	if (err)
		return err;
	copy = strdup(str_text(&strings->clean));
	err = copy ? vec_push(&strings->texts, copy) : err_nomem;
	if (err)
		free(copy);
	else
		*ret = (int64_t)strings->texts.nr - 1;
	return err;
}

/* Returns the number of a text, which must live until the profile is written. NULL is "", 0. */
static struct err *string_of(struct strings *strings, const char *text, int64_t *ret)
{
	uint32_t pointer;
	struct err *err;
	int64_t number = 0;

	*ret = 0;
	if (!text || !*text)
		return NULL;
	err = interner_number(&strings->pointers, (uintptr_t)text, &pointer);
	if (!err && pointer == strings->numbers.nr) {
		err = add_string(strings, text, &number);
		if (!err)
			err = vec_push(&strings->numbers, (uint32_t)number);
	}
	if (!err)
		*ret = strings->numbers.at[pointer];
	return err;
}

/*
 * A profile and its parts. In protobuf-c a message has an array of pointers to other messages. So
 * each kind of part has the messages and such an array.
 */
#define LIST_OF(type)	struct { type *at; type **pointers; size_t nr; }

struct profile {
	const struct model *model;
	struct strings strings;
	struct interner function_keys;		/* name and file */
	VEC(pb(Function)) functions;
	pb(Function) **function_pointers;
	LIST_OF(pb(Mapping)) mappings;
	LIST_OF(pb(Location)) locations;
	LIST_OF(pb(Line)) lines;
	LIST_OF(pb(Sample)) samples;
	pb(ValueType) types[VALUES], period_type;
	pb(ValueType) *type_pointers[VALUES];
	uint64_t *path;				/* the samples' locations */
	int64_t *value;				/* the samples' values */
	int64_t comment[3];
	pb(Profile) whole;
};

#define MAKE_LIST(list, n) \
	({ size_t make_nr = (n); \
	   (list)->at = calloc(make_nr + 1, sizeof(*(list)->at)); \
	   (list)->pointers = calloc(make_nr + 1, sizeof(*(list)->pointers)); \
	   (list)->nr = make_nr; \
	   for (size_t make_i = 0; (list)->at && (list)->pointers && make_i < make_nr; make_i++) \
		   (list)->pointers[make_i] = &(list)->at[make_i]; \
	   (list)->at && (list)->pointers ? NULL : err_nomem; })
#define FREE_LIST(list)	(free((list)->at), free((list)->pointers))

static void profile_free(struct profile *profile)
{
	strings_free(&profile->strings);
	interner_free(&profile->function_keys);
	vec_free(&profile->functions);
	free(profile->function_pointers);
	FREE_LIST(&profile->mappings);
	FREE_LIST(&profile->locations);
	FREE_LIST(&profile->lines);
	FREE_LIST(&profile->samples);
	free(profile->path);
	free(profile->value);
}

/* Mappings have numbers from 1 on. The first is the program's, because readers expect that. */
static uint64_t mapping_id(const struct model *model, uint32_t module)
{
	if (module == MODEL_NO_MODULE)
		return 0;
	if (model->program == MODEL_NO_MODULE || module > model->program)
		return module + 1;
	return module == model->program ? 1 : module + 2;
}

static struct err *make_mappings(struct profile *profile)
{
	const struct model *model = profile->model;
	struct err *err = MAKE_LIST(&profile->mappings, model->modules.nr);

	for (uint32_t i = 0; !err && i < model->modules.nr; i++) {
		const struct model_module *module = &model->modules.at[i];
		uint64_t id = mapping_id(model, i);
		pb(Mapping) *mapping = &profile->mappings.at[id - 1];

		perftools__profiles__mapping__init(mapping);
		mapping->id = id;
		mapping->memory_start = module->start;
		mapping->memory_limit = module->end;
		/* Nobody needs to look for names in the files. */
		mapping->has_functions = mapping->has_filenames = true;
		mapping->has_line_numbers = mapping->has_inline_frames = true;
		err = string_of(&profile->strings, module->path, &mapping->filename);
		if (!err)
			err = string_of(&profile->strings, module->build_id, &mapping->build_id);
	}
	return err;
}

/*
 * Returns the name of a function in the symbol table, or NULL if it is the shown name: readers that
 * find both names equal think that they must demangle, and go's then removes template arguments.
 */
static const char *system_name(const struct model_frame *frame)
{
	if (frame->linkage)
		return frame->linkage;
	return frame->full && strcmp(frame->full, frame->name) ? frame->full : NULL;
}

static struct err *function_of(struct profile *profile, const struct model_frame *frame,
			       uint64_t *ret)
{
	pb(Function) function = PERFTOOLS__PROFILES__FUNCTION__INIT;
	uint32_t number;
	struct err *err = string_of(&profile->strings, frame->name, &function.name);

	if (!err)
		err = string_of(&profile->strings, frame->file, &function.filename);
	if (!err)
		err = string_of(&profile->strings, system_name(frame), &function.system_name);
	if (!err)
		err = interner_number(&profile->function_keys, (uint64_t)function.name << 32 |
				      (uint64_t)function.filename, &number);
	if (err)
		return err;
	*ret = function.id = (uint64_t)number + 1;
	return number == profile->functions.nr ? vec_push(&profile->functions, function) : NULL;
}

static struct err *make_line(struct profile *profile, uint32_t number)
{
	const struct model_frame *frame = &profile->model->frames.at[number];
	pb(Line) *line = &profile->lines.at[number];

	perftools__profiles__line__init(line);
	line->line = frame->line;
	return function_of(profile, frame, &line->function_id);
}

static struct err *make_locations(struct profile *profile)
{
	const struct model *model = profile->model;
	struct err *err = MAKE_LIST(&profile->locations, model->locations.nr);

	if (!err)
		err = MAKE_LIST(&profile->lines, model->frames.nr);
	for (uint32_t i = 0; !err && i < model->frames.nr; i++)
		err = make_line(profile, i);
	for (size_t i = 0; !err && i < model->locations.nr; i++) {
		const struct model_location *from = &model->locations.at[i];
		pb(Location) *location = &profile->locations.at[i];

		perftools__profiles__location__init(location);
		location->id = i + 1;
		location->mapping_id = mapping_id(model, from->module);
		location->address = from->code;
		location->line = &profile->lines.pointers[from->first];
		location->n_line = from->nr;
	}
	return err;
}

static struct err *make_samples(struct profile *profile)
{
	const struct model *model = profile->model;
	struct err *err = MAKE_LIST(&profile->samples, model->sites.nr);

	profile->path = calloc(model->path.nr + 1, sizeof(*profile->path));
	profile->value = calloc(model->sites.nr + 1, VALUES * sizeof(*profile->value));
	if (err || !profile->path || !profile->value)
		return err_nomem;
	for (size_t i = 0; i < model->path.nr; i++)
		profile->path[i] = (uint64_t)model->path.at[i] + 1;
	for (size_t i = 0; i < model->sites.nr; i++) {
		const struct model_site *site = &model->sites.at[i];
		bool early = site->part == MODEL_EARLY;
		int64_t *value = &profile->value[i * VALUES];
		pb(Sample) *sample = &profile->samples.at[i];

		perftools__profiles__sample__init(sample);
		sample->location_id = &profile->path[site->first];
		sample->n_location_id = site->nr;
		sample->value = value;
		sample->n_value = values_of(model);
		value[INUSE_SPACE] = (int64_t)site->figures.bytes;
		value[INUSE_OBJECTS] = (int64_t)site->figures.count;
		value[ALLOC_SPACE] = (int64_t)(early ? site->figures.bytes :
					       site->figures.total_bytes);
		value[ALLOC_OBJECTS] = (int64_t)(early ? site->figures.count : site->figures.total);
	}
	return NULL;
}

static const char *type_name(const struct model *model, unsigned i)
{
	if (i >= PAST || !strcmp(model->unit, "blocks"))
		return values[i].type;
	return model->pinned ? pinned[i] : growth[i];
}

static struct err *make_types(struct profile *profile)
{
	struct err *err = NULL;

	for (unsigned i = 0; !err && i < values_of(profile->model); i++) {
		perftools__profiles__value_type__init(&profile->types[i]);
		profile->type_pointers[i] = &profile->types[i];
		err = string_of(&profile->strings, type_name(profile->model, i),
				&profile->types[i].type);
		if (!err)
			err = string_of(&profile->strings, values[i].unit, &profile->types[i].unit);
	}
	perftools__profiles__value_type__init(&profile->period_type);
	if (!err)
		err = string_of(&profile->strings, "space", &profile->period_type.type);
	return err ? err : string_of(&profile->strings, "bytes", &profile->period_type.unit);
}

static struct err *make_comments(struct profile *profile)
{
	const struct model *model = profile->model;
	pb(Profile) *whole = &profile->whole;
	char text[128];
	struct err *err = add_string(&profile->strings, "made by mdbg",
				     &profile->comment[whole->n_comment++]);

	if (!err && *model->command)
		err = add_string(&profile->strings, model->command,
				 &profile->comment[whole->n_comment++]);
	if (err || !model->sample)
		return err;
	snprintf(text, sizeof(text), "sampled (one in %" PRIu64 " bytes): all figures are estimates",
		 model->sample);
	return add_string(&profile->strings, text, &profile->comment[whole->n_comment++]);
}

/* Readers leave out what lies between the allocator and the frame that a site is named after. */
static struct err *make_drop(struct profile *profile)
{
	AUTO_STR struct str text = STR_INIT;
	struct err *err = drop_frames_add(profile->model, &text);

	return err || !text.len ? err : add_string(&profile->strings, str_text(&text),
						   &profile->whole.drop_frames);
}

static struct err *make_parts(struct profile *profile)
{
	int64_t none;
	struct err *err = add_string(&profile->strings, "", &none);

	if (!err)
		err = make_types(profile);
	if (!err)
		err = make_mappings(profile);
	if (!err)
		err = make_locations(profile);
	if (!err)
		err = make_samples(profile);
	if (!err)
		err = make_comments(profile);
	if (!err)
		err = make_drop(profile);
	if (err)
		return err;
	profile->function_pointers = calloc(profile->functions.nr + 1,
					    sizeof(*profile->function_pointers));
	if (!profile->function_pointers)
		return err_nomem;
	for (size_t i = 0; i < profile->functions.nr; i++)
		profile->function_pointers[i] = &profile->functions.at[i];
	return NULL;
}

static struct err *make_whole(struct profile *profile)
{
	const struct model *model = profile->model;
	pb(Profile) *whole = &profile->whole;
	struct err *err;

	perftools__profiles__profile__init(whole);
	err = make_parts(profile);
	whole->sample_type = profile->type_pointers;
	whole->n_sample_type = values_of(model);
	whole->default_sample_type =
		profile->types[model->all_time && !model->past ? ALLOC_SPACE : INUSE_SPACE].type;
	whole->sample = profile->samples.pointers;
	whole->n_sample = profile->samples.nr;
	whole->mapping = profile->mappings.pointers;
	whole->n_mapping = profile->mappings.nr;
	whole->location = profile->locations.pointers;
	whole->n_location = profile->locations.nr;
	whole->function = profile->function_pointers;
	whole->n_function = profile->functions.nr;
	whole->string_table = profile->strings.texts.at;
	whole->n_string_table = profile->strings.texts.nr;
	whole->comment = profile->comment;
	whole->time_nanos = (int64_t)model->now_ns;
	whole->duration_nanos = (int64_t)(model->changes ? model->growth_ns : model->now_ns -
					  MIN(model->now_ns, model->since_ns));
	whole->period_type = &profile->period_type;
	whole->period = model->sample ? (int64_t)model->sample : 1;
	return err;
}

/* protobuf-c writes the profile into this buffer, which passes it on to zlib and to the file. */
struct packer {
	ProtobufCBuffer base;		/* first: it is what protobuf-c has */
	z_stream zlib;
	struct export_file *file;
	uint8_t *packed;		/* PACKED_ROOM bytes */
};

static void pack(struct packer *packer, const uint8_t *bytes, size_t len, int flush)
{
	int code;

	packer->zlib.next_in = (Bytef *)bytes;
	packer->zlib.avail_in = (uInt)len;
	do {
		packer->zlib.next_out = packer->packed;
		packer->zlib.avail_out = PACKED_ROOM;
		code = deflate(&packer->zlib, flush);
		export_file_bytes(packer->file, packer->packed,
				  PACKED_ROOM - packer->zlib.avail_out);
	} while (code == Z_OK && !packer->zlib.avail_out);
}

static void append(ProtobufCBuffer *buffer, size_t len, const uint8_t *bytes)
{
	pack((struct packer *)buffer, bytes, len, Z_NO_FLUSH);
}

static struct err *write_packed(const pb(Profile) *whole, struct export_file *file)
{
	AUTO_FREE uint8_t *packed = malloc(PACKED_ROOM);
	struct packer packer = { .base = { append }, .file = file, .packed = packed };

	/* 16: with gzip's head and sums. */
	if (!packed || deflateInit2(&packer.zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16,
				    8, Z_DEFAULT_STRATEGY) != Z_OK)
		return err_nomem;
	perftools__profiles__profile__pack_to_buffer(whole, &packer.base);
	pack(&packer, NULL, 0, Z_FINISH);
	deflateEnd(&packer.zlib);
	return export_file_check(file);
}

static struct err *write_pprof(const struct model *model, struct export_file *file)
{
	struct profile profile CLEANUP(profile_free) = { .model = model };
	struct err *err = make_whole(&profile);

	return err ? err : write_packed(&profile.whole, file);
}
#endif

const struct export_format export_pprof = {
	.name	= "pprof",
	.brief	= "a gzipped profile.proto, for `go tool pprof`, Pyroscope and Parca",
	.wants	= EXPORT_FREED | EXPORT_PINS | EXPORT_CHANGES | EXPORT_GROWTH,
#ifdef HAVE_PROTOBUF_C
	.write	= write_pprof,
#else
	.library = "protobuf-c",
	.package = "libprotobuf-c-dev, protobuf-c-compiler and golang-github-google-pprof-dev",
#endif
};
