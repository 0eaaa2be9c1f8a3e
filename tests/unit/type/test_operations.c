/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operations of expressions, whole and cut off. */

#include "type/operations.h"
#include "unit.h"

static struct operations of_bytes(const uint8_t *bytes, size_t len)
{
	return (struct operations){ .start = bytes, .at = bytes, .end = bytes + len };
}

#define OF(bytes)	of_bytes(bytes, sizeof(bytes))

static void next_is(struct operations *ops, unsigned atom, int64_t number, int64_t other)
{
	struct operation op;

	CU_ASSERT_FATAL(operations_next(ops, &op));
	CU_ASSERT_EQUAL(op.atom, atom);
	CU_ASSERT_EQUAL((int64_t)op.number, number);
	CU_ASSERT_EQUAL((int64_t)op.other, other);
}

TEST("operands of all forms")
{
	static const uint8_t bytes[] = {
		DW_OP_addr, 8, 7, 6, 5, 4, 3, 2, 1, DW_OP_const1u, 0xff, DW_OP_const1s, 0xff,
		DW_OP_const2s, 0xfe, 0xff, DW_OP_const4u, 0xff, 0xff, 0xff, 0xff,
		DW_OP_const8s, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		DW_OP_consts, 0x7f, DW_OP_constu, 0xff, 0x01, DW_OP_bregx, 17, 0x78, DW_OP_fbreg, 0x40,
		DW_OP_lit31, DW_OP_plus,
	};
	struct operations ops = OF(bytes);
	struct operation op;

	next_is(&ops, DW_OP_addr, 0x0102030405060708, 0);
	next_is(&ops, DW_OP_const1u, 255, 0);
	next_is(&ops, DW_OP_const1s, -1, 0);
	next_is(&ops, DW_OP_const2s, -2, 0);
	next_is(&ops, DW_OP_const4u, 0xffffffff, 0);
	next_is(&ops, DW_OP_const8s, -1, 0);
	next_is(&ops, DW_OP_consts, -1, 0);
	next_is(&ops, DW_OP_constu, 255, 0);
	next_is(&ops, DW_OP_bregx, 17, -8);
	next_is(&ops, DW_OP_fbreg, -64, 0);
	next_is(&ops, DW_OP_lit31, 0, 0);
	next_is(&ops, DW_OP_plus, 0, 0);
	CU_ASSERT_FALSE(operations_next(&ops, &op));
	CU_ASSERT_FALSE(ops.damaged);
}

TEST("an expression inside of another, and one that is alone")
{
	static const uint8_t bytes[] = { DW_OP_entry_value, 1, DW_OP_reg5 };
	struct operations ops = OF(bytes);
	struct operation op, inner;

	CU_ASSERT_FATAL(operations_only(ops, &op));
	CU_ASSERT_FATAL(operations_only(operations_inside(&ops, &op), &inner));
	CU_ASSERT_EQUAL(inner.atom, DW_OP_reg5);
	CU_ASSERT_FATAL(operations_next(&ops, &op));
	CU_ASSERT_FALSE(operations_only(ops, &op));
}

TEST("what is cut off is damaged")
{
	static const uint8_t bytes[] = { DW_OP_entry_value, 3, DW_OP_bregx, 17, 0x78 };
	struct operation op;

	for (size_t len = 1; len < sizeof(bytes); len++) {
		struct operations ops = of_bytes(bytes, len);

		CU_ASSERT_FALSE(operations_next(&ops, &op));
		CU_ASSERT(ops.damaged);
		CU_ASSERT_FALSE(operations_next(&ops, &op));
		CU_ASSERT_FALSE(operations_only(of_bytes(bytes, len), &op));
	}
}

TEST("a jump stays inside")
{
	static const uint8_t bytes[] = { DW_OP_skip, 1, 0, DW_OP_nop, DW_OP_lit0, DW_OP_skip, 0xf8, 0xff };
	struct operations ops = OF(bytes);
	struct operation op;

	CU_ASSERT_FATAL(operations_next(&ops, &op));
	operations_jump(&ops, (int64_t)op.number);
	next_is(&ops, DW_OP_lit0, 0, 0);
	CU_ASSERT_FATAL(operations_next(&ops, &op));
	operations_jump(&ops, (int64_t)op.number);
	CU_ASSERT_PTR_EQUAL(ops.at, bytes);
	operations_jump(&ops, -1);
	CU_ASSERT_FALSE(operations_next(&ops, &op));
	ops.at = bytes;
	operations_jump(&ops, INT64_MAX);
	CU_ASSERT_FALSE(operations_next(&ops, &op));
}
