/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A tree of files as the kernel has them in /proc and /sys, made by a test. */
#pragma once

#define TREE_PATH	256

struct tree {
	char at[TREE_PATH];
};

/* Make an empty folder; the test ends if that fails. */
void tree_make(struct tree *tree);
/* Write a file, whose folders are made. */
void tree_put(const struct tree *tree, const char *name, const char *text);
void tree_folder(const struct tree *tree, const char *name);
void tree_drop(const struct tree *tree, const char *name);
void tree_remove(const struct tree *tree);
