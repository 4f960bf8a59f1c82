#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Packages: each installed file is in one of them, and they know the options, the libraries and the version of the sources.
Usage: test-packages.py BUILD-DIR"""

import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile

import house

MESON = '/usr/bin/meson' if os.path.exists('/usr/bin/meson') else 'meson'
BUILD = sys.argv[1] if len(sys.argv) > 1 else 'build'
SPEC = 'packaging/dvm.spec'
# What they are below /usr for Meson's ways of a Debian machine.
MACROS = {'_bindir': 'usr/bin', '_prefix': 'usr', '_libdir': 'usr/lib/*', '_sysconfdir': 'etc', '_datadir': 'usr/share', '_mandir': 'usr/share/man',
          '_includedir': 'usr/include', '_unitdir': 'usr/lib/systemd/system', '_userunitdir': 'usr/lib/systemd/user',
          '_sysusersdir': 'usr/lib/sysusers.d', '_tmpfilesdir': 'usr/lib/tmpfiles.d', 'python3_sitelib': 'usr/lib/python3*/dist-packages'}
# Packages that have maintainer scripts alone
EMPTY = {'dvm-mpirun'}
# install-deps has these for programs that run under a DVM, and for the demo; libc6-dev and gcc are build-essential.
NOT_TO_BUILD = {'gcc', 'libc6-dev', 'libopenmpi-dev', 'openmpi-bin', 'dbus-daemon', 'procps', 'elfutils', 'python3-gi'}


def as_in_packages(path, prefix):
    """Where a package has a file that a build for another prefix installs."""
    path = re.sub('^' + re.escape(prefix), 'usr', path)
    path = re.sub('^usr/etc/', 'etc/', path)
    return re.sub('(/python3[^/]*)/site-packages/', r'\1/dist-packages/', path)


def installed():
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([MESON, 'install', '-C', BUILD, '--no-rebuild', '--quiet', '--destdir', place], check=True,
                       stdout=subprocess.DEVNULL)
        found = [os.path.relpath(os.path.join(folder, name), place) for folder, _, names in os.walk(place) for name in names]
    prefix = next(path for path in found if path.endswith('/bin/dvmd'))[:-len('/bin/dvmd')]
    return sorted(as_in_packages(path, prefix) for path in found)


def build_option(name):
    told = subprocess.run([MESON, 'introspect', BUILD, '--buildoptions'], check=True, capture_output=True, text=True).stdout
    return next(option['value'] for option in json.loads(told) if option['name'] == name)


def matches(pattern, path):
    """The pattern names the file, or a folder above it; a star stays in one folder."""
    words, parts = pattern.split('/'), path.split('/')
    return len(words) <= len(parts) and all(fnmatch.fnmatchcase(part, word) for word, part in zip(words, parts))


def file_lists():
    """Each list of debian/ with its patterns."""
    lists = {}
    for path in house.files(('.install', 'not-installed'), ('debian/',)):
        lines = [line.strip() for line in house.read(path).splitlines()]
        lists[path] = [line.replace('${env:UNIT_DIR}', 'usr/lib/systemd/system') for line in lines if line and not line.startswith('#')]
    return lists


def spec_lists():
    """Those of the spec, and what its %install removes."""
    text = house.read(SPEC)
    lists = {}
    for name, body in re.findall(r'^%files *([^\n]*)\n(.*?)(?=^%files|^%changelog)', text, re.MULTILINE | re.DOTALL):
        lines = [re.sub(r'^%(config\(noreplace\)|lang\(\w+\)) ', '', line) for line in body.splitlines()]
        lists[f'{SPEC}: %files {name}'] = [line for line in lines if line and not line.startswith(('%dir ', '%doc ', '%license '))]
    removed = re.findall(r'^rm (.*)$', text, re.MULTILINE)
    lists[f'{SPEC}: rm'] = [word.replace('%{buildroot}', '') for line in removed for word in line.split() if word[0] != '-']
    for name, patterns in lists.items():
        lists[name] = [re.sub(r'%\{(\w+)\}', lambda match: MACROS[match[1]], pattern) for pattern in patterns]
    return lists


def wrong_places(files, lists):
    problems = []
    for path in files:
        homes = [name for name, patterns in lists.items() for pattern in patterns if matches(pattern, path)]
        if len(homes) != 1:
            problems.append(f'{path} is in {" and ".join(homes)}: one line of one package has it' if homes else
                            f'{path} is installed and in no package: see debian/*.install, debian/not-installed and {SPEC}')
    return problems


def unused_patterns(files, lists):
    return [f'{name}: {pattern} matches nothing that is installed' for name, patterns in lists.items() for pattern in patterns
            if not any(matches(pattern, path) for path in files)]


def test_files():
    files = installed()
    problems = []
    for lists in (file_lists(), spec_lists()):
        for name in list(lists):
            # A build may be one without the reference; the names of mpirun are for packages alone.
            if name.endswith('mpirun') or re.search(r'\bdoc\b', name) and not build_option('docs'):
                del lists[name]
            elif not build_option('docs'):
                lists[name] = [pattern for pattern in lists[name] if not pattern.startswith('usr/share/doc/')]
        problems += wrong_places(files, lists) + unused_patterns(files, lists)
    return problems


def control_packages():
    return set(re.findall(r'^Package: (\S+)$', house.read('debian/control'), re.MULTILINE))


def test_control():
    listed = {os.path.basename(path)[:-len('.install')] for path in file_lists() if path.endswith('.install')}
    packages = control_packages() - EMPTY
    return ([f'debian/control has {name}, and there is no debian/{name}.install' for name in sorted(packages - listed)]
            + [f'debian/{name}.install is of no package of debian/control' for name in sorted(listed - packages)])


def test_build_depends():
    listed = subprocess.run([os.path.join(house.TOP, 'tools', 'install-deps'), '--list'], capture_output=True, text=True, check=True).stdout
    run = re.search(r"run_packages='([^']*)'", house.read('tools/install-deps'))[1].split()
    needed = {name for name in run if name in listed.split()} - NOT_TO_BUILD
    paragraph = house.read('debian/control').split('\n\n')[0]
    named = set(re.findall(r'^ ([a-z0-9][a-z0-9.+-]+)', paragraph[paragraph.index('Build-Depends:'):], re.MULTILINE))
    return [f'tools/install-deps installs {name} for the build, and debian/control does not build-depend on it' for name in sorted(needed - named)]


def test_options():
    """What is built only where a library is there is asked for by name: a package does not lose it."""
    options = dict(re.findall(r"^option\('([\w-]+)', type: '(\w+)'", house.read('meson_options.txt'), re.MULTILINE))
    problems = []
    for path in ('debian/rules', SPEC):
        given = dict(re.findall(r'-D([\w-]+)=(\S+)', house.read(path)))
        problems += [f'{path} gives -D{name}, which meson_options.txt does not have' for name in sorted(set(given) - set(options))]
        problems += [f'{path} does not say -D{name}=enabled' for name, kind in sorted(options.items())
                     if kind == 'feature' and given.get(name) != 'enabled']
    return problems


def test_version():
    version = re.search(r"version: '([\d.]+)'", house.read('meson.build'))[1]
    told = {'debian/changelog': re.match(r'dvm \(([^)]*)\)', house.read('debian/changelog'))[1],
            SPEC: re.search(r'^Version: *(\S+)', house.read(SPEC), re.MULTILINE)[1]}
    return [f'{path} has the version {value}, and meson.build has {version}' for path, value in told.items() if value != version]


class Machine:
    """Where maintainer scripts of dvm-mpirun run, with a database of dpkg that says what others have."""

    def __init__(self, place):
        self.place = place
        for folder in ('usr/bin', 'etc/alternatives', 'var/log', 'var/lib/dpkg/alternatives', 'var/lib/dpkg/info', 'var/lib/dpkg/updates'):
            os.makedirs(os.path.join(place, folder))
        for name, text in (('status', ''), ('info/format', '1\n')):
            self.write('var/lib/dpkg/' + name, text)
        self.write('usr/bin/dvm-mpirun', 'ours')

    def write(self, path, text):
        with open(os.path.join(self.place, path), 'w', encoding='utf-8') as file:
            file.write(text)

    def add_open_mpi(self):
        """Its files in the place of what is there, as dpkg does."""
        for name in ('prun', 'prte', 'prterun'):
            path = os.path.join(self.place, 'usr/bin', name)
            if os.path.lexists(path):
                os.unlink(path)
        self.write('usr/bin/prun', 'theirs')
        self.write('usr/bin/prte', 'theirs')
        os.symlink('prte', os.path.join(self.place, 'usr/bin/prterun'))
        self.write('var/lib/dpkg/status', 'Package: openmpi-bin\nStatus: install ok installed\nMaintainer: nobody\nArchitecture: all\n'
                   'Version: 5\nDescription: x\n\n')
        self.write('var/lib/dpkg/info/openmpi-bin.list', '/usr/bin/prun\n/usr/bin/prte\n/usr/bin/prterun\n')

    def remove_open_mpi(self):
        for name in ('prun', 'prte', 'prterun'):
            os.unlink(os.path.join(self.place, 'usr/bin', name))
        self.write('var/lib/dpkg/status', '')
        os.unlink(os.path.join(self.place, 'var/lib/dpkg/info/openmpi-bin.list'))

    def run(self, script, *words):
        path = os.path.join(house.TOP, 'debian', 'dvm-mpirun.' + script)
        done = subprocess.run(['sh', path, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              env={'PATH': '/usr/bin:/bin:/usr/sbin:/sbin', 'DPKG_ROOT': self.place})
        return [] if done.returncode == 0 else [f'{path} {" ".join(words)} ended with {done.returncode} and said: {done.stdout}']

    def whose(self, name):
        """What is there: a link of the alternatives is of the root that it is in."""
        path = os.path.join(self.place, 'usr/bin', name)
        for _ in range(3):
            if os.path.islink(path):
                target = os.readlink(path)
                path = self.place + target if target.startswith('/') else os.path.join(os.path.dirname(path), target)
        return house.read(path) if os.path.exists(path) else None


def test_names():
    """Names that another package has are its own, whichever comes first; the others are ours as long as we are there."""
    problems = []
    for order in ('theirs first', 'ours first', 'theirs goes'):
        with tempfile.TemporaryDirectory() as place:
            machine = Machine(place)
            if order != 'ours first':
                machine.add_open_mpi()
            problems += machine.run('postinst', 'configure')
            if order == 'ours first':
                problems += [f'{name} is not dvm-mpirun' for name in ('mpirun', 'mpiexec', 'prun', 'prte', 'prterun', 'pterm') if machine.whose(name) != 'ours']
                machine.add_open_mpi()
                problems += machine.run('postinst', 'triggered', '/usr/bin/prun') + machine.run('postinst', 'configure', '0')
            elif order == 'theirs goes':
                machine.remove_open_mpi()
                problems += machine.run('postinst', 'triggered', '/usr/bin/prun')
            expected = {'mpirun': 'ours', 'pterm': 'ours', **dict.fromkeys(('prun', 'prte', 'prterun'), 'ours' if order == 'theirs goes' else 'theirs')}
            found = {name: machine.whose(name) for name in expected}
            if found != expected:
                problems.append(f'{order}: the names are {found}')
            problems += machine.run('prerm', 'remove')
            expected = {name: 'theirs' if whose == 'theirs' else None for name, whose in expected.items()}
            found = {name: machine.whose(name) for name in expected}
            if found != expected:
                problems.append(f'{order}: after the end the names are {found}')
    triggers = {f'interest-noawait /usr/bin/{name}' for name in re.search('for name in ([a-z ]+);', house.read('debian/dvm-mpirun.postinst'))[1].split()}
    if not triggers <= set(house.read('debian/dvm-mpirun.triggers').splitlines()):
        problems.append(f'debian/dvm-mpirun.triggers does not have all of {", ".join(sorted(triggers))}')
    return problems


def test_finds_the_wrong():
    lists = {'a': ['usr/bin/x', 'usr/lib/*.so.*', 'usr/share', 'usr/twice', 'usr/twice'], 'b': ['usr/share/b']}
    files = ['usr/bin/y', 'usr/lib/l.so.0', 'usr/lib/deep/l.so.0', 'usr/share/b/c', 'usr/twice']
    problems = []
    found = wrong_places(files, lists)
    if len(found) != 4:
        problems.append(f'four files of the example are in no package, in two, or in one twice, and these are found: {found}')
    found = unused_patterns(files, lists)
    if len(found) != 1 or 'usr/bin/x' not in found[0]:
        problems.append(f'one pattern of the example matches nothing, and these are found: {found}')
    places = [as_in_packages(path, 'opt/d') for path in ('opt/d/bin/dvmd', 'opt/d/etc/dvm/dvm.conf', 'etc/x', 'opt/d/lib/python3.9/site-packages/y')]
    if places != ['usr/bin/dvmd', 'etc/dvm/dvm.conf', 'etc/x', 'usr/lib/python3.9/dist-packages/y']:
        problems.append(f'files of another prefix are looked for at {places}')
    return problems


if __name__ == '__main__':
    sys.exit(house.run([
        ('each installed file is in one package', test_files),
        ('packages and their lists are the same', test_control),
        ('what the build needs is installed for it', test_build_depends),
        ('packages have all that can be left out', test_options),
        ('the version is that of the sources', test_version),
        ('names that another package has stay its own', test_names),
        ('files in no package are found', test_finds_the_wrong),
    ]))
