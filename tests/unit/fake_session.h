/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A session without a process, for tests of report and cmd: session.h over a formatted log. Linked
 * instead of libsession. The "target" is the test program itself, with symbols of its own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#include "session/session.h"

#define FAKE_PID	getpid()
#define FAKE_PTHREAD	0x7f0000001000ull
#define FAKE_UPROBES	0xffffffffff700000ull	/* start of the mapping [uprobes], one page */

/* The last session that was created. */
struct session *fake_session(void);
/* Attach it without a command. */
void fake_attach(struct session *session);
/* As before the first attach. */
void fake_forget(struct session *session);
/* PCs of a stack malloc <- fake_load <- fake_main; the first is the entry of the probed function.
 */
uint32_t fake_stack(struct session *session, uint8_t end);
/* A block in the log, of thread FAKE_PID. */
void fake_block(struct session *session, uint64_t address, uint64_t size, uint32_t stack);
void fake_free(struct session *session, uint64_t address);
/* A realloc has it in hand; its stack's all-time count is with the thread. NULL: no more. */
void fake_hold(struct session *session, const struct log_record *record);
/* Something that answers do not have, from now on (session/lacks.h). */
void fake_miss(struct session *session, const char *function, const char *why);
/* An event that waits. EXIT ends the target with this wait status. */
void fake_event(struct session *session, const struct session_event *event);
/* What the commands asked for. */
struct fake_asked {
	unsigned detached, killed, interrupted, armed, disarmed, reset, named;
	int cont_signal;	/* -1: not asked */
	uint32_t wanted;
};
struct fake_asked *fake_asked(struct session *session);
/* The next session_detach fails. */
void fake_fail_detach(struct session *session);

/* Code to have names for. */
int fake_load(int value);
int fake_main(int value);
