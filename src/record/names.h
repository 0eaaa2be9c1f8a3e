/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What samples refer to, each once and with a number from 1 on: strings, locations, stacks,
 * targets. What consists of the same bytes has one number.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"
#include "record/record.h"

enum record_name_kind {
	RECORD_NAME_STRING, RECORD_NAME_LOCATION, RECORD_NAME_STACK, RECORD_NAME_TARGET,
	RECORD_NAME_KINDS,
};

struct record_name {
	uint64_t hash;
	uint32_t len;
	const void *bytes;
};

struct record_pool {
	VEC(struct record_name) vec;	/* by number - 1 */
	uint32_t *slot;			/* numbers, by hash; 0: empty */
	uint32_t slots;
};

struct record_names {
	struct record_pool pool[RECORD_NAME_KINDS];
	struct record_pool left_out;	/* targets that there was no room for, to count each once */
	VEC(char *) chunks;		/* of memory for the bytes */
	size_t chunk_at, chunk_len;	/* in the last one */
	uint64_t bytes, most;		/* of memory, and how many there may be */
	struct { uint64_t words[RECORD_FUNCTIONS_MOST * 8 + 16]; } *scratch;
};

#define RECORD_NAMES_LEFT_OUT	UINT32_MAX	/* no number */

/* most: bytes of memory; beyond it each of the functions below is ERR_RANGE. */
void record_names_init(struct record_names *names, uint64_t most);
void record_names_free(struct record_names *names);
/* A string that is longer than RECORD_STRING_MOST is cut. NULL is 0. */
struct err *record_names_string(struct record_names *names, const char *text,
				uint32_t *ret) MUST_CHECK;
struct err *record_names_text(struct record_names *names, const void *bytes, size_t len,
			      uint32_t *ret) MUST_CHECK;
struct err *record_names_location(struct record_names *names,
				  const struct record_location *location, uint32_t *ret) MUST_CHECK;
struct err *record_names_stack(struct record_names *names, const struct record_stack *stack,
			       uint32_t *ret) MUST_CHECK;
/* ERR_RANGE: there are RECORD_TARGETS_MOST others. */
struct err *record_names_target(struct record_names *names, const struct record_target *target,
				uint32_t *ret) MUST_CHECK;
/* The same, but where there is no room *ret is RECORD_NAMES_LEFT_OUT, and it is in left_out. */
struct err *record_names_read_target(struct record_names *names, const struct record_target *target,
				     uint32_t *ret) MUST_CHECK;
struct err *record_names_too_many_targets(void) MUST_CHECK;

uint32_t record_names_nr(const struct record_names *names, enum record_name_kind kind);
/* A string ends with a zero, which is not in len. */
const char *record_names_get_string(const struct record_names *names, uint32_t number,
				    size_t *len_ret);
struct record_location record_names_get_location(const struct record_names *names,
						 uint32_t number);
struct record_stack record_names_get_stack(const struct record_names *names, uint32_t number);
const struct record_target *record_names_get_target(const struct record_names *names,
						    uint32_t number);
/* 0: there is no such string. */
uint32_t record_names_find(const struct record_names *names, const char *text);
