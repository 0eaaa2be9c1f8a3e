/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types by the names of functions (frame_type.h). */

#include "answer/frame_type.h"

#include <ctype.h>
#include <string.h>

#include "answer/stack.h"
#include "answer/stack_names.h"
#include "log/log.h"
#include "session/session.h"

/* What has one of these names, or begins with it as a whole word, allocates for its caller. */
static const char *const passing[] = {
	"operator new", "malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign",
	"std::__1::__libcpp_allocate", "std::__1::__libcpp_operator_new",
	"__rust_alloc", "__rustc", "__rdl_alloc", "__rust_realloc", "__rdl_realloc",
	"__rust_alloc_zeroed", "__rdl_alloc_zeroed",
	"std::sys::alloc", "alloc::alloc::alloc", "alloc::alloc::alloc_zeroed",
	"alloc::alloc::exchange_malloc", "alloc::alloc::realloc", "alloc::alloc::Global",
	"<alloc::alloc::Global", "<std::alloc::System", "alloc::boxed::box_new_uninit",
	"alloc::raw_vec::finish_grow", "alloc::raw_vec::RawVecInner",
	"<alloc::raw_vec::RawVecInner",
};

/* A member function of a template: its first argument is the type. */
static const struct {
	const char *begin, *member;
	bool needs_lines;	/* it runs functions of T, which may have been inlined */
} templates[] = {
	{ "std::__new_allocator<", ">::allocate", false },
	{ "__gnu_cxx::new_allocator<", ">::allocate", false },
	{ "std::allocator<", ">::allocate", false },
	{ "std::__1::allocator<", ">::allocate", false },
	{ "std::__cxx11::basic_string<", ">::", false },
	{ "std::__1::basic_string<", ">::", false },
	{ "<alloc::boxed::Box<", ">>::new", false },
	{ "<alloc::vec::Vec<", ">>::", true },
	{ "<alloc::raw_vec::RawVec<", ">>::", false },
};

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool is_passing(const char *function)
{
	for (size_t i = 0; i < ARRAY_SIZE(passing); i++) {
		char next = begins(function, passing[i]) ? function[strlen(passing[i])] : '_';

		if (next != '_' && !isalnum((unsigned char)next))
			return true;
	}
	return false;
}

/*
 * The first argument of a template behind its `<`: *len_ret letters; *end_ret is at the `>` behind
 * the last one. False: the name is not understood.
 */
static bool first_argument(const char *text, size_t *len_ret, const char **end_ret)
{
	int depth = 0;
	size_t len = 0;

	if (strstr(text, "operator"))
		return false;
	for (const char *at = text; *at; at++) {
		if (*at == '>' && at > text && at[-1] == '-')
			continue;
		if (strchr("<([{", *at))
			depth++;
		if (!depth && (*at == '>' || *at == ',') && !len)
			len = (size_t)(at - text);
		if (!depth && *at == '>') {
			*len_ret = len;
			*end_ret = at;
			return len;
		}
		if (strchr(">)]}", *at) && !depth--)
			return false;
	}
	return false;
}

/* Rust's older names have the letters of the source there: T, and A for the allocator. */
static bool is_parameter(const char *type, size_t len)
{
	return len == 1 && isupper((unsigned char)*type);
}

static struct err *add_argument(const char *text, const char *member, struct str *ret,
				enum frame_type *kind_ret)
{
	const char *end;
	size_t len;

	if (!first_argument(text, &len, &end) || is_parameter(text, len) ||
	    !begins(end, member))
		return NULL;
	while (len && text[len - 1] == ' ')
		len--;
	*kind_ret = FRAME_TYPE_FOUND;
	return str_add_bytes(ret, text, len);
}

/* The function's own name comes behind the type that it returns. */
static const char *made_unique(const char *function)
{
	static const char *const names[] = { "std::make_unique<", "std::__1::make_unique<" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *at = strstr(function, names[i]);

		if (at && (at == function || at[-1] == ' '))
			return at + strlen(names[i]);
	}
	return NULL;
}

struct err *frame_type_of(const char *function, bool lines, struct str *ret,
			  enum frame_type *kind_ret)
{
	const char *argument;

	*kind_ret = FRAME_TYPE_NONE;
	if (!function)
		return NULL;
	if (is_passing(function)) {
		*kind_ret = FRAME_TYPE_PASS;
		return NULL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(templates); i++)
		if (begins(function, templates[i].begin) && (lines || !templates[i].needs_lines))
			return add_argument(function + strlen(templates[i].begin),
					    templates[i].member, ret, kind_ret);
	argument = lines ? made_unique(function) : NULL;
	return argument ? add_argument(argument, ">", ret, kind_ret) : NULL;
}

struct err *frame_type_of_stack(struct stack_names *names, uint32_t stack, struct str *ret)
{
	enum frame_type kind = FRAME_TYPE_PASS;
	struct log_stack_view view;
	struct symbols *symbols;
	struct err *err = NULL;

	if (stack == LOG_STACK_NONE)
		return NULL;
	view = reader_stack(session_log(names->session), stack);
	symbols = view.nr ? session_symbols(names->session) : NULL;
	for (uint32_t i = 0; !err && kind == FRAME_TYPE_PASS && i < view.nr; i++) {
		struct stack_functions at = stack_functions(names->session, symbols,
			(struct stack_pc){ view.pcs[i], view.generation, !i });

		for (size_t j = 0; !err && !at.entry && kind == FRAME_TYPE_PASS && j < at.nr; j++)
			err = frame_type_of(at.frames[j].function, at.frames[j].line, ret, &kind);
	}
	return err;
}
