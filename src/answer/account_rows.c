/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `memory account`. */

#include "answer/account_rows.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "session/account.h"
#include "session/replay/session_replay_figures.h"

#define IS(kind, member)	COLUMN(kind, struct account_row, member)

static const struct column account_columns[] = {
	{ "part", "PART", NULL, IS(TEXT, part), .flags = COLUMN_BRIEF },
	{ "where", NULL, "in (these add up), sum, of (counted above), beside (not resident)",
	  IS(TEXT, where) },
	{ "bytes", ">BYTES", NULL, IS(BYTES, bytes), .flags = COLUMN_BRIEF | COLUMN_MAX_UNKNOWN },
	{ "share", ">SHARE", "of the sum, in percent", IS(REAL, share),
	  COLUMN_WITH(struct account_row, shared), .flags = COLUMN_BRIEF },
	{ "note", "NOTE", NULL, IS(TEXT, note), .flags = COLUMN_BRIEF },
};

const struct relation account_relation = RELATION("memory_account", account_columns,
						  struct account_row);

static struct err *add_tops(const struct account_heap *heap, struct str *to)
{
	return str_addf(to, " (%" PRIu32 "; heap %u has most, %" PRIu64 ")", heap->other_tops,
			heap->largest, heap->largest_bytes);
}

static struct err *add_files(const struct account_beside *beside, struct str *to)
{
	const struct held_file *most = NULL;

	vec_each(file, &beside->files.vec)
		if (!most || file->bytes - file->mapped > most->bytes - most->mapped)
			most = file;
	if (!most)
		return NULL;
	return str_addf(to, " (%zu%s; most: %d, %s)", beside->files.vec.nr,
			beside->files.cut ? " and perhaps more" : "", most->fd, most->name);
}

static struct err *add_sockets(const struct held_files *files, struct str *to)
{
	const struct held_socket *most = NULL;
	size_t unknown;

	account_sockets(files, &unknown);
	vec_each(is, &files->sockets)
		if (is->bytes != SOCKET_MEMORY_UNKNOWN && (!most || is->bytes > most->bytes))
			most = is;
	if (!most)
		return NULL;
	return str_addf(to, " (%zu; most: descriptor %d, %" PRIu64 ")", files->sockets.nr - unknown,
			most->fd, most->bytes);
}

/* What is known of this one beyond its bytes. */
static struct err *add_detail(const struct session_account *is, enum account_part part,
			      struct str *to)
{
	const struct account_heap *heap = &is->heap;

	switch (part) {
	case ACCOUNT_HELD:
		return str_addf(to, " (%" PRIu64 " blocks)", heap->recorded + heap->early);
	case ACCOUNT_TOPS:
		return heap->other_tops ? add_tops(heap, to) : NULL;
	case ACCOUNT_DESCRIPTORS:
		return add_files(&is->beside, to);
	case ACCOUNT_SOCKETS:
		return add_sockets(&is->beside.files, to);
	case ACCOUNT_STACKS:
		return is->threads_known ? NULL : str_add(to, ", also of ended ones: not told apart");
	default:
		return NULL;
	}
}

/* By enum account_where. */
static const char *const words[] = {
	[ACCOUNT_IN] = "in", [ACCOUNT_SUM] = "sum", [ACCOUNT_OF] = "of", [ACCOUNT_BESIDE] = "beside",
};

static bool is_shown(bool all, bool sum, uint64_t bytes)
{
	return all || sum || (bytes && bytes != MEMORY_UNKNOWN);
}

static struct err *add_row(const struct session_account *is, enum account_part part,
			   struct answer *ret)
{
	uint64_t bytes = is->account.part[part], all = is->account.part[ACCOUNT_ALL];
	enum account_where where = account_where(part);
	AUTO_STR struct str note = STR_INIT;
	struct account_row row = {
		.part = account_name(part), .where = words[where], .bytes = bytes,
		.shared = where != ACCOUNT_BESIDE && bytes != MEMORY_UNKNOWN && all,
	};
	struct err *err = str_addf(&note, "%s%s", where == ACCOUNT_OF ? "of all: " :
				   where == ACCOUNT_BESIDE ? "not in it: " : "",
				   account_what(part));

	if (!err)
		err = add_detail(is, part, &note);
	if (err)
		return err;
	row.note = str_text(&note);
	row.share = row.shared ? 100.0 * (double)bytes / (double)all : 0;
	return answer_add(ret, &row);
}

struct err *account_rows(const struct session_account *account, bool all, struct answer *ret)
{
	struct err *err = NULL;

	*ret = (struct answer)ANSWER_KEPT(&account_relation);
	for (unsigned part = 0; !err && part < ACCOUNT_PARTS; part++) {
		uint64_t bytes = account->account.part[part];

		if (is_shown(all, part == ACCOUNT_ALL, bytes))
			err = add_row(account, part, ret);
	}
	return err;
}

static struct err *add_recorded(const struct session_replay_part *part, uint64_t all,
				struct answer *ret)
{
	/* In a recording they are counted from 1. */
	enum account_where where = (enum account_where)(part->where - 1);
	struct account_row row = {
		.part = part->part, .where = words[where], .note = part->note,
		.bytes = part->bytes,
		.shared = where != ACCOUNT_BESIDE && part->bytes != MEMORY_UNKNOWN && all,
	};

	row.share = row.shared ? 100.0 * (double)part->bytes / (double)all : 0;
	return answer_add(ret, &row);
}

struct err *account_rows_recorded(struct session *session, bool all, uint64_t *time_ret,
				  struct answer *ret)
{
	struct session_replay_account account;
	struct err *err = session_replay_figures_account(session, &account);
	uint64_t sum = 0;

	*ret = (struct answer)ANSWER_KEPT(&account_relation);
	vec_each(part, &account.vec)
		if (part->where == ACCOUNT_SUM + 1 && part->bytes != MEMORY_UNKNOWN)
			sum = part->bytes;
	vec_each_while(part, &account.vec, !err)
		if (part->where - 1 < ARRAY_SIZE(words) &&
		    is_shown(all, part->where == ACCOUNT_SUM + 1, part->bytes))
			err = add_recorded(part, sum, ret);
	*time_ret = account.time_ns;
	vec_free(&account.vec);
	return err;
}
