#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What libdvm-gobject exports is what its public headers declare, its map lists, and the GIR shows, and nothing else.

    test-symbols.py LIBRARY DIRECTORY-OF-GENERATED-HEADERS [GIR]
    test-symbols.py --print     the functions of the public headers, as they stand in abi-1.0.txt
"""

import os
import re
import subprocess
import sys

import house

MAP = 'libdvm-gobject/libdvm-gobject.map'
# What programs are compiled against: may grow, and change in nothing else once a version is out.
ABI = 'tests/style/abi-1.0.txt'
FUNCTION = re.compile(r'^([A-Za-z_][\w *]*?[ *])(dvm_\w+)\s*\(([^;{]*)\);', re.MULTILINE)
# In C alone: the GIR has another function or nothing for them, with the reason beside the declaration.
NOT_IN_GIR = {'dvm_client_connect'}


def names_of_header(text):
    text = house.strip_comments(text)
    text = re.sub(r'^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', '', text, flags=re.MULTILINE)
    for declaration in re.findall(r'G_DECLARE_\w+_TYPE \(\w+, (dvm_\w+),', text):
        yield declaration + '_get_type'
    text = re.sub(r'G_D\w+ \([^)]*\)', '', text)
    yield from re.findall(r'\b(dvm_\w+)\s*\(', text)


def declared(generated):
    paths = [path for path in house.files(('.h',), ('libdvm-gobject/',)) if not path.endswith('-private.h')]
    paths += [os.path.join(generated, 'dvm-enum-types.h'), os.path.join(generated, 'dvm-version.h')]
    return {name for path in paths for name in names_of_header(house.read(path))}


def prototypes():
    found = []
    for path in house.files(('.h',), ('libdvm-gobject/',)):
        if not path.endswith('-private.h'):
            text = house.strip_comments(house.read(path))
            found += [f'GType {name}_get_type (void)' for name in re.findall(r'G_DECLARE_\w+_TYPE \(\w+, (dvm_\w+),', text)]
            for kind, name, arguments in FUNCTION.findall(text):
                kind, arguments = ' '.join(kind.split()), ' '.join(arguments.split())
                found.append(f'{kind}{"" if kind.endswith("*") else " "}{name} ({arguments})')
    return sorted(found, key=lambda line: line[line.index('dvm_'):])


def check_abi():
    frozen = [line for line in house.read(ABI).splitlines() if line and not line.startswith('#')]
    now = prototypes()
    return [f'{line}: gone or changed; programs that were compiled with it break' for line in frozen if line not in now] + \
        [f'{line}: new; it belongs into {ABI}, see test-symbols.py --print' for line in now if line not in frozen]


def listed(text):
    public = re.search(r'DVM_\d+\.\d+ \{\s*global:(.*?)local:', house.strip_comments(text), re.DOTALL)
    return re.findall(r'(\S+);', public.group(1)) if public else []


def exported(library):
    output = subprocess.run(['nm', '-D', '--defined-only', library], check=True, capture_output=True, text=True).stdout
    symbols = (line.split() for line in output.splitlines())
    return {fields[-1] for fields in symbols if fields[1] != 'A'}


def compare(left, left_name, right, right_name):
    problems = [f'{name} is in {left_name}, but not in {right_name}' for name in sorted(left - right)]
    return problems + [f'{name} is in {right_name}, but not in {left_name}' for name in sorted(right - left)]


def check_map(generated):
    names = listed(house.read(MAP))
    problems = [f'{MAP}: {name} stands there twice' for name in sorted(set(names)) if names.count(name) > 1]
    if names != sorted(names):
        problems.append(f'{MAP}: the public names are not sorted')
    return problems + compare(declared(generated), 'the public headers', set(names), MAP)


def check_library(library):
    symbols = exported(library)
    public = {symbol.split('@')[0] for symbol in symbols if symbol.split('@')[0].startswith('dvm_')}
    problems = compare(public, 'the library', set(listed(house.read(MAP))), MAP)
    for symbol in sorted(symbols):
        name, _, node = symbol.partition('@@')
        if name.startswith('dvm_') and node.startswith('DVM_') and 'PRIVATE' not in node:
            continue
        if name.startswith('_dvm_') and node.startswith('DVM_PRIVATE_'):
            continue
        problems.append(f'{symbol} is exported, but is neither public nor private of this version')
    return problems


def check_forms(names):
    """Whoever may block has one call, whoever has a main loop two; all of them can be cancelled."""
    stems = {name.removesuffix(end) for name in names for end in ('_async', '_finish') if name.endswith(end)}
    return [f'{stem}{end} is missing beside its other forms' for stem in sorted(stems) for end in ('', '_async', '_finish')
            if stem + end not in names]


def check_cancellable():
    lines = [line for line in prototypes() if re.search(r'_async \(', line)]
    return [f'{line}: it cannot be cancelled' for line in lines if 'GCancellable *cancellable' not in line]


def check_gir(gir, generated):
    shown = set(re.findall(r'(?:c:identifier|glib:get-type)="(dvm_\w+)"', house.read(gir)))
    hidden = re.findall(r'c:identifier="(dvm_\w+)"[^>]*introspectable="0"', house.read(gir))
    problems = compare(declared(generated) - NOT_IN_GIR, 'the public headers', shown - NOT_IN_GIR, 'the GIR')
    return problems + [f'{name} is not usable through the GIR' for name in hidden if name not in NOT_IN_GIR]


def check_itself():
    header = '''/* dvm_not_me (void); */
#define DVM_X (dvm_nor_me (1))
G_DECLARE_FINAL_TYPE (DvmJob, dvm_job, DVM, JOB, GObject)
const char *dvm_job_get_name (DvmJob *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DvmJob, dvm_job_nothing)
'''
    problems = compare(set(names_of_header(header)), 'the example', {'dvm_job_get_type', 'dvm_job_get_name'}, 'its names')
    if listed('DVM_1.0 {\nglobal:\n  a;\n  b;\nlocal:\n *;\n};\nDVM_PRIVATE {\nglobal:\n  _c;\n};') != ['a', 'b']:
        problems.append('a map is not read as it should be')
    if check_forms({'a', 'a_async', 'a_finish', 'b_finish', 'b'}) != ['b_async is missing beside its other forms']:
        problems.append('a form that is missing is not missed')
    return problems


def main():
    if sys.argv[1:] == ['--print']:
        print('\n'.join(prototypes()))
        return 0
    library, generated = sys.argv[1:3]
    tests = [
        ('this test finds what it looks for', check_itself),
        ('the map lists the public headers', lambda: check_map(generated)),
        ('the functions are those that programs were compiled with', check_abi),
        ('every call that takes its time has its three forms',
         lambda: check_forms(declared(generated)) + check_cancellable()),
        ('the library exports what the map lists', lambda: check_library(library)),
    ]
    if len(sys.argv) > 3:
        tests.append(('the GIR has all of it', lambda: check_gir(os.path.abspath(sys.argv[3]), generated)))
    return house.run(tests)


if __name__ == '__main__':
    sys.exit(main())
