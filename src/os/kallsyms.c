/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads /proc/kallsyms: proc(5). */

#include "os/kallsyms.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"

#define PATH		"/proc/kallsyms"
#define LINE		1024
#define SYMBOLS_MAX	(4u << 20)

/* Add a string; 0 is "". */
static struct err *add_text(struct kallsyms *syms, const char *text, uint32_t *ret)
{
	size_t len = strlen(text) + 1;
	struct err *err = syms->text.nr ? NULL : vec_push(&syms->text, '\0');

	*ret = 0;
	if (err || len == 1)
		return err;
	err = vec_reserve(&syms->text, len);
	if (err)
		return err;
	*ret = (uint32_t)syms->text.nr;
	memcpy(syms->text.at + syms->text.nr, text, len);
	syms->text.nr += len;
	return NULL;
}

/* "ffffffff81000000 T _text", behind a module's "\t[module]". */
static struct err *take_line(struct kallsyms *syms, const char *line)
{
	char type, name[512], module[128] = "";
	struct kallsyms_name sym = { .name = 0 };
	struct err *err;

	if (sscanf(line, "%" SCNx64 " %c %511s [%127[^]]]", &sym.address, &type, name, module) < 3 ||
	    !strchr("tTwW", type))
		return NULL;
	err = add_text(syms, name, &sym.name);
	if (!err)
		err = add_text(syms, module, &sym.module);
	return err ? err : vec_push(&syms->vec, sym);
}

/* Of the names of one address the first one stays first. */
COMPARE_BY(by_address, struct kallsyms_name, sym, sym->address)

struct err *kallsyms_parse(FILE *file, struct kallsyms *ret)
{
	struct err *err = NULL;
	bool seen = false;
	char line[LINE];

	*ret = (struct kallsyms){ VEC_INIT, VEC_INIT };
	while (!err && ret->vec.nr < SYMBOLS_MAX && fgets(line, sizeof(line), file)) {
		err = take_line(ret, line);
		seen |= ret->vec.nr && ret->vec.at[ret->vec.nr - 1].address;
	}
	if (!err && ferror(file))
		err = err_sys(PATH);
	if (!err && !seen)
		err = err_hint(err_create(ERR_PERM, PATH ": the kernel's addresses are hidden"),
			       "kernel.kptr_restrict: 1 shows them to CAP_SYSLOG, 2 to nobody");
	if (!err)
		vec_sort(&ret->vec, by_address);
	return err;
}

struct err *kallsyms_read(struct kallsyms *ret)
{
	AUTO_FCLOSE FILE *file = fopen(PATH, "re");

	*ret = (struct kallsyms){ VEC_INIT, VEC_INIT };
	return file ? kallsyms_parse(file, ret) : err_sys(PATH);
}

void kallsyms_free(struct kallsyms *syms)
{
	vec_free(&syms->vec);
	vec_free(&syms->text);
}

const struct kallsyms_name *kallsyms_find(const struct kallsyms *syms, uint64_t address)
{
	size_t i = LOWER_BOUND(k, (size_t)0, syms->vec.nr, syms->vec.at[k].address <= address);

	return i ? &syms->vec.at[i - 1] : NULL;
}

const char *kallsyms_text(const struct kallsyms *syms, uint32_t at)
{
	return at < syms->text.nr ? syms->text.at + at : "";
}
