# SPDX-License-Identifier: GPL-3.0-or-later
# SQLite's allocator (sqlite3.h), by its public functions.
probe alloc sqlite3_malloc size=1 nothrow
probe alloc sqlite3_malloc64 size=1 nothrow
probe alloc sqlite3_realloc size=2 old=1 nothrow
probe alloc sqlite3_realloc64 size=2 old=1 nothrow
probe free sqlite3_free ptr=1
