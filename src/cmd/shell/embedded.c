/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A file system for Tcl that contains the files inside of mdbg. Folders are not in the table: a
 * folder is there if the names of files begin with its name.
 */

#include "cmd/shell/embedded.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cmd/shell/memory_file.h"

/* The part of the path after the volume's name; NULL: the path is of another file system. */
static const char *inner_path(Tcl_Obj *path)
{
	Tcl_Obj *normal = Tcl_FSGetNormalizedPath(NULL, path);
	const char *text = normal ? Tcl_GetString(normal) : "";

	return strncmp(text, EMBEDDED_VOLUME, strlen(EMBEDDED_VOLUME)) ? NULL : text + strlen(EMBEDDED_VOLUME);
}

static const struct embedded_file *find(const char *name)
{
	for (const struct embedded_file *file = embedded_files; file->name; file++)
		if (!strcmp(file->name, name))
			return file;
	return NULL;
}

/*
 * The part of the file's name after the folder's name and its slash; NULL: it is not in the folder.
 */
static const char *below(const struct embedded_file *file, const char *folder)
{
	size_t len = strlen(folder);

	if (!len)
		return file->name;
	return !strncmp(file->name, folder, len) && file->name[len] == '/' ? file->name + len + 1 :
									     NULL;
}

static bool is_folder(const char *name)
{
	for (const struct embedded_file *file = embedded_files; file->name; file++)
		if (below(file, name))
			return true;
	return false;
}

/*
 * Tcl normalizes a path only once a file system has claimed it, so this looks at the path as it was
 * written.
 */
static int path_in_filesystem(Tcl_Obj *path, ClientData *data UNUSED)
{
	return strncmp(Tcl_GetString(path), EMBEDDED_VOLUME, strlen(EMBEDDED_VOLUME)) ? -1 : TCL_OK;
}

static Tcl_Obj *list_volumes(void)
{
	return Tcl_NewStringObj(EMBEDDED_VOLUME, -1);
}

static int stat_file(Tcl_Obj *path, Tcl_StatBuf *ret)
{
	const char *name = inner_path(path);
	const struct embedded_file *file = name ? find(name) : NULL;

	if (!file && (!name || !is_folder(name))) {
		errno = ENOENT;
		return -1;
	}
	*ret = (Tcl_StatBuf){
		.st_mode = file ? S_IFREG | 0444 : S_IFDIR | 0555,
		.st_nlink = 1,
		.st_size = file ? file->end - file->start : 0,
	};
	return 0;
}

static int access_file(Tcl_Obj *path, int mode)
{
	Tcl_StatBuf st;

	if (stat_file(path, &st))
		return -1;
	if (!(mode & W_OK))
		return 0;
	errno = EROFS;
	return -1;
}

static Tcl_Channel open_file(Tcl_Interp *tcl, Tcl_Obj *path, int mode, int permissions UNUSED)
{
	const char *name = inner_path(path);
	const struct embedded_file *file = name ? find(name) : NULL;
	int fd = -1;

	if ((mode & O_ACCMODE) != O_RDONLY)
		errno = EROFS;
	else if (!file)
		errno = name && is_folder(name) ? EISDIR : ENOENT;
	else
		fd = memory_file_create(file->start, (size_t)(file->end - file->start));
	if (fd >= 0)
		return Tcl_MakeFileChannel((ClientData)(intptr_t)fd, TCL_READABLE);
	if (tcl)
		Tcl_SetObjResult(tcl, Tcl_ObjPrintf("couldn't open \"%s\": %s", Tcl_GetString(path),
						    Tcl_PosixError(tcl)));
	return NULL;
}

static bool is_of_type(bool folder, const Tcl_GlobTypeData *types)
{
	return !types || !types->type ||
	       types->type & (folder ? TCL_GLOB_TYPE_DIR : TCL_GLOB_TYPE_FILE);
}

/* Without a pattern Tcl asks whether the path itself exists. */
static int match(Tcl_Interp *tcl, Tcl_Obj *list, Tcl_Obj *path, const char *pattern,
		 Tcl_GlobTypeData *types)
{
	const char *name = inner_path(path), *last = "";
	size_t last_len = 0;

	if (!name || (types && types->type & TCL_GLOB_TYPE_MOUNT))
		return TCL_OK;
	if (!pattern) {
		if ((find(name) && is_of_type(false, types)) ||
		    (is_folder(name) && is_of_type(true, types)))
			return Tcl_ListObjAppendElement(tcl, list, path);
		return TCL_OK;
	}
	for (const struct embedded_file *file = embedded_files; file->name; file++) {
		const char *child = below(file, name);
		size_t len = child ? strcspn(child, "/") : 0;
		Tcl_Obj *entry;

		/* The table is sorted, so the files of one folder are next to each other. */
		if (!child || (len == last_len && !strncmp(child, last, len)))
			continue;
		last = child;
		last_len = len;
		entry = Tcl_NewStringObj(child, (int)len);
		Tcl_IncrRefCount(entry);
		if (is_of_type(child[len], types) && Tcl_StringMatch(Tcl_GetString(entry), pattern))
			Tcl_ListObjAppendElement(tcl, list, Tcl_FSJoinToPath(path, 1, &entry));
		Tcl_DecrRefCount(entry);
	}
	return TCL_OK;
}

static const Tcl_Filesystem filesystem = {
	.typeName		= "mdbg",
	.structureLength	= sizeof(filesystem),
	.version		= TCL_FILESYSTEM_VERSION_1,
	.pathInFilesystemProc	= path_in_filesystem,
	.statProc		= stat_file,
	.accessProc		= access_file,
	.openFileChannelProc	= open_file,
	.matchInDirectoryProc	= match,
	.listVolumesProc	= list_volumes,
};

/*
 * Tcl must load nothing by itself from the other folders in which it looks: they are the
 * container's.
 */
static const char only_inside[] =
	"set auto_path [list $tcl_library]\n"
	"::tcl::tm::path remove {*}[::tcl::tm::path list]\n"
	"::tcl::tm::path add [file join $tcl_library tcl8]\n";

int embedded_tcl_init(Tcl_Interp *tcl)
{
	int code;

	if (!embedded_files)
		return Tcl_Init(tcl);
	Tcl_FSRegister(NULL, &filesystem);
	if (!find(EMBEDDED_TCL "/init.tcl"))
		return Tcl_Init(tcl);
	Tcl_SetVar(tcl, "tcl_library", EMBEDDED_VOLUME EMBEDDED_TCL, TCL_GLOBAL_ONLY);
	code = Tcl_Init(tcl);
	return code == TCL_OK ? Tcl_EvalEx(tcl, only_inside, -1, TCL_EVAL_GLOBAL) : code;
}
