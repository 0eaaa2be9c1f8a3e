/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A growing array of any type:
 *
 *	struct vec_of_u64 VEC(uint64_t) = ...	->	VEC(uint64_t) v = VEC_INIT;
 *	err = vec_push(&v, x);			amortised O(1); NULL or err_nomem
 *	v.at[i], v.nr
 *	vec_free(&v);
 *
 * A failed push leaves the vector unchanged. vec_reserve makes room for n more elements in all, so
 * that v.at[v.nr++] = x cannot fail.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define VEC(type)	struct { type *at; size_t nr, room; }
#define VEC_INIT	{ NULL, 0, 0 }

/* Grow *at to hold at least want elements of size bytes. Only the macros use it. */
struct err *vec_grow(void **at, size_t *room, size_t want, size_t size) MUST_CHECK;

#define vec_reserve(v, n) \
	((v)->nr + (n) <= (v)->room ? NULL : \
	 vec_grow((void **)&(v)->at, &(v)->room, (v)->nr + (n), sizeof(*(v)->at)))
#define vec_push(v, x) \
	({ struct err *vec_err = vec_reserve(v, 1); \
	   if (!vec_err) \
		   (v)->at[(v)->nr++] = (x); \
	   vec_err; })
#define vec_free(v) \
	do { free((v)->at); (v)->at = NULL; (v)->nr = (v)->room = 0; } while (0)
#define vec_clear(v)	((v)->nr = 0)
#define vec_sort(v, compare) \
	do { if ((v)->nr) \
		qsort((v)->at, (v)->nr, sizeof(*(v)->at), compare); } while (0)
/*
 * Define a comparison function for qsort. Elements are ordered by an ascending key, which is an
 * expression of `x`, a pointer to an element. For the largest first the key is the complement: of
 * what has no sign, ~0 is the largest, where -0 would come first.
 */
#define COMPARE_BY(name, type, x, key) \
	static int name(const void *compare_a, const void *compare_b) \
	{ \
		type const *x = compare_a; \
		const __typeof__(key) compare_key = (key); \
\
		x = compare_b; \
		return (compare_key > (key)) - (compare_key < (key)); \
	}
/* Such a key of two numbers without a sign: those with the same first one are ordered by the second. */
#define COMPARE_KEYS(first, second)	((unsigned __int128)(first) << 64 | (uint64_t)(second))
/*
 * Go through a vector, which must not change meanwhile, as long as the condition holds. `item`
 * points to each element in turn; with vec_each_value it is the element itself.
 */
#define vec_each_while(item, v, condition) \
	for (__typeof__(*(v)->at) *item = (v)->at, *item##_end = vec_end(v); \
	     item != item##_end && (condition); item++)
#define vec_each(item, v)	vec_each_while(item, v, true)
#define vec_each_value(item, v) \
	for (__typeof__(*(v)->at) *item##_at = (v)->at, *item##_end = vec_end(v), item; \
	     item##_at != item##_end && (item = *item##_at, 1); item##_at++)
/*
 * Element i of a vector that is extended with zeros if it is shorter; NULL if there is no memory
 * for that.
 */
#define vec_slot(v, i) \
	({ size_t vec_i = (i), vec_more = vec_i < (v)->nr ? 0 : vec_i + 1 - (v)->nr; \
	   bool vec_fits = !vec_reserve(v, vec_more); \
	   if (vec_fits && vec_more) { \
		   memset(&(v)->at[(v)->nr], 0, vec_more * sizeof(*(v)->at)); \
		   (v)->nr += vec_more; \
	   } \
	   vec_fits ? &(v)->at[vec_i] : NULL; })
/* The end of the array, behind the last element. An empty vector has no array. */
#define vec_end(v)	((v)->nr ? (v)->at + (v)->nr : (v)->at)
/* Remove element i; the others keep their order. */
#define vec_remove(v, i) \
	do { size_t vec_i = (i); \
	     memmove(&(v)->at[vec_i], &(v)->at[vec_i + 1], \
		     ((v)->nr - vec_i - 1) * sizeof(*(v)->at)); \
	     (v)->nr--; } while (0)
