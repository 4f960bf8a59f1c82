#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each public header compiles alone, as C11 and as C++17. Usage: test-headers.py BUILD-DIR-OF-LIBDVM"""

import os
import shutil
import subprocess
import sys

import house

LANGUAGES = {'C11': ('cc', 'c', 'c11'), 'C++17': ('c++', 'c++', 'c++17')}


GENERATED = ['dvm-enum-types.h', 'dvm-version.h']


def headers_of(folder):
    return [path for path in house.files(('.h',), (folder,)) if not path.endswith('-private.h')]


def public_headers():
    return headers_of('libdvm-gobject/') + GENERATED


def compile_header(compiler, language, standard, header, flags):
    # Alone, as the library has it: a header that needs another one includes it.
    source = f'#include "{os.path.basename(header)}"\ntypedef int not_empty;\n'
    if os.path.basename(header) != 'dvm.h':
        flags = ['-DDVM_COMPILATION', *flags]
    command = [compiler, '-x', language, f'-std={standard}', '-pedantic-errors', '-Wall', '-Wextra', '-Werror', '-fsyntax-only', *flags,
               '-']
    return subprocess.run(command, input=source, capture_output=True, text=True, check=False)


def check(language, build_dir):
    compiler, name, standard = LANGUAGES[language]
    if not shutil.which(compiler):
        raise house.Skip(f'there is no compiler for {language} here')
    cflags = subprocess.run(['pkg-config', '--cflags', 'gio-unix-2.0'], capture_output=True, text=True, check=True).stdout.split()
    # Other people's headers are not ours to mend.
    flags = ['-isystem' + flag[2:] if flag.startswith('-I') else flag for flag in cflags]
    flags += ['-I' + os.path.join(house.TOP, folder) for folder in ('libdvm-gobject', 'daemon/plugin')] + ['-I' + build_dir]
    problems = []
    for header in public_headers() + headers_of('daemon/plugin/'):
        result = compile_header(compiler, name, standard, header, flags)
        if result.returncode:
            problems += [f'{header} as {language}:'] + result.stderr.splitlines()[:8]
    return problems


def test_only_through_dvm_h(build_dir):
    """What is not <dvm.h> says so to a user who includes it alone."""
    words = 'Only <dvm.h> can be included directly.'
    headers = [path for path in public_headers() if path != 'libdvm-gobject/dvm.h']
    return [f'{path}: it may be included without <dvm.h>' for path in headers
            if words not in house.read(os.path.join(build_dir, path) if path in GENERATED else path)]


def test_guards():
    return [f'{path}: no #pragma once' for path in house.files(('.h',)) if '\n#pragma once\n' not in house.read(path)]


if __name__ == '__main__':
    BUILD_DIR = sys.argv[1]
    sys.exit(house.run([
        ('public headers compile as C11', lambda: check('C11', BUILD_DIR)),
        ('public headers compile as C++17', lambda: check('C++17', BUILD_DIR)),
        ('users include <dvm.h> alone', lambda: test_only_through_dvm_h(BUILD_DIR)),
        ('headers have #pragma once', test_guards),
    ]))
