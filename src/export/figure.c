/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures of a site, by the table of report/sites.h. */

#include "export/figure.h"

#include "export/model.h"

const struct site_field *figure_next(size_t *at)
{
	while (*at < site_fields_nr) {
		const struct site_field *field = &site_fields[(*at)++];

		if (field->key)
			return field;
	}
	return NULL;
}

static struct figure real(bool known, double value)
{
	return (struct figure){ .known = known, .is_real = true, .real = value };
}

struct figure figure_get(const struct model *model, const struct model_site *site,
			 const struct site_field *field)
{
	const struct site *figures = &site->figures;
	bool grown = model->growth_ns && site->part != MODEL_EARLY;

	switch (field->unit) {
	case SITE_GROWTH:
		return (struct figure){ .known = grown, .number = figures->growth };
	case SITE_RATE:
		return real(grown, figures->rate);
	case SITE_OVER:
		return real(grown, (double)model->growth_ns / 1e9);
	case SITE_AGE:
		return real(figures->oldest && !model->past, (double)site_figure(figures, field) / 1e9);
	default:
		break;
	}
	/* Of what was there before the attach only what is held is known. */
	return (struct figure){
		.known = (site->part != MODEL_EARLY || field->at == offsetof(struct site, bytes) ||
			  field->at == offsetof(struct site, count)) &&
			 (field->past || !model->past),
		.number = (int64_t)site_figure(figures, field),
	};
}
