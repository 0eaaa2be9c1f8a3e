# SPDX-License-Identifier: GPL-3.0-or-later
# Python's allocator of objects (Objects/obmalloc.c), by its public functions. What the interpreter does by its
# inner ones is not seen by this.
probe alloc PyObject_Malloc size=1 nothrow
probe alloc PyObject_Calloc size=1*2 nothrow
probe alloc PyObject_Realloc size=2 old=1 nothrow
probe free PyObject_Free ptr=1
