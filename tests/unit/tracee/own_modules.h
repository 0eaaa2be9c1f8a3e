/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The modules of the test program itself, and a library that it loads and changes at will. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "os/procmem.h"
#include "tracee/module.h"

#define PAGE	4096

/* A library that nothing else has, so that it may be taken apart: a copy of libm. */
struct plugin {
	char path[64];
	void *handle;
	uint64_t addr;	/* of its function */
};

/* Copy it to a file of this name; load it; unload it, and remove the file. */
void plugin_copy(struct plugin *plugin, const char *name);
void plugin_open(struct plugin *plugin);
void plugin_close(struct plugin *plugin);

/* The program's own memory, between these two, which a suite has for setup and teardown. */
extern struct procmem own_memory;
int own_memory_open(void);
int own_memory_close(void);

/* Bring modules up to date with the program's mappings. */
struct err *own_refresh(struct modules *modules, bool *changed_ret) MUST_CHECK;
/* Do the modules' walk map and live list hold together? */
bool modules_are_sound(const struct modules *modules);
