#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A sentence for people, in the command line or in the library, is marked for translation: _(), N_() and the like. Texts that
look like a sentence and are none are listed in messages.txt with the reason.

    test-messages.py --print     the texts that are not marked, with their places
"""

import re
import sys

import house

LIST = 'tests/style/messages.txt'
MARKS = {'_', 'N_', 'C_', 'NC_', 'NP_', 'ngettext', 'g_dngettext'}
# The log and what only a programmer sees is English.
LOGS = {'g_debug', 'g_info', 'g_message', 'g_warning', 'g_critical', 'g_error', 'g_assert', 'g_log', 'g_printerr'}
# What these are given is read by people, however short it is.
SPEAKERS = {'dvm_cli_complain', 'dvm_cli_note', 'dvm_cli_tell', 'g_set_error', 'g_set_error_literal', 'g_error_new',
            'g_error_new_literal', 'g_prefix_error', 'g_prefix_error_literal', 'put_text', 'put_bar'}
# The strings of one argument, with macros such as G_GUINT64_FORMAT between them
TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*(?:[A-Z][A-Z0-9_]+\s*)?"(?:[^"\\\n]|\\.)*")*')
PART = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
FORMAT = re.compile(r"%(?:\d\$)?[-+ 0#']*[\d*]*(?:\.[\d*]+)?(?:zu|l?[a-zA-Z])|%%")
WORD = re.compile(r"[A-Za-z][a-z']+")
# Three words in a row, one of which a format may stand for: names with - or = or . are no words.
SENTENCE = re.compile(r"(?<![^\s(“'])(?:[A-Za-z][a-z']*|\x01)(?:[,;:]? (?:[A-Za-z][a-z']*|\x01)(?![\w=/.|-])){2,}")
NAME = re.compile(r'[a-z][a-z-]*')
TITLE = re.compile(r'\s*,\s*DVM_CLI_KIND_')


def is_sentence(text):
    for match in SENTENCE.finditer(FORMAT.sub('\x01', text.replace('\\n', ' '))):
        if len(WORD.findall(match.group(0))) >= 2:
            return True
    return False


def caller(code, position):
    """The function, or macro, among whose arguments this place is, and where these begin; code has its strings blanked."""
    depth = 0
    for at in range(position - 1, -1, -1):
        if code[at] in ')}':
            depth += 1
        elif code[at] in '({':
            if depth == 0:
                # A brace begins a list or a body; an expression in brackets is among the arguments of somebody further out.
                name = re.search(r'(\w*)\s*$', code[max(0, at - 80):at]).group(1) if code[at] == '(' else ''
                if name or code[at] == '{':
                    return name, at
            else:
                depth -= 1
        elif code[at] == ';' and depth == 0:
            return '', at
    return '', 0


def unmarked(source):
    """(line, text) of each text that is a sentence and is not marked."""
    shown = house.strip_comments(source, strings=False)
    code = house.strip_comments(source)
    for match in TEXT.finditer(shown):
        text = ''.join(PART.findall(match.group(0)))
        name, start = caller(code, match.start())
        if name in MARKS or name in LOGS or shown[:match.start()].endswith(('#include ', '#error ')):
            continue
        # Behind the sentence its arguments may be names: of options and the like.
        is_name = NAME.fullmatch(text) and '"' in shown[start:match.start()]
        spoken = name in SPEAKERS and WORD.search(FORMAT.sub('', text)) and not is_name
        title = TITLE.match(shown, match.end()) and re.search(r',\s*$', shown[:match.start()]) and WORD.search(text.lower())
        if is_sentence(text) or spoken or title:
            yield house.line_of(source, match.start()), text


def all_unmarked():
    return [(path, line, text) for path in house.files(('.c', '.h'), ('cli/', 'libdvm-gobject/'))
            for line, text in unmarked(house.read(path))]


def listed():
    """(path, regular expression) pairs"""
    return [tuple(line.split(' | ')[:2]) for line in house.read(LIST).splitlines() if line and not line.startswith('#')]


def entry_of(allowed, path, text):
    return next((key for key in allowed if key[0] == path and re.fullmatch(key[1], text)), None)


def test_marked():
    allowed = listed()
    return [f'{path}:{line}: “{text}” is a sentence and is not marked with _(); if it is none, {LIST} says why'
            for path, line, text in all_unmarked() if entry_of(allowed, path, text) is None]


def test_list():
    allowed = listed()
    used = {entry_of(allowed, path, text) for path, line, text in all_unmarked()}
    return ([f'{LIST} names “{text}” of {path}, which is not there, or is marked' for path, text in sorted(set(allowed) - used)]
            + [f'{LIST}: “{line}” is not “file | text | reason”' for line in house.read(LIST).splitlines()
               if not line.startswith('#') and not re.fullmatch(r'\S+ \| .+ \| .+', line)])


def test_finds_the_wrong():
    wrong = ['say ("the job has failed");', 'say ("job %u is\\n" "lost");', 'dvm_cli_complain ("lost");', 'say (1 ? "the job is lost" : _ ("x"));',
             'g_set_error (error, D, 0, "bad: %s", _ ("the job is lost"));', '{ "key", "RANK", DVM_CLI_KIND_NUMBER },', 'f ((_ ("a")), "this is not marked");',
             'put_text (y, 0, "q quit");', 'g_set_error (error, D, 0, "%s", x ? "It is lost" : y);']
    right = ['_ ("the job has failed");', 'g_debug ("the job has failed: %s", x != NULL ? x : "it is lost");', 'N_ ("the job (%s)" X_FORMAT " is lost")',
             'f ("org.dvm.Job", "map-by: ");', '{ "key", N_ ("RANK"), DVM_CLI_KIND_NUMBER },', '/* "the job has failed" */', 'f ("%s: %s %u");',
             'g_set_error (error, D, 0, "%s: %s", _ ("x"), y);', 'g_set_error (error, D, 0, _ ("option --%s"), "hostfile");', 'NP_ ("%u job is lost", "%u jobs are lost")', '#include "the job has failed"']
    return ([f'“{text}” should be found' for text in wrong if len(list(unmarked(text))) != 1]
            + [f'“{text}” should not be found' for text in right if list(unmarked(text))])


if __name__ == '__main__':
    if sys.argv[1:] == ['--print']:
        print('\n'.join(f'{path}:{line}: {text}' for path, line, text in all_unmarked()))
        sys.exit(0)
    sys.exit(house.run([
        ('sentences for people are marked for translation', test_marked),
        ('the list of those that are none is right', test_list),
        ('sentences that are not marked are found', test_finds_the_wrong),
    ]))
