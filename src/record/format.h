/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers of the format that only its writer and its reader need (docs/record-format.md). */
#pragma once

#define RECORD_FORMAT_MAIN	1u
#define RECORD_FORMAT_MINOR	1u

/* Flags of a sample. */
#define RECORD_SAMPLE_WHOLE	1u
#define RECORD_SAMPLE_GAP	2u
