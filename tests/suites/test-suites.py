# SPDX-License-Identifier: LGPL-2.1-or-later
"""When a test of a suite has passed, when a failure is believed, and what is refused. The suites themselves run by hand."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'style'))
import house
import sources
from comparison import BOTH_FAIL, BOTH_PASS, HERE_ALONE, THERE_ALONE, Comparison

# status and standard output of a program, what its list wants of it, and whether it has passed
RUNS = [
    ('', 0, ' No Errors\n', True), ('', 0, 'No errors\n\n', True), ('', 0, ' Test Passed\n', True),
    ('', 0, '', False), ('', 1, ' No Errors\n', False), ('', None, ' No Errors\n', False),
    ('', 0, ' Found 3 errors\n', False), ('', 0, ' No Errors\nrank 1: wrong\n', False),
    ('TestStatus', 1, '', True), ('TestStatus', 0, ' No Errors\n', False), ('TestStatus', None, '', False),
    ('TestErrFatal', 10, 'anything\n', True), ('TestErrFatal', 0, '', False),
]
# standard error of two ranks of mpi4py with their status, the number of cases, and those that failed
RAN = 'Ran 7 tests in 0.1s\n'
BAD = 'ERROR: testA (test_x.TestX.testA)\n'
CASES = [
    (0, RAN + '..s' + RAN, 7, set()), (1, BAD + RAN + BAD + RAN, 7, {'x: testA (test_x.TestX.testA)'}), (0, RAN, 7, {'x'}),
    (1, RAN * 2, 7, {'x'}), (None, '', 1, {'x'}),
]
# what happens here and there, run by run (the last one goes on), and where it is counted
COMPARED = [
    ('+', '+', BOTH_PASS), ('-', '-', BOTH_FAIL), ('+', '-', THERE_ALONE), ('-', '+', HERE_ALONE), ('-+', '+', BOTH_PASS),
    ('--+', '+', BOTH_PASS), ('---', '+', HERE_ALONE), ('--', '+-', BOTH_FAIL), ('---', '++-', BOTH_FAIL), ('---+', '+++-', HERE_ALONE),
]


def make_test(judge, np=1, name='x'):
    return sources.Test(name, np, ['x'], '/', 1, judge)


def test_programs():
    found = []
    for wanted, status, out, passed in RUNS:
        n_cases, failed = sources.JUDGES[wanted](make_test(None), status, out, '')
        if (n_cases, failed) != (1, set() if passed else {'x'}):
            found.append(f'{wanted}: status {status} and {out!r} is {failed}')
    return found


def test_cases():
    return [f'status {status} and {err!r} is {sources.judge_cases(make_test(None, 2), status, "", err)}' for status, err, n_cases, failed in CASES
            if sources.judge_cases(make_test(None, 2), status, '', err) != (n_cases, failed)]


class Scripted:
    """A launcher that does what a text of + and - says."""

    def __init__(self, name, script):
        self.name, self.script = name, script

    def run(self, test):
        step, self.script = self.script[0], self.script[1:] or self.script
        return (0, ' No Errors\n', '') if step == '+' else (1, 'wrong\n', '')


def compare(here, there, quick=False):
    """The outcome, and what stands in the table and in the files of failures."""
    text = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(text):
        comparison = Comparison(Scripted('here', here), Scripted('there', there), quick, folder)
        comparison.compare(make_test(sources.judge_output))
        comparison.print_table({'not built': [make_test(None, name='y')]}, 1)
        files = sorted(os.listdir(comparison.folder))
    outcome = [outcome for outcome, names in comparison.names.items() if names] or [BOTH_PASS] * comparison.n_passed
    return outcome, text.getvalue(), files


def test_compared():
    return [f'{here} here and {there} there is {compare(here, there)[0]}' for here, there, outcome in COMPARED if compare(here, there)[0] != [outcome]]


def test_quick():
    found = [] if compare('+', '-', True)[0] == [BOTH_PASS] else ['the other launcher runs what passes here']
    return found + [f'{here} and {there} is not {outcome}' for here, there, outcome in (('-', '-', BOTH_FAIL), ('-', '+', HERE_ALONE))
                    if compare(here, there, True)[0] != [outcome]]


def test_table():
    outcome, text, files = compare('-', '+')
    lines = [' '.join(line.split()) for line in text.splitlines()]
    found = [f'the table has no "{row}": {text}' for row in ('fails here alone 1 x', 'passes both 0', 'not built 1 y') if row not in lines]
    return found if files == ['x.here'] else [*found, f'the files of failures are {files}']


def test_list():
    """A line of testlist"""
    suite = sources.Mpich('openmpi', 'mpirun.openmpi')
    options = types.SimpleNamespace(limit=60, np_max=8)
    words = 'spawn1 4 arg=-n arg=a=b env=A=1=2 timeLimit=10 resultTest=TestStatus nothing'.split()
    test, why = suite.parse('spawn', words, options, '/nowhere')
    wanted = sources.Test('spawn/spawn1 4 -n a=b', 4, ['/nowhere/mpich-by-openmpi/spawn/spawn1', '-n', 'a=b'], '/nowhere/mpich-by-openmpi/spawn', 10,
                          sources.judge_status, {'A': '1=2'})
    found = [] if (test, why) == (wanted, 'not built') else [f'{test}, {why}']
    for line, reason in (('x 9', 'too many ranks'), ('x 2 mem=8', 'wants memory'), ('x 2 xfail=ticket1', 'known to fail')):
        if suite.parse('pt2pt', line.split(), options, '/nowhere')[1] != reason:
            found.append(f'"{line}" is not left out for "{reason}"')
    return found


def test_names():
    tests, left_out = [make_test(None, name='spawn/a 1'), make_test(None, name='spawn/a 2'), make_test(None, name='init/b 1')], {'not built': [make_test(None, name='init/c 1')]}
    found = []
    for only, without, n_chosen, n_left in ((None, None, 3, 1), ('a', None, 2, 0), ('b,c', None, 1, 1), (None, 'a', 1, 2), ('b,c', 'c', 1, 0)):
        chosen, left = sources.choose(tests, left_out, only, without)
        if (len(chosen), len(left)) != (n_chosen, n_left):
            found.append(f'{only}: {chosen}, {left}')
    for only, without, mention in (('a,d', None, 'the name d'), (None, 'e', 'the name e'), ('c', None, 'init/c 1: not built'), ('a', 'a', 'spawn/a 1: not wanted')):
        try:
            found.append(f'{only}: {sources.choose(tests, left_out, only, without)}')
        except RuntimeError as error:
            if mention not in str(error):
                found.append(f'{only}: {error}')
    return found


def test_refused():
    """Usage that is wrong, and a machine that has no build: 2 and a sentence, and nothing is fetched"""
    found = []
    for words, mention in ((['nothing'], 'invalid choice'), (['mpi4py', '--np', '0'], 'invalid positive'), (['mpi4py', '--limit', 'x'], 'invalid positive'),
                           (['mpi4py', '--build', '/nowhere'], 'is no build of dvm' if os.geteuid() == 0 else 'root alone')):
        done = subprocess.run([os.path.join(HERE, 'run'), *words], capture_output=True, text=True, check=False)
        if done.returncode != 2 or mention not in done.stderr and 'in PATH' not in done.stderr:
            found.append(f'{words}: {done.returncode}, {done.stderr}')
    return found


if __name__ == '__main__':
    sys.exit(house.run([
        ('a program has passed as its list wants it', test_programs),
        ('the cases of mpi4py are counted', test_cases),
        ('a failure is believed when it comes three times', test_compared),
        ('the other launcher runs what fails here alone', test_quick),
        ('the table says what differs', test_table),
        ('a line of a list becomes a test', test_list),
        ('tests are chosen by name', test_names),
        ('wrong usage is refused', test_refused),
    ]))
