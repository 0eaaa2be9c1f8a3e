/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A checksum that detects accidental changes, not those of an attacker (base/digest.h), and no hash (base/hash.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Continue a sum with len more bytes; the first call passes 0. It depends on the byte order of the
 * machine.
 */
uint64_t sum_bytes(uint64_t sum, const void *bytes, size_t len);
