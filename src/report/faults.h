/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of `growth fault`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "heap/filter.h"
#include "session/growth/session_faults.h"

struct out;
struct stack_names;

/* Keep the sums whose stack matches a filter, which asks for function and module only. */
void faults_filter(struct session_faults *faults, const struct filter *filter,
		   const struct filter_env *env);
/* Print a paragraph for each of the first `limit` sums, the files, and what is not in them. */
struct err *faults_print(struct stack_names *names, const struct session_faults *faults,
			 uint64_t limit, struct out *out) MUST_CHECK;
/* The name of a sum's file; "" if it is no file's memory. */
const char *faults_file(const struct session_faults *faults, const struct fault_sum *sum);
