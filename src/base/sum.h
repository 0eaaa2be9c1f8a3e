/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A sum over bytes that tells whether they are as they were written: against accidents, not against
 * attackers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The sum of what sum is of (0: of nothing) and then len bytes. In the byte order of the machine.
 */
uint64_t sum_bytes(uint64_t sum, const void *bytes, size_t len);
