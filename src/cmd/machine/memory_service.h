/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The last look of `memory service`, which the next one is compared with. */
#pragma once

struct service;

/* Free it, and set it to NULL, which it may be already. */
void memory_service_forget(struct service **service);
