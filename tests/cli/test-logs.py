#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The log of a DVM, and how those who find it gone are told what has become of it."""

import fcntl
import json
import os
import signal
import socket
import stat
import subprocess
import sys

from dvmtest import alive, check, contains, equal, functions, place, run_tests, wait_until


def start(here, *args, **options):
    result = here.cli("start", "--bus", "none", "--json", *args, **options)
    equal(result.returncode, 0, result.stderr)
    return json.loads(result.stdout.splitlines()[-1])["pid"]


def log_of(here, name="default"):
    return os.path.join(here.state, "dvm", name, "log")


def keeper_of(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(next(line.split()[1] for line in status if line.startswith("PPid:")))


def end(here, pid, *name):
    keeper = keeper_of(pid)
    equal(here.cli("stop", *name).returncode, 0)
    wait_until(lambda: not alive(keeper), "the keeper has gone with its dvmd")


def test_log():
    """a start without --log has a log of its own, which stays"""
    with place() as here:
        equal(here.cli("logs").returncode, 1, "there is none yet")
        pid = start(here, "--slots", "2")
        equal(here.cli("run", "-n", "1", "--personality", "plain", "sh", "-c", "exit 7").returncode, 7)
        end(here, pid)
        equal(stat.S_IMODE(os.stat(log_of(here)).st_mode), 0o600)
        equal(stat.S_IMODE(os.stat(os.path.dirname(log_of(here))).st_mode), 0o700)
        rows = json.loads(here.cli("logs", "--json").stdout)
        equal([row["pid"] for row in rows], [pid] * len(rows))
        check(all(row["program"] == "dvmd" and row["level"] == "message" for row in rows), rows)
        texts = [row["message"] for row in rows]
        check(any(text.startswith("The DVM is ready") for text in texts), texts)
        check(any("has failed, of " in text and f"uid {os.getuid()}" in text and "status 7" in text for text in texts), texts)
        check(texts[-1].startswith("The DVM has ended"), texts)
        equal(here.cli("logs", "-n", "1").stdout.count("\n"), 1)
        result = here.cli("status")
        equal(result.returncode, 1)
        check("was ended by" not in result.stderr, "it ended well")


def agents():
    """Of our own user, by the name of their node."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                words = file.read().split("\0")
            if words[0].endswith("/dvm-agent") and os.stat(f"/proc/{pid}").st_uid == os.getuid():
                found[(words[words.index("--node") + 1], next(w for w in words if w.startswith("--runtime-dir=")))] = int(pid)
        except (OSError, ValueError, StopIteration):
            pass
    return found


def test_operator():
    """campaigns and nodes that are lost are told without asking for more"""
    with place() as here:
        pid = start(here, "--nodes", "2", "--elastic")
        result = here.cli("grow", "--count", "1", "--wait")
        equal(result.returncode, 0, result.stderr)
        os.kill(agents()["node2", f"--runtime-dir={here.path}/dvm/default"], signal.SIGKILL)
        wait_until(lambda: "node node2: its agent, rank 2, was lost" in here.cli("logs").stdout, "the loss")
        text = here.cli("logs").stdout
        contains(text, "campaign 1 (grow of node3) has begun")
        contains(text, "campaign 1 (grow of node3) has completed")
        end(here, pid)


def test_fallback():
    """without XDG_STATE_HOME it is below the home, and without a place for it the DVM comes up all the same"""
    with place() as here:
        home = here.path + "/home"
        os.mkdir(home)
        del here.env["XDG_STATE_HOME"]
        here.env["HOME"] = home
        end(here, start(here))
        check(os.path.exists(home + "/.local/state/dvm/default/log"), "the log")
        here.env["HOME"] = "/proc"
        result = here.cli("start", "--bus", "none")
        equal((result.returncode, result.stdout), (0, "DVM ready\n"))
        contains(result.stderr, "are dropped: cannot write the log /proc/")
        equal(here.cli("stop").returncode, 0)


def test_given():
    """a log that is given is written to, and found; another DVM has its own"""
    with place() as here:
        mine = here.path + "/mine"
        pid = start(here, "--log", mine)
        contains(here.cli("logs").stdout, "The DVM is ready")
        other = start(here, "--name", "other")
        contains(here.cli("logs", "--name", "other").stdout, f"dvmd[{other}]")
        check(f"dvmd[{other}]" not in here.cli("logs").stdout, "the logs are apart")
        end(here, other, "--name", "other")
        end(here, pid)
        size = os.stat(mine).st_size
        end(here, start(here))
        equal(os.stat(mine).st_size, size, "it is not written to by the next one")
        check(not os.path.islink(log_of(here)), "which has a file again")


def reload_until_rotated(here, path):
    for _ in range(2000):
        equal(here.cli("reload").returncode, 0)
        if os.path.exists(path):
            return
    check(False, f"{path} never came")


def test_rotation():
    """a log that gets large is renamed, so many are kept, and followers go along"""
    with place() as here:
        pid = start(here, "--set", "log-size=4096", "--set", "log-files=2")
        path = log_of(here)
        follower = here.popen("logs", "--follow", "--json")
        try:
            reload_until_rotated(here, path + ".2")
            os.remove(path + ".1")
            reload_until_rotated(here, path + ".1")
            check(not os.path.exists(path + ".3"), "one too many")
            check(os.stat(path).st_size <= 4096 + 1024, "the size")
            for name in (path, path + ".1", path + ".2"):
                equal(stat.S_IMODE(os.stat(name).st_mode), 0o600)
            equal(os.readlink(f"/proc/{pid}/fd/2"), path)
            check(len(here.cli("logs", "-n", "70").stdout.splitlines()) > 40, "older logs help out")
            end(here, pid)
            for line in follower.stdout:
                if json.loads(line)["message"].startswith("The DVM has ended"):
                    break
        finally:
            follower.kill()
            follower.communicate()


def test_follower_ends():
    """one whose reader has gone ends, without a line that comes"""
    with place() as here:
        pid = start(here)
        follower = here.popen("logs", "--follow")
        contains(follower.stdout.readline(), b"The DVM is ready")
        follower.stdout.close()
        equal(follower.wait(60), 0)
        follower.stderr.close()
        end(here, pid)


def is_link_to(path, target):
    try:
        return os.readlink(path) == target
    except OSError:
        return False


def say(here, *args):
    result = here.cli(*args)
    return result.returncode, result.stderr


def check_end(here, pid, name):
    for args in (["status"], ["jobs"], ["stop"], ["submit", "true"], ["run", "--name", "default", "true"]):
        status, text = say(here, *args)
        check(status != 0, args)
        contains(text, f"(pid {pid}) was ended by {name}", args)
        contains(text, log_of(here), args)


def test_signals():
    """a dvmd that was killed is told as such, by each verb, until the next one is there"""
    with place() as here:
        # The address sanitizer would make an exit status of it.
        here.env["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":handle_segv=0"
        for signum, name in ((signal.SIGKILL, "signal SIGKILL"), (signal.SIGSEGV, "signal SIGSEGV")):
            pid = start(here)
            os.kill(pid, signum)
            check_end(here, pid, name)
            result = here.cli("run", "-n", "1", "--personality", "plain", "echo", "x")
            equal((result.returncode, result.stdout), (0, "x\n"), "a private one")
            contains(result.stderr, f"was ended by {name}")
            equal(here.cli("--quiet", "run", "-n", "1", "--personality", "plain", "true").stderr, "")
        end(here, start(here))
        check("was ended by" not in say(here, "status")[1], "the next one ended well")


# The main thread has ended, and the process has not: as one looks that is on its way out.
HALF_GONE = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(150,), daemon=True).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def is_zombie(pid):
    with open(f"/proc/{pid}/stat") as stat_file:
        return stat_file.read().rpartition(")")[2].split()[0] == "Z"


def test_watcher_is_slow():
    """a dvmd that has closed its socket and is not gone yet is waited for"""
    with place() as here:
        folder = os.path.dirname(log_of(here))
        os.makedirs(folder, mode=0o700)
        half = subprocess.Popen([sys.executable, "-c", HALF_GONE], stdin=subprocess.DEVNULL)
        try:
            wait_until(lambda: is_zombie(half.pid), "the end of the main thread")
            with open(folder + "/watch", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                lock.write(f"{half.pid} {socket.gethostname()}\n")
                lock.flush()
                status = here.popen("status", text=True)
                fds = f"/proc/{status.pid}/fd"
                wait_until(lambda: status.poll() is not None or any(is_link_to(f"{fds}/{fd}", lock.name) for fd in os.listdir(fds)),
                           "a look at the watcher")
                with open(folder + "/end.new", "w") as file:
                    file.write("[dvmd]\npid=4711\nstatus=11\ntime=1700000000\n")
                os.rename(folder + "/end.new", folder + "/end")
            contains(status.communicate(timeout=60)[1], "(pid 4711) was ended by signal SIGSEGV")
        finally:
            half.kill()
            half.wait()


def test_elsewhere():
    """a DVM of that name in another runtime directory, or on another machine with this home, keeps nobody waiting"""
    with place() as here:
        folder = os.path.dirname(log_of(here))
        os.makedirs(folder, mode=0o700)
        for host in (socket.gethostname(), "another.machine"):
            with open(folder + "/watch", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                lock.write(f"{os.getpid()} {host}\n")
                lock.flush()
                status = here.popen("status", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                used = os.wait4(status.pid, 0)[2]
                status.returncode = 1
            # Each look at the watcher is a sleep.
            check(used.ru_nvcsw < 100, f"{used.ru_nvcsw} times was waited for {host}")


def test_while_running():
    """a run whose DVM dies says by which signal"""
    with place() as here:
        pid = start(here)
        run = here.popen("run", "-n", "1", "--personality", "plain", "sh", "-c", "echo x; sleep 1000", text=True)
        equal(run.stdout.readline(), "x\n")
        os.kill(pid, signal.SIGKILL)
        text = run.communicate(timeout=60)[1]
        equal(run.returncode, 125, text)
        contains(text, f"(pid {pid}) was ended by signal SIGKILL")


def test_private():
    """so does one whose private dvmd dies"""
    with place() as here:
        run = here.popen("run", "-n", "1", "--personality", "plain", "sh", "-c", "echo $PPID; exec sleep 1000", text=True)
        os.kill(int(run.stdout.readline()), signal.SIGKILL)
        text = run.communicate(timeout=60)[1]
        equal(run.returncode, 125, text)
        contains(text, "the private dvmd was ended by signal SIGKILL")


def test_ends_beside_another():
    """the keeper of a DVM does not stay behind for that of another one of its name, which has its runtime directory elsewhere"""
    with place() as here:
        folder = os.path.dirname(log_of(here))
        os.makedirs(folder, mode=0o700)
        with open(folder + "/watch", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            end(here, start(here))


def test_second_start():
    """a start that fails because one runs takes nothing from that one"""
    with place() as here:
        pid = start(here)
        equal(here.cli("start", "--bus", "none").returncode, 1)
        os.kill(pid, signal.SIGKILL)
        check_end(here, pid, "signal SIGKILL")


def test_before_ready():
    """one that is killed before it is ready"""
    with place() as here:
        script = here.path + "/dies"
        with open(script, "w") as file:
            file.write("#!/bin/sh\nkill -SEGV $$\n")
        os.chmod(script, 0o755)
        result = here.cli("start", "--bus", "none", env={"DVM_DVMD": script})
        equal(result.returncode, 1)
        contains(result.stderr, "was ended by signal SIGSEGV before it was ready")


def test_stranger():
    """a state directory that others may write to is not used"""
    with place() as here:
        os.makedirs(here.state + "/dvm/default")
        os.chmod(here.state + "/dvm/default", 0o777)
        result = here.cli("start", "--bus", "none")
        equal(result.returncode, 0)
        contains(result.stderr, "others may write there")
        equal(os.listdir(here.state + "/dvm/default"), [])
        equal(here.cli("stop").returncode, 0)


sys.exit(run_tests(functions(globals())))
