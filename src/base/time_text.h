/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times as users read and write them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Write a time in ns since the epoch as "2026-11-02 03:10:00" in local time. */
void time_text(char *text, size_t room, uint64_t ns);
