#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Command lines of other launchers, typed as they are: what becomes of each stands in docs/from-mpirun.md.

DVM_TEST_WRITE=1 writes the tables there anew.
"""

import os
import re
import shlex
import signal
import subprocess
import sys

from dvmtest import CLI, LIMIT, check, contains, dvm, equal, functions, place, run_tests, wait_until

SOURCE = os.environ["DVM_SOURCE_DIR"]
TABLE = os.path.join(SOURCE, "docs", "from-mpirun.md")
BEGIN, END = "<!-- the table: tests/cli/test-words.py -->\n", "<!-- its end -->\n"
HELP_BEGIN, HELP_END = "<!-- dvm-cli help mpirun: tests/cli/test-words.py -->\n", "<!-- the end of the help -->\n"

# (the line, its status, its output); FILES are those of make_files().
LINES = [
    # mpirun of Open MPI 4
    ("mpirun -np 2 echo x", 0, "x\nx\n"),
    ("mpirun -n 1 -x A=1 -x B=2 sh -c 'echo $A $B'", 0, "1 2\n"),
    ("mpirun -np 1 --mca btl self,vader sh -c 'echo $OMPI_MCA_btl'", 0, "self,vader\n"),
    ("mpirun -mca pml ob1 -mca btl ^tcp -n 1 sh -c 'echo $OMPI_MCA_pml $OMPI_MCA_btl'", 0, "ob1 ^tcp\n"),
    ("mpirun --gmca osc rdma -n 1 sh -c 'echo $OMPI_MCA_osc' : -n 1 sh -c 'echo $OMPI_MCA_osc'", 0, "rdma\nrdma\n"),
    ("mpirun --mca plm_rsh_agent ssh -n 1 true", 0, ""),
    ("mpirun --mca btl tcp --mca btl self -n 1 true", 2, ""),
    ("mpirun --mca rmaps_base_mapping_policy node -n 1 true", 0, ""),
    ("mpirun --mca orte_default_hostfile hosts -n 1 true", 0, ""),
    ("mpirun --allow-run-as-root -np 1 true", 0, ""),
    ("mpirun --tag-output -n 1 echo x", 0, r"\[\d+,0\]<stdout>: x\n"),
    ("mpirun --timestamp-output -n 1 echo x", 0, r"\d{4}-.*<stdout>: x\n"),
    ("mpirun --output-filename out -n 1 echo x", 0, ""),
    ("mpirun --xml -n 1 echo 'a < b'", 0, '<stdout rank="0">a &lt; b&#10;</stdout>\n'),
    ("mpirun --merge-stderr-to-stdout -n 1 sh -c 'echo x >&2'", 0, "x\n"),
    ("mpirun --oversubscribe -np 20 true", 0, ""),
    ("mpirun --nooversubscribe -np 20 true", 125, ""),
    ("mpirun --bind-to-core --map-by-node -n 1 true", 2, ""),
    ("mpirun --bynode -n 1 true", 0, ""),
    ("mpirun --npernode 2 echo x", 0, "x\nx\n"),
    ("mpirun --map-by ppr:2:node --bind-to none echo x", 0, "x\nx\n"),
    ("mpirun --report-bindings -n 1 true", 0, r"(?s)RANK.*"),
    ("mpirun --display-map -n 1 true", 0, r"(?s)RANK.*"),
    ("mpirun --host localhost:2 -n 1 true", 0, ""),
    ("mpirun --hostfile hosts -n 1 true", 0, ""),
    ("mpirun -machinefile hosts -np 1 true", 0, ""),
    ("mpirun --wdir /tmp -n 1 pwd", 0, "/tmp\n"),
    ("mpirun -wd / -n 1 pwd", 0, "/\n"),
    ("mpirun --path /nowhere:/else -n 1 sh -c 'echo ${PATH%%:*}'", 0, "/nowhere\n"),
    ("mpirun --prefix /opt/mpi -n 1 sh -c 'echo ${PATH%%:*} ${LD_LIBRARY_PATH%%:*}'", 0, "/opt/mpi/bin /opt/mpi/lib\n"),
    ("mpirun --app programs", 0, "one\ntwo\ntwo\n"),
    ("mpirun -n 1 --app programs", 2, ""),
    ("mpirun --tune parameters -n 1 sh -c 'echo $T $OMPI_MCA_pml $OMPI_MCA_osc'", 0, "t ob1 rdma\n"),
    ("mpirun --timeout 60 -n 1 true", 0, ""),
    ("mpirun --timeout 1 -n 1 sleep 100", 125, ""),
    ("mpirun --report-pid - -n 1 true", 0, r"\d+\n"),
    ("mpirun --report-uri - -n 1 true", 0, r"unix:path=/.*/dvm/default/bus\n"),
    ("mpirun --enable-recovery -n 1 true", 0, ""),
    ("mpirun --with-ft ulfm -n 1 sh -c 'echo $OMPI_MCA_mpi_ft_enable'", 0, "1\n"),
    ("mpirun --with-ft mpi --mca mpi_ft_enable 0 -n 1 sh -c 'echo $OMPI_MCA_mpi_ft_enable'", 0, "0\n"),
    ("mpirun --with-ft no -n 1 sh -c 'echo ${OMPI_MCA_mpi_ft_enable-none}'", 0, "none\n"),
    ("mpirun --with-ft ulfm -n 1 false : -n 1 sh -c 'sleep 1; echo x'", 1, "x\n"),
    ("mpirun --with-ft pmix -n 1 true", 2, ""),
    ("mpirun --stdin none -n 1 cat", 0, ""),
    ("mpirun --stdin 0,1 -n 2 cat", 0, ""),
    ("mpirun --xterm 0 -n 1 true", 2, ""),
    ("mpirun --default-hostfile hosts -n 1 true", 0, ""),
    ("mpirun --max-vm-size 1 -n 1 true", 2, ""),
    ("mpirun -q -n 1 true", 0, ""),
    ("mpirun -n 1 sh -c 'exit 3'", 3, ""),
    # mpirun and prun of Open MPI 5 and PRRTE
    ("mpirun -n 2 --map-by core:PE=1 --bind-to core true", 0, ""),
    ("mpirun --output tag -n 1 echo x", 0, r"\[\d+,0\]<stdout>: x\n"),
    ("mpirun --output dir=outputs -n 1 echo x", 0, ""),
    ("mpirun --display bindings -n 1 true", 0, r"(?s)RANK.*"),
    ("mpirun --runtime-options donotlaunch -n 2 true", 0, r"(?s)RANK.*"),
    ("mpirun --timeout 0:0:1:00 -n 1 true", 0, ""),
    ("mpirun --forward-signals none -n 1 true", 0, ""),
    ("mpirun --forward-signals USR1,SIGALRM -n 1 true", 0, ""),
    ("mpirun --pmixmca ptl tcp -n 1 sh -c 'echo $PMIX_MCA_ptl'", 0, "tcp\n"),
    ("mpirun --prtemca plm ssh -n 1 true", 0, ""),
    ("mpirun --prtemca rmaps_default_mapping_policy node -n 1 true", 0, ""),
    ("prterun --keepalive 77 -n 1 true", 2, ""),
    ("prterun --app-pmix-prefix /opt/pmix -n 1 sh -c 'echo $PMIX_PREFIX ${LD_LIBRARY_PATH%%:*}'", 0, "/opt/pmix /opt/pmix/lib\n"),
    ("prterun --memory-alloc-kinds system -n 1 true", 2, ""),
    ("prterun --gpu-support 1 -n 1 true", 2, ""),
    ("prterun --continuous -n 1 true", 0, ""),
    ("prterun --dvm search -n 1 echo x", 0, "x\n"),
    ("prun -n 1 --set-env A=b sh -c 'echo $A'", 0, "b\n"),
    ("prun -n 1 --unset-env 'WO*' sh -c 'echo \"<$WORD>\"'", 0, "<>\n"),
    ("prun -n 1 --prepend-env WORD a --append-env 'WORD[ ]' z sh -c 'echo $WORD'", 0, "a:word z\n"),
    ("prun --personality ompi -n 1 true", 0, ""),
    ("prun --dvm-uri file:uri -n 1 echo x", 0, "x\n"),
    ("prun --pid 1 -n 1 true", 125, ""),
    ("prun --namespace other -n 1 true", 125, ""),
    ("prun --system-server-first -n 1 echo x", 0, "x\n"),
    ("prun --num-connect-retries 3 --wait-to-connect 1 -n 1 echo x", 0, "x\n"),
    ("prun --activate +all -n 1 true", 0, ""),
    ("prun --rtos report-child-jobs-separately -n 1 true", 0, ""),
    ("prun --rtos timeout=1 -n 1 sleep 100", 125, ""),
    ("prun --rtos exec-agent='env A=b' -n 1 sh -c 'echo $A'", 0, "b\n"),
    ("mpirun --spawn-timeout 1:00 -n 1 true", 0, ""),
    ("mpirun --runtime-options show-progress=no,fwd-environment,default-exec-agent -n 1 true", 0, ""),
    ("mpirun --runtime-options aggregate-help-messages=no -n 1 true", 2, ""),
    # srun
    ("srun -n 2 echo x", 0, "x\nx\n"),
    ("srun --ntasks-per-node=2 echo x", 0, "x\nx\n"),
    ("srun --cpus-per-task=1 -n 1 true", 0, ""),
    ("srun -l -n 1 echo x", 0, r"\[\d+,0\]<stdout>: x\n"),
    ("srun --label -n 1 echo x", 0, r"\[\d+,0\]<stdout>: x\n"),
    ("srun echo x", 0, "x\n"),
    ("srun -N 1 -n 3 echo x", 0, "x\nx\nx\n"),
    ("srun -N 1 --ntasks-per-node=2 echo x", 0, "x\nx\n"),
    ("srun -N 1-2 echo x", 2, ""),
    ("srun -n 2 -c 1 echo x", 0, "x\nx\n"),
    ("srun -t 5 echo x", 0, "x\n"),
    ("srun -t 0:01 sleep 100", 125, ""),
    ("srun --time=1-0:30 -J name -p batch -A project -q normal echo x", 0, "x\n"),
    ("srun -w localhost -n 1 echo x", 0, "x\n"),
    ("srun -D / pwd", 0, "/\n"),
    ("srun -o together -n 1 sh -c 'echo x; echo y >&2'", 0, "x\ny\n"),
    ("srun -o out.%t -n 1 echo x", 2, ""),
    ("srun -i none -n 1 cat", 0, ""),
    ("srun --mpi=none -u -K -W 0 --exclusive echo x", 0, "x\n"),
    ("srun --mpi=openmpi true", 2, ""),
    ("srun -m cyclic -n 2 echo x", 0, "x\nx\n"),
    ("srun -m plane=2 -n 2 echo x", 2, ""),
    ("srun --overlap -n 20 true", 0, ""),
    ("srun --cpu-bind=none -n 1 echo x", 0, "x\n"),
    ("srun --ntasks-per-socket=1 true", 0, ""),
    ("srun --hint=nomultithread -n 1 true", 0, ""),
    ("srun -I -n 20 true", 125, ""),
    ("srun -d afterok:999 true", 125, ""),
    ("srun --gpus=1 true", 2, ""),
    ("srun --gres=gpu:1 true", 2, ""),
    ("srun --mem=1G true", 2, ""),
    ("srun -x node1 true", 2, ""),
    ("srun --multi-prog programs", 2, ""),
    ("srun --export=ALL,A=b sh -c 'echo $A $WORD'", 0, "b word\n"),
    ("srun --export=A=b,PATH sh -c 'echo $A $WORD'", 0, "b\n"),
    # srun's, typed to the others
    ("mpirun -n 4 -c 2 true", 2, ""),
    ("mpirun -t 5 -J name -n 1 echo x", 0, "x\n"),
    ("mpirun -stdin none -n 1 cat", 0, ""),
    ("mpirun --label -n 1 echo x", 2, ""),
    ("mpirun --disable-recovery --novm -n 1 true", 0, ""),
    ("mpirun --debug -n 1 true", 2, ""),
    ("srun --ntasks 2 echo x", 0, "x\nx\n"),
    ("srun --chdir /tmp -n 1 pwd", 0, "/tmp\n"),
    ("srun --export ALL true", 0, ""),
    ("srun --cpu-bind=cores -n 1 true", 0, ""),
]

# The lines of prte have a DVM of their own, which is ended.
STARTS = [
    ("prte", 0, "DVM ready\n"),
    ("prte --daemonize --allow-run-as-root --set-sid", 0, "DVM ready\n"),
    ("prte --report-uri - --no-ready-msg", 0, r"unix:path=/.*/bus\n"),
    ("prte --report-pid - --no-ready-msg", 0, r"\d+\n"),
    ("prte --default-hostfile hosts --show-progress", 0, "DVM ready\n"),
    ("prte --prtemca prte_set_default_slots 3 --mca plm_rsh_agent 'ssh -x'", 0, "DVM ready\n"),
    ("prte --prtemca rmaps_default_mapping_policy node --personality prte", 0, "DVM ready\n"),
    ("prte --prefix /opt/dvm --hetero-nodes", 0, "DVM ready\n"),
    ("prte --mca btl tcp", 2, ""),
    ("prte --pmixmca ptl tcp", 2, ""),
    ("prte --tune parameters", 2, ""),
    ("prte --keepalive 7", 2, ""),
    ("prte --forward-signals USR1", 2, ""),
    ("prte --rtos continuous", 2, ""),
    ("prte --report-pid /no/folder/pid", 1, ""),
    ("prte --launch-agent prted", 2, ""),
]


def make_files(folder):
    files = {
        "hosts": "localhost slots=2\n",
        "programs": "# two programs \\\n-n 1 echo one\n-np \\\n2 echo \\\ntwo\n",
        "parameters": "-x T=t --mca pml ob1\n\nosc = rdma\n",
        "uri": f"unix:path={folder}/dvm/default/bus\n",
    }
    for name, text in files.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)


def run_line(here, line):
    """By its first word, which is the name of the program."""
    words = shlex.split(line)
    program = [os.path.join(here.path, words[0])]
    if not os.path.islink(program[0]):
        os.symlink(CLI, program[0])
    # srun says it by --mpi, prte does not say it.
    if not re.search("--personality|--mpi|^prte ", line + " "):
        program += ["--personality", "plain"]
    env = {**here.env, "WORD": "word"}
    if words[0] == "prte":
        env["DVM_NAME"] = "other"
    env.pop("DISPLAY", None)
    return subprocess.run([*program, *words[1:]], cwd=here.path, env=env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=LIMIT)


def say(here, result):
    """What dvm-cli says of a line, without what differs from run to run."""
    lines = [re.sub("^(dvm-cli|[a-z]*run|prte): ", "", line).replace(here.path + "/", "").replace(" (DVM_NOTICE=no hides this line)", "")
             for line in result.stderr.splitlines() if "shows how it is used" not in line]
    return "; ".join(lines).replace("|", "\\|")


def test_lines():
    """each line does what the table says, and the table is that of today"""
    rows = ["| typed | status | said |\n", "|---|---|---|\n"]
    with dvm("--slots=8") as here:
        make_files(here.path)
        for line, status, output in LINES + STARTS:
            result = run_line(here, line)
            if shlex.split(line)[0] == "prte" and result.returncode == 0:
                equal(here.cli("--name", "other", "stop").returncode, 0, line)
            equal(result.returncode, status, f"{line}: {result}")
            # Ranks write in any order.
            check(sorted(result.stdout.splitlines()) == sorted(output.splitlines()) or re.fullmatch(output, result.stdout),
                  f"{line}: {result}")
            typed = line.replace("|", "\\|")
            rows.append(f"| `{typed}` | {status} | {say(here, result)} |\n")
        with open(os.path.join(here.path, "out.0.out")) as file:
            equal(file.read(), "x\n", "the file of --output-filename")
        with open(os.path.join(here.path, "together")) as file:
            equal(sorted(file), ["x\n", "y\n"], "the file of srun -o")
    with open(TABLE) as file:
        text = file.read()
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    wanted = head + BEGIN + "".join(rows) + END + tail
    if os.environ.get("DVM_TEST_WRITE") == "1":
        with open(TABLE, "w") as file:
            file.write(wanted)
    else:
        for there, row in zip(text.splitlines(), wanted.splitlines()):
            equal(there, row, "docs/from-mpirun.md; DVM_TEST_WRITE=1 writes it anew")
        equal(text.count("\n"), wanted.count("\n"), "rows of docs/from-mpirun.md")
    number = len(rows) - 2
    for name, words in (("README.md", f"[{number} command lines]"), ("docs/README.md", f" {number} command lines "), ("NEWS.md", f" {number} lines ")):
        with open(os.path.join(SOURCE, name)) as file:
            check(words in file.read(), f"{name} does not say “{words}”, as many as docs/from-mpirun.md has")


def test_help():
    """dvm-cli help mpirun is made of the tables by which lines are read, and stands in docs/from-mpirun.md"""
    with place() as here:
        helped = here.cli("help", "mpirun")
        equal((helped.returncode, helped.stderr), (0, ""))
        for topic in ("mpiexec", "prun", "prterun", "srun", "dvm-srun", "prte"):
            equal(here.cli("help", topic).stdout, helped.stdout, topic)
        equal(here.cli("help", "run").stdout, here.cli("run", "--help").stdout)
        equal(here.cli("help").stdout, here.cli("--help").stdout)
        refused = here.cli("help", "nobody")
        equal(refused.returncode, 2)
        contains(refused.stderr, "there is no help on 'nobody'")
    for row in ("--bynode                --map-by node", "rtos                        --runtime-options",
                "-l, --prepend-rank          --output tag", "dvm-cli start", "--activate "):
        contains(helped.stdout, row)
    with open(TABLE) as file:
        text = file.read()
    head, _, rest = text.partition(HELP_BEGIN)
    _, _, tail = rest.partition(HELP_END)
    wanted = f"{head}{HELP_BEGIN}```\n{helped.stdout}```\n{HELP_END}{tail}"
    if os.environ.get("DVM_TEST_WRITE") == "1":
        with open(TABLE, "w") as file:
            file.write(wanted)
    equal(text if os.environ.get("DVM_TEST_WRITE") != "1" else wanted, wanted, "docs/from-mpirun.md; DVM_TEST_WRITE=1 writes it anew")


def test_wrong():
    """what is wrong in a file, or beside it, is told with its place"""
    cases = [
        (["--app", "bad"], "-n 1 true\n-n x true\n", "bad:2: option -n takes a whole number"),
        (["--app", "bad"], "-n 1\n", "bad:1: a program is missing"),
        (["--app", "bad"], "echo 'x\n", "bad:1: "),
        (["--app", "bad"], "true\n-n 1 \\\n -n x true\n", "bad:2: option -n takes a whole number"),
        (["--app", "bad"], "echo \\", "bad:1: "),
        (["--app", "bad"], "# nothing\n\n", "bad: there is no program in this file"),
        (["--app", "bad", "true"], "true\n", "exclude each other"),
        (["--app", "bad"], "--timeout 5 true\n", "bad:1: unknown option '--timeout'"),
        (["--tune", "bad", "true"], "nonsense\n", "bad:1: 'nonsense' is neither an option nor NAME = VALUE"),
        (["--tune", "bad", "true"], "--mca a\n", "bad: option --mca needs a value"),
        (["--tune", "bad", "true"], "-x A=1 word\n", "bad: 'word' is no option"),
        (["--tune", "bad", "true"], "-n 1\n--mca\n", "needs a value"),
        (["-x", "OMPI_MCA_a=1", "--mca", "a", "2", "true"], "", "contradict each other"),
        (["--append-env", "A[xy]", "1", "true"], "", "where c is one character"),
        (["--append-env", "[:]", "1", "true"], "", "where c is one character"),
        (["--mca", "", "1", "true"], "", "takes a name and a value"),
        (["--timeout", "0", "true"], "", "a time of 1 seconds at least"),
        (["--forward-signals", "KILL", "true"], "", "is for dvm-cli itself"),
        (["--forward-signals", "NONE,USR1", "true"], "", "there is no signal 'NONE'"),
        (["--report-pid", "/no/folder/pid", "true"], "", "no job was started"),
        (["--prefix", "/opt", "--noprefix", "true"], "", "exclude each other"),
    ]
    with place() as here:
        for words, text, mention in cases:
            with open(os.path.join(here.path, "bad"), "w") as file:
                file.write(text)
            result = subprocess.run([CLI, "run", *words], cwd=here.path, env=here.env, stdin=subprocess.DEVNULL,
                                    capture_output=True, text=True, timeout=LIMIT)
            check(result.returncode in (2, 125), f"{words}: {result}")
            contains(result.stderr, mention)


def test_timeout_of_environment():
    """MPIEXEC_TIMEOUT is the limit of a job under the names of mpirun and prun, and --timeout goes before it"""
    cases = [
        ("mpirun", "1", ["sleep", "100"], 125, "time limit"),
        ("prun", "1", ["sleep", "100"], 125, "time limit"),
        ("mpiexec", "soon", ["true"], 2, "MPIEXEC_TIMEOUT=soon: option --timeout takes"),
        ("mpirun", "", ["true"], 2, "MPIEXEC_TIMEOUT=: option --timeout takes"),
        ("mpirun", "soon", ["--timeout", "60", "true"], 0, ""),
        ("srun", "soon", ["true"], 0, ""),
        (CLI, "soon", ["run", "-n", "1", "true"], 0, ""),
    ]
    with dvm("--slots=1") as here:
        for name, limit, words, status, mention in cases:
            program = os.path.join(here.path, name)
            if not os.path.exists(program):
                os.symlink(CLI, program)
            result = subprocess.run([program, *words], env={**here.env, "MPIEXEC_TIMEOUT": limit}, stdin=subprocess.DEVNULL,
                                    capture_output=True, text=True, timeout=LIMIT)
            equal(result.returncode, status, f"{name} {words}: {result}")
            contains(result.stderr, mention)


def test_notice():
    """the notice can be turned off"""
    with dvm("--slots=1") as here:
        here.env["DVM_NOTICE"] = "no"
        equal(here.cli("run", "--allow-run-as-root", "--merge-stderr-to-stdout", "-n", "1", "true").stderr, "")


def test_signals():
    """--forward-signals is what goes on to the job, which --report-pid leads to"""
    script = "trap 'echo alarm; exit 7' ALRM; echo ready; while :; do sleep 0.05; done"
    with dvm("--slots=1") as here:
        pid = os.path.join(here.path, "pid")
        with subprocess.Popen([CLI, "run", "--forward-signals", "SIGALRM,12", "--report-pid", pid, "-n", "1", "sh", "-c", script],
                              env=here.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as run:
            equal(run.stdout.readline(), "ready\n")
            with open(pid) as file:
                equal(int(file.read()), run.pid)
            os.kill(run.pid, signal.SIGALRM)
            equal(run.stdout.read(), "alarm\n")
            equal(run.wait(LIMIT), 7)
        # The default is no more: SIGUSR1 ends dvm-cli, and so its job.
        with subprocess.Popen([CLI, "run", "--forward-signals", "none", "-n", "1", "sh", "-c", script],
                              env=here.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as run:
            equal(run.stdout.readline(), "ready\n")
            os.kill(run.pid, signal.SIGUSR1)
            equal(run.wait(LIMIT), -signal.SIGUSR1)
        wait_until(lambda: not here.json("jobs"), "its job is gone")


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
