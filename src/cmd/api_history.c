/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mdbg::history: the totals of all samples of the history. */

#include "cmd/cmd.h"
#include "cmd/values.h"
#include "session/history.h"

static Tcl_Obj *sample_dict(const struct history *history, const struct history_sample *sample)
{
	size_t i = (size_t)(sample - history->samples.at);
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_double(dict, "time", (double)sample->time_ns / 1e9);
	dict_number(dict, "bytes", sample->bytes);
	dict_number(dict, "count", sample->count);
	if (sample->rss)
		dict_number(dict, "rss", sample->rss);
	else
		dict_text(dict, "rss", "-");
	dict_number(dict, "gap", history_gap_before(history, i));
	return dict;
}

static struct err *value(struct call *call, Tcl_Obj **ret)
{
	const struct history *history = &session_history(call->session)->history;

	*ret = value_list(&history->samples, sample, sample_dict(history, sample));
	return NULL;
}

const struct cmd cmd_api_history = {
	.name		= "mdbg::history",
	.brief		= "list of dicts: the samples of the history, oldest first",
	.help		= "    time           seconds since the epoch\n"
			  "    bytes count    held by recorded blocks; estimates if the log samples\n"
			  "    rss            resident bytes of the process; `-`: not known\n"
			  "    gap            1: there was a time without samples before this one, as\n"
			  "                   after `malloc off`\n"
			  "The samples begin with the attach or the last `malloc reset`. Of old ones\n"
			  "fewer are kept, but the one with the most bytes is always kept.\n",
	.need		= call_need_recording,
	.value		= value,
};
