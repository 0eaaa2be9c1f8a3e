#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A flame graph or a report in headless Chromium: browser.py flamegraph|report FILE FUNCTION FOLDER

Tells Chromium what to do through chromedriver (WebDriver over HTTP) and fails if the page does not do what it should.
FUNCTION is one that has a frame and a site. Pictures of the page go to FOLDER.

Nothing but FILE may be asked for, and the console must stay empty.
"""

import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
ENTER, ESCAPE, TAB = "\ue007", "\ue00c", "\ue004"
CONTROL, UP, DOWN, LEFT = "\ue009", "\ue013", "\ue015", "\ue012"


class Browser:
    """A session of Chromium with an empty profile of its own, below the folder, whose path has to be short."""

    def __init__(self, folder):
        # Chromium makes a socket in a folder of its own in TMPDIR, and the path of a socket is 107 bytes at most.
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       text=True, env={**os.environ, "TMPDIR": folder})
        for line in self.driver.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                break
        else:
            raise SystemExit("chromedriver does not start")
        self.base = f"http://127.0.0.1:{found[1]}/session"
        # Root may not use Chromium's sandbox, and containers have little shared memory.
        args = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run",
                "--disable-background-networking", f"--user-data-dir={folder}/profile"]
        answer = self.post("", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": args},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}})
        self.base += "/" + answer["sessionId"]
        # What the page of a new tab asks for is not the file's.
        self.post("/url", {"url": "about:blank"})
        self.post("/se/log", {"type": "performance"})

    def request(self, method, path, body):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{path}: {json.load(error)['value']['message']}") from error

    def post(self, path, body):
        return self.request("POST", path, body)

    def close(self):
        self.request("DELETE", "", None)
        self.driver.terminate()
        self.driver.wait()

    def run(self, script, *args):
        return self.post("/execute/sync", {"script": script, "args": list(args)})

    def devtools(self, command, **params):
        return self.post("/goog/cdp/execute", {"cmd": command, "params": params})

    def keys(self, *keys):
        """Press them one after the other; a list is held down together."""
        actions = []
        for key in keys:
            together = key if isinstance(key, list) else [key]
            actions += [{"type": "keyDown", "value": one} for one in together]
            actions += [{"type": "keyUp", "value": one} for one in reversed(together)]
        self.post("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def type(self, text):
        self.keys(*text)

    def click(self, element):
        self.post(f"/element/{element[ELEMENT]}/click", {})

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.request("GET", "/screenshot", None)))

    def screen(self, width, height, dark=False, mobile=False):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                      mobile=mobile)
        self.devtools("Emulation.setEmulatedMedia",
                      features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])


def check(condition, why):
    if not condition:
        raise SystemExit(why)


def until(condition, why):
    """The page hears of a new size when it draws next."""
    end = time.monotonic() + 30
    while not condition():
        check(time.monotonic() < end, why)


def check_quiet(browser, url):
    """Nothing was said on the console, and nothing but the file was asked for."""
    said = browser.post("/se/log", {"type": "browser"})
    check(not said, f"the console says: {said}")
    asked = [json.loads(entry["message"])["message"] for entry in browser.post("/se/log", {"type": "performance"})]
    urls = [one["params"]["request"]["url"] for one in asked if one["method"] == "Network.requestWillBeSent"]
    others = [one for one in urls if one != url and not one.startswith("data:")]
    check(url in urls and not others, f"asked for: {urls}")


# Frames by function, and what the page shows of them.
FRAMES = """
const frames = Array.from(document.querySelectorAll("svg.flame g")).map((g) => ({
    g, title: g.querySelector("title").textContent, shown: g.getAttribute("display") !== "none",
    width: Number(g.querySelector("rect").getAttribute("width")), match: g.classList.contains("match") }));
const named = frames.find((frame) => frame.title.startsWith(arguments[0] + " ("));
"""


def frame_width(browser, name):
    return browser.run(FRAMES + "return named && named.shown ? named.width : 0", name)


def check_flame(browser, function):
    """Zoom by mouse and by keyboard, search, details."""
    whole = frame_width(browser, "all")
    before = frame_width(browser, function)
    check(0 < before < whole, f"{function} is {before} wide, the whole {whole}")

    browser.run(FRAMES + "named.g.dispatchEvent(new MouseEvent('click', { bubbles: true }))", function)
    check(abs(frame_width(browser, function) - whole) < 0.01, "a click does not zoom in")
    browser.keys(ESCAPE)
    check(abs(frame_width(browser, function) - before) < 0.01, "Esc does not show the whole")

    # From the whole up with the arrows; Enter zooms in.
    browser.run(FRAMES + "named.g.focus()", "all")
    browser.keys(UP)
    title = browser.run("return document.activeElement.querySelector('title').textContent")
    check(not title.startswith("all ("), "the arrow does not go up")
    browser.keys(DOWN)
    title = browser.run("return document.activeElement.querySelector('title').textContent")
    check(title.startswith("all ("), "the arrow does not go down")
    browser.run(FRAMES + "named.g.focus()", function)
    details = browser.run("return document.querySelector('.flame-details').textContent")
    check(details.startswith(function + " ("), f"details are of {details}")
    browser.keys(ENTER)
    check(abs(frame_width(browser, function) - whole) < 0.01, "Enter does not zoom in")
    browser.keys(ESCAPE)
    check(abs(frame_width(browser, function) - before) < 0.01, "Esc after Enter does not show the whole")

    for key in ("/", [CONTROL, "f"]):
        browser.run(FRAMES + "named.g.focus()", function)
        browser.keys(key)
        check(browser.run("return document.activeElement.matches('.flame-bar input')"), f"{key} does not search")
    browser.type(function.upper())
    found = browser.run(FRAMES + "return frames.filter((frame) => frame.match).map((frame) => frame.title)", "")
    check(found and all(function in title for title in found), f"found: {found}")
    said = browser.run("return document.querySelector('.flame-matched').textContent")
    check(re.fullmatch(rf"{len(found)} frames, \d+\.\d\d % of the whole", said), f"the search says {said}")
    browser.keys(ESCAPE)
    check(browser.run(FRAMES + "return frames.some((frame) => frame.match)", "") is False, "Esc leaves matches")


def test_flamegraph(browser, url, function, folder):
    browser.screen(1200, 800)
    browser.post("/url", {"url": url})
    check_flame(browser, function)
    browser.picture(f"{folder}/flamegraph-light.png")
    browser.screen(1200, 800, dark=True)
    browser.picture(f"{folder}/flamegraph-dark.png")
    browser.screen(390, 844)
    until(lambda: abs(frame_width(browser, "all") - 390) < 1, "the graph does not fit a narrow window")
    browser.picture(f"{folder}/flamegraph-phone.png")


def column(browser, table, name):
    """The cells of a column, as numbers."""
    return browser.run("""
        const table = document.querySelector(arguments[0]), heads = Array.from(table.querySelectorAll("th"));
        const at = heads.findIndex((head) => head.dataset.key === arguments[1]);
        return Array.from(table.querySelectorAll("tbody tr:not(.stack)")).map((row) =>
            Number(row.children[at].textContent.replace(/[^-0-9.]/g, "")));""", table, name)


def texts(browser, selector):
    return browser.run("return Array.from(document.querySelectorAll(arguments[0]), (one) => one.textContent)",
                       selector)


def click_on(browser, selector):
    browser.run("document.querySelector(arguments[0]).scrollIntoView({ block: 'center' })", selector)
    browser.click(browser.run("return document.querySelector(arguments[0])", selector))


def check_sites(browser, function):
    table = "#site-table table"
    first = column(browser, table, "bytes")
    check(first and first == sorted(first, reverse=True), "the sites are not in order of bytes")
    for key in ("blocks", "bytes"):
        click_on(browser, f"#site-table th[data-key={key}] button")
        found = column(browser, table, key)
        check(found == sorted(found, reverse=True), f"not sorted by {key}: {found[:9]}")
        click_on(browser, f"#site-table th[data-key={key}] button")
        found = column(browser, table, key)
        check(found == sorted(found), f"not sorted up by {key}: {found[:9]}")
    check(browser.run("return document.querySelector('#site-table th[aria-sort]').ariaSort") == "ascending",
          "the order is not said")

    browser.run("document.activeElement.blur()")
    browser.keys("/")
    check(browser.run("return document.activeElement.matches('#site-table input')"), "/ does not search the sites")
    browser.type(function)
    check(column(browser, table, "bytes"), f"no site with {function}")

    # By keyboard to the first site, and its traceback.
    browser.run("document.querySelector('#site-table td.name button').focus()")
    browser.keys(ENTER)
    lines = texts(browser, "#site-table td.stack li")
    check(any(line.startswith(function) for line in lines), f"the traceback is {lines}")
    browser.keys(ENTER)
    check(not browser.run("return document.querySelector('#site-table td.stack')"), "the traceback stays")
    browser.run("""const input = document.querySelector('#site-table input');
        input.value = 'no such function'; input.dispatchEvent(new Event('input'));""")
    check(not column(browser, table, "bytes"), "sites without the name are found")
    browser.run("""const input = document.querySelector('#site-table input');
        input.value = ''; input.dispatchEvent(new Event('input'));""")


def check_chart(browser):
    """Lines for what is held and resident; arrow keys go from sample to sample."""
    if not browser.run("return document.querySelector('svg.chart')"):
        return
    lines = browser.run("""return Array.from(document.querySelectorAll("svg.chart .held, svg.chart .rss"),
        (line) => line.getAttribute("d"));""")
    check(len(lines) == 2 and all(re.match(r"M[\d.]+ [\d.]+L", line) for line in lines), f"the lines are {lines}")
    browser.run("document.querySelector('svg.chart').focus()")
    browser.keys(LEFT)
    said = texts(browser, "#chart output")[0]
    check(re.search(r" in [\d,]+ blocks?, [\d.]+ \w+ resident$", said), f"the chart says {said}")


def check_icicle(browser, section):
    """The widest frame above the whole opens by a click and by Enter, and Esc shows the whole."""
    widths = """
        const frames = Array.from(document.querySelectorAll(`#${arguments[0]} svg.flame g`));
        const width = (g) => Number(g.querySelector("rect").getAttribute("width"));
        const widest = frames.slice(1).sort((a, b) => width(b) - width(a))[0];"""
    before, whole = browser.run(widths + "return [width(widest), width(frames[0])]", section)
    check(0 < before <= whole, f"{section}: the widest frame is {before} of {whole}")
    name = browser.run(widths + """widest.id = "widest"; widest.dispatchEvent(new MouseEvent("click", { bubbles: true }));
        return widest.querySelector("title").textContent;""", section)
    width = "return Number(document.querySelector('#widest rect').getAttribute('width'))"
    check(abs(browser.run(width) - whole) < 0.01, f"{section}: a click on {name} does not open it")
    browser.keys(ESCAPE)
    check(abs(browser.run(width) - before) < 0.01, f"{section}: Esc does not show the whole")
    browser.run("document.querySelector('#widest').focus()")
    browser.keys(ENTER)
    check(abs(browser.run(width) - whole) < 0.01, f"{section}: Enter does not open {name}")
    browser.keys(ESCAPE)
    browser.run("document.querySelector('#widest').removeAttribute('id')")


def test_report(browser, url, function, folder):
    browser.screen(1280, 900)
    browser.post("/url", {"url": url})
    check(len(texts(browser, "#verdict p")) == 3, "the verdict has not three sentences")
    heads = texts(browser, "section h2")
    check(heads == ["Verdict", "What is in memory", "Memory over time", "Flame graph", "Owners", "Types", "Sites", "Leaks",
                      "Differences"],
          f"sections: {heads}")
    check_chart(browser)
    check_sites(browser, function)
    check_flame(browser, function)
    for section in ("owners", "types"):
        check_icicle(browser, section)
    browser.run("scrollTo(0, 0)")

    for width, dark, name in ((1280, False, "light"), (1280, True, "dark"), (390, False, "phone")):
        browser.screen(width, 900 if width > 600 else 844, dark, width < 600)
        until(lambda: browser.run("return document.documentElement.scrollWidth <= arguments[0]", width),
              f"the page does not fit a screen of {width}")
        until(lambda: 0 < frame_width(browser, "all") <= width, f"the graph does not fit a screen of {width}")
        back = browser.run("return getComputedStyle(document.body).backgroundColor")
        check((back == "rgb(255, 255, 255)") is not dark, f"{name}: the background is {back}")
        browser.picture(f"{folder}/report-{name}.png")
        height = browser.run("return document.documentElement.scrollHeight")
        browser.screen(width, min(height, 6000), dark, width < 600)
        browser.picture(f"{folder}/report-{name}-whole.png")

    # From the heading on, Tab goes to links, fields, one frame of the graph, and on.
    browser.screen(1280, 900)
    browser.run("const head = document.querySelector('h1'); head.tabIndex = -1; head.focus();")
    seen = set()
    for _ in range(40):
        browser.keys(TAB)
        seen.add(browser.run("""const is = document.activeElement, section = is.closest('[id]');
            return (section ? section.id + ' ' : '') + is.localName;"""))
    check("flame svg" not in seen and {"flame g", "flame input", "site-table input", "site-table button"} <= seen,
          f"Tab reaches {sorted(seen)}")


def main():
    kind, path, function, folder = sys.argv[1:]
    url = "file://" + os.path.abspath(path)
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as temporary:
        browser = Browser(temporary)
        try:
            {"flamegraph": test_flamegraph, "report": test_report}[kind](browser, url, function, folder)
            check(not browser.run("return window.hacked"), "a name was run as a script")
            check_quiet(browser, url)
        finally:
            browser.close()
    print("ok")


if __name__ == "__main__":
    main()
