/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The operators new and delete, of programs and libraries that replace them. */

#include "probe/alloc_functions.h"

static const struct alloc_function functions[] = {
	/* Itanium C++ ABI */
	OP_NEW("_Znwm", "operator new(unsigned long)", "_ZnwmRKSt9nothrow_t", 1),
	OP_NEW("_Znam", "operator new[](unsigned long)", "_ZnamRKSt9nothrow_t", 1),
	OP_NEW("_ZnwmSt11align_val_t", "operator new(unsigned long, std::align_val_t)",
	       "_ZnwmSt11align_val_tRKSt9nothrow_t", 2),
	OP_NEW("_ZnamSt11align_val_t", "operator new[](unsigned long, std::align_val_t)",
	       "_ZnamSt11align_val_tRKSt9nothrow_t", 2),
	OP_NEW_NOTHROW("_ZnwmRKSt9nothrow_t", "operator new(unsigned long, std::nothrow_t const&)"),
	OP_NEW_NOTHROW("_ZnamRKSt9nothrow_t",
		       "operator new[](unsigned long, std::nothrow_t const&)"),
	OP_NEW_NOTHROW("_ZnwmSt11align_val_tRKSt9nothrow_t",
		       "operator new(unsigned long, std::align_val_t, std::nothrow_t const&)"),
	OP_NEW_NOTHROW("_ZnamSt11align_val_tRKSt9nothrow_t",
		       "operator new[](unsigned long, std::align_val_t, std::nothrow_t const&)"),
	OP_DELETE("_ZdlPv", "operator delete(void*)"),
	OP_DELETE("_ZdaPv", "operator delete[](void*)"),
	OP_DELETE("_ZdlPvm", "operator delete(void*, unsigned long)"),
	OP_DELETE("_ZdaPvm", "operator delete[](void*, unsigned long)"),
	OP_DELETE("_ZdlPvRKSt9nothrow_t", "operator delete(void*, std::nothrow_t const&)"),
	OP_DELETE("_ZdaPvRKSt9nothrow_t", "operator delete[](void*, std::nothrow_t const&)"),
	OP_DELETE("_ZdlPvSt11align_val_t", "operator delete(void*, std::align_val_t)"),
	OP_DELETE("_ZdaPvSt11align_val_t", "operator delete[](void*, std::align_val_t)"),
	OP_DELETE("_ZdlPvmSt11align_val_t",
		  "operator delete(void*, unsigned long, std::align_val_t)"),
	OP_DELETE("_ZdaPvmSt11align_val_t",
		  "operator delete[](void*, unsigned long, std::align_val_t)"),
	OP_DELETE("_ZdlPvSt11align_val_tRKSt9nothrow_t",
		  "operator delete(void*, std::align_val_t, std::nothrow_t const&)"),
	OP_DELETE("_ZdaPvSt11align_val_tRKSt9nothrow_t",
		  "operator delete[](void*, std::align_val_t, std::nothrow_t const&)"),
};

const struct allocator allocator_cxx = {
	.name		= "C++",
	FUNCTIONS(functions),
};
