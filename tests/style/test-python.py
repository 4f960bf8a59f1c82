#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The types of the package dvm and of the monitor, by mypy in its strict mode, and those that a program of users sees of an installed copy.

test-python.py [BUILD GIR]: without them, as where there is no introspection, what is installed is not tested.
"""

import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv

import house

MONITOR = os.path.join('monitor', 'dvm_monitor')
FOLDER = os.path.join(house.TOP, 'introspection')
STUBS = os.path.join(FOLDER, 'python', 'stubs')
# Of each line what mypy has to say, and nothing of a line without.
PROGRAM = '''\
import asyncio
import concurrent.futures

import dvm
from dvm import Dvm


def report(result: dvm.Result) -> str:
    return result.stdout


with dvm.start(nodes=4, settings={"kill_grace": 1}) as vm:
    result = vm.run(["hostname"], n=4, check=True)
    reveal_type(result)  #: dvm._Dvm.CompletedJob[builtins.str]
    reveal_type(result.stdout)  #: "builtins.str"
    reveal_type(result.returncode)  #: "builtins.int"
    reveal_type(result.job.props.nodes)  #: "builtins.list[builtins.str]"
    print(report(result), result.stdot)  #: has no attribute "stdot"
    job = vm.submit("hostname")
    reveal_type(job.wait())  #: dvm._Dvm.CompletedJob[builtins.str]
    reveal_type(job.record.props.state)  #: "dvm._Dvm.JobState"
    for node in vm.nodes():
        reveal_type(node)  #: "dvm._Dvm.Node"
        reveal_type(node.props.slots)  #: "builtins.int"
        print(node.props.nmae)  #: has no attribute "nmae"
    reveal_type(vm.jobs()[0].props.command)  #: "builtins.list[builtins.str]"
    reveal_type(vm.grow(2).nodes)  #: "builtins.list[builtins.str]"
    vm.run(7)  #: incompatible type "int"
    with vm.executor() as executor:
        reveal_type(executor.submit(["hostname"], text=True).result().stdout)  #: "builtins.str"
        reveal_type(executor.submit(["hostname"], capture_output=True).result().stdout)  #: "builtins.bytes"
        angles = {executor.submit(["awk", str(angle)], text=True, check=True): angle for angle in range(3)}
        for future in concurrent.futures.as_completed(angles):
            print(angles[future], future.result().stdout.upper())
        reveal_type(executor.submit(pow, 2, 3))  #: concurrent.futures._base.Future[
        reveal_type(executor.submit(report, result).result())  #: "builtins.str"
        reveal_type(list(executor.map(report, [result])))  #: "builtins.list[builtins.str]"
    reveal_type(vm.client.list_sessions())  #: "builtins.list[dvm._Dvm.Session]"
    spec = Dvm.JobSpec(["hostname"], np=2, label="night", env={"A": "b"})
    Dvm.JobSpec(["hostname"], nq=2)  #: Unexpected keyword argument "nq"
    try:
        vm.run(spec)
    except Dvm.DvmError as error:
        reveal_type(error.message)  #: "builtins.str"


async def study(vm: dvm.DVM) -> None:
    reveal_type(await vm.run_async(["true"]))  #: dvm._Dvm.CompletedJob[builtins.str]
    reveal_type(await (await vm.submit_async(["true"])))  #: dvm._Dvm.CompletedJob[builtins.str]
    async for line in await vm.submit_async(["true"]):
        reveal_type(line)  #: "builtins.str"
    async for event in vm.events(["job"]):
        reveal_type(event.new)  #: "builtins.str"


asyncio.run(study(dvm.connect("other")))
'''
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


def check_made():
    """The types of the library are those that its introspection makes now; DVM_TEST_WRITE=1 writes them."""
    path = os.path.join(FOLDER, 'python', 'dvm', '_Dvm.pyi')
    command = [sys.executable, os.path.join(FOLDER, 'python', 'make-types.py'), need_arguments()[1]]
    made = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    if os.environ.get('DVM_TEST_WRITE') == '1':
        with open(path, 'w', encoding='utf-8') as file:
            file.write(made)
    with open(path, encoding='utf-8') as file:
        there = file.read()
    lines = [line for line in difflib.unified_diff(there.splitlines(), made.splitlines(), n=0, lineterm='') if line[:2] not in ('--', '++')]
    return [f'_Dvm.pyi is not what make-types.py makes: {line}' for line in lines if line[0] in '+-']


def need_arguments():
    if len(sys.argv) < 3:
        raise house.Skip('built without introspection: nothing of the package is installed')
    return sys.argv[1:3]


def install_copy(site):
    """What meson installs of the package."""
    with open(os.path.join(need_arguments()[0], 'meson-info', 'intro-installed.json'), encoding='utf-8') as file:
        installed = json.load(file)
    package = os.path.join(site, 'dvm')
    os.makedirs(package)
    for source, target in installed.items():
        if source.startswith(os.path.join(FOLDER, 'python', 'dvm') + os.sep):
            shutil.copy(source, os.path.join(package, os.path.basename(target)))


def check_users():
    """A program of users, in its strict mode, in a Python that has the package and no types of PyGObject."""
    if shutil.which('mypy') is None:
        raise house.Skip('no mypy here: tools/install-deps test installs it')
    with tempfile.TemporaryDirectory() as place:
        venv.create(os.path.join(place, 'venv'), with_pip=False)
        python = os.path.join(place, 'venv', 'bin', 'python')
        site = subprocess.run([python, '-c', 'import sysconfig; print(sysconfig.get_path("purelib"))'], stdout=subprocess.PIPE, text=True,
                              check=True).stdout.strip()
        install_copy(site)
        with open(os.path.join(place, 'user.py'), 'w', encoding='utf-8') as file:
            file.write(PROGRAM)
        done = subprocess.run(['mypy', '--strict', '--no-error-summary', '--cache-dir', os.path.join(place, 'cache'), '--python-executable', python,
                               'user.py'], cwd=place, env={key: value for key, value in os.environ.items() if key != 'MYPYPATH'},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    found = dict(re.findall(r'^user\.py:(\d+): (.*)$', done.stdout, re.MULTILINE))
    wrong = []
    for number, line in enumerate(PROGRAM.splitlines(), 1):
        wanted, said = line.partition('#: ')[2], found.pop(str(number), '')
        if wanted and wanted not in said or not wanted and said:
            wrong.append(f'{line.strip()}: mypy says "{said}"')
    return wrong + [line for line in done.stdout.splitlines() if not re.search(r'^user\.py:|: note: .* defined here$', line)]


def check_names():
    """Each name that the types of Dvm have is one that the overrides or the library have."""
    stubs = re.findall(r'^(?:class|def) ([A-Za-z]\w+)', house.read('introspection/python/dvm/_Dvm.pyi'), re.MULTILINE)
    texts = ''.join(house.read(path) for path in house.files(('.py', '.h'), ('introspection/overrides', 'libdvm-gobject')))
    wanted = [(name, rf'\b({name}|dvm_{name}|Dvm{name})\b') for name in stubs if not re.fullmatch(r'\w{3,}Error', name) or name in ('DvmError', 'JobError')]
    return [f'the stubs have {name}, which nothing defines' for name, pattern in wanted if not re.search(pattern, texts)]


if __name__ == '__main__':
    sys.exit(house.run([
        ('the types of the package are right', check_types),
        ('the types of the library are made of its introspection', check_made),
        ('a program of users sees the types of an installed copy', check_users),
        ('the types have no names of their own', check_names),
    ]))
