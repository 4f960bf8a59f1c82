#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Folders include each other only as include-rules.txt allows; core, tree and mapper are pure."""

import os
import re
import sys

import house

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
SETTER = re.compile(r'\b_dvm_(?:job|node)_(?:new|set_\w+|proc_state_changed)\b')
LIBRARIES = {
    'pmix': re.compile(r'^(pmix\w*|PMIx\w*)\.h$|^src/'),
    'hwloc': re.compile(r'^hwloc(\.h|/)'),
    'gnutls': re.compile(r'^gnutls/'),
    'sqlite': re.compile(r'^sqlite3\.h'),
    'libarchive': re.compile(r'^archive(_entry)?\.h'),
    'json-glib': re.compile(r'^json-glib/'),
    'mpi': re.compile(r'^mpi\.h$'),
}
ALWAYS = re.compile(r'^(glib|gio|gobject|gmodule)(\.h|/|-unix\.h|-object\.h)|^glib-(unix|object)\.h$')
GENERATED = {'config.h': '', 'dvm-enum-types.h': 'libdvm-gobject', 'dvm-version.h': 'libdvm-gobject',
             'dvm-dbus-interfaces.h': 'interfaces'}
# What reads a clock, a file, a process or the network has no place in these.
PURE = ('daemon/core', 'daemon/tree', 'daemon/mapper')
IMPURE = re.compile(r'^(unistd|fcntl|time|poll|signal|spawn|sched|dirent|netdb|pthread)\.h$|^sys/|^netinet/|^arpa/|'
                    r'^gio/gunix|^glib/gstdio\.h$')


def read_rules():
    rules = {}
    for line in house.read('tests/style/include-rules.txt').splitlines():
        if line.strip() and not line.startswith('#'):
            folder, _, allowed = line.partition(':')
            rules[folder.strip()] = set(allowed.split())
    return rules


def folder_of(path, rules):
    """The longest folder of the rules that path lies in."""
    directory = os.path.dirname(path)
    while directory and directory not in rules:
        directory = os.path.dirname(directory)
    return directory or None


def find_headers(paths, rules):
    headers = {}
    for path in paths:
        if path.endswith('.h'):
            headers.setdefault(os.path.basename(path), []).append((path, folder_of(path, rules)))
    return headers


def refused(folder, name, rules, headers):
    """Why folder may not include name, or None."""
    allowed = rules[folder]
    for library, pattern in LIBRARIES.items():
        if pattern.match(name):
            return None if library in allowed else f'{library} is not for {folder}'
    if folder in PURE and IMPURE.match(name):
        return f'{folder} is pure: it does no I/O and reads no clock'
    base = os.path.basename(name)
    if base in GENERATED:
        owner = GENERATED[base]
        return 'only those who serve the bus may' if owner == 'interfaces' and owner not in allowed else None
    if base not in headers or ALWAYS.match(name):
        return None
    for path, owner in headers[base]:
        if owner == folder or owner in allowed:
            return None
        if owner == 'libdvm-gobject' and (not base.endswith('-private.h') or 'private' in allowed):
            return None
    return f'{folder} may not include {headers[base][0][0]}'


def problems_of(path, text, rules, headers):
    folder = folder_of(path, rules)
    problems = []
    if folder is None:
        return problems
    bare = house.strip_comments(text, strings=False)
    for match in INCLUDE.finditer(bare):
        why = refused(folder, match.group(2), rules, headers)
        if why:
            problems.append(f'{path}:{house.line_of(bare, match.start())}: include of {match.group(2)}: {why}')
    if 'setters' not in rules[folder]:
        for match in SETTER.finditer(house.strip_comments(text)):
            problems.append(f'{path}:{house.line_of(bare, match.start())}: {match.group(0)}: only core writes records')
    return problems


def sources():
    return house.files(('.c', '.h'), ('daemon/', 'libdvm-gobject/', 'cli/', 'examples/'))


def test_rules():
    rules = read_rules()
    paths = sources()
    headers = find_headers(paths, rules)
    return [problem for path in paths for problem in problems_of(path, house.read(path), rules, headers)]


def test_table_is_complete():
    rules = read_rules()
    known = set(rules) | set(LIBRARIES) | {'private', 'interfaces', 'setters'}
    problems = [f'{folder}: {word} is neither a folder nor a library'
                for folder, words in rules.items() for word in words - known]
    problems += [f'{path}: its folder is not in include-rules.txt' for path in sources() if folder_of(path, rules) is None]
    return problems


def find_cycle(rules):
    """A folder that can reach itself, or None."""
    for start in rules:
        seen, ahead = set(), set(rules[start]) & set(rules)
        while ahead:
            folder = ahead.pop()
            if folder == start:
                return start
            if folder not in seen:
                seen.add(folder)
                ahead |= set(rules[folder]) & set(rules)
    return None


def test_one_way():
    cycle = find_cycle(read_rules())
    return [f'{cycle} reaches itself through what it may include'] if cycle else []


def test_refuses_the_wrong():
    """The rules must see each wrong line of the example, and no other."""
    rules = read_rules()
    headers = find_headers(sources(), rules)
    text = house.read(house.EXAMPLES + 'wrong-include.c')
    expected = [number for number, line in enumerate(text.splitlines(), 1) if 'wrong' in line.partition('/*')[2]]
    found = sorted(int(problem.split(':')[1]) for problem in problems_of('daemon/core/example.c', text, rules, headers))
    problems = []
    if not expected or found != expected:
        problems.append(f'the example has wrong lines {expected}, and {found} are found')
    if find_cycle({'a': {'b'}, 'b': {'a'}}) is None or find_cycle({'a': {'b'}, 'b': set()}):
        problems.append('cycles are not found as they should be')
    return problems


if __name__ == '__main__':
    sys.exit(house.run([
        ('the include rules are kept', test_rules),
        ('the table names every folder', test_table_is_complete),
        ('the table has no circle', test_one_way),
        ('wrong includes are found', test_refuses_the_wrong),
    ]))
