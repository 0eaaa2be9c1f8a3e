/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The mdbg of `make static` loads no libraries. It runs in containers, whose libraries may belong
 * to another C library or may be made by anybody. glibc would load some of them although it is
 * linked statically: those that nsswitch.conf names, and the modules of gconv. The linker directs
 * the calls of these functions to this file (--wrap). glibc then uses /etc/passwd and the like
 * alone.
 */

#include <stddef.h>

void *__wrap_dlopen(const char *file, int mode);
void *__wrap___libc_dlopen_mode(const char *file, int mode);
char *__wrap_dlerror(void);

void *__wrap_dlopen(const char *file, int mode)
{
	(void)file;
	(void)mode;
	return NULL;
}

/* glibc itself calls this one. */
void *__wrap___libc_dlopen_mode(const char *file, int mode)
{
	return __wrap_dlopen(file, mode);
}

char *__wrap_dlerror(void)
{
	static char why[] = "the static mdbg loads no libraries";

	return why;
}
