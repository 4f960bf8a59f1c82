#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/pmix.md says of each attribute of a spawn, and of each function of the server, what the code does with it."""

import re
import sys

import house

KEYS = 'daemon/pmix/dvmd-pmix-spawn-keys.c'
MODULE = 'daemon/pmix/dvmd-pmix-upcalls.c'
PAGE = 'docs/pmix.md'
NOT_SERVED = 'The library refuses what the server has no function for:'
NO_CONCERN = 'What these say is so in any case'
REFUSED = 'Nothing is started, and the answer is'


def paragraph(text, beginning):
    start = text.index(beginning)
    return text[start:text.index('\n\n', start)]


def names(text, pattern=r'`(PMIX_\w+)`'):
    return set(re.findall(pattern, text))


def differences(what, code, page):
    return ([f'{PAGE}: {name} is not among {what}, where the code has it' for name in sorted(code - page)]
            + [f'{PAGE}: {name} is among {what}, where the code does not have it' for name in sorted(page - code)])


def test_spawn_keys():
    code = {}
    for name, take in re.findall(r'\{ (PMIX_\w+), DVMD_PMIX_TAKE_(\w+),', house.read(KEYS)):
        kind = 'refused' if take in ('NEVER', 'IF_OFF') else 'no concern' if take in ('NOTHING', 'IF_ON') else 'done'
        code.setdefault(kind, set()).add(name)
    text = house.read(PAGE)
    section = text[text.index('\n## Starting jobs'):text.index(NO_CONCERN)]
    rows = {name for line in section.splitlines() if line.startswith('|') for name in names(line.split('|')[1])}
    if len(rows) < 40 or len(code) != 3:
        return ['the table of keys is not where this test looks for it']
    return (differences('the keys that are done', code['done'], rows)
            + differences('those that are no concern', code['no concern'], names(paragraph(text, NO_CONCERN)))
            + differences('those that are refused', code['refused'], names(paragraph(text, REFUSED))))


def test_functions():
    text = house.read(MODULE)
    module = text[text.index('static pmix_server_module_t module'):]
    code = set(re.findall(r'^  \.(\w+) =', module[:module.index('};')], re.MULTILINE)) - {'client_connected'}
    page = house.read(PAGE)
    section = page[page.index('\n## What the server does'):page.index(NOT_SERVED)]
    rows = {name for line in section.splitlines() if line.startswith('| `') for name in names(line.split('|')[1], r'`(\w+)`')}
    both = code & names(paragraph(page, NOT_SERVED), r'`(\w+)`')
    return differences('the functions', code, rows) + [f'{PAGE}: {name} is served' for name in sorted(both)]


if __name__ == '__main__':
    sys.exit(house.run([
        ('attributes of a spawn are what the page says', test_spawn_keys),
        ('functions of the server are what the page says', test_functions),
    ]))
