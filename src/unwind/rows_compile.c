/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compiles CFI to rows.
 *
 * FDEs come sorted by start. Each runs to its end or to the start of the next, whichever is first
 * (as a search by start finds them: .eh_frame_hdr, libgcc), and a row of ROW_CFA_NONE is put behind
 * it, which the next FDE overwrites if it follows at once. A row that says the same as the one
 * before it is left out. If .eh_frame and .debug_frame both describe a function, .eh_frame is used,
 * because exceptions are thrown by it.
 */

#include "unwind/rows_compile.h"

#include <elf.h>
#include <inttypes.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/host.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "elf/elf_file.h"
#include "unwind/cfa.h"
#include "unwind/go_switch.h"
#include "unwind/row_of.h"

/* A shorter gap in the CFI is padding, not a function. */
#define GAP_MIN		64
#define RESTORERS_MAX	8	/* in one module; usually there is one */

/* A CIE with its program run. */
struct cie_state {
	struct cfa_state state;
	bool good;
};

struct builder {
	const char *name;	/* name of the file */
	const struct cfi *cfi;
	uint64_t vaddr, size;
	VEC(struct row) rows;
	VEC(const struct cfi_fde *) fdes;	/* those that are valid */
	struct cie_state *cies;
	/* The FDE that is being compiled. */
	const struct cfi_cie *cie;
	uint64_t limit;				/* where it ends */
};

/* Let the row hold from address pc on, instead of the row that held there. */
static struct err *row_push(struct builder *builder, uint64_t pc, struct row row)
{
	size_t nr = builder->rows.nr;

	row.pc = (uint32_t)(pc - builder->vaddr);
	if (nr && builder->rows.at[nr - 1].pc == row.pc)
		nr--;
	builder->rows.nr = nr;
	/* An equal row is left out. All members behind the PC are compared; there is no padding. */
	if (nr && !memcmp(&builder->rows.at[nr - 1].cfa_offset, &row.cfa_offset,
			  sizeof(row) - offsetof(struct row, cfa_offset)))
		return NULL;
	if (nr == LIMIT_ROWS)
		return limit_err(builder->name, "too many rows of CFI", LIMIT_ROWS);
	return vec_push(&builder->rows, row);
}

static struct err *builder_emit(uint64_t pc, const struct cfa_state *state, void *ctx)
{
	struct builder *builder = ctx;

	if (pc >= builder->limit)
		return NULL;
	return row_push(builder, MAX(pc, builder->vaddr), row_of(builder->cie, state));
}

/*
 * An FDE of .debug_frame is left out if .eh_frame covers its start. A second FDE with the same
 * start is left out, too.
 */
static struct err *fdes_choose(struct builder *builder)
{
	uint64_t eh_frame_end = 0, last_start = 0;
	struct err *err = NULL;

	for (size_t i = 0; i < builder->cfi->fdes.nr && !err; i++) {
		const struct cfi_fde *fde = &builder->cfi->fdes.at[i];
		bool debug_frame = builder->cfi->cies.at[fde->cie].debug_frame;

		if (builder->fdes.nr && fde->start == last_start)
			continue;
		if (debug_frame && fde->start < eh_frame_end)
			continue;
		if (!debug_frame)
			eh_frame_end = MAX(eh_frame_end, fde->start + fde->size);
		last_start = fde->start;
		err = vec_push(&builder->fdes, fde);
	}
	return err;
}

static struct err *cies_run(struct builder *builder)
{
	size_t nr = builder->cfi->cies.nr;

	builder->cies = calloc(nr ? nr : 1, sizeof(*builder->cies));
	if (!builder->cies)
		return err_nomem;
	for (size_t i = 0; i < nr; i++) {
		const struct cfi_cie *cie = &builder->cfi->cies.at[i];

		builder->cies[i].good = cie->return_column == FRAME_RA &&
					cfa_run_cie(cie, &builder->cies[i].state);
	}
	return NULL;
}

/* Make the rows of one FDE that ends at limit. If it is broken, its rows are removed again. */
static struct err *fde_compile(struct builder *builder, const struct cfi_fde *fde)
{
	const struct cie_state *cie = &builder->cies[fde->cie];
	size_t nr = builder->rows.nr;
	struct row last = nr ? builder->rows.at[nr - 1] : (struct row){ 0 };
	struct err *err;
	bool bad;

	if (!cie->good)
		return NULL;
	builder->cie = &builder->cfi->cies.at[fde->cie];
	err = cfa_run_fde(builder->cie, &cie->state, fde, builder_emit, builder, &bad);
	if (err)
		return err;
	if (bad) {
		builder->rows.nr = nr;
		if (nr)
			builder->rows.at[nr - 1] = last;
	}
	if (builder->limit - builder->vaddr < builder->size)
		err = row_push(builder, builder->limit, (struct row){ .cfa = ROW_CFA_NONE });
	return err;
}

static struct err *fdes_compile(struct builder *builder)
{
	uint64_t end = builder->vaddr + builder->size;

	for (size_t i = 0; i < builder->fdes.nr; i++) {
		const struct cfi_fde *fde = builder->fdes.at[i];
		uint64_t next = i + 1 < builder->fdes.nr ? builder->fdes.at[i + 1]->start : end;
		uint64_t limit = MIN(fde->start + fde->size, next);
		struct err *err;

		builder->limit = MIN(limit, end);
		if (builder->limit <= builder->vaddr || fde->start >= end)
			continue;
		err = fde_compile(builder, fde);
		if (err)
			return err;
	}
	return NULL;
}

static struct err *row_insert(struct builder *builder, size_t at, struct row row)
{
	struct err *err = vec_reserve(&builder->rows, 1);

	if (err)
		return err;
	memmove(&builder->rows.at[at + 1], &builder->rows.at[at],
		(builder->rows.nr - at) * sizeof(row));
	builder->rows.at[at] = row;
	builder->rows.nr++;
	return NULL;
}

/*
 * Insert a restorer at [start, start + len), in the gap that begins with the row before *at and
 * ends at end; *at moves past the inserted rows. Its row begins one byte early, because there a
 * walk looks for the return address of a handler. (glibc's CFI does the same.)
 */
static struct err *restorer_insert(struct builder *builder, size_t *at, uint64_t start, size_t len,
				   uint64_t end)
{
	uint32_t pc = (uint32_t)(start - builder->vaddr), early = pc - (pc > 0);
	struct row *gap = &builder->rows.at[*at - 1];
	struct err *err = NULL;

	if (early <= gap->pc)
		gap->cfa = ROW_CFA_SIGNAL;
	else
		err = row_insert(builder, (*at)++,
				 (struct row){ .pc = early, .cfa = ROW_CFA_SIGNAL });
	if (!err && start + len < end)
		err = row_insert(builder, (*at)++, (struct row){
			.pc = pc + (uint32_t)len,
			.cfa = ROW_CFA_NONE,
		});
	return err;
}

/* Get the offset and the length of the first restorer in the code; false if there is none. */
static bool restorer_find(const uint8_t *code, size_t len, size_t *offset_ret, size_t *len_ret)
{
	static const struct {
		uint8_t len, code[9];
	} restorers[] = FRAME_RESTORERS;
	const uint8_t *best = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(restorers); i++) {
		const uint8_t *at = memmem(code, len, restorers[i].code, restorers[i].len);

		if (at && (!best || at < best)) {
			best = at;
			*len_ret = restorers[i].len;
		}
	}
	if (best)
		*offset_ret = (size_t)(best - code);
	return best;
}

/*
 * C libraries without CFI for their restorer (musl, Go's runtime) would end every walk out of a
 * signal handler. So its instructions are searched for in the code that has no CFI. [start, end)
 * are addresses, at is the index behind the gap's row.
 */
static struct err *gap_search(struct builder *builder, struct elf_file *file, size_t at,
			      uint64_t start, uint64_t end)
{
	uint8_t code[65536];
	size_t len, found, restorer_len = 0;	/* set with found: gcc -O1 does not see it */
	unsigned nr = 0;

	while (end - start >= GAP_MIN && nr < RESTORERS_MAX) {
		struct err *err;

		len = MIN(end - start, sizeof(code));
		if (elf_file_read(file, start, code, len))
			/* memory that the file does not have holds no code either */
			return NULL;
		if (!restorer_find(code, len, &found, &restorer_len)) {
			start += len == sizeof(code) ? len - GAP_MIN / 2 : len;
			continue;
		}
		err = restorer_insert(builder, &at, start + found, restorer_len, end);
		if (err)
			return err;
		nr++;
		start += found + restorer_len;
	}
	return NULL;
}

/* Returns the end of the code that is in the file: memory behind it is zero. */
static uint64_t code_end(const struct builder *builder, const struct elf_file *file)
{
	size_t nr;
	const struct elf_segment *segment = elf_file_segments(file, &nr);
	uint64_t end = builder->vaddr + builder->size;

	for (size_t i = 0; i < nr; i++) {
		if (builder->vaddr - segment[i].vaddr < segment[i].filesz)
			return MIN(end, segment[i].vaddr + segment[i].filesz);
	}
	return builder->vaddr;
}

static struct err *gaps_search(struct builder *builder, struct elf_file *file)
{
	uint64_t code = code_end(builder, file);
	size_t i = 0;

	/* A row at 0 turns the space below the first function into a gap like the others. */
	if (!builder->rows.nr || builder->rows.at[0].pc) {
		struct err *err = row_insert(builder, 0, (struct row){ .cfa = ROW_CFA_NONE });

		if (err)
			return err;
	}
	while (i < builder->rows.nr) {
		bool last = ++i == builder->rows.nr;
		uint64_t start = builder->vaddr + builder->rows.at[i - 1].pc;
		uint64_t end = last ? code : builder->vaddr + builder->rows.at[i].pc;
		struct err *err;

		if (builder->rows.at[i - 1].cfa != ROW_CFA_NONE || end > code || end < start ||
		    end - start < GAP_MIN)
			continue;
		err = gap_search(builder, file, i, start, end);
		if (err)
			return err;
	}
	return NULL;
}

/* From start to end one row holds in place of all others. */
static struct err *rows_replace(struct builder *builder, uint32_t start, uint32_t end,
				enum row_cfa cfa)
{
	struct row *row = builder->rows.at, behind = { .pc = end, .cfa = ROW_CFA_NONE };
	size_t first = LOWER_BOUND(i, 0, builder->rows.nr, row[i].pc < start);
	size_t last = LOWER_BOUND(i, first, builder->rows.nr, row[i].pc <= end);
	struct err *err;

	if (last) {
		behind = row[last - 1];
		behind.pc = end;
	}
	memmove(&row[first], &row[last], (builder->rows.nr - last) * sizeof(*row));
	builder->rows.nr -= last - first;
	err = row_insert(builder, first, behind);
	return err ? err : row_insert(builder, first, (struct row){ .pc = start, .cfa = cfa });
}

static struct err *switches_replace(struct builder *builder, struct elf_file *file)
{
	struct go_switches switches;
	struct err *err = go_switch_find(file, &switches);

	for (uint32_t i = 0; i < switches.nr && !err; i++) {
		uint64_t start = switches.at[i].start - builder->vaddr;

		if (start < builder->size && switches.at[i].size < builder->size - start)
			err = rows_replace(builder, (uint32_t)start,
					   (uint32_t)(start + switches.at[i].size),
					   ROW_CFA_FP_SWITCH);
	}
	return err;
}

static struct err *build(struct builder *builder, struct elf_file *file)
{
	struct err *err = cfi_of(file, &builder->cfi);

	if (!err)
		err = fdes_choose(builder);
	if (!err)
		err = cies_run(builder);
	if (!err)
		err = fdes_compile(builder);
	if (!err)
		err = gaps_search(builder, file);
	return err ? err : switches_replace(builder, file);
}

static void builder_deinit(struct builder *builder)
{
	vec_free(&builder->rows);
	vec_free(&builder->fdes);
	free(builder->cies);
}

struct err *rows_compile(struct elf_file *file, uint64_t vaddr, uint64_t size, struct rows *ret)
{
	struct builder builder CLEANUP(builder_deinit) = { .vaddr = vaddr, .size = size };
	struct err *err;

	if (elf_file_machine(file) != arch_host()->elf_machine)
		return err_create(ERR_UNSUPPORTED, "%s: not a program for %s",
				  elf_file_name(file), arch_host()->name);
	if (!size || size > UINT32_MAX || vaddr + size < vaddr)
		return err_create(ERR_UNSUPPORTED, "%s: %" PRIu64 " bytes of code at 0x%" PRIx64,
				  elf_file_name(file), size, vaddr);
	builder.name = elf_file_name(file);
	err = build(&builder, file);
	return err ? err : rows_create(builder.rows.at, (uint32_t)builder.rows.nr, ret);
}
