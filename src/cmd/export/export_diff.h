/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `export FORMAT FILE diff ...`, for the formats that write stacks and not rows. */
#pragma once

#include "cmd/query/query_diff.h"
#include "export/model.h"

struct call;
struct export_format;
struct out;
struct session;

/*
 * call->argv has the words behind diff. With `sort total` behind all of them the changes are what
 * was allocated; a format with all-time figures has both anyway. *model_ret needs diff_ret, which
 * the caller has set to zeros, and frees it also after an error. ERR_STATE: what was allocated is
 * not known.
 */
struct err *export_diff(const struct call *call, const struct export_format *format,
			const char *options, struct query_diff *diff_ret,
			struct model *model_ret) MUST_CHECK;
/* Print the line about what was written, and what a reader must know of it. */
void export_diff_print(struct session *session, const struct query_diff *diff,
		       const struct model *model, const char *file, struct out *out);
