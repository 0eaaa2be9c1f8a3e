/* SPDX-License-Identifier: GPL-3.0-or-later */
/* V8, the engine of node and Chromium: v8::Isolate::GetCurrent(). */

#include "probe/runtimes/runtimes.h"

const struct runtime runtime_v8 = {
	.name		= "JavaScript (V8)",
	.files		= { "libv8.", "libnode." },
	.symbols	= { "_ZN2v87Isolate10GetCurrentEv" },
	.heap		= "JavaScript's heap, which V8 maps by itself (in node, the bytes of "
			  "Buffers are malloc's)",
	.help		= "a heap snapshot shows it: v8.writeHeapSnapshot(), or node's options "
			  "--inspect and --heapsnapshot-signal=SIGUSR2; the program stands "
			  "meanwhile",
	.jit		= "started with --perf-basic-prof (and, for functions that are "
			  "interpreted, --interpreted-frames-native-stack), node gives its names",
};
