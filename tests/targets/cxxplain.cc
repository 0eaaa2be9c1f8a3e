/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A C++ target that defines a throwing operator new without a nothrow form of its own. See cxxown.h. */
#include <new>
#include <stdlib.h>

#include "cxxown.h"

NOINLINE void *operator new(size_t size)
{
	void *p = size > LIMIT ? NULL : malloc(size);

	if (!p)
		throw std::bad_alloc();
	return p;
}

NOINLINE void operator delete(void *p) noexcept
{
	free(p);
}

NOINLINE void operator delete(void *p, size_t) noexcept
{
	free(p);
}
