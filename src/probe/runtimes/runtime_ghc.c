/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Haskell, as GHC compiles it: the library of its runtime, and the code of its update frames. */

#include "probe/runtimes/runtimes.h"

const struct runtime runtime_ghc = {
	.name		= "Haskell (GHC)",
	.files		= { "libHSrts" },
	.symbols	= { "stg_upd_frame_info" },
	.heap		= "Haskell's heap, which GHC's runtime maps by itself",
	.help		= "`+RTS -hT` on its command line (if it was linked with -rtsopts) "
			  "writes a profile of it by closure type",
};
