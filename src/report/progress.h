/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Progress of a command that takes over a second. It is a line on standard error, if that is a
 * terminal:
 *
 *	mdbg: malloc leaks: 12 s
 *	mdbg: listing allocations: 40 %
 *
 * The line is drawn four times a second, and wiped before anything else is written there. A thread
 * of its own draws it, since the main thread may wait for the tracer, or for a library that reads
 * symbols. All of it is process-wide, since there is one terminal and one command at work.
 *
 *	IDLE ---begin---> QUIET ---a second---> SHOWN
 *	  ^                 |                     |
 *	  +-------end-------+---------end---------+
 *
 * Between hide and show, which nest, nothing is drawn. After progress_off nothing is drawn before
 * the next begin: the results appear by themselves, or another program uses the terminal.
 */
#pragma once

#include <stdint.h>

/*
 * A command begins; `what` is its name, which lives until the end. If commands run inside of each
 * other, the outermost is shown.
 */
void progress_begin(const char *what);
void progress_end(void);
/*
 * A part of the command has done `done` of `total`. This is cheap enough for every turn of a loop.
 * With NULL, 0, 0 that part is over, and the command goes on.
 */
void progress_step(const char *what, uint64_t done, uint64_t total);
void progress_hide(void);
void progress_show(void);
void progress_off(void);
