/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A look at the objects in Python's pools (heap/python/pyobjects.h), in a stop of the target or in
 * a snapshot of it (session/look.h). Nothing of the interpreter's code runs for it. Main thread.
 */
#pragma once

#include "heap/python/pyobjects.h"

struct memory_view;
struct session;

/* Where the interpreter is. */
struct session_python_place {
	uint64_t start, end;		/* its module; 0: there is none */
	uint64_t type_type;		/* PyType_Type */
};

struct session_python {
	struct pyobjects objects;
	uint64_t pause_ns;
	char no_snapshot[256];		/* as in struct look */
};

/*
 * search: also find what is lost. ERR_NOTFOUND: no module of the process has PyObject_Malloc, or no
 * arena was found. The caller frees *ret, also after an error.
 */
struct err *session_python(struct session *session, bool search,
			   struct session_python *ret) MUST_CHECK;
void session_python_free(struct session_python *python);
/* ERR_NOTFOUND: no module of the process has PyObject_Malloc. */
struct err *session_python_find(struct session *session,
				struct session_python_place *ret) MUST_CHECK;
/* Walk the arenas in a view. ERR_NOTFOUND: there are none. The caller frees *ret. */
struct err *session_python_arenas(const struct session_python_place *place,
				  const struct memory_view *view,
				  struct pymalloc *ret) MUST_CHECK;
/*
 * Tracer thread: find the names of types (arg is a struct pyobjects) that are in pages of files which
 * the view does not have.
 */
struct err *session_python_name(struct session *session, void *arg) MUST_CHECK;
