/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gaps of an answer (session/lacks.h), in lines of text. */

#include "report/lack_text.h"

#include "report/out.h"
#include "session/lacks.h"

struct err *lack_text_print(struct session *session, struct out *out)
{
	struct session_lacks lacks = { VEC_INIT };
	struct err *err = session_lacks(session, &lacks);

	if (err)
		return err;
	vec_each(lack, &lacks.vec) {
		out_text(out, "Incomplete: ");
		if (*lack->function)
			out_f(out, "%s is not watched: ", lack->function);
		out_f(out, "%s\n", lack->why);
	}
	vec_free(&lacks.vec);
	return NULL;
}
