/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The functions that are wrappers of allocators (skip.h). The built-in list comes from programs
 * that we have looked at. It has functions whose callers decided to allocate, while they themselves
 * did not. A function that makes an object of its own (sdsnew, ngx_list_create, PyList_New) is not
 * in the list, though it allocates.
 */

#include "cmd/shell/skip.h"

#include <string.h>
#include <tcl.h>

#include "base/compiler.h"
#include "base/str.h"

static const char *const built_in[] = {
	/* C and its library. */
	"strdup", "strndup", "__strdup", "__strndup", "wcsdup", "reallocarray",
	"asprintf", "vasprintf", "__asprintf*", "__vasprintf*",
	/* malloc's own ways to brk and mmap, for `growth`: glibc's, and musl's. */
	"sbrk", "__sbrk", "__libc_sbrk", "__default_morecore", "__glibc_morecore", "sysmalloc*",
	"_int_malloc*", "_int_realloc*", "_int_memalign*", "_mid_memalign*", "_int_free*", "systrim*",
	"tcache_init*", "new_heap*", "alloc_new_heap*", "arena_get2*", "_int_new_arena*",
	"malloc", "calloc", "realloc", "free", "memalign", "aligned_alloc", "posix_memalign",
	"__libc_malloc*", "__libc_calloc*", "__libc_realloc*", "__libc_memalign*", "__libc_free*",
	"__GI___libc_malloc", "__GI___libc_realloc", "__GI___libc_free", "__expand_heap",
	"__malloc_alloc_meta",
	/* C++: operators, those of a class too, allocators, containers. */
	"operator new*", "*::operator new*", "std::*", "__gnu_cxx::*", "boost::container::*",
	"boost::unordered::*", "absl::*container_internal::*", "llvm::SmallVector*",
	"llvm::safe_malloc*", "llvm::safe_calloc*", "llvm::safe_realloc*", "llvm::allocate_buffer*",
	/*
	 * Rust's: a name begins with its path, or with `<` and the type that it belongs to, or with
	 * `<TYPE as TRAIT>`: the traits of alloc, and those within functions of the library, have
	 * their code there, whatever the type. `core` is a name that C++ programs use, too, so only
	 * its modules are here.
	 */
	"__rust_*alloc*", "__rdl_*", "<std::*", "<alloc::*", "<* as alloc::*", "<* as <alloc::*",
	"<* as <core::*", "<* as <std::*", "<* as <[[]*", "<* as core::convert::Into<*",
	"<[[]*]>::*", "<str>::*", "alloc::alloc::*", "alloc::raw_vec::*", "alloc::vec::*",
	"alloc::boxed::*", "alloc::rc::*", "alloc::sync::*", "alloc::slice::*", "alloc::str::*",
	"alloc::string::*", "alloc::borrow::*", "alloc::fmt::*", "alloc::ffi::*",
	"alloc::collections::*", "core::iter::*", "core::ops::*", "core::option::*",
	"core::result::*", "core::slice::*", "core::str::*", "core::fmt::*", "core::clone::*",
	"core::convert::*", "core::ptr::*", "core::alloc::*", "core::array::*", "core::cell::*",
	"core::default::*", "core::mem::*", "core::hash::*", "<core::*", "hashbrown::*",
	"<hashbrown::*", "indexmap::*", "<indexmap::*", "smallvec::*", "<smallvec::*", "bytes::bytes*",
	"<bytes::bytes*", "dashmap::*", "<dashmap::*",
	/* Ada's pools, and Go's way into C. */
	"__gnat_malloc*", "__gnat_realloc*", "system__memory__*", "system__pool_global__*",
	"_cgo_*_Cfunc_*", "runtime.asmcgocall*", "runtime.cgocall*", "*._Cfunc_CString*",
	"*._Cfunc_CBytes*", "*._Cfunc__CMalloc*",
	/* The usual names of a malloc that ends the program when there is no memory. */
	"xmalloc*", "xzalloc*", "xcalloc*", "xrealloc*", "xstrdup*", "xstrndup*", "xmemdup*",
	"xnmalloc*", "xnrealloc*", "x2realloc*", "x2nrealloc*", "xpalloc*", "ximalloc*", "xasprintf*",
	/* GLib. */
	"g_malloc*", "g_realloc*", "g_try*", "g_slice*", "g_strdup*", "g_strndup*", "g_memdup*",
	"g_aligned_alloc*",
	/* Redis, Valkey and what they are linked with (hiredis). */
	"zmalloc*", "zcalloc*", "zrealloc*", "ztrymalloc*", "ztrycalloc*", "ztryrealloc*", "zstrdup*",
	"valkey_malloc*", "valkey_calloc*", "valkey_realloc*", "hi_malloc*", "hi_calloc*",
	"hi_realloc*", "hi_strdup*",
	/* nginx and its pools. */
	"ngx_alloc", "ngx_calloc", "ngx_memalign", "ngx_palloc*", "ngx_pnalloc*", "ngx_pcalloc*",
	"ngx_pmemalign*", "ngx_create_pool*", "ngx_pstrdup*",
	/* The pools of Apache's library, Samba's talloc. */
	"apr_palloc*", "apr_pcalloc*", "apr_pstrdup*", "apr_pstrndup*", "apr_pstrmemdup*",
	"apr_pstrcat*", "apr_psprintf*", "apr_pvsprintf*", "apr_pmemdup*", "apr_pool_create*",
	"apr_allocator_alloc*", "allocator_alloc*", "talloc_*", "_talloc*", "__talloc*",
	/* PostgreSQL: memory contexts. */
	"palloc*", "repalloc*", "pstrdup*", "pnstrdup*", "psprintf*", "MemoryContextAlloc*",
	"MemoryContextStrdup*", "AllocSet*", "GenerationAlloc*", "GenerationRealloc*", "SlabAlloc*",
	"BumpAlloc*", "initStringInfo*", "enlargeStringInfo*", "pg_malloc*", "pg_realloc*", "pg_strdup*", "guc_malloc*", "guc_realloc*",
	"guc_strdup*",
	/* MariaDB and MySQL. */
	"my_malloc*", "my_realloc*", "my_strdup*", "my_strndup*", "my_memdup*", "my_multi_malloc*",
	"alloc_root*", "multi_alloc_root*", "init_alloc_root*", "reset_root_defaults*",
	"strdup_root*", "strmake_root*", "memdup_root*", "my_raw_malloc*", "my_internal_malloc*",
	"sf_malloc*", "sql_alloc*", "sql_calloc*", "MEM_ROOT::Alloc*", "Query_arena::*alloc*",
	"ut_allocator*", "ut::*alloc*", "mem_heap_*", "mem_strdup*",
	/* haproxy. */
	"pool_get_from_os*", "pool_alloc*", "__pool_alloc*", "pool_refill_local_from_shared*",
	"__pool_refill*",
	/* PHP, Ruby, Lua, Perl, Erlang, Tcl. */
	"_emalloc*", "_ecalloc*", "_erealloc*", "_estrdup*", "_estrndup*", "_safe_emalloc*",
	"_safe_malloc*", "_safe_realloc*", "__zend_malloc*", "__zend_calloc*", "__zend_realloc*",
	"zend_mm_*", "ruby_xmalloc*", "ruby_xcalloc*", "ruby_xrealloc*", "ruby_strdup*",
	"objspace_xmalloc*", "objspace_xcalloc*", "objspace_xrealloc*", "rb_gc_impl_malloc*",
	"rb_gc_impl_calloc*", "rb_gc_impl_realloc*", "rb_xmalloc_mul_add*", "rb_xcalloc_mul_add*",
	"rb_xrealloc_mul_add*", "rb_alloc_tmp_buffer*", "ruby_sized_xrealloc*",
	"smart_str_*realloc*", "zend_strndup*", "zend_arena_*", "spprintf*", "vspprintf*",
	"luaM_*", "l_alloc", "Perl_safesysmalloc*", "Perl_safesyscalloc*", "Perl_safesysrealloc*",
	"Perl_savepv*", "erts_alloc*", "erts_realloc*", "erts_sys_*alloc*", "erts_alcu_*",
	"Tcl_Alloc*", "Tcl_Realloc*", "Tcl_Attempt*", "TclpAlloc*", "TclpRealloc*",
	/* HotSpot and Qt. */
	"os::malloc*", "os::realloc*", "os::strdup*", "AllocateHeap*", "ReallocateHeap*",
	"Arena::grow*", "Arena::Amalloc*", "Arena::internal_*", "ChunkPool::*",
	"resource_allocate_bytes*", "GenericGrowableArray::raw_allocate*", "CHeapObjBase::*",
	"QArrayData::*", "QTypedArrayData<*", "QArrayDataPointer<*", "QListData::*", "QHashData::*",
	"QHashPrivate::*", "QMapDataBase::*", "QtSharedPointer::*", "QString::*", "QByteArray::*",
	"QList<*", "QVector<*", "QHash<*", "QMap<*", "QSet<*", "qMalloc*", "qRealloc*",
	/* SQLite. */
	"sqlite3Malloc*", "sqlite3MemMalloc*", "sqlite3MemRealloc*", "sqlite3Realloc*",
	"sqlite3DbMalloc*", "sqlite3DbRealloc*", "sqlite3DbStrDup*", "sqlite3DbStrNDup*",
	"sqlite3DbSpanDup*", "sqlite3_malloc*", "sqlite3_realloc*", "sqlite3PageMalloc*",
	"mallocWithAlarm*", "dbMallocRawFinish*", "dbReallocFinish*", "pcache1Alloc*",
	/* CPython: raw memory, small objects, the head that its garbage collector needs. */
	"PyMem_*", "_PyMem_*", "PyObject_Malloc*", "PyObject_Calloc*", "PyObject_Realloc*",
	"_PyObject_Malloc*", "_PyObject_Calloc*", "_PyObject_Realloc*", "_PyObject_GC_*",
	"_PyObject_New*", "PyType_GenericAlloc*", "_PyType_AllocNoTrack*", "pymalloc_alloc*",
	"allocate_from_new_pool*", "new_arena*", "gc_alloc*",
	/* node and V8, libuv, ICU, OpenSSL, zlib, nghttp2, c-ares. */
	"node::Malloc*", "node::Calloc*", "node::Realloc*", "node::UncheckedMalloc*",
	"node::UncheckedCalloc*", "node::UncheckedRealloc*", "node::NodeArrayBufferAllocator::*",
	"node::DebuggingArrayBufferAllocator::*", "v8::ArrayBuffer::Allocator::*",
	"v8::internal::Malloced::*", "v8::internal::AllocWithRetry*",
	"v8::internal::AlignedAllocWithRetry*", "v8::internal::AccountingAllocator::*",
	"v8::internal::Heap::AllocateExternalBackingStore*", "v8::internal::BackingStore::Allocate*",
	"v8::internal::NewArray*", "v8::internal::StrDup*", "v8::internal::Zone::*",
	"v8::base::Malloc*", "v8::base::Calloc*", "v8::base::Realloc*", "v8::base::AlignedAlloc*",
	"uv__malloc*", "uv__calloc*", "uv__realloc*", "uv__strdup*", "uv__strndup*",
	"uprv_malloc*", "uprv_calloc*", "uprv_realloc*", "xmlStrdup*", "xmlStrndup*",
	"CRYPTO_malloc*", "CRYPTO_zalloc*", "CRYPTO_realloc*", "CRYPTO_clear_realloc*",
	"CRYPTO_strdup*", "CRYPTO_strndup*", "CRYPTO_memdup*", "zcalloc*", "nghttp2_mem_*",
	"ares_malloc*", "ares_realloc*", "ares_strdup*",
};

static struct err *add(const char *glob, struct name_globs *globs, Tcl_Obj *list)
{
	Tcl_ListObjAppendElement(NULL, list, Tcl_NewStringObj(glob, -1));
	return name_globs_add(globs, glob);
}

static struct err *add_built_in(struct name_globs *globs, Tcl_Obj *list)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < ARRAY_SIZE(built_in); i++)
		err = add(built_in[i], globs, list);
	return err;
}

static struct err *add_words(int nr, const char **words, struct name_globs *globs, bool *found,
			     Tcl_Obj *list)
{
	struct err *err = NULL;

	for (int i = 0; !err && i < nr; i++) {
		if (!strcmp(words[i], "found")) {
			*found = true;
			Tcl_ListObjAppendElement(NULL, list, Tcl_NewStringObj(words[i], -1));
		} else {
			err = !strcmp(words[i], "default") ? add_built_in(globs, list) :
							     add(words[i], globs, list);
		}
	}
	return err;
}

struct err *skip_parse(const char *text, struct name_globs *ret, bool *found_ret,
		       struct str *text_ret)
{
	struct name_globs globs = { VEC_INIT };
	const char **words;
	struct err *err;
	Tcl_Obj *list;
	int nr;

	if (Tcl_SplitList(NULL, text, &nr, &words) != TCL_OK)
		return err_create(ERR_USAGE, "skip: '%s' is no list of globs", text);
	list = Tcl_NewObj();
	Tcl_IncrRefCount(list);
	*found_ret = false;
	err = add_words(nr, words, &globs, found_ret, list);
	if (!err)
		err = str_add(text_ret, Tcl_GetString(list));
	Tcl_DecrRefCount(list);
	Tcl_Free((char *)words);
	if (err)
		name_globs_free(&globs);
	else
		*ret = globs;
	return err;
}
