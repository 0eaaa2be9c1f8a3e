/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The figures of a site for formats that have a column for each: those that scripts get, by the
 * same table and under the same names (site_fields, report/sites.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "report/sites.h"

struct model;
struct model_site;

struct figure {
	bool known;
	bool is_real;		/* seconds, and rates; all else is whole */
	int64_t number;
	double real;
};

/* field has a key. */
struct figure figure_get(const struct model *model, const struct model_site *site,
			 const struct site_field *field);
/* The next field with a key from *at on; NULL: there is none. */
const struct site_field *figure_next(size_t *at);
