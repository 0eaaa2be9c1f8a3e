# SPDX-License-Identifier: GPL-3.0-or-later
# Run by gdb (stacks.tcl): what gdb shows. Frames that are inlined, and those of functions that have jumped to the next
# one, which gdb makes up, are left out.
#
# With STACKS_PID: STACKS_TIMES times that process is stopped at some moment, and mdbg (STACKS_MDBG, with STACKS_COMMAND,
# which prints a line `THREAD END PC...` for each thread) and gdb look at it. STACKS_OUT gets a line for each thread:
# `equal`, `longer` (than gdb's) `shorter` or `differs`, how mdbg's stack ends, and unless they are equal both stacks.
#
# Else the program runs on the lines of STACKS_IN, and STACKS_OUT gets a line for each call of malloc for a tagged block
# (tests/targets/tagged.h): the size, and for each frame behind malloc's its place, FILE+OFFSET or an address that is in
# no file's code, and the function, joined by `=`. Fields of lines are separated by tabs.

import os
import random
import signal
import subprocess
import time

import gdb

LEAST, MOST = 0xa000, 0x19fff
out = open(os.environ["STACKS_OUT"], "w")
maps = []


def frames(frame):
    while frame is not None and frame.is_valid() and frame.pc():
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            yield frame
        frame = frame.older()


def put(fields):
    out.write("\t".join(fields) + "\n")


# At calls of malloc.

def read_maps():
    maps.clear()
    with open("/proc/%d/maps" % gdb.selected_inferior().pid) as lines:
        for line in lines:
            fields = line.rstrip("\n").split(None, 5)
            start, end = (int(bound, 16) for bound in fields[0].split("-"))
            if len(fields) == 6 and "x" in fields[1]:
                maps.append((start, end, int(fields[2], 16), fields[5]))


def place(pc):
    for again in (False, True):
        for start, end, offset, name in maps:
            if start <= pc < end:
                return "%s+0x%x" % (os.path.basename(name), pc - start + offset)
        if not again:
            read_maps()
    return "0x%x" % pc


class Malloc(gdb.Breakpoint):
    def stop(self):
        size = int(gdb.parse_and_eval("(unsigned long)$rdi"))
        if LEAST <= size <= MOST and size % 2:
            callers = frames(gdb.newest_frame().older())
            put([str(size)] + ["%s=%s" % (place(frame.pc()), frame.name() or "") for frame in callers])
        return False


def watch_malloc():
    gdb.execute("set breakpoint pending on")
    gdb.Breakpoint("main", temporary=True)
    gdb.execute("run < " + os.environ["STACKS_IN"])
    Malloc(function="malloc", qualified=True)
    gdb.execute("continue")


# At any moment.

def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    waiting = list(os.listdir("/proc/%d/task" % pid))
    while waiting:
        try:
            with open("/proc/%d/task/%s/stat" % (pid, waiting[-1])) as stat:
                stopped = stat.read().rsplit(")", 1)[1].split()[0] in "Tt"
        except (FileNotFoundError, ProcessLookupError):
            stopped = True      # the thread has ended meanwhile
        if stopped:
            waiting.pop()


def mdbg_stacks(pid):
    command = [os.environ["STACKS_MDBG"], "-n", "-q", "--no-arm", "-p", str(pid), "-c", os.environ["STACKS_COMMAND"]]
    stacks = {}
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        thread, end, pcs = line.split("\t")
        stacks[int(thread)] = (end, [int(pc, 16) for pc in pcs.split()])
    return stacks


def gdb_stacks(pid):
    stacks = {}
    gdb.execute("attach %d" % pid, to_string=True)
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        stacks[thread.ptid[1]] = [frame.pc() for frame in frames(gdb.newest_frame())]
    gdb.execute("detach", to_string=True)
    return stacks


def compare(mine, his):
    if mine == his:
        return "equal"
    if mine[:len(his)] == his:
        return "longer"
    return "shorter" if his[:len(mine)] == mine else "differs"


def stop_often(pid):
    for _ in range(int(os.environ["STACKS_TIMES"])):
        os.kill(pid, signal.SIGCONT)
        time.sleep(random.uniform(0.0005, 0.004))  # any moment
        stop(pid)
        mine = mdbg_stacks(pid)
        for thread, his in gdb_stacks(pid).items():
            end, pcs = mine[thread]
            how = compare(pcs, his)
            put([how, end] + ([] if how == "equal" else [" ".join(map(hex, pcs)), " ".join(map(hex, his))]))


for setting in ("pagination off", "debuginfod enabled off", "print thread-events off", "confirm off",
                "backtrace past-main on"):
    gdb.execute("set " + setting)
gdb.execute("handle SIGUSR1 SIGUSR2 SIGURG nostop noprint pass")
if "STACKS_PID" in os.environ:
    stop_often(int(os.environ["STACKS_PID"]))
else:
    watch_malloc()
out.close()
