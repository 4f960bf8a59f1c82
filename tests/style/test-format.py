#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""C is formatted as .clang-format says, with the version that the project uses."""

import re
import shutil
import subprocess
import sys

import house

VERSION = '14'


def find_clang_format():
    for name in ('clang-format-' + VERSION, 'clang-format'):
        program = shutil.which(name)
        if program:
            text = subprocess.run([program, '--version'], capture_output=True, text=True, check=False).stdout
            if re.search(r'version ' + VERSION + r'\.', text):
                return program
    raise house.Skip(f'clang-format {VERSION} is not there; other versions format otherwise')


def test_format():
    program = find_clang_format()
    paths = house.files(('.c', '.h'))
    problems = []
    for first in range(0, len(paths), 50):
        result = subprocess.run([program, '--dry-run', '--Werror', '--style=file', *paths[first:first + 50]], cwd=house.TOP,
                                capture_output=True, text=True, check=False)
        problems += sorted({line.split(':')[0] for line in result.stderr.splitlines() if 'clang-format-violations' in line})
        if result.returncode and not result.stderr.strip():
            problems.append(f'clang-format ended with {result.returncode}')
    return [f'{path}: not formatted; run clang-format-{VERSION} -i on it' for path in problems]


if __name__ == '__main__':
    sys.exit(house.run([('C files are formatted', test_format)]))
