#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A function of the daemons or of the command line that other files can call is called by some part of the product. Those that
tests alone call are listed in for-tests.txt, which becomes shorter, never longer. What plugins of others may call is used.

    test-unused.py --print     the functions that no product file uses
"""

import collections
import re
import sys

import house

LIST = 'tests/style/for-tests.txt'
PLUGIN_MAP = 'daemon/plugin/libdvmd-plugin.map'
DEFINITION = re.compile(r'^(?P<type>[^\n]*)\n(?P<name>_?dvm\w+) \(', re.MULTILINE)
WORD = re.compile(r'\b_?dvm\w+\b')


def definitions(text):
    return {match['name'] for match in DEFINITION.finditer(text) if not match['type'].startswith('static')}


def find_unused(texts):
    """texts: path -> C text without comments. The functions of which there is only one definition and its prototype."""
    words = {path: collections.Counter(WORD.findall(text)) for path, text in texts.items()}
    total = sum(words.values(), collections.Counter())
    headers = sum((counts for path, counts in words.items() if path.endswith('.h')), collections.Counter())
    return {name for path, text in texts.items() if path.endswith('.c') for name in definitions(text)
            if total[name] - min(headers[name], 1) <= 1}


def unused():
    texts = {path: house.strip_comments(house.read(path)) for path in house.files(('.c', '.h'), ('daemon/', 'cli/'))}
    return find_unused(texts) - set(WORD.findall(house.read(PLUGIN_MAP)))


def listed():
    return {line for line in house.read(LIST).splitlines() if line and not line.startswith('#')}


def test_used():
    return [f'{name} is used by no product file: remove it' for name in sorted(unused() - listed())]


def test_list():
    tests = set(WORD.findall('\n'.join(house.read(path) for path in house.files(('.c', '.h'), ('tests/',)))))
    return ([f'{LIST} names {name}, which the product uses, or which is not there any more' for name in sorted(listed() - unused())]
            + [f'{LIST} names {name}, which no test uses either' for name in sorted(listed() - tests)])


def test_finds_the_wrong():
    texts = {'a.h': 'int dvm_used (void);\nint dvm_unused (void);\nint dvm_own (void);\n',
             'a.c': 'int\ndvm_used (void)\n{\n}\n\nint\ndvm_unused (void)\n{\n}\n\nint\ndvm_own (void)\n{\n}\nint x = dvm_own ();\n',
             'b.c': 'static int\ndvm_local (void)\n{\n  return dvm_used ();\n}\n'}
    found = find_unused(texts)
    return [] if found == {'dvm_unused'} else [f'found {found}']


if __name__ == '__main__':
    if sys.argv[1:] == ['--print']:
        print('\n'.join(sorted(unused())))
        sys.exit(0)
    sys.exit(house.run([
        ('each function has a user', test_used),
        ('the list of those that only tests use is right', test_list),
        ('a function without a user is found', test_finds_the_wrong),
    ]))
