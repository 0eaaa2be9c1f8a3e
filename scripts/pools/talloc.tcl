# SPDX-License-Identifier: GPL-3.0-or-later
# talloc (talloc.h). Children go with their parent, which no probe sees.
probe alloc _talloc_array size=2*3 nothrow
probe alloc _talloc_zero_array size=2*3 nothrow
probe alloc talloc_named_const size=2 nothrow
probe alloc _talloc_zero size=2 nothrow
probe alloc _talloc_memdup size=3 nothrow
probe alloc _talloc_realloc size=3 old=2 nothrow
probe free _talloc_free ptr=1
