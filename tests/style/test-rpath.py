#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs look for libraries in whole paths: a relative one is taken from the directory in which the program is called, which may
be another user's. Meson fills up with such a one where the path of the installed program is longer. Usage: test-rpath.py PROGRAM..."""

import re
import subprocess
import sys

import house

EXAMPLE = ' 0x1d (RUNPATH)            Library runpath: [$ORIGIN/../lib:XXXXXX]'


def relative_paths(table):
    """In the dynamic section, as readelf prints it."""
    found = re.findall(r'\((?:RPATH|RUNPATH)\)[^[]*\[([^]]*)\]', table)
    return [path for paths in found for path in paths.split(':') if not path.startswith(('/', '$ORIGIN'))]


def check(programs):
    problems = []
    for program in programs:
        table = subprocess.run(['readelf', '-d', program], check=True, capture_output=True, text=True).stdout
        problems += [f'{program} looks for libraries in {path}, below whatever directory it is called in' for path in relative_paths(table)]
    return problems


if __name__ == '__main__':
    sys.exit(house.run([
        ('this test finds what it looks for', lambda: [] if relative_paths(EXAMPLE) == ['XXXXXX'] else ['it does not']),
        ('libraries are looked for in whole paths', lambda: check(sys.argv[1:])),
    ]))
