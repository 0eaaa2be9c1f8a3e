/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums up the children of a process by program. */

#include "answer/recorder_children.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

struct err *recorder_children_begin(struct recorder_children *children, pid_t parent)
{
	children->parent = parent;
	vec_clear(&children->vec);
	children->changed = children->lost = false;
	return children->fd < 0 ? task_exits_open(&children->fd) : NULL;
}

static struct recorder_child *find(struct recorder_children *children, const char *name)
{
	vec_each(child, &children->vec)
		if (!strcmp(child->name, name))
			return child;
	return NULL;
}

/* The row of a program; NULL: there is no memory for it. */
static struct recorder_child *row_of(struct recorder_children *children, const char *name)
{
	struct recorder_child *found = find(children, name);
	struct recorder_child made = { .value = { 0 } };

	if (!found && children->vec.nr >= RECORD_CHILDREN_MOST) {
		name = RECORD_CHILDREN_OTHERS;
		found = find(children, name);
	}
	if (found)
		return found;
	snprintf(made.name, sizeof(made.name), "%s", name);
	if (vec_push(&children->vec, made))
		return NULL;
	return &vec_end(&children->vec)[-1];
}

void recorder_children_add(void *ctx, const struct task_exit *exit)
{
	struct recorder_children *children = ctx;
	struct recorder_child *child;

	if (exit->parent != children->parent)
		return;
	child = row_of(children, exit->name);
	children->changed = true;
	if (!child) {
		children->lost = true;
		return;
	}
	child->value[RECORD_CHILD_CPU] += exit->cpu_ns;
	child->value[RECORD_CHILD_FAULTS] += exit->faults;
	if (!exit->last)
		return;
	child->value[RECORD_CHILD_RUNS]++;
	child->value[RECORD_CHILD_FAILED] += exit->failed;
	child->value[RECORD_CHILD_SUM] += exit->most;
	child->value[RECORD_CHILD_MOST] = MAX(child->value[RECORD_CHILD_MOST], exit->most);
}

struct err *recorder_children_read(struct recorder_children *children)
{
	struct err *err = NULL;

	if (children->fd >= 0)
		err = task_exits_read(children->fd, recorder_children_add, children, &children->lost);
	if (err)
		close(take_fd(children->fd));
	return err;
}

void recorder_children_end(struct recorder_children *children)
{
	if (children->fd >= 0)
		close(children->fd);
	vec_free(&children->vec);
	*children = (struct recorder_children)RECORDER_CHILDREN_INIT;
}
