#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A private header of the daemon shows the inside of something to the few files that are made of it; others call functions. A file sees
it if it includes it, or a header that does. Those with more users are listed in private-headers.txt with their number, and lose users, never
gain any. (The private headers of the library are another thing: what it exports to the daemon without a promise.)

    test-private-headers.py --print     those with too many users, for that list
    test-private-headers.py --users     all of them, each with its users
"""

import os
import re
import sys

import house

LIST = 'tests/style/private-headers.txt'
FOLDERS = ('daemon/',)
LIMIT = 6
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def find_users(texts):
    """name of each private header -> its users, which are .c files; texts: path -> C"""
    by_name = {os.path.basename(path): path for path in texts if path.endswith('.h')}
    included = {path: [by_name[name] for name in INCLUDE.findall(text) if name in by_name] for path, text in texts.items()}
    users = {path: set() for path in by_name.values() if path.endswith('-private.h')}
    for path in texts:
        seen, ahead = set(), [path] if path.endswith('.c') else []
        while ahead:
            for header in set(included[ahead.pop()]) - seen:
                seen.add(header)
                ahead.append(header)
        for header in seen & set(users):
            users[header].add(path)
    return users


def read_users():
    return find_users({path: house.read(path) for path in house.files(('.c', '.h'), FOLDERS)})


def large():
    return {path: len(users) for path, users in read_users().items() if len(users) > LIMIT}


def listed():
    rows = [line.split() for line in house.read(LIST).splitlines() if line and not line.startswith('#')]
    return {path: int(n) for path, n in rows}


def test_few():
    known = listed()
    return [f'{path} is seen by {n} files, {known.get(path, LIMIT)} at most: give the others functions to call'
            for path, n in sorted(large().items()) if n > known.get(path, LIMIT)]


def test_list():
    found = large()
    return [f'{LIST}: {path} is seen by {found.get(path, f"{LIMIT} or fewer")} files now, not {n}' for path, n in sorted(listed().items())
            if found.get(path, 0) < n]


def test_finds_the_wrong():
    texts = {'a-private.h': '', 'b.h': '#include "a-private.h"\n', 'c.h': '#include "b.h"\n', 'd.c': '#include "a-private.h"\n',
             'e.c': '#include "c.h"\n', 'f.c': '#include <a-private.h>\n'}
    found = find_users(texts)
    return [] if found == {'a-private.h': {'d.c', 'e.c'}} else [f'found {found}']


if __name__ == '__main__':
    if sys.argv[1:] == ['--print']:
        print('\n'.join(f'{path} {n}' for path, n in sorted(large().items(), key=lambda item: -item[1])))
        sys.exit(0)
    if sys.argv[1:] == ['--users']:
        for header, users in sorted(read_users().items()):
            print(f'{len(users)} {header}: {" ".join(sorted(users))}')
        sys.exit(0)
    sys.exit(house.run([
        ('private headers have few users', test_few),
        ('the list of those that have more is right', test_list),
        ('users are found', test_finds_the_wrong),
    ]))
