/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /proc/kallsyms, torn or hostile. */

#include <stdlib.h>
#include <string.h>

#include "os/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	FILE *file = len ? fmemopen((void *)(uintptr_t)bytes, len, "r") : NULL;
	struct kallsyms syms;

	if (!file)
		return 0;
	if (!kallsyms_parse(file, &syms)) {
		for (size_t i = 0; i < syms.vec.nr; i++) {
			const struct kallsyms_name *found = kallsyms_find(&syms,
									  syms.vec.at[i].address);

			if (!found || found->address != syms.vec.at[i].address ||
			    !*kallsyms_text(&syms, found->name))
				abort();
		}
	}
	kallsyms_free(&syms);
	fclose(file);
	return 0;
}
