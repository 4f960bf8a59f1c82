# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where the suites come from, how they are built, which tests they have, and when a test has passed."""
import glob, os, re, shutil, subprocess
from dataclasses import dataclass, field
from typing import Callable

# Debian 12 has these; apt proves what it fetches by the signature of the release.
MPICH = "mpich=4.0.2-3"
MPI4PY = "mpi4py=3.1.4-2"
# Open MPI has these two by their newer names alone.
NEWER_NAMES = "-DOMPI_OMIT_MPI1_COMPAT_DECLS=1 -DMPI_Type_hvector=MPI_Type_create_hvector -DMPI_Type_hindexed=MPI_Type_create_hindexed"
RELEASE = "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main\n"
APT_CONFIG = """Dir::Etc::SourceList "{0}/sources.list";
Dir::Etc::SourceParts "-";
Dir::State::Lists "{0}/lists";
Dir::Cache "{0}";
APT::Sandbox::User "root";
"""


@dataclass
class Test:
    name: str
    np: int
    argv: list
    cwd: str
    limit: int
    judge: Callable  # (test, status, out, err) -> (number of cases, names of those that failed)
    env: dict = field(default_factory=dict)

    def short(self):
        """spawn1, where the name is "spawn/spawn1 1"."""
        return self.name.split(" ")[0].split("/")[-1]


def choose(tests, left_out, only, without):
    """Those of the names, and the others by the reason why they are left out; a name of none is refused."""
    names = {test.short() for test in tests + [test for others in left_out.values() for test in others]}
    wanted = set(only.split(",")) if only else names
    unwanted = set(without.split(",")) if without else set()
    unknown = (wanted | unwanted) - names
    if unknown:
        raise RuntimeError(f"no test has the name {', '.join(sorted(unknown))}")
    chosen = [test for test in tests if test.short() in wanted - unwanted]
    left = {why: [test for test in others if test.short() in wanted - unwanted] for why, others in left_out.items()}
    left["not wanted"] = [test for test in tests if test.short() in unwanted & wanted]
    if not chosen:
        raise RuntimeError("none of these tests can run: " + "; ".join(f"{test.name}: {why}" for why, others in left.items() for test in others[:9]))
    return chosen, {why: others for why, others in left.items() if others}


def call(argv, log, **kwargs):
    with open(log, "ab") as file:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, check=False, **kwargs)
    return done.returncode


def call_or_fail(argv, log, **kwargs):
    if call(argv, log, **kwargs) != 0:
        with open(log, errors="replace") as file:
            raise RuntimeError(f"{' '.join(argv)} has failed:\n{file.read()[-2000:]}")


def fetch(package, folder):
    """The sources of a version of a package of Debian, unpacked below folder; apt's lists of this machine are not touched."""
    name = package.split("=", maxsplit=1)[0]
    apt = os.path.join(folder, "apt")
    place = os.path.join(folder, name)
    if os.path.isdir(place):
        return place
    os.makedirs(os.path.join(apt, "lists", "partial"), exist_ok=True)
    for path, text in (("sources.list", RELEASE), ("apt.conf", APT_CONFIG.format(apt))):
        with open(os.path.join(apt, path), "w") as file:
            file.write(text)
    env = dict(os.environ, APT_CONFIG=os.path.join(apt, "apt.conf"))
    log = os.path.join(folder, f"fetch-{name}.log")
    call_or_fail(["apt-get", "update"], log, env=env)
    call_or_fail(["apt-get", "source", "--download-only", package], log, env=env, cwd=apt)
    unpacked = place + ".part"
    shutil.rmtree(unpacked, ignore_errors=True)
    call_or_fail(["dpkg-source", "-x", glob.glob(os.path.join(apt, f"{name}_*.dsc"))[0], unpacked], log)
    os.rename(unpacked, place)
    return place


class Mpich:
    """test/mpi of MPICH, by an MPI library."""

    def __init__(self, kind, launcher):
        self.kind, self.launcher = kind, launcher
        self.needs = (f"mpicc.{kind}", f"mpicxx.{kind}", "make", "dpkg-source")

    def place(self, folder):
        return os.path.join(folder, f"mpich-by-{self.kind}")

    def source(self, options, folder):
        return os.path.join(os.path.abspath(options.source) if options.source else os.path.join(folder, "mpich"), "test", "mpi")

    def build(self, options, folder):
        if not options.source:
            fetch(MPICH, folder)
        source, place = self.source(options, folder), self.place(folder)
        os.makedirs(place, exist_ok=True)
        if not os.path.exists(os.path.join(place, "config.status")):
            compilers = [f"{name}=mpi{word}.{self.kind}" for name, word in (("CC", "cc"), ("MPICC", "cc"), ("CXX", "cxx"), ("MPICXX", "cxx"))]
            if self.kind == "openmpi":
                compilers.append(f"CPPFLAGS={NEWER_NAMES}")
            call_or_fail([os.path.join(source, "configure"), "-q", "--disable-fortran", "--disable-cxx", *compilers],
                         os.path.join(place, "configure.log"), cwd=place)
        # A program that this MPI library cannot have, because it is of a later standard, is counted as not built.
        for part in ("util", "dtpools", *options.folders.split(",")):
            if not os.path.isdir(os.path.join(place, part)):
                raise RuntimeError(f"test/mpi of MPICH has no folder {part}")
            call(["make", "-k", f"-j{len(os.sched_getaffinity(0))}", "-C", part], os.path.join(place, f"make-{part}.log"), cwd=place)

    def describe(self, options, folder):
        with open(os.path.join(self.source(options, folder), "version.m4")) as file:
            version = re.search(r"MPICH_VERSION_m4\],\[(.*?)\]", file.read())
        done = subprocess.run([self.launcher, "--version"], capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
        return f"test/mpi of MPICH {version.group(1) if version else ''} ({options.folders}), {' '.join(done.stdout.split()[:6])}"

    def find_tests(self, options, folder):
        """The tests, and those that are left out, by the reason."""
        tests, left_out = [], {}
        for part in options.folders.split(","):
            for line in self.read_list(part, options, folder):
                test, why = self.parse(part, line, options, folder)
                if why:
                    left_out.setdefault(why, []).append(test)
                else:
                    tests.append(test)
        return tests, left_out

    def read_list(self, part, options, folder):
        paths = [os.path.join(top, part, "testlist") for top in (self.place(folder), self.source(options, folder))]
        with open(next(filter(os.path.exists, paths))) as file:
            return [line.split("#")[0].split() for line in file if line.split("#")[0].strip()]

    def parse(self, part, words, options, folder):
        """A line of a list: a program, the number of its ranks, and what it wants, such as arg=5."""
        wanted = [word.split("=", maxsplit=1) for word in words[2:] if "=" in word]
        settings = dict(wanted)
        np = int(words[1]) if len(words) > 1 else 2
        program = os.path.join(self.place(folder), part, words[0])
        argv = [program] + [value for key, value in wanted if key == "arg"]
        test = Test(f"{part}/{words[0]} {np}" + "".join(f" {word}" for word in argv[1:]), np, argv, os.path.dirname(program),
                    int(settings.get("timeLimit", options.limit)), JUDGES[settings.get("resultTest", "")],
                    dict(value.split("=", maxsplit=1) for key, value in wanted if key == "env"))
        return test, self.why_not(program, np, settings, options)

    def why_not(self, program, np, settings, options):
        if settings.get("xfail"):
            return "known to fail"
        if "mem" in settings:
            return "wants memory"
        if np > options.np_max:
            return "too many ranks"
        return None if os.access(program, os.X_OK) else "not built"


def judge_output(test, status, out, err):
    """A test says once that it has found no errors, and nothing else."""
    lines = [line.strip() for line in out.splitlines() if line.strip()]
    good = status == 0 and lines and all(re.fullmatch(r"No [Ee]rrors|Test Passed", line) for line in lines)
    return 1, set() if good else {test.name}


def judge_status(test, status, out, err):
    """A test that has to fail, by its status."""
    return 1, set() if status not in (None, 0) else {test.name}


JUDGES = {"": judge_output, "TestStatus": judge_status, "TestErrFatal": judge_status}


class Mpi4py:
    """Each file of tests is a job; the cases in it are counted."""

    launcher = "mpirun.openmpi"
    needs = ("dpkg-source", "dpkg-deb")

    def source(self, options, folder):
        return os.path.abspath(options.source) if options.source else os.path.join(folder, "mpi4py")

    def module(self, folder):
        return os.path.join(folder, "module", "usr", "lib", "python3", "dist-packages")

    def build(self, options, folder):
        if not options.source:
            fetch(MPI4PY, folder)
        if not os.path.isdir(self.module(folder)):
            log = os.path.join(folder, "module.log")
            call_or_fail(["apt-get", "download", "python3-mpi4py"], log, cwd=folder)
            call_or_fail(["dpkg-deb", "-x", glob.glob(os.path.join(folder, "python3-mpi4py_*.deb"))[0], os.path.join(folder, "module")], log)

    def describe(self, options, folder):
        done = subprocess.run(["/usr/bin/python3", "-c", "import mpi4py; print(mpi4py.__version__)"], capture_output=True, text=True,
                              check=True, env=dict(os.environ, PYTHONPATH=self.module(folder)))
        mpirun = subprocess.run([self.launcher, "--version"], capture_output=True, text=True, check=True)
        return f"mpi4py {done.stdout.strip()}, {' '.join(mpirun.stdout.split()[:4])}, {options.np} ranks"

    def find_tests(self, options, folder):
        source = self.source(options, folder)
        names = sorted(os.path.basename(path)[:-3] for path in glob.glob(os.path.join(source, "test", "test_*.py")))
        command = ["/usr/bin/python3", os.path.join(source, "test", "runtests.py"), "--no-builddir", "--path", self.module(folder)]
        return [Test(name, options.np, [*command, "-i", f"^{name}$"], source, options.limit, judge_cases)
                for name in names], {}


def judge_cases(test, status, out, err):
    """Each rank tells the number of cases and those that failed, in the middle of lines of other ranks."""
    ran = re.findall(r"Ran (\d+) tests? in", err)
    failed = {f"{test.name}: {name}" for name in re.findall(r"(?:ERROR|FAIL): (\w+ \([\w.]+\))", err)}
    if not failed and (status != 0 or len(ran) != test.np):
        failed = {test.name}
    return max(map(int, ran), default=1), failed


SUITES = {"mpich-openmpi": Mpich("openmpi", "mpirun.openmpi"), "mpich-pmi": Mpich("mpich", "mpiexec.hydra"), "mpi4py": Mpi4py()}
