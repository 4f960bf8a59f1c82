#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A struct that many files share has few members: what one concern needs is in a struct of that concern. Those that are larger are
listed in large-structs.txt with their size, and become smaller, never larger.

    test-structs.py --print     the largest structs, for that list
"""

import re
import sys

import house

LIST = 'tests/style/large-structs.txt'
FOLDERS = ('daemon/controller/', 'daemon/agent/', 'daemon/core/', 'daemon/bus/')
LIMIT = 24
STRUCT = re.compile(r'^(?:typedef )?struct(?: (?P<name>\w+))?\n\{(?P<members>.*?)^\}(?: (?P<alias>\w+))?;', re.MULTILINE | re.DOTALL)


def count_members(text):
    """Declarations; what is inside of a nested struct belongs to that."""
    depth = n = 0
    for character in text:
        depth += {'{': 1, '}': -1}.get(character, 0)
        n += character == ';' and depth == 0
    return n


def sizes(texts):
    """name -> members; texts: C without comments"""
    return {match['alias'] or match['name']: count_members(match['members']) for text in texts for match in STRUCT.finditer(text)}


def large():
    texts = [house.strip_comments(house.read(path)) for path in house.files(('.c', '.h'), FOLDERS)]
    return {name: n for name, n in sizes(texts).items() if n > LIMIT}


def listed():
    rows = [line.split() for line in house.read(LIST).splitlines() if line and not line.startswith('#')]
    return {name: int(n) for name, n in rows}


def test_small():
    known = listed()
    return [f'{name} has {n} members, {known.get(name, LIMIT)} at most: give what one concern needs a struct of its own'
            for name, n in sorted(large().items()) if n > known.get(name, LIMIT)]


def test_list():
    found = large()
    return [f'{LIST}: {name} has {found.get(name, f"{LIMIT} or less")} members now, not {n}' for name, n in sorted(listed().items())
            if found.get(name, 0) < n]


def test_finds_the_wrong():
    text = 'struct _A\n{\n  int a;\n  struct\n  {\n    int x;\n    int y;\n  } b;\n};\n\ntypedef struct\n{\n  int a, b;\n} B;\n'
    found = sizes([text])
    return [] if found == {'_A': 2, 'B': 1} else [f'found {found}']


if __name__ == '__main__':
    if sys.argv[1:] == ['--print']:
        print('\n'.join(f'{name} {n}' for name, n in sorted(large().items(), key=lambda item: -item[1])))
        sys.exit(0)
    sys.exit(house.run([
        ('structs are small', test_small),
        ('the list of those that are not is right', test_list),
        ('members are counted', test_finds_the_wrong),
    ]))
