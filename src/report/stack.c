/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tracebacks as text. */

#include "report/stack.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "log/log.h"
#include "report/out.h"
#include "session/session.h"
#include "symbol/symbol.h"

/* A program has fewer call sites. What a damaged log says can have any number. */
#define LINES_MOST	(1u << 19)

void event_print(const struct log *log, uint64_t time, uint32_t thread, struct out *out)
{
	uint32_t lwp = log_thread_get(log, thread).lwp;
	char text[32];

	format_time(text, sizeof(text), log_clock_realtime(log, time));
	out_f(out, " at %s", text);
	if (lwp)
		out_f(out, " by thread %u", lwp);
}

struct err *inlined_text(struct str *str, const struct symbol_frame *frame)
{
	struct err *err = str_add(str, frame->function ? frame->function : "??");

	if (!err && frame->file && frame->line)
		err = str_addf(str, " (%s:%d)", path_base(frame->file), frame->line);
	else if (!err && frame->module)
		err = str_addf(str, " [%s]", frame->module);
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

	format_hex16(start + 2, pc);
	start[18] = ' ';
	return err ? err : str_add_bytes(str, start, sizeof(start));
}

static struct err *add_entry(struct str *str, uint64_t pc, const char *name)
{
	struct err *err = add_start(str, pc, 0);

	if (!err)
		err = str_add(str, name);
	return err ? err : str_add(str, "\n");
}

struct err *frame_lines(struct str *str, struct session *session, struct symbols *symbols,
			uint64_t pc, uint32_t generation, bool entry, size_t indent)
{
	const char *name = entry ? session_entry_name(session, pc) : NULL;
	const struct symbol_frame *frames;
	struct err *err = NULL;
	size_t nr, i;

	if (name)
		return add_entry(str, pc, name);
	frames = symbols_resolve(symbols, pc, generation, !entry, &nr);
	for (i = 0; !err && i < nr; i++) {
		err = add_start(str, pc, i ? indent : 0);
		if (!err && i < nr - 1)
			err = inlined_text(str, &frames[i]);
		else if (!err)
			err = str_add(str, frames[i].module || frames[i].function ?
						   symbols_text(symbols, pc, generation, !entry) :
						   "??");
		if (!err)
			err = str_add(str, "\n");
	}
	return err;
}

static void find_uprobes(struct stack_ends *ends)
{
	struct proc_maps maps = { VEC_INIT };
	struct err *err = session_maps(ends->session, &maps);

	ends->looked = true;
	for (size_t i = 0; !err && i < maps.vec.nr; i++) {
		if (strcmp(maps.vec.at[i].path, "[uprobes]"))
			continue;
		ends->uprobes_start = maps.vec.at[i].start;
		ends->uprobes_end = maps.vec.at[i].end;
	}
	proc_maps_free(&maps);
}

const char *stack_end_text(struct stack_ends *ends, enum walk_end end, const uint64_t *pcs,
			   size_t nr)
{
	if (end != WALK_NO_MODULE || !nr)
		return walk_end_name(end);
	if (!ends->looked)
		find_uprobes(ends);
	if (pcs[nr - 1] >= ends->uprobes_start && pcs[nr - 1] < ends->uprobes_end)
		return "a uretprobe of another tool has taken the return address";
	return walk_end_name(end);
}

void stack_texts_init(struct stack_texts *texts, struct session *session, size_t indent)
{
	*texts = (struct stack_texts){ .session = session, .indent = indent,
					.ends = { .session = session } };
}

static void forget_lines(struct stack_texts *texts)
{
	size_t i;

	for (i = 0; i < texts->nr_slots; i++)
		free(texts->slots[i].at);
	free(texts->slots);
	texts->slots = NULL;
	texts->nr_slots = texts->used = 0;
}

void stack_texts_free(struct stack_texts *texts)
{
	forget_lines(texts);
	*texts = (struct stack_texts){ 0 };
}

/* The slot of this PC, or the free one where it belongs; there is always a free one. */
static struct stack_line *find_slot(struct stack_line *slots, size_t nr_slots, uint64_t pc,
				    uint32_t generation, bool entry)
{
	size_t at = (size_t)((pc + generation) * 0x9e3779b97f4a7c15 >> 32);

	for (;; at++) {
		struct stack_line *line = &slots[at & (nr_slots - 1)];

		if (!line->at ||
		    (line->pc == pc && line->generation == generation && line->entry == entry))
			return line;
	}
}

static struct err *grow(struct stack_texts *texts)
{
	size_t nr_slots = texts->nr_slots ? texts->nr_slots * 2 : 1024, i;
	struct stack_line *slots = calloc(nr_slots, sizeof(*slots));

	if (!slots)
		return err_nomem;
	for (i = 0; i < texts->nr_slots; i++) {
		const struct stack_line *line = &texts->slots[i];

		if (line->at)
			*find_slot(slots, nr_slots, line->pc, line->generation, line->entry) =
				*line;
	}
	free(texts->slots);
	texts->slots = slots;
	texts->nr_slots = nr_slots;
	return NULL;
}

static struct err *make_line(struct stack_texts *texts, uint64_t pc, uint32_t generation,
			     bool entry, struct stack_line *line)
{
	struct str text = STR_INIT;
	struct err *err = add_blanks(&text, entry ? 0 : texts->indent);

	/* Once: all that is printed was recorded before the first of it is. */
	if (!texts->symbols)
		texts->symbols = session_symbols(texts->session);
	if (!err)
		err = frame_lines(&text, texts->session, texts->symbols, pc, generation, entry,
				  texts->indent);
	if (err) {
		str_free(&text);
		return err;
	}
	*line = (struct stack_line){ pc, generation, entry, (uint32_t)text.len, text.at };
	texts->used++;
	return NULL;
}

static struct err *get_line(struct stack_texts *texts, uint64_t pc, uint32_t generation, bool entry,
			    const struct stack_line **ret)
{
	struct stack_line *line;
	struct err *err = NULL;

	if (texts->used >= LINES_MOST)
		forget_lines(texts);
	if (texts->used * 2 >= texts->nr_slots)
		err = grow(texts);
	if (err)
		return err;
	line = find_slot(texts->slots, texts->nr_slots, pc, generation, entry);
	if (!line->at)
		err = make_line(texts, pc, generation, entry, line);
	if (!err)
		*ret = line;
	return err;
}

struct err *stack_texts_print(struct stack_texts *texts, uint32_t stack, struct out *out)
{
	struct log_stack_view view = log_stack_get(session_log(texts->session), stack);
	const struct stack_line *line;
	struct err *err = NULL;
	uint32_t i;

	if (!view.nr)
		out_text(out, stack == LOG_STACK_NONE ? "(no stack)\n" :
						"(the log is damaged: it has no such stack)\n");
	for (i = 0; !err && i < view.nr; i++) {
		err = get_line(texts, view.pcs[i], view.generation, !i, &line);
		if (!err)
			out_bytes(out, line->at, line->len);
	}
	if (err || !view.nr || view.end == WALK_COMPLETE)
		return err;
	out_blanks(out, texts->indent);
	out_f(out, "(stack ends here: %s)\n",
	      stack_end_text(&texts->ends, view.end, view.pcs, view.nr));
	return NULL;
}
