#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Help and manual say the same."""

import os
import re
import subprocess
import sys

from dvmtest import check, equal, functions, help_options, run_tests, verbs

SOURCE = os.environ["DVM_SOURCE_DIR"]
MAN = os.path.join(SOURCE, "cli", "man")


def manual(name):
    """The page as text, without its typesetting."""
    with open(os.path.join(MAN, name)) as page:
        text = page.read()
    return re.sub(r"\\f[BIR]", "", text).replace("\\-", "-").replace("\\&", "")


def manual_options(name):
    """Options that have an entry of their own: the line after .TP"""
    entries = re.findall(r"^\.TP\n(-.*)$", manual(name), re.MULTILINE)
    return {word for entry in entries for word in re.findall(r"(?:^|(?<=\s))--?[A-Za-z][A-Za-z-]*", entry)}


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
    """the daemon's options and settings are in the manual, and the reverse"""
    text = subprocess.run([os.environ["DVM_DVMD"], "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    options = set(re.findall(r"--?[A-Za-z?][A-Za-z-]*", " ".join(re.findall(r"^  (-.*?)(?:  |$)", text, re.MULTILINE))))
    options -= {"--help-all"}
    found = {word for entry in re.findall(r"^\.TP\n(-.*)$", manual("dvmd.8"), re.MULTILINE)
             for word in re.findall(r"(?:^|(?<=\s))--?[A-Za-z?][A-Za-z-]*", entry)}
    equal(found, options | {"--help", "-h", "-?"}, "options")
    with open(os.path.join(SOURCE, "daemon", "base", "dvmd-config-table.c")) as table:
        rows = re.findall(r'^  { "([a-z-]+)", DVMD_CONFIG_[A-Z]+, "([^"]*)".*?(DVMD_CONFIG_AT_[A-Z]+),', table.read(),
                          re.MULTILINE | re.DOTALL)
    settings = {name: value for name, value, _ in rows}
    section = manual("dvm.conf.5").partition(".SH SETTINGS")[2].partition(".SH")[0]
    entries = dict(re.findall(r"^\.TP\n([a-z-]+)\n(.*)$", section, re.MULTILINE))
    equal(set(entries), set(settings), "settings")
    for name, value in settings.items():
        check(re.search(rf"\b{re.escape(value)}\b", entries[name]), f"{name}: {value!r} is not in {entries[name]!r}")
    for name, _, time in rows:
        words = {"DVMD_CONFIG_AT_ONCE": "Changes at once.", "DVMD_CONFIG_AT_START": "Waits for a restart."}
        check(entries[name].endswith(words[time]), f"{name}: {entries[name]!r} does not end with {words[time]!r}")


def test_typesetting():
    """the manual is set without a warning"""
    for name in sorted(os.listdir(MAN)):
        if not name[-1].isdigit():
            continue
        result = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-z", os.path.join(MAN, name)], stderr=subprocess.PIPE, text=True
        )
        equal((result.returncode, result.stderr), (0, ""), name)


if __name__ == "__main__":
    check(os.path.isdir(MAN), "no manual")
    sys.exit(run_tests(functions(globals())))
