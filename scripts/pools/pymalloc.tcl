# SPDX-License-Identifier: GPL-3.0-or-later
# Python's allocator of objects (Objects/obmalloc.c), by its public functions, and those by which
# extensions make objects. Of freed objects of some types Python keeps a list, and gives them out
# again without its allocator; and where it was optimised with a profile, its own functions have the
# allocator inlined. Bytes of an object are those of its fixed part, without the links before it.
probe alloc PyObject_Malloc size=1 nothrow
probe alloc PyObject_Calloc size=1*2 nothrow
probe alloc PyObject_Realloc size=2 old=1 nothrow
probe free PyObject_Free ptr=1
foreach {function bytes} {
	PyFloat_FromDouble 24 PyTuple_New 24 PyList_New 40 PyDict_New 64 PyType_GenericAlloc 16
	_PyObject_GC_New 16 _PyObject_GC_NewVar 24
} {
	catch {probe alloc $function bytes=$bytes nothrow}
}
