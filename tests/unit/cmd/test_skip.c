/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which functions are wrappers at first, and which are not. */

#include "cmd/shell/skip.h"

#include <tcl.h>

#include "base/str.h"
#include "symbol/name_glob.h"
#include "unit.h"

static int begin(void)
{
	Tcl_FindExecutable(NULL);
	return 0;
}

static int end(void)
{
	return 0;
}

FIXTURE(begin, end);

static void check(const char *const *names, size_t nr, bool want)
{
	AUTO_STR struct str text = STR_INIT;
	struct name_globs globs = { VEC_INIT };

	bool found = true;

	CU_ASSERT_PTR_NULL_FATAL(skip_parse("default", &globs, &found, &text));
	CU_ASSERT_FALSE(found);
	for (size_t i = 0; i < nr; i++)
		if (name_globs_match_text(&globs, names[i]) != want)
			CU_FAIL_FATAL(names[i]);
	name_globs_free(&globs);
}

TEST("wrappers of many programs")
{
	static const char *const names[] = {
		"strdup", "operator new(unsigned long)", "THD::operator new(unsigned long)",
		"my_malloc", "alloc_root", "MEM_ROOT::AllocSlow(unsigned long)", "mem_heap_add_block",
		"pool_get_from_os_noinc", "__pool_alloc", "os::malloc(unsigned long, MEMFLAGS)",
		"Arena::grow(unsigned long, int)", "ChunkPool::allocate_chunk(int)",
		"AllocateHeap(unsigned long, MEMFLAGS)", "QArrayData::allocate(unsigned long)",
		"QString::QString(QChar const*, int)", "QHash<QString, int>::insert(QString const&)",
		"_emalloc", "_erealloc2", "smart_str_erealloc", "ruby_xmalloc2", "rb_gc_impl_malloc",
		"palloc0", "MemoryContextAllocZero", "AllocSetAlloc", "enlargeStringInfo",
		"apr_pcalloc", "_talloc_zero", "luaM_malloc_", "erts_alloc_permanent_cache_aligned",
	};

	check(names, ARRAY_SIZE(names), true);
}

TEST("wrappers of Rust")
{
	static const char *const names[] = {
		"__rust_alloc", "<alloc::alloc::Global>::alloc_impl_runtime",
		"<alloc::alloc::Global as core::alloc::Allocator>::allocate",
		"alloc::raw_vec::RawVecInner<A>::try_allocate_in",
		"<alloc::vec::Vec<T> as core::clone::Clone>::clone",
		"<T as alloc::vec::spec_from_elem::SpecFromElem>::from_elem",
		"<str as alloc::borrow::ToOwned>::to_owned", "<T as core::convert::Into<U>>::into",
		"<u8 as <[_]>::to_vec_in::ConvertVec>::to_vec::<alloc::alloc::Global>",
		"<[T]>::to_vec", "<alloc::ffi::c_str::CString>::new::spec_new_impl_bytes",
		"<&str as <std::ffi::os_str::OsString>::push::SpecPushTo>::spec_push_to",
		"hashbrown::raw::RawTable<T,A>::reserve_rehash", "<hashbrown::map::HashMap<K,V>>::insert",
		"std::collections::hash::map::HashMap<K,V,S,A>::insert", "core::ops::function::FnOnce::call_once",
	};

	check(names, ARRAY_SIZE(names), true);
}

TEST("functions that make what is theirs")
{
	static const char *const names[] = {
		"main", "sdsnew", "ngx_list_create", "PyList_New", "load_history", "CreateCachedPlan",
		"rb_str_plus", "t::make_session", "<t::Session as core::clone::Clone>::clone",
		"<t::Session as t::Store>::store", "core_init", "core::Window::open()", "QListView::open()",
		"allocate_session", "Arena::load(int)", "os::getenv(char const*)", "bytes::Reader::read()",
	};

	check(names, ARRAY_SIZE(names), false);
}
