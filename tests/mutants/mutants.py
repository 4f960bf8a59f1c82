# SPDX-License-Identifier: LGPL-2.1-or-later
"""The mutants of the tree: what each says, and whether the tree still has the text that it replaces.

A mutant is a file NAME.mutant:

    a sentence: what is wrong in it
    statement: L12 E57                     numbers of the specification; or, of what is promised elsewhere,
    promise: docs/security.md: some words  the file that promises it, and words of it
    test: core /core/L12-shutdown          the test of meson, and its case, whose name has the numbers
    unless: leaves-out-names               where needed: what the libpmix (tests/lib/pmix-library.h) must not do that is to notice
    file: daemon/core/dvmd-vm-machine.c
    --- instead of
    text that is there once
    --- there is
    text that takes its place

Those of tests/sim/mutants have no test: the simulation says itself which statement failed.
"""

import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SIM = os.path.join(ROOT, 'tests', 'sim', 'mutants')
NUMBER = r'(?:[LEDRSC]|RP)\d+'
KEYS = ('statement', 'promise', 'test', 'unless', 'file')


class Malformed(Exception):
    pass


def read(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        return file.read()


def numbers_of(name):
    """The numbers that a case carries: /core/L4-L12-order, test_R17_R51_inheritance."""
    return set(re.findall(rf'(?<![A-Za-z0-9]){NUMBER}(?![A-Za-z0-9])', re.sub('_', '-', name)))


class Mutant:
    def __init__(self, path):
        self.path = os.path.relpath(path, ROOT)
        self.is_sim = os.path.dirname(path) == SIM
        self.name = 'sim/' * self.is_sim + os.path.relpath(path, SIM if self.is_sim else HERE)[:-len('.mutant')]
        head, mark, texts = read(path).partition('\n--- instead of\n')
        self.old, middle, self.new = texts.partition('--- there is\n')
        self.sentence, *lines = head.split('\n')
        values = dict(re.fullmatch(r'(\w+): (.+)', line).groups() for line in lines if re.fullmatch(r'(\w+): (.+)', line))
        if not mark or not middle or len(values) != len(lines) or 'file' not in values or not set(values) <= set(KEYS):
            raise Malformed(f'{self.path}: expected a sentence, lines of {", ".join(KEYS)}, “--- instead of” and “--- there is”')
        self.statements = values.get('statement', '').split()
        self.promise = values.get('promise')
        self.unless = values.get('unless')
        self.file = values['file']
        self.test, _, self.case = values.get('test', 'elastic' if self.is_sim else '').partition(' ')

    def applied(self):
        """The file with the mistake in it; None if its text is not there once."""
        text = read(self.file)
        # Whole lines, or a piece of one.
        for old, new in ((self.old, self.new), (self.old[:-1], self.new[:-1])):
            if text.count(old) == 1:
                return text.replace(old, new)
        return None

    def _wrong_promise(self):
        path, _, words = self.promise.partition(': ')
        if not os.path.exists(os.path.join(ROOT, path)):
            return f'there is no {path}'
        plain = re.sub(r'[\s*]+', ' ', read(path))
        return None if re.sub(r'[\s*]+', ' ', words) in plain else f'{path} does not promise “{words}” any more'

    def _wrong_claim(self):
        if not self.statements and not self.promise:
            return 'it breaks no statement and no promise'
        for number in self.statements:
            if not re.fullmatch(NUMBER, number):
                return f'{number} is no number of a statement'
            if not self.is_sim and number not in numbers_of(self.case):
                return f'{self.case} does not claim {number}'
        return self._wrong_promise() if self.promise else None

    def stale(self):
        """Why it is not of this tree, or None."""
        if not os.path.exists(os.path.join(ROOT, self.file)):
            return f'there is no {self.file}'
        if self.applied() is None:
            return f'its text is not once in {self.file}'
        return self._wrong_claim()


def paths():
    for top in (HERE, SIM):
        for folder, _, names in sorted(os.walk(top)):
            for name in sorted(names):
                if name.endswith('.mutant'):
                    yield os.path.join(folder, name)


def all_mutants():
    return [Mutant(path) for path in paths()]


def killed():
    """The numbers of the statements of which there is a mutant."""
    return {number for mutant in all_mutants() for number in mutant.statements}
