#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The types of the package dvm and of the monitor, by mypy in its strict mode, against stubs of what it uses of gi."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

import house

MONITOR = os.path.join('monitor', 'dvm_monitor')
FOLDER = os.path.join(house.TOP, 'introspection')
STUBS = os.path.join(FOLDER, 'python', 'stubs')
EXAMPLE = 'from dvm import connect\nnumber: int = connect("x").name\n'


def lay_out_stubs(place):
    """As the modules whose types they are."""
    folder = os.path.join(place, 'gi', 'repository')
    os.makedirs(folder)
    open(os.path.join(folder, '__init__.pyi'), 'w', encoding='utf-8').close()
    shutil.copy(os.path.join(STUBS, 'gi.pyi'), os.path.join(place, 'gi', '__init__.pyi'))
    for name in ('Dvm.pyi', 'GLib.pyi', 'Gio.pyi'):
        shutil.copy(os.path.join(STUBS, name), folder)
    # What draws is not described: of these all is of any type.
    for name in ('Adw', 'Gdk', 'GObject', 'Graphene', 'Gtk', 'Pango'):
        shutil.copy(os.path.join(STUBS, 'any.pyi'), os.path.join(folder, f'{name}.pyi'))


def run_mypy(place, *paths):
    """Its complaints."""
    if shutil.which('mypy') is None:
        raise house.Skip('no mypy here: tools/install-deps test installs it')
    lay_out_stubs(place)
    command = ['mypy', '--config-file', 'pyproject.toml', '--cache-dir', os.path.join(place, 'cache'), '--no-error-summary', *paths]
    done = subprocess.run(command, cwd=FOLDER, env=dict(os.environ, MYPYPATH=os.pathsep.join((place, os.path.join(FOLDER, 'python'), os.path.join(FOLDER, 'monitor')))), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    return done.stdout.splitlines()


def check_types():
    """Together with a wrong type, which is all that may be found."""
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, 'example.py')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(EXAMPLE)
        found = run_mypy(place, 'python/dvm', MONITOR, path)
    wrong = [line for line in found if 'example.py:2: error: Incompatible types' in line]
    return [line for line in found if line not in wrong] + ([] if wrong else ['mypy does not find the wrong type of the example'])


def check_names():
    """Each name that the stubs have of Dvm is one that the overrides or the library have."""
    stubs = re.findall(r'^(?:class|def) (\w+)', house.read('introspection/python/stubs/Dvm.pyi'), re.MULTILINE)
    texts = ''.join(house.read(path) for path in house.files(('.py', '.h'), ('introspection/overrides', 'libdvm-gobject')))
    wanted = [(name, rf'\b({name}|dvm_{name}|Dvm{name})\b') for name in stubs if name not in ('BadParamError', 'NotFoundError')]
    return [f'the stubs have {name}, which nothing defines' for name, pattern in wanted if not re.search(pattern, texts)]


if __name__ == '__main__':
    sys.exit(house.run([
        ('the types of the package are right', check_types),
        ('the stubs have no names of their own', check_names),
    ]))
