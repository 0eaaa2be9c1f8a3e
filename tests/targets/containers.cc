/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Containers of C++17, of any library: what is in them is the same. Commands: verify, quit. */
#include <cstdio>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unistd.h>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

struct Point {
	int x, y;
};

struct Large {
	char bytes[300];
	int number;
};

std::string text = "short", long_text(300, 'x'), no_text;
std::string_view view = "a view", part = std::string_view(long_text).substr(0, 5);
std::vector<int> numbers{ 1, 2, 3 }, no_numbers;
std::vector<std::string> words{ "a", "two words and more than fit" };
std::vector<std::vector<Point>> nested{ { { 1, 2 } }, {}, { { 3, 4 }, { 5, 6 } } };
std::deque<int> queue{ 1, 2, 3 }, no_queue, moved;
std::deque<std::string> texts{ "front", "back" };
std::deque<Large> large;
std::list<int> list{ 1, 2 }, no_list;
std::list<char> letters{ 'a', 'b' };
std::set<int> set{ 3, 1, 2 };
std::set<char> small_set{ 'x', 'c' };
std::map<int, int> deep;
std::map<std::string, int> map{ { "one", 1 }, { "two", 2 } };
std::map<int, std::vector<int>> of_vectors{ { 1, { 1, 2 } } }, no_map;
std::multimap<int, char> multi{ { 1, 'a' }, { 1, 'b' } };
std::unordered_map<std::string, Point> hashed{ { "key", { 1, 2 } } };
std::unordered_map<char, char> tight{ { 'k', 'v' } };
std::unordered_set<int> hashed_set{ 7 };
std::optional<int> five = 5, nothing;
std::optional<Point> some = Point{ 1, 2 };
std::variant<int, double> number = 1, fraction = 2.5;
std::variant<char, std::vector<int>, double> either = std::vector<int>{ 4, 5 };
std::unique_ptr<int> unique(new int(5)), no_unique;
std::shared_ptr<int> shared = std::make_shared<int>(7), again = shared, none;
std::weak_ptr<int> weak = shared, expired = std::make_shared<int>(8);

int main()
{
	char line[64];

	for (int i = 0; i < 3000; i++) {
		moved.push_back(i);
		deep[(i * 7919) % 3001] = i;
	}
	for (int i = 0; i < 2950; i++) {
		moved.pop_front();
		deep.erase((i * 7919) % 3001);
	}
	for (int i = 0; i < 40; i++)
		large.push_back(Large{ {}, i });
	for (int i = 0; i < 35; i++)
		large.pop_front();
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && strncmp(line, "quit", 4)) {
		printf("ok %d\n", static_cast<int>(numbers.size() + part.size() + large.size()));
		fflush(stdout);
	}
	return 0;
}
