/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library that `leaks` loads: a word in its data, and one in its thread-local storage. */

#define DATA_WORDS	600	/* more than what the loader has to spare in the static TLS block */

void **leaks_data(void);
void **leaks_tls(void);

static void *data[DATA_WORDS];
static __thread void *tls[DATA_WORDS];

void **leaks_data(void)
{
	return &data[17];
}

void **leaks_tls(void)
{
	return &tls[17];
}
