/* SPDX-License-Identifier: GPL-3.0-or-later */
/* By which allocators the target allocates. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "probe/probe.h"
#include "session/private.h"
#include "target/target.h"

/*
 * "2.36" from the banner in libc's constants ("GNU C Library (...) stable release version 2.36."),
 * or "".
 */
static void glibc_version(struct module *module, char *ret, size_t room)
{
	static const char banner[] = "release version ";
	const struct elf_segment *segment;
	size_t nr;

	*ret = '\0';
	segment = elf_file_segments(module->elf, &nr);
	for (size_t i = 0; i < nr; i++) {
		AUTO_FREE char *bytes = NULL;
		char *found;

		if (segment[i].write || segment[i].exec || segment[i].filesz > (16u << 20))
			continue;
		bytes = calloc(1, segment[i].filesz + 16);
		if (!bytes ||
		    elf_file_read(module->elf, segment[i].vaddr, bytes, segment[i].filesz))
			continue;
		found = memmem(bytes, segment[i].filesz, banner, sizeof(banner) - 1);
		if (found) {
			found += sizeof(banner) - 1;
			snprintf(ret, room, "%.*s", (int)strspn(found, "0123456789."), found);
			/* the sentence's full stop */
			ret[strlen(ret) ? strlen(ret) - 1 : 0] = '\0';
			return;
		}
	}
}

struct module *session_glibc(const struct session *session)
{
	const struct modules *modules = &session->target->modules;
	char version[16];

	for (size_t i = 0; i < modules->live.nr; i++) {
		struct module *module = modules->live.at[i];
		const char *name = path_base(module->path);

		if (module->elf && (!strncmp(name, "libc.so", 7) || !strncmp(name, "libc-2.", 7))) {
			glibc_version(module, version, sizeof(version));
			if (*version)
				return module;
		}
	}
	/* A static program seldom has the banner: whether its malloc is glibc's, the walk finds out. */
	for (size_t i = 0; i < modules->live.nr; i++) {
		struct module *module = modules->live.at[i];
		struct elf_symbol symbol;

		if (module->elf && !elf_file_symbol(module->elf, "malloc", &symbol) &&
		    !alloc_module_is_private(path_base(module->path)))
			return module;
	}
	return NULL;
}

static void describe_allocator(struct module *module, char *ret, size_t room)
{
	static const char *const known[][2] = {
		{ "libjemalloc", "jemalloc" }, { "libtcmalloc", "tcmalloc" },
		{ "libmimalloc", "mimalloc" }, { "libc.musl", "musl" },
		{ "ld-musl", "musl" },
	};
	const char *name = path_base(module->path);
	char version[16];

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strncmp(name, known[i][0], strlen(known[i][0]))) {
			snprintf(ret, room, "%s", known[i][1]);
			return;
		}
	glibc_version(module, version, sizeof(version));
	if (*version)
		snprintf(ret, room, "glibc %s (ptmalloc)", version);
	else
		snprintf(ret, room, "%.40s's own", name);
}

static void name_allocator(struct session *session, struct module *module)
{
	size_t len = strlen(session->allocator);
	char text[64];

	describe_allocator(module, text, sizeof(text));
	snprintf(session->allocator + len, sizeof(session->allocator) - len, "%s%s",
		 len ? ", " : "", text);
}

/* A core has no probes: whoever has a malloc. */
static struct err *allocator_job(void *arg)
{
	struct session *session = arg;
	struct probes *probes = session->probes;

	session->allocator[0] = '\0';
	for (size_t i = 0; session->target->core && i < session->target->modules.live.nr; i++) {
		struct module *module = session->target->modules.live.at[i];
		struct elf_symbol symbol;

		if (module->elf && !elf_file_symbol(module->elf, "malloc", &symbol) &&
		    !alloc_module_is_private(path_base(module->path)))
			name_allocator(session, module);
	}
	for (size_t i = 0; probes && i < probes->all.nr; i++) {
		const struct probe *probe = probes->all.at[i];

		if (probe->fn && !strcmp(probe->fn->symbol, "malloc") &&
		    probe->module->died == UINT32_MAX)
			name_allocator(session, probe->module);
	}
	return NULL;
}

const char *session_allocator(struct session *session)
{
	if (!session->allocator[0])
		err_ignore(session_call(session, allocator_job, session));
	return session->allocator[0] ? session->allocator : "unknown";
}
