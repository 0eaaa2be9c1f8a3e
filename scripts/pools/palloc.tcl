# SPDX-License-Identifier: GPL-3.0-or-later
# PostgreSQL's memory contexts (src/include/utils/palloc.h). The functions end an error by longjmp, and throw
# nothing.
probe alloc palloc size=1 nothrow
probe alloc palloc0 size=1 nothrow
probe alloc palloc_extended size=1 nothrow
probe alloc MemoryContextAlloc size=2 nothrow
probe alloc MemoryContextAllocZero size=2 nothrow
probe alloc MemoryContextAllocExtended size=2 nothrow
catch {probe alloc MemoryContextAllocZeroAligned size=2 nothrow}
catch {probe alloc MemoryContextAllocHuge size=2 nothrow}
probe alloc repalloc size=2 old=1 nothrow
probe free pfree ptr=1
