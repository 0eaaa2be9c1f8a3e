/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Java virtual machines: HotSpot and OpenJ9. */

#include "probe/runtimes/runtimes.h"

const struct runtime runtime_jvm = {
	.name		= "Java",
	.files		= { "libjvm.so", "libj9vm" },
	.heap		= "the Java heap, which the JVM maps by itself (its own memory and that "
			  "of native libraries is malloc's)",
	.help		= "`jcmd PID GC.class_histogram` lists it by class, and `jmap "
			  "-dump:live,format=b,file=FILE PID` writes it to a file; both stop the "
			  "program meanwhile",
	.jit		= "`jcmd PID Compiler.perfmap` gives its names to the next answer, "
			  "without a restart (JDK 17 and later)",
	.jit_anew	= true,
};
