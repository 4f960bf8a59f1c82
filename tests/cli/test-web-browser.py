#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The page of dvm-cli web in a browser without a screen, which is driven through its pipe (Chrome DevTools Protocol)."""

import base64
import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

from dvmtest import LIMIT, check, contains, crowd, dvm, equal, functions, place, resident, run_tests

BROWSER = shutil.which("chromium-headless-shell")
LONG = os.environ.get("DVM_TEST_SOAK") == "1"
# Root's browser has no sandbox, and a machine of tests no graphics; all that it writes is in its folder.
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-breakpad", "--disable-crash-reporter", "--no-first-run",
           "--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "--force-color-profile=srgb",
           "--remote-debugging-pipe", "--window-size=1100,760"]


class Browser:
    """One browser with tabs; what its pages complain of is kept."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="dvmcli-browser-")
        given, self.to = os.pipe()
        self.come, taken = os.pipe()
        command = [BROWSER, *OPTIONS, f"--user-data-dir={self.folder}", "about:blank"]
        # The pipe is on 3 and 4, whatever the numbers here are.
        self.process = subprocess.Popen(["/bin/sh", "-c", f'exec 3<&{given} 4>&{taken} "$@"', "sh", *command], pass_fds=[given, taken],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env={**os.environ, "HOME": self.folder}, start_new_session=True)
        os.close(given)
        os.close(taken)
        self.left = b""
        self.last = 0
        self.answers = {}
        self.complaints = []

    def read(self):
        readable, _, _ = select.select([self.come], [], [], LIMIT)
        check(readable, "the browser says nothing")
        data = os.read(self.come, 1 << 20)
        check(data, "the browser has gone")
        *whole, self.left = (self.left + data).split(b"\0")
        for text in whole:
            message = json.loads(text)
            if "id" in message:
                self.answers[message["id"]] = message
            elif message["method"] == "Runtime.exceptionThrown" or (message["method"] == "Log.entryAdded" and message["params"]["entry"]["level"] == "error"):
                self.complaints.append(json.dumps(message["params"]))

    def call(self, method, session=None, **params):
        self.last += 1
        message = {"id": self.last, "method": method, "params": params, **({"sessionId": session} if session else {})}
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        number = self.last
        while number not in self.answers:
            self.read()
        answer = self.answers.pop(number)
        check("result" in answer, f"{method}: {answer}")
        return answer["result"]

    def signal(self, number):
        """It and its helpers, which have the same group"""
        os.killpg(self.process.pid, number)

    def close(self):
        with contextlib.suppress(Exception):
            self.call("Browser.close")
        try:
            self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        with contextlib.suppress(ProcessLookupError):
            self.signal(signal.SIGKILL)
        os.close(self.to)
        os.close(self.come)
        shutil.rmtree(self.folder, ignore_errors=True)


class Tab:
    def __init__(self, browser, url):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.open(url)

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def open(self, url):
        self.call("Page.navigate", url=url)

    def ask(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        check("exceptionDetails" not in result, f"{expression}: {result}")
        return result["result"].get("value")

    def wait_for(self, expression, what=None):
        end = time.monotonic() + LIMIT
        while not self.ask(f"document.readyState === 'complete' && Boolean({expression})"):
            check(time.monotonic() < end, f"never came true: {what or expression}\n" + (self.ask("document.body.innerText") or ""))
            time.sleep(0.02)

    def shows(self, text, where="body"):
        self.wait_for(f"document.querySelector({json.dumps(where)})?.innerText.includes({json.dumps(text)})", f"{text} in {where}")

    def hides(self, text, where="body"):
        self.wait_for(f"!document.querySelector({json.dumps(where)}).innerText.includes({json.dumps(text)})", f"no {text} in {where}")

    def column(self, kind, index):
        return self.ask(f"[...document.querySelectorAll('#{kind}-table tbody tr')].map((row) => row.cells[{index}].textContent)")

    def press(self, *keys):
        for key in keys:
            text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
            self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, code=key, windowsVirtualKeyCode={"Tab": 9, "Enter": 13, "Escape": 27}.get(key, 0))
            self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key)

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def hide(self, hidden):
        """As a browser does when another tab is in front: this one has no windows"""
        self.ask(f"Object.defineProperty(document, 'hidden', {{ value: {json.dumps(hidden)}, configurable: true }});"
                 " document.dispatchEvent(new Event('visibilitychange'))")

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)


class Web:
    def __init__(self, here, *options):
        self.process = here.popen("web", "--json", *options, text=True)
        self.url = json.loads(self.process.stdout.readline())["url"]

    def count_readers(self):
        with urllib.request.urlopen(self.url + "metrics", timeout=LIMIT) as answer:
            return int(re.search(r"^dvm_web_readers (\d+)$", answer.read().decode(), re.MULTILINE)[1])

    def end(self):
        self.process.terminate()
        equal(self.process.wait(LIMIT), 0)


@contextlib.contextmanager
def browser():
    it = Browser()
    try:
        yield it
        equal(it.complaints, [], "what the pages complain of")
    finally:
        it.close()


@contextlib.contextmanager
def web(here, *options):
    it = Web(here, *options)
    try:
        yield it
    finally:
        if it.process.poll() is None:
            it.end()


def submit(here, *args):
    result = here.cli("submit", "--personality", "plain", *args)
    equal(result.returncode, 0, result.stderr)
    return result.stdout.strip()


HOSTILE = "<script>window.caught = 1</script><img src=x onerror='window.caught = 2'>\"'&amp; 日本語"


def test_page():
    """the page shows jobs and nodes as they change; names are text, and keys filter, sort and go about"""
    with dvm("--nodes=2", "--slots=2") as here, web(here) as server, browser() as chromium:
        tab = Tab(chromium, server.url)
        tab.shows("live", "#news")
        tab.wait_for("location.href.endsWith('/') && !location.href.includes('token')", "the address has no token")
        tab.shows("none", "#jobs-table")
        equal(tab.column("nodes", 0), ["1", "2"])
        first = submit(here, "-n", "2", "sh", "-c", f"sleep 600 # {HOSTILE}")
        tab.shows("running", "#jobs-table")
        contains(tab.column("jobs", 8)[0], HOSTILE.split(" 日")[0])
        contains(tab.column("jobs", 8)[0], "日本語")
        equal(tab.ask("[window.caught, document.images.length, document.scripts.length]"), [None, 0, 1])
        tab.shows("2 of 4", "#totals")
        contains(tab.ask("document.title"), "1 running, 0 waiting")
        submit(here, "-n", "2", "sleep", "602")
        submit(here, "-n", "1", "sleep", "603")
        tab.shows("waiting for slots", "#jobs-table")
        equal(tab.column("jobs", 0), ["3", "2", "1"], "the newest one first")
        tab.wait_for("[...document.querySelectorAll('#nodes-table tbody tr')].every((row) => /^\\d+\\.\\d\\d$/.test(row.cells[5].textContent))", "load")
        equal(here.cli("kill", first).returncode, 0)
        tab.shows("cancelled", "#jobs-table")

        tab.press("a")
        tab.hides("cancelled", "#jobs-table")
        tab.press("a")
        tab.shows("cancelled", "#jobs-table")
        tab.press("/")
        tab.call("Input.insertText", text="SLEEP 60")
        tab.press("3")
        tab.wait_for("document.querySelectorAll('#jobs-table tbody tr').length === 1", "the filter")
        equal(tab.column("jobs", 8), ["sleep 603"])
        tab.call("Input.insertText", text=" nothing has this")
        tab.shows("none of them", "#jobs-table")
        tab.press("Escape")
        tab.wait_for("document.querySelectorAll('#jobs-table tbody tr').length === 3", "all of them")
        tab.ask("document.querySelector('#jobs-table th button').focus()")
        tab.press("Enter")
        tab.wait_for("document.querySelector('#jobs-table th').ariaSort === 'ascending'", "the other order")
        equal(tab.column("jobs", 0), ["1", "2", "3"])
        tab.press("n")
        equal(tab.ask("document.activeElement.closest('section').id"), "nodes")
        # All that can be acted upon has a name for those who do not see it.
        nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
        for node in nodes:
            if node.get("role", {}).get("value") in ("button", "searchbox", "checkbox", "link", "region", "progressbar", "table") and not node["ignored"]:
                check(node.get("name", {}).get("value") or node["role"]["value"] == "table", f"it has no name: {node}")

        tab.wait_for("[...document.querySelectorAll('th')].every((cell) => cell.scrollWidth <= cell.clientWidth)", "titles are whole")
        tab.wait_for("(table => table.scrollWidth <= table.clientWidth)(document.querySelector('#jobs .scroll'))", "a long command hides no column")
        for width in (320, 800, 1920):
            tab.size(width, 700)
            tab.wait_for(f"document.documentElement.scrollWidth <= {width}", f"it fits into {width} columns")
        tab.close()


def test_tree_and_map():
    """nodes stand below those above them, a job has a time line and what it writes, and its number shows where its ranks are"""
    with dvm("--nodes=5", "--slots=2", "--set", "radix=2") as here, web(here, "--no-token") as server, browser() as chromium:
        tab = Tab(chromium, server.url)
        tab.wait_for("document.querySelectorAll('#nodes-table tbody tr').length === 5", "all nodes")
        nodes = {row["name"]: row for row in here.json("nodes")}
        names = {row["rank"]: name for name, row in nodes.items()}

        def depth(name):
            return nodes[name]["depth"] - 1

        shown = tab.column("nodes", 1)
        equal(sorted(shown), sorted(name for name in nodes if nodes[name]["rank"] > 0))
        check(max(map(depth, shown)) > 0, "there is a tree")
        for index, name in enumerate(shown):
            above = nodes[name]["parent-rank"]
            # The last one before it that is less deep is the one above it.
            before = next((other for other in reversed(shown[:index]) if depth(other) < depth(name)), None)
            equal(before, names[above] if above > 0 else None, name)
        indents = tab.ask("[...document.querySelectorAll('#nodes-table tbody tr')].map((row) => parseFloat(getComputedStyle(row.cells[1]).paddingLeft))")
        equal([one > indents[0] for one in indents], [depth(name) > 0 for name in shown], f"{indents}")
        equal(tab.column("nodes", 9), ["controller" if nodes[name]["parent-rank"] == 0 else names[nodes[name]["parent-rank"]] for name in shown])
        tab.ask("document.getElementById('tree').click()")
        tab.wait_for("document.querySelector('#nodes-table tbody tr:nth-child(3) td').textContent === '3'", "by rank")

        job = submit(here, "-n", "3", "--bind-to", "none", "sh", "-c", "while echo 123456789; do sleep 0.02; done")
        tab.shows("running", "#jobs-table")
        line = "document.querySelector('#jobs-table td svg')"
        tab.wait_for(f"/^waited .*ran .*running$/.test({line}.getAttribute('aria-label'))", "its time line in words")
        tab.wait_for(f"{line}.querySelector('rect.now').getBoundingClientRect().width > 3", "a bar that grows")
        tab.wait_for("/^\\d+(\\.\\d)? (B|KiB)\\/s$/.test(document.querySelector('#jobs-table tbody tr').cells[9].textContent)", "what it writes")
        tab.wait_for("[...document.querySelectorAll('#totals div')].some((card) => /^Output\\s*\\d.*\\/s$/.test(card.innerText))", "what all write")

        tab.ask("document.querySelector('#jobs-table tbody button').focus()")
        tab.press("Enter")
        tab.shows("Map of job 1", "#map-title")
        where = {}
        for row in here.json("job", "map", job):
            where.setdefault(row["node"], []).append(row["rank"])
        tab.wait_for(f"document.querySelectorAll('#map-nodes .card').length === {len(where)}", "its nodes")
        cards = tab.ask("[...document.querySelectorAll('#map-nodes .card')].map((card) => card.innerText)")
        for card, (name, ranks) in zip(cards, where.items()):
            contains(card, name)
            contains(card, f"Not bound to cores: {'ranks' if len(ranks) > 1 else 'rank'} {', '.join(map(str, ranks))}")
        check(tab.ask("document.querySelectorAll('#map-nodes .core').length") > 0, "cores")
        equal(here.cli("kill", job).returncode, 0)
        bound = submit(here, "-n", "1", "--bind-to", "core", "sleep", "600")
        tab.wait_for("document.querySelector('#jobs-table tbody button').textContent === '2' && !document.querySelector('#map').hidden", "another job")
        tab.wait_for("rows.jobs.get(2).state === 'RUNNING'")
        tab.ask("document.querySelector('#jobs-table tbody button').click()")
        tab.shows("Map of job 2", "#map-title")
        cpus = here.json("job", "map", bound)[0]["cpuset"]
        wanted = "rank 0" if cpus else "Not bound to cores: rank 0"
        tab.wait_for(f"document.querySelector('#map-nodes').innerText.includes('{wanted}')"
                     f" || document.querySelector('#map-nodes .core.used')?.title.endsWith('{wanted}')", f"its rank on {cpus}")
        tab.press("m")
        tab.press("Enter")
        tab.wait_for("document.querySelector('#map').hidden", "it is closed")
        # A process that comes back may be on another node.
        fails = os.path.join(here.path, "fails")
        equal(here.cli("kill", bound).returncode, 0)
        submit(here, "-n", "1", "--max-restarts", "1", "sh", "-c", f"test $DVM_RESTART = 1 && exec sleep 600; until test -e {fails}; do sleep 0.02; done; exit 3")
        tab.wait_for("rows.jobs.get(3)?.state === 'RUNNING' && document.querySelector('#jobs-table tbody button').textContent === '3'", "it runs")
        tab.ask("document.querySelector('#jobs-table tbody button').click()")
        tab.shows("Map of job 3", "#map-title")
        tab.wait_for("asked.endsWith(' RUNNING 1 0')", "its map")
        open(fails, "w").close()
        tab.wait_for("asked.endsWith(' RUNNING 1 1')", "the map of the process that is back")
        tab.close()


def test_hidden():
    """a tab that is not seen needs nothing of the server, many of them leave room, and one that comes back shows what there is"""
    with dvm("--slots=4") as here, web(here, "--no-token") as server, browser() as chromium:
        tabs = []
        # A browser has six connections to one server.
        for _ in range(8):
            tabs.append(Tab(chromium, server.url))
            tabs[-1].shows("live", "#news")
            tabs[-1].hide(True)
        tabs[0].hide(False)
        submit(here, "-n", "1", "sleep", "611")
        tabs[0].shows("sleep 611", "#jobs-table")
        check("sleep 611" not in tabs[7].ask("document.body.innerText"), "a hidden tab hears nothing")
        tabs[7].hide(False)
        tabs[7].shows("sleep 611", "#jobs-table")
        for tab in tabs:
            tab.close()


def test_restart():
    """the page says when there is no DVM, no server, or another token, and goes on by itself"""
    with place() as here, browser() as chromium:
        server = Web(here)
        tab = Tab(chromium, server.url)
        tab.shows("no DVM is running", "#news")
        for command in ("sleep 611", "sleep 612"):
            equal(here.cli("start", "--bus", "none").returncode, 0)
            submit(here, "-n", "1", *command.split())
            tab.shows(command, "#jobs-table")
            tab.shows("ready", "#dvm-state")
            if command == "sleep 611":
                equal(here.cli("stop", "--force").returncode, 0)
                tab.shows("no DVM is running", "#news")
        port = server.url.split(":")[2].split("/")[0]
        server.end()
        tab.shows("the server of this page does not answer", "#news")
        server = Web(here, "--port", port)
        tab.shows("the token of this page is not valid any more", "#news")
        tab.open(server.url)
        tab.shows("sleep 612", "#jobs-table")
        tab.close()
        server.end()
        equal(here.cli("stop", "--force").returncode, 0)
        # A browser says itself that a server does not answer, and these are the ones that were meant.
        chromium.complaints = [text for text in chromium.complaints if "Failed to load resource" not in text]


def test_silent():
    """a DVM that does not answer is not called ready, and times stand still until it does; large numbers have one line"""
    with dvm("--slots=2048") as here, web(here, "--no-token") as server, browser() as chromium:
        submit(here, "-n", "1", "sleep", "600")
        tab = Tab(chromium, server.url)
        tab.size(1100, 700)
        tab.shows("1 of 2048", "#totals")
        heights = tab.ask("[...document.querySelectorAll('#totals dd')].map((value) => value.offsetHeight)")
        equal(heights, [heights[0]] * 7, "of the numbers above")
        tab.wait_for("parseFloat(document.querySelector('#jobs-table tbody tr').cells[7].textContent) > 1", "its time")
        os.kill(here.process.pid, signal.SIGSTOP)
        try:
            tab.shows("the DVM does not answer", "#news")
            tab.shows("no answer", "#dvm-state")
            times = "[document.querySelector('#about').textContent, document.querySelector('#jobs-table tbody tr').cells[7].textContent]"
            before = tab.ask(times)
            tab.ask("new Promise((done) => { show(); setTimeout(done, 1100); }).then(show)")
            equal(tab.ask(times), before, "times")
        finally:
            os.kill(here.process.pid, signal.SIGCONT)
        tab.shows("live", "#news")
        tab.shows("ready", "#dvm-state")
        tab.close()


def test_picture():
    """the picture of docs/web.md is that of the page; DVM_TEST_WRITE=1 draws it anew"""
    with dvm("--nodes=4", "--slots=4", "--set", "radix=2") as here, web(here, "--no-token") as server, browser() as chromium:
        equal(here.cli("run", "--personality", "plain", "-n", "1", "true").returncode, 0)
        for np, program in (("6", "climate"), ("8", "folding"), ("8", "render")):
            os.symlink("/bin/sleep", os.path.join(here.path, program))
            submit(here, "-n", np, "--bind-to", "core:overload-allowed", "--wdir", here.path, f"./{program}", "600")
        tab = Tab(chromium, server.url)
        tab.size(1100, 876)
        tab.shows("waiting for slots", "#jobs-table")
        tab.wait_for("[...document.querySelectorAll('#nodes-table tbody tr')].every((row) => row.cells[6].textContent !== '-')", "memory")
        tab.ask("[...document.querySelectorAll('#jobs-table tbody button')].find((button) => button.textContent === '2').click()")
        tab.wait_for("document.querySelectorAll('#map-nodes .core').length > 0", "a map")
        tab.ask("window.scrollTo(0, 0)")
        tab.wait_for("(table => table.scrollWidth <= table.clientWidth)(document.querySelector('#jobs .scroll'))", "no column is out of the picture")
        pictures = []
        for scheme in ("light", "dark"):
            tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            pictures.append(base64.b64decode(tab.call("Page.captureScreenshot", format="png")["data"]))
            colours = tab.ask("['color', 'backgroundColor'].map((name) => getComputedStyle(document.body)[name].match(/\\d+/g).map(Number)[0])")
            check((colours[0] < colours[1]) == (scheme == "light") and abs(colours[0] - colours[1]) > 150, f"{scheme}: {colours}")
        check(pictures[0] != pictures[1], "light and dark")
        for picture in pictures:
            check(picture.startswith(b"\x89PNG") and len(picture) > 20000, "there is something in it")
        if os.environ.get("DVM_TEST_WRITE"):
            with open(os.path.join(os.environ["DVM_SOURCE_DIR"], "docs", "images", "web.png"), "wb") as file:
                file.write(pictures[0])
        tab.close()


if LONG:
    def test_many():
        """10,000 jobs and 4,096 nodes are shown, filtered and sorted within 100 ms each"""
        with crowd() as here, web(here, "--socket", here.socket, "--no-token") as server, browser() as chromium:
            tab = Tab(chromium, server.url)
            tab.shows("of 10000", "#jobs-count")
            tab.shows("of 4096", "#nodes-count")
            for what, action in (("all", "0"), ("a filter", "$('jobs-filter').value = '77'"), ("an order", "sortBy('jobs', 'command')")):
                times = tab.ask(f"(() => {{ {action}; const times = []; for (let i = 0; i < 10; i++)"
                                " { const begin = performance.now(); show(); times.push(performance.now() - begin); } return times; })()")
                check(min(times) < 100, f"{what}: {times}")
            tab.close()

    def test_asleep():
        """a browser that sleeps for long costs the server nothing: its places are free, and it is right when it wakes up"""
        with dvm("--slots=1") as here, web(here, "--no-token") as server, browser() as chromium:
            equal(here.cli("submit", "--personality", "plain", "--array", "1-400", "-n", "1", "sh", "-c", "sleep 600", "x" * 5000).returncode, 0)
            tabs = [Tab(chromium, server.url) for _ in range(4)]
            for tab in tabs:
                tab.wait_for("[...rows.jobs.values()].filter((row) => row.shown === 'waiting for slots').length === 399")
            before = resident(server.process.pid)
            chromium.signal(signal.SIGSTOP)
            try:
                # Each round is 2 MB for a tab, which is more than its buffers hold in the end.
                held, end = False, time.monotonic() + 240
                while server.count_readers() > 0 and time.monotonic() < end:
                    held = not held
                    equal(here.cli("job", "hold" if held else "release", "array:1").returncode, 0)
                    time.sleep(1)
                equal(server.count_readers(), 0, "those that sleep")
                grown = resident(server.process.pid) - before
                check(grown < 32 << 20, f"{grown >> 20} MiB more")
                print(f"# the server has {grown >> 10} KiB more")
                equal(here.cli("kill", "1[11-400]").returncode, 0)
            finally:
                chromium.signal(signal.SIGCONT)
            for tab in tabs:
                tab.wait_for("[...rows.jobs.values()].filter((row) => row.state === 'CANCELLED' || row['ended-at'] !== null).length === 390")
                tab.shows("live", "#news")
                tab.ask("$('ended').click()")
                tab.wait_for("document.querySelectorAll('#jobs-table tbody tr').length === 10", "those that have not ended")
            equal(server.count_readers(), 4)
            # A browser says itself that connections have ended.
            chromium.complaints = [text for text in chromium.complaints if "net::ERR_" not in text]


if __name__ == "__main__":
    if BROWSER is None or os.environ.get("DVM_WEB") != "1":
        print("1..0 # SKIP " + ("chromium-headless-shell is not there" if BROWSER is None else "web is not built"))
        sys.exit(0)
    sys.exit(run_tests(functions(globals())))
