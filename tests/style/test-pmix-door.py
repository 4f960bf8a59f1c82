#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs that load libpmix have the accept() that it calls (daemon/pmix/dvmd-pmix-door.c). Usage: test-pmix-door.py PART PROGRAM..."""

import re
import subprocess
import sys

import house

CALLS = ('accept', 'accept4')


def symbols(path, kind):
    output = subprocess.run(['nm', '-D', kind, path], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split('@')[0] for line in output.splitlines()}


def check_programs(programs):
    return [f'{path} does not export {call}: libpmix finds that of libc, and lets everybody in'
            for path in programs for call in CALLS if call not in symbols(path, '--defined-only')]


def check_library(part):
    output = subprocess.run(['ldd', part], check=True, capture_output=True, text=True).stdout
    library = re.search(r'libpmix\.so\S* => (\S+)', output).group(1)
    called = symbols(library, '--undefined-only')
    return [] if any(call in called for call in CALLS) else [f'{library} calls neither of {", ".join(CALLS)}: the door is none']


if __name__ == '__main__':
    sys.exit(house.run([
        ('the programs export the door', lambda: check_programs(sys.argv[2:])),
        ('the library goes through it', lambda: check_library(sys.argv[1])),
        ('this test finds what it looks for', lambda: [] if len(check_programs(['/proc/self/exe'])) == 2 else ['an interpreter has a door']),
    ]))
