/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The thread registry and the accounts. */

#include "log/registry.h"

#include <pthread.h>
#include <signal.h>

#include "region.h"

static struct log log_;

TEST("entries")
{
	uint32_t a, b, c;

	region_open(LOG_REGION_MIN, &log_);
	a = registry_thread(&log_, 0x7f0000001000, 100);
	b = registry_thread(&log_, 0x7f0000001000, 101);
	c = registry_thread(&log_, 0x7f0000002000, 100);
	CU_ASSERT_TRUE(a == 1 && b == 2 && c == 3);
	CU_ASSERT_EQUAL(registry_thread(&log_, 0x7f0000001000, 100), a);
	CU_ASSERT_EQUAL(registry_thread(&log_, 0x7f0000001000, 101), b);
	CU_ASSERT_EQUAL(registry_thread(&log_, 0x7f0000002000, 100), c);
	CU_ASSERT_EQUAL(reader_thread(&log_, b).lwp, 101);
	CU_ASSERT_EQUAL(reader_thread(&log_, c).thread_pointer, 0x7f0000002000);
	CU_ASSERT_EQUAL(reader_thread(&log_, 0).lwp, 0);
	CU_ASSERT_EQUAL(reader_thread(&log_, 4).thread_pointer, 0);
	CU_ASSERT_EQUAL(reader_thread(&log_, ~0u).thread_pointer, 0);
	region_close(&log_);
}

TEST("full")
{
	uint32_t nr = 1;

	region_open(1ull << 30, &log_);
	CU_ASSERT_EQUAL(log_.nr_threads, LOG_THREADS_MAX);
	while (registry_thread(&log_, 0x7f0000000000 + nr * 0x801000ull, 1000 + nr) == nr)
		nr++;
	CU_ASSERT_EQUAL(nr, LOG_THREADS_MAX);
	CU_ASSERT_EQUAL(registry_thread(&log_, 5, 5), 0);
	for (uint32_t i = 1; i < nr; i++)
		CU_ASSERT_EQUAL_FATAL(registry_thread(&log_, 0x7f0000000000 + i * 0x801000ull,
						      1000 + i), i);
	region_close(&log_);
}

/*
 * Every event in the account of the thread that it happened in, summed over all; unknown threads
 * share entry 0.
 */
TEST("accounts")
{
	struct log_accounts accounts;
	struct log_record one = { .address = 0x1000, .size = 10 }, out;
	uint32_t a, b;

	region_open(LOG_REGION_MIN, &log_);
	a = registry_thread(&log_, 1, 1);
	b = registry_thread(&log_, 2, 2);
	one.thread = a;
	CU_ASSERT_TRUE(log_record_insert(&log_, &one, NULL));
	one.address = 0x2000;
	CU_ASSERT_TRUE(log_record_insert(&log_, &one, NULL));
	CU_ASSERT_TRUE(log_record_remove(&log_, 0x1000, b, &out));
	CU_ASSERT_EQUAL(out.thread, a);
	CU_ASSERT_FALSE(log_record_remove(&log_, 0x1000, 0, &out));
	CU_ASSERT_FALSE(log_record_remove(&log_, 0x1000, ~0u, &out));
	registry_count(&log_, a, LOG_ACCOUNT(failed), 3);
	registry_count(&log_, b, LOG_ACCOUNT(failed), 4);
	registry_count(&log_, 0, LOG_ACCOUNT(null_frees), 5);
	registry_count(&log_, b, LOG_ACCOUNT(nested), 6);
	registry_count(&log_, b, LOG_ACCOUNT(voided), 7);
	registry_count(&log_, b, LOG_ACCOUNT(unstacked), 8);
	registry_count(&log_, b, 12, 1000);
	accounts = reader_accounts(&log_);
	CU_ASSERT_EQUAL(accounts.allocs, 2);
	CU_ASSERT_EQUAL(accounts.alloc_bytes, 20);
	CU_ASSERT_EQUAL(accounts.frees, 1);
	CU_ASSERT_EQUAL(accounts.free_bytes, 10);
	CU_ASSERT_EQUAL(accounts.unknown_frees, 2);
	CU_ASSERT_EQUAL(accounts.failed, 7);
	CU_ASSERT_EQUAL(accounts.null_frees, 5);
	CU_ASSERT_EQUAL(accounts.nested, 6);
	CU_ASSERT_EQUAL(accounts.voided, 7);
	CU_ASSERT_EQUAL(accounts.unstacked, 8);
	CU_ASSERT_EQUAL(accounts.table_full + accounts.replaced, 0);
	CU_ASSERT_EQUAL(log_.thread[a].account[LOG_ACCOUNT(allocs)], 2);
	CU_ASSERT_EQUAL(log_.thread[b].account[LOG_ACCOUNT(frees)], 1);
	region_check_sums(&log_, 1);
	region_close(&log_);
}

/* Where other programs have the processors, each takes a time slice. */
#define SIGNALS	500

static uint32_t counted_in_handler;

static void on_signal(int signal)
{
	(void)signal;
	account_add(&log_, 1, LOG_ACCOUNT(failed), 1);
	__atomic_fetch_add(&counted_in_handler, 1, __ATOMIC_RELEASE);
}

/* One signal after the other, each when the one before has been counted. */
static void *send_signals(void *thread)
{
	for (uint32_t i = 0; i < SIGNALS; i++) {
		pthread_kill(*(pthread_t *)thread, SIGUSR1);
		while (__atomic_load_n(&counted_in_handler, __ATOMIC_ACQUIRE) == i)
			sched_yield();
	}
	return NULL;
}

/* A signal handler counts in the middle of its thread's own counting: nothing is lost. */
TEST("accounts and signals")
{
	struct sigaction action = { .sa_handler = on_signal }, old;
	pthread_t self = pthread_self(), sender;
	uint64_t counted = 0;

	region_open(LOG_REGION_MIN, &log_);
	CU_ASSERT_EQUAL_FATAL(registry_thread(&log_, 1, 1), 1);
	counted_in_handler = 0;
	sigaction(SIGUSR1, &action, &old);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&sender, NULL, send_signals, &self), 0);
	while (__atomic_load_n(&counted_in_handler, __ATOMIC_ACQUIRE) < SIGNALS) {
		account_add(&log_, 1, LOG_ACCOUNT(failed), 1);
		counted++;
	}
	pthread_join(sender, NULL);
	sigaction(SIGUSR1, &old, NULL);
	CU_ASSERT_EQUAL(reader_accounts(&log_).failed, counted + SIGNALS);
	region_close(&log_);
}
