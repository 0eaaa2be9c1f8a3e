/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scripts and style sheets inside of mdbg (assets.h). */

#include "export/assets.h"

#include <string.h>

#include "base/embedded_file.h"
#include "export/export_file.h"

/* Made by the Makefile from the style sheets and scripts of src/export. */
extern const struct embedded_file export_assets[];

void assets_write(struct export_file *file, const char *name)
{
	for (const struct embedded_file *asset = export_assets; asset->name; asset++)
		if (!strcmp(asset->name, name))
			export_file_bytes(file, asset->start, (size_t)(asset->end - asset->start));
}
