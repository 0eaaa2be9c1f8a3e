/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The size of a page, on every processor and kernel that mdbg knows. */
#pragma once

#define PAGE	4096ull
