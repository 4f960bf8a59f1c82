#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every message is translated into every language that there is."""

import gettext
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unicodedata

from dvmtest import CLI, Failed, check, dvm, equal, functions, run_tests, verbs

SOURCE = os.environ["DVM_SOURCE_DIR"]
PO = os.path.join(SOURCE, "po")

# As meson's i18n module calls it for GLib, and po/meson.build for sentences with a number
XGETTEXT = ["xgettext", "--from-code=UTF-8", "--keyword=_", "--keyword=N_", "--keyword=C_:1c,2", "--keyword=NC_:1c,2",
            "--keyword=g_dngettext:2,3", "--flag=N_:1:pass-c-format", "--flag=_:1:pass-c-format",
            "--keyword=NP_:1,2", "--flag=NP_:1:pass-c-format", "--flag=NP_:2:pass-c-format"]

# "%sargv[%zu]: ", "jobs[%u]: ", "$: ", "%s%s: ", "%s:%u: "
KEY = re.compile(r"(?:\$|%s:%u|(?:%s)*(?:[a-z-]+|apps\[%u\]\.map-by|argv\[%zu\]|jobs\[%u\])|(?:%s)+): ")
# Options, commands and settings
TYPED = re.compile(r"(?<![\w-])--[a-z][a-z-]+|\b(?:MPI|PMIx)_\w+|\bDVM_[A-Z]+\b|\b\w+-options\b")
# A format, which stays, or a letter
FORMAT = re.compile(r"%(?:\d\$)?[-+ 0#']*[\d*]*(?:\.[\d*]+)?(?:zu|l?[a-zA-Z])|\\[nt\"\\]|%%|([A-Za-z])")


def run(*command):
    return subprocess.run(command, cwd=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def languages():
    with open(os.path.join(PO, "LINGUAS")) as file:
        return file.read().split()


def template(folder, under=""):
    path = os.path.join(folder, "dvm.pot")
    with open(os.path.join(PO, "POTFILES.in")) as file:
        files = [line for line in file.read().split() if line.startswith(under)]
    result = run(*XGETTEXT, "--directory=" + SOURCE, "-o", path, *files)
    equal((result.returncode, result.stdout), (0, ""), "xgettext")
    return path


def missing(language, pot):
    """The messages that a language has not, each with the files that have it."""
    result = run("msgcmp", os.path.join(PO, language + ".po"), pot)
    if result.returncode == 0:
        return []
    with open(pot) as file:
        lines = file.read().split("\n")
    told = []
    for number in re.findall(r"^.*dvm\.pot:(\d+): this message .*$", result.stdout, re.MULTILINE):
        # The lines above say where it stands.
        end = start = int(number)
        while start > 0 and lines[start - 1] != "":
            start -= 1
        block = [line for line in lines[start:end] if not line.startswith("#,")]
        told.append(" ".join(line.replace("#: ", "") for line in block))
    return told or [result.stdout]


def test_complete():
    """each message has a translation into every language; what is missing is listed with file and line"""
    with tempfile.TemporaryDirectory() as folder:
        pot = template(folder)
        told = {language: missing(language, pot) for language in languages()}
        lines = [f"not in po/{language}.po (see po/README.md):\n" + "\n".join(told[language]) for language in told if told[language]]
        if lines:
            raise Failed("\n".join(lines))


def test_right():
    """formats agree with those of the original, nothing is fuzzy, and no message is left over"""
    with tempfile.TemporaryDirectory() as folder:
        pot = template(folder)
        for language in languages():
            po = os.path.join(PO, language + ".po")
            result = run("msgfmt", "--check", "--check-accelerators=_", "--statistics", "-o", "/dev/null", po)
            equal(result.returncode, 0, result.stdout)
            check(re.match(r"^\d+ translated messages\.\n$", result.stdout), f"po/{language}.po: {result.stdout}")
            known = set(re.findall(r'^msgid (.*?)\nmsgstr', run("msgcat", "--no-wrap", pot).stdout, re.MULTILINE | re.DOTALL))
            own = set(re.findall(r'^msgid (.*?)\nmsgstr', run("msgcat", "--no-wrap", po).stdout, re.MULTILINE | re.DOTALL))
            equal(own - known, set(), f"po/{language}.po has what no file says")


def english(folder, under=""):
    """A file in which each message is its own translation"""
    po = os.path.join(folder, "english.po")
    equal(run("msgen", "--no-wrap", "-o", po, template(folder, under)).returncode, 0, "msgen")
    with open(po) as file:
        text = file.read().replace("INTEGER", "1").replace("EXPRESSION", "0").replace("charset=CHARSET", "charset=UTF-8")
    with open(po, "w") as file:
        file.write(text)
    return po


def catalog(po, folder):
    """message -> list of its translations"""
    mo = os.path.join(folder, "catalog.mo")
    equal(run("msgfmt", "-o", mo, po).returncode, 0, po)
    with open(mo, "rb") as file:
        entries = gettext.GNUTranslations(file)._catalog
    found = {}
    for key, text in entries.items():
        found.setdefault(key[0] if isinstance(key, tuple) else key, []).append(text)
    found.pop("", None)
    return found


def test_words_stay():
    """what is typed stays as it is, and so does the key before a message of the library, by which dvm-cli finds the option"""
    with tempfile.TemporaryDirectory() as folder:
        of_library = set(catalog(english(folder, "libdvm-gobject/"), folder))
        for language in languages():
            for message, texts in catalog(os.path.join(PO, language + ".po"), folder).items():
                key = KEY.match(message)
                for text in texts:
                    here = f"po/{language}.po: {message!r} is {text!r}"
                    for word in TYPED.findall(message):
                        check(word in text, f"{here}, without {word}")
                    equal((text.startswith(" "), text[-1:].isspace()), (message.startswith(" "), message[-1:].isspace()), here)
                    if key is not None and message in of_library:
                        check(text.replace("%1$s", "%s").startswith(key.group(0)), f"{here}, which does not begin with {key.group(0)!r}")


def cells(text):
    """How much room a terminal needs for it"""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text if not unicodedata.combining(letter))


def test_keys_fit():
    """the line of keys of top, and its help, have room on a screen of 80 cells"""
    with tempfile.TemporaryDirectory() as folder:
        for language in languages():
            found = [texts[0] for message, texts in catalog(os.path.join(PO, language + ".po"), folder).items()
                     if message.startswith(("q quit  ", "1 2 3 Tab  "))]
            equal(len(found), 2, f"po/{language}.po: texts on keys")
            for line in "\n".join(found).split("\n"):
                check(cells(line) < 80, f"po/{language}.po: {line!r} has {cells(line)} cells")


def test_extracted():
    """no message ends where a macro begins: xgettext sees no further"""
    for line in open(os.path.join(PO, "POTFILES.in")):
        with open(os.path.join(SOURCE, line.strip())) as file:
            found = re.findall(r'\bN?_ \("(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*\s*[A-Z][A-Z_]+', file.read())
        equal(found, [], line.strip())


def test_languages():
    """LINGUAS names the files that there are, and no language has been lost"""
    equal(set(languages()), {os.path.basename(path)[:-3] for path in glob.glob(os.path.join(PO, "*.po"))})
    equal({"de", "es", "fr", "zh_CN"} - set(languages()), set(), "languages that are not in LINGUAS")


def locale_of(name, folder, source):
    """The environment of a locale that need not be installed, in which messages come from the folder source. From glibc 2.40 on
    C.UTF-8 is never translated; its data do for a locale of another name."""
    shutil.copytree("/usr/lib/locale/C.utf8", os.path.join(folder, "locale", name + ".utf8"))
    return {"LOCPATH": os.path.join(folder, "locale"), "LC_ALL": name + ".UTF-8", "LANGUAGE": "", "DVM_LOCALE_DIR": source}


def widened(text):
    """Letters that are shown take two cells, and none of them is ASCII; formats stay."""
    return FORMAT.sub(lambda part: part.group(0) if part.group(1) is None else chr(ord(part.group(1)) + 0xFEE0), text)


def make_wide(folder):
    """A language that has all messages in letters of two cells"""
    po = english(folder)
    lines, is_text = [], False
    with open(po) as file:
        for line in file.read().split("\n"):
            head, quote, rest = line.partition('"')
            is_text = head.startswith("msgstr") if head else is_text
            # The first message is the head of the file, which has a colon behind its names.
            is_head = re.match(r"[A-Z][A-Za-z-]+: .*\\n\"$", rest)
            lines.append(head + quote + widened(rest) if quote and is_text and not is_head else line)
    with open(po, "w") as file:
        file.write("\n".join(lines))
    os.makedirs(os.path.join(folder, "qaa", "LC_MESSAGES"))
    result = run("msgfmt", "-o", os.path.join(folder, "qaa", "LC_MESSAGES", "dvm.mo"), po)
    equal(result.returncode, 0, result.stdout)


def cell_of(line, word):
    """The cell in which a word begins"""
    check(word in line, f"{word!r} is not in {line!r}")
    return cells(line[:line.index(word)])


def is_wide(text):
    """Nothing in it is for people and untranslated"""
    return re.search(r"[A-Za-z]{2}", text) is None


def test_help_in_cells():
    """all that help says is translated, and it is aligned in cells, not in bytes or characters"""
    with tempfile.TemporaryDirectory() as folder:
        make_wide(folder)
        wide = locale_of("qaa", folder, folder)
        for verb in [""] + verbs():
            text = subprocess.run([CLI, *verb.split(), "--help"], stdout=subprocess.PIPE, text=True, check=True,
                                  env={**os.environ, **wide}).stdout
            usage, _, rest = text.partition("\n\n")
            equal(len({cell_of(line, "dvm-cli") for line in usage.split("\n")}), 1, usage)
            for line in rest.split("\n"):
                if verb == "" and re.match(r"  [a-z]+ ", line):
                    check(is_wide(line[13:]), f"--help: {line!r}")
                elif line.startswith("  "):
                    # Behind the column of options stands what they are for.
                    behind = [part for part in re.split(r"\s{2,}", line.strip()) if cells(line[:line.index(part)]) >= 30]
                    for part in behind:
                        equal(cell_of(line, part), 30, f"{verb}: {line!r}")
                check(not re.search(r"[a-z]+ [a-z]+ [a-z]+", line), f"{verb}: {line!r} is not translated")


def test_tables_in_cells():
    """tables and lists are translated, and aligned in cells"""
    with dvm("--nodes=2", "--slots=2") as here:
        make_wide(here.path)
        wide = locale_of("qaa", here.path, here.path)
        equal(here.cli("run", "--personality", "plain", "-n", "2", "sh", "-c", "exit 3", env=wide).returncode, 3)
        job = here.json("jobs", "--all")[0]["namespace"]
        for words, value in ((["jobs", "--all"], job), (["nodes", "--flat"], "node2"), (["job", "procs", job], "node1"),
                             (["job", "map", job], "node1"), (["sessions"], "node1,node2"), (["top", "--batch", "--all"], "node1")):
            lines = here.cli(*words, env=wide).stdout.split("\n")
            row = next((number for number, line in enumerate(lines) if value in line), 0)
            title = max((number for number in range(row) if is_wide(lines[number]) and lines[number].strip()), default=None)
            check(title is not None, f"{words}: there is no title, or it is not translated:\n" + "\n".join(lines))
            starts = {cells(lines[title][:found.start()]) for found in re.finditer(r"(?<!\S)\S", lines[title])}
            check(cell_of(lines[row], value) in starts, f"{words}: {value} is not below a title:\n" + "\n".join(lines))
        for words in (["status"], ["job", "show", job], ["node", "show", "node1"]):
            lines = here.cli(*words, env=wide).stdout.rstrip().split("\n")
            equal(len({cell_of(line, ": ") for line in lines}), 1, "\n".join(lines))
            check(all(is_wide(line.partition(": ")[0]) for line in lines), "\n".join(lines))


def test_reason():
    """why a job has failed is said in the language of its user, whatever that of the DVM is; programs get what they had"""
    with dvm("--nodes=2", "--slots=1") as here:
        german = locale_of("de_DE", here.path, os.path.join(os.path.dirname(CLI), os.pardir, "po"))
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
