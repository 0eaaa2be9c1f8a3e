/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Limits on what mdbg takes from a file that a target, or somebody else, has chosen: modules, their
 * debug files, core files, /tmp/perf-PID.map. Each limit is several times what the largest known
 * programs have (a browser's library: 300 MB of code, 1.3 million symbols with 130 MB of names,
 * 700,000 FDEs), and all that one file can have together fits into 400 MB of mdbg's memory.
 *
 * A part that is over a limit is left out as a whole, never cut: a table with half of its entries
 * would give wrong answers. The user sees the message of limit_err.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* Any of these files. */
/* bytes; the limits below are about parts of the file */
#define LIMIT_FILE		(64ull << 30)
#define LIMIT_READ		(160ull << 20)	/* bytes that are read into memory */
/* bytes of a file that can be checked only by its CRC-32 */
#define LIMIT_CRC		(1ull << 30)

/* ELF files. */
#define LIMIT_SECTIONS		65535ull
#define LIMIT_SEGMENTS		1024ull		/* program headers */
#define LIMIT_STRINGS		(144ull << 20)	/* bytes of a string table */
#define LIMIT_SYMBOLS		(1ull << 21)	/* of a table */
#define LIMIT_NOTES		(1ull << 20)	/* bytes of a PT_NOTE */
#define LIMIT_FDES		(1ull << 21)
/* rows for unwinding that the CFI of a module is compiled to */
#define LIMIT_ROWS		(6ull << 20)
#define LIMIT_ALL_ROWS		(16ull << 20)	/* the same for all modules of a process */

/* Names of all modules of a process. */
/* bytes of what the demangler makes of them: three times a browser's */
#define LIMIT_NAMES		(512ull << 20)
/* frames of call sites that are kept, and bytes of their texts */
#define LIMIT_FRAMES		(1ull << 20)
#define LIMIT_TEXTS		(256ull << 20)
/* names in which the demangler crashes, or finds no end in a second */
#define LIMIT_LOST_NAMES	16ull

/* Debug information. */
#define LIMIT_UNPACKED		(256ull << 20)	/* bytes of all compressed sections of a file */
#define LIMIT_UNITS		(1ull << 18)
/* address ranges of all units, or of the functions of one unit */
#define LIMIT_RANGES		(1ull << 20)
#define LIMIT_LINES		(4ull << 20)	/* bytes of a unit's line program */
/* names of types, variables and functions: 16 bytes each */
#define LIMIT_TYPE_NAMES	(16ull << 20)

/* The folder of compiled rows. */
#define LIMIT_CACHE		(1ull << 30)	/* bytes of all its files; the oldest go */
#define LIMIT_CACHE_FILES	4096ull
#define LIMIT_CACHE_NEW		256u		/* files that are added for one process */

/* /tmp/perf-PID.map */
#define LIMIT_PERF_BYTES	(128ull << 20)
#define LIMIT_PERF_LINES	(1ull << 20)

/* Core files. Their memory may have any length. */
#define LIMIT_CORE_SEGMENTS	(1ull << 20)	/* vm.max_map_count is usually 65,530 */
/* bytes of all notes: 4 K for each of 49,000 threads */
#define LIMIT_CORE_NOTES	(192ull << 20)
#define LIMIT_CORE_THREADS	(1ull << 17)
#define LIMIT_CORE_FILES	(1ull << 19)	/* mappings in NT_FILE */

/* The log, which the target can write to. */
/* blocks of 4 GB or more: 2^47 bytes have room for half of them */
#define LIMIT_LARGE_BLOCKS	(1ull << 16)

/* Returns ERR_RANGE: "NAME: WHAT (at most MOST)". */
struct err *limit_err(const char *name, const char *what, uint64_t most) MUST_CHECK;
