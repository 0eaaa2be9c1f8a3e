#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Chrome's DevTools make of a heap snapshot: devtools.py FILE

The code that DevTools load a file with, and compute retained sizes by, is part of Chromium. It is run in a page of theirs,
without the panel around it. Prints a line for each node: RETAINED SELF ID NAME.
"""

import sys
import tempfile

from browser import Browser

PAGE = "devtools://devtools/bundled/devtools_app.html"
LOAD = """
const [text, done] = arguments;
(async () => {
    const worker = await import(new URL("./entrypoints/heap_snapshot_worker/heap_snapshot_worker.js", location.href).href);
    const silent = { sendEvent() {}, updateStatus() {}, updateProgress() {}, reportProblem() {} };
    const loader = new worker.HeapSnapshotLoader.HeapSnapshotLoader(silent);
    loader.write(text);
    loader.close();
    const { port1, port2 } = new MessageChannel();
    new worker.HeapSnapshot.SecondaryInitManager(port2);
    const snapshot = await loader.buildSnapshot(port1);
    const lines = [];
    for (const nodes = snapshot.allNodes(); nodes.hasNext(); nodes.next()) {
        const node = nodes.item();
        lines.push([node.retainedSize(), node.selfSize(), node.id(), node.rawName()].join(" "));
    }
    done(lines.join("\\n"));
})().catch((error) => done("bad " + error));
"""


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as temporary:
        browser = Browser(temporary)
        try:
            browser.post("/url", {"url": PAGE})
            print(browser.post("/execute/async", {"script": LOAD, "args": [text]}))
        finally:
            browser.close()


main()
