/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A server in C++ whose memory is kept by what it does not free: a callback in a ring, a cache without eviction.
 *
 *	connect N	N connections come and go; the callback of each has a shared_ptr to its own connection: `ok`
 *	render N	N more pages of 4000 bytes for the cache, which drops none: `ok`
 *	share		an object of make_shared and one of shared_ptr(new ...), which three and two shared_ptr and one and two
 *			weak_ptr of globals and of a record have: ADDRESS of object and control block, for each: `ok`
 *	verify, quit
 */
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "target.h"

struct connection {
	std::string peer;
	std::function<void()> on_close;
	char buffer[2000];
};

struct page {
	unsigned long hits;
	char bytes[3992];
};

struct shape {
	virtual ~shape() = default;
	char bytes[600];
};

struct part {
	char bytes[500];
};

struct record {
	std::shared_ptr<shape> first;
	std::shared_ptr<part> second;
	char bytes[300];
};

std::map<std::string, std::unique_ptr<page>> *cache;
std::shared_ptr<shape> made, made_too;
std::weak_ptr<shape> made_weak;
std::shared_ptr<part> given;
std::weak_ptr<part> given_weak[2];
struct record *kept;
static unsigned pages;

static NOINLINE std::shared_ptr<connection> accept_connection()
{
	auto made = std::make_shared<connection>();

	made->peer = "a peer whose name is too long to be in the object itself";
	return made;
}

/* The defect: what is called when the connection is closed owns the connection, which owns what is called. */
static NOINLINE void set_callback(const std::shared_ptr<connection> &connection)
{
	connection->on_close = [connection] { connection->buffer[0]++; };
}

static NOINLINE void connect_all(unsigned number)
{
	for (unsigned i = 0; i < number; i++)
		set_callback(accept_connection());
}

static NOINLINE page *render_page()
{
	return new page{};
}

/* The defect: each query string is a page of its own. */
static NOINLINE void render(unsigned number)
{
	if (!cache)
		cache = new std::map<std::string, std::unique_ptr<page>>;
	for (unsigned i = 0; i < number; i++)
		(*cache)["/index?visitor=" + std::to_string(pages++)].reset(render_page());
}

static NOINLINE void share()
{
	made = made_too = std::make_shared<shape>();
	made_weak = made;
	given = std::shared_ptr<part>(new part{});
	given_weak[0] = given_weak[1] = given;
	kept = new record{ made, given, {} };
	/* A shared_ptr is the address of the object and that of the control block. */
	void *words[2][2];

	memcpy((void *)words[0], (void *)&made, sizeof(words[0]));
	memcpy((void *)words[1], (void *)&given, sizeof(words[1]));
	say("%p %p", words[0][0], words[0][1]);
	say("%p %p", words[1][0], words[1][1]);
}

static NOINLINE void wipe_stack()
{
	volatile char bytes[32 * 1024];

	memset((char *)bytes, 0, sizeof(bytes));
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

int main()
{
	char *line;

	say_ready();
	while ((line = hear()) && strcmp(line, "quit")) {
		const char *number;

		if ((number = after(line, "connect")))
			connect_all((unsigned)atoi(number));
		else if ((number = after(line, "render")))
			render((unsigned)atoi(number));
		else if (!strcmp(line, "share"))
			share();
		else if (strcmp(line, "verify")) {
			say("bad command");
			continue;
		}
		wipe_stack();
		say("ok");
	}
	_exit(0);
}
