#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Help, manual and completion say the same."""

import os
import re
import subprocess
import sys

from dvmtest import check, equal, functions, help_options, help_rows, run_tests, verbs

SOURCE = os.environ["DVM_SOURCE_DIR"]
MAN = os.path.join(SOURCE, "cli", "man")
COMPLETION = os.path.join(SOURCE, "cli", "completion", "dvm-cli")


def manual(name):
    """The page as text, without its typesetting."""
    with open(os.path.join(MAN, name)) as page:
        text = page.read()
    return re.sub(r"\\f[BIR]", "", text).replace("\\-", "-").replace("\\&", "")


def manual_options(name):
    """Options that have an entry of their own: the line after .TP"""
    entries = re.findall(r"^\.TP\n(-.*)$", manual(name), re.MULTILINE)
    return {word for entry in entries for word in re.findall(r"(?:^|(?<=\s))--?[A-Za-z][A-Za-z-]*", entry)}


def complete(*words):
    """What bash would offer; the last word is the one to be completed."""
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dvm_cli; printf "%s\\n" "${COMPREPLY[@]}"'
    result = subprocess.run(
        ["bash", "-c", script, "bash", COMPLETION, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    equal(result.stderr, "", f"{words}")
    return set(result.stdout.split())


def test_manual():
    """every verb and option of --help is in the manual, and the reverse"""
    own, common = help_options()
    equal(manual_options("dvm-cli.1"), common, "dvm-cli.1")
    entries = set(re.findall(r"^\.TP\n([a-z]+)$", manual("dvm-cli.1"), re.MULTILINE))
    equal(entries, set(verbs()), "verbs in dvm-cli.1")
    for verb in verbs():
        own, common = help_options(verb)
        found = manual_options(f"dvm-cli-{verb}.1")
        equal(found - common, own, f"dvm-cli-{verb}.1")
    pages = {name for name in os.listdir(MAN) if name.startswith("dvm-cli-")}
    equal(pages, {f"dvm-cli-{verb}.1" for verb in verbs()}, "pages")


def test_manual_of_dvmd():
    """the daemon's options and settings are in its manual, and the reverse"""
    text = subprocess.run([os.environ["DVM_DVMD"], "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    options = set(re.findall(r"--?[A-Za-z?][A-Za-z-]*", " ".join(re.findall(r"^  (-.*?)(?:  |$)", text, re.MULTILINE))))
    options -= {"--help-all"}
    found = {word for entry in re.findall(r"^\.TP\n(-.*)$", manual("dvmd.8"), re.MULTILINE)
             for word in re.findall(r"(?:^|(?<=\s))--?[A-Za-z?][A-Za-z-]*", entry)}
    equal(found, options | {"--help", "-h", "-?"}, "options")
    with open(os.path.join(SOURCE, "daemon", "base", "dvmd-config-table.c")) as table:
        settings = dict(re.findall(r'^  { "([a-z-]+)", DVMD_CONFIG_[A-Z]+, "([^"]*)"', table.read(), re.MULTILINE))
    section = manual("dvmd.8").partition(".SH SETTINGS")[2].partition(".SH")[0]
    entries = dict(re.findall(r"^\.TP\n([a-z-]+)\n(.*)$", section, re.MULTILINE))
    equal(set(entries), set(settings), "settings")
    for name, value in settings.items():
        check(re.search(rf"\b{re.escape(value)}\b", entries[name]), f"{name}: {value!r} is not in {entries[name]!r}")


def test_typesetting():
    """the manual is set without a warning"""
    for name in sorted(os.listdir(MAN)):
        if not name[-1].isdigit():
            continue
        result = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-z", os.path.join(MAN, name)], stderr=subprocess.PIPE, text=True
        )
        equal((result.returncode, result.stderr), (0, ""), name)


def test_completion():
    """every verb and option of --help is completed, and the reverse"""
    equal(complete("dvm-cli", ""), set(verbs()), "verbs")
    for verb in verbs():
        own, common = help_options(verb)
        wanted = own | common
        equal(complete("dvm-cli", verb, "-"), wanted, verb)
        equal(complete("dvm-cli", verb, "--"), {option for option in wanted if option.startswith("--")}, verb)
    equal(complete("dvm-cli", "job", ""), {"show", "procs", "trace"})
    equal(complete("dvm-cli", "--bus", "s"), {"session", "system"})
    equal(complete("dvm-cli", "run", "-n", "2", "--when-full", "w"), {"wait"})


def test_completion_of_values():
    """the completion knows which options take a value: behind those no option is offered"""
    for verb in verbs():
        text = subprocess.run(
            [os.environ["DVM_CLI"], verb, "--help"], stdout=subprocess.PIPE, text=True, check=True
        ).stdout
        for words, takes_value in help_rows(text):
            for option in words:
                offered = complete("dvm-cli", verb, option, "--quie")
                equal(offered == {"--quiet"}, not takes_value, f"{verb} {option}: offered {offered}")


if __name__ == "__main__":
    check(os.path.isdir(MAN), "no manual")
    sys.exit(run_tests(functions(globals())))
