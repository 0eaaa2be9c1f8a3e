/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads of a target that work and stand still on command. Each does
 *
 *	while (crew_wait())
 *		while (crew_works())
 *			one piece of work;
 *
 * The main thread says how many there are (crew.members), starts them, and commands.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool works, ends;
	int standing, members;
} crew = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, false, 0, 0 };

static bool crew_works(void)
{
	return __atomic_load_n(&crew.works, __ATOMIC_ACQUIRE);
}

/* Stand still until there is work; false: the end has come. */
static bool crew_wait(void)
{
	bool on;

	pthread_mutex_lock(&crew.mutex);
	crew.standing++;
	pthread_cond_broadcast(&crew.changed);
	while (!crew.works && !crew.ends)
		pthread_cond_wait(&crew.changed, &crew.mutex);
	crew.standing--;
	pthread_cond_broadcast(&crew.changed);
	on = !crew.ends;
	pthread_mutex_unlock(&crew.mutex);
	return on;
}

/* Returns when all work, or when all stand still. */
static void crew_set(bool works)
{
	pthread_mutex_lock(&crew.mutex);
	__atomic_store_n(&crew.works, works, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&crew.changed);
	while (crew.standing != (works ? 0 : crew.members))
		pthread_cond_wait(&crew.changed, &crew.mutex);
	pthread_mutex_unlock(&crew.mutex);
}

/* They stand still, and end now. */
static void crew_end(void)
{
	crew_set(false);
	pthread_mutex_lock(&crew.mutex);
	crew.ends = true;
	pthread_cond_broadcast(&crew.changed);
	pthread_mutex_unlock(&crew.mutex);
}
