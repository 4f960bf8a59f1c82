# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whole DVMs for the benches of many nodes: ours and PRRTE's, in a network in which both run."""
import os, shutil, signal, statistics, subprocess, sys, tempfile, time

from sides import LIMIT, Side

INSIDE = "DVM_BENCH_INSIDE"
FAKE_SSH = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1; shift
export TMPDIR=%s/$host
mkdir -p "$TMPDIR"
exec unshare --uts sh -c 'hostname "$0"; exec sh -c "$1"' "$host" "$*"
"""


def enter_network():
    """This program again, where there is a network that is not loopback."""
    if os.environ.get(INSIDE):
        for command in ("ip link set lo up", "ip link add here type veth peer name there", "ip addr add 10.99.0.1/24 dev here",
                        "ip link set here up", "ip link set there up"):
            subprocess.run(command.split(), check=True)
        return
    if os.geteuid() != 0:
        sys.exit(f"{sys.argv[0]}: root alone can make the network that the peers want")
    os.execvpe("unshare", ["unshare", "--net", "--uts", sys.executable, os.path.abspath(sys.argv[0]), *sys.argv[1:]],
               dict(os.environ, **{INSIDE: "1"}))


def processes(words):
    """pid -> command line of those whose command line has one of the words."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                line = file.read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if any(word in line for word in words):
            found[int(pid)] = line
    return found


def wait_gone(words):
    end = time.monotonic() + LIMIT
    while processes(words):
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.0005)


class Timed:
    """A side whose run is a function that returns ms."""

    text = Side.text

    def __init__(self, name, function, unit="ms"):
        self.name, self.function, self.unit = name, function, unit
        self.times, self.failed, self.hung = [], 0, 0

    def run(self):
        try:
            self.times.append(self.function())
        except (TimeoutError, subprocess.TimeoutExpired):
            self.hung += 1
        except Exception as error:
            self.failed += 1
            self.error = str(error)[-200:]


class Ours:
    def __init__(self, build, name="dvm"):
        self.name = name
        self.dir = tempfile.mkdtemp(prefix="dvm-bench-", dir="/dev/shm")
        os.chmod(self.dir, 0o700)
        self.cli = os.path.join(build, "cli", "dvm-cli")
        self.daemons = [os.path.join(build, "daemon", name) for name in ("dvmd", "dvm-agent", "dvm-guard")]
        self.env = dict(os.environ, XDG_RUNTIME_DIR=self.dir, DVM_DVMD=self.daemons[0],
                        DVM_LIBEXEC_DIR=os.path.join(build, "daemon"))

    def call(self, *args, **kwargs):
        return subprocess.run([self.cli, *args], env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True,
                              timeout=LIMIT, **kwargs).stdout.decode()

    def start(self, nodes, slots=16, *more):
        self.call("start", "--bus", "none", "--nodes", str(nodes), "--slots", str(slots), *more)

    def stop(self):
        self.call("stop")
        wait_gone([self.dir])

    def run(self, *args):
        return self.call("run", *args)

    def agents(self):
        return [pid for pid, line in processes([self.dir]).items() if line.startswith(self.daemons[1])]

    def pmix_servers(self):
        program = os.path.join(os.path.dirname(self.daemons[1]), "dvm-pmix")
        return [pid for pid, line in processes([program]).items() if line.startswith(program)]

    def close(self):
        subprocess.run([self.cli, "stop", "--force"], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.dir, ignore_errors=True)


class Prrte:
    name = "prte"

    def __init__(self, prefix, fake_ssh, folder, *more):
        self.more = list(more)
        self.bin = os.path.join(prefix, "bin")
        self.fake_ssh = fake_ssh
        self.uri = os.path.join(folder, "prte-uri")
        self.env = dict(os.environ, PRTE_ALLOW_RUN_AS_ROOT="1", PRTE_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        self.process = None

    def start(self, nodes, slots=16):
        hosts = ",".join(f"n{i:03d}:{slots}" for i in range(1, nodes + 1))
        self.process = subprocess.Popen(
            [os.path.join(self.bin, "prte"), "--prtemca", "plm_ssh_agent", self.fake_ssh, "--host", hosts, "--report-uri",
             self.uri, *self.more], env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True)
        os.set_blocking(self.process.stdout.fileno(), False)
        said, end = b"", time.monotonic() + LIMIT
        while b"DVM ready" not in said:
            if time.monotonic() > end:
                self.kill()
                raise TimeoutError
            if self.process.poll() is not None:
                raise RuntimeError(said.decode(errors="replace"))
            said += self.process.stdout.read() or b""
            time.sleep(0.0005)

    def kill(self):
        for pid in processes([self.bin]):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def stop(self):
        subprocess.run([os.path.join(self.bin, "pterm"), "--dvm-uri", "file:" + self.uri], env=self.env,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT)
        self.process.wait(timeout=LIMIT)
        wait_gone([self.bin])

    def run(self, *args):
        return subprocess.run([os.path.join(self.bin, "prun"), "--dvm-uri", "file:" + self.uri, "--bind-to", "none", *args],
                              env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=True, timeout=LIMIT).stdout.decode()

    def agents(self):
        return [pid for pid, line in processes([self.bin]).items() if "/prted " in line and "sh -c" not in line]

    def pmix_servers(self):
        return []

    def close(self):
        self.kill()


def print_pairs(title, sides, unit="ms"):
    """The first is ours; the ratio is that of the medians, ours to theirs."""
    print(title)
    base = statistics.median(sides[0].times) if sides[0].times else None
    for side in sides:
        ratio = ""
        if side is not sides[0] and side.times and base:
            ratio = f"  ratio {base / statistics.median(side.times):.3f}"
        print(f"  {side.text().replace(' ms ', f' {unit} ')}{ratio}")
    sys.stdout.flush()


def write_fake_ssh(folder):
    path = os.path.join(folder, "fake-ssh")
    with open(path, "w") as file:
        file.write(FAKE_SSH % folder)
    os.chmod(path, 0o755)
    return path
