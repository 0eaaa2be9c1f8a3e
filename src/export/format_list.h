/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of the table of formats, each defined in the file of its name. */
#pragma once

#include "export/export_formats.h"

extern const struct export_format export_folded, export_flamegraph, export_pprof, export_json,
	export_csv, export_sqlite, export_massif, export_callgrind, export_heapsnapshot;
