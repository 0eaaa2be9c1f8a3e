/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The loader's lists of modules (<link.h>), read while the target runs. They show that a module has
 * come or gone; what is mapped is read from /proc then (module.h).
 *
 *	r_debug		The list of the program's own namespace. The loader has the symbol _r_debug;
 *			musl has a pointer to it. A program that refers to _r_debug has a copy of
 *			it, which the loader does not keep up to date: the module that also has
 *			_dl_debug_state is the loader.
 *	namespaces	Modules of dlmopen and of LD_AUDIT are in lists of their own, each with a
 *			struct like r_debug. Since glibc 2.35 r_next links them, as soon as there is
 *			a second one (r_version is 2 then). Before that nothing does, but they lie
 *			in the loader's exported _rtld_global, and each has the value of r_brk that
 *			r_debug has. A namespace that is empty again stays there, without a list.
 *
 * A static program has one namespace, and no list before its first dlopen; if it is stripped, there
 * is none at all. The loader that it has loaded then has an r_debug that nobody uses.
 *
 * All of it is the target's memory, and may change while it is read, or be anything: there are at
 * most NAMESPACES_MAX namespaces (glibc has 16), LINKS_MAX entries in all their lists, and what
 * cannot be read ends its list. That counts as part of the sum, since the other lists can be read.
 */
#pragma once

#include "tracee/module.h"

struct loader_lists {
	uint64_t r_debug;		/* address; 0: there is no list (yet) */
	uint64_t global, global_len;	/* _rtld_global; 0: none */
};

struct loader_state {
	/* changes when a module comes or goes; 0: nothing can be read */
	uint64_t sum;
	unsigned unknown;	/* how many entries are of unknown modules */
};

/* Find the lists by the symbols of the modules. */
void loader_lists_find(const struct modules *modules, struct memory *memory,
		       struct loader_lists *ret);
/* Sum up all lists; an entry is known if its dynamic section is in one of the modules. */
void loader_lists_read(const struct loader_lists *lists, const struct modules *modules,
		       struct memory *memory, struct loader_state *ret);
