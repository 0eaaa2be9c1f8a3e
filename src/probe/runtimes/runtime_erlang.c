/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Erlang's virtual machine: erts_alloc(3). */

#include "probe/runtimes/runtimes.h"

const struct runtime runtime_erlang = {
	.name		= "Erlang",
	.files		= { "beam.smp" },
	.symbols	= { "enif_alloc" },
	.heap		= "the single blocks of Erlang's allocators (processes, binaries, ETS): "
			  "they lie in carriers that the virtual machine maps by itself or gets "
			  "from malloc",
	.help		= "erlang:memory() has their sums in its shell, and instrument:allocations() "
			  "their sizes; +Mea min, when it is started, leaves most of them to malloc",
	.jit		= "started with +JPperf true, it gives its names",
};
