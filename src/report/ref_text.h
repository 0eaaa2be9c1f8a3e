/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One line on the references to an object (session/pool/session_refs.h). */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct out;
struct session;

/*
 * Print who took references to the object at the address, and who gave them back, by function: "20 taken
 * in set_volume (x.c:40), ...". Nothing is printed if none were seen.
 */
struct err *ref_text_print(struct session *session, uint64_t address, struct out *out) MUST_CHECK;
