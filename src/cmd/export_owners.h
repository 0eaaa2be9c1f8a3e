/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `export heapsnapshot FILE`: all blocks with their pointers. */
#pragma once

#include "export/export_formats.h"

struct call;
struct out;

struct exported_owners {
	uint64_t blocks, bytes, pointers;
};

/* call has the words behind FILE, which must be none. */
struct err *export_owners(const struct call *call, const struct export_format *format,
			  const char *name, struct export_done *done_ret,
			  struct exported_owners *ret) MUST_CHECK;
/* Print what was written, and what the answers of the target lack. */
struct err *export_owners_print(const struct call *call, const char *name,
				const struct exported_owners *owners, struct out *out) MUST_CHECK;
