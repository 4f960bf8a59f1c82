#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What libdvmd-plugin exports is what its installed headers declare and its map lists. Usage: test-plugin-symbols.py LIBRARY"""

import re
import subprocess
import sys

import house

MAP = 'daemon/plugin/libdvmd-plugin.map'


def names_of_header(text):
    """Functions that a header declares: no fields of classes, no symbol that is the plugin's own."""
    text = house.strip_comments(text)
    text = re.sub(r'^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', '', text, flags=re.MULTILINE)
    for declaration in re.findall(r'G_DECLARE_\w+ \(\w+, (dvmd_\w+),', text):
        yield declaration + '_get_type'
    text = re.sub(r'G_D\w+ \([^)]*\)', '', text)
    yield from re.findall(r'\b(dvmd_\w+)\s*\(', re.sub(r'\{[^}]*\}', '', text))


def declared():
    paths = [path for path in house.files(('.h',), ('daemon/plugin/',)) if not path.endswith('-private.h')]
    return {name for path in paths for name in names_of_header(house.read(path))}


def listed():
    return re.findall(r'^  (\w+);$', house.read(MAP), re.MULTILINE)


def compare(left, left_name, right, right_name):
    problems = [f'{name} is in {left_name}, but not in {right_name}' for name in sorted(left - right)]
    return problems + [f'{name} is in {right_name}, but not in {left_name}' for name in sorted(right - left)]


def check_map():
    names = listed()
    problems = [] if names == sorted(set(names)) else [f'{MAP}: the names are not sorted, or one stands there twice']
    return problems + compare(declared(), 'the installed headers', set(names), MAP)


def check_library(library):
    output = subprocess.run(['nm', '-D', '--defined-only', library], check=True, capture_output=True, text=True).stdout
    symbols = {line.split()[-1].split('@')[0] for line in output.splitlines() if line.split()[1] != 'A'}
    return compare(symbols, 'the library', set(listed()), MAP)


def check_itself():
    header = '/* dvmd_not_me (x) */\nG_DECLARE_FINAL_TYPE (DvmdA, dvmd_a, DVMD, A, GObject)\nstruct X { int (*dvmd_nor_me) (void); };\n' \
             'int dvmd_me (void);\n'
    found = sorted(names_of_header(header))
    return [] if found == ['dvmd_a_get_type', 'dvmd_me'] else [f'these are found in the example: {found}']


if __name__ == '__main__':
    sys.exit(house.run([
        ('this test finds what it looks for', check_itself),
        ('the map lists the installed headers', check_map),
        ('the library exports what the map lists', lambda: check_library(sys.argv[1])),
    ]))
