/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a user may type as a FILTER, as words separated by NUL; and numbers, sizes, times. */

#include <stdlib.h>
#include <string.h>

#include "heap/filter.h"

#define WORDS_MAX	32

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static bool match(void *ctx, uint32_t stack, enum filter_attr attr, const char *glob)
{
	(void)ctx;
	(void)attr;
	return stack % 2 == strlen(glob) % 2;
}

static void use(struct filter *filter, const struct filter_order *order)
{
	static const struct block some[] = {
		{ .address = 0x1000, .size = 16, .time = 3, .thread = 1, .stack = 1 },
		{ .address = 0x2000, .size = 4096, .time = 2, .thread = 1, .stack = 2, .heap = LOG_HEAP_MMAP },
		{ .address = 0x3000, .size = 0, .preattach = true, .heap = LOG_HEAP_UNKNOWN },
	};
	static uint8_t *region;
	static struct log log;
	const struct log_config config = { .region_size = LOG_REGION_MIN, .stack_depth = 32 };
	static const pid_t pids[LOG_PROCESSES] = { 42 };
	struct filter_env env = {
		.log = &log,
		.pids = pids,
		.now_ns = 1000000000000,
		.stack_matches = match,
	};
	struct blocks blocks = BLOCKS_INIT;
	size_t i;

	if (!region) {
		region = calloc(1, LOG_REGION_MIN);
		if (!region || log_format(region, &config, &log))
			abort();
	}
	for (i = 0; i < ARRAY_SIZE(some); i++)
		if (vec_push(&blocks.vec, some[i]))
			abort();
	err_ignore(filter_apply(filter, order, &env, &blocks));
	if (blocks.vec.nr > ARRAY_SIZE(some) || blocks.vec.nr > order->limit)
		abort();
	blocks_free(&blocks);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const char *words[WORDS_MAX + 1] = { NULL };
	struct filter_order order;
	struct filter filter;
	int nr = 0, used;
	uint64_t number;
	char *text = malloc(len + 1), *at;

	if (!text)
		return 0;
	memcpy(text, bytes, len);
	text[len] = '\0';
	for (at = text; at < text + len && nr < WORDS_MAX; at += strlen(at) + 1)
		words[nr++] = at;
	for (int i = 0; i < nr; i++) {
		err_ignore(parse_size(words[i], &number));
		err_ignore(parse_duration(words[i], &number));
		err_ignore(parse_time(words[i], &number));
		err_ignore(parse_number(words[i], &number));
	}
	if (!filter_parse(nr, words, UINT32_MAX, &filter, &order, NULL)) {
		use(&filter, &order);
		filter_free(&filter);
	}
	if (!filter_parse(nr, words, 1 << FILTER_SIZE | 1 << FILTER_AGE, &filter, &order, &used)) {
		if (used < 0 || used > nr)
			abort();
		filter_free(&filter);
	}
	free(text);
	return 0;
}
