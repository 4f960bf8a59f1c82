# SPDX-License-Identifier: LGPL-2.1-or-later
"""The two sides: a DVM of ours, and the launcher of the MPI library on as many hosts of their own names."""
import os, signal, subprocess, sys, tempfile

import dvms

# Ranks that wait give way to others, by both launchers: there are more of them than cpus.
OPEN_MPI_ENV = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
GRACE = 30  # seconds for a launcher to end a test that has no time left
# Of a namespace of processes that is killed nothing lives on, wherever it has put itself.
CAGE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", '"$0" "$@"; exit $?']


def run(argv, test, env):
    """(status, None if it had to be killed; standard output; standard error)"""
    with subprocess.Popen(argv, cwd=test.cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          start_new_session=True) as child:
        try:
            out, err = child.communicate(timeout=test.limit + GRACE)
            status = child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
            status = None
    return status, out.decode(errors="replace"), err.decode(errors="replace")


class Here:
    name = "here"

    def __init__(self, options):
        self.build = options.build
        self.size = (options.nodes, options.slots)
        self.start()

    def start(self):
        self.dvm = dvms.Ours(self.build)
        self.dvm.start(*self.size)

    def run(self, test):
        argv = [self.dvm.cli, "run", "--quiet", "--timeout", str(test.limit), "--map-by", "node", "-n", str(test.np), *test.argv]
        status, out, err = run(argv, test, dict(self.dvm.env, **test.env))
        if status is None:
            print(f"{test.name}: dvm-cli run has not ended it within {test.limit + GRACE} s; the DVM is started again", file=sys.stderr)
            self.close()
            self.start()
        return status, out, err

    def close(self):
        self.dvm.close()


class There:
    name = "there"

    def __init__(self, launcher, options):
        self.options = options
        self.folder = tempfile.mkdtemp(prefix="hosts-", dir="/dev/shm")
        self.fake_ssh = dvms.write_fake_ssh(self.folder)
        self.command = {"mpirun.openmpi": self.mpirun, "mpiexec.hydra": self.hydra}[launcher]

    def hosts(self, slots=""):
        return ",".join(f"n{i:03d}{slots}" for i in range(1, self.options.nodes + 1))

    def mpirun(self, test):
        words = [word for name in test.env for word in ("-x", name)]
        return ["mpirun.openmpi", "--mca", "plm_rsh_agent", self.fake_ssh, "--host", self.hosts(f":{self.options.slots}"),
                "--map-by", "node", "--timeout", str(test.limit), *words, "-n", str(test.np)]

    def hydra(self, test):
        return ["mpiexec.hydra", "-launcher", "ssh", "-launcher-exec", self.fake_ssh, "-hosts", self.hosts(), "-ppn", "1",
                "-n", str(test.np)]

    def run(self, test):
        env = dict(os.environ, **test.env, MPIEXEC_TIMEOUT=str(test.limit), TMPDIR=self.folder)
        return run(CAGE + self.command(test) + test.argv, test, env)
