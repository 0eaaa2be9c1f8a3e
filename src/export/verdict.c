/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The three sentences that a report begins with (verdict.h). */

#include "export/verdict.h"

#include <inttypes.h>

#include "report/out.h"

struct err *verdict_size(struct str *to, uint64_t bytes)
{
	static const char units[] = "KMGTPE";
	double value = (double)bytes / 1024;
	unsigned unit = 0;

	if (bytes < 1024)
		return str_addf(to, "%" PRIu64 " bytes", bytes);
	for (; value >= 1024; value /= 1024)
		unit++;
	return str_addf(to, "%.1f %ciB", value, units[unit]);
}

/* Add a text, a size in words, and another text. */
static struct err *add_size(struct str *to, const char *before, uint64_t bytes, const char *behind)
{
	struct err *err = str_add(to, before);

	if (!err)
		err = verdict_size(to, bytes);
	return err ? err : str_add(to, behind);
}

static struct err *add_blocks(struct str *to, uint64_t count)
{
	return str_addf(to, " in %" PRIu64 " block%s", count, count == 1 ? "" : "s");
}

/* The largest part may be blocks that nobody has seen being allocated. */
static struct err *say_part(const struct verdict_facts *facts, struct str *to)
{
	bool early = facts->early_bytes > facts->top_bytes;
	uint64_t part = early ? facts->early_bytes : facts->top_bytes;
	struct err *err;

	if (!part || (!early && !facts->top))
		return NULL;
	err = add_size(to, "; the largest part, ", part, "");
	if (!err)
		err = str_addf(to, " (%.0f %%), ", 100.0 * (double)part / (double)facts->bytes);
	if (err)
		return err;
	return early ? str_add(to, "is from before the attach, and where it was allocated is not known") :
		       str_addf(to, "was allocated in %s", facts->top);
}

static struct err *say_resident(const struct verdict_facts *facts, struct str *to)
{
	struct err *err;

	if (!facts->resident)
		return NULL;
	err = add_size(to, "", facts->resident, " are in memory");
	for (unsigned i = 0; !err && i < VERDICT_PARTS &&
	     facts->part[i].bytes >= facts->resident / 100; i++) {
		err = add_size(to, i ? "; " : ": ", facts->part[i].bytes, "");
		if (!err)
			err = str_addf(to, " (%.0f %%) %s", 100.0 * (double)facts->part[i].bytes /
				       (double)facts->resident, facts->part[i].what);
	}
	return err ? err : str_add(to, ". ");
}

static struct err *say_most(const struct verdict_facts *facts, struct str *to)
{
	struct err *err = say_resident(facts, to);

	if (err)
		return err;
	if (!facts->bytes && !facts->count)
		return str_addf(to, "The process %s no memory that was recorded.",
				facts->ended ? "held, when it ended," : "holds");
	err = str_addf(to, "The process %s%s ", facts->ended ? "held, when it ended," : "holds",
		       facts->sampled ? " by estimate" : "");
	if (!err)
		err = add_size(to, "", facts->bytes, "");
	if (!err)
		err = add_blocks(to, facts->count);
	if (!err)
		err = say_part(facts, to);
	return err ? err : str_add(to, ".");
}

static struct err *add_change(struct str *to, uint64_t from, uint64_t now)
{
	if (from == now)
		return str_add(to, "not changed");
	return add_size(to, now > from ? "grown by " : "shrunk by ",
			now > from ? now - from : from - now, "");
}

/*
 * Recorded blocks may grow while the process does not, since it frees blocks from before the
 * attach. So the resident memory is told beside them.
 */
static struct err *say_growth(const struct verdict_facts *facts, struct str *to)
{
	uint64_t from = facts->then_bytes, now = facts->now_bytes;
	char over[64];
	struct err *err;

	if (!facts->over_ns)
		return str_add(to, "Whether it grows is not known yet");
	number_text_duration(over, sizeof(over), facts->over_ns);
	if (from == now && !facts->older_bytes)
		return str_addf(to, "In the last %s its recorded blocks have neither grown nor shrunk",
				over);
	err = str_addf(to, "In the last %s its recorded blocks have ", over);
	if (!err)
		err = add_change(to, from, now);
	if (!err && facts->older_bytes)
		err = add_size(to, ", while blocks from before the attach of ", facts->older_bytes,
			       " were freed");
	if (!err && facts->older_unknown && now > from)
		err = str_add(to, ", less what was freed of blocks from before the attach, which is "
				  "not known");
	if (!err && facts->then_rss && facts->now_rss) {
		err = str_add(to, ", and its resident memory has ");
		if (!err)
			err = add_change(to, facts->then_rss, facts->now_rss);
	}
	if (err || !facts->grower)
		return err;
	number_text_duration(over, sizeof(over), facts->grower_ns);
	err = str_addf(to, "; %s has grown most, by ", facts->grower);
	if (!err)
		err = verdict_size(to, facts->grower_bytes);
	return err ? err : str_addf(to, " in %s", over);
}

/* What the parts that are worth a word are measured by. */
static uint64_t whole(const struct verdict_facts *facts)
{
	return MAX(facts->bytes, facts->resident);
}

/* Leaks that are a part worth naming. */
static bool loses(const struct verdict_facts *facts)
{
	return facts->lost_blocks && facts->lost_bytes >= whole(facts) / 100;
}

static struct err *say_lost(const struct verdict_facts *facts, struct str *to)
{
	struct err *err;

	if (facts->no_leaks)
		return str_addf(to, ", and leaks could not be looked for (%s).", facts->no_leaks);
	if (!facts->lost_blocks)
		return str_add(to, ", and no block is definitely lost.");
	if (!loses(facts))
		return str_add(to, ", and next to nothing is definitely lost.");
	err = add_size(to, ", and ", facts->lost_bytes, "");
	if (!err)
		err = add_blocks(to, facts->lost_blocks);
	return err ? err : str_add(to, " are definitely lost.");
}

/*
 * Where it is not known how much was freed of blocks from before the attach, the process grows if
 * half of its sites' growth shows in its resident memory.
 */
static bool may_turn_over(const struct verdict_facts *facts)
{
	uint64_t grown = facts->now_bytes - facts->then_bytes;

	return facts->older_unknown &&
	       facts->now_rss - MIN(facts->now_rss, facts->then_rss) < grown / 2;
}

/* Growth that is worth a look: not of a few bytes that come and go. */
static bool grows(const struct verdict_facts *facts)
{
	return facts->grower && facts->now_bytes > facts->then_bytes &&
	       facts->now_bytes - facts->then_bytes > facts->older_bytes && !may_turn_over(facts) &&
	       facts->grower_bytes >= whole(facts) / 100;
}

/* A place that has a tenth of all, to begin with if memory is to be saved. */
static bool has_top(const struct verdict_facts *facts)
{
	return facts->top && facts->top_bytes >= whole(facts) / 10;
}

static struct err *say_look_first(const struct verdict_facts *facts, struct str *to)
{
	if (loses(facts))
		return str_addf(to, "Look first at the leaks%s%s: nothing points to these blocks any more, "
				"so the code that made them forgets to free them.",
				facts->loser ? ", above all those of " : "",
				facts->loser ? facts->loser : "");
	return str_addf(to, "Look first at %s: see whether it goes on growing, and who keeps its "
			"blocks (`malloc find ADDRESS`).", facts->grower);
}

/* Its looks are not the samples by which the blocks are said to grow: it may have seen more. */
static struct err *say_judged(const struct verdict_facts *facts, struct str *to)
{
	char over[64];

	number_text_duration(over, sizeof(over), facts->judged_ns);
	return str_addf(to, "The verdict of `memory`%s%s: %s. Ask `%s`.",
			facts->judged_ns ? ", compared over " : "", facts->judged_ns ? over : "",
			facts->judged, facts->ask);
}

static struct err *say_next(const struct verdict_facts *facts, struct str *to)
{
	uint64_t found = loses(facts) ? facts->lost_bytes : grows(facts) ? facts->grower_bytes : 0;

	if (facts->judged && facts->judged_bytes > found)
		return say_judged(facts, to);
	if (found)
		return say_look_first(facts, to);
	if (!facts->over_ns && facts->ended)
		return str_add(to, "Make a report while the program is at work: then it says what grows, "
			       "and what is lost.");
	if (!facts->over_ns)
		return str_add(to, "Let the program work for a while, and make the report again: then it "
			       "says what has grown.");
	return str_addf(to, "Nothing that is known here asks for a repair%s%s.",
			has_top(facts) ? "; to save memory, begin with " : "",
			has_top(facts) ? facts->top : "");
}

struct err *verdict_write(const struct verdict_facts *facts,
			  struct str sentences[VERDICT_SENTENCES])
{
	struct err *err = say_most(facts, &sentences[0]);

	if (!err)
		err = say_growth(facts, &sentences[1]);
	if (!err)
		err = say_lost(facts, &sentences[1]);
	return err ? err : say_next(facts, &sentences[2]);
}
