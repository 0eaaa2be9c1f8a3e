/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The wrappers of the allocator that were found (answer/wrapper.h), in lines of text. */
#pragma once

struct out;
struct session;

/* Print a line for each that the user does not know of; nothing, if there is none. */
void wrapper_text_print(struct session *session, struct out *out);
