/* SPDX-License-Identifier: GPL-3.0-or-later */
/* .NET: CoreCLR. */

#include "probe/runtimes/runtimes.h"

const struct runtime runtime_dotnet = {
	.name		= ".NET",
	.files		= { "libcoreclr.so" },
	.heap		= "the managed heap of .NET, which its runtime maps by itself",
	.help		= "`dotnet-gcdump collect -p PID` writes it to a file, and "
			  "`dotnet-counters monitor -p PID` shows its size",
	.jit		= "started with DOTNET_PerfMapEnabled=1 in its environment, it gives its "
			  "names",
};
