# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the tests of the command line share: TAP, a private place to run in, real DVMs."""

import contextlib
import glob
import json
import os
import pty
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import termios
import tempfile
import time
import traceback

CLI = os.environ["DVM_CLI"]
DVMD = os.environ.get("DVM_DVMD", "")

# Under nohup, or behind an "&" of a script, some signals come ignored, and children would go on ignoring them.
for signum in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
    if signal.getsignal(signum) is signal.SIG_IGN:
        signal.signal(signum, signal.SIG_DFL)

# A test that hangs ends here; nothing is measured.
LIMIT = 60
# Whatever a test waits for without a limit of its own, it does not do so longer; the slowest takes a tenth of that.
TEST_LIMIT = 300


class Failed(Exception):
    pass


class Skipped(Exception):
    """Of a test that cannot run here; the text says why."""


def check(condition, what):
    if not condition:
        raise Failed(what)


def equal(got, wanted, what=""):
    if got != wanted:
        raise Failed(f"{what}: got {got!r}, wanted {wanted!r}")


def contains(text, part, what=""):
    if part not in text:
        raise Failed(f"{what}: {part!r} is not in {text!r}")


def wait_until(condition, what):
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            raise Failed(f"never came true: {what}")
        time.sleep(0.01)


def alive(pid):
    """Whether a process lives; a zombie does not, once its last thread, with which its files are closed, has ended"""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return any(is_running(f"/proc/{pid}/task/{thread}/stat") for thread in threads)


def is_running(path):
    try:
        with open(path) as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):  # also between the opening and the reading
        return False


def resident(pid):
    """Bytes of memory that a process has"""
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def on_alarm(_signum, _frame):
    raise Failed(f"it has not ended within {TEST_LIMIT} s")


def keep_going():
    """A test that gets on has its whole time again."""
    signal.alarm(TEST_LIMIT)


class Place:
    """A directory of our own, and an environment in which no other DVM and no bus can be found."""

    def __init__(self):
        self.children = []
        self.path = tempfile.mkdtemp(prefix="dvmcli-")
        os.chmod(self.path, 0o700)
        self.state = tempfile.mkdtemp(prefix="dvmcli-state-")
        self.env = dict(os.environ)
        for name in ("DVM_NAME", "DVM_SOCKET"):
            self.env.pop(name, None)
        self.env.update(
            XDG_RUNTIME_DIR=self.path,
            XDG_CONFIG_HOME=self.path,
            XDG_STATE_HOME=self.state,
            DBUS_SESSION_BUS_ADDRESS=f"unix:path={self.path}/no-session-bus",
            DBUS_SYSTEM_BUS_ADDRESS=f"unix:path={self.path}/no-system-bus",
            LC_ALL="C.UTF-8",
            # Folders of another user in the PATH make of "not found" a "permission denied".
            PATH="/usr/local/bin:/usr/bin:/bin",
            TERM="dumb",
        )

    def cli(self, *args, stdin=subprocess.DEVNULL, env=None, text=True, **options):
        if isinstance(stdin, (str, bytes)):
            options["input"] = stdin
        else:
            options["stdin"] = stdin
        result = subprocess.run(
            [CLI, *args],
            stdout=options.pop("stdout", subprocess.PIPE),
            stderr=options.pop("stderr", subprocess.PIPE),
            env={**self.env, **(env or {})},
            text=text,
            timeout=LIMIT,
            **options,
        )
        # Messages count in the singular, too.
        check(not text or not re.search(r"\b1 (process|cpu|node|slot|core|device|line|second)e?s\b", result.stderr or ""), result.stderr)
        return result

    def popen(self, *args, stdin=subprocess.DEVNULL, env=None, **options):
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        self.children.append(subprocess.Popen([CLI, *args], stdin=stdin, env={**self.env, **(env or {})}, **options))
        return self.children[-1]

    def json(self, *args):
        result = self.cli(*args, "--json")
        equal(result.returncode, 0, f"{args}: {result.stderr}")
        return json.loads(result.stdout)

    def end_dvms(self):
        """Those that a test has started and, since it failed, not stopped."""
        for path in glob.glob(f"{self.state}/dvm/*/watch"):
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(path) as file:
                    pid = int(file.read().split()[0])
                with open(f"/proc/{pid}/cmdline") as file:
                    words = file.read().split("\0")
                if any(word.startswith(f"--archive-file={self.state}/") for word in words):
                    os.kill(pid, signal.SIGTERM)
                    wait_until(lambda: not alive(pid), f"dvmd {pid} ends")

    def remove(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
                child.wait()
        self.end_dvms()
        shutil.rmtree(self.path, ignore_errors=True)
        shutil.rmtree(self.state, ignore_errors=True)


class Dvm(Place):
    """A DVM of our own; ended by its pid whatever happens."""

    def __init__(self, *options, env=None):
        super().__init__()
        self.env.update(env or {})
        ready, ready_end = os.pipe()
        self.process = subprocess.Popen(
            [DVMD, "--bus=none", f"--ready-fd={ready_end}", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=self.env,
            pass_fds=[ready_end],
        )
        os.close(ready_end)
        with os.fdopen(ready) as pipe:
            answer = pipe.read()
        if answer != "READY\n":
            self.close()
            raise Failed(f"dvmd is not ready: {answer!r}")

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.remove()


@contextlib.contextmanager
def place():
    it = Place()
    try:
        yield it
    finally:
        it.remove()


@contextlib.contextmanager
def dvm(*options):
    it = Dvm(*options)
    try:
        yield it
    finally:
        it.close()


class Crowd(Place):
    """A DVM at `socket` that has 4,096 nodes, and jobs that run for ever: it starts no process for them."""

    N_NODES = 4096

    def __init__(self, varied):
        super().__init__()
        self.socket = os.path.join(self.path, "fake")
        self.process = subprocess.Popen([os.path.join(os.path.dirname(CLI), "..", "tests", "bench", "fake-dvm"), self.socket, str(self.N_NODES), "20000",
                                         *([str(varied)] if varied else [])],
                                        stdin=subprocess.DEVNULL)
        wait_until(lambda: os.path.exists(self.socket), "it listens")

    def submit_many(self, n_jobs):
        result = self.cli("--socket", self.socket, "submit", "--array", f"1-{n_jobs}", "-n", "1", "sleep", "600")
        equal(result.returncode, 0, result.stderr)
        self.wait_for_running(n_jobs)

    def wait_for_running(self, n_jobs):
        """As long as the number changes, it goes on. Asked all the time it would get to nothing else."""
        running = None
        while running != n_jobs:
            before = running
            wait_until(lambda: time.sleep(0.5) or self.count_running() != before, f"{n_jobs} jobs run, and not {before}")
            running = self.count_running()
            keep_going()

    def count_running(self):
        return self.json("--socket", self.socket, "status")["jobs-running"]

    def close(self):
        self.process.terminate()
        try:
            equal(self.process.wait(LIMIT), 0, "the DVM without processes")
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.remove()


@contextlib.contextmanager
def crowd(n_jobs=10000, varied=False):
    """varied: each job is another one, and of three one has ended"""
    it = Crowd(n_jobs if varied else 0)
    try:
        if varied:
            it.wait_for_running(n_jobs - n_jobs // 3)
        elif n_jobs > 0:
            it.submit_many(n_jobs)
        yield it
    finally:
        it.close()


class Terminal:
    """A process with a controlling terminal, as a shell would start it."""

    def __init__(self, place, *args, env=None, program=CLI, size=(24, 80)):
        self.output = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            termios.tcsetwinsize(0, size)
            os.execve(program, [program, *args], {**place.env, **(env or {})})

    def read_some(self, timeout):
        """False: nothing came, or nobody has the terminal any more."""
        readable, _, _ = select.select([self.fd], [], [], timeout)
        try:
            data = os.read(self.fd, 65536) if readable else b""
        except OSError:
            return False
        self.output += data
        return bool(data)

    def read_until(self, part):
        end = time.monotonic() + LIMIT
        while part not in self.output and time.monotonic() < end:
            ended = self.has_ended()
            if not self.read_some(1) and ended:
                break
        contains(self.output, part, "terminal")

    def has_ended(self):
        """Its status is left for wait()."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def write(self, data):
        os.write(self.fd, data)

    def wait(self):
        """The exit status as a shell shows it."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            self.read_some(0.05)
            if not self.has_ended():
                continue
            # The last that it has written, until the other end is closed; a second for what somebody else keeps open.
            while self.read_some(1):
                pass
            os.close(self.fd)
            code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            return 128 - code if code < 0 else code
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise Failed(f"it did not end: {self.output!r}")


def run_alone(function):
    """Runs a function of the test program in a mount namespace of its own, where it may mount what it likes."""
    alone = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-r", "-m"]
    if shutil.which("unshare") is None or subprocess.run([*alone, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True).returncode != 0:
        raise Skipped("a disk of its own needs root, or a mount namespace")
    program = os.path.abspath(sys.modules["__main__"].__file__)
    result = subprocess.run([*alone, sys.executable, program, "--alone", function.__name__], stdout=subprocess.PIPE, text=True)
    check(result.returncode == 0, result.stdout)


def run_tests(tests):
    """tests: functions, each with a docstring that says what must hold."""
    wanted = sys.argv[1:]
    if wanted[:1] == ["--alone"]:
        wanted = wanted[1:]
        tests = [getattr(sys.modules["__main__"], name) for name in wanted]
    failed = 0
    signal.signal(signal.SIGALRM, on_alarm)
    tests = [test for test in tests if not wanted or test.__name__ in wanted]
    print(f"1..{len(tests)}", flush=True)
    for number, test in enumerate(tests, 1):
        name = f"{test.__name__}: {test.__doc__}"
        signal.alarm(TEST_LIMIT)
        try:
            test()
            print(f"ok {number} - {name}", flush=True)
        except Skipped as reason:
            print(f"ok {number} - {test.__name__} # SKIP {reason}", flush=True)
        except Exception as error:  # every failure is a line of TAP
            failed += 1
            print(f"not ok {number} - {name}")
            trace = "" if isinstance(error, Failed) else traceback.format_exc()
            for line in f"{error}\n{trace}".rstrip().split("\n"):
                print(f"# {line}")
            sys.stdout.flush()
        finally:
            signal.alarm(0)
    return 1 if failed else 0


def functions(namespace):
    """The tests of a file: its functions that are called test_*, in their order."""
    return [value for name, value in namespace.items() if name.startswith("test_") and callable(value)]


def help_rows(text):
    """The options of a help text: [(spellings, whether a value follows)]"""
    rows = []
    for row in re.findall(r"^ {2,6}(-[^ ].*?)(?:  |$)", text, re.MULTILINE):
        words = [word.rstrip(",").partition("[=")[0] for word in row.split()]
        rows.append(([word for word in words if word.startswith("-")], not words[-1].startswith("-")))
    return rows


def help_options(*verb):
    """The spellings of options in a help text: (own ones, common ones)"""
    text = subprocess.run([CLI, *verb, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    parts = text.partition("Options of every verb:")
    return tuple({word for words, _ in help_rows(part) for word in words} for part in (parts[0], parts[2]))


def verbs():
    text = subprocess.run([CLI, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    part = text.partition("Verbs:\n")[2].partition("\n\n")[0]
    return [line.split()[0] for line in part.split("\n")]
