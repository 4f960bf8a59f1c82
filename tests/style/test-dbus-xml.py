#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The interface descriptions in dbus/ are well-formed, documented, and say since when."""

import re
import sys
import xml.etree.ElementTree as ElementTree

import house

DOCUMENTED = ('interface', 'method', 'signal', 'property')


def parse(text):
    builder = ElementTree.TreeBuilder(insert_comments=True)
    return ElementTree.fromstring(text, parser=ElementTree.XMLParser(target=builder))


def undocumented(path, text):
    try:
        root = parse(text)
    except ElementTree.ParseError as error:
        return [f'{path}: not well-formed: {error}']
    problems = []
    for parent in root.iter():
        comment = ''
        for element in parent:
            if element.tag is ElementTree.Comment:
                comment = element.text or ''
                continue
            if element.tag in DOCUMENTED:
                problems += check_comment(path, element, comment)
            comment = ''
    return problems


def check_comment(path, element, comment):
    name = element.get('name', '')
    where = f'{path}: {element.tag} {name}'
    if not re.match(r'\s*' + re.escape(name) + r':\s', comment):
        return [f'{where}: no comment "{name}: ..." directly above it']
    problems = []
    if not re.search(r'@since:\s*\d', comment):
        problems.append(f'{where}: its comment has no @since')
    for argument in element.findall('arg'):
        if not re.search(r'@' + re.escape(argument.get('name', '?')) + r':', comment):
            problems.append(f'{where}: its comment does not speak of @{argument.get("name")}')
    return problems


def test_documented():
    return [problem for path in house.files(('.xml',), ('dbus/',)) for problem in undocumented(path, house.read(path))]


def test_options_last():
    """Every method but a few ends in an a{sv}, so that options can come later without a new method."""
    without = re.compile(r'^(Find\w+|GetTopology|Subscribe|Unsubscribe)$')
    problems = []
    for path in house.files(('.xml',), ('dbus/',)):
        for method in parse(house.read(path)).iter('method'):
            types = [argument.get('type') for argument in method.findall('arg') if argument.get('direction') != 'out']
            if not without.match(method.get('name')) and types[-1:] != ['a{sv}']:
                problems.append(f'{path}: the last argument of {method.get("name")} is no a{{sv}}')
    return problems


def test_finds_the_wrong():
    wrong = '''<node><!-- a.B: @since: 1 --><interface name="a.B"><method name="M"><arg name="x"/></method>
        <!-- N: speaks of nothing, @since: 1 --><method name="N"><arg name="y"/></method></interface></node>'''
    found = undocumented('wrong', wrong)
    if len(found) == 2 and undocumented('broken', '<node><a></node>'):
        return []
    return [f'two things are wrong in the example, and these are found: {found}']


if __name__ == '__main__':
    sys.exit(house.run([
        ('interfaces are documented', test_documented),
        ('methods end in options', test_options_last),
        ('wrong descriptions are found', test_finds_the_wrong),
    ]))
