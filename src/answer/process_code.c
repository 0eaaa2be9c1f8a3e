/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the names of a process's code (process_code.h). */

#include "answer/process_code.h"

#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "os/procfs.h"
#include "os/procmem.h"
#include "session/session.h"

#define TICKS_NS	50000000ull	/* the time of a process's start is not known better */

void process_codes_init(struct process_codes *codes, struct session *session)
{
	*codes = (struct process_codes){ .session = session };
}

static void forget(struct process_code *code)
{
	procparse_maps_free(&code->maps);
	symbols_destroy(code->own);
	*code = (struct process_code){ .pid = 0 };
}

void process_codes_free(struct process_codes *codes)
{
	for (unsigned i = 0; i < PROCESS_CODE_KEPT; i++)
		forget(&codes->code[i]);
	forget(&codes->nameless);
	symbols_destroy(codes->files);
	codes->files = NULL;
}

/* Is a thread of the process called so? */
static struct err *find_comm(pid_t pid, const char *comm)
{
	struct proc_tasks tasks = { VEC_INIT };
	struct err *err = procfs_tasks(pid, &tasks);
	bool found = false;

	for (size_t i = 0; !err && !found && i < tasks.vec.nr; i++) {
		AUTO_FREE char *name = NULL;
		struct err *gone = procfs_file(tasks.vec.at[i], "comm", &name, NULL);

		if (gone)
			continue;
		name[strcspn(name, "\n")] = '\0';
		found = !strcmp(name, comm);
	}
	vec_free(&tasks.vec);
	return err || found ? err : err_create(ERR_NOTFOUND, "none of its threads is called %s now: "
					       "it may have executed another program", comm);
}

static struct err *read_modules(pid_t pid, struct modules *modules)
{
	struct procmem mem;
	struct err *err = procmem_open(pid, &mem);

	if (err)
		return err;
	err = modules_refresh(modules, pid, &mem.memory, NULL);
	procmem_close(&mem);
	return err;
}

static struct err *add_module(struct symbols *symbols, const struct module *module)
{
	return symbols_add(symbols, &(const struct symbol_module){
		.path = module->path, .fd = module->fd,
		.bytes = module->image, .bytes_len = module->image_len,
		.start = module->start, .end = module->end, .bias = module->bias,
		.born = module->born, .died = module->died });
}

/* The files of all processes; those that are kept open are given up now and then. */
static struct err *prepare_files(struct process_codes *codes)
{
	if (codes->files && ++codes->read >= PROCESS_CODE_SHARE)
		process_codes_free(codes);
	if (codes->files)
		return NULL;
	codes->read = 0;
	return symbols_create(getpid(), &codes->files);
}

static struct err *read_symbols(struct process_codes *codes, struct process_code *code)
{
	CLEANUP(modules_deinit) struct modules modules;
	struct err *err;

	modules_init(&modules, NULL);
	modules.names_only = true;
	err = read_modules(code->pid, &modules);
	if (!err)
		err = prepare_files(codes);
	if (!err)
		err = symbols_create(code->pid, &code->own);
	if (!err)
		symbols_share(code->own, codes->files);
	for (size_t i = 0; !err && i < modules.live.nr; i++)
		err = add_module(code->own, modules.live.at[i]);
	code->generation = modules.generation;
	code->symbols = err ? NULL : code->own;
	return err;
}

static struct err *read_code(struct process_codes *codes, struct process_code *code)
{
	struct session_core core;
	struct err *err;

	if (!procfs_sees_all())
		return err_create(ERR_UNSUPPORTED, "the kernel's numbers of processes are of "
				  "another namespace");
	err = procfs_start_realtime(code->pid, &code->begun);
	if (!err)
		err = find_comm(code->pid, code->comm);
	if (!err)
		err = procfs_maps(code->pid, &code->maps);
	if (err)
		return err;
	if (code->pid != session_pid(codes->session) || !session_generation(codes->session) ||
	    session_core(codes->session, &core))
		return read_symbols(codes, code);
	code->symbols = session_symbols(codes->session);
	code->generation = session_generation(codes->session);
	return NULL;
}

static struct process_code *find_read(struct process_codes *codes, pid_t pid, const char *comm)
{
	for (unsigned i = 0; i < PROCESS_CODE_KEPT; i++)
		if (codes->code[i].pid == pid && !strcmp(codes->code[i].comm, comm))
			return &codes->code[i];
	return NULL;
}

static struct process_code *read_new(struct process_codes *codes, pid_t pid, const char *comm)
{
	struct process_code read = { .pid = pid }, *code = &codes->nameless;
	struct err *err;

	strncpy(read.comm, comm, sizeof(read.comm) - 1);
	err = read_code(codes, &read);
	if (err)
		err_copy(&read.why, err);
	else
		code = &codes->code[codes->next++ % PROCESS_CODE_KEPT];
	forget(code);
	*code = read;
	return code;
}

const struct process_code *process_codes_find(struct process_codes *codes, pid_t pid,
					      const char *comm, uint64_t time)
{
	static const struct process_code later = {
		.why = { .code = ERR_GONE, .msg = "another process has this number now" },
	};
	struct process_code *code = find_read(codes, pid, comm);

	if (!code)
		code = read_new(codes, pid, comm);
	return code->begun > time + TICKS_NS ? &later : code;
}

struct process_code_place process_code_at(const struct process_code *code, uint64_t pc, bool entry)
{
	const struct proc_map *map = procparse_maps_find(&code->maps, pc);
	struct process_code_place place = { .file = NULL };

	if (map && map->path[0] == '/') {
		place.file = path_base(map->path);
		place.offset = pc - map->start + map->offset;
	}
	if (!code->symbols)
		return place;
	place.frames = symbols_resolve(code->symbols, pc, code->generation, !entry, &place.nr);
	if (!place.frames[place.nr - 1].function)
		place.nr = 0;
	return place;
}
