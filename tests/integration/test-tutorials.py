#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tutorials: each is followed in a shell, and what it prints is what the page says.

A block of code whose first line has a name behind the language (```python study.py) is a file. In a block "console" lines that begin with "$ " are
typed, lines that begin with "> " go on with them, and the others are printed: "…" stands for anything in a line, and alone for any lines. A
command ends well, unless the next one is "echo $?".
"""

import os
import re
import select
import shutil
import signal
import subprocess

import dvmtest
import leftovers
import slurm
from dvmtest import LIMIT, wait_until

SOURCE = os.environ['DVM_TEST_SOURCE']
BUILD = os.environ['DVM_TEST_BUILD']
LONG = os.environ.get('DVM_TEST_SOAK') == '1'
FENCE = re.compile(r'^```(\w+)(?: (\S+))?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
PROMPT = re.compile(r'<prompt (\d+)>')
# What bash says of itself where its input is no terminal.
NO_TERMINAL = re.compile(r'^bash: (?:cannot set terminal process group|no job control).*\n', re.MULTILINE)


def soak(test):
    """Of a test that takes seconds: it is there with DVM_TEST_SOAK=1 alone."""
    return test if LONG else None


def read_page(name):
    with open(os.path.join(SOURCE, 'docs', 'tutorials', name), encoding='utf-8') as file:
        return FENCE.findall(file.read())


def split_console(text):
    """(command, lines that it prints), each."""
    steps = []
    for line in text.splitlines():
        if line.startswith('$ '):
            steps.append([line[2:], []])
        elif line.startswith('> ') and steps and not steps[-1][1]:
            steps[-1][0] += '\n' + line[2:]
        else:
            steps[-1][1].append(line)
    return steps


def is_said(lines, printed):
    """Whether a page that has these lines shows what was printed."""
    pattern = ''
    for line in lines:
        words = [re.sub(r'(?:\\ )+', ' +', re.escape(part)) for part in line.rstrip().split('…')]
        pattern += r'(?:[^\n]*\n)*' if line.strip() == '…' else '[^\n]*'.join(words) + ' *\n'
    return re.fullmatch(pattern, printed) is not None


class Shell:
    """A shell with a prompt behind which the next command is typed, and not before."""

    def __init__(self, home, environment):
        path = os.path.join(home, 'shell')
        with open(path, 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\nexec bash --norc --noprofile --noediting -i\n')
        os.chmod(path, 0o700)
        self.process = subprocess.Popen([path], cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        env={**environment, 'SHELL': path, 'PS1': '<prompt $?>', 'PS2': '', 'HISTFILE': ''}, start_new_session=True)
        self.text = ''
        self.answer()

    def answer(self):
        """What is printed until the prompt, and the status of the command before."""
        while True:
            found = PROMPT.search(self.text)
            if found:
                printed, self.text = self.text[:found.start()], self.text[found.end():]
                return NO_TERMINAL.sub('', printed), int(found.group(1))
            if not select.select([self.process.stdout], [], [], LIMIT)[0]:
                raise AssertionError(f'no prompt within {LIMIT} s: {self.text}')
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                raise AssertionError(f'the shell has ended: {self.text}')
            self.text += data.decode()

    def type(self, command):
        self.process.stdin.write(command.encode() + b'\n')
        self.process.stdin.flush()
        return self.answer()

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Case(dvmtest.Case):
    """A home of its own, whose processes have its mark."""

    def setUp(self):
        super().setUp()
        self.home = self.place()
        self.mark = f'DVM_TEST_MARK={os.path.basename(self.home)}'
        os.mkdir(os.path.join(self.home, 'run'), 0o700)
        # Interfaces of a machine that come and go confuse Open MPI; what it does with them is no matter of ours.
        self.environment = {**os.environ, 'OMPI_MCA_btl_tcp_if_include': 'lo', 'XDG_RUNTIME_DIR': os.path.join(self.home, 'run'), 'HOME': self.home, 'XDG_STATE_HOME': self.home,
                            'XDG_CONFIG_HOME': self.home, 'TMPDIR': self.home, 'DVM_TEST_MARK': os.path.basename(self.home), 'TERM': 'dumb',
                            'DVM_BUS': 'none', 'LC_ALL': 'C.UTF-8', 'PATH': f'{BUILD}/cli:/usr/bin:/bin:/usr/sbin:/sbin',
                            'DBUS_SESSION_BUS_ADDRESS': f'unix:path={self.home}/no-bus', 'DBUS_SYSTEM_BUS_ADDRESS': f'unix:path={self.home}/no-bus'}
        for name in ('DVM_SOCKET', 'DVM_NAME', 'G_DEBUG'):
            self.environment.pop(name, None)

    def processes(self):
        return [pid for pid in leftovers.find_processes([self.mark.encode()]) if leftovers.is_running(pid)]

    def clear(self):
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
        super().clear()

    def write(self, name, text, mode=0o600):
        path = os.path.join(self.home, name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        os.chmod(path, mode)

    def follow(self, page, least, **environment):
        """least: so many commands are typed at least."""
        shell = Shell(self.home, {**self.environment, **environment})
        self.addCleanup(shell.end)
        count = 0
        for language, name, text in read_page(page):
            if name:
                self.write(name, text)
            if language != 'console':
                continue
            steps = split_console(text)
            for number, (command, lines) in enumerate(steps, 1):
                printed, status = shell.type(command)
                fails = number < len(steps) and steps[number][0] == 'echo $?'
                self.assertTrue(is_said(lines, printed), f'{page}: “{command}” prints:\n{printed}\nand the page has:\n' + '\n'.join(lines))
                self.assertTrue((status != 0) == fails, f'{page}: “{command}” ends with {status}:\n{printed}')
                count += 1
        self.assertGreaterEqual(count, least)
        wait_until(lambda: not [pid for pid in self.processes() if pid != shell.process.pid], 'the processes of the DVM to end')


class Reader(dvmtest.Case):
    def test_compares(self):
        for lines, printed, right in ((['a … c'], 'a b c\n', True), (['a … c'], 'a b\n', False), (['a', '…', 'c'], 'a\nb\nb\nc\n', True),
                                      (['a  b'], 'a     b\n', True), ([], 'a\n', False), (['…'], '', True), (['a'], 'a\nb\n', False), (['a+'], 'aa\n', False)):
            self.assertEqual(is_said(lines, printed), right, (lines, printed))
        self.assertEqual(split_console('$ a\n> b\nc\n$ d\n'), [['a\nb', ['c']], ['d', []]])

    def test_all_pages(self):
        """Each page of the folder is followed by a test of this program."""
        pages = {name for name in os.listdir(os.path.join(SOURCE, 'docs', 'tutorials')) if name != 'README.md'}
        with open(__file__, encoding='utf-8') as file:
            followed = set(re.findall(r"follow\('([^']+)'", file.read()))
        self.assertEqual(pages - followed, set())


class Tutorials(Case):
    def test_first_hour(self):
        if shutil.which('mpicc.openmpi') is None:
            self.skipTest('no Open MPI here')
        self.follow('first-hour.md', 20)

    def test_readme(self):
        if not os.path.exists(os.environ.get('DVM_TEST_RING', '')):
            self.skipTest('no Open MPI here')
        shutil.copy(os.environ['DVM_TEST_RING'], self.home)
        self.follow('../../README.md', 5)

    @soak
    def test_parameter_study(self):
        self.follow('parameter-study.md', 4)

    @soak
    def test_elastic_job(self):
        self.follow('elastic-job.md', 16)

    @soak
    def test_slurm(self):
        absence = slurm.explain_absence()
        if absence is not None:
            self.skipTest(absence)
        cluster = slurm.Slurm(('n1', 'n2', 'n3'))
        self.addCleanup(cluster.stop)
        # The shell of salloc is the login shell, which has no prompt without a terminal.
        os.mkdir(os.path.join(self.home, 'bin'))
        self.write('bin/salloc', f'#!/bin/sh\nexec {shutil.which("salloc")} "$@" {self.home}/shell\n', 0o700)
        self.follow('slurm.md', 14, SLURM_CONF=cluster.configuration, PATH=f'{self.home}/bin:{self.environment["PATH"]}')


if __name__ == '__main__':
    dvmtest.main()
