/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * SHA-256, for what an attacker must not be able to forge. base/sum.h is for accidents.
 *
 * It is liblzma's, which mdbg needs for compressed symbols anyway: the .xz format has SHA-256 as a
 * check, and liblzma computes it while it makes a block without compression. 300 MB/s.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define DIGEST_BYTES	32

/* ERR_UNSUPPORTED: this liblzma was built without SHA-256. */
struct err *digest_make(const void *bytes, size_t len, uint8_t ret[DIGEST_BYTES]) MUST_CHECK;
