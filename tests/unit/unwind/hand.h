/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions written by hand for their CFI, never called: each label is an address inside one. And
 * two to be called.
 */
#pragma once

extern const char hand_drap_entry[], hand_drap_r10[], hand_drap_rbp[];
extern const char hand_drap_body[], hand_drap_ret[];
extern const char hand_plt[];
extern const char hand_sp_mem[], hand_register_again[];
extern const char hand_ra_reg[];
extern const char hand_r12[], hand_r13_mem[], hand_ra_r15[], hand_ra_at[], hand_fp_r14[];
extern const char hand_end[];
extern const char hand_complex[], hand_far_add[];
extern const char hand_far_fp[];
extern const char hand_remember[], hand_remembered[];
extern const char hand_advance1[], hand_advance2[], hand_advance4[];
extern const char hand_gap[];
extern const char hand_signal[];
extern const char hand_restorer[];

/* From its return on, each instruction of the thread raises SIGTRAP; no more. */
void step_on(void);
void step_off(void);
