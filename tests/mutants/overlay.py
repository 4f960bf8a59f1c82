# SPDX-License-Identifier: LGPL-2.1-or-later
"""A build directory beside the build directory, in which one file of the sources is another.

All that is built is there as a hard link; what depends on the changed file is compiled and linked anew, by the commands
of ninja with other names in them. Neither the sources nor the build directory change.
"""

import functools
import json
import os
import re
import shutil
import subprocess

from mutants import ROOT

# Of what ninja makes: parts of it, which are named in the commands that put them together.
PARTS = ('.o', '.a')
# A mistake may leave a variable without a use, and no pointer of another type: the test would see that crash alone.
QUIET = '-w -Werror=incompatible-pointer-types -Werror=int-conversion'


class Broken(Exception):
    """The mutant cannot be compiled."""


def run(command, place, text=None):
    result = subprocess.run(command, shell=True, cwd=place, input=text, capture_output=True, text=True, errors='replace')
    if result.returncode != 0:
        raise Broken(result.stderr.strip()[-2000:])


# Python is not compiled: the build has copies, which the tests find.
PYTHON = {'introspection/python/dvm': 'introspection/python/dvm', 'introspection/overrides': 'introspection/overrides/gi/overrides',
          'introspection/monitor/dvm_monitor': 'introspection/monitor/dvm_monitor'}


def copy_of(file):
    """Where the build has the copy of a Python file."""
    return os.path.join(PYTHON[os.path.dirname(file)], os.path.basename(file))


class Build:
    """What ninja would do, and what meson would run."""

    def __init__(self, path):
        self.path = os.path.abspath(path)
        text = subprocess.run(['ninja', '-C', self.path, '-t', 'compdb'], check=True, capture_output=True, text=True).stdout
        self.edges = {edge['output']: edge for edge in json.loads(text)}
        self.tests = {test['name']: test for test in self._info('tests')}
        self.targets = {target['id']: target['filename'] for target in self._info('targets')}
        self.compiled = {}
        for output, edge in self.edges.items():
            if output.endswith('.o'):
                self.compiled.setdefault(os.path.realpath(os.path.join(self.path, edge['file'])), []).append(output)

    def _info(self, what):
        with open(os.path.join(self.path, 'meson-info', f'intro-{what}.json'), encoding='utf-8') as file:
            return json.load(file)

    @functools.lru_cache(maxsize=None)
    def inputs(self, output):
        words = re.findall(r'''[^\s'"]+''', self.edges[output]['command'])
        return [word for word in dict.fromkeys(words) if word != output and word in self.edges]

    def affected(self, output, objects, found):
        """Whether the output has one of the objects in it; what has is put into found, in the order to make it."""
        if output in found:
            return True
        hits = [self.affected(name, objects, found) for name in self.inputs(output) if not name.endswith('.o')]
        inputs = self.inputs(output)
        parts = [name for name, hit in zip((n for n in inputs if not n.endswith('.o')), hits) if hit and name.endswith('.a')]
        parts += [name for name in inputs if name in objects]
        if parts:
            found[output] = None
        return bool(parts)

    def to_make(self, file, test):
        """What has to be made anew for the test when the file changes: objects, and what they are linked into."""
        objects = set(self.compiled.get(os.path.join(ROOT, file), []))
        found = {}
        for target in self.tests[test]['depends']:
            for name in self.targets[target]:
                output = os.path.relpath(name, self.path)
                if output in self.edges:
                    self.affected(output, objects, found)
        used = {name for output in found for name in self.inputs(output)} & objects
        return sorted(used), list(found)

    def check(self, mutant):
        """Raises Broken when what the mutant makes of its file is no C. Nothing is written, and nothing is linked."""
        if mutant.file.endswith('.py'):
            try:
                compile(mutant.applied(), mutant.file, 'exec')
            except SyntaxError as error:
                raise Broken(str(error)) from error
            return
        objects = self.compiled.get(os.path.join(ROOT, mutant.file), [])
        if not objects:
            raise Broken(f'nothing is compiled of {mutant.file}')
        edge = self.edges[objects[0]]
        command = edge['command'].replace(f'-c {edge["file"]}', '-x c -')
        command = re.sub(r' -M[QF] \S+| -MD|-Werror\b| -o \S+', '', command)
        run(f'{command} -fsyntax-only -iquote {os.path.dirname(os.path.join(ROOT, mutant.file))} {QUIET}', self.path, mutant.applied())


class Overlay:
    def __init__(self, build, path):
        self.build, self.path = build, path
        self.made = []
        for folder, folders, names in os.walk(build.path):
            folders[:] = [name for name in folders if not name.endswith('.p') and not name.startswith(('meson-', 'mutants-'))]
            inside = os.path.relpath(folder, build.path)
            os.makedirs(os.path.join(path, inside), exist_ok=True)
            for name in names:
                if not name.endswith(PARTS) and not name.startswith(('.ninja', 'build.ninja', 'compile_commands')):
                    self._link(os.path.normpath(os.path.join(inside, name)))

    def _link(self, name):
        source, target = os.path.join(self.build.path, name), os.path.join(self.path, name)
        try:
            os.link(source, target, follow_symlinks=False)
        except OSError:
            shutil.copy2(source, target, follow_symlinks=False)

    def restore(self):
        for name in self.made:
            path = os.path.join(self.path, name)
            if os.path.lexists(path):
                os.unlink(path)
            if not name.endswith(PARTS):
                self._link(name)
        self.made = []

    def _command(self, output, made):
        """That of ninja with the paths of the overlay; all are absolute, for the thin archives' sake."""
        edge, inputs = self.build.edges[output]['command'], self.build.inputs(output)
        names = sorted((re.escape(name) for name in {output, *inputs}), key=len, reverse=True)

        def place(match):
            return os.path.join(self.path if match.group(1) in made else self.build.path, match.group(1))
        return re.sub(r'(?<![\w./$-])(' + '|'.join(names) + r')(?![\w./-])', place, edge)

    def _compile(self, output, file, source):
        edge = self.build.edges[output]
        command = edge['command'].replace(f'-c {edge["file"]}', f'-c {source}')
        command = re.sub(r' -M[QF] \S+| -MD|-Werror\b', '', command)
        command = re.sub(r'(?<= -o )\S+', os.path.join(self.path, output), command)
        # Whether it is quick does not matter: it runs once.
        run(f'{command} -iquote {os.path.dirname(os.path.join(ROOT, file))} {QUIET} -O0 -g0 -U_FORTIFY_SOURCE', self.build.path)

    def _replace_copy(self, mutant):
        self.made = [copy_of(mutant.file)]
        path = os.path.join(self.path, self.made[0])
        os.unlink(path)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(mutant.applied())

    def make(self, mutant):
        """Puts the mistake in; what is named by the test is the mutant from now on."""
        if mutant.file.endswith('.py'):
            self._replace_copy(mutant)
            return
        objects, outputs = self.build.to_make(mutant.file, mutant.test)
        if not objects:
            raise Broken(f'{mutant.test} has nothing of {mutant.file} in it')
        self.made = objects + outputs
        source = os.path.join(self.path, os.path.basename(mutant.file))
        with open(source, 'w', encoding='utf-8') as file:
            file.write(mutant.applied())
        for name in self.made:
            path = os.path.join(self.path, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            # The link, never what it is a link of.
            if os.path.lexists(path):
                os.unlink(path)
        for name in objects:
            self._compile(name, mutant.file, source)
        for name in outputs:
            run(self._command(name, self.made), self.build.path)

    def translate(self, text):
        """What is said of the build directory, said of this one."""
        return re.sub(re.escape(self.build.path) + r'(?=$|[/:])', self.path, text)
