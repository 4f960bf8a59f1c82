#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every message is translated into every language that there is."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from dvmtest import CLI, Failed, check, dvm, equal, functions, run_tests

SOURCE = os.environ["DVM_SOURCE_DIR"]
PO = os.path.join(SOURCE, "po")

# As meson's i18n module calls it for GLib, and po/meson.build for sentences with a number
XGETTEXT = ["xgettext", "--from-code=UTF-8", "--keyword=_", "--keyword=N_", "--keyword=C_:1c,2", "--keyword=NC_:1c,2",
            "--keyword=g_dngettext:2,3", "--flag=N_:1:pass-c-format", "--flag=_:1:pass-c-format",
            "--keyword=NP_:1,2", "--flag=NP_:1:pass-c-format", "--flag=NP_:2:pass-c-format"]


def run(*command):
    return subprocess.run(command, cwd=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def languages():
    with open(os.path.join(PO, "LINGUAS")) as file:
        return file.read().split()


def template(folder):
    path = os.path.join(folder, "dvm.pot")
    result = run(*XGETTEXT, "--directory=" + SOURCE, "-f", os.path.join(PO, "POTFILES.in"), "-o", path)
    equal((result.returncode, result.stdout), (0, ""), "xgettext")
    return path


def test_complete():
    """each message has a translation; what is missing is listed with file and line"""
    with tempfile.TemporaryDirectory() as folder:
        pot = template(folder)
        for language in languages():
            result = run("msgcmp", os.path.join(PO, language + ".po"), pot)
            missing = re.findall(rf"^.*?([^/]*/[^/]*:\d+): (this message .*)$", result.stdout, re.MULTILINE)
            if result.returncode != 0:
                with open(pot) as file:
                    lines = file.read().split("\n")
                told = []
                for place, what in missing:
                    name, _, number = place.partition(":")
                    if not name.endswith("dvm.pot"):
                        continue
                    # The lines above say where it stands.
                    end = int(number)
                    start = end
                    while start > 0 and lines[start - 1] != "":
                        start -= 1
                    block = [line for line in lines[start:end] if not line.startswith("#,")]
                    told.append(" ".join(line.replace("#: ", "") for line in block))
                raise Failed(f"not in po/{language}.po (see po/README.md):\n" + "\n".join(told or [result.stdout]))


def test_right():
    """formats agree with those of the original, nothing is fuzzy, and no message is left over"""
    with tempfile.TemporaryDirectory() as folder:
        pot = template(folder)
        for language in languages():
            po = os.path.join(PO, language + ".po")
            result = run("msgfmt", "--check", "--statistics", "-o", "/dev/null", po)
            equal(result.returncode, 0, result.stdout)
            check(re.match(r"^\d+ translated messages\.\n$", result.stdout), result.stdout)
            known = set(re.findall(r'^msgid (.*?)\nmsgstr', run("msgcat", "--no-wrap", pot).stdout, re.MULTILINE | re.DOTALL))
            own = set(re.findall(r'^msgid (.*?)\nmsgstr', run("msgcat", "--no-wrap", po).stdout, re.MULTILINE | re.DOTALL))
            equal(own - known, set(), f"po/{language}.po has what no file says")


def test_extracted():
    """no message ends where a macro begins: xgettext sees no further"""
    for line in open(os.path.join(PO, "POTFILES.in")):
        with open(os.path.join(SOURCE, line.strip())) as file:
            found = re.findall(r'\bN?_ \("(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*\s*[A-Z][A-Z_]+', file.read())
        equal(found, [], line.strip())


def test_languages():
    """LINGUAS names the files that there are, and German is among them"""
    equal(set(languages()), {os.path.basename(path)[:-3] for path in glob.glob(os.path.join(PO, "*.po"))})
    check("de" in languages(), "no German")


def test_reason():
    """why a job has failed is said in the language of its user, whatever that of the DVM is; programs get what they had"""
    with dvm("--nodes=2", "--slots=1") as here:
        # From glibc 2.40 on C.UTF-8 is never translated. Its data do for a locale of another name, which need not be installed.
        shutil.copytree("/usr/lib/locale/C.utf8", os.path.join(here.path, "locale", "de_DE.utf8"))
        german = {"LOCPATH": os.path.join(here.path, "locale"), "LC_ALL": "de_DE.UTF-8",
                  "DVM_LOCALE_DIR": os.path.join(os.path.dirname(CLI), os.pardir, "po")}
        words = ["--personality", "plain", "-n", "2", "sh", "-c", "test $DVM_RANK = 0 || exit 3; sleep 600"]
        result = here.cli("run", *words, env=german)
        equal((result.returncode, result.stderr), (3, "dvm-cli: Rang 1 auf node2 endete mit Status 3\n"))
        job = here.json("jobs", "--all")[0]
        equal((job["reason"], job["reason-code"], job["reason-arguments"]),
              ("Rank 1 on node2 ended with status 3", "rank-status", ["1", "node2", "3"]))
        for verb in (["jobs", "--all"], ["job", "show", job["namespace"]]):
            result = here.cli(*verb, env=german)
            check("Rang 1 auf node2 endete mit Status 3" in result.stdout, result.stdout)
            check("gescheitert" in result.stdout, result.stdout)
        result = here.cli("run", "--personality", "plain", "-n", "3", "true", env=german)
        equal(result.returncode, 125)
        check("Der Job will 3 Prozesse, aber seine Knoten haben 2 Slots" in result.stderr, result.stderr)


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
