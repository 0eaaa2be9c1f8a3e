/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Segments of System V shared memory. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/*
 * The size of the segment that a process knows by this id; 0: it is not known, because the segment
 * is gone, is not ours to look at, or is in another namespace than ours.
 */
uint64_t sysv_shm_size(pid_t pid, uint32_t id);
