#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Documents: links lead somewhere, folders are described, the news speak of this version."""

import fnmatch
import os
import re
import sys

import house

LINK = re.compile(r'\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)')


def documents():
    return house.files(('.md',))


def dead_links(path, text):
    found = []
    for target in LINK.findall(text):
        if not re.match(r'\w+:', target) and not os.path.exists(os.path.join(house.TOP, os.path.dirname(path), target)):
            found.append(f'{path}: the link to {target} leads nowhere')
    return found


def test_links():
    return [problem for path in documents() for problem in dead_links(path, house.read(path))]


def test_folders():
    """docs/architecture.md speaks of every folder that has rules of its own."""
    text = house.read('docs/architecture.md')
    rules = house.read('tests/style/include-rules.txt')
    folders = re.findall(r'^([\w/-]+):', rules, re.MULTILINE)
    return [f'docs/architecture.md does not speak of {folder}' for folder in folders
            if '/' in folder and folder != 'daemon/plugins' and f'`{folder}`' not in text]


def missing_files(page, text, names):
    return [f'{page} names {name}, which is not there'
            for name in re.findall(r'`([\w/.*-]+\.[ch])`', text) if not fnmatch.filter(names, name)]


def test_files():
    """Files of the code that docs/architecture.md, docs/internals and CONTRIBUTING.md name are there."""
    paths = house.files(('.c', '.h'))
    names = paths + [os.path.basename(path) for path in paths] + ['config.h']
    pages = house.files(('.md',), ('docs/architecture.md', 'docs/internals/', 'CONTRIBUTING.md'))
    return [problem for page in pages for problem in missing_files(page, house.read(page), names)]


def test_internals():
    """docs/internals/README.md and docs/architecture.md have a link to each page of docs/internals."""
    pages = [os.path.basename(path) for path in house.files(('.md',), ('docs/internals/',)) if not path.endswith('README.md')]
    return [f'{path} has no link to docs/internals/{page}'
            for path, prefix in (('docs/internals/README.md', ''), ('docs/architecture.md', 'internals/'))
            for page in pages if f'({prefix}{page})' not in house.read(path)]


def test_news():
    version = re.search(r"version: '(\d+\.\d+)", house.read('meson.build')).group(1)
    first = re.search(r'^## (\S+)', house.read('NEWS.md'), re.MULTILINE).group(1)
    return [] if first.startswith(version) else [f'NEWS.md starts with {first}, and meson.build has {version}']


def test_first_screen():
    """The README's first screen has the two commands."""
    screen = '\n'.join(house.read('README.md').splitlines()[:30])
    return [f'{command} is not on the first screen of README.md' for command in ('./tools/demo', './tools/check')
            if command not in screen]


def test_log_domains():
    """dvmd(8) has the domains of the daemon's messages, each and no other, in their order."""
    used = {domain for path in house.files(('.c', '.h'), ('daemon/',))
            for domain in re.findall(r'^#define G_LOG_DOMAIN "([^"]+)"', house.read(path), re.MULTILINE)}
    section = re.search(r'^\.SH LOG MESSAGES\n(.*?)^\.SH', house.read('cli/man/dvmd.8'), re.MULTILINE | re.DOTALL).group(1)
    shown = [name.replace('\\-', '-') for name in re.findall(r'^\.TP\n\\fB(.*)\\fR$', section, re.MULTILINE)]
    return ([f'dvmd(8) does not have the log domain {domain}' for domain in sorted(used - set(shown))]
            + [f'dvmd(8) has the log domain {domain}, which nobody uses' for domain in sorted(set(shown) - used)]
            + ([] if shown == sorted(shown) else ['the log domains of dvmd(8) are not in their order']))


def statements(text):
    """The numbers that a comment names in parentheses, (E58) or (spec: D1, R2-R4), or that the name of a test carries."""
    named = re.findall(r'\((?:spec: )?((?:[LEDRS]\d+(?:, |-| and )?)+)\)', text) + re.findall(r'def test((?:_[LEDRS]\d+)+)_', text)
    return set(re.findall(r'[LEDRS]\d+', ' '.join(named)))


def test_statements():
    known = set(re.findall(r'^- ([LEDRS]\d+) ', house.read('docs/conformance.md'), re.MULTILINE))
    return [f'{path} names the statement {number}, which docs/conformance.md does not have'
            for path in house.files(('.c', '.h', '.py', '.xml'), ('daemon/', 'libdvm-gobject/', 'cli/', 'dbus/', 'tests/conformance/'))
            for number in sorted(statements(house.read(path)) - known)]


def test_finds_the_wrong():
    found = dead_links('README.md', '[a](no-such-file.md) [b](COPYING) [c](https://example.org/x) [d](docs/#top)')
    problems = [] if len(found) == 1 else [f'one link of the example is dead, and these are found: {found}']
    missing = missing_files('README.md', 'see `a-file-that-is-not.c`, `there.c` and `the*.h`', ['there.c', 'lib/there.c', 'there.h'])
    if len(missing) != 1:
        problems.append(f'one file of the example is not there, and these are found: {missing}')
    numbers = statements('/* Late (E58, D2). Of hwloc: L2. (spec: R1-R3) */ def test_S4_S5_order')
    return problems if numbers == {'E58', 'D2', 'R1', 'R3', 'S4', 'S5'} else problems + [f'these statements are found: {numbers}']


if __name__ == '__main__':
    sys.exit(house.run([
        ('links lead somewhere', test_links),
        ('each folder is described', test_folders),
        ('the files named are there', test_files),
        ('the pages of the internals are listed', test_internals),
        ('the news speak of this version', test_news),
        ('the first screen has the two commands', test_first_screen),
        ('the log domains are in the manual', test_log_domains),
        ('numbers of statements lead somewhere', test_statements),
        ('dead links are found', test_finds_the_wrong),
    ]))
