/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which objects of Python's pools nobody can reach any more.
 *
 * An object, or another block of a pool, that no word of the process points to cannot be released
 * by anybody, since whoever took the last reference has not kept it: somebody forgot to give it
 * back (Py_DECREF). The words are those of all writable memory but mdbg's own and free blocks of
 * pools, and the registers. A pointer anywhere from the object's start up to the end of its block
 * counts; one to the links before it does not, since the collector's lists hold every object. An
 * object that only lost ones point to is lost with them (`indirect`). What was counted so is lost
 * for certain, unless a pointer to it is hidden in another form; more may be lost, since a word
 * that is no pointer, or a dead one of a stack or of a free block of malloc, keeps an object, and
 * so do objects that point to one another.
 */
#pragma once

#include "heap/python/pyobjects.h"

/*
 * Count the words that point to objects: pylost_count for all memory, one range after the other
 * (ranges of the arenas are passed over, their used blocks are read by pylost_settle), and for
 * registers. Then pylost_settle.
 */
struct err *pylost_count(struct pyobjects *objects, struct memory *memory, uint64_t start,
			    uint64_t end) MUST_CHECK;
void pylost_count_words(struct pyobjects *objects, const uint64_t *words, size_t nr);
/* Find what is lost. */
struct err *pylost_settle(struct pyobjects *objects, struct memory *memory) MUST_CHECK;
