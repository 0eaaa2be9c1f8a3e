/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of settings as users write them. */

#include "cmd/shell/setting_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS	"0123456789"

struct err *setting_text_parse_percent(const char *name, const char *value, uint64_t most,
				       uint64_t *ret)
{
	size_t whole = strspn(value, DIGITS);
	const char *point = value[whole] == '.' ? value + whole + 1 : NULL;
	size_t places = point ? strspn(point, DIGITS) : 0;
	const char *end = point ? point + places : value + whole;
	uint64_t hundredths = 0;

	if (!strcmp(value, "off")) {
		*ret = 0;
		return NULL;
	}
	if (whole && whole <= 3 && places <= 2)
		hundredths = strtoull(value, NULL, 10) * 100 +
			     (places ? strtoull(point, NULL, 10) * (places == 1 ? 10 : 1) : 0);
	if (strcmp(end, "") && strcmp(end, "%"))
		hundredths = 0;
	if ((point && !places) || !hundredths || hundredths > most)
		return err_hint(err_create(ERR_USAGE, "%s: '%s' is not a percentage from 0.01 to "
					   "%" PRIu64, name, value, most / 100), "or off");
	*ret = hundredths;
	return NULL;
}

struct err *setting_text_add_percent(struct str *to, uint64_t hundredths)
{
	if (!hundredths)
		return str_add(to, "off");
	if (hundredths % 100 == 0)
		return str_addf(to, "%" PRIu64, hundredths / 100);
	return str_addf(to, "%.*f", hundredths % 10 ? 2 : 1, (double)hundredths / 100);
}

static const struct {
	const char *name;
	uint64_t ns;
} time_units[] = {
	{ "h", 3600000000000 }, { "m", 60000000000 }, { "s", 1000000000 }, { "ms", 1000000 },
	{ "us", 1000 }, { "ns", 1 },
};

struct err *setting_text_add_duration(struct str *to, uint64_t ns)
{
	size_t i = 0;

	if (!ns)
		return str_add(to, "none");
	while (ns % time_units[i].ns)
		i++;
	return str_addf(to, "%" PRIu64 "%s", ns / time_units[i].ns, time_units[i].name);
}
