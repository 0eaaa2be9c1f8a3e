/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LuaJIT: lj_alloc.c. (Other builds of Lua get all of their memory from realloc.) */

#include "probe/runtimes/runtimes.h"

const struct runtime runtime_lua = {
	.name		= "LuaJIT",
	.files		= { "libluajit" },
	.symbols	= { "luaJIT_setmode" },
	.heap		= "Lua's heap, which LuaJIT's allocator maps by itself",
	.help		= "collectgarbage(\"count\") has its size in KB in a script",
};
