#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files that call each other in a circle can only be understood together, so circles are small. A file calls another if it has a
call of a function that the other defines; what is called by a table or a callback is not seen. Larger circles are listed in circles.txt,
one line for each with its files, and only lose files.

    test-circles.py --print          the circles that are too large, as in that list
    test-circles.py --calls FOLDER   who calls whom inside of the circles of this folder, and by which functions
"""

import re
import sys

import house

LIST = 'tests/style/circles.txt'
FOLDERS = ('daemon/', 'cli/', 'libdvm-gobject/')
LIMIT = 8
DEFINITION = re.compile(r'^(?P<type>[^\n]*)\n(?P<name>_?dvm\w+) \([^;{]*\)\n\{', re.MULTILINE)
CALL = re.compile(r'\b(_?dvm\w+) \(')


def find_calls(texts):
    """path -> path that is called -> names; texts: path -> C without comments."""
    owners = {match['name']: path for path, text in texts.items() for match in DEFINITION.finditer(text)
              if not match['type'].startswith('static')}
    calls = {}
    for path, text in texts.items():
        found = calls[path] = {}
        for name in set(CALL.findall(text)) - {match['name'] for match in DEFINITION.finditer(text)}:
            if owners.get(name, path) != path:
                found.setdefault(owners[name], set()).add(name)
    return calls


def reach(calls, start):
    seen, ahead = set(), [start]
    while ahead:
        for path in calls[ahead.pop()]:
            if path not in seen:
                seen.add(path)
                ahead.append(path)
    return seen


def find_circles(calls):
    """Sets of files each of which reaches all others of its set."""
    reached = {path: reach(calls, path) for path in calls}
    circles = {frozenset(other for other in reached[path] if path in reached[other]) for path in calls if path in reached[path]}
    return sorted(circles, key=lambda circle: (-len(circle), sorted(circle)))


def read_calls():
    return find_calls({path: house.strip_comments(house.read(path)) for path in house.files(('.c',), FOLDERS)})


def large():
    return [circle for circle in find_circles(read_calls()) if len(circle) > LIMIT]


def listed():
    return [set(line.split()) for line in house.read(LIST).splitlines() if line and not line.startswith('#')]


def test_small():
    problems = []
    for circle in large():
        known = max(listed(), key=lambda row: len(row & circle), default=set())
        if not circle <= known:
            problems.append(f'{len(circle)} files call each other in a circle, and {LIMIT} may: {" ".join(sorted(circle - known))} '
                            f'{"are" if len(circle - known) > 1 else "is"} new in it (test-circles.py --calls shows why)')
    return problems


def test_list():
    circles = large()
    return [f'{LIST}: {path} is in no large circle any more: take it out' for row in listed() for path in sorted(row)
            if not any(path in circle for circle in circles)]


def test_finds_the_wrong():
    texts = {'a.c': 'int\ndvm_a (void)\n{\n  return dvm_b ();\n}\n',
             'b.c': 'int\ndvm_b (int x,\n       int y)\n{\n  return dvm_c ();\n}\n',
             'c.c': 'int\ndvm_c (void)\n{\n  return dvm_a () + dvm_d ();\n}\n',
             'd.c': 'int\ndvm_d (void)\n{\n}\n\nstatic int\ndvm_a (void)\n{\n}\n'}
    found = find_circles(find_calls(texts))
    return [] if found == [{'a.c', 'b.c', 'c.c'}] else [f'found {found}']


def print_calls(folder):
    calls = read_calls()
    for circle in find_circles(calls):
        if not any(path.startswith(folder) for path in circle):
            continue
        print(f'{len(circle)} files:')
        for path in sorted(circle):
            for other in sorted(set(calls[path]) & circle):
                print(f'  {path} -> {other}: {" ".join(sorted(calls[path][other]))}')


if __name__ == '__main__':
    if sys.argv[1:] == ['--print']:
        print('\n'.join(' '.join(sorted(circle)) for circle in large()))
        sys.exit(0)
    if sys.argv[1:2] == ['--calls']:
        print_calls(sys.argv[2])
        sys.exit(0)
    sys.exit(house.run([
        ('circles of files are small', test_small),
        ('the list of those that are not is right', test_list),
        ('a circle is found', test_finds_the_wrong),
    ]))
