/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks of text of `malloc pins`. */

#include "report/pins.h"

#include <inttypes.h>

#include "answer/pin_rows.h"
#include "answer/stack_names.h"
#include "base/cancel.h"
#include "log/log.h"
#include "report/blocks.h"
#include "report/free_text.h"
#include "report/lack_text.h"
#include "report/out.h"
#include "report/progress.h"
#include "report/rows_text.h"
#include "report/sites.h"
#include "report/traceback.h"

#define INDENT	8	/* of the traceback */

static const char *plural(uint64_t nr)
{
	return nr == 1 ? "" : "s";
}

static struct err *print_stack(const struct pins_text *text, const struct pin *pin,
			       struct stack_texts *texts, struct out *out)
{
	struct err *err = NULL;

	if (pin->stack == LOG_STACK_NONE) {
		out_text(out, "\n");
		return NULL;
	}
	if (text->by != PIN_STACK)
		out_text(out, "    most of it by\n");
	if (text->by != PIN_FUNCTION)
		err = sites_print_headline(text->names, pin->stack, out);
	out_blanks(out, INDENT);
	if (!err)
		err = traceback_texts_print(texts, pin->stack, out);
	out_text(out, "\n");
	return err;
}

static struct err *print_pin(const struct pins_text *text, size_t rank,
			     struct stack_texts *texts, struct out *out)
{
	const struct pin *pin = &text->pins->vec.at[rank];
	uint64_t all = text->pins->space.all.kept[FREE_PINNED];
	AUTO_STR struct str label = STR_INIT;
	struct err *err = pin_rows_label(text->names, text->typed, text->by, pin, &label);

	if (err)
		return err;
	out_f(out, "#%zu  %s free bytes on %" PRIu64 " page%s are kept by %" PRIu64
		   " block%s of %s bytes (%.1f %%)",
	      rank + 1, number_text_size(out, pin->bytes).at, pin->pages, plural(pin->pages),
	      pin->count, plural(pin->count), number_text_size(out, pin->held).at,
	      all ? 100.0 * (double)pin->bytes / (double)all : 0.0);
	if (label.len)
		out_f(out, ": %s", str_text(&label));
	out_text(out, "\n");
	return print_stack(text, pin, texts, out);
}

struct err *pins_print_largest(const struct pins_text *text, struct out *out)
{
	const struct pin *pin = text->pins->vec.nr ? &text->pins->vec.at[0] : NULL;
	AUTO_STR struct str name = STR_INIT;
	struct err *err;

	if (!pin)
		return NULL;
	err = pin->preattach ? pin_rows_label(text->names, text->typed, text->by, pin, &name) :
			       stack_names_headline(text->names, pin->stack, &name);
	if (err)
		return err;
	out_f(out, "Most of what live blocks keep, %s bytes, is on pages of %" PRIu64
		   " block%s of %s bytes%s%s\n",
	      number_text_size(out, pin->bytes).at, pin->count, plural(pin->count),
	      number_text_size(out, pin->held).at, pin->preattach ? ": " : " from ",
	      name.len ? str_text(&name) : "(unknown)");
	return NULL;
}

static struct err *print_blocks(const struct pins_text *text, struct out *out)
{
	const struct pins *pins = text->pins;
	struct stack_texts texts;
	struct err *err = NULL;

	traceback_texts_init(&texts, text->names->session, INDENT);
	for (size_t i = 0; !err && !out_done(out) && i < pins->vec.nr; i++) {
		err = print_pin(text, i, &texts, out);
		if (!err)
			err = cancel_check();
		progress_step("listing", i, pins->vec.nr);
	}
	traceback_texts_free(&texts);
	return err;
}

/* What would be without some of the blocks. */
static void print_without(const struct pins_text *text, struct out *out)
{
	size_t nr = text->pins->vec.nr;
	uint64_t first = text->without_first.all.kept[FREE_TRIMMED];
	uint64_t all = text->without_all.all.kept[FREE_TRIMMED];

	if (!nr)
		return;
	out_f(out, "If the blocks of #1 were freed, `malloc trim` would give back %s bytes",
	      number_text_size(out, first).at);
	if (nr > 1)
		out_f(out, "; if those of all %zu were, %s", nr, number_text_size(out, all).at);
	out_text(out, "\n");
}

static struct err *print_end(const struct pins_text *text, struct out *out)
{
	const struct pins *pins = text->pins;
	struct err *err;

	blocks_print_heap_notes(text->heap, out);
	err = lack_text_print(text->names->session, out);
	if (err)
		return err;
	out_f(out, "%zu listed of %" PRIu32 "; %s free bytes on %" PRIu64
		   " pages are kept by live blocks\n",
	      pins->vec.nr, pins->keys.nr,
	      number_text_size(out, pins->space.all.kept[FREE_PINNED]).at,
	      pins->space.all.pinned_pages);
	if (pins->others)
		out_f(out, "%s of them by blocks that do not match\n",
		      number_text_size(out, pins->others).at);
	free_text_print(&pins->space, out);
	print_without(text, out);
	blocks_print_heap_stood(text->heap, out);
	return NULL;
}

static void print_heading(struct out *out)
{
	out_heading(out, "Free Memory Kept by Live Blocks:");
}

struct err *pins_print(const struct pins_text *text, struct out *out)
{
	struct err *err;

	print_heading(out);
	err = print_blocks(text, out);
	return err ? err : print_end(text, out);
}

struct err *pins_print_brief(const struct pins_text *text, struct out *out)
{
	struct answer rows;
	struct err *err = pin_rows(text->names, text->typed, text->by, true, text->pins, &rows);

	if (err)
		return err;
	print_heading(out);
	err = rows_text_print(&rows, text->names, out);
	out_text(out, "\n");
	return err ? err : print_end(text, out);
}
