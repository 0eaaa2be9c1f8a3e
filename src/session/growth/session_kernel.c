/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's allocations (session_kernel.h). */

#include "session/growth/session_kernel.h"

#include "session/private.h"

struct kernel_growth *session_kernel(const struct session *session)
{
	return session->kernel;
}

struct err *session_kernel_start(struct session *session)
{
	return kernel_growth_open(session->config.log_limit, session->config.kernel_sampling,
				  &session->kernel);
}

void session_kernel_stop(struct session *session)
{
	kernel_growth_close(session->kernel);
	session->kernel = NULL;
}
