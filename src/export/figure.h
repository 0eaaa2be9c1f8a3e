/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The figures of a site, for formats that have a column for each figure. They are the figures that
 * scripts get: both come from the table site_fields (report/sites.h), which has their names.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "report/sites.h"

struct model;
struct model_site;

struct figure {
	bool known;
	bool is_real;		/* use real: for seconds and rates */
	int64_t number;
	double real;
};

/* The field must have a key. */
struct figure figure_get(const struct model *model, const struct model_site *site,
			 const struct site_field *field);
/* Returns the next field with a key, from *at on; NULL: there is none. */
const struct site_field *figure_next(size_t *at);
