/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The mdbg of `make static` loads nothing. It runs in containers, whose libraries may be of another
 * C library or of somebody's own making: those that nsswitch.conf names, and the modules of gconv,
 * would be loaded by glibc although it is linked statically. The linker leads the calls of these
 * functions here (--wrap); glibc then goes by /etc/passwd and the like alone.
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

/* The same inside of glibc. */
void *__wrap___libc_dlopen_mode(const char *file, int mode)
{
	return __wrap_dlopen(file, mode);
}

char *__wrap_dlerror(void)
{
	static char why[] = "the static mdbg loads no libraries";

	return why;
}
