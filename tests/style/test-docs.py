#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Documents: links lead somewhere, folders are described, the news speak of this version, messages are those of the sources."""

import ast
import fnmatch
import os
import re
import sys

import house

LINK = re.compile(r'\[[^\]]*\]\(([^)\s]*)\)')
CODE = re.compile(r'^ *```.*?^ *```$|^ {4}[^\n]*$|``.*?``|`[^`\n]*`', re.MULTILINE | re.DOTALL)
WEB = re.compile(r'https?://[a-z0-9-]+(\.[a-z0-9-]+)+(:\d+)?(/[^\s<>"]*)?')

# Conversions of printf(), and what stands between two pieces of a text: a macro.
CONVERSION = re.compile(r"%(?:%|(?:\d+\$)?[-#0 +']*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|z|j|t)?[a-zA-Z])")
TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"(?:\s*(?:[A-Z][A-Z0-9_]*\s*)?"(?:\\.|[^"\\\n])*")*')
PIECE = re.compile(r'"((?:\\.|[^"\\\n])*)"|([A-Z][A-Z0-9_]*)')


def documents():
    return house.files(('.md',))


def anchors(text):
    """Those of the headings, as GitHub and others make them."""
    found, seen = set(), {}
    for title in re.findall(r'^#+ +(.*?) *#*$', re.sub(r'^```.*?^```$', '', text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE):
        title = re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', title)
        slug = re.sub(r'[^\w\- ]', '', title.lower()).replace(' ', '-')
        number = seen[slug] = seen.get(slug, -1) + 1
        found.add(f'{slug}-{number}' if number else slug)
    return found


def dead_links(path, text):
    found = []
    for link in LINK.findall(CODE.sub('', text)):
        target, _, anchor = link.partition('#')
        place = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        if re.match(r'\w+:', link):
            if not WEB.fullmatch(link):
                found.append(f'{path}: {link} is no address of the web')
        elif not os.path.exists(os.path.join(house.TOP, place)):
            found.append(f'{path}: the link to {link} leads nowhere')
        elif anchor and anchor not in anchors(text if place == path else house.read(place)):
            found.append(f'{path}: the link to {link} leads to no heading')
    return found


def test_links():
    return [problem for path in documents() for problem in dead_links(path, house.read(path))]


def listed(path, folder):
    """Pages of a folder to which this page has no link."""
    linked = LINK.findall(house.read(path))
    here = os.path.dirname(path)
    return [page for page in house.files(('.md',), (folder,)) if page != path and os.path.dirname(page) + '/' == folder
            and os.path.relpath(page, here or '.') not in linked]


def test_pages():
    """The README of docs and that of its tutorials have a link to each page beside them."""
    return [f'{path} has no link to {page}' for path in ('docs/README.md', 'docs/tutorials/README.md')
            for page in listed(path, os.path.dirname(path) + '/')]


def formats_of_c(text):
    """The texts of C, their pieces put together."""
    for match in TEXT.finditer(house.strip_comments(text, strings=False)):
        whole = ''
        for piece, macro in PIECE.findall(match.group(0)):
            whole += ('s' if whole.endswith('%') else '%s') if macro else piece
        yield whole.replace('\\n', '\n').replace('\\"', '"').replace('\\\\', '\\')


def formats_of_python(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.JoinedStr):
            yield ''.join(part.value.replace('%', '%%') if isinstance(part, ast.Constant) else '%s' for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value.replace('%', '%%')


def is_printed(message, formats):
    """Whether a message is one of these formats with values put in. “…” at its end stands for the rest."""
    begun = message.endswith('…')
    for text in formats:
        words = [part.replace('\0', '%') for part in CONVERSION.split(text.replace('%%', '\0'))]
        for end in range(1 if begun else len(words), len(words) + 1):
            if (sum(map(len, words[:end])) >= 10 and message.startswith(words[0]) and all(word in message for word in words[:end])
                    and re.fullmatch('.*'.join(map(re.escape, words[:end])), message.removesuffix('…'))):
                return True
    return False


def quoted(text):
    return re.findall(r'^### `(.*)`$', text, re.MULTILINE)


def test_messages():
    """The messages of docs/troubleshooting.md are those of the sources."""
    formats = {text for path in house.files(('.c', '.h'), ('daemon/', 'cli/', 'libdvm-gobject/')) for text in formats_of_c(house.read(path))}
    formats |= {text for path in house.files(('.py',), ('introspection/',)) for text in formats_of_python(house.read(path))}
    messages = quoted(house.read('docs/troubleshooting.md'))
    return ([f'docs/troubleshooting.md: nothing says “{message}”' for message in messages if not is_printed(message, formats)]
            + ([] if len(messages) > 30 else [f'only {len(messages)} messages are found in docs/troubleshooting.md']))


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
    found = dead_links('README.md', '# One `a`: b\n[a](no-such-file.md) [b](COPYING) [c](https://example.org/x) [d](docs/) [e](https:/x) [f](#one-a-b) '
                       '[g](#one) `[h](none)`\n\n    [i](none)\n[j](docs/README.md#none)')
    problems = [] if len(found) == 4 else [f'four links of the example are dead, and these are found: {found}']
    formats = list(formats_of_c('f ("The node %s has %" G_GUINT64_FORMAT " slots" /* not */ "; %d%% more", "none");'))
    for message, right in (('The node n1 has 4 slots; 5% more', True), ('The node n1 has 4 slots', False), ('none', False), ('none at all…', False)):
        if is_printed(message, formats) != right:
            problems.append(f'the message “{message}” of the example is taken wrongly, with {formats}')
    missing = missing_files('README.md', 'see `a-file-that-is-not.c`, `there.c` and `the*.h`', ['there.c', 'lib/there.c', 'there.h'])
    if len(missing) != 1:
        problems.append(f'one file of the example is not there, and these are found: {missing}')
    numbers = statements('/* Late (E58, D2). Of hwloc: L2. (spec: R1-R3) */ def test_S4_S5_order')
    return problems if numbers == {'E58', 'D2', 'R1', 'R3', 'S4', 'S5'} else problems + [f'these statements are found: {numbers}']


if __name__ == '__main__':
    sys.exit(house.run([
        ('links lead somewhere', test_links),
        ('each page is listed', test_pages),
        ('messages are those of the sources', test_messages),
        ('each folder is described', test_folders),
        ('the files named are there', test_files),
        ('the pages of the internals are listed', test_internals),
        ('the news speak of this version', test_news),
        ('the first screen has the two commands', test_first_screen),
        ('the log domains are in the manual', test_log_domains),
        ('numbers of statements lead somewhere', test_statements),
        ('dead links are found', test_finds_the_wrong),
    ]))
