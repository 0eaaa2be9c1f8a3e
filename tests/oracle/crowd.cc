// SPDX-License-Identifier: GPL-3.0-or-later
// A C++ program of four threads that never rests: containers grow and shrink, blocks pass from one thread to another, and
// some are aligned. It says `ready` and ends with its standard input.
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <vector>

#define THREADS	4
#define PASSED	500	/* blocks that wait for another thread */

struct alignas(64) Line {
	char text[192];
};

static std::mutex lock;
static std::vector<std::unique_ptr<std::string>> passed;

static void pass(std::mt19937 &random)
{
	std::lock_guard<std::mutex> guard(lock);

	if (passed.size() < PASSED || random() % 2)
		passed.push_back(std::make_unique<std::string>(random() % 3000, 'p'));
	else
		passed.erase(passed.begin() + (long)(random() % passed.size()));
}

static void work(unsigned seed)
{
	std::mt19937 random(seed);
	std::map<unsigned, std::vector<std::string>> tree;
	std::unordered_map<unsigned, std::shared_ptr<Line>> table;
	std::vector<std::unique_ptr<char[]>> large(20);

	for (;;) {
		unsigned key = random() % 2000;

		tree[key].emplace_back(random() % 400, 't');
		if (tree[key].size() > 5)
			tree.erase(key);
		table[random() % 500] = std::make_shared<Line>();
		table.erase(random() % 500);
		if (!(random() % 50))
			large[random() % large.size()].reset(new char[random() % 600000]);
		if (!(random() % 20))
			pass(random);
		if (!(random() % 3000))
			std::thread([seed] { std::mt19937 other(seed); pass(other); }).join();
		if (!(random() % 20))
			usleep(500);
	}
}

int main()
{
	char c;

	for (unsigned i = 0; i < THREADS; i++)
		std::thread(work, i).detach();
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) == 1)
		;
	_exit(0);
}
