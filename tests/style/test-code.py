#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The rules of CONTRIBUTING.md that a program can check by reading."""

import os
import re
import sys

import house

FUNCTION_MAX = 100
FILE_MAX = 1000
CODE = ('.c', '.h', '.py', '.js', '.sh', '.vala')
SPDX = 'SPDX-License-Identifier: LGPL-2.1-or-later'
# A pronoun has nothing before it there.
NO_SUBJECT = re.compile(r'(Who|Whoever|What|Nobody|It|They|This|That)\b')
# A comment of C that begins so has a clause for its subject. Files that still have such ones are listed with their number.
COMMENT = re.compile(r'/\*(.*?)\*/', re.DOTALL)
CLAUSE = re.compile(r'(Who|Whoever|Whose|Whom|Of whom|What|Nobody)\b')

# Paths of somebody's machine.
MACHINE_PATH = re.compile(r'(?<![\w./~$}>])/(?:home|root|work|Users)/\w')
# PMIx calls us without a user pointer: these files alone may hold a static (docs/internals/pmix.md).
STATICS_ALLOWED = re.compile(r'^daemon/pmix/dvmd-pmix-(thread|upcalls?|server|host|door|attributes|group-table)\.c$')
# What GObject itself wants: filled once by class_init, then only read.
STATIC_IDIOMS = re.compile(r'\b(GParamSpec|GSourceFuncs|gpointer\s+\w*_parent_class)\b|\bguint\s+\w*signals\b|\bgsize\s+\w*(once|quark)\w*\b')
STATIC = re.compile(r'^[ \t]*static\s+(?!inline\b)([^;={}()]*?)\s*(\[[^;={}]*\]\s*)*(=|;)', re.MULTILINE)
GLOBAL = re.compile(r'^(?!static|typedef|extern|const|return|struct\s+\w+;|G_|#)[A-Za-z_][\w \t*]*[\w*]\s+\**\w+(\[[^\]]*\])*\s*(=|;)',
                    re.MULTILINE)
# What the libpmix at hand has is asked in these: the daemons in the first, tests in the second.
PMIX_GATES = ('daemon/pmix/dvmd-pmix-gates.h', 'tests/lib/pmix-library.h')
PMIX_ASKED = re.compile(r'^\s*#\s*(?:if|ifdef|ifndef|elif)\b.*?\b(PMIX_(?!LIBRARY_)\w+)|\b(PMIX_NUMERIC_VERSION)\b', re.MULTILINE)
IGNORED_ANYWHERE = re.compile(r'\{\s*DVMD_STATE_ANY\s*,\s*(\w+)\s*,\s*DVMD_STATE_SAME\s*,\s*NULL\s*\}')


def c_files():
    return house.files(('.c', '.h'))


def code_lines(lines):
    """Lines with code: to explain oneself must not cost anything."""
    return sum(1 for line in lines if line.strip())


def function_lengths(text):
    """(name, first line, lines of code) of each function body of C in GNU style."""
    lines = house.strip_comments(text).splitlines()
    start = None
    for number, line in enumerate(lines, 1):
        if line.startswith('{'):
            before = lines[number - 2].rstrip() if number > 1 else ''
            start = number if before.endswith(')') else None
        elif line.startswith('}') and start is not None:
            name = next((m.group(1) for m in (re.match(r'^(\w+) \(', lines[i]) for i in range(start - 2, -1, -1)) if m), '?')
            yield name, start, code_lines(lines[start - 1:number])
            start = None


def long_functions(path, text):
    return [f'{path}:{line}: {name}() has {length} lines of code, and may have {FUNCTION_MAX}'
            for name, line, length in function_lengths(text) if length > FUNCTION_MAX]


def gotos(path, text):
    bare = house.strip_comments(text)
    return [f'{path}:{house.line_of(bare, match.start())}: goto' for match in re.finditer(r'\bgoto\b', bare)]


def statics(path, text):
    """Variables that outlive a call and are not const."""
    bare = house.strip_comments(text)
    found = []
    for pattern in (STATIC, GLOBAL):
        for match in pattern.finditer(bare):
            declaration = match.group(0)
            words = declaration.split('=')[0]
            is_const = re.search(r'\bconst\b(?!.*\*(?!\s*const))', words) is not None
            if not is_const and not STATIC_IDIOMS.search(declaration):
                found.append(f'{path}:{house.line_of(bare, match.start())}: {words.strip(" ;")}: a variable that is '
                             'shared by all DVMs of a process')
    return found


def without_licence(path, text):
    head = '\n'.join(text.splitlines()[:5])
    return [] if SPDX in head else [f'{path}: no line "{SPDX}" at its top']


def rows_that_refuse_nothing(path, text):
    """Rows of a state table by which every state ignores an event: a late one has a row for each state in which it may come."""
    bare = house.strip_comments(text)
    return [f'{path}:{house.line_of(bare, match.start())}: {match[1]} is ignored in any state: name those in which it may come late, and why'
            for match in IGNORED_ANYWHERE.finditer(bare)]


def libraries_compared(path, text):
    """Questions for what a release of libpmix has, of which each would have its own answer."""
    bare = house.strip_comments(text)
    return [f'{path}:{house.line_of(bare, match.start())}: {match[1] or match[2]} is asked for here: {PMIX_GATES[0]} says what libpmix has, '
            f'for tests {PMIX_GATES[1]}' for match in PMIX_ASKED.finditer(bare)]


def check_all(check, paths):
    return [problem for path in paths for problem in check(path, house.read(path))]


def test_licences():
    scripts = [path for path in house.files(('',), ('tools/', '.ci/', 'tests/')) if '.' not in os.path.basename(path)]
    scripts = [path for path in scripts if house.read(path).startswith('#!')]
    return check_all(without_licence, house.files(CODE) + scripts)


def without_purpose(path, text):
    """A file begins with a sentence that says what it is for, and whose subject is a thing."""
    match = re.match(r'/\*(.*?)\*/', text, re.DOTALL)
    lines = [line.strip(' *') for line in match[1].splitlines() if SPDX not in line] if match else []
    words = ' '.join(lines).strip()
    if not words or '.' not in words + ' ':
        return [f'{path} does not begin with a sentence that says what it is for']
    return [f'{path}: its first sentence begins with “{words.split()[0]}”; name the thing'] if NO_SUBJECT.match(words) else []


def test_purposes():
    return check_all(without_purpose, house.files(('.c',), ('daemon/', 'libdvm-gobject/', 'cli/')))


def comments_without_subject(path, text):
    return [f'{path}:{house.line_of(text, match.start())}: a comment begins with “{words.split()[0]}”; give it a subject and a verb'
            for match in COMMENT.finditer(text) if CLAUSE.match(words := re.sub(r'[\s*]+', ' ', match[1]).strip())]


def test_comments_have_subjects():
    return check_all(comments_without_subject, c_files())


def test_functions():
    return check_all(long_functions, c_files())


def test_file_sizes():
    sizes = ((path, code_lines(house.strip_comments(house.read(path)).splitlines())) for path in c_files())
    return [f'{path} has {size} lines of code, and may have {FILE_MAX}: a second concept wants a file of its own'
            for path, size in sizes if size > FILE_MAX]


def test_gotos():
    return check_all(gotos, c_files())


def test_statics():
    paths = [path for path in house.files(('.c',), ('daemon/', 'libdvm-gobject/', 'cli/')) if not STATICS_ALLOWED.match(path)]
    return check_all(statics, paths)


def test_state_tables():
    return check_all(rows_that_refuse_nothing, house.files(('.c',), ('daemon/',)))


def test_libraries_compared():
    return check_all(libraries_compared, [path for path in c_files() if path not in PMIX_GATES])


def test_config_first():
    problems = []
    for path in house.files(('.c',), ('daemon/', 'libdvm-gobject/', 'cli/')):
        first = re.search(r'^#include\s+(\S+)', house.strip_comments(house.read(path), strings=False), re.MULTILINE)
        if first and first.group(1) != '"config.h"':
            problems.append(f'{path}: the first include is {first.group(1)}, and must be "config.h"')
    return problems


def test_readmes():
    folders = set()
    for path in house.files():
        folder = os.path.dirname(path)
        while folder and not folder.startswith('.'):
            folders.add(folder)
            folder = os.path.dirname(folder)
    return [f'{folder}/ has no README.md' for folder in sorted(folders)
            if not os.path.exists(os.path.join(house.TOP, folder, 'README.md'))]


def test_machine_paths():
    problems = []
    for path in house.files():
        if path.endswith(('.png', '.gz')):
            continue
        text = house.read(path)
        problems += [f'{path}:{house.line_of(text, match.start())}: a path of one machine' for match in MACHINE_PATH.finditer(text)]
    return problems


def test_text_files():
    """UTF-8, no blanks at the ends of lines, a newline at the end (.editorconfig)."""
    problems = []
    for path in house.files(CODE + ('.md', '.xml', 'meson.build', '.txt')):
        with open(os.path.join(house.TOP, path), 'rb') as file:
            data = file.read()
        try:
            text = data.decode('utf-8')
        except UnicodeDecodeError as error:
            problems.append(f'{path}: not UTF-8: {error}')
            continue
        if text and not text.endswith('\n'):
            problems.append(f'{path}: no newline at its end')
        blank = re.search(r'[ \t\r]+$', text, re.MULTILINE)
        if blank:
            problems.append(f'{path}:{house.line_of(text, blank.start())}: blanks at the end of the line')
    return problems


def test_messages_listed():
    """po/POTFILES.in lists the files with messages for people, and no others."""
    marked = {path for path in house.files(('.c',), ('libdvm-gobject/', 'cli/', 'daemon/'))
              if re.search(r'\b(N?C?_|ngettext|g_dngettext) \("', house.strip_comments(house.read(path), strings=False))}
    # The program for the desktop, and what desktops show of it.
    marked |= {path for path in house.files(('.py',), ('introspection/monitor/',)) if re.search(r"\b(N?_|ngettext)\('", house.read(path))}
    marked |= set(house.files(('.desktop.in', '.metainfo.xml.in'), ('introspection/monitor/',)))
    listed = {line for line in house.read('po/POTFILES.in').splitlines() if line and not line.startswith('#')}
    return ([f'{path} has messages and is not in po/POTFILES.in' for path in sorted(marked - listed)]
            + [f'po/POTFILES.in lists {path}, which has no messages' for path in sorted(listed - marked)])


def test_finds_the_wrong():
    path = house.EXAMPLES + 'wrong-code.c'
    text = house.read(path)
    long_text = 'static void\nendless (void)\n{\n' + '  f ();\n' * FUNCTION_MAX + '}\n'
    row = '  { %s, LATE,\n    DVMD_STATE_SAME, %s },\n'
    problems = []
    for check, source, number in ((gotos, text, 1), (statics, text, 3), (without_licence, text, 1), (long_functions, text, 0),
                                  (long_functions, long_text, 1), (rows_that_refuse_nothing, row % ('DVMD_STATE_ANY', 'NULL'), 1),
                                  (rows_that_refuse_nothing, row % ('DVMD_STATE_ANY', 'act'), 0),
                                  (rows_that_refuse_nothing, row % ('DVMD_STATE_ANY_ENDED', 'NULL'), 0),
                                  (libraries_compared, '#ifndef PMIX_KEY\n#endif\nif (PMIX_NUMERIC_VERSION > 5)', 2),
                                  (libraries_compared, '#ifdef HAVE_PMIX_KEY\n#if PMIX_LIBRARY_HAS_GROUPS', 0),
                                  (without_purpose, text[text.index('#'):], 1), (without_purpose, f'/*\n * {SPDX}\n *\n * Nobody knows.\n */', 1),
                                  (without_purpose, f'/*\n * {SPDX}\n *\n * A file that is right.\n */', 0),
                                  (comments_without_subject, text, 1),
                                  (comments_without_subject, '/* What is left is kept. */\n/*\n * Whoever waits,\n * is told. */', 2),
                                  (comments_without_subject, '/* Bytes that are left are retained. */ /* Whatever: 0 */', 0)):
        found = check(path, source)
        if len(found) != number:
            problems.append(f'{check.__name__} should find {number} in the example, and finds {found}')
    if MACHINE_PATH.search('/usr/share/dvm, $HOME/home/x, a/root/b') or not MACHINE_PATH.search('see /' + 'home/joe/dvm'):
        problems.append('paths of a machine are not told from others')
    return problems


if __name__ == '__main__':
    sys.exit(house.run([
        ('each file names its licence', test_licences),
        ('each file says what it is for', test_purposes),
        ('comments have a subject', test_comments_have_subjects),
        (f'no function has more than {FUNCTION_MAX} lines of code', test_functions),
        (f'no file has more than {FILE_MAX} lines of code', test_file_sizes),
        ('no goto', test_gotos),
        ('no variables shared by all DVMs of a process', test_statics),
        ('no state table ignores an event in any state', test_state_tables),
        ('one header says what libpmix has', test_libraries_compared),
        ('config.h comes first', test_config_first),
        ('each folder has a README.md', test_readmes),
        ('no paths of one machine', test_machine_paths),
        ('text files are clean', test_text_files),
        ('files with messages are listed', test_messages_listed),
        ('wrong code is found', test_finds_the_wrong),
    ]))
