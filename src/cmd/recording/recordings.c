/* SPDX-License-Identifier: GPL-3.0-or-later */
/* recordings, mdbg::recordings: what recordings have, without opening them as a target. */

#include "answer/answer.h"
#include "base/cleanup.h"
#include "cmd/query/query.h"
#include "cmd/shell/cmd.h"
#include "record/reader.h"

#define PIDS_MOST	8u	/* that are named */

struct recording_row {
	const char *recording, *name, *pids;
	uint64_t processes, left_out, from, to, samples, gaps, bytes, damaged;
	bool written;
};

#define IS(kind, member)	COLUMN(kind, struct recording_row, member)

static const struct column recording_columns[] = {
	{ "recording", "RECORDING", "the folder", IS(TEXT, recording), .flags = COLUMN_BRIEF },
	{ "name", "NAME", "of its first process", IS(TEXT, name), .flags = COLUMN_BRIEF },
	{ "processes", ">PROCESSES", NULL, IS(NUMBER, processes), .flags = COLUMN_BRIEF },
	{ "leftout", ">LEFTOUT", "later processes that are left out: more than 65,536",
	  IS(NUMBER, left_out), .flags = COLUMN_BRIEF },
	{ "pids", "PIDS", "of the first ones", IS(TEXT, pids), .flags = COLUMN_BRIEF },
	{ "from", "FROM", "the first sample", IS(TIME, from),
	  .flags = COLUMN_0_UNKNOWN | COLUMN_BRIEF },
	{ "to", "TO", "the last sample", IS(TIME, to), .flags = COLUMN_0_UNKNOWN | COLUMN_BRIEF },
	{ "samples", ">SAMPLES", NULL, IS(NUMBER, samples), .flags = COLUMN_BRIEF },
	{ "gaps", ">GAPS", "how often nothing was recorded of a process for a time",
	  IS(NUMBER, gaps), .flags = COLUMN_BRIEF },
	{ "bytes", ">BYTES", "of its files", IS(BYTES, bytes), .flags = COLUMN_BRIEF },
	{ "damaged", ">DAMAGED", "bytes of its files that are left out", IS(BYTES, damaged),
	  .flags = COLUMN_BRIEF },
	{ "written", NULL, "1: a recorder writes to it now", IS(NUMBER, written) },
};

static const struct relation recording_relation =
	RELATION("recordings", recording_columns, struct recording_row);

static struct err *add_files(struct record_reader *reader, struct recording_row *row)
{
	struct record_segments segments = { VEC_INIT };
	struct err *err = record_reader_segments(reader, &segments);

	vec_each(segment, &segments.vec) {
		row->bytes += segment->bytes;
		row->damaged += segment->damaged;
	}
	vec_free(&segments.vec);
	return err;
}

static struct err *add_samples(struct record_reader *reader, struct recording_row *row)
{
	struct record_moments moments = { VEC_INIT };
	struct err *err = record_reader_moments(reader, 0, 0, UINT64_MAX, &moments);
	VEC(bool) begun = VEC_INIT;

	vec_each(moment, &moments.vec) {
		bool *known = vec_slot(&begun, moment->target);

		row->gaps += moment->gap && known && *known;
		if (known)
			*known = true;
		row->from = row->from ? MIN(row->from, moment->time_ns) : moment->time_ns;
		row->to = MAX(row->to, moment->time_ns);
	}
	row->samples = moments.vec.nr;
	vec_free(&moments.vec);
	vec_free(&begun);
	return err;
}

static struct err *add_targets(struct record_reader *reader, struct recording_row *row,
			       struct str *pids)
{
	struct record_target_list list = { VEC_INIT };
	struct err *err = record_reader_targets(reader, &list);

	for (size_t i = 0; !err && i < MIN(list.vec.nr, (size_t)PIDS_MOST); i++)
		err = str_addf(pids, "%s%d", i ? " " : "",
			       record_reader_target(reader, list.vec.at[i])->pid);
	if (!err && list.vec.nr > PIDS_MOST)
		err = str_add(pids, " ...");
	row->processes = list.vec.nr;
	row->left_out = record_reader_targets_left_out(reader);
	row->pids = str_text(pids);
	row->name = !err && list.vec.nr ? record_reader_string(reader,
		record_reader_target(reader, list.vec.at[0])->name) : NULL;
	vec_free(&list.vec);
	return err;
}

static struct err *add_recording(const char *folder, struct answer *ret)
{
	AUTO_STR struct str pids = STR_INIT;
	struct recording_row row = { .recording = folder };
	struct record_reader *reader;
	struct err *err = record_reader_open(folder, &reader);

	if (err)
		return err;
	row.written = record_reader_is_written(reader);
	err = add_files(reader, &row);
	if (!err)
		err = add_samples(reader, &row);
	if (!err)
		err = add_targets(reader, &row, &pids);
	if (!err)
		err = answer_add(ret, &row);
	record_reader_close(reader);
	return err;
}

static struct err *rows(struct call *call, struct answer *ret)
{
	struct err *err = NULL;

	*ret = (struct answer)ANSWER_KEPT(&recording_relation);
	for (int i = 0; !err && i < call->argc; i++)
		err = add_recording(call->argv[i], ret);
	return err;
}

static const struct twin twin = {
	.name		= "mdbg::recordings",
	.brief		= "list of dicts: the recordings of `recordings`",
	.of		= &recording_relation,
	.rows		= rows,
};

const struct cmd cmd_recordings = {
	.name		= "recordings",
	.usage		= "DIR ...",
	.brief		= "what recordings have: processes, times, gaps, bytes",
	.help		= "Each DIR is a recording that `mdbg --record DIR` has made; it may be written\n"
			  "to now. `mdbg --replay DIR` opens it. Of more than 65,536 processes the later\n"
			  "ones are left out, with their samples and events: LEFTOUT counts them.\n"
			  "\n"
			  "Errors: {MDBG NOTFOUND}: there is no recording; {MDBG UNSUPPORTED}: one of a\n"
			  "later mdbg.\n",
	.example	= "recordings {*}[glob /var/lib/mdbg/*]\n",
	.twin		= &twin,
	.min_args	= 1,
	.max_args	= CMD_ANY,
	.complete	= COMPLETE_FILES,
};
