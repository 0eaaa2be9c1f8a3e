/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Unix socket of `mdbg::listen`. */
#pragma once

struct shell;

/* Nobody can connect any more, and the socket's name is removed. There may be none. */
void listener_end(struct shell *shell);
