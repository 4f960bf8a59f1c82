#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""dvm-monitor of another user of the machine: the DVM of the system bus is seen, and refuses what that user may not do."""

import os
import shutil
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import dbusdaemon
import desktop
from desktop import Desktop, Monitor
from dvmtest import CLI, Dvm, check, contains, equal, functions, place, run_tests

STRANGER = 65534
POLICY = os.path.join(os.environ["DVM_SOURCE_DIR"], "data", "system", "org.dvm.Manager.conf")


def look_as_stranger(sentence):
    """In a process of that user, with a desktop of its own: the sentence is shown when the job of another user is cancelled."""
    it = Desktop()
    try:
        window = Monitor(it)
        try:
            window.shows("running")
            window.press("alt+1", "Down", "ctrl+Delete")
            window.shows("Cancel Job 1?")
            window.press("alt+c")
            window.shows(sentence)
        finally:
            window.close()
    finally:
        it.close()


def test_refused():
    """another user sees the job in the window, and what is refused there is refused in the words of the DVM"""
    with place() as here:
        os.chmod(here.path, 0o711)
        bus = dbusdaemon.MessageBus(here.path, "system", policy_file=POLICY)
        try:
            os.chmod(os.path.join(here.path, "system"), 0o777)
            env = {"DBUS_SYSTEM_BUS_ADDRESS": bus.address}
            vm = Dvm("--bus=system", "--slots=2", env=env)
            try:
                equal(vm.cli("submit", "--personality", "plain", "-n", "1", "sleep", "600").returncode, 0)
                stranger = {"user": STRANGER, "group": STRANGER, "extra_groups": []}
                folder = tempfile.mkdtemp(prefix="dvmstranger-")
                os.chown(folder, STRANGER, STRANGER)
                try:
                    given = {**os.environ, **env, "HOME": folder, "TMPDIR": folder, "XDG_RUNTIME_DIR": folder}
                    refused = subprocess.run([CLI, "--bus=system", "kill", "1"], env=given, cwd="/", capture_output=True, text=True, check=False, **stranger)
                    equal(refused.returncode, 1, refused.stderr)
                    sentence = refused.stderr.strip().removeprefix("dvm-cli: ")
                    contains(sentence, "needs the user that this DVM belongs to")
                    done = subprocess.run([sys.executable, os.path.abspath(__file__), "--as-stranger", sentence], env=given, cwd="/",
                                          capture_output=True, text=True, check=False, **stranger)
                    check(done.returncode == 0, done.stdout + done.stderr)
                finally:
                    shutil.rmtree(folder)
                equal([job["state"] for job in vm.json("jobs")], ["RUNNING"])
            finally:
                vm.close()
        finally:
            bus.stop()


def main():
    if sys.argv[1:2] == ["--as-stranger"]:
        look_as_stranger(sys.argv[2])
        return 0
    reason = desktop.missing() or ("" if os.geteuid() == 0 else "only root can be another user")
    if reason:
        print(f"1..0 # SKIP {reason}")
        return 0
    return run_tests(functions(globals()))


if __name__ == "__main__":
    sys.exit(main())
