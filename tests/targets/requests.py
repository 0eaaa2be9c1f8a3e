# SPDX-License-Identifier: GPL-3.0-or-later
"""A service in Python whose extension (libkept.c) keeps each request: requests.py EXTENSION

requests N: N requests of 5000 bytes are answered and forgotten: `ok`. verify, quit.
"""
import ctypes
import sys

extension = ctypes.PyDLL(sys.argv[1])
extension.note_call.argtypes = [ctypes.py_object]


def handle_request(number):
    body = bytes(4950) + number.to_bytes(50, "little")
    extension.note_call(body)


answered = 0
print("ready", flush=True)
for line in sys.stdin:
    words = line.split()
    if words[0] == "quit":
        break
    for _ in range(int(words[1]) if words[0] == "requests" else 0):
        handle_request(answered)
        answered += 1
    print("ok", flush=True)
