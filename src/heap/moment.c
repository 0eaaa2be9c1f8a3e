/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Takes, packs and unpacks the sums of live blocks of a moment. */

#include "heap/moment.h"

#include "base/cleanup.h"

#define NUMBER_MOST	10u	/* bytes of a packed number of 64 bits */
#define SUM_MOST	(3 * NUMBER_MOST)

struct err *moment_take(const struct live_counts *live, uint64_t time_ns, struct moment *ret)
{
	struct moment moment = { .time_ns = time_ns, .vec = VEC_INIT };
	struct err *err = NULL;

	for (size_t i = 0; i < live->nr && !err; i++) {
		const struct sample_share *sum = &live->at[i];

		if (sum->blocks)
			err = vec_push(&moment.vec, ((struct moment_sum){ (uint32_t)i, sum->bytes,
									  sum->blocks }));
	}
	if (err)
		moment_free(&moment);
	else
		*ret = moment;
	return err;
}

struct counting {
	const struct log *log;
	const bool *end;		/* NULL: never */
	uint64_t mean;
	struct live_counts live;
};

static struct err *count(const struct block *block, uint64_t slot UNUSED, void *ctx)
{
	struct counting *counting = ctx;

	if (UNLIKELY(counting->end) && __atomic_load_n(counting->end, __ATOMIC_RELAXED))
		return err_create(ERR_CANCELLED, "the scan was ended");
	return live_counts_meet(counting->log, &counting->live, counting->mean, block);
}

struct err *moment_from_log(const struct log *log, const struct in_hand *in_hand, uint64_t time_ns,
			    struct moment *ret)
{
	return moment_from_log_until(log, in_hand, time_ns, NULL, ret);
}

struct err *moment_from_log_until(const struct log *log, const struct in_hand *in_hand,
				  uint64_t time_ns, const bool *end, struct moment *ret)
{
	struct counting counting = { .log = log, .end = end, .mean = log_config(log).sample };
	struct log_older older = log_older(log);
	struct err *err = block_live_counts_init(log, &counting.live);

	if (!err)
		err = blocks_each(log, in_hand, count, &counting);
	if (!err)
		err = moment_take(&counting.live, time_ns, ret);
	if (!err)
		ret->older = older;
	vec_free(&counting.live);
	return err;
}

void moment_free(struct moment *moment)
{
	vec_free(&moment->vec);
}

struct sample_share moment_total(const struct moment *moment)
{
	struct sample_share total = { 0, 0 };

	vec_each(sum, &moment->vec) {
		total.bytes += sum->bytes;
		total.blocks += sum->count;
	}
	return total;
}

static uint8_t *put_number(uint8_t *at, uint64_t number)
{
	for (; number > 127; number >>= 7)
		*at++ = (uint8_t)(number | 128);
	*at++ = (uint8_t)number;
	return at;
}

static const uint8_t *get_number(const uint8_t *at, uint64_t *ret)
{
	unsigned shift = 0;

	*ret = 0;
	do {
		*ret |= (uint64_t)(*at & 127) << shift;
		shift += 7;
	} while (*at++ & 128);
	return at;
}

/* Most sums take a quarter of SUM_MOST, so the result is copied to memory of its own size. */
struct err *moment_pack(const struct moment *moment, struct packed_moment *ret)
{
	AUTO_FREE uint8_t *bytes = malloc(moment->vec.nr * SUM_MOST + 1);
	uint8_t *at = bytes, *fitting;
	uint32_t stack = 0;

	if (!bytes)
		return err_nomem;
	vec_each(sum, &moment->vec) {
		at = put_number(at, sum->stack - stack);
		at = put_number(at, sum->bytes);
		at = put_number(at, sum->count);
		stack = sum->stack;
	}
	*ret = (struct packed_moment){ NULL, (size_t)(at - bytes), moment->older };
	if (!ret->len)
		return NULL;
	fitting = malloc(ret->len);
	if (!fitting)
		return err_nomem;
	ret->at = memcpy(fitting, bytes, ret->len);
	return NULL;
}

struct err *moment_unpack(const struct packed_moment *packed, uint64_t time_ns, struct moment *ret)
{
	const uint8_t *at = packed->at, *end = packed->len ? at + packed->len : at;
	struct moment moment = { time_ns, VEC_INIT, packed->older };
	struct err *err = NULL;
	uint32_t stack = 0;

	while (at != end && !err) {
		struct moment_sum sum;
		uint64_t behind;

		at = get_number(at, &behind);
		at = get_number(at, &sum.bytes);
		at = get_number(at, &sum.count);
		sum.stack = stack += (uint32_t)behind;
		err = vec_push(&moment.vec, sum);
	}
	if (err)
		moment_free(&moment);
	else
		*ret = moment;
	return err;
}

void moment_free_packed(struct packed_moment *packed)
{
	free(packed->at);
	*packed = (struct packed_moment){ .at = NULL };
}
