/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings of performance events, made by hand; processors. */

#include "os/perf.h"

#include "unit.h"

#define SIZE	256u

/* A ring in mdbg's own memory. */
struct made {
	struct perf_event_mmap_page page;
	uint8_t data[SIZE];
	struct perf_ring ring;
	unsigned seen;
	struct {
		uint32_t type;
		uint16_t size;
		uint8_t first;		/* byte of the body */
	} last;
};

static void begin(struct made *made, uint64_t tail)
{
	memset(made, 0, sizeof(*made));
	made->page.data_head = made->page.data_tail = tail;
	made->ring = (struct perf_ring){ .page = &made->page, .data = made->data, .size = SIZE,
					 .copy = malloc(PERF_RECORD_ROOM) };
	CU_ASSERT_PTR_NOT_NULL_FATAL(made->ring.copy);
}

static void put(struct made *made, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		made->data[made->page.data_head++ % SIZE] = ((const uint8_t *)bytes)[i];
}

static void put_record(struct made *made, uint32_t type, uint16_t size, uint8_t fill)
{
	const struct perf_event_header header = { type, 0, size };
	uint8_t body[SIZE];

	memset(body, fill, sizeof(body));
	put(made, &header, sizeof(header));
	if (size > sizeof(header))
		put(made, body, size - sizeof(header));
}

static void take_record(void *ctx, const struct perf_event_header *record)
{
	struct made *made = ctx;

	made->seen++;
	made->last.type = record->type;
	made->last.size = record->size;
	made->last.first = record->size > 8 ? ((const uint8_t *)record)[record->size - 1] : 0;
}

static size_t take_all(struct made *made, size_t most)
{
	return perf_ring_take(&made->ring, most, take_record, made);
}

TEST("ring")
{
	struct made made;

	/* A record that goes round the end, wherever that cuts it. */
	for (uint64_t tail = 0; tail < 2 * SIZE; tail += 8) {
		begin(&made, tail);
		put_record(&made, 9, 64, 0x5a);
		put_record(&made, 10, 8, 0);
		put_record(&made, 11, 128, 0x77);
		CU_ASSERT_EQUAL(take_all(&made, 2), 2);
		CU_ASSERT_EQUAL(made.last.type, 10);
		CU_ASSERT_EQUAL(take_all(&made, 100), 1);
		CU_ASSERT_EQUAL(made.last.size, 128);
		CU_ASSERT_EQUAL(made.last.first, 0x77);
		CU_ASSERT_EQUAL(made.page.data_tail, made.page.data_head);
		CU_ASSERT_EQUAL(made.ring.broken + made.ring.lost, 0);
		free(made.ring.copy);
	}
}

TEST("lost")
{
	const uint64_t body[] = { 3, 1000 };
	const struct perf_event_header header = { PERF_RECORD_LOST, 0, 24 };
	struct made made;

	begin(&made, 248);
	put(&made, &header, sizeof(header));
	put(&made, body, sizeof(body));
	put_record(&made, PERF_RECORD_LOST, 16, 0xff);	/* cut */
	put_record(&made, 9, 16, 1);
	CU_ASSERT_EQUAL(take_all(&made, 100), 3);
	CU_ASSERT_EQUAL(made.seen, 1);
	CU_ASSERT_EQUAL(made.ring.lost, 1000);
	free(made.ring.copy);
}

/* Lengths that cannot be: what is in the ring is passed over, and the next records are taken. */
TEST("hostile lengths")
{
	static const uint16_t sizes[] = { 0, 1, 7, 65535, 72 };
	struct made made;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		begin(&made, 8);
		put_record(&made, 9, 16, 1);
		put_record(&made, 9, sizes[i] < 64 ? sizes[i] : 8, 1);
		made.data[8 + 16 + 6] = (uint8_t)sizes[i];
		made.data[8 + 16 + 7] = (uint8_t)(sizes[i] >> 8);
		CU_ASSERT_EQUAL(take_all(&made, 100), 1);
		CU_ASSERT_EQUAL(made.ring.broken, 1);
		CU_ASSERT_EQUAL(made.page.data_tail, made.page.data_head);
		free(made.ring.copy);
	}
	/* A head that is further than the ring is long, or before the tail. */
	begin(&made, 0);
	made.page.data_head = SIZE + 8;
	CU_ASSERT_EQUAL(take_all(&made, 100), 0);
	made.page.data_head = 8;
	CU_ASSERT_EQUAL(take_all(&made, 100), 0);
	CU_ASSERT_EQUAL(made.ring.broken, 2);
	free(made.ring.copy);
}

/* TID, TIME, ADDR, two registers, a stack of 16 bytes of which 8 are filled. */
struct sample {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t time, addr, abi, regs[2], len, stack[2], used;
};

TEST("sample")
{
	struct sample sample = { { PERF_RECORD_SAMPLE, 0, sizeof(sample) }, 17, 18, 5, 0x1000, 2,
				 { 7, 8 }, 16, { 9, 10 }, 8 };
	struct perf_sample ret;

	CU_ASSERT_TRUE_FATAL(perf_sample_parse(&sample.header, 0x41, &ret));
	CU_ASSERT_EQUAL(ret.pid, 17);
	CU_ASSERT_EQUAL(ret.tid, 18);
	CU_ASSERT_EQUAL(ret.addr, 0x1000);
	CU_ASSERT_EQUAL(ret.nr_regs, 2);
	CU_ASSERT_EQUAL(ret.regs[1], 8);
	CU_ASSERT_EQUAL(ret.stack_len, 8);
	CU_ASSERT_EQUAL(*(const uint64_t *)ret.stack, 9);
	CU_ASSERT_EQUAL(ret.page_size, 0);
	/* More of the stack is filled than there is: as much as there is. */
	sample.used = 1 << 20;
	CU_ASSERT_TRUE(perf_sample_parse(&sample.header, 0x41, &ret));
	CU_ASSERT_EQUAL(ret.stack_len, 16);
	/* Cut anywhere. */
	for (uint16_t size = 8; size < sizeof(sample); size++) {
		sample.header.size = size;
		CU_ASSERT_FALSE(perf_sample_parse(&sample.header, 0x41, &ret));
	}
	sample.header.size = sizeof(sample);
	sample.len = UINT64_MAX - 4;
	CU_ASSERT_FALSE(perf_sample_parse(&sample.header, 0x41, &ret));
	CU_ASSERT_FALSE(perf_sample_parse(&sample.header, UINT64_MAX, &ret));
	/* No registers: neither they nor a stack are there. */
	sample.abi = 0;
	sample.regs[0] = 0;
	CU_ASSERT_TRUE(perf_sample_parse(&sample.header, 0x41, &ret));
	CU_ASSERT_EQUAL(ret.nr_regs, 0);
	CU_ASSERT_PTR_NULL(ret.stack);
}

/* The size of the page comes last, with a stack or without one. */
TEST("sample with the size of its page")
{
	struct {
		struct sample sample;
		uint64_t page_size;
	} made = { { { PERF_RECORD_SAMPLE, 0, sizeof(made) }, 17, 18, 5, 0x1000, 2, { 7, 8 }, 16,
		     { 9, 10 }, 8 }, 2u << 20 };
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t time, addr, abi, len, page_size;
	} bare = { { PERF_RECORD_SAMPLE, 0, sizeof(bare) }, 17, 18, 5, 0x1000, 0, 0, 4096 };
	struct perf_sample ret;

	CU_ASSERT_TRUE_FATAL(perf_sample_parse(&made.sample.header, 0x41, &ret));
	CU_ASSERT_EQUAL(ret.page_size, 2u << 20);
	CU_ASSERT_EQUAL(ret.stack_len, 8);
	CU_ASSERT_TRUE_FATAL(perf_sample_parse(&bare.header, 0x41, &ret));
	CU_ASSERT_EQUAL(ret.page_size, 4096);
	CU_ASSERT_PTR_NULL(ret.stack);
}

TEST("mapping")
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t addr, len, rest[4];
		uint32_t prot, flags;
		char path[8];
	} made = { { PERF_RECORD_MMAP2, 0, sizeof(made) }, 17, 18, 0x1000, 0x2000, { 0 }, 4, 2,
		   "/a/b" };
	struct perf_mapping ret;

	CU_ASSERT_TRUE_FATAL(perf_mapping_parse(&made.header, &ret));
	CU_ASSERT_EQUAL(ret.end, 0x3000);
	CU_ASSERT_TRUE(ret.exec);
	CU_ASSERT_STRING_EQUAL(ret.path, "/a/b");
	made.len = UINT64_MAX;
	CU_ASSERT_FALSE(perf_mapping_parse(&made.header, &ret));
	made.len = 1;
	memset(made.path, 'x', sizeof(made.path));
	CU_ASSERT_FALSE(perf_mapping_parse(&made.header, &ret));
	made.header.size = 40;
	CU_ASSERT_FALSE(perf_mapping_parse(&made.header, &ret));
}

TEST("processors")
{
	int cpus[4];

	CU_ASSERT_EQUAL(perf_cpus_parse("0-1,5\n", cpus, 4), 3);
	CU_ASSERT_EQUAL(cpus[2], 5);
	CU_ASSERT_EQUAL(perf_cpus_parse("0-7\n", cpus, 4), 8);
	CU_ASSERT_EQUAL(perf_cpus_parse("", cpus, 4), 0);
	CU_ASSERT_EQUAL(perf_cpus_parse("3-1,x", cpus, 4), 0);
	CU_ASSERT_TRUE(perf_cpus(cpus, 4) >= 1);
}
