/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types by the names of functions that allocate. */

#include <string.h>

#include "answer/frame_type.h"
#include "base/cleanup.h"
#include "unit.h"

/* type: "": the function is passed over; NULL: it says none. */
static void check(const char *function, bool lines, const char *type)
{
	AUTO_STR struct str text = STR_INIT;
	enum frame_type kind;

	CU_ASSERT_PTR_NULL_FATAL(frame_type_of(function, lines, &text, &kind));
	CU_ASSERT_EQUAL(kind, !type ? FRAME_TYPE_NONE : *type ? FRAME_TYPE_FOUND :
				FRAME_TYPE_PASS);
	CU_ASSERT_STRING_EQUAL(str_text(&text), type ? type : "");
}

TEST("allocators of C++")
{
	check("std::__new_allocator<int>::allocate(unsigned long, void const*)", false, "int");
	check("std::__new_allocator<std::_List_node<std::pair<int, char> > >::allocate(unsigned long, "
	      "void const*)", false, "std::_List_node<std::pair<int, char> >");
	check("__gnu_cxx::new_allocator<Foo*>::allocate(unsigned long, void const*)", false, "Foo*");
	check("std::allocator<void (*)(int, char)>::allocate(unsigned long)", false,
	      "void (*)(int, char)");
	check("std::__1::allocator<Foo>::allocate[abi:v160006](unsigned long)", false, "Foo");
	check("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::"
	      "_M_create(unsigned long&, unsigned long)", false, "char");
	check("std::__new_allocator<int>::deallocate(int*, unsigned long)", false, NULL);
	check("std::vector<int, std::allocator<int> >::_M_realloc_insert(int&&)", false, NULL);
	check("std::__new_allocator<Foo<&Bar::operator->> >::allocate(unsigned long)", false, NULL);
	check("std::__new_allocator<int", false, NULL);
	check("std::__new_allocator<)>::allocate(", false, NULL);
	check("operator new(unsigned long)", false, "");
	check("make_foo(int)", true, NULL);
	check(NULL, true, NULL);
}

/* Without debug information the constructor may have been inlined, and have allocated. */
TEST("make_unique")
{
	static const char *const name =
		"std::__detail::_MakeUniq<Foo>::__single_object std::make_unique<Foo, int>(int&&)";

	check(name, true, "Foo");
	check(name, false, NULL);
	check("std::make_unique<Foo>", true, "Foo");
	check("void mystd::make_unique<Foo>()", true, NULL);
}

TEST("allocators of Rust")
{
	check("<alloc::boxed::Box<shop::Order>>::new", false, "shop::Order");
	check("<alloc::raw_vec::RawVec<(u32, [u8; 4])>>::grow_one", false, "(u32, [u8; 4])");
	check("<alloc::raw_vec::RawVec<fn(u8) -> u16>>::grow_one", false, "fn(u8) -> u16");
	check("alloc::boxed::Box<T>::new", false, NULL);
	check("<alloc::vec::Vec<T>>::with_capacity", false, NULL);
	check("<alloc::raw_vec::RawVecInner>::try_allocate_in", false, "");
	check("alloc::alloc::exchange_malloc", false, "");
	check("__rust_alloc", false, "");
	check("__rustc[5224e6b81cd82a8f]::__rust_alloc", false, "");
	check("__rust_allocators", false, NULL);
	/* A clone may have been inlined. */
	check("<alloc::vec::Vec<shop::Order>>::extend_with", false, NULL);
	check("<alloc::vec::Vec<shop::Order>>::extend_with", true, "shop::Order");
}
