/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses the text of /proc files. */

#include "os/procparse.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/path.h"

/* Parse an unsigned number in base at *pos, without sign or blanks before it. */
static bool number(const char **pos, int base, uint64_t *ret)
{
	char *end;

	if (base == 16 ? !isxdigit((unsigned char)**pos) : !isdigit((unsigned char)**pos))
		return false;
	errno = 0;
	*ret = strtoull(*pos, &end, base);
	*pos = end;
	return !errno;
}

static bool literal(const char **pos, char c)
{
	if (**pos != c)
		return false;
	(*pos)++;
	return true;
}

/* Parse "r-xp ". */
static bool map_protection(const char **pos, struct proc_map *map)
{
	const char *flags = *pos;

	if (strnlen(flags, 5) < 5 || flags[4] != ' ')
		return false;
	map->read = flags[0] == 'r';
	map->write = flags[1] == 'w';
	map->exec = flags[2] == 'x';
	map->shared = flags[3] != 'p';
	*pos += 5;
	return true;
}

/* Parse everything before the path; *pos is then at the path. */
static bool map_numbers(const char **pos, struct proc_map *map)
{
	uint64_t major, minor;

	if (!number(pos, 16, &map->start) || !literal(pos, '-') || !number(pos, 16, &map->end) ||
	    !literal(pos, ' ') || !map_protection(pos, map) || !number(pos, 16, &map->offset) ||
	    !literal(pos, ' ') || !number(pos, 16, &major) || !literal(pos, ':') ||
	    !number(pos, 16, &minor) || !literal(pos, ' ') || !number(pos, 10, &map->inode))
		return false;
	map->dev_major = (uint32_t)major;
	map->dev_minor = (uint32_t)minor;
	*pos += strspn(*pos, " ");
	return map->start < map->end;
}

/*
 * The kernel writes a newline in a path as \012, and escapes nothing else (not even a backslash).
 */
static void unescape_newlines(char *path)
{
	char *to = path;

	while (*path) {
		if (!strncmp(path, "\\012", 4)) {
			*to++ = '\n';
			path += 4;
		} else {
			*to++ = *path++;
		}
	}
	*to = '\0';
}

static struct err *map_path(const char *text, size_t len, struct proc_map *map)
{
	map->path = strndup(text, len);
	if (!map->path)
		return err_nomem;
	map->deleted = path_cut_deleted(map->path);
	unescape_newlines(map->path);
	return NULL;
}

/* If a later line contradicts a mapping, the mapping has gone since it was read. */
static void forget_from(struct proc_maps *maps, uint64_t start)
{
	while (maps->vec.nr) {
		struct proc_map *last = &maps->vec.at[maps->vec.nr - 1];

		if (last->start < start) {
			last->end = MIN(last->end, start);
			return;
		}
		free(last->path);
		maps->vec.nr--;
	}
}

struct err *procparse_add_map(struct proc_maps *maps, const char *line, size_t len)
{
	struct proc_map map = { .unknown_protection = false };
	const char *pos = line;
	struct err *err;

	if (!map_numbers(&pos, &map) || pos > line + len)
		return err_create(ERR_FORMAT, "maps: not understood: %.*s",
				  (int)MIN(len, (size_t)200), line);
	err = vec_reserve(&maps->vec, 1);
	if (!err)
		err = map_path(pos, len - (size_t)(pos - line), &map);
	if (err)
		return err;
	forget_from(maps, map.start);
	maps->vec.at[maps->vec.nr++] = map;
	return NULL;
}

struct err *procparse_maps(const char *text, struct proc_maps *ret)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };

	while (*text) {
		size_t len = strcspn(text, "\n");
		struct err *err = procparse_add_map(&maps, text, len);

		if (err)
			return err;
		text += len + (text[len] == '\n');
	}
	*ret = maps;
	maps = (struct proc_maps){ VEC_INIT };
	return NULL;
}

void procparse_maps_free(struct proc_maps *maps)
{
	for (size_t i = 0; i < maps->vec.nr; i++)
		free(maps->vec.at[i].path);
	vec_free(&maps->vec);
}

const struct proc_map *procparse_maps_find(const struct proc_maps *maps, uint64_t addr)
{
	size_t at = LOWER_BOUND(i, 0, maps->vec.nr, maps->vec.at[i].end <= addr);

	return at < maps->vec.nr && maps->vec.at[at].start <= addr ? &maps->vec.at[at] : NULL;
}

bool procparse_map_is_anonymous(const struct proc_map *map)
{
	return !map->shared && (!*map->path || !strncmp(map->path, "[anon:", 6) ||
				!strcmp(map->path, "/anon_hugepage"));
}

/* Copy the name, in which the kernel writes newline as \n and backslash as \\. */
static void status_name(const char *text, size_t len, char *name, size_t room)
{
	const char *end = text + len;
	size_t nr = 0;

	while (text < end && nr + 1 < room) {
		if (*text == '\\' && text + 1 < end) {
			text++;
			name[nr++] = *text == 'n' ? '\n' : *text;
		} else {
			name[nr++] = *text;
		}
		text++;
	}
	name[nr] = '\0';
}

/* The member that a number is stored in. */
struct member {
	uint8_t size;
	size_t offset;
};

#define MEMBER(type, member)	{ sizeof(((type *)NULL)->member), offsetof(type, member) }

/*
 * A line "KEY:\tNUMBER...": which of its numbers is stored, in which base it is, and in which
 * member it is stored.
 */
struct status_field {
	const char *key;
	uint8_t column;		/* 0: the first number */
	uint8_t base;
	struct member to;
};

#define FIELD(key, column, base, member) \
	{ key, column, base, MEMBER(struct proc_status, member) }

static const struct status_field status_fields[] = {
	FIELD("Tgid", 0, 10, tgid),
	FIELD("Pid", 0, 10, pid),
	FIELD("PPid", 0, 10, ppid),
	FIELD("TracerPid", 0, 10, tracer),
	FIELD("Uid", 0, 10, uid),
	FIELD("Uid", 1, 10, euid),
	FIELD("Gid", 0, 10, gid),
	FIELD("Threads", 0, 10, threads),
	FIELD("VmSize", 0, 10, vm_kb),
	FIELD("VmLck", 0, 10, locked_kb),
	FIELD("VmHWM", 0, 10, peak_kb),
	FIELD("VmRSS", 0, 10, rss_kb),
	FIELD("VmLib", 0, 10, code_kb),
	FIELD("RssAnon", 0, 10, anonymous_kb),
	FIELD("VmSwap", 0, 10, swap_kb),
	FIELD("VmPTE", 0, 10, page_tables_kb),
	FIELD("HugetlbPages", 0, 10, hugetlb_kb),
	FIELD("SigPnd", 0, 16, sig_pending),
	FIELD("ShdPnd", 0, 16, shared_pending),
	FIELD("SigBlk", 0, 16, sig_blocked),
	FIELD("SigIgn", 0, 16, sig_ignored),
	FIELD("SigCgt", 0, 16, sig_caught),
	FIELD("CapPrm", 0, 16, cap_permitted),
	FIELD("CapEff", 0, 16, cap_effective),
	FIELD("Seccomp", 0, 10, seccomp),
	FIELD("NoNewPrivs", 0, 10, no_new_privs),
};

static void set_member(void *parsed, const struct member *to, uint64_t value)
{
	char *member = (char *)parsed + to->offset;
	uint32_t word = (uint32_t)value;
	bool flag = value;

	if (to->size == sizeof(bool))
		memcpy(member, &flag, sizeof(flag));
	else if (to->size == sizeof(word))
		memcpy(member, &word, sizeof(word));
	else
		memcpy(member, &value, sizeof(value));
}

static void status_number(struct proc_status *status, const struct status_field *field,
			  const char *text)
{
	uint64_t value;

	for (unsigned i = 0; i <= field->column; i++) {
		text += strspn(text, " \t");
		if (!number(&text, field->base, &value))
			return;
	}
	set_member(status, &field->to, value);
}

/* One id for each namespace, the innermost last. */
static pid_t last_number(const char *value, size_t len)
{
	while (len && value[len - 1] >= '0' && value[len - 1] <= '9')
		len--;
	return (pid_t)strtol(value + len, NULL, 10);
}

static void status_line(struct proc_status *status, const char *key, size_t key_len,
			const char *value, size_t value_len)
{
	if (key_len == 4 && !memcmp(key, "Name", 4))
		status_name(value, value_len, status->name.bytes, sizeof(status->name.bytes));
	if (key_len == 6 && !memcmp(key, "NStgid", 6))
		status->ns_tgid = last_number(value, value_len);
	if (key_len == 5 && !memcmp(key, "State", 5))
		status->state = *value;
	if (key_len == 6 && !memcmp(key, "VmSize", 6))
		status->has_vm = true;
	if (key_len == 19 && !memcmp(key, "x86_Thread_features", 19))
		status->shadow_stack = memmem(value, value_len, "shstk", 5);
	for (size_t i = 0; i < ARRAY_SIZE(status_fields); i++) {
		const struct status_field *field = &status_fields[i];

		if (strlen(field->key) == key_len && !memcmp(field->key, key, key_len))
			status_number(status, field, value);
	}
}

struct err *procparse_status(const char *text, struct proc_status *ret)
{
	struct proc_status status = { .pid = 0 };

	while (*text) {
		size_t len = strcspn(text, "\n");
		size_t key_len = strcspn(text, ":\n");

		if (key_len + 1 < len)
			status_line(&status, text, key_len, text + key_len + 2, len - key_len - 2);
		text += len + (text[len] == '\n');
	}
	if (!status.pid)
		return err_create(ERR_FORMAT, "status: no Pid");
	*ret = status;
	return NULL;
}

/* Indexed by the field numbers of proc_pid_stat(5), which begin at 1. */
static const struct member stat_fields[] = {
	[4] = MEMBER(struct proc_stat, ppid),
	[5] = MEMBER(struct proc_stat, pgrp),
	[6] = MEMBER(struct proc_stat, session),
	[9] = MEMBER(struct proc_stat, flags),
	[10] = MEMBER(struct proc_stat, min_faults),
	[12] = MEMBER(struct proc_stat, maj_faults),
	[14] = MEMBER(struct proc_stat, utime),
	[15] = MEMBER(struct proc_stat, stime),
	[22] = MEMBER(struct proc_stat, start_time),
	[23] = MEMBER(struct proc_stat, vm_bytes),
	[24] = MEMBER(struct proc_stat, rss_pages),
	[32] = MEMBER(struct proc_stat, blocked),
	[38] = MEMBER(struct proc_stat, exit_signal),
	[39] = MEMBER(struct proc_stat, cpu),
	[47] = MEMBER(struct proc_stat, start_brk),
	[52] = MEMBER(struct proc_stat, exit_code),
};

struct err *procparse_stat(const char *text, struct proc_stat *ret)
{
	const char *pos = strrchr(text, ')');

	if (!pos || pos[1] != ' ' || !pos[2])
		return err_create(ERR_FORMAT, "stat: no name in it");
	*ret = (struct proc_stat){ .state = pos[2] };
	pos += 3;
	for (size_t i = 4; i < ARRAY_SIZE(stat_fields); i++) {
		char *end;
		/* Some fields are negative (tpgid); they are stored as strtoull gives them. */
		uint64_t value = strtoull(pos, &end, 10);

		if (end == pos)
			return err_create(ERR_FORMAT, "stat: only %zu fields", i - 1);
		if (stat_fields[i].size)
			set_member(ret, &stat_fields[i], value);
		pos = end;
	}
	return NULL;
}

struct err *procparse_pids(const char *text, struct proc_tasks *ret)
{
	struct proc_tasks tasks = { VEC_INIT };
	uint64_t pid;

	for (text += strspn(text, " \n"); *text; text += strspn(text, " \n")) {
		struct err *err;

		if (number(&text, 10, &pid))
			err = vec_push(&tasks.vec, (pid_t)pid);
		else
			err = err_create(ERR_FORMAT, "process ids: not understood: %.100s", text);
		if (err) {
			vec_free(&tasks.vec);
			return err;
		}
	}
	*ret = tasks;
	return NULL;
}

struct err *procparse_auxv(const void *bytes, size_t len, uint64_t type, uint64_t *ret)
{
	const char *pos = bytes;
	uint64_t pair[2];

	for (; len >= sizeof(pair); pos += sizeof(pair), len -= sizeof(pair)) {
		memcpy(pair, pos, sizeof(pair));
		if (pair[0] == type) {
			*ret = pair[1];
			return NULL;
		}
	}
	return err_create(ERR_NOTFOUND, "auxv: no entry of type %" PRIu64, type);
}

void procparse_map_protection(const struct proc_map *map, char ret[5])
{
	const bool set[] = { map->read, map->write, map->exec };

	for (unsigned i = 0; i < ARRAY_SIZE(set); i++)
		ret[i] = map->unknown_protection ? '?' : set[i] ? "rwx"[i] : '-';
	ret[3] = map->unknown_sharing ? '?' : map->shared ? 's' : 'p';
	ret[4] = '\0';
}
