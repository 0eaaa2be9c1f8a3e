/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The control blocks of std::shared_ptr, as libstdc++ has them:
 *
 *	word 0		the table of virtual functions; its type's name begins with one of
 *			St23_Sp_counted_ptr_inplace	make_shared: the object is in the block, too
 *			St15_Sp_counted_ptr		shared_ptr(new T): the object is another block
 *			St19_Sp_counted_deleter		the same with a deleter, and unique_ptr's
 *	byte 8		int32: how many shared_ptr there are
 *	byte 12		int32: how many weak_ptr, and one more as long as there is a shared_ptr
 *
 * A shared_ptr and a weak_ptr are two words: the address of the object, and that of the control block. So
 * who has a part in the object points to the start of its control block. Where the program has no names
 * of types (-fno-rtti) none is known.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct memory;

struct shared_counts {
	uint64_t control;	/* address of the control block */
	bool within;		/* the object is in the same block */
	bool last;		/* the block's last word is the object's address; else it is at byte 16 */
	uint32_t shared, weak;	/* how many of them there are */
};

/* Is the word at `place` of a control block, which has so many bytes, the address of its object? */
bool shared_counts_leads(const struct shared_counts *counts, uint64_t size, uint64_t place);
/*
 * Does a control block that is in use begin at address? constants: memory with the names of classes,
 * which are in files.
 */
bool shared_counts_read(struct memory *memory, struct memory *constants, uint64_t address,
			struct shared_counts *ret);
