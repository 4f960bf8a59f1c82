#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The project's own tools: what tools/check counts, and that the packages are explained."""

import json
import os
import re
import subprocess
import sys
import tempfile

import house

COUNT = os.path.join(house.TOP, 'tools', 'count-tests')

RUNS = [
    ('all good', {'result': 'OK', 'stdout': '1..2\nok 1 a\nok 2 b\n'}, '2 0 0'),
    ('plan at the end', {'result': 'OK', 'stdout': 'ok 1 a\nok 2 b # SKIP no network\n1..2\n'}, '1 0 1'),
    ('a failure', {'result': 'FAIL', 'stdout': '1..3\nok 1 a\nnot ok 2 b\nok 3 c # TODO later\n'}, '2 1 0 x:b'),
    ('an expected failure', {'result': 'OK', 'stdout': '1..1\nnot ok 1 a # TODO later\n'}, '1 0 0'),
    ('a crash after good subtests', {'result': 'ERROR', 'stdout': '1..3\nok 1 a\n'}, '1 1 0 x'),
    ('a crash before the first line', {'result': 'ERROR', 'stdout': ''}, '0 1 0 x'),
    ('a timeout', {'result': 'TIMEOUT', 'stdout': '1..2\nok 1 a\n'}, '1 1 0 x'),
    ('all skipped', {'result': 'SKIP', 'stdout': '1..0 # SKIP not here\n'}, '0 0 1'),
    ('plain program', {'result': 'OK', 'stdout': 'hello\nok\n'}, '1 0 0'),
    ('plain program that fails', {'result': 'FAIL', 'stdout': None}, '0 1 0 x'),
    ('plain program that skips', {'result': 'SKIP'}, '0 0 1'),
]


def count(tests):
    with tempfile.NamedTemporaryFile('w', suffix='.json', encoding='utf-8') as log:
        for test in tests:
            log.write(json.dumps({'name': 'x', 'duration': 0.1, **test}) + '\n')
        log.flush()
        return subprocess.run([COUNT, log.name], capture_output=True, text=True, check=True).stdout.strip()


def test_count():
    results = [(name, count([test]), expected) for name, test, expected in RUNS]
    results.append(('together', count([test for _, test, _ in RUNS]), '9 5 3 x:b x x x x'))
    return [f'{name}: counted {found}, and it is {expected}' for name, found, expected in results if found != expected]


def test_count_without_log():
    found = subprocess.run([COUNT, '/nonexistent'], capture_output=True, text=True, check=True).stdout.strip()
    return [] if found.startswith('0 1 0') else [f'no log at all must be a failure, and is {found}']


def test_failures_are_shown():
    """The words of what failed are shown, those of what passed are not, and a crash shows the end of all."""
    good = ''.join(f'ok {i} good{i}\n# good words\n' for i in range(100))
    bad = 'not ok 101 bad\n# bad words\n'
    with tempfile.NamedTemporaryFile('w', suffix='.json', encoding='utf-8') as log:
        for text in (bad + good, good):
            log.write(json.dumps({'name': 'x', 'duration': 0.1, 'result': 'ERROR', 'stdout': '1..101\n' + text}) + '\n')
        log.flush()
        told = subprocess.run([COUNT, log.name], capture_output=True, text=True, check=True).stderr.split('FAILED: ')
    problems = []
    if 'bad words' not in told[1] or 'good' in told[1]:
        problems.append(f'a subtest that failed early: shown was {told[1]}')
    if 'good99' not in told[2]:
        problems.append(f'a crash: shown was {told[2]}')
    return problems


def run_tool(directory, programs, tool, *arguments, **environment):
    """Runs a tool with programs that are made up, in directory."""
    for name, body in programs.items():
        path = os.path.join(directory, name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\n' + body + '\n')
        os.chmod(path, 0o755)
    return subprocess.run([os.path.join(house.TOP, 'tools', tool), *arguments], capture_output=True, text=True, check=False,
                          env={'PATH': directory + ':/usr/bin:/bin', **environment}, stdin=subprocess.DEVNULL)


def install_deps(directory, installed, uid, *arguments):
    """Runs tools/install-deps with a package system that is made up; apt-get's calls are in directory/apt.log."""
    programs = {
        'dpkg-query': f'case "$4" in {installed}) echo installed ;; *) exit 1 ;; esac',
        'apt-get': f'echo "$*" >>{directory}/apt.log',
        'id': f'echo {uid}',
    }
    return run_tool(directory, programs, 'install-deps', *arguments)


def apt_calls(directory):
    path = os.path.join(directory, 'apt.log')
    if not os.path.exists(path):
        return ''
    with open(path, encoding='utf-8') as file:
        return file.read()


def test_install_deps():
    cases = [
        # what is there, who asks, exit status, said, given to apt-get
        ('*', 1000, 0, 'are there', ''),
        ('*', 0, 0, 'are there', ''),
        ('gcc', 1000, 1, 'only root can install them: libc6-dev', ''),
        ('gcc', 0, 0, 'done', '--no-install-recommends libc6-dev'),
    ]
    problems = []
    for installed, uid, status, said, given in cases:
        with tempfile.TemporaryDirectory() as directory:
            result = install_deps(directory, installed, uid, 'run')
            calls = apt_calls(directory)
            if result.returncode != status or said not in result.stdout + result.stderr:
                problems.append(f'with {installed} there, uid {uid}: ended with {result.returncode} and said: {result.stdout}{result.stderr}')
            if (given not in calls) if given else calls:
                problems.append(f'with {installed} there, uid {uid}: apt-get was called with: {calls}')
    return problems


def test_wrong_options():
    problems = []
    for tool in ('install-deps', 'demo', 'check', 'debian13', 'debian-packages'):
        result = subprocess.run([os.path.join(house.TOP, 'tools', tool), '--no-such'], capture_output=True, text=True, check=False,
                                stdin=subprocess.DEVNULL)
        if result.returncode == 0 or 'usage' not in result.stderr or '--no-such' not in result.stderr:
            problems.append(f'tools/{tool} --no-such ended with {result.returncode} and said: {result.stderr}')
    return problems


DEBOOTSTRAP = 'mkdir -p "$3/etc" "$3/dev" "$3/usr/sbin"; echo made "$2" >>"$0.calls"'
# What the tool has run in the root is in unshare.calls; only root could do it.
UNSHARE = 'while :; do case $1 in --propagation) shift 2 ;; --*) shift ;; *) break ;; esac; done; ' \
    'case $1 in debootstrap) exec "$@" ;; esac; shift 4; echo "$*" >>"$0.calls"; cat; exit 3'


def read_calls(directory, name):
    path = os.path.join(directory, name + '.calls')
    if not os.path.exists(path):
        return []
    with open(path, encoding='utf-8') as file:
        return file.read().splitlines()


def test_debian13():
    """It tells why it cannot make a root, empties no folder but its own, hands all arguments on, and ends with the status of what it has run."""
    problems = []

    def expect(what, true, result):
        if not true:
            problems.append(f'{what}: ended with {result.returncode} and said: {result.stdout}{result.stderr}')

    with tempfile.TemporaryDirectory() as directory:
        root = os.path.join(directory, 'root')
        programs = {'id': 'echo 0', 'debootstrap': 'mkdir "$3/etc"; echo no such host; exit 1', 'unshare': UNSHARE, 'mktemp': f'mkdir {root}; echo {root}'}
        result = run_tool(directory, {**programs, 'id': 'echo 1000'}, 'debian13', 'true', DVM_DEBIAN13=root)
        expect('another user', result.returncode == 1 and 'only root' in result.stderr and not os.path.exists(root), result)
        result = run_tool(directory, programs, 'debian13', 'true')
        expect('no mirror', result.returncode == 1 and 'no such host' in result.stderr and 'be reached?' in result.stderr, result)
        expect('what was begun is removed', not os.path.exists(root), result)
        result = run_tool(directory, programs, 'debian13', 'true', DVM_DEBIAN13=root)
        expect('what was begun is removed from a folder', result.returncode == 1 and os.listdir(root) == [], result)

        programs['debootstrap'] = DEBOOTSTRAP
        for arguments, run in (('check', '--soak'), 'tools/check --soak'), (('sh', '-c', 'true'), 'sh -c true'), (('demo',), 'tools/demo'), ((), 'tools/demo'):
            result = run_tool(directory, programs, 'debian13', *arguments, DVM_DEBIAN13=root)
            calls = read_calls(directory, 'unshare')
            expect(f'{arguments} runs {run}', result.returncode == 3 and calls[-1:] == [f'{root} {run}'], result)
        expect('nothing runs after what failed', len(calls) == 4, result)
        expect('one root is enough', read_calls(directory, 'debootstrap') == ['made trixie'], result)
        result = run_tool(directory, programs, 'debian13', '--suite', 'forky', 'true', DVM_DEBIAN13=root)
        expect('a root of another release', result.returncode == 1 and 'nor a Debian forky' in result.stderr, result)
        result = run_tool(directory, programs, 'debian13', '--suite', 'forky', 'true', DVM_DEBIAN13=root + '-forky')
        calls = read_calls(directory, 'unshare')
        expect('a newer release', result.returncode == 3 and calls[-1:] == [f'{root}-forky true'], result)
        expect('each release has its root', read_calls(directory, 'debootstrap') == ['made trixie', 'made forky'], result)
        result = run_tool(directory, programs, 'debian13', '--suite', '../etc', 'true', DVM_DEBIAN13=root)
        expect('no name of a release', result.returncode == 1 and 'no name of a release' in result.stderr, result)
        expect('the sources are there', os.path.exists(os.path.join(root, 'dvm', 'tools', 'debian13')), result)

        os.unlink(os.path.join(root, 'etc', 'dvm-debian13'))
        result = run_tool(directory, programs, 'debian13', 'true', DVM_DEBIAN13=root)
        expect('a folder of others', result.returncode == 1 and 'name another folder' in result.stderr and os.path.exists(os.path.join(root, 'dvm')), result)
    return problems


def test_processes_of_others():
    """What tools/check ends is of its own pid namespace: the same uid elsewhere is that of another run."""
    functions = re.findall(r'^\w*processes_of \(\) \{\n.*?^\}\n', house.read('tools/check'), re.MULTILINE | re.DOTALL)
    ready, tell = os.pipe()
    begin = f'sleep 1000 & echo $! >&{tell}; wait'
    apart = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--kill-child', 'sh', '-c', begin]
    with subprocess.Popen(apart, pass_fds=[tell], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as there, \
            subprocess.Popen(['sleep', '1000'], stdin=subprocess.DEVNULL) as here:
        os.close(tell)
        with os.fdopen(ready) as told:
            may = told.readline() != ''
        found = subprocess.run(['sh', '-c', ''.join(functions) + f'own_processes_of {os.getuid()}; echo; processes_of {os.getuid()}'], check=True,
                               stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL).stdout
        own, seen = (set(map(int, part.split())) for part in found.split('\n\n'))
        with open(f'/proc/{there.pid}/task/{there.pid}/children', encoding='ascii') as file:
            apart = int((file.read().split() or [0])[0])
        here.kill()
        there.kill()
    problems = [] if here.pid in own else [f'{here.pid} is of this pid namespace, and tools/check would leave it']
    if may and (apart not in seen or apart in own):
        problems.append(f'{apart} is of another pid namespace, and tools/check would {"end" if apart in own else "not see"} it')
    return problems


def list_of_several_users():
    """Programs that skip cases for anybody but root, unless root runs all of their suite."""
    blocks = ''.join(map(house.read, house.files(('meson.build',), ('tests/',)))).split('test(')
    of_hosts = {block.split("'")[1] for block in blocks if "suite: 'hosts'" in block}
    for path in house.files(('.c', '.py'), ('tests/unit/test-', 'tests/integration/test-', 'tests/dbus/test-')):
        folder, name = path.split('/')[1:]
        name = ('' if folder == 'unit' else f'{folder}-') + name.removeprefix('test-').rpartition('.')[0]
        if re.search(r'only root (can|may|makes) |needs (an)?other users?', house.read(path)) and name not in of_hosts:
            yield name


def test_several_users():
    """What an ordinary user skips has a run of its own."""
    words = ' '.join(re.findall(r'^several_users\w*="(.*)"$', house.read('tools/check'), re.MULTILINE)).split()
    found = set(list_of_several_users())
    problems = [f'{name}: tools/check does not run it as root, who alone runs all of its cases' for name in sorted(found - set(words))]
    return problems + [f'{name}: tools/check runs it as root, and it skips nothing for others' for name in sorted(set(words) - found)]


def test_packages_explained():
    listed = subprocess.run([os.path.join(house.TOP, 'tools', 'install-deps'), '--list'], capture_output=True, text=True,
                            check=True).stdout.split()
    explained = set(re.findall(r'`([a-z0-9][a-z0-9.+-]+)`', house.read('docs/dependencies.md')))
    return [f'{package}: docs/dependencies.md does not say why it is needed' for package in listed if package not in explained]


if __name__ == '__main__':
    sys.exit(house.run([
        ('tests are counted', test_count),
        ('the output of what failed is shown', test_failures_are_shown),
        ('a run without a log is a failure', test_count_without_log),
        ('packages are installed only when they are missing', test_install_deps),
        ('wrong options are refused', test_wrong_options),
        ('a Debian 13 is made, used and removed', test_debian13),
        ('processes of other runs are left alone', test_processes_of_others),
        ('cases of several users are run', test_several_users),
        ('each package is explained', test_packages_explained),
    ]))
