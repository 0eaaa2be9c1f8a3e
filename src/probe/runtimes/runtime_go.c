/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Go: cmd/link and debug/buildinfo have its sections and its note. */

#include "probe/runtimes/runtimes.h"

const struct runtime runtime_go = {
	.name		= "Go",
	.sections	= { ".go.buildinfo", ".gopclntab" },
	.note		= "Go",
	.symbols	= { "runtime.mallocgc" },
	.heap		= "Go's heap, which its runtime maps by itself",
	.help		= "where the program serves net/http/pprof, `go tool pprof "
			  "http://HOST:PORT/debug/pprof/heap` shows it by function; "
			  "GODEBUG=gctrace=1, set when it is started, prints its size at each "
			  "collection",
};
