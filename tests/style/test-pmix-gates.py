#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The header of the library's abilities has a row for each, and says what the build has found; and all that includes libpmix compiles with
the headers of Debian 13 and of the release after it, too. Usage: test-pmix-gates.py BUILD-DIR"""

import concurrent.futures
import functools
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import urllib.request

import house

GATES = 'daemon/pmix/dvmd-pmix-gates.h'
BUILD = 'daemon/pmix/meson.build'
USER = 'daemon/pmix/dvmd-pmix-upcalls.c'
WORDS = 'daemon/pmix/dvmd-pmix-abilities.c'
MAN = 'cli/man/dvm-cli-info.1'
ABILITY = r'(?:HAVE_PMIX|DVMD_PMIX_HAS)_\w+'
WRONG = 'tests/style/examples/wrong-newer-pmix.c'
MESON = '/usr/bin/meson' if os.path.exists('/usr/bin/meson') else 'meson'

# The headers of releases that this system need not have: version, package, its sha256. One package for all processors: only its headers are used.
POOL = 'pool/main/p/pmix/'
NEWER = [
    ('5.0.7', 'libpmix-dev_5.0.7-1_amd64.deb', '125cf8bfaa17725aaa0ee2bffbeadd3f37f984859772962cbe9124bba7b3ec61'),
    ('7.0.0', 'libpmix-dev_7.0.0~rc1-2_amd64.deb', '1967964f93fc89618785d26e4924c2cf7d1634124aa5164e29274b25ea16998c'),
]
HEADERS = 'usr/lib/x86_64-linux-gnu/pmix2/include'
PC_FILE = 'usr/lib/x86_64-linux-gnu/pkgconfig/pmix.pc'


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


def asked_of_pmix(variable):
    return subprocess.run(['pkg-config', variable, 'pmix'], capture_output=True, text=True, check=True).stdout.strip()


def installed_version():
    """Debian's packages say 4.2.2rc2 and 5.0.7a1."""
    return re.match(r'[\d.]+\d', asked_of_pmix('--modversion'))[0]


def read_commands(build_dir):
    with open(os.path.join(build_dir, 'compile_commands.json'), encoding='utf-8') as file:
        return json.load(file)


def compiler_of(entry):
    """What compiles a file that is named behind it, without what it writes."""
    command = shlex.split(entry['command'])
    return command[:next(n for n, word in enumerate(command) if word in ('-MD', '-o', '-c'))]


def find_abilities(compiler, path, directory):
    """What is defined, by the compiler, for a file that includes the header."""
    macros = subprocess.run([*compiler, '-E', '-dM', path], cwd=directory, capture_output=True, text=True, check=True)
    return set(re.findall(rf'^#define ({ABILITY})\b', macros.stdout, re.MULTILINE))


def test_table():
    rows = read_table(house.read(GATES))
    known = abilities(house.read(GATES), house.read(BUILD))
    if len(known) < 8:
        return [f'{GATES} and {BUILD} do not have their abilities where this test looks for them: {sorted(known)}']
    entry = next(entry for entry in read_commands(sys.argv[1]) if entry['file'].endswith(USER))
    return compare(rows, known, installed_version(), find_abilities(compiler_of(entry), entry['file'], entry['directory']))


def missing_words(known, words, man):
    """An ability has a row with a word for people, and the word a place in the man page."""
    rows = dict(re.findall(r'^  ABILITY \("([\w-]+)", (\w+)\)', words, re.MULTILINE))
    problems = [f'{WORDS}: there is no word for {name}' for name in sorted(known - set(rows.values()))]
    problems += [f'{WORDS}: {name} is no ability' for name in sorted(set(rows.values()) - known)]
    told = {word.replace('\\-', '-') for word in re.findall(r'^\\fB([\w\\-]+)\\fR$', man, re.MULTILINE)}
    return problems + [f'{MAN}: --pmix has no word {word}' for word in sorted(set(rows) - told)]


def test_words():
    return missing_words(abilities(house.read(GATES), house.read(BUILD)), house.read(WORDS), house.read(MAN))


def fetch_package(package):
    """From the mirror that apt uses, or else from Debian's."""
    if not shutil.which('dpkg-deb'):
        raise house.Skip('there is no dpkg-deb, which unpacks the headers')
    listed = subprocess.run(['grep', '-rhoE', 'https?://[^ ]+/debian/?( |$)', '/etc/apt/sources.list', '/etc/apt/sources.list.d'],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout.split()
    problem = None
    # Twice: a busy name server does not always answer.
    for mirror in 2 * list(dict.fromkeys([*(mirror.rstrip('/') for mirror in listed), 'http://deb.debian.org/debian'])):
        try:
            with urllib.request.urlopen(f'{mirror}/{POOL}{package}', timeout=10) as answer:
                return answer.read()
        except OSError as error:
            problem = f'{mirror}/{POOL}{package} cannot be fetched: {error}'
    raise house.Skip(problem)


class Newer:
    """The headers of a newer release, unpacked, and what the build finds in them."""

    def __init__(self, place, version, package, sha256):
        self.version = version
        content = fetch_package(package)
        if hashlib.sha256(content).hexdigest() != sha256:
            raise ValueError(f'{package} of the mirror is not the one that this test knows: its sha256 is not {sha256}')
        root = os.path.join(place, 'root')
        deb = os.path.join(place, 'package.deb')
        with open(deb, 'wb') as file:
            file.write(content)
        subprocess.run(['dpkg-deb', '-x', deb, root], check=True)
        self.headers = os.path.join(root, HEADERS)
        self.found = os.path.join(place, 'project', 'build')
        self.before = self.ask(root, os.path.dirname(self.found))
        self.build_dir = sys.argv[1]

    def ask(self, root, project):
        """The first part of meson.build as a project of its own; answers which files it takes for this library."""
        head, mark, _ = house.read(BUILD).partition("pmix_config_h = configure_file(output: 'dvmd-pmix-config.h', configuration: pmix_config)\n")
        if not mark:
            raise ValueError(f'{BUILD} does not write its header where this test looks for that')
        os.makedirs(project)
        with open(os.path.join(project, 'meson.build'), 'w', encoding='utf-8') as file:
            file.write("project('abilities', 'c', default_options: 'c_std=gnu11')\ncc = meson.get_compiler('c')\npmix_dep = dependency('pmix')\n")
            file.write(re.sub(r'\bfiles\(([^()]*)\)', r'[\1]', head) + mark)
            file.write("message('files: ' + ' '.join(dvmd_pmix_before_sources))\n")
        with open(os.path.join(root, PC_FILE), encoding='utf-8') as file:
            text = file.read()
        with open(os.path.join(project, 'pmix.pc'), 'w', encoding='utf-8') as file:
            file.write(text.replace('=/usr/', f'={root}/usr/'))
        told = subprocess.run([MESON, 'setup', self.found, project], env=os.environ | {'PKG_CONFIG_PATH': project}, capture_output=True, text=True)
        listed = re.search(r'files: (.+)', told.stdout)
        if told.returncode or not listed:
            raise ValueError(f'the first part of {BUILD} is no project of its own: {told.stdout}{told.stderr}')
        return listed[1].split()

    def compiler(self, entry):
        """With the newer headers for those that are installed, and what the build finds in them."""
        installed = asked_of_pmix('--variable=includedir')
        folders = {f'-I{installed}{below}': f'-I{self.headers}{below}' for below in ('', '/pmix', '/..')}
        words = [folders.get(word, word) for word in compiler_of(entry)]
        first = next(n for n, word in enumerate(words) if word.startswith('-I'))
        return [*words[:first], f'-I{self.found}', *words[first:]]

    def commands(self):
        """(path, command, directory) of each file that includes a header of the library."""
        users = objects_with(self.build_dir, asked_of_pmix('--variable=includedir') + '/')
        entries = {os.path.basename(entry['file']): entry for entry in read_commands(self.build_dir) if entry['output'] in users}
        like = entries[self.before[0]]
        replaced = set(re.findall(r"'([\w-]+-intercept\.c)'", house.read(BUILD))) - set(self.before)
        for name in self.before:
            entries.setdefault(name, like | {'file': os.path.join(os.path.dirname(like['file']), name)})
        return [(entry['file'], self.compiler(entry), entry['directory']) for name, entry in sorted(entries.items()) if name not in replaced]


def objects_with(build_dir, headers):
    """The objects that were made from one of these headers."""
    told = subprocess.run(['ninja', '-C', build_dir, '-t', 'deps'], capture_output=True, text=True, check=True).stdout
    return {block.partition(':')[0] for block in re.sub(r'\Aninja: Entering.*\n', '', told).split('\n\n') if f' {headers}' in block}


def compile_file(version, path, compiler, directory):
    """What the compiler complains of."""
    told = subprocess.run([*compiler, '-Werror', '-fdiagnostics-color=never', '-fsyntax-only', path], cwd=directory, capture_output=True, text=True)
    return [f'{path} does not compile with libpmix {version}: {told.stderr.strip()}'.replace('\n', '\n#   ')] if told.returncode else []


def compile_with(newer):
    commands = newer.commands()
    names = {os.path.basename(path) for path, _, _ in commands}
    problems = [f'{name} is not among what is compiled with libpmix {newer.version}' for name in (os.path.basename(USER), *newer.before) if name not in names]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
        for complaints in threads.map(lambda command: compile_file(newer.version, *command), commands):
            problems += complaints
    path, compiler, directory = next(command for command in commands if command[0].endswith(newer.before[0]))
    problems += compare(read_table(house.read(GATES)), abilities(house.read(GATES), house.read(BUILD)), newer.version, find_abilities(compiler, path, directory))
    if 'incompatible pointer type' not in ''.join(compile_file(newer.version, os.path.join(house.TOP, WRONG), compiler, directory)):
        problems.append(f'the mistake of {WRONG} is not found with libpmix {newer.version}')
    return problems


def test_newer(version, package, sha256):
    """Where the build has an older library."""
    if [int(part) for part in installed_version().split('.')] >= [int(part) for part in version.split('.')]:
        raise house.Skip(f'the build has libpmix {installed_version()}')
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as place:
        try:
            return compile_with(Newer(place, version, package, sha256))
        except ValueError as error:
            return [str(error)]


def test_wrong():
    """What the test must find."""
    rows = read_table(' *      4.2.2  5.0.7\n *   HAVE_PMIX_A  yes  no   with a reason\n *   HAVE_PMIX_B  no  no\n')
    cases = [({'HAVE_PMIX_A', 'HAVE_PMIX_B'}, '4.2.2', {'HAVE_PMIX_A'}, 0), ({'HAVE_PMIX_A', 'HAVE_PMIX_B'}, '5.0.7', {'HAVE_PMIX_A'}, 1),
             ({'HAVE_PMIX_A', 'HAVE_PMIX_B'}, '4.2.2', set(), 1), ({'HAVE_PMIX_A'}, '4.2.2', {'HAVE_PMIX_A'}, 1),
             ({'HAVE_PMIX_A', 'HAVE_PMIX_B', 'HAVE_PMIX_C'}, '6.0.0', set(), 1)]
    words, man = '  ABILITY ("a-word", HAVE_PMIX_A),\n', '\\fBa\\-word\\fR\n'
    named = [({'HAVE_PMIX_A'}, man, 0), ({'HAVE_PMIX_A', 'HAVE_PMIX_B'}, man, 1), (set(), man, 1), ({'HAVE_PMIX_A'}, '', 1)]
    return ([f'{case} has not {case[-1]} problems' for case in cases if len(compare(rows, *case[:-1])) != case[-1]]
            + [f'{known} with “{page}” has not {n} problems' for known, page, n in named if len(missing_words(known, words, page)) != n])


if __name__ == '__main__':
    sys.exit(house.run([
        ('the table of abilities is true', test_table),
        ('each ability has a word that dvm-cli info tells', test_words),
        ('wrong tables are found', test_wrong),
        *((f'the sources compile with libpmix {release[0]}, and the table is true for it', functools.partial(test_newer, *release)) for release in NEWER),
    ]))
