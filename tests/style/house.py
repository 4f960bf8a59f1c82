# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the style tests share: the files of the project, C without its comments, and TAP."""

import os
import re
import sys

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))

# Wrong on purpose: what the tests of the tests look at.
EXAMPLES = 'tests/style/examples/'

_SKIPPED_DIRS = re.compile(r'^(build.*|_build.*|\.git|__pycache__|subprojects)$')
_COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


class Skip(Exception):
    """Raised by a test that cannot run here; the text says why."""


def files(suffixes=('',), under=('',)):
    """Paths of the project's files relative to its top, sorted, without builds and examples of wrong style."""
    found = []
    for directory, subdirs, names in os.walk(TOP):
        subdirs[:] = sorted(name for name in subdirs if not _SKIPPED_DIRS.match(name))
        for name in sorted(set(names) - {'.git'}):
            path = os.path.relpath(os.path.join(directory, name), TOP)
            if name.endswith(tuple(suffixes)) and path.startswith(tuple(under)) and not path.startswith(EXAMPLES):
                found.append(path)
    return found


def read(path):
    with open(os.path.join(TOP, path), encoding='utf-8', errors='surrogateescape') as file:
        return file.read()


def strip_comments(text, strings=True):
    """C text with comments (and the contents of strings) blanked out, every line where it was."""

    def blank(match):
        part = match.group(0)
        if part[0] in '"\'':
            return part[0] + ' ' * (len(part) - 2) + part[-1] if strings else part
        return re.sub(r'[^\n]', ' ', part)

    return _COMMENT_OR_TEXT.sub(blank, text)


def line_of(text, position):
    return text.count('\n', 0, position) + 1


def run(tests):
    """tests: (name, function) each; a function returns its list of problems, one sentence each, or raises Skip."""
    failed = 0
    print(f'1..{len(tests)}')
    for number, (name, function) in enumerate(tests, 1):
        try:
            problems = function()
        except Skip as reason:
            print(f'ok {number} {name} # SKIP {reason}')
            continue
        for problem in problems:
            print(f'# {problem}')
        print(f'{"not ok" if problems else "ok"} {number} {name}')
        failed += bool(problems)
        sys.stdout.flush()
    return 1 if failed else 0
