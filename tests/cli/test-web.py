#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""dvm-cli web over HTTP: the page, who may read it, events, metrics, and how it ends."""

import contextlib
import glob
import html.parser
import http.client
import http.cookiejar
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

from dvmtest import LIMIT, check, contains, crowd, dvm, equal, functions, place, resident, run_tests, wait_until

SOURCE = os.environ["DVM_SOURCE_DIR"]
BUILT = os.environ.get("DVM_WEB") == "1"
LONG = os.environ.get("DVM_TEST_SOAK") == "1"
PATHS = ("/", "/app.js", "/style.css", "/metrics", "/api/state", "/events", "/no/such/page")


class Web:
    """dvm-cli web, and those who ask it"""

    def __init__(self, here, *options, verb=("web",)):
        self.process = here.popen(*verb, "--json", *options, text=True)
        line = self.process.stdout.readline()
        check(line, f"no address: {self.process.stderr.read() if not line else ''}")
        told = json.loads(line)
        self.url, _, self.token = told["url"].partition("?token=")
        equal(told["metrics"], self.url + "metrics")
        self.port = urllib.parse.urlsplit(self.url).port
        self.host = urllib.parse.urlsplit(self.url).hostname
        self.headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def ask(self, path, method="GET", headers=None, body=None):
        """(status, headers, body), of a redirection too; headers: instead of the token"""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=LIMIT)
        with contextlib.closing(connection):
            connection.request(method, path, body, self.headers if headers is None else headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, b"" if path == "/events" and answer.status == 200 and method == "GET" else answer.read()

    def read(self, path):
        status, _, body = self.ask(path)
        equal(status, 200, path)
        return body.decode()

    def state(self):
        return json.loads(self.read("/api/state"))

    def metrics(self):
        return read_metrics(self.read("/metrics"))

    def wait_for(self, condition, what):
        wait_until(lambda: condition(self.state()), what)

    def end(self, signum=signal.SIGTERM):
        self.process.send_signal(signum)
        out, errors = self.process.communicate(timeout=LIMIT)
        equal((self.process.returncode, out), (0, ""), errors)
        return errors


class Stream:
    """A tab that follows: what it knows is what a page would show."""

    def __init__(self, web, buffer=None):
        self.socket = socket.socket(socket.AF_INET6 if ":" in web.host else socket.AF_INET)
        self.socket.settimeout(LIMIT)
        if buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.connect((web.host, web.port))
        head = "".join(f"{name}: {value}\r\n" for name, value in web.headers.items())
        self.socket.sendall(f"GET /events HTTP/1.1\r\nHost: {web.host}:{web.port}\r\n{head}\r\n".encode())
        self.answer = http.client.HTTPResponse(self.socket)
        self.answer.begin()
        self.rows = {"jobs": {}, "nodes": {}, "campaigns": {}}
        self.dvm = {}
        self.kinds = []

    def next(self):
        """The next event is taken; comments are none."""
        kind, data = None, None
        while True:
            line = self.answer.readline().decode().rstrip("\n")
            if line.startswith("event: "):
                kind = line[7:]
            elif line.startswith("data: "):
                data = json.loads(line[6:])
            elif line == "" and kind is not None:
                self.kinds.append(kind)
                self.take(kind, data)
                return kind
            elif line == "" and self.answer.closed:
                return None

    def take(self, kind, data):
        self.dvm = data.get("dvm", self.dvm)
        for panel, rows in self.rows.items():
            if kind == "whole":
                rows.clear()
            rows.update({row["rank" if panel == "nodes" else "id"]: row for row in data.get(panel, [])})
            for gone in data.get("gone", {}).get(panel, []):
                del rows[gone]

    def follow(self, condition, what):
        end = time.monotonic() + LIMIT
        while not condition(self):
            check(time.monotonic() < end, f"never came true: {what}; {self.dvm} {self.rows}")
            self.next()

    def close(self):
        self.answer.close()
        self.socket.close()


def submit(here, *args):
    result = here.cli("submit", "--personality", "plain", *args)
    equal(result.returncode, 0, result.stderr)
    return result.stdout.strip()


@contextlib.contextmanager
def web(here, *options):
    it = Web(here, *options)
    try:
        yield it
    finally:
        if it.process.poll() is None:
            it.end()


SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? ([0-9.]+)')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\[\\"n])*)"')


def read_metrics(text):
    """{name: {labels: value}}; every line is one of the text format, and belongs to what was declared right before"""
    check(text.endswith("\n"), "the last line has an end")
    found, types = {}, {}
    for line in text[:-1].split("\n"):
        kind, _, rest = line[2:].partition(" ")
        if line.startswith("# HELP "):
            current, _, words = rest.partition(" ")
            check(current not in found, f"{current} is there twice")
            check(re.fullmatch(r"dvm_[a-z_]+", current) and words.endswith("."), line)
            found[current] = {}
        elif line.startswith("# TYPE "):
            name, types[current] = rest.split(" ")
            equal(name, current, "TYPE is that of HELP")
            check(types[current] in ("gauge", "counter"), f"{line}: a statistic that the table of metrics does not have")
            equal(types[current] == "counter", current.endswith("_total"), f"{line}: sums alone end with _total")
        else:
            sample = SAMPLE.fullmatch(line)
            check(sample is not None and sample[1] == current, f"{line!r} behind {current}")
            labels = tuple(LABEL.findall(sample[2] or ""))
            check(labels not in found[current], f"{line!r} is there twice")
            found[current][labels] = float(sample[3])
    return found


def one(metrics, name, **labels):
    return metrics[name][tuple(labels.items())]


def test_page():
    """the address opens the page, its files are there, a cookie takes the place of the token, and nothing is changed by anybody"""
    with dvm("--slots=2") as here, web(here) as server:
        equal(server.host, "127.0.0.1")
        check(len(server.token) >= 32, "the token is long")
        jar = http.cookiejar.CookieJar()
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
        with browser.open(f"{server.url}?token={server.token}", timeout=LIMIT) as answer:
            equal(answer.url, server.url, "the token has left the address")
            page = answer.read().decode()
            policy = answer.headers["Content-Security-Policy"]
            contains(policy, "default-src 'none'")
            check("unsafe" not in policy and "http" not in policy, policy)
            equal(answer.headers["Cache-Control"], "no-store")
        check(server.token not in str([cookie.value for cookie in jar]), "the cookie is not the token")
        equal([cookie.has_nonstandard_attr("HttpOnly") for cookie in jar], [True])
        wanted = re.findall(r'(?:href|src)="([^"#][^"]*)"', page)
        check({"style.css", "app.js", "metrics", "api/state"} <= set(wanted), f"{wanted}")
        types = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "state": "application/json",
                 "metrics": "text/plain; version=0.0.4; charset=utf-8"}
        for name in wanted:
            if name.startswith("data:"):
                continue
            with browser.open(server.url + name, timeout=LIMIT) as answer:
                equal(answer.headers["Content-Type"], types[re.split(r"[./]", name)[-1]], name)
                check(answer.read(), name)
        html.parser.HTMLParser().feed(page)
        check("<script>" not in page and "style=" not in page and "onclick" not in page, "nothing that its own policy forbids")
        status, _, body = server.ask("/no/such/page")
        equal((status, body), (404, b"There is no such page: / and /metrics, /api/state and /events are there.\n"))
        for path in ("/metrics/x", "/app.js/", "//", "/..%2f..%2fetc/passwd", "/%00", "/index.html/../app.js"):
            check(server.ask(path)[0] in (200, 400, 404), path)
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"):
            status, headers, _ = server.ask("/api/state", method, body=b"x" * 100000)
            equal((status, headers["Allow"]), (405, "GET, HEAD"), method)
        for path in PATHS[:-1]:
            status, headers, body = server.ask(path, "HEAD")
            equal((status, body), (200, b""), path)
        equal(here.cli("web", "now").returncode, 2, "an argument")
        contains(here.cli("web", "--help").stdout, "Prometheus")


def test_token():
    """without the token there is nothing, whatever is asked for; a file keeps one, for its user alone"""
    with dvm("--slots=2") as here, web(here) as server, web(here) as other:
        right = server.token
        equal(here.cli("jobs").returncode, 0)
        check(right != other.token, "each run has its own")
        for path in PATHS:
            for headers in ({}, {"Authorization": "Bearer "}, {"Authorization": f"Bearer {other.token}"}, {"Authorization": right},
                            {"Authorization": f"Basic {right}"}, {"Authorization": f"Bearer {right}x"}, {"Authorization": f"Bearer {right[:-1]}"},
                            {"Cookie": f"dvm-web-{server.port}={right}"}, {"Cookie": f"dvm-web-{server.port}=; a"}):
                status, answer, body = server.ask(path, headers=headers)
                equal((status, answer["WWW-Authenticate"]), (401, 'Bearer realm="dvm-cli web"'), f"{path} {headers}")
                contains(body.decode(), "needs a token")
                check("dvm-cli web" in body.decode() and right not in body.decode(), body)
        for query in ("token", "token=", f"token={other.token}", "token=%00", "token=%ff%fe", "Token=" + right):
            status, answer, _ = server.ask("/?" + query, headers={})
            equal((status, answer["Set-Cookie"]), (401, None), query)
        equal(server.ask("/metrics", headers={"Authorization": f"bearer   {right}"})[0], 200)
        cookie = server.ask(f"/?token={right}", headers={})[1]["Set-Cookie"].partition(";")[0]
        equal(server.ask("/metrics", headers={"Cookie": f"a=b; {cookie}; c=d"})[0], 200)
        for name in (cookie.partition("=")[0], f"dvm-web-{other.port}"):
            equal(other.ask("/metrics", headers={"Cookie": name + "=" + cookie.partition("=")[2]})[0], 401, "the cookie of another server")

        path = os.path.join(here.path, "token")
        with web(here, "--token-file", path) as server:
            equal(server.token, "", "it is not shown")
            equal(os.stat(path).st_mode & 0o777, 0o600)
            with open(path) as file:
                token = file.read().strip()
            equal(server.ask("/metrics")[0], 401)
            equal(server.ask("/metrics", headers={"Authorization": f"Bearer {token}"})[0], 200)
            contains(server.end(), f"?token= and what {path} has")
        with web(here, "--token-file", path) as server:
            equal(server.ask("/metrics", headers={"Authorization": f"Bearer {token}"})[0], 200, "the token of before")
        for text, mode, words in ((b"short\n", 0o600, "has no token"), (b"", 0o600, "has no token"), (b"a b c d e f g h i j k l\n", 0o600, "has no token"),
                                  (b"x" * 2000, 0o600, "has no token"), (b"0123456789abcdef\0ef\n", 0o600, "has no token"),
                                  (b"0123456789abcdef\n", 0o604, "everybody can read or write")):
            with open(path, "wb") as file:
                file.write(text)
            os.chmod(path, mode)
            result = here.cli("web", "--token-file", path)
            equal((result.returncode, result.stdout), (1, ""), text[:20])
            contains(result.stderr, words, f"{text[:20]}")
        os.mkfifo(os.path.join(here.path, "fifo"))
        for file, words in (("fifo", "is no ordinary file"), (".", "is no ordinary file"), ("no/such/folder", "--token-file: ")):
            result = here.cli("web", "--token-file", os.path.join(here.path, file))
            equal(result.returncode, 1, file)
            contains(result.stderr, words, file)

        with web(here, "--no-token") as server:
            equal((server.token, server.ask("/metrics", headers={})[0]), ("", 200))
        for wrong, words in ((["--no-token", "--address", "0.0.0.0"], "for loopback addresses alone"),
                             (["--server-name", "a b"], "'a b' is no name of a host"),
                             (["--server-name", "a:80"], "'a:80' is no name of a host"),
                             (["--server-name", "."], "'.' is no name of a host"), (["--server-name", "a..b"], "'a..b' is no name of a host"),
                             (["--server-name", "a-.b"], "'a-.b' is no name of a host"), (["--server-name=-"], "'-' is no name of a host"),
                             (["--server-name", "a" * 64], "up to 63 between two dots"), (["--server-name", "a." * 127 + "a"], "253 in all"),
                             (["--server-name", ""], "option --server-name has an empty value"),
                             (["--no-token", "--token-file", path], "exclude each other")):
            result = here.cli("web", *wrong)
            equal(result.returncode, 2, f"{wrong}")
            contains(result.stderr, words, f"{wrong}")


def test_names():
    """a page of a stranger whose name leads here reads nothing, also with the right token (DNS rebinding)"""
    with dvm("--slots=2") as here, web(here, "--server-name", "jobs.example.org") as server:
        def status(host):
            return server.ask("/metrics", headers={**server.headers, "Host": host})[0]

        for host in ("evil.example", f"evil.example:{server.port}", "localhost.evil.example", "127.0.0.1.evil.example", "jobs.example.org.evil",
                     "", "[::1", "127.0.0.1:x", "127.0.0.1:99999", "evil.example@127.0.0.1", "jobs.example.org, evil.example"):
            check(status(host) in (400, 421), f"{host!r}: {status(host)}")
        for host in ("127.0.0.1", f"127.0.0.1:{server.port}", "localhost", f"LOCALHOST:{server.port}", "[::1]", f"[::1]:{server.port}",
                     "jobs.example.org", "Jobs.Example.Org:443", socket.gethostname()):
            equal(status(host), 200, host)
        equal(server.ask(f"/?token={server.token}", headers={"Host": "evil.example"})[1]["Set-Cookie"], None)
        # One that names no host at all
        with socket.create_connection((server.host, server.port), LIMIT) as old:
            old.sendall(f"GET /metrics HTTP/1.0\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode())
            check(old.recv(100).split(b" ")[1] in (b"400", b"421"), "HTTP/1.0 without a host")
        for wrong in (b"\0\1\2\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"A" * 200000, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 30000 + b"\r\n"):
            with socket.create_connection((server.host, server.port), LIMIT) as stranger, contextlib.suppress(OSError):
                stranger.sendall(wrong)
                stranger.shutdown(socket.SHUT_WR)
                check(b" 200 " not in stranger.recv(1000).split(b"\r\n")[0], wrong[:20])
        equal(status("localhost"), 200)


HOSTILE = "<script>alert(1)</script>\"'&\\ \n</td> \x1b[31m 日本語 \u202e ]]> data: x"


def test_map():
    """where the ranks of a job are, with the packages and cores of their nodes; what is no job is refused"""
    with dvm("--nodes=2", "--slots=2", "--set", "radix=2") as here, web(here) as server:
        job = here.cli("submit", "--personality", "plain", "-n", "3", "--bind-to", "none", "sleep", "600").stdout.strip()
        server.wait_for(lambda state: state["jobs"] and state["jobs"][0]["state"] == "RUNNING", "it runs")
        state = server.state()
        equal([row["parent"] for row in state["nodes"]], [0, 0])
        check(state["jobs"][0]["created-at"] <= state["jobs"][0]["started-at"], f"{state['jobs']}")
        status, headers, body = server.ask("/api/map/1")
        equal((status, headers["Content-Type"]), (200, "application/json"), body)
        found = json.loads(body)
        equal((found["job"], found["procs"], found["hidden-nodes"]), (1, 3, 0))
        equal([[rank, found["nodes"][node]["name"]] for rank, node, _ in found["ranks"]],
              [[row["rank"], row["node"]] for row in here.json("job", "map", job)])
        equal([cpus for _, _, cpus in found["ranks"]], [""] * 3)
        for node in found["nodes"]:
            check(node["core"] and node["package"] and all(re.fullmatch(r"[\d,-]+", text) for text in node["core"] + node["package"]), f"{node}")
        for path, wanted in (("/api/map/77", 404), ("/api/map/", 404), ("/api/map/x", 404), ("/api/map/1/", 404), ("/api/map/4294967296", 404)):
            status, _, body = server.ask(path)
            equal(status, wanted, path)
            check(body.strip(), path)
        equal(server.ask("/api/map/1", headers={})[0], 401, "without the token")
        equal(server.ask("/api/map/1", "POST", body=b"x")[0], 405)
        equal(server.ask("/api/map/1", "HEAD")[::2], (200, b""))
        equal(here.cli("kill", job).returncode, 0)
        equal(server.ask("/api/map/1")[0], 200, "of an ended one too")
        here.cli("submit", "--personality", "plain", "-n", "1", "--max-restarts", "1", "sh", "-c", "test $DVM_RESTART = 1 || exit 3; sleep 600")
        server.wait_for(lambda state: [row["restarts"] for row in state["jobs"] if row["id"] == 2] == [1], "its process is back")
        equal(here.cli("stop", "--force").returncode, 0)
        wait_until(lambda: not server.state()["dvm"]["connected"], "it has gone")
        equal(server.ask("/api/map/1")[::2], (503, b"No DVM is running.\n"))


def test_events():
    """a tab hears of all that changes, as the state has it: jobs, nodes, campaigns, names of every kind"""
    with place() as here:
        equal(here.cli("start", "--bus", "none", "--nodes", "2", "--slots", "2", "--elastic").returncode, 0)
        try:
            with web(here) as server:
                tab = Stream(server)
                equal(tab.next(), "whole")
                tab.follow(lambda tab: len(tab.rows["nodes"]) == 2, "both nodes")
                first = submit(here, "-n", "2", "sh", "-c", f"sleep 600 # {HOSTILE}")
                tab.follow(lambda tab: any(row["state"] == "RUNNING" and row["live"] == 2 for row in tab.rows["jobs"].values()), "the job runs")
                row = tab.rows["jobs"][1]
                equal((row["namespace"], row["procs"], row["shown"], row["ended-at"]), (first, 2, "running", None))
                contains(row["command"], "<script>alert(1)</script>")
                contains(row["command"], "日本語")
                check("\x1b" not in row["command"] and "\n" not in row["command"] and "\u202e" not in row["command"], row["command"])
                tab.follow(lambda tab: all(row["memory"] and row["load"] is not None for row in tab.rows["nodes"].values()), "they are measured")
                check(all(row["memory"] < row["memory-total"] for row in tab.rows["nodes"].values()), f"{tab.rows['nodes']}")
                equal(here.cli("node", "drain", "node2").returncode, 0)
                tab.follow(lambda tab: tab.rows["nodes"][2]["state"] == "DO_NOT_USE", "a node that is drained")
                equal(here.cli("node", "resume", "node2").returncode, 0)
                equal(here.cli("grow", "--wait", "--count", "1").returncode, 0)
                tab.follow(lambda tab: len(tab.rows["nodes"]) == 3 and len(tab.rows["campaigns"]) == 1, "a node that came")
                equal(here.cli("shrink", "--wait", "--hosts", "node3").returncode, 0)
                tab.follow(lambda tab: len(tab.rows["nodes"]) == 2, "a node that left")
                equal(here.cli("kill", first).returncode, 0)
                tab.follow(lambda tab: tab.rows["jobs"][1]["ended-at"] is not None and tab.dvm["jobs-ended"] == 1, "it is cancelled")
                check(tab.rows["jobs"][1]["ended-at"] >= tab.rows["jobs"][1]["started-at"], "times")
                # Another tab, which begins now, knows the same.
                late = Stream(server)
                equal(late.next(), "whole")
                equal(set(tab.kinds[1:]), {"change"}, "one that keeps up is not told all again")
                equal(late.rows["jobs"], tab.rows["jobs"])
                equal(late.rows["campaigns"], tab.rows["campaigns"])
                equal(server.state()["jobs"], list(tab.rows["jobs"].values()))
                late.close()
                tab.close()
        finally:
            equal(here.cli("stop", "--force").returncode, 0)


def test_tabs():
    """many follow at a time, and one more is refused until one goes; one that does not read costs others nothing"""
    with dvm("--slots=2") as here, web(here) as server:
        def answers():
            stream = Stream(server)
            if stream.answer.status == 200:
                equal(stream.next(), "whole")
            return stream

        tabs = [answers() for _ in range(64)]
        equal({tab.answer.status for tab in tabs}, {200})
        equal(one(server.metrics(), "dvm_web_readers"), 64)
        late = answers()
        equal((late.answer.status, late.answer.headers["Retry-After"]), (503, "10"))
        late.close()
        tabs.pop().close()
        wait_until(lambda: one(server.metrics(), "dvm_web_readers") == 63, "its place is free")
        tabs.append(answers())
        equal(tabs[-1].answer.status, 200)
        submit(here, "-n", "1", "sleep", "600")
        for tab in tabs:
            tab.follow(lambda tab: any(row["state"] == "RUNNING" for row in tab.rows["jobs"].values()), "each is told")
        for tab in tabs:
            tab.close()
        wait_until(lambda: one(server.metrics(), "dvm_web_readers") == 0, "all have gone")
        # A page that is loaded again and again takes one place: nothing has to happen for the old one to be free.
        end = time.monotonic() + LIMIT
        for unread in range(50):
            again = Stream(server)
            equal(again.answer.status, 200, f"tab {unread} of those that come and go")
            if unread % 2:
                again.next()
            again.close()
            wait_until(lambda: one(server.metrics(), "dvm_web_readers") == 0, "it has gone")
            check(time.monotonic() < end, f"{unread} tabs have taken {LIMIT} s to leave")
        # One that says that it asks for nothing more goes on reading.
        half = Stream(server)
        half.next()
        half.socket.shutdown(socket.SHUT_WR)
        submit(here, "-n", "1", "sleep", "601")
        half.follow(lambda tab: len(tab.rows["jobs"]) == 2, "the second job")
        half.close()


def test_slow():
    """what a tab that sleeps has not taken is not kept: it is told the whole state when it wakes up"""
    with dvm("--slots=1") as here, web(here) as server:
        equal(here.cli("submit", "--personality", "plain", "--array", "1-400", "-n", "1", "sh", "-c", "sleep 600", "x" * 5000).returncode, 0)
        server.wait_for(lambda state: len(state["jobs"]) == 400 and state["dvm"]["jobs-running"] == 1, "all jobs")
        asleep = Stream(server, buffer=4096)
        awake = Stream(server)
        # Together more than the buffer of a socket (tcp_wmem) holds
        for shown in ("waiting for its release", "waiting for slots") * 2:
            equal(here.cli("job", "hold" if "release" in shown else "release", "array:1").returncode, 0)
            awake.follow(lambda tab: sum(row["shown"] == shown for row in tab.rows["jobs"].values()) == 399, shown)
        equal(set(awake.kinds[1:]), {"change"})
        asleep.follow(lambda tab: tab.rows == awake.rows, "it has all when it wakes up")
        contains(asleep.kinds[1:], "whole", "it has missed some")
        asleep.close()
        awake.close()


def test_restart():
    """no DVM, one that comes, goes and comes again, and one that does not answer are each told as they are"""
    with place() as here, web(here) as server:
        state = server.state()
        equal((state["dvm"]["connected"], state["jobs"], state["nodes"]), (False, [], []))
        equal({name: one(server.metrics(), name) for name in server.metrics()}, {"dvm_up": 0, "dvm_web_readers": 0})
        tab = Stream(server)
        for command in ("sleep 611", "sleep 612"):
            equal(here.cli("start", "--bus", "none").returncode, 0)
            submit(here, "-n", "1", *command.split())
            tab.follow(lambda tab: [row["command"] for row in tab.rows["jobs"].values()] == [command] and tab.dvm["connected"], command)
            equal(one(server.metrics(), "dvm_up"), 1)
            if command == "sleep 612":
                break
            equal(here.cli("stop", "--force").returncode, 0)
            tab.follow(lambda tab: not tab.dvm["connected"], "it has gone")
            equal(one(server.metrics(), "dvm_up"), 0)
            check("dvm_slots" not in server.metrics(), "no numbers of one that has gone")
        equal(here.cli("stop", "--force").returncode, 0)
        tab.follow(lambda tab: not tab.dvm["connected"], "it has gone, too")
        tab.close()


def names_of(text):
    return set(re.findall(r"\bdvm_[a-z_]+\b", text))


def test_metrics():
    """every number of the DVM has a name and is right; the Grafana board and docs/web.md speak of these"""
    with dvm("--slots=3") as here, web(here) as server:
        first = submit(here, "-n", "2", "sleep", "600")
        equal(here.cli("run", "-n", "1", "--personality", "plain", "echo", "x" * 1000).returncode, 0)
        submit(here, "-n", "2", "sleep", "601")
        wait_until(lambda: one(server.metrics(), "dvm_jobs_running") == 1 and one(server.metrics(), "dvm_jobs_waiting") == 1
                   and one(server.metrics(), "dvm_jobs_ended_total") == 1, "it knows")
        metrics = server.metrics()
        for name, value in (("dvm_up", 1), ("dvm_ready", 1), ("dvm_slots", 3), ("dvm_slots_in_use", 2), ("dvm_processes", 2),
                            ("dvm_jobs_submitted_total", 3), ("dvm_procs_launched_total", 3), ("dvm_nodes_expected", 1)):
            equal(one(metrics, name), value, name)
        check(one(metrics, "dvm_output_bytes_total") >= 1000, "output")
        equal(one(metrics, "dvm_nodes", state="UP"), 1)
        equal(one(metrics, "dvm_jobs", state="RUNNING"), 1)
        equal(one(metrics, "dvm_jobs", state="NOTIFIED"), 1)
        check(abs(one(metrics, "dvm_start_time_seconds") - time.time()) < 3600, "when it began")
        status = here.json("status")
        equal(list(metrics["dvm_info"]), [(("version", status["version"]), ("namespace", first.partition("@")[0]))])

        with open(os.path.join(SOURCE, "docs", "web.md")) as file:
            documented = set(re.findall(r"^\| `(dvm_[a-z_]+)`", file.read(), re.M))
        equal(documented, set(metrics), "docs/web.md, and what there is")
        with open(os.path.join(SOURCE, "data", "grafana-dvm.json")) as file:
            board = json.load(file)
        asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
        check(len(asked) >= 10, "the board has something to show")
        for text in (*asked, board["templating"]["list"][1]["query"]["query"]):
            check(names_of(text) and names_of(text) <= set(metrics), f"{text}: {names_of(text) - set(metrics)}")
            for name in names_of(text):
                equal(bool(re.search(rf"(rate|increase)\({name}\b", text)), name.endswith("_total"), f"{text}: sums alone have a rate")
        places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in board["panels"]]
        equal(len(set(places)), len(places), "panels stand side by side")
        equal(len({panel["id"] for panel in board["panels"]}), len(places))


def test_ends():
    """ports and addresses that cannot be, outputs that cannot be written, and signals while many follow"""
    with dvm("--slots=2") as here:
        with web(here, "--no-token", "--port", "0") as server:
            tab = Stream(server)
            result = here.cli("web", "--port", str(server.port))
            equal((result.returncode, result.stdout), (1, ""))
            contains(result.stderr, f"another program listens at 127.0.0.1:{server.port} already")
            server.end(signal.SIGINT)
            while tab.answer.readline():
                pass
            tab.close()
        with web(here, "--address", "::1") as server:
            equal((server.host, server.ask("/metrics")[0]), ("::1", 200))
            server.end(signal.SIGHUP)
        with web(here, "--address", "0.0.0.0") as server:
            contains(server.url, socket.gethostname())
            contains(server.end(), "is not encrypted")
        for wrong, status, words in ((["--port", "65536"], 2, "--port"), (["--port", "-1"], 2, "--port"), (["--port", "http"], 2, "--port"),
                                     (["--address", "nowhere"], 2, "'nowhere' is no address"), (["--address", "1.2.3"], 2, "is no address"),
                                     (["--address", "127.0.0.1:80"], 2, "is no address"), (["--address", "192.0.2.1"], 1, "cannot listen at 192.0.2.1: "),
                                     (["--address", "fe80::1%nowhere"], 2, "is no address")):
            result = here.cli("web", *wrong)
            equal((result.returncode, result.stdout), (status, ""), f"{wrong}: {result.stderr}")
            contains(result.stderr, words, f"{wrong}")
        with open("/dev/full", "w") as full:
            result = here.cli("web", stdout=full)
        equal((result.returncode, result.stderr), (1, "dvm-cli: cannot write to standard output: No space left on device\n"))
        end, other = os.pipe()
        os.close(end)
        equal(here.cli("web", stdout=other).returncode, 0, "nobody reads the address")
        os.close(other)
        plain = here.popen("web", "-q", text=True)
        check(re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{64}\n", plain.stdout.readline()), "the address for people")
        plain.stdout.close()
        plain.terminate()
        equal(plain.wait(LIMIT), 0)


if LONG:
    def test_silent():
        """a DVM that does not answer is told of, and nobody waits for it for ever"""
        with dvm("--slots=2") as here, web(here) as server:
            submit(here, "-n", "1", "sleep", "612")
            tab = Stream(server)
            tab.follow(lambda tab: 1 in tab.rows["jobs"], "the job")
            here.process.send_signal(signal.SIGSTOP)
            try:
                tab.follow(lambda tab: tab.dvm["problem"] == "the DVM does not answer", "one that is stopped")
                equal({name: one(server.metrics(), name) for name in server.metrics()}, {"dvm_up": 0, "dvm_web_readers": 1})
                equal([row["command"] for row in server.state()["jobs"]], ["sleep 612"], "what was known is there")
            finally:
                here.process.send_signal(signal.SIGCONT)
            tab.follow(lambda tab: tab.dvm["problem"] is None, "it goes on")
            equal(one(server.metrics(), "dvm_up"), 1)
            tab.close()

    def test_many():
        """10,000 jobs and 4,096 nodes: each answer costs less than 100 ms, and many of them leave the memory as it was"""
        with crowd() as here, web(here, "--socket", here.socket) as server:
            tab = Stream(server)
            tab.follow(lambda tab: (len(tab.rows["jobs"]), len(tab.rows["nodes"])) == (10000, here.N_NODES), "all of it")
            for path in ("/", "/app.js", "/api/state", "/metrics"):
                check(cost_of(server, lambda: server.read(path)) < 0.1, path)
            check(cost_of(server, lambda: read_whole(server)) < 0.1, "events")
            before = resident(server.process.pid)
            # Tabs that come and go, and readings of the DVM meanwhile
            for _ in range(300):
                read_whole(server)
                server.read("/metrics")
            grown = resident(server.process.pid) - before
            check(grown < 20 << 20, f"{grown >> 20} MiB more")
            tab.close()

    def test_asleep():
        """a tab that takes nothing for a minute is let go, and its place is free"""
        with dvm("--slots=1") as here, web(here) as server:
            # More than the buffers of a socket hold
            equal(here.cli("submit", "--personality", "plain", "--array", "1-1000", "-n", "1", "sh", "-c", "sleep 600", "x" * 6000).returncode, 0)
            server.wait_for(lambda state: len(state["jobs"]) == 1000, "all jobs")
            tabs = [Stream(server, buffer=4096) for _ in range(30)]
            wait_until(lambda: one(server.metrics(), "dvm_web_readers") == 30, "they follow")
            end = time.monotonic() + 150
            while one(server.metrics(), "dvm_web_readers") > 0 and time.monotonic() < end:
                time.sleep(1)
            equal(one(server.metrics(), "dvm_web_readers"), 0, "those that sleep")
            for tab in tabs:
                tab.close()


def read_whole(server):
    """The first event as it comes, unread"""
    with urllib.request.urlopen(urllib.request.Request(server.url + "events", headers=server.headers), timeout=LIMIT) as answer:
        equal(answer.readline(), b"event: whole\n")
        check(len(answer.readline()) > 1000000, "all rows")


def cpu_time(process):
    with open(f"/proc/{process.pid}/schedstat") as file:
        return int(file.read().split()[0]) / 1e9


def cost_of(server, function):
    """Seconds of a processor, whatever else this machine does; the least of some, as the DVM is read meanwhile"""
    costs = []
    for _ in range(10):
        begin = cpu_time(server.process)
        function()
        costs.append(cpu_time(server.process) - begin)
    return min(costs)


def test_not_built():
    """without libsoup the verb says so"""
    with place() as here:
        result = here.cli("web")
        equal((result.returncode, result.stdout), (1, ""))
        contains(result.stderr, "dvm-web, which serves the page, is not in")


if __name__ == "__main__":
    tests = functions(globals())
    sys.exit(run_tests([test for test in tests if (test is test_not_built) != BUILT]))
