/* SPDX-License-Identifier: GPL-3.0-or-later */
/* This process as a target: its memory and its modules are the target's; nobody is traced, and nothing is put in. */
#pragma once

struct log;
struct probes;
struct target;

/* Without a plan. Fails the test if that cannot be. log may be NULL. */
struct probes *self_begin(struct target *target, struct log *log);
void self_end(struct probes *probes);
