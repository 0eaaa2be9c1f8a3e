/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code without a file whose functions have hostile names, by /tmp/perf-PID.map: markup and scripts, what terminals obey,
 * bytes that are no UTF-8, separators of formats, ten thousand letters. Each has allocated one block. make (once),
 * verify, quit.
 */
#include <sys/mman.h>

#include "target.h"

#define PAGE	4096u
#define SPAN	64u	/* a function's */
#define LONG	10000

static const char *const names[] = {
	"<script>window.hacked=1</script>",
	"</title></text></svg><img src=x onerror=\"window.hacked=1\">",
	"</script><script>window.hacked=1</script><!--",
	"]]><g onload='window.hacked=1'/>",
	"&lt;&amp;\"'`${window.hacked=1}`",
	"\033]0;title\a\033[31mred\177",
	"\377\376not\200UTF-8\303",
	"\342\200\256sdrawkcab",
	"a;b c,d\te|f\\n=1 (12 bytes in 3 blocks)",
	NULL,		/* LONG letters */
};

#define NAMES	(sizeof(names) / sizeof(names[0]))

/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };

static void *block[NAMES];
static size_t nr;

static NOINLINE void make_block(void)
{
	void *p = malloc(1000 * (nr + 1));

	KEEP(p);
	canary_fill(p, 1000 * (nr + 1));
	block[nr++] = p;
}

static int name_code(const uint8_t *at, const char *path)
{
	FILE *map = fopen(path, "w");

	if (!map)
		return -1;
	for (size_t i = 0; i < NAMES; i++) {
		fprintf(map, "%lx %x ", (unsigned long)(at + i * SPAN), (unsigned)sizeof(code));
		for (int j = 0; !names[i] && j < LONG; j++)
			fputc('a' + j % 26, map);
		fprintf(map, "%s\n", names[i] ? names[i] : "");
	}
	return fclose(map);
}

static size_t verify(void)
{
	size_t bad = 0;

	for (size_t i = 0; i < nr; i++)
		bad += !canary_holds(block[i], 1000 * (i + 1));
	return bad;
}

int main(void)
{
	uint8_t *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	char *line;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	if (at == MAP_FAILED || name_code(at, path))
		return 2;
	for (size_t i = 0; i < NAMES; i++)
		memcpy(at + i * SPAN, code, sizeof(code));
	if (mprotect(at, PAGE, PROT_READ | PROT_EXEC))
		return 2;
	say_ready();
	while ((line = hear()) && !after(line, "quit")) {
		if (after(line, "make"))
			while (nr < NAMES)
				((void (*)(void (*fn)(void)))(at + nr * SPAN))(make_block);
		say("%s %zu", verify() ? "bad" : "ok", nr);
	}
	unlink(path);
	return verify() != 0;
}
