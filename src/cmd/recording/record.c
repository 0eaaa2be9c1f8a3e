/* SPDX-License-Identifier: GPL-3.0-or-later */
/* record, mdbg::record: record to a folder. */

#include <inttypes.h>

#include "answer/answer.h"
#include "answer/recorder.h"
#include "cmd/recording/recording.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/shell.h"

static struct err *print_state(struct call *call)
{
	struct recorder *recorder = call->shell->recording.recorder;
	struct record_writer_state state;
	char since[32], keep[32];

	if (!recorder) {
		out_text(call->out, "Nothing is recorded.\n");
		return NULL;
	}
	state = recorder_state(recorder);
	number_text_duration(keep, sizeof(keep), state.limits.keep_ns);
	out_text(call->out, "Recorded to ");
	out_outside(call->out, (struct outside){ state.path });
	out_f(call->out, ": %" PRIu64 " files, %" PRIu64 " bytes", state.segments, state.bytes);
	if (state.from_ns) {
		number_text_time(since, sizeof(since), state.from_ns);
		out_f(call->out, ", since %s", since);
	}
	out_f(call->out, ".\nKept for %s, up to %" PRIu64 " bytes. %" PRIu64 " samples were written "
	      "by this mdbg", keep, state.limits.size, state.samples);
	if (state.lost)
		out_f(call->out, ", %" PRIu64 " were lost", state.lost);
	out_text(call->out, ".\n");
	if (recorder_trouble(recorder))
		out_f(call->out, "Nothing can be written now: %s.\n", recorder_trouble(recorder));
	return NULL;
}

static struct err *begin(struct call *call)
{
	struct record_limits limits = RECORDING_LIMITS;
	static const char *const words[] = { "keep", "size", "children" };
	const char *value[ARRAY_SIZE(words)] = { NULL };
	struct err *err;

	for (int i = 1; i < call->argc; i += 2) {
		size_t word = 0;

		while (word < ARRAY_SIZE(words) && strcmp(call->argv[i], words[word]))
			word++;
		if (word == ARRAY_SIZE(words))
			return call_bad_word(call->argv[i]);
		if (i + 1 == call->argc)
			return err_create(ERR_USAGE, "a value goes after %s", call->argv[i]);
		value[word] = call->argv[i + 1];
	}
	if (value[2] && strcmp(value[2], "off"))
		return err_create(ERR_USAGE, "'%s': children may be off", value[2]);
	err = recording_limits(value[0], value[1], &limits);
	if (!err)
		err = recording_begin(call->shell, call->argv[0], &limits);
	if (!err && value[2])
		recorder_without_children(call->shell->recording.recorder);
	return err;
}

static struct err *sample_now(struct call *call)
{
	struct recorder *recorder = call->shell->recording.recorder;

	return recorder ? recorder_now(recorder) : err_create(ERR_STATE, "nothing is recorded");
}

static struct err *run(struct call *call)
{
	if (!call->argc)
		return print_state(call);
	if (call->argc == 1 && !strcmp(call->argv[0], "off"))
		return recording_end(call->shell, "record off");
	if (call->argc == 1 && !strcmp(call->argv[0], "now"))
		return sample_now(call);
	return begin(call);
}

struct state_row {
	struct record_writer_state is;
	const char *trouble;
};

#define IS(kind, member)	COLUMN(kind, struct state_row, member)

static const struct column state_columns[] = {
	{ "recording", NULL, "the folder", IS(TEXT, is.path) },
	{ "files", NULL, NULL, IS(NUMBER, is.segments) },
	{ "bytes", NULL, "of the files", IS(BYTES, is.bytes) },
	{ "from", NULL, "the first sample", IS(TIME, is.from_ns), .flags = COLUMN_0_UNKNOWN },
	{ "samples", NULL, "that this mdbg has written", IS(NUMBER, is.samples) },
	{ "lost", NULL, "samples and events that could not be written", IS(NUMBER, is.lost) },
	{ "keep", NULL, "how old files may be", IS(AGE, is.limits.keep_ns) },
	{ "size", NULL, "bytes that the files may have", IS(BYTES, is.limits.size) },
	{ "trouble", NULL, "why nothing can be written now, or empty", IS(TEXT, trouble) },
};

static const struct relation state_relation = RELATION("record", state_columns, struct state_row);

static struct err *rows(struct call *call, struct answer *ret)
{
	const struct recorder *recorder = call->shell->recording.recorder;

	*ret = (struct answer)ANSWER_KEPT(&state_relation);
	if (call->argc)
		return call_bad_word(call->argv[0]);
	return !recorder ? NULL : answer_add(ret, &(struct state_row){
		recorder_state(recorder), recorder_trouble(recorder) });
}

static const struct twin twin = {
	.name		= "mdbg::record",
	.usage		= "",
	.brief		= "list of one dict: what is recorded; or none",
	.of		= &state_relation,
	.rows		= rows,
};

const struct cmd cmd_record = {
	.name		= "record",
	.usage		= "?DIR ?keep AGE? ?size BYTES? ?children off?|now|off?",
	.brief		= "record to a folder, for days",
	.help		= "Without a word it says what is recorded. `record off` ends it; so does the\n"
			  "end of mdbg, but not that of the process. `record now` takes a sample with all\n"
			  "sites at once.\n"
			  "\n"
			  "A sample has the totals, and as often as the cost allows all sites with their\n"
			  "stacks, memory by kind, the account, growth, and the machine's memory. A\n"
			  "second has one if anything has changed, and a minute has one in any case.\n"
			  "Older samples are thinned: 60 s after an hour, 3 minutes after six, 15\n"
			  "minutes after a day, an hour after a week. The last 10 s before the end of a\n"
			  "process are not. Events are kept: attach, exec, end (with its reason, if the\n"
			  "kernel killed it for lack of memory), marks, new modules.\n"
			  "\n"
			  "Children of the process are summed up by program when they end (`replay\n"
			  "children`), however short they were. For that the kernel tells mdbg of all\n"
			  "ends of processes of the machine; `children off` does without.\n"
			  "\n"
			  "AGE (28d) and BYTES (1G) bound the folder, which is made if it is missing.\n"
			  "Nobody else may be able to write to it. One mdbg records to a folder; any\n"
			  "number may read it meanwhile (`mdbg --replay DIR`).\n"
			  "\n"
			  "Recording takes about a hundredth of a core. The process stands still for\n"
			  "the account and growth only, every five minutes or more rarely, and for no\n"
			  "longer than `set max-pause`. Meanwhile mdbg's own history has fewer samples,\n"
			  "and the peak is looked for every 16 ms instead of every 4.\n"
			  "\n"
			  "A full disk is no error: mdbg says so once, and goes on when there is room.\n"
			  "\n"
			  "Errors: {MDBG USAGE}, {MDBG STATE} (it is recorded already), {MDBG BUSY}\n"
			  "(another mdbg records to DIR), {MDBG PERM}.\n",
	.example	= "record /var/lib/mdbg/web keep 7d size 200M\n",
	.run		= run,
	.twin		= &twin,
	.max_args	= 7,
	.complete	= COMPLETE_FILES,
};
