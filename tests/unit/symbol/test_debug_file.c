/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Separate debug files: this program, split by objcopy as distributions do it. `bare` is what is
 * installed: it has no symbols but those it exports, so that fixture_real has a name only if the
 * debug file was found.
 */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <elfutils/libdwelf.h>

#include "fixture.h"
#include "symbol/symbol.h"
#include "unit.h"

#define BIAS	0x7f0000000000

/* True (and in the folder) if the program can be split. */
static bool split(void)
{
	fixture_enter();
	if (fixture_has_lines() &&
	    fixture_shell("objcopy --only-keep-debug \"$PROGRAM\" bare.debug 2>/dev/null && "
			  "objcopy --strip-all \"$PROGRAM\" bare"))
		return true;
	fixture_leave();
	unit_skip("no objcopy, or built without -g");
	return false;
}

/*
 * Debug files being looked for in `debug` of the folder: the number of frames that have a name in
 * `bare` where fixture_real has three, two of them inlined. 0: nothing was found.
 */
static size_t is_found(const char *folder)
{
	uint64_t pc = BIAS + fixture_file_address((const void *)(uintptr_t)fixture_real(1));
	char path[4200], debug[4200];
	const struct symbol_frame *frames;
	struct symbol_module module;
	struct symbols *symbols;
	size_t nr, known = 0;

	snprintf(path, sizeof(path), "%s/bare", folder);
	snprintf(debug, sizeof(debug), "/nonexistent::%s/debug", folder);
	module = fixture_file(path, BIAS);
	CU_ASSERT_PTR_NULL_FATAL(symbols_create(0, &symbols));
	CU_ASSERT_PTR_NULL_FATAL(symbols_set_debug_path(symbols, debug));
	CU_ASSERT_PTR_NULL_FATAL(symbols_add(symbols, &module));
	close(module.fd);
	frames = symbols_resolve(symbols, pc, 1, true, &nr);
	for (size_t i = 0; i < nr; i++)
		known += frames[i].function != NULL;
	/* Unknown, rather than the name of what stands before. */
	if (known)
		CU_ASSERT_STRING_EQUAL(frames[nr - 1].function, "fixture_real");
	CU_ASSERT_EQUAL(frames[0].line, known ? fixture_lines[0] : 0);
	symbols_destroy(symbols);
	return known;
}

/* "ab/cdef…" of this program, false if it has no build-id. */
static bool own_build_id(char *text)
{
	struct symbol_module module;
	const void *bits = NULL;
	ssize_t len;
	Elf *elf;

	elf_version(EV_CURRENT);
	CU_ASSERT_FATAL(fixture_module("", &module));
	elf = elf_begin(module.fd, ELF_C_READ, NULL);
	len = dwelf_elf_gnu_build_id(elf, &bits);
	for (ssize_t i = 0; i < len; i++)
		text += sprintf(text, "%02x%s", ((const unsigned char *)bits)[i], i ? "" : "/");
	elf_end(elf);
	close(module.fd);
	return len > 1;
}

TEST("by build-id")
{
	char id[256];

	if (!split())
		return;
	if (!own_build_id(id)) {
		fixture_leave();
		unit_skip("this program has no build-id");
		return;
	}
	CU_ASSERT(!is_found(fixture_folder()));
	CU_ASSERT(fixture_shell(
		"mkdir -p debug/.build-id/%.2s && cp bare.debug debug/.build-id/%s.debug", id, id));
	CU_ASSERT(is_found(fixture_folder()));
	/* Something else under that name. */
	CU_ASSERT(fixture_shell("cp /bin/sh debug/.build-id/%s.debug", id));
	CU_ASSERT(!is_found(fixture_folder()));
	CU_ASSERT(fixture_shell("rm debug/.build-id/%s.debug && mkfifo debug/.build-id/%s.debug",
				id, id));
	CU_ASSERT(!is_found(fixture_folder()));
	fixture_leave();
}

TEST("by .gnu_debuglink")
{
	static const char *const places[] = { "bare.debug", ".debug/bare.debug",
					      "debug$PWD/bare.debug" };

	if (!split())
		return;
	CU_ASSERT(
		fixture_shell("objcopy --add-gnu-debuglink=bare.debug bare && mv bare.debug kept"));
	CU_ASSERT(!is_found(fixture_folder()));
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		CU_ASSERT(fixture_shell("mkdir -p \"$(dirname \"%s\")\" && cp kept \"%s\"",
					places[i], places[i]));
		CU_ASSERT(is_found(fixture_folder()));
		CU_ASSERT(fixture_shell("rm \"%s\"", places[i]));
	}
	CU_ASSERT(!is_found(fixture_folder()));
	fixture_leave();
}

/* Without a build-id, the CRC decides. */
TEST("by CRC")
{
	if (!split())
		return;
	CU_ASSERT(fixture_shell(
		"objcopy -R .note.gnu.build-id \"$PROGRAM\" whole && objcopy --only-keep-debug "
		"whole bare.debug 2>/dev/null && "
		"objcopy --strip-all whole bare && objcopy --add-gnu-debuglink=bare.debug bare"));
	CU_ASSERT(is_found(fixture_folder()));
	CU_ASSERT(fixture_shell("echo >>bare.debug"));
	CU_ASSERT(!is_found(fixture_folder()));
	fixture_leave();
}

/* dwz moves what two debug files share to a third. */
TEST("dwz")
{
	char id[256];

	if (!split())
		return;
	if (!own_build_id(id) ||
	    !fixture_shell(
		    "mkdir -p debug/.build-id/%.2s debug/.dwz && cp bare.debug other.debug && "
		    "dwz -m debug/.dwz/common.debug -M ../../.dwz/common.debug bare.debug "
		    "other.debug 2>/dev/null && "
		    "mv bare.debug debug/.build-id/%s.debug",
		    id, id)) {
		fixture_leave();
		unit_skip("no dwz, or none for this compiler's DWARF, or no build-id");
		return;
	}
	CU_ASSERT_EQUAL(is_found(fixture_folder()), 3);
	/* Without it some names are missing (which ones, dwz decides), and no crash. */
	CU_ASSERT(fixture_shell("mv debug/.dwz/common.debug moved"));
	CU_ASSERT(is_found(fixture_folder()) >= 1);
	/* By the build-id of its own. */
	CU_ASSERT(fixture_shell(
		"id=$(objcopy -O binary --only-section=.note.gnu.build-id "
		"--set-section-flags .note.gnu.build-id=alloc moved /dev/stdout | tail -c 20 | od "
		"-An -tx1 | "
		"tr -d ' \n') && dir=debug/.build-id/$(echo $id | cut -c1-2) && mkdir -p $dir && "
		"mv moved $dir/$(echo $id | cut -c3-).debug"));
	CU_ASSERT_EQUAL(is_found(fixture_folder()), 3);
	fixture_leave();
}

/* Packed debug information, which libelf need not know how to unpack. */
TEST("packed")
{
	static const char *const ways[] = { "zlib", "zlib-gnu", "zstd" };

	if (!split())
		return;
	CU_ASSERT(fixture_shell("rm -f bare.debug"));
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		if (!fixture_shell("objcopy --only-keep-debug --compress-debug-sections=%s "
				   "\"$PROGRAM\" bare.debug 2>/dev/null && cp bare other && "
				   "objcopy -R .gnu_debuglink --add-gnu-debuglink=bare.debug bare",
				   ways[i])) {
			unit_skip("an objcopy that does not pack so");
			continue;
		}
		CU_ASSERT_EQUAL(is_found(fixture_folder()), 3);
	}
	fixture_leave();
}

static void count_dwo(void *ctx, const char *text)
{
	*(int *)ctx += strstr(text, "/p.dwo is not there") ||
		       strstr(text, "a .dwo file that is not of this build");
}

/* DWARF in a .dwo file beside the program; without it, lines and symbols are left, and a warning. */
TEST("split DWARF")
{
	char path[4200];

	fixture_enter();
	if (!fixture_shell("printf 'static inline __attribute__((always_inline)) int in(int *p) { "
			   "return ++*p; }\\n"
			   "int out(int *p) { return in(p); }\\nint main(void) { int x = 0; return "
			   "out(&x); }\\n' >p.c && "
			   "cc -O2 -g -gsplit-dwarf -c p.c 2>/dev/null && cc -o p p.o 2>/dev/null "
			   "&& [ -e p.dwo ]")) {
		fixture_leave();
		unit_skip("no compiler that splits DWARF");
		return;
	}
	snprintf(path, sizeof(path), "%s/p", fixture_folder());
	for (int i = 0; i < 3; i++) {
		bool gone = i;
		struct symbol_module module = fixture_file(path, BIAS);
		const struct symbol_frame *frames;
		struct symbols *symbols;
		uint64_t addr, size;
		int warned = 0;
		size_t nr;

		module.start = BIAS;
		module.end = BIAS + 0x100000;
		CU_ASSERT_PTR_NULL_FATAL(symbols_create(0, &symbols));
		symbols_set_warn(symbols, count_dwo, &warned);
		CU_ASSERT_PTR_NULL_FATAL(symbols_add(symbols, &module));
		close(module.fd);
		CU_ASSERT_PTR_NULL_FATAL(symbols_find(symbols, "out", &addr, &size));
		frames = symbols_resolve(symbols, addr, 1, false, &nr);
		CU_ASSERT_EQUAL(nr, gone ? 1 : 2);
		CU_ASSERT_STRING_EQUAL(frames[0].function, gone ? "out" : "in");
		CU_ASSERT_STRING_EQUAL(frames[nr - 1].function, "out");
		CU_ASSERT_EQUAL(frames[0].line, 1);
		CU_ASSERT_EQUAL(warned, gone);
		symbols_destroy(symbols);
		CU_ASSERT(fixture_shell(i ? "rm -f p.dwo" :
					"echo 'int more;' >>p.c && "
					"cc -O2 -g -gsplit-dwarf -c p.c -o q.o && mv q.dwo p.dwo"));
	}
	fixture_leave();
}

/* Fedora's: the symbols that .dynsym lacks, compressed in the file itself. */
TEST(".gnu_debugdata")
{
	uint64_t pc = BIAS + fixture_file_address(fixture_real);
	struct symbol_module module;
	struct symbols *symbols;
	char path[4200];

	if (!split())
		return;
	if (!fixture_shell("objcopy --strip-debug \"$PROGRAM\" mini && "
			   "xz -k mini 2>/dev/null && "
			   "objcopy --add-section .gnu_debugdata=mini.xz bare")) {
		fixture_leave();
		unit_skip("no xz");
		return;
	}
	snprintf(path, sizeof(path), "%s/bare", fixture_folder());
	module = fixture_file(path, BIAS);
	CU_ASSERT_PTR_NULL_FATAL(symbols_create(0, &symbols));
	CU_ASSERT_PTR_NULL_FATAL(symbols_set_debug_path(symbols, ""));
	CU_ASSERT_PTR_NULL_FATAL(symbols_add(symbols, &module));
	close(module.fd);
	CU_ASSERT_STRING_EQUAL(symbols_text(symbols, pc, 1, false, SYMBOL_NAMES_SHORT), "fixture_real [bare]");
	symbols_destroy(symbols);
	fixture_leave();
}

/* A server that must not be asked, whatever the environment says. */
TEST("no network")
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(addr);
	int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char url[64];

	if (!split())
		return;
	CU_ASSERT_FATAL(server >= 0 && !bind(server, (struct sockaddr *)&addr, len) &&
			!listen(server, 1) && !getsockname(server, (struct sockaddr *)&addr, &len));
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(addr.sin_port));
	setenv("DEBUGINFOD_URLS", url, 1);
	CU_ASSERT(!is_found(fixture_folder()));
	CU_ASSERT(accept(server, NULL, NULL) < 0);
	unsetenv("DEBUGINFOD_URLS");
	close(server);
	fixture_leave();
}

/*
 * The program's file loses its end between two questions. It is longer than what mdbg once read at
 * once; a mapping of it would end this process by SIGBUS.
 */
TEST("cut short")
{
	uint64_t pc = BIAS + fixture_file_address(fixture_real);
	struct symbol_module module;
	struct symbols *symbols;
	char path[4200];
	size_t nr;

	fixture_enter();
	CU_ASSERT_FATAL(fixture_shell("cp \"$PROGRAM\" long && chmod 644 long && "
				      "truncate -s 200M long"));
	snprintf(path, sizeof(path), "%s/long", fixture_folder());
	module = fixture_file(path, BIAS);
	CU_ASSERT_PTR_NULL_FATAL(symbols_create(0, &symbols));
	CU_ASSERT_PTR_NULL_FATAL(symbols_add(symbols, &module));
	close(module.fd);
	CU_ASSERT_STRING_EQUAL(fixture_function(symbols, pc), "fixture_real");
	CU_ASSERT(fixture_shell("truncate -s 4096 long"));
	/* Another unit's: what was not read yet is gone, and what was is still known. */
	symbols_resolve(symbols, BIAS + fixture_file_address(unit_skip), 1, false, &nr);
	CU_ASSERT_EQUAL(nr, 1);
	CU_ASSERT_STRING_EQUAL(fixture_function(symbols, pc + 1), "fixture_real");
	symbols_destroy(symbols);
	fixture_leave();
}
