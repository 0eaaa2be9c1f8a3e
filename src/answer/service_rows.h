/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `memory service`: the processes of a service beside one another (growth/service.h). */
#pragma once

#include "answer/answer.h"
#include "growth/service.h"

struct service_row {
	int64_t pid;
	const char *name;
	uint64_t resident, pss, private, swap;
	int64_t growth;
	bool stayed;
	double bysize, bygrowth;
	const char *outlier;		/* "growth", "size" or "" */
};

extern const struct relation service_relation;

/* Those that hold most first; the one that grows before all. The rows are copies. */
struct err *service_rows(const struct service *service, struct answer *ret) MUST_CHECK;
