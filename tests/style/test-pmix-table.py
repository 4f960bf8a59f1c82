#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/pmix.md says of each attribute of a spawn, and of each function of the server, what the code does with it; and it names each
other key that the code names, and none that it does not."""

import os
import re
import subprocess
import sys

import house

KEYS = 'daemon/pmix/dvmd-pmix-spawn-keys.c'
MODULE = 'daemon/pmix/dvmd-pmix-upcalls.c'
PAGE = 'docs/pmix.md'
NOT_SERVED = 'The library refuses what the server has no function for:'
NO_CONCERN = 'What these say is so in any case'
REFUSED = 'Nothing is started, and the answer is'
GATES = 'daemon/pmix/dvmd-pmix-gates.h'

# Between the server and its library, or of the way in which a value is packed: no program asks for them.
INNER = {f'PMIX_{name}' for name in (
    'APP_INFO_ARRAY EMBED_BARRIER EVENT_HDLR_PREPEND EVENT_NON_DEFAULT IOF_STOP LOCAL_COLLECTIVE_STATUS NODE_INFO_ARRAY PROC_INFO_ARRAY QUALIFIED_VALUE '
    'REGISTER_NODATA REQUIRED_KEY SERVER_SHARE_TOPOLOGY SERVER_TMPDIR SESSION_INFO_ARRAY SYSTEM_TMPDIR TCP_REPORT_URI TOPOLOGY2').split()}


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


def defined(text):
    """Keys are names of texts; others are numbers and types."""
    return names(text, r'#\s*define\s+(PMIX_\w+)\s+"')


def test_keys():
    """A row of a table says what is done with a key, unless it stands where the page tells what is not."""
    folder = subprocess.run(['pkg-config', '--variable=includedir', 'pmix'], capture_output=True, text=True, check=True).stdout.strip()
    with open(os.path.join(folder, 'pmix_common.h'), encoding='utf-8') as file:
        keys = defined(file.read()) | defined(house.read(GATES))
    code = set()
    for path in house.files(('.c', '.h'), ('daemon/',)):
        code |= names(re.sub(r'/\*.*?\*/', '', house.read(path), flags=re.DOTALL), r'\b(?:DVMD_)?(PMIX_\w+)')
    page = house.read(PAGE)
    # Some names are written with their ends apart: `PMIX_NET_SENT_` with `BYTES` and `ERRS`.
    beginnings = tuple(names(page, r'`(PMIX_(?:DISK|NET)_\w+_)`'))
    unnamed = (code & keys) - names(page, r'\b(PMIX_\w+)') - INNER
    problems = [f'{PAGE} does not name {name}, which the code does' for name in sorted(unnamed)
                if not name.startswith(beginnings) or f'`{name[max(len(one) for one in beginnings if name.startswith(one)):]}`' not in page]
    problems += [f'{name} is not among what the code names' for name in sorted(INNER - code)]
    start = page.index('\n### What is not answered')
    page = page[:start] + page[page.index('\n## ', start):]
    rows = {name for line in page.splitlines() if line.startswith('| `PMIX_') for name in names(line.split('|')[1])}
    rows = {name for name in rows if not name.startswith('PMIX_ERR')}
    if len(rows) < 150 or len(code & keys) < 150:
        return ['the keys are not where this test looks for them']
    return problems + [f'{PAGE}: a row is about {name}, which the code does not name' for name in sorted(rows - code)]


if __name__ == '__main__':
    sys.exit(house.run([
        ('attributes of a spawn are what the page says', test_spawn_keys),
        ('keys are what the page says', test_keys),
        ('functions of the server are what the page says', test_functions),
    ]))
