/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The types and variables of the processes (type/types.h): made when they are first asked for. */

#include "type/types.h"

#include "session/private.h"

struct err *session_types(struct session *session, struct types **ret)
{
	struct symbols *symbols = session_symbols(session);
	struct err *err = NULL;

	if (!symbols)
		return err_create(ERR_STATE, "no process to look at");
	if (!session->types)
		err = types_create(symbols, &session->types);
	if (!err)
		*ret = session->types;
	return err;
}
