/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Waiting while events are served. */
#ifndef CMD_WAITING_H
#define CMD_WAITING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct shell;

#define WAIT_FOREVER	UINT64_MAX

/*
 * Serve events until done says so; it is asked after each event and every 50 ms, and may end the
 * wait with an error. ERR_TIMEOUT after ns (done is asked once more then), ERR_CANCELLED after
 * Ctrl-C or a signal that ends mdbg.
 */
struct err *waiting(struct shell *shell, uint64_t ns, bool (*done)(void *ctx, struct err **err_ret),
		    void *ctx) MUST_CHECK;

#endif
