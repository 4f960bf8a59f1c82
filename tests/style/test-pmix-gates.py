#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The header of the library's abilities has a row for each, and says what the build has found. Usage: test-pmix-gates.py BUILD-DIR"""

import json
import os
import re
import shlex
import subprocess
import sys

import house

GATES = 'daemon/pmix/dvmd-pmix-gates.h'
BUILD = 'daemon/pmix/meson.build'
USER = 'daemon/pmix/dvmd-pmix-upcalls.c'
ABILITY = r'(?:HAVE_PMIX|DVMD_PMIX_HAS)_\w+'


def read_table(text):
    """Rows as {ability: {version: yes or no}}."""
    head = re.search(r'^ \*\s+((?:\d+\.\d+\.\d+\s*)+)$', text, re.MULTILINE)
    versions = head.group(1).split()
    rows = re.findall(rf'^ \*\s+({ABILITY})((?:\s+(?:yes|no)\b){{{len(versions)}}})', text, re.MULTILINE)
    return {name: dict(zip(versions, answers.split())) for name, answers in rows}


def abilities(gates, build):
    return set(re.findall(rf'^#define ({ABILITY}) 1$', gates, re.MULTILINE)) | set(re.findall(rf"set\('({ABILITY})'", build))


def compare(rows, known, version, found):
    problems = [f'{GATES}: its table has no row for {name}' for name in sorted(known - set(rows))]
    problems += [f'{GATES}: {name} of its table is no ability' for name in sorted(set(rows) - known)]
    for name, answers in sorted(rows.items()):
        if answers.get(version) not in (None, 'yes' if name in found else 'no'):
            problems.append(f'{GATES}: the table says "{answers[version]}" to {name} in {version}, and the build the opposite')
    return problems


def find_abilities(build_dir):
    """What is defined, by the compiler, for a file that includes the header."""
    with open(os.path.join(build_dir, 'compile_commands.json'), encoding='utf-8') as file:
        entry = next(entry for entry in json.load(file) if entry['file'].endswith(USER))
    command = shlex.split(entry['command'])
    del command[command.index('-o'):command.index('-o') + 2]
    macros = subprocess.run([*command[:command.index('-c')], '-E', '-dM', entry['file']], cwd=entry['directory'], capture_output=True, text=True, check=True)
    return set(re.findall(rf'^#define ({ABILITY})\b', macros.stdout, re.MULTILINE))


def test_table():
    version = subprocess.run(['pkg-config', '--modversion', 'pmix'], capture_output=True, text=True, check=True).stdout.strip()
    rows = read_table(house.read(GATES))
    known = abilities(house.read(GATES), house.read(BUILD))
    if len(known) < 8:
        return [f'{GATES} and {BUILD} do not have their abilities where this test looks for them: {sorted(known)}']
    return compare(rows, known, version, find_abilities(sys.argv[1]))


def test_wrong():
    """What the test must find."""
    rows = read_table(' *      4.2.2  5.0.7\n *   HAVE_PMIX_A  yes  no   with a reason\n *   HAVE_PMIX_B  no  no\n')
    cases = [({'HAVE_PMIX_A', 'HAVE_PMIX_B'}, '4.2.2', {'HAVE_PMIX_A'}, 0), ({'HAVE_PMIX_A', 'HAVE_PMIX_B'}, '5.0.7', {'HAVE_PMIX_A'}, 1),
             ({'HAVE_PMIX_A', 'HAVE_PMIX_B'}, '4.2.2', set(), 1), ({'HAVE_PMIX_A'}, '4.2.2', {'HAVE_PMIX_A'}, 1),
             ({'HAVE_PMIX_A', 'HAVE_PMIX_B', 'HAVE_PMIX_C'}, '6.0.0', set(), 1)]
    return [f'{case} has not {case[-1]} problems' for case in cases if len(compare(rows, *case[:-1])) != case[-1]]


if __name__ == '__main__':
    sys.exit(house.run([
        ('the table of abilities is true', test_table),
        ('wrong tables are found', test_wrong),
    ]))
