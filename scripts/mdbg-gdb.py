# SPDX-License-Identifier: GPL-3.0-or-later
# For gdb: stacks that lead through mdbg's code in a process, or in its core file, go on to the caller.
#
#	(gdb) source mdbg-gdb.py
#
# Functions that mdbg watches by jumps are called by code of its own (a frame "?? ()" behind malloc), which has no
# unwind information. It lies in slots whose heads say how far it is to the caller (struct agent_slot in
# src/agent/state.h of mdbg). A thread that is in mdbg's code itself at that moment is not helped: `mdbg --core` is.

import struct

import gdb
import gdb.unwinder

SLOT, DISPLACED_END, THUNK_END, MARK = 1024, 160, 512, 0x6D
KEPT = ("rbx", "rbp", "r12", "r13", "r14", "r15")


class FrameId:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


def distance(pc):
    """Bytes from SP to the frame of the caller, at a return address in a slot; None: it is in none."""
    offset = pc % SLOT
    if offset < DISPLACED_END:
        return None
    try:
        head = bytes(gdb.selected_inferior().read_memory(pc - offset, 24))
    except gdb.MemoryError:
        return None
    thunk, stub, _, mark = struct.unpack("<IIQQ", head)
    if mark >> 56 != MARK or thunk > SLOT or stub > SLOT:
        return None
    return thunk if offset < THUNK_END else stub


class MdbgUnwinder(gdb.unwinder.Unwinder):
    def __init__(self):
        super().__init__("mdbg")

    def __call__(self, pending):
        pc = int(pending.read_register("rip")) & 0xFFFFFFFFFFFFFFFF
        sp = pending.read_register("rsp")
        cfa_offset = distance(pc)
        if not cfa_offset:
            return None
        cfa = int(sp) + cfa_offset
        info = pending.create_unwind_info(FrameId(gdb.Value(cfa), gdb.Value(pc)))
        word = gdb.lookup_type("unsigned long").pointer()
        info.add_saved_register("rip", gdb.Value(cfa - 8).cast(word).dereference())
        info.add_saved_register("rsp", gdb.Value(cfa).cast(gdb.lookup_type("unsigned long")))
        for name in KEPT:
            info.add_saved_register(name, pending.read_register(name))
        return info


gdb.unwinder.register_unwinder(None, MdbgUnwinder(), replace=True)
