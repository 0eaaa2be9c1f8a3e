/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OCaml: its runtime's functions. */

#include "probe/runtimes/runtimes.h"

const struct runtime runtime_ocaml = {
	.name		= "OCaml",
	.symbols	= { "caml_alloc_shr" },
	.heap		= "the single values of OCaml's heap: its runtime maps large pieces for "
			  "them, or gets these from malloc",
	.help		= "OCAMLRUNPARAM=v=0x400, set when it is started, prints its size at the "
			  "end; the library memtrace records its allocations",
};
