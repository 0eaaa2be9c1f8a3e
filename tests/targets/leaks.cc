/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program that loses blocks in all the ways of valgrind's manual, and some more, and knows what of each kind there is.
 *
 *	names		the cases, one a line: NAME SIZE DEFINITE INDIRECT POSSIBLE REACHABLE. All blocks of a case have SIZE
 *			bytes, which no other block has, so that they are found by it
 *	case NAME	make its blocks
 *	untouched	the page of what glibc tells debuggers is not there until somebody reads it
 *	verify, quit
 *
 *	leaks -a	make all of them and end (for valgrind, which looks then)
 *
 * What it remembers of a pointer it keeps turned inside out, and the stack is wiped behind each case.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "target.h"

#define MASK	0x5a5a5a5a5a5a5a5aul
#define SLOTS	64

/* Roots: in the program's data. */
static void *volatile slot[SLOTS];
static unsigned used;
static sem_t there;

static NOINLINE void wipe_stack(void)
{
	volatile char bytes[48 * 1024];

	memset((char *)bytes, 0, sizeof(bytes));
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

static NOINLINE void **make(size_t size)
{
	void *p = malloc(size);

	memset(p, 0, size);
	return (void **)p;
}

/* Its words are written, whatever the compiler thinks of who reads them. */
static void lose(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

/* Behind the last call of a function: it is no jump, and the function is in the stack. */
static void stay(void)
{
	__asm__ volatile("" : : : "memory");
}

static void root(void *p)
{
	slot[used++] = p;
}

static void *inside(void *p)
{
	return (char *)p + 16;
}

/* --- the nine of the manual --- */

static NOINLINE void case_root(size_t size) { root(make(size)); }

static NOINLINE void case_chain(size_t size)
{
	void **a = make(size);

	a[1] = make(size);
	root(a);
}

static NOINLINE void case_lost(size_t size)
{
	make(size);
	stay();
}

static NOINLINE void case_lost_chain(size_t size)
{
	void **a = make(size);

	a[1] = make(size);
	lose(a);
}

static NOINLINE void case_inner(size_t size) { root(inside(make(size))); }

static NOINLINE void case_chain_inner(size_t size)
{
	void **a = make(size);

	a[1] = inside(make(size));
	root(a);
}

static NOINLINE void case_inner_chain(size_t size)
{
	void **a = make(size);

	a[1] = make(size);
	root(inside(a));
}

static NOINLINE void case_inner_inner(size_t size)
{
	void **a = make(size);

	a[1] = inside(make(size));
	root(inside(a));
}

static NOINLINE void case_lost_inner(size_t size)
{
	void **a = make(size);

	a[1] = inside(make(size));
	lose(a);
}

/* --- shapes --- */

static void **tree(size_t size, unsigned depth)
{
	void **node = make(size);

	if (depth) {
		node[2] = tree(size, depth - 1);
		node[3] = tree(size, depth - 1);
	}
	return node;
}

static NOINLINE void case_tree(size_t size) { root(tree(size, 3)); }
static NOINLINE void case_lost_tree(size_t size) { lose(tree(size, 3)); }
static NOINLINE void case_inner_tree(size_t size) { root(inside(tree(size, 2))); }

/* Returns the one with the smallest address. */
static void **ring(size_t size, unsigned nr)
{
	void **first = make(size), **last = first, **least = first;

	while (--nr) {
		void **next = make(size);

		last[2] = next;
		last = next;
		if (next < least)
			least = next;
	}
	last[2] = first;
	return least;
}

static NOINLINE void case_ring(size_t size) { lose(ring(size, 5)); }
static NOINLINE void case_ring_root(size_t size) { root(ring(size, 5)); }

static NOINLINE void case_self(size_t size)
{
	void **a = make(size);

	a[3] = a;
	lose(a);
}

static NOINLINE void case_two_rings(size_t size)
{
	void **a = ring(size, 3);

	a[3] = ring(size, 3);
	lose(a);
}

static NOINLINE void case_two_parents(size_t size)
{
	void **a = make(size), **b = make(size);

	a[1] = b[1] = make(size);
	lose(a);
	lose(b);
}

static NOINLINE void case_double_list(size_t size)
{
	void **last = make(size);

	for (int i = 0; i < 3; i++) {
		void **next = make(size);

		last[0] = next;
		next[1] = last;
		last = next;
	}
	lose(last);
}

/* The head of a list is dropped, and still points to the next. */
static NOINLINE void case_popped(size_t size)
{
	void **a = make(size), **b = make(size), **c = make(size);

	a[0] = b;
	b[0] = c;
	root(b);
	lose(a);
}

/* --- where the pointer is --- */

static void *wait_in_register(void *hidden)
{
	unsigned long mask = MASK;

	sem_post(&there);
	__asm__ volatile("xorq %1, %0\n\t"
			 "movq %0, %%rbx\n\t"
			 "xorl %%eax, %%eax\n\t"
			 "movq %%rax, %0\n\t"
			 "1: movl $34, %%eax\n\t"		/* pause */
			 "syscall\n\t"
			 "jmp 1b"
			 : "+r"(hidden) : "r"(mask) : "rax", "rbx", "rcx", "r11", "memory");
	return NULL;
}

static void *wait_in_stack(void *hidden)
{
	void *volatile kept = (void *)((uintptr_t)hidden ^ MASK);

	sem_post(&there);
	for (;;)
		pause();
	return kept;
}

static NOINLINE void write_deep(void *hidden)
{
	void *volatile deep[1024];

	/* Not at its top, where frames of others come to lie. */
	for (unsigned i = 0; i < 800; i++)
		deep[i] = (void *)((uintptr_t)hidden ^ MASK);
	__asm__ volatile("" : : "r"(deep) : "memory");
}

static void *wait_above_dead_stack(void *hidden)
{
	write_deep(hidden);
	sem_post(&there);
	for (;;)
		pause();
	return NULL;
}

static __thread void *volatile tls;

static void *wait_with_tls(void *hidden)
{
	tls = (void *)((uintptr_t)hidden ^ MASK);
	sem_post(&there);
	for (;;)
		pause();
	return NULL;
}

static void *hide(void *p)
{
	return (void *)((uintptr_t)p ^ MASK);
}

static NOINLINE void in_thread(void *(*fn)(void *), void *hidden)
{
	pthread_t thread;

	pthread_create(&thread, NULL, fn, hidden);
	while (sem_wait(&there) && errno == EINTR)
		;
}

static NOINLINE void case_register(size_t size) { in_thread(wait_in_register, hide(make(size))); }
static NOINLINE void case_stack(size_t size) { in_thread(wait_in_stack, hide(make(size))); }
static NOINLINE void case_dead_stack(size_t size) { in_thread(wait_above_dead_stack, hide(make(size))); }
static NOINLINE void case_tls_thread(size_t size) { in_thread(wait_with_tls, hide(make(size))); }
static NOINLINE void case_tls_main(size_t size) { tls = make(size); }

/* The library lies beside this program. */
static void *load(const char *name)
{
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 64);

	while (len > 0 && path[len - 1] != '/')
		len--;
	strcpy(path + (len > 0 ? len : 0), name);
	return dlopen(path, RTLD_NOW);
}

static void **from_library(const char *name)
{
	static void *library;

	if (!library)
		library = load("libleaks.so");
	if (!library)
		_exit(3);
	return reinterpret_cast<void **(*)(void)>(dlsym(library, name))();
}

static NOINLINE void case_module_data(size_t size) { *from_library("leaks_data") = make(size); }
static NOINLINE void case_tls_dynamic(size_t size) { *from_library("leaks_tls") = make(size); }

static NOINLINE void in_mapping(size_t size, int flags, int protection)
{
	void **map = (void **)mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	map[70000] = make(size);
	mprotect(map, 1 << 20, protection);
}

static NOINLINE void case_mapping(size_t size)
{
	in_mapping(size, MAP_PRIVATE, PROT_READ | PROT_WRITE);
	stay();
}

static NOINLINE void case_shared(size_t size)
{
	in_mapping(size, MAP_SHARED, PROT_READ | PROT_WRITE);
	stay();
}

static NOINLINE void case_read_only(size_t size)
{
	in_mapping(size, MAP_PRIVATE, PROT_READ);
	stay();
}

static NOINLINE void case_large(size_t size)	/* the first one is mapped on its own */
{
	void **a = make(size);

	a[100000] = make(size);
	root(a);
}

static NOINLINE void case_freed(size_t size)
{
	void **a = (void **)malloc(700);

	a[40] = make(size);
	lose(a);
	free(a);
	stay();
}

static NOINLINE void case_moved(size_t size)
{
	void **a = (void **)malloc(300), *guard = malloc(300);

	a[20] = make(size);
	a = (void **)realloc(a, 5000);
	root(a);
	root(guard);
}

/* --- what the pointer looks like --- */

static NOINLINE void case_tagged(size_t size) { root((char *)make(size) + 1); }
static NOINLINE void case_behind_end(size_t size) { root((char *)make(size) + size); }
static NOINLINE void case_turned(size_t size) { root(hide(make(size))); }

static char packed[64] __attribute__((aligned(16)));

static NOINLINE void case_unaligned(size_t size)
{
	void *p = make(size);

	memcpy(packed + 3, &p, sizeof(p));
	lose(packed);
}

static NOINLINE void case_aligned(size_t size)
{
	void *p;

	if (posix_memalign(&p, 4096, size))
		_exit(3);
	memset(p, 0, size);
	root(p);
}

/* --- C++ --- */

struct counted {
	char bytes[40];
	~counted() { bytes[0] = 0; __asm__ volatile("" : : "r"(bytes) : "memory"); }
};

static NOINLINE void case_new_array(size_t size) { root(new counted[(size - 8) / sizeof(counted)]); }

static NOINLINE void case_lost_new_array(size_t size)
{
	counted *array = new counted[(size - 8) / sizeof(counted)];

	KEEP(array);
}

static NOINLINE void case_string(size_t size)
{
	static std::string *text = new std::string();

	text->reserve(size - 1);
	root(text);
}

static NOINLINE void case_vector(size_t size)
{
	static std::vector<void *> vector;

	vector.reserve(size / 8);
	for (int i = 0; i < 3; i++)
		vector.push_back(make(size));
}

static NOINLINE void case_lost_vector(size_t size)
{
	std::vector<void *> *vector = new std::vector<void *>();

	vector->reserve(size / 8);
	for (int i = 0; i < 3; i++)
		vector->push_back(make(size));
}

struct item { char bytes[9000]; };

static NOINLINE void case_list(size_t)
{
	static std::list<item> list;

	for (int i = 0; i < 4; i++)
		list.push_back(item());
}

struct shared { char bytes[9104]; };

static NOINLINE void case_shared_ptr(size_t)
{
	static std::shared_ptr<shared> pointer = std::make_shared<shared>();

	__asm__ volatile("" : : "r"(&pointer) : "memory");
}

struct one { virtual ~one() {} virtual void first() {} char bytes[120]; };
struct other { virtual ~other() {} virtual void second() {} char bytes[120]; };
struct both : one, other { char more[9200 - 256]; };

static NOINLINE void case_second_base(size_t) { root(static_cast<other *>(new both())); }

static NOINLINE void case_old_string(size_t size)
{
	size_t *words = (size_t *)make(size);

	words[0] = 5;
	words[1] = size - 25;
	root(words + 3);
}

static NOINLINE void case_length64(size_t size)
{
	size_t *words = (size_t *)make(size);

	words[0] = size - 8;
	root(words + 1);
}

/* --- all of them --- */

static const struct {
	const char *name;
	void (*fn)(size_t size);
	size_t size;
	unsigned definite, indirect, possible, reachable;
} cases[] = {
	{ "root", case_root, 8011, 0, 0, 0, 1 },
	{ "chain", case_chain, 8027, 0, 0, 0, 2 },
	{ "lost", case_lost, 8043, 1, 0, 0, 0 },
	{ "lost_chain", case_lost_chain, 8059, 1, 1, 0, 0 },
	{ "inner", case_inner, 8075, 0, 0, 1, 0 },
	{ "chain_inner", case_chain_inner, 8091, 0, 0, 1, 1 },
	{ "inner_chain", case_inner_chain, 8107, 0, 0, 2, 0 },
	{ "inner_inner", case_inner_inner, 8123, 0, 0, 2, 0 },
	{ "lost_inner", case_lost_inner, 8139, 1, 1, 0, 0 },
	{ "tree", case_tree, 401, 0, 0, 0, 15 },
	{ "lost_tree", case_lost_tree, 417, 1, 14, 0, 0 },
	{ "inner_tree", case_inner_tree, 433, 0, 0, 7, 0 },
	{ "ring", case_ring, 449, 1, 4, 0, 0 },
	{ "ring_root", case_ring_root, 465, 0, 0, 0, 5 },
	{ "self", case_self, 481, 1, 0, 0, 0 },
	{ "two_rings", case_two_rings, 497, 1, 5, 0, 0 },
	{ "two_parents", case_two_parents, 513, 2, 1, 0, 0 },
	{ "double_list", case_double_list, 529, 1, 3, 0, 0 },
	{ "popped", case_popped, 545, 1, 0, 0, 2 },
	{ "register", case_register, 8155, 0, 0, 0, 1 },
	{ "stack", case_stack, 8171, 0, 0, 0, 1 },
	{ "dead_stack", case_dead_stack, 8187, 1, 0, 0, 0 },
	{ "tls_thread", case_tls_thread, 8203, 0, 0, 0, 1 },
	{ "tls_main", case_tls_main, 8219, 0, 0, 0, 1 },
	{ "tls_dynamic", case_tls_dynamic, 8235, 0, 0, 0, 1 },
	{ "module_data", case_module_data, 8251, 0, 0, 0, 1 },
	{ "mapping", case_mapping, 8267, 0, 0, 0, 1 },
	{ "shared", case_shared, 8283, 0, 0, 0, 1 },
	{ "read_only", case_read_only, 8299, 0, 0, 0, 1 },
	{ "large", case_large, 3000001, 0, 0, 0, 2 },
	{ "freed", case_freed, 8315, 1, 0, 0, 0 },
	{ "moved", case_moved, 8331, 0, 0, 0, 1 },
	{ "tagged", case_tagged, 8347, 0, 0, 1, 0 },
	{ "behind_end", case_behind_end, 8368, 1, 0, 0, 0 },
	{ "turned", case_turned, 8379, 1, 0, 0, 0 },
	{ "unaligned", case_unaligned, 8395, 1, 0, 0, 0 },
	{ "aligned", case_aligned, 8411, 0, 0, 0, 1 },
	{ "new_array", case_new_array, 8 + 211 * sizeof(counted), 0, 0, 0, 1 },
	{ "lost_new_array", case_lost_new_array, 8 + 213 * sizeof(counted), 1, 0, 0, 0 },
	{ "string", case_string, 8603, 0, 0, 0, 1 },
	{ "vector", case_vector, 8616, 0, 0, 0, 4 },
	{ "lost_vector", case_lost_vector, 8632, 0, 4, 0, 0 },
	{ "list", case_list, 16 + sizeof(item), 0, 0, 0, 4 },
	{ "shared_ptr", case_shared_ptr, 16 + sizeof(struct shared), 0, 0, 0, 1 },
	{ "second_base", case_second_base, sizeof(both), 0, 0, 0, 1 },
	{ "old_string", case_old_string, 8651, 0, 0, 0, 1 },
	{ "length64", case_length64, 8667, 0, 0, 0, 1 },
};

#define CASES	(sizeof(cases) / sizeof(cases[0]))

static void names(void)
{
	for (unsigned i = 0; i < CASES; i++)
		say("%s %zu %u %u %u %u", cases[i].name, cases[i].size, cases[i].definite, cases[i].indirect,
		    cases[i].possible, cases[i].reachable);
	say("end %zu", CASES);
}

static int make_case(const char *name)
{
	for (unsigned i = 0; i < CASES; i++)
		if (!strcmp(cases[i].name, name)) {
			cases[i].fn(cases[i].size);
			wipe_stack();
			return 1;
		}
	return 0;
}

static bool forget_page(const char *symbol)
{
	void *at = dlsym(RTLD_DEFAULT, symbol);

	return at && !madvise((void *)((uintptr_t)at & ~4095ul), 4096, MADV_DONTNEED);
}

int main(int argc, char **argv)
{
	const char *name;
	char *line;

	sem_init(&there, 0, 0);
	if (argc > 1 && !strcmp(argv[1], "-a")) {
		for (unsigned i = 0; i < CASES; i++)
			make_case(cases[i].name);
		_exit(0);
	}
	say_ready();
	while ((line = hear())) {
		if (!strcmp(line, "names"))
			names();
		else if ((name = after(line, "case")))
			say(make_case(name) ? "ok" : "bad %s", name);
		else if (!strcmp(line, "untouched"))
			say(forget_page("_thread_db_sizeof_dtv_slotinfo") ? "ok" : "bad page");
		else if (!strcmp(line, "verify"))
			say("ok");
		else if (!strcmp(line, "quit"))
			break;
	}
	_exit(0);
}
