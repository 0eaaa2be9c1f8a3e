/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every command, each defined in the file of its name. */
#ifndef CMD_LIST_H
#define CMD_LIST_H

extern const struct cmd cmd_attach, cmd_core, cmd_detach, cmd_quit, cmd_exit, cmd_status, cmd_cont,
	cmd_interrupt, cmd_kill, cmd_wait;
extern const struct cmd cmd_malloc, cmd_malloc_allocations, cmd_malloc_freespace,
	cmd_malloc_find, cmd_malloc_check, cmd_malloc_sites, cmd_malloc_leaks, cmd_malloc_stale, cmd_malloc_trim,
	cmd_malloc_on, cmd_malloc_off, cmd_malloc_reset;
extern const struct cmd cmd_probe, cmd_probe_alloc, cmd_probe_free, cmd_probe_delete;
extern const struct cmd cmd_where, cmd_thread, cmd_registers, cmd_map, cmd_proc;
extern const struct cmd cmd_set, cmd_alias, cmd_source, cmd_sh, cmd_help;
extern const struct cmd cmd_api_attach, cmd_api_core, cmd_api_detach, cmd_api_pid, cmd_api_malloc,
	cmd_api_allocations, cmd_api_sites, cmd_api_leaks, cmd_api_stale, cmd_api_find,
	cmd_api_check, cmd_api_trim, cmd_api_probes, cmd_api_lacks;
extern const struct cmd cmd_api_frames, cmd_api_threads, cmd_api_where, cmd_api_maps, cmd_api_read,
	cmd_api_symbol, cmd_api_on;

#endif
