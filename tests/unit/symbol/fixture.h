/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the symbol tests look at: this very program (its own truth about its lines is __LINE__), the
 * libraries in it, and files made from it with objcopy in a folder of their own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "symbol/symbol.h"

/*
 * A module of this process by the start of its last component ("libc.so", "" for the program); the
 * caller closes fd. False: there is none.
 */
bool fixture_module(const char *name, struct symbol_module *ret);
/*
 * symbols with one module of this process, mapped from generation 1 on. Fails the test otherwise.
 */
struct symbols *fixture_symbols(const char *name);
/* Open path as a module at this bias, from generation 1 on, of the extent of this program. */
struct symbol_module fixture_file(const char *path, uint64_t bias);
/* The address in this program's file of something in it. */
uint64_t fixture_file_address(const void *p);

/* A new folder, removed with all in it by fixture_leave. */
const char *fixture_enter(void);
void fixture_leave(void);
const char *fixture_folder(void);
/* Run a shell command in that folder; $PROGRAM is this program. False if it failed. */
bool fixture_shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The real function at pc, "" if it is unknown. */
const char *fixture_function(struct symbols *symbols, uint64_t pc);

/*
 * Calls: fixture_here returns its return address, which lies in fixture_inner, inlined into
 * fixture_middle, inlined into fixture_real. The lines of the three calls are in fixture_lines.
 */
uint64_t fixture_real(int x);
extern int fixture_lines[3];
extern const char fixture_source[];
/* Does this program have line numbers? They are not there under CFLAGS without -g. */
bool fixture_has_lines(void);
