/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * FILTER, sort and limit: every attribute with every relation, and what is wrong with words that do
 * not fit.
 */

#include <string.h>
#include <time.h>

#include "fixture.h"
#include "heap/filter.h"

#define WORDS	16

static struct log log_;
static struct blocks blocks;
static const pid_t pids[LOG_PROCESSES] = { 1234 };
static struct filter_env env;
static unsigned asked;

static bool stack_matches(void *ctx, uint32_t stack, enum filter_attr attr, const char *glob)
{
	(void)ctx;
	asked++;
	/* Stack 1 has function f1 and module m1, and so on; * is all. */
	return !strcmp(glob, "*") || (glob[0] == (attr == FILTER_FUNCTION ? 'f' : 'm') &&
				      (uint32_t)atoi(glob + 1) == stack);
}

/* A block's type is A, B, ... by its address. */
static bool type_matches(void *types, const struct block *block, const char *glob)
{
	(void)types;
	return (uint64_t)(glob[0] - 'A' + 1) == block->address / 0x1000;
}

/*
 * Five blocks, at 0x1000 to 0x5000, from times 10 to 40 s; the fifth is from before the attach. Now
 * is 100 s.
 */
static int setup(void)
{
	uint64_t pcs[1] = { 1 };
	uint32_t a, b;

	setenv("TZ", "UTC", 1);
	tzset();
	fixture_open(&log_);
	a = registry_thread(&log_, 0x7f0000001000, 100);
	b = registry_thread(&log_, 0x7f0000002000, 200);
	for (pcs[0] = 1; pcs[0] < 10; pcs[0]++)
		if (!stack_table_insert(&log_, pcs, 1, 0, 0))
			return 1;
	fixture_push(&blocks, (struct block){ 0x1000, 100, 10 * SECOND, a, 1, 0, false, 0, false, 0, false, 0, 0 });
	fixture_push(&blocks, (struct block){ 0x2000, 4096, 20 * SECOND, b, 2, 1, false, 0, false, 0, false, 0, 0 });
	fixture_push(&blocks, (struct block){ 0x3000, 100, 30 * SECOND, a, 1, LOG_HEAP_MMAP,
					     false, 0, false, 0, false, 0, 0 });
	fixture_push(&blocks, (struct block){ 0x4000, 65536, 40 * SECOND, b, 3, LOG_HEAP_UNKNOWN,
					     false, 0, false, 0, false, 0, 0 });
	fixture_push(&blocks, (struct block){ 0x5000, 50, 0, 0, LOG_STACK_NONE, 0, true, 0, false, 0, false, 0, 0 });
	env = (struct filter_env){ .log = &log_, .pids = pids, .now_ns = EPOCH + 100 * SECOND,
				   .stack_matches = stack_matches,
				   .type_matches = type_matches };
	return 0;
}

static int teardown(void)
{
	blocks_free(&blocks);
	fixture_close(&log_);
	return 0;
}

FIXTURE(setup, teardown);

static int split(char *line, const char **argv)
{
	int argc = 0;

	for (char *word = strtok(line, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	return argc;
}

/* Apply the words to the five blocks: the result as their first digits, "135". */
static void check(const char *words, const char *expect)
{
	char line[256], got[16] = "";
	const char *argv[WORDS];
	struct blocks copy = BLOCKS_INIT;
	struct filter_order order;
	struct filter filter;
	struct err *err;

	strcpy(line, words);
	err = filter_parse(split(line, argv), argv, FILTER_ALL, &filter, &order, NULL);
	if (err) {
		CU_FAIL(words);
		return;
	}
	for (size_t i = 0; i < blocks.vec.nr; i++) {
		fixture_push(&copy, blocks.vec.at[i]);
		if (!order.sorted && order.limit == UINT64_MAX)
			CU_ASSERT_EQUAL(filter_matches(&filter, &env, &blocks.vec.at[i]),
					strchr(expect, (int)('1' + i)) != NULL);
	}
	CU_ASSERT_PTR_NULL(filter_apply(&filter, &order, &env, &copy));
	for (size_t i = 0; i < copy.vec.nr; i++)
		got[i] = (char)('0' + copy.vec.at[i].address / 0x1000);
	if (strcmp(got, expect)) {
		printf("%s: %s, not %s\n", words, got, expect);
		CU_FAIL(words);
	}
	blocks_free(&copy);
	filter_free(&filter);
}

TEST("relations")
{
	check("", "12345");
	check("size == 100", "13");
	check("size = 100", "13");
	check("size != 100", "245");
	check("size < 100", "5");
	check("size <= 100", "135");
	check("size > 100", "24");
	check("size >= 4K", "24");
	check("size>100", "24");
	check("size >100", "24");
	check("size> 100", "24");
	check("size>=100 and size<=4K", "123");
}

TEST("attributes")
{
	check("address == 0x2000", "2");
	check("addr >= 12288", "345");
	check("heap == 0", "15");
	check("heap != 0", "234");
	check("heap > 0", "2");
	check("heap < 5", "125");
	check("heap == mmap", "3");
	check("heap != mmap", "1245");
	check("pid == 1234", "12345");
	check("pid != 1234", "");
	check("thread == 100", "13");
	check("tid == 200", "24");
	check("thread != 100", "245");
	check("thread > 100", "24");
	check("pthread == 0x7f0000001000", "13");
	check("pthread != 0x7f0000001000", "245");
	check("pthread > 0x7f0000001000", "24");
	check("thread == 0", "");
	check("thread < 1000", "1234");
	check("time == 1760000020", "2");
	check("time > 1760000020", "34");
	check("time != 1760000020", "1345");
	check("clocktime <= 1760000020.5", "12");
	check("time > 2025-10-09 08:53:45", "34");
	check("time > 2025-10-09", "1234");
	check("age == 80s", "2");
	check("age > 75s", "12");
	check("age < 65", "4");
	check("age >= 1m and age <= 70", "34");
	check("seq == 20000000001", "2");
	check("sequence > 20000000001", "34");
	check("seq < 1", "");
	check("function == f1", "13");
	check("function != f1", "245");
	check("module == m2", "2");
	check("module == *", "1234");
	check("module != *", "5");
	check("function == m1", "");
	check("type == B", "2");
	check("type != B", "1345");
	check("type == E and function != f1", "5");
}

TEST("and")
{
	check("size == 100 and thread == 100 and age > 75", "1");
	check("function == f1 and size > 100", "");
	check("function == * and size > 100", "24");
}

TEST("sort and limit")
{
	check("sort size", "42135");
	check("sort size down", "42135");
	check("sort size up", "51324");
	check("sort address", "54321");
	check("sort address up", "12345");
	check("sort time", "43215");
	check("sort time up", "12345");
	check("sort age", "12345");
	check("sort age up", "43215");
	check("sort seq", "43215");
	check("sort thread", "24135");
	check("sort thread up", "13245");
	check("sort heap", "32154");
	check("sort heap up", "15234");
	check("sort pid", "12345");
	check("sort size limit 2", "42");
	check("limit 3", "123");
	check("limit 0", "");
	check("limit 99", "12345");
	check("size < 1000 sort age up limit 1", "3");
}

/* Each stack is asked for once. */
TEST("each stack is asked once")
{
	asked = 0;
	CU_ASSERT_TRUE(blocks.vec.nr == 5);
	check("function == f1 limit 9", "13");
	CU_ASSERT_EQUAL(asked, 3);
}

/*
 * hint is the form of a condition, or "": the command then gives its usage. NULL: it is not compared.
 */
static void fails_hint(const char *words, uint32_t allowed, const char *why, const char *hint)
{
	char line[256];
	const char *argv[WORDS];
	struct filter_order order;
	struct filter filter;
	struct err *err;

	strcpy(line, words);
	err = filter_parse(split(line, argv), argv, allowed, &filter, &order, NULL);
	if (!err) {
		CU_FAIL(words);
		return;
	}
	CU_ASSERT_EQUAL(err->code, ERR_USAGE);
	if (hint)
		CU_ASSERT_STRING_EQUAL(err->hint, hint);
	if (strcmp(err->msg, why)) {
		printf("%s: \"%s\", not \"%s\"\n", words, err->msg, why);
		CU_FAIL(words);
	}
}

static void fails(const char *words, uint32_t allowed, const char *why)
{
	fails_hint(words, allowed, why, NULL);
}

#define EVERY	"address, size, heap, pid, thread, time, age, seq, function, module, type"
#define SORTED	"address, size, heap, pid, thread, time, age, seq"

TEST("malformed")
{
	fails("foo > 4", FILTER_ALL, "'foo' is not an attribute: " EVERY);
	fails("foo>4", FILTER_ALL, "'foo' is not an attribute: " EVERY);
	fails("foo", FILTER_ALL, "'foo' is not expected here");
	fails("> 4", FILTER_ALL, "'>' is not expected here");
	fails("size", FILTER_ALL, "size: a relation must follow: == != < <= > >=");
	fails("size 4", FILTER_ALL, "size: '4' is not a relation: == != < <= > >=");
	fails("size => 4", FILTER_ALL, "size: '=>' is not a relation: == != < <= > >=");
	fails("size === 4", FILTER_ALL, "size: '===' is not a relation: == != < <= > >=");
	fails("size <> 4", FILTER_ALL, "size: '<>' is not a relation: == != < <= > >=");
	fails("size ! 4", FILTER_ALL, "size: '!' is not a relation: == != < <= > >=");
	fails("size >", FILTER_ALL, "size: a value must follow");
	fails("size>", FILTER_ALL, "size: a value must follow");
	fails("size > many", FILTER_ALL, "size: 'many' is not a size (bytes, or with K, M, G, T)");
	fails("address > 0xzz", FILTER_ALL, "address: '0xzz' is not a number (decimal, or hexadecimal with 0x)");
	fails("heap == brk", FILTER_ALL, "heap: 'brk' is not a heap: a number, mmap or user");
	fails("heap > mmap", FILTER_ALL, "heap: mmap can be compared with == and != only");
	fails("age > old", FILTER_ALL, "age: 'old' is not a duration (90s, 5m, 2h, 1d, 250ms)");
	fails("time > noon", FILTER_ALL,
	      "time: 'noon' is not a time (seconds since the epoch, or 'YYYY-MM-DD hh:mm:ss')");
	fails("function > f1", FILTER_ALL, "function: names can be compared with == and != only");
	fails("type < f1", FILTER_ALL, "type: names can be compared with == and != only");
	fails("sort type", FILTER_ALL, "sort: 'type' is not an attribute: " SORTED);
	fails("size > 4 and", FILTER_ALL, "a condition must follow `and`");
	fails("size > 4 and and", FILTER_ALL, "'and' is not an attribute: " EVERY);
	fails("size > 4 size < 9", FILTER_ALL, "'size' is not expected here");
	fails("size > 4 or size < 2", FILTER_ALL, "'or' is not expected here");
	fails("sort", FILTER_ALL, "an attribute must follow `sort`");
	fails("sort foo", FILTER_ALL, "sort: 'foo' is not an attribute: " SORTED);
	fails("sort function", FILTER_ALL, "sort: 'function' is not an attribute: " SORTED);
	fails("sort size sideways", FILTER_ALL, "'sideways' is not expected here");
	fails("limit", FILTER_ALL, "a number must follow `limit`");
	fails("limit few", FILTER_ALL, "limit: 'few' is not a number (decimal, or hexadecimal with 0x)");
	fails("limit 3 sort size", FILTER_ALL, "'sort' is not expected here");
	fails("limit 3 limit 4", FILTER_ALL, "'limit' is not expected here");
	fails("heap == 1", 1u << FILTER_SIZE | 1u << FILTER_ADDRESS,
	      "'heap' is not an attribute: address, size");
	fails_hint("size >", FILTER_ALL, "size: a value must follow",
		   "FILTER is ATTR RELOP VALUE ?and ATTR RELOP VALUE?...");
	fails_hint("size > 4 or", FILTER_ALL, "'or' is not expected here", "");
	fails_hint("sort", FILTER_ALL, "an attribute must follow `sort`", "");
}

/* What the caller has to read itself is left to it. */
static void used(const char *words, bool order, int expect)
{
	char line[256];
	const char *argv[WORDS];
	struct filter_order order_ret;
	CLEANUP(filter_free) struct filter filter;
	int got = -1;

	strcpy(line, words);
	CU_ASSERT_PTR_NULL_FATAL(filter_parse(split(line, argv), argv, FILTER_ALL, &filter,
					      order ? &order_ret : NULL,
					      &got));
	if (got != expect) {
		printf("%s: %d words, not %d\n", words, got, expect);
		CU_FAIL(words);
	}
}

TEST("words left over")
{
	used("", true, 0);
	used("by stack", true, 0);
	used("size > 4K", true, 3);
	used("size>4K since m1", true, 1);
	used("size > 4K and age>5m sort size up limit 3 since m1", true, 10);
	used("size > 4K sort bytes", false, 3);
	used("limit 5", false, 0);
	used("time > 2026-11-20 10:00 more", true, 4);
	used("time > 2026-11-20 more", true, 3);
}

TEST("what comes out")
{
	const char *argv[] = { "size", "!=", "3" };
	struct filter_order order;
	CLEANUP(filter_free) struct filter filter;

	CU_ASSERT_PTR_NULL(filter_parse(3, argv, FILTER_ALL, &filter, &order, NULL));
	CU_ASSERT_FALSE(order.sorted);
	CU_ASSERT_EQUAL(order.limit, UINT64_MAX);
	CU_ASSERT_EQUAL(filter.conds.nr, 1);
	CU_ASSERT_EQUAL(filter.conds.at[0].relop, FILTER_NE);
	CU_ASSERT_PTR_NULL(filter.conds.at[0].glob);
}
