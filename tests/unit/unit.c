/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The main of every unit test program, which has the layer's name: makes suites of the rows of TEST
 * and FIXTURE, and runs them. The last line is "unit LAYER: N passed, N failed, N skipped"; the
 * status is 1 if any failed or none ran.
 */

#define UNIT_MAIN
#include "unit.h"

/* The section, as the linker names its ends. */
extern const struct unit_row *__start_unit_rows[], *__stop_unit_rows[];

static unsigned skipped;

void unit_skip(const char *why)
{
	printf("SKIP %s: %s ", CU_get_current_test()->pName, why);
	skipped++;
}

/* A compiler leaves the rows of a file in any order. Two of one line are suites, by name then. */
static int compare_rows(const void *a_, const void *b_)
{
	const struct unit_row *a = *(const struct unit_row *const *)a_;
	const struct unit_row *b = *(const struct unit_row *const *)b_;
	int files = strcmp(a->file, b->file);

	return files ? files : a->line != b->line ? a->line - b->line : strcmp(a->name, b->name);
}

static void check(const char *name)
{
	if (CU_get_error() != CUE_SUCCESS) {
		printf("unit %s: %s: %s\n", program_invocation_short_name, name, CU_get_error_msg());
		exit(EXIT_FAILURE);
	}
}

/* "DIR/test_call_stack.c" is "call stack". */
static void suite_name(const char *file, char *name, size_t size)
{
	const char *base = strrchr(file, '/');

	snprintf(name, size, "%s", strstr(base ? base : file, "test_") + strlen("test_"));
	*strrchr(name, '.') = '\0';
	for (char *at = name; (at = strchr(at, '_'));)
		*at = ' ';
}

/* [from, to): the rows of a file. suite: one of them, or NULL if it has none. */
static void add_suite(const struct unit_row *suite, const struct unit_row **from,
		      const struct unit_row **to)
{
	static const struct unit_row none;
	const struct unit_row *each = &none;
	CU_pSuite added;
	char own[64];

	suite_name((*from)->file, own, sizeof(own));
	suite = suite ? suite : &none;
	for (const struct unit_row **row = from; row < to; row++)
		if ((*row)->before || (*row)->after)
			each = *row;
	added = CU_add_suite_with_setup_and_teardown(suite->name ? suite->name : own, suite->start,
						     suite->end, each->before, each->after);
	check(own);
	for (; from < to; from++)
		if ((*from)->run) {
			CU_add_test(added, (*from)->name, (*from)->run);
			check((*from)->name);
		}
}

static void add_suites(void)
{
	const struct unit_row **from = __start_unit_rows, **to;
	bool any;

	qsort(from, (size_t)(__stop_unit_rows - from), sizeof(*from), compare_rows);
	for (; from < __stop_unit_rows; from = to) {
		any = false;
		for (to = from; to < __stop_unit_rows && !strcmp((*to)->file, (*from)->file); to++)
			any |= (*to)->start || (*to)->end;
		if (!any)
			add_suite(NULL, from, to);
		for (const struct unit_row **row = from; row < to; row++)
			if ((*row)->start || (*row)->end)
				add_suite(*row, from, to);
	}
}

int main(void)
{
	unsigned run, passed, failed;

	/* What a crash leaves unwritten would be the name of the test. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	CU_set_error_action(CUEA_FAIL);
	add_suites();
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	run = CU_get_number_of_tests_run();
	failed = CU_get_number_of_tests_failed() + CU_get_number_of_suites_failed();
	passed = run - CU_get_number_of_tests_failed() - skipped;
	CU_cleanup_registry();	/* forgets the figures */
	printf("unit %s: %u passed, %u failed, %u skipped\n", program_invocation_short_name, passed,
	       failed, skipped);
	return failed || run == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
