/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For how long the process stood still (stood_text.h). Scripts look for these lines. */

#include "report/stood_text.h"

#include "report/out.h"
#include "session/leaks.h"

void stood_text_print(struct out *out, uint64_t pause_ns, const char *no_snapshot)
{
	char text[32];

	if (!pause_ns)
		return;
	number_text_duration(text, sizeof(text), pause_ns);
	if (*no_snapshot)
		out_f(out, "It was stopped for all of the walk (%s)\n", no_snapshot);
	out_f(out, "The process stood still for %s\n", text);
}

void stood_text_print_search(struct out *out, const struct leak_marks *found)
{
	char text[32];

	if (*found->no_snapshot)
		out_f(out, "    %s: it was stopped for all of the search\n", found->no_snapshot);
	if (!found->pause_ns)
		return;
	number_text_duration(text, sizeof(text), found->pause_ns);
	out_f(out, "    the process stood still for %s%s\n", text,
	      found->snapshot ? ", and a snapshot of it was searched" : "");
}
