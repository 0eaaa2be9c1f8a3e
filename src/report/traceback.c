/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tracebacks as text. */

#include "report/traceback.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "log/log.h"
#include "report/out.h"
#include "session/session.h"
#include "symbol/symbol.h"

/* A program has fewer call sites than this; a damaged log may have any number. */
#define LINES_MOST	(1u << 19)

struct err *traceback_inlined(struct str *str, const struct symbol_frame *frame,
			      enum symbol_names names)
{
	struct err *err = function_text(str, frame, names);

	return err ? err : str_add(str, " (inlined)");
}

static struct err *add_blanks(struct str *str, size_t n)
{
	return n ? str_addf(str, "%*s", (int)n, "") : NULL;
}

static struct err *add_start(struct str *str, uint64_t pc, size_t indent)
{
	char start[19] = "0x";
	struct err *err = add_blanks(str, indent);

	number_text_hex16(start + 2, pc);
	start[18] = ' ';
	return err ? err : str_add_bytes(str, start, sizeof(start));
}

/* Functions that the standard library hides from its users are dim, whatever the user skips. */
static bool is_internal(struct session *session, const struct symbol_frame *frame)
{
	static const char *const internal[] = { "std::_", "std::allocator", "__gnu_cxx::" };

	if (!frame->function)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(internal); i++)
		if (!strncmp(frame->brief, internal[i], strlen(internal[i])))
			return true;
	return frame_is_skipped(session, frame);
}

/* frames is NULL for an entry, which is the allocator's, so dim. */
static uint64_t dim_lines(struct session *session, const struct symbol_frame *frames, size_t nr)
{
	uint64_t dim = 0;

	for (size_t i = 0; i < MIN(nr, (size_t)64); i++)
		if (!frames || is_internal(session, &frames[i]))
			dim |= 1ull << i;
	return dim;
}

void traceback_print_lines(struct out *out, const char *text, size_t len, uint64_t dim)
{
	const char *end = text + len, *next;

	if (!dim || !out->color) {
		out_bytes(out, text, len);
		return;
	}
	for (; text < end; text = next + 1, dim >>= 1) {
		/* A line that is broken is indented by the blanks that it begins with. */
		size_t blanks = strspn(text, " ");

		next = memchr(text, '\n', (size_t)(end - text));
		out_blanks(out, blanks);
		text += blanks;
		if (dim & 1)
			out_dim(out, true);
		out_bytes(out, text, (size_t)(next - text));
		if (dim & 1)
			out_dim(out, false);
		out_text(out, "\n");
	}
}

static bool is_unnamed(const struct stack_functions *at, size_t i)
{
	return !at->entry && !at->frames[i].module && !at->frames[i].function;
}

struct err *traceback_lines(struct str *str, struct session *session, struct symbols *symbols,
			    struct stack_pc pc, size_t indent, uint64_t *dim_ret)
{
	struct stack_functions at = stack_functions(session, symbols, pc);
	const struct symbol_frame *frames = at.frames;
	struct err *err = NULL;

	if (dim_ret)
		*dim_ret = dim_lines(session, frames, at.nr);
	for (size_t i = 0; !err && i < at.nr; i++) {
		err = add_start(str, pc.pc, i ? indent : 0);
		if (!err && i < at.nr - 1)
			err = traceback_inlined(str, &frames[i], session_naming(session)->names);
		else if (!err)
			err = str_add(str, is_unnamed(&at, i) ? "??" :
				      stack_text(session, symbols, pc));
		if (is_unnamed(&at, i))
			session_naming(session)->unnamed = pc.pc;
		if (!err)
			err = str_add(str, "\n");
	}
	return err;
}

void traceback_print_word(struct session *session, struct symbols *symbols, pid_t tid,
			  struct stack_pc pc, struct out *out)
{
	out_f(out, "stack of thread %d", tid);
	if (pc.pc)
		out_f(out, ", in %s", stack_text(session, symbols, pc));
}

void traceback_texts_init(struct stack_texts *texts, struct session *session, size_t indent)
{
	*texts = (struct stack_texts){ .session = session, .indent = indent,
					.ends = { .session = session } };
}

static void forget_lines(struct stack_texts *texts)
{
	vec_each(line, &texts->lines)
		free(line->at);
	vec_free(&texts->lines);
	stack_numbers_free(&texts->numbers);
}

void traceback_texts_free(struct stack_texts *texts)
{
	forget_lines(texts);
	*texts = (struct stack_texts){ 0 };
}

/* color: the output shows which lines are dim. */
static struct err *get_line(struct stack_texts *texts, struct stack_pc pc, bool color,
			    const struct stack_line **ret)
{
	AUTO_STR struct str text = STR_INIT;
	uint64_t dim = 0;
	uint32_t number = 0;
	struct stack_line *line;
	struct err *err;

	if (texts->lines.nr >= LINES_MOST)
		forget_lines(texts);
	err = stack_number(&texts->numbers, pc, &number);
	*ret = line = err ? NULL : vec_slot(&texts->lines, number);
	if (!line)
		return err_nomem;
	if (line->at)
		return NULL;
	/*
	 * The session is asked once, since all stacks were recorded before the first one is
	 * printed.
	 */
	if (!texts->symbols)
		texts->symbols = session_symbols(texts->session);
	err = add_blanks(&text, pc.entry ? 0 : texts->indent);
	if (!err)
		err = traceback_lines(&text, texts->session, texts->symbols, pc, texts->indent,
				      color ? &dim : NULL);
	if (err)
		return err;
	*line = (struct stack_line){ take(text.at), (uint32_t)text.len, dim };
	return NULL;
}

struct err *traceback_texts_print(struct stack_texts *texts, uint32_t stack, struct out *out)
{
	struct log_stack_view view = reader_stack(session_log(texts->session), stack);
	const struct stack_line *line;
	struct err *err = NULL;

	if (!view.nr)
		out_text(out, stack == LOG_STACK_NONE ? "(no stack)\n" :
						"(the log is damaged: it has no such stack)\n");
	for (uint32_t i = 0; !err && i < view.nr; i++) {
		err = get_line(texts, (struct stack_pc){ view.pcs[i], view.generation, !i },
			       out->color, &line);
		if (!err)
			traceback_print_lines(out, line->at, line->len, line->dim);
	}
	if (err || !view.nr || view.end == WALK_COMPLETE)
		return err;
	out_blanks(out, texts->indent);
	out_f(out, "(stack ends here: %s)\n",
	      stack_end_text(&texts->ends, view.end, view.pcs, view.nr));
	return NULL;
}

struct err *traceback_print_event(struct stack_texts *texts, const char *what,
				  struct stack_event event, const char *end, struct out *out)
{
	const struct log *log = session_log(texts->session);
	uint32_t lwp = reader_thread(log, event.thread).lwp;
	char text[32];

	number_text_time(text, sizeof(text), log_clock_realtime(log, event.time));
	out_f(out, "%s at %s", what, text);
	if (lwp)
		out_f(out, " by thread %u", lwp);
	out_f(out, "%s\n", end);
	out_blanks(out, texts->indent);
	return traceback_texts_print(texts, event.stack, out);
}
