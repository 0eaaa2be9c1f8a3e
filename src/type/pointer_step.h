/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Along a pointer: in which member of a value a word is, and to what that leads, by the declared types.
 *
 * Nothing is guessed. It is not known where a union is on the way, since nobody knows which of its
 * members is in use; where the word is behind the value, since a derived class, or a struct that begins
 * with this one, has other members there; and where no pointer begins at the word. Only of pointers to pointers is a word behind the first one an element of an array: there
 * is nothing that is derived from a pointer.
 */
#pragma once

#include "base/str.h"
#include "type/type.h"

/*
 * Append the way from a value of this type to the word at `offset`: ".reader", "[3].head"; *found_ret is
 * false, and nothing is appended, if that is not known. *ret is the type that the word points to, if it
 * has members, or pointers of its own, and is known; else NULL. alone: the value is all
 * that begins there, as a variable is; else it may be the first one of several.
 */
struct err *pointer_step_add(struct type *type, uint64_t offset, bool alone, struct str *to,
			     struct type **ret, bool *found_ret) MUST_CHECK;
