/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which names the built-in list of wrappers has, and above all which not. */

#include "cmd/shell/skip.h"

#include "base/str.h"
#include "symbol/name_glob.h"
#include "unit.h"

static struct name_globs built_in;

static int begin(void)
{
	struct str text AUTO_STR = STR_INIT;

	return skip_parse("default", &built_in, &text) != NULL;
}

static int end(void)
{
	name_globs_free(&built_in);
	return 0;
}

FIXTURE(begin, end);

TEST("wrappers")
{
	static const char *const names[] = {
		"xmalloc", "operator new(unsigned long)", "std::vector<int>::reserve(unsigned long)",
		/* Rust's legacy names, and its v0 names */
		"alloc::alloc::exchange_malloc",
		"<alloc::alloc::Global as core::alloc::Allocator>::allocate",
		"<alloc::alloc::Global>::alloc_impl_runtime", "<alloc::raw_vec::RawVecInner>::finish_grow",
		"<alloc::vec::Vec<u8> as core::clone::Clone>::clone",
		"<u8 as alloc::slice::<impl [T]>::to_vec_in::ConvertVec>::to_vec",
		"<alloc::boxed::Box<[u8]>>::new_uninit_slice", "hashbrown::raw::RawTable<T,A>::reserve_rehash",
		"core::ops::function::FnOnce::call_once", "__rust_alloc_zeroed",
		/* Ada, Go */
		"__gnat_malloc", "system__pool_global__allocate", "_cgo_5f2a_Cfunc__Cmalloc",
		"main._Cfunc_CString.abi0", "runtime.asmcgocall.abi0",
		/* other programs */
		"my_malloc", "alloc_root", "pool_get_from_os", "_emalloc", "ruby_xmalloc",
		"os::malloc(unsigned long, MEMFLAGS)", "QArrayData::allocate(unsigned long)",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!name_globs_match_text(&built_in, names[i])) {
			printf("\n    %s", names[i]);
			CU_FAIL("a name");
		}
}

TEST("own functions")
{
	static const char *const names[] = {
		"main", "core::Engine::run()", "alloc_session", "collections::build",
		"app::session::make", "<app::Session as core::clone::Clone>::clone",
		"<app::List as core::iter::traits::iterator::Iterator>::next",
		"<app::Thing as alloc::string::ToString>::to_string", "main.work", "runtime_start",
		"pool_create", "os::Linux::init()",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (name_globs_match_text(&built_in, names[i])) {
			printf("\n    %s", names[i]);
			CU_FAIL("a name");
		}
}
