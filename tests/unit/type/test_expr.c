/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expressions without a program: C's arithmetic, types, bytes at an address, and what is none. */

#include "unit.h"
#include "world.h"

#define START	0x1000

struct row {
	const char *text, *is;
};

static const uint32_t words[] = { 1, 2, 0xffffffff, 4 };
static struct value_world world;

static void begin(void)
{
	world = world_of_bytes(words, START, sizeof(words));
}

static void end(void)
{
	world_free(&world);
}

EACH(begin, end);

static void check(const char *(*of)(const struct value_world *, const char *),
		  const struct row *rows, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const char *is = of(&world, rows[i].text);

		if (strcmp(is, rows[i].is))
			printf("%s: %s, and not %s\n", rows[i].text, is, rows[i].is);
		CU_ASSERT_STRING_EQUAL(is, rows[i].is);
	}
}

TEST("numbers are calculated with as in C")
{
	static const struct row rows[] = {
		{ "1+2*3", "7" }, { "(1+2)*3", "9" }, { "-5/2", "-2" }, { "-5%3", "-2" },
		{ "7 - 2 - 1", "4" }, { "1 << 4 | 1", "17" }, { "~5", "-6" }, { "!5", "0" },
		{ "5 > 3 && 2 < 1", "0" }, { "0 || 3", "1" }, { "1 ? 2 : 3", "2" },
		{ "-1 > 0u", "1" }, { "5 / 2.0", "2.5" }, { "0x1f", "31" }, { "017", "15" },
		{ "'a'", "97 'a'" }, { "'\\n'", "10 '\\n'" }, { "'\\x41'", "65 'A'" },
		{ "1.0f", "1" }, { "0.1f", "0.100000001" }, { "0.1", "0.10000000000000001" },
		{ "4294967295", "4294967295" }, { "2147483647 + 1", "-2147483648" },
		{ "1 << 100", "0" }, { "-1 >> 70", "-1" }, { "1ul << 40", "1099511627776" },
		{ "(unsigned char)300", "44 ','" }, { "(char)-1", "-1 '\\377'" },
		{ "(float)1/3", "0.333333343" }, { "(int)3.9", "3" }, { "(bool)5", "true" },
		{ "(-9223372036854775807 - 1) / -1", "-9223372036854775808" },
		{ "(-9223372036854775807 - 1) % -1", "0" },
		{ "\"abc\"", "\"abc\"" }, { "\"abc\"[1]", "98 'b'" },
		{ "sizeof(int)", "4" }, { "sizeof (char *)", "8" }, { "sizeof(int[3][2])", "24" },
		{ "sizeof 1ul", "8" }, { "sizeof(*(int *)0 + 1)", "4" }, { "1 || 1/0", "1" }, { "0 && *(int *)0", "0" },
	};

	check(world_print, rows, ARRAY_SIZE(rows));
}

TEST("types have C's names")
{
	static const struct row rows[] = {
		{ "(char)1", "char" }, { "unsigned long int", "unsigned long" },
		{ "long long unsigned", "unsigned long long" }, { "1 + 'a'", "int" },
		{ "1 + 1ul", "unsigned long" }, { "1.5f * 2", "float" }, { "1.5f * 2.0", "double" },
		{ "(int **)0", "int **" }, { "int (*)[4]", "int (*)[4]" }, { "int *[4]", "int *[4]" },
		{ "*(int (*)[4])0", "int [4]" }, { "&*(int *)0", "int *" },
		{ "*(short *)0 + 1", "int" }, { "(int *)8 - (int *)0", "long" },
		{ "{char[4]} 0", "char [4]" }, { "4294967295", "long" }, { "0xffffffff", "unsigned int" },
	};

	check(world_whatis, rows, ARRAY_SIZE(rows));
}

TEST("what is at an address is read")
{
	static const struct row rows[] = {
		{ "{int} 0x1000", "1" }, { "*(int *)0x1004", "2" }, { "((int *)0x1000)[2]", "-1" },
		{ "{unsigned} 0x1008", "4294967295" }, { "*(int *)0x1000@4", "{1, 2, -1, 4}" },
		{ "{char[4]} 0x1000", "\"\\001\\000\\000\"" }, { "(char *)0x1000", "0x1000 \"\\001\"" },
		{ "(int *)0x1000 + 1", "(int *) 0x1004" }, { "&*(int *)0x1000", "(int *) 0x1000" },
		{ "*(int *)0x2000", "MEMORY: cannot read memory at 0x2000" },
		{ "(char *)0x2000", "0x2000 <error: Cannot access memory at address 0x2000>" },
		{ "{int[1152921504606846976]} 0x2000", "MEMORY: cannot read memory at 0x2000" },
	};

	check(world_print, rows, ARRAY_SIZE(rows));
}

TEST("what is no expression is one error")
{
	static const struct row rows[] = {
		{ "", "USAGE: an expression is missing" }, { "1 +", "USAGE: the expression is not complete" },
		{ "(1", "USAGE: the expression ends where a ')' is missing" },
		{ "1 2", "USAGE: '2' is left over" }, { "1 / 0", "USAGE: division by zero" },
		{ "5 % 0", "USAGE: division by zero" }, { ")", "USAGE: ')' is no expression" },
		{ "nosuch", "NOTFOUND: no variable, function or type nosuch" },
		{ "(struct nosuch *)0", "NOTFOUND: no struct, union, class or enum nosuch" },
		{ "1 = 2", "UNSUPPORTED: print does not change the target (== compares)" },
		{ "++1", "UNSUPPORTED: print does not change the target" },
		{ "1(2)", "UNSUPPORTED: print runs none of the target's functions" },
		{ "&1", "USAGE: the address of a value that is not in memory" },
		{ "*(void *)0", "USAGE: what a void pointer points to has no type; {TYPE} ADDRESS says one" },
		{ "99999999999999999999", "RANGE: the number 99999999999999999999 has more than 64 bits" },
		{ "0x", "USAGE: '0x' is no number" }, { "'a", "USAGE: a ' is not closed" },
		{ "sizeof(int[1152921504606846976][1152921504606846976])",
		  "RANGE: an array of more than 2^63 bytes" },
		{ "5@2", "USAGE: what stands before @ is not in memory" },
		{ "$rip", "NOTFOUND: no register $rip" },
	};

	check(world_print, rows, ARRAY_SIZE(rows));
}

TEST("10,000 parentheses, signs or brackets are one error")
{
	static const char *const signs[] = { "(", "-", "*(", "!", "sizeof ", "{int}", "a[", "1?",
					     "(int)", "a<" };

	for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
		struct str text AUTO_STR = STR_INIT;

		for (int j = 0; j < 10000; j++)
			CU_ASSERT_PTR_NULL(str_add(&text, signs[i]));
		CU_ASSERT_PTR_NOT_NULL(strstr(world_print(&world, text.at), ": "));
	}
}
