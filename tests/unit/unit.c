/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The main of every unit test program: runs the suites of one layer. The last line is
 * "unit LAYER: N passed, N failed, N skipped"; the status is 1 if any failed or none ran.
 */

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

static unsigned skipped;

void unit_skip(const char *why)
{
	printf("SKIP %s: %s ", CU_get_current_test()->pName, why);
	skipped++;
}

int main(void)
{
	unsigned run, passed, failed;

	/* What a crash leaves unwritten would be the name of the test. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	CU_set_error_action(CUEA_FAIL);
	unit_add_suites();
	if (CU_get_error() != CUE_SUCCESS) {
		printf("unit %s: %s\n", unit_layer, CU_get_error_msg());
		return EXIT_FAILURE;
	}
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	run = CU_get_number_of_tests_run();
	failed = CU_get_number_of_tests_failed() + CU_get_number_of_suites_failed();
	passed = run - CU_get_number_of_tests_failed() - skipped;
	CU_cleanup_registry();	/* forgets the figures */
	printf("unit %s: %u passed, %u failed, %u skipped\n", unit_layer, passed, failed,
	       skipped);
	return failed || run == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
