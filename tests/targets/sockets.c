/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory that goes and that no process has: connections whose reader has stopped, so that the kernel keeps what was
 * written to them.
 *
 *	fill N		N connections of 127.0.0.1, each written to until it takes no more; answers `ok BYTES`
 *	drain		all is read and compared with what was written, and the connections are closed
 *	verify		checks that nothing else has come or gone
 *	quit
 */
#include "target.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#define CONNECTIONS_MAX	100u
#define PIECE		16384u

static struct {
	int writer, reader;
	size_t bytes;
} connection[CONNECTIONS_MAX];
static unsigned connections;
static unsigned char piece[PIECE];
static bool wrong;

static void make_connection(int listener, const struct sockaddr_in *address)
{
	int writer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), reader;

	if (writer < 0 || connect(writer, (const struct sockaddr *)address, sizeof(*address)))
		_exit(98);
	reader = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (reader < 0 || fcntl(writer, F_SETFL, O_NONBLOCK))
		_exit(98);
	connection[connections].writer = writer;
	connection[connections].reader = reader;
	connection[connections++].bytes = 0;
}

/* The defect: nobody reads, and the writer does not ask. */
static NOINLINE size_t write_all(unsigned nr)
{
	size_t *bytes = &connection[nr].bytes;

	for (;;) {
		/* The pattern goes on where the last write ended. */
		size_t at = *bytes % PIECE;
		ssize_t n = write(connection[nr].writer, piece + at, PIECE - at);

		if (n <= 0)
			return *bytes;
		*bytes += (size_t)n;
	}
}

static void fill(unsigned long nr)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t len = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t bytes = 0;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 16) ||
	    getsockname(listener, (struct sockaddr *)&address, &len))
		_exit(98);
	for (; nr && connections < CONNECTIONS_MAX; nr--) {
		make_connection(listener, &address);
		bytes += write_all(connections - 1);
	}
	close(listener);
	say("ok %zu", bytes);
}

static void drain_one(unsigned nr)
{
	static unsigned char got[PIECE];
	size_t at = 0;
	ssize_t n;

	close(connection[nr].writer);
	while ((n = read(connection[nr].reader, got, PIECE - at % PIECE)) > 0) {
		if (memcmp(got, piece + at % PIECE, (size_t)n))
			wrong = true;
		at += (size_t)n;
	}
	if (at != connection[nr].bytes)
		wrong = true;
	close(connection[nr].reader);
}

int main(void)
{
	const char *line;

	for (unsigned i = 0; i < PIECE; i++)
		piece[i] = (unsigned char)(i * 2654435761u >> 24);
	say_ready();
	while ((line = hear())) {
		if (!strncmp(line, "fill ", 5)) {
			fill(strtoul(line + 5, NULL, 10));
			continue;
		}
		if (!strcmp(line, "drain"))
			while (connections)
				drain_one(--connections);
		else if (!strcmp(line, "quit"))
			break;
		say(wrong ? "bad data" : "ok");
	}
	return wrong;
}
