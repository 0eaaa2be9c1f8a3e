/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What urgent and its library share. */
#ifndef URGENT_H
#define URGENT_H

#include <pthread.h>

#include "target.h"

#define URGENT_BLOCKS		3
/* Bytes of each. */
#define URGENT_CONSTRUCTOR	100001
#define URGENT_CALL		100002
#define URGENT_THREAD		100003

#endif
