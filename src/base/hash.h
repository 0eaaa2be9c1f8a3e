/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A hash of what somebody else may have chosen: names in files, addresses in a process, recordings.
 *
 * With a hash that is known to him, he could choose a million of one and the same value, and each
 * look into the table would go through all of them. So it depends on a number that the kernel gives
 * to this process alone (AT_RANDOM in getauxval(3)). It is a polynomial modulo 2^61 - 1 of the bytes
 * at that number, with its bits mixed: two texts of n bytes have the same value for at most n / 7 + 2
 * of 2^61 numbers. Therefore it differs from run to run, and is nothing to be stored.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *bytes, size_t len);
