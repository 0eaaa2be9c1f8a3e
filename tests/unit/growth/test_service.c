/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The processes of a service: growth, those that come and go, and who is not as the others. */

#include "growth/service.h"

#include "unit.h"

#define SECOND	1000000000ull
#define MB	(1ull << 20)

static void add(struct service *service, pid_t pid, uint64_t start, uint64_t bytes)
{
	struct service_member member = {
		.pid = pid, .start_time = start, .resident = bytes + 4 * MB, .private = bytes,
		.size = bytes,
	};

	CU_ASSERT_PTR_NULL_FATAL(vec_push(&service->vec, member));
}

/* Twenty that hold 10 MB and up to 200 KB more or less. */
static struct service twenty(uint64_t time)
{
	struct service service = { .vec = VEC_INIT, .private = true, .time_ns = time };

	for (unsigned i = 0; i < 20; i++)
		add(&service, (pid_t)(100 + i), 1, 10 * MB + (uint64_t)(i % 5) * (50 << 10));
	return service;
}

static void end(struct service *before, struct service *now)
{
	vec_free(&before->vec);
	vec_free(&now->vec);
}

/* Nobody is one where they are as they are; one that holds much is, and one that holds little is not. */
TEST("by size")
{
	struct service is = twenty(SECOND), none = { .vec = VEC_INIT };

	CU_ASSERT_PTR_NULL(service_compare(NULL, &is));
	CU_ASSERT_PTR_NULL(is.outlier);
	CU_ASSERT(is.median >= 10 * MB && is.median < 11 * MB);
	CU_ASSERT(!is.came && !is.gone && !is.interval_ns);
	is.vec.at[3].size = MB;
	is.vec.at[7].size = 14 * MB;
	CU_ASSERT_PTR_NULL(service_compare(NULL, &is));
	CU_ASSERT_PTR_EQUAL(is.outlier, &is.vec.at[7]);
	CU_ASSERT(!is.grows && is.outliers == 1);
	end(&is, &none);
}

/* A third of them that are larger change neither the median nor what is usual. */
TEST("several")
{
	struct service is = twenty(SECOND), none = { .vec = VEC_INIT };

	for (unsigned i = 0; i < 6; i++)
		is.vec.at[3 * i].size = (20 + i) * MB;
	CU_ASSERT_PTR_NULL(service_compare(NULL, &is));
	CU_ASSERT_PTR_EQUAL(is.outlier, &is.vec.at[15]);
	CU_ASSERT_EQUAL(is.outliers, 6);
	end(&is, &none);
}

/* Who grows goes before who is large. */
TEST("by growth")
{
	struct service before = twenty(SECOND), now = twenty(3 * SECOND);

	before.vec.at[2].private = before.vec.at[2].size = 40 * MB;
	now.vec.at[2].private = now.vec.at[2].size = 40 * MB;
	now.vec.at[11].private += MB;
	now.vec.at[11].size += MB;
	now.vec.at[12].private += 8 << 10;
	CU_ASSERT_PTR_NULL(service_compare(&before, &now));
	CU_ASSERT_PTR_EQUAL(now.outlier, &now.vec.at[11]);
	CU_ASSERT(now.grows && now.outliers == 1);
	CU_ASSERT(now.vec.at[11].growth == (int64_t)MB && !now.median_growth);
	CU_ASSERT_EQUAL(now.growth, (int64_t)MB + (8 << 10));
	CU_ASSERT_EQUAL(now.interval_ns, 2 * SECOND);
	end(&before, &now);
}

/* All grow alike, as when the load comes: none is one. */
TEST("all grow")
{
	struct service before = twenty(SECOND), now = twenty(2 * SECOND);

	vec_each(member, &now.vec) {
		member->private += 3 * MB;
		member->size += 3 * MB;
	}
	CU_ASSERT_PTR_NULL(service_compare(&before, &now));
	CU_ASSERT_PTR_NULL(now.outlier);
	CU_ASSERT_EQUAL(now.growth, 60 * (int64_t)MB);
	end(&before, &now);
}

/* What came and went adds up with the growth of the others; an id that is taken anew is another. */
TEST("come and go")
{
	struct service before = twenty(SECOND), now = { .vec = VEC_INIT, .private = true };
	uint64_t from = 0, to = 0;

	for (unsigned i = 0; i < 18; i++)	/* 100, 101 went; 105 is another one */
		add(&now, (pid_t)(102 + i), i == 3 ? 2 : 1, 11 * MB);
	add(&now, 200, 9, 5 * MB);
	CU_ASSERT_PTR_NULL(service_compare(&before, &now));
	CU_ASSERT(now.came == 2 && now.came_bytes == 16 * MB && now.gone == 3);
	CU_ASSERT_FALSE(now.vec.at[3].stayed);
	CU_ASSERT_TRUE(now.vec.at[4].stayed);
	vec_each(member, &before.vec)
		from += member->private;
	vec_each(member, &now.vec)
		to += member->private;
	CU_ASSERT_EQUAL((int64_t)(to - from), now.growth + (int64_t)now.came_bytes -
			(int64_t)now.gone_bytes);
	end(&before, &now);
}

/* Two cannot be told apart. If some could be read before and may not be now, resident memory counts. */
TEST("few, unread")
{
	struct service before = twenty(SECOND), now = twenty(2 * SECOND), two = { .vec = VEC_INIT };

	add(&two, 1, 1, MB);
	add(&two, 2, 1, 900 * MB);
	CU_ASSERT_PTR_NULL(service_compare(NULL, &two));
	CU_ASSERT_PTR_NULL(two.outlier);
	now.private = false;
	vec_each(member, &now.vec) {
		member->private = member->swap = KERNEL_UNKNOWN;
		member->size = member->resident;
	}
	now.vec.at[5].resident += MB;
	now.vec.at[5].size += MB;
	CU_ASSERT_PTR_NULL(service_compare(&before, &now));
	CU_ASSERT_PTR_EQUAL(now.outlier, &now.vec.at[5]);
	CU_ASSERT_EQUAL(now.outlier->growth, (int64_t)MB);
	vec_free(&two.vec);
	end(&before, &now);
}
