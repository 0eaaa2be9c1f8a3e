/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model that is made by hand. */

#include "model.h"

#include <stdlib.h>
#include <string.h>

const char model_hostile[] = "<b a=\"1\">&'x';y,\n\x1b[2J\xff|z";

enum { ENTRY, HOSTILE, F_CALLED, F_CALLS, LONG, MAIN, EARLY, LOCATIONS };

const char *model_long(void)
{
	static char name[MODEL_LONG + 1];

	memset(name, 'x', MODEL_LONG);
	return name;
}

/* Suites begin with it, where there is no test that could fail. */
static void check(const struct err *err)
{
	if (err)
		abort();
}

static void add_location(struct model *model, uint64_t pc, uint32_t module,
			 const struct model_frame *frame)
{
	struct model_location location = {
		.pc = pc, .code = pc - (pc > 0x1000), .offset = module ? 0 : pc - 0x1000,
		.module = module, .first = (uint32_t)model->frames.nr, .nr = 1,
		.entry = pc == 0x1000,
	};

	check(vec_push(&model->frames, *frame));
	check(vec_push(&model->locations, location));
}

static void add_locations(struct model *model)
{
	static const char f[] = "f", file[] = "/src/f.c";

	add_location(model, 0x1000, 0, &(struct model_frame){ .name = "malloc", .full = "malloc" });
	add_location(model, 0x1010, 0, &(struct model_frame){ .name = model_hostile,
							       .full = model_hostile });
	add_location(model, 0x1020, 0, &(struct model_frame){ .name = f, .full = "f(int)",
				   .linkage = "_Z1fi", .file = file, .line = 5 });
	add_location(model, 0x1030, 0, &(struct model_frame){ .name = f, .full = "f(int)",
				   .linkage = "_Z1fi", .file = file, .line = 7 });
	add_location(model, 0x1040, 0, &(struct model_frame){ .name = model_long() });
	add_location(model, 0x1050, 0, &(struct model_frame){ .name = "main", .full = "main",
							       .file = file, .line = 9 });
	add_location(model, 0, MODEL_NO_MODULE,
		     &(struct model_frame){ .name = "(allocated before attach)" });
	model->early_frame = EARLY;
	model->unit = "blocks";
}

static void add_site(struct model *model, const struct site *figures, enum model_part part,
		     const uint32_t *path, uint32_t nr)
{
	struct model_site site = { .figures = *figures, .part = part,
				   .first = (uint32_t)model->path.nr, .nr = nr };

	for (uint32_t i = 0; i < nr; i++)
		check(vec_push(&model->path, path[i]));
	check(vec_push(&model->sites, site));
	model->bytes += figures->bytes;
	model->count += figures->count;
	model->held += part != MODEL_FREED;
}

static void add_sites(struct model *model)
{
	add_site(model, &(struct site){ .stack = 1, .bytes = 30, .count = 2, .total = 5,
		 .total_bytes = 100, .freed = 3, .freed_bytes = 70, .oldest = 2000000000,
		 .median = 1500000000, .growth = -4, .rate = -2 }, MODEL_RECORDED,
		 (const uint32_t[]){ ENTRY, HOSTILE, MAIN }, 3);
	add_site(model, &(struct site){ .stack = 2, .bytes = 20, .count = 1, .total = 1,
		 .total_bytes = 20, .oldest = 1000000000, .median = 1000000000 }, MODEL_RECORDED,
		 (const uint32_t[]){ ENTRY, F_CALLED, F_CALLS, MAIN }, 4);
	add_site(model, &(struct site){ .stack = 3, .bytes = 10, .count = 1, .total = 1,
		 .total_bytes = 10 }, MODEL_RECORDED, (const uint32_t[]){ ENTRY, LONG, MAIN }, 3);
	model->sites.at[2].end = "no unwind information";
	model->all_bytes = model->bytes;
	model->all_count = model->count;
	add_site(model, &(struct site){ .bytes = 7, .count = 1 }, MODEL_EARLY,
		 (const uint32_t[]){ EARLY }, 1);
	add_site(model, &(struct site){ .stack = 4, .total = 3, .total_bytes = 50, .freed = 3,
		 .freed_bytes = 50 }, MODEL_FREED, (const uint32_t[]){ ENTRY, F_CALLED, MAIN }, 3);
	model->early_bytes = 7;
	model->early_count = 1;
}

void model_make(struct model *model)
{
	struct model_module module = { .path = "/usr/bin/prog", .build_id = strdup("0123ab"),
				       .start = 0x1000, .end = 0x2000, .bias = 0x1000 };

	*model = (struct model){ .now_ns = 5000000000, .since_ns = 1000000000, .pid = 42,
				 .growth_ns = 2000000000, .allocator = "glibc" };
	model->command = strdup("prog -x \x1b[2J");
	model->options = strdup("sort bytes");
	if (!module.build_id || !model->command || !model->options)
		abort();
	check(vec_push(&model->modules, module));
	add_locations(model);
	add_sites(model);
}
