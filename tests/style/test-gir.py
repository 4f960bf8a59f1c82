#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whatever the library shows to other languages is described: what it does, since when, who frees it, whether it may be NULL.

    test-gir.py GIR
"""

import os
import re
import sys
import xml.etree.ElementTree as ElementTree

import house

CORE = '{http://www.gtk.org/introspection/core/1.0}'
C = '{http://www.gtk.org/introspection/c/1.0}'
GLIB = '{http://www.gtk.org/introspection/glib/1.0}'

CALLABLES = ('function', 'method', 'constructor', 'virtual-method', 'callback')
DESCRIBED = CALLABLES + ('class', 'interface', 'record', 'bitfield', 'enumeration', 'property', 'constant')
SIGNAL = GLIB + 'signal'
COMMENT = re.compile(r'/\*\*\n \* (\w+):[^\n]*\n(.*?)\*/', re.DOTALL)


def bare(element):
    return element.tag.split('}')[1]


def name_of(element, parents):
    own = element.get(C + 'identifier') or element.get(C + 'type') or element.get('name')
    if element.tag == SIGNAL or bare(element) == 'property':
        return f'{parents[-1].get(C + "type", parents[-1].get("name"))}:{own}'
    return own


def walk(element, parents=()):
    for child in element:
        yield child, parents + (element,)
        yield from walk(child, parents + (element,))


def text_of(element):
    doc = element.find(CORE + 'doc')
    return doc.text if doc is not None else ''


def public(root):
    namespace = root.find(CORE + 'namespace')
    for element, parents in walk(namespace):
        if element.get('introspectable') == '0' or element.get('moved-to') or element.get(GLIB + 'is-gtype-struct-for'):
            continue
        # The opaque class structures of final types say nothing.
        if bare(element) == 'record' and element.get('name', '').endswith('Class'):
            continue
        yield element, parents


def check_described(root):
    problems = []
    for element, parents in public(root):
        if bare(element) == 'member':
            if not text_of(element):
                problems.append(f'{element.get(C + "identifier")} is not described')
        elif bare(element) in DESCRIBED or element.tag == SIGNAL:
            name = name_of(element, parents)
            if not text_of(element):
                problems.append(f'{name} is not described')
            if not element.get('version'):
                problems.append(f'{name} does not say since when it is there')
    return problems


def check_parameters(root):
    problems = []
    for element, parents in public(root):
        if bare(element) not in CALLABLES and element.tag != SIGNAL:
            continue
        parameters = element.find(CORE + 'parameters')
        for parameter in parameters.findall(CORE + 'parameter') if parameters is not None else ():
            if not text_of(parameter):
                problems.append(f'{name_of(element, parents)}: @{parameter.get("name")} is not described')
        result = element.find(CORE + 'return-value')
        kind = result.find(CORE + 'type') if result is not None else None
        if not (kind is not None and kind.get('name') == 'none') and result is not None and not text_of(result):
            problems.append(f'{name_of(element, parents)}: what it returns is not described')
    return problems


def may_be_null(value):
    return value.get('nullable') == '1' or value.get('optional') == '1' or value.get('allow-none') == '1'


def check_nullable(root):
    """The words and the annotations say the same about NULL."""
    problems = []
    for element, parents in public(root):
        if bare(element) not in CALLABLES:
            continue
        parameters = element.find(CORE + 'parameters')
        for parameter in parameters.findall(CORE + 'parameter') if parameters is not None else ():
            if '%NULL' in text_of(parameter) and not may_be_null(parameter):
                problems.append(f'{name_of(element, parents)}: @{parameter.get("name")} may be NULL, and is not (nullable)')
        result = element.find(CORE + 'return-value')
        words = text_of(result)
        if '%NULL' in words and not may_be_null(result) and element.get('throws') != '1':
            problems.append(f'{name_of(element, parents)} may return NULL, and is not (nullable)')
        if may_be_null(result) and '%NULL' not in words:
            problems.append(f'{name_of(element, parents)} is (nullable), and does not say when it returns %NULL')
    return problems


def returns_memory(element):
    result = element.find(CORE + 'return-value')
    if result.find(CORE + 'array') is not None:
        return True
    kind = result.find(CORE + 'type')
    return kind is not None and kind.get(C + 'type', '').endswith('*')


def comments():
    found = {}
    for path in house.files(('.c', '.h'), ('libdvm-gobject/',)):
        found.update(dict(COMMENT.findall(house.read(path))))
    return found


def check_transfer(root, texts):
    """Said in the comment: what the scanner guesses is not a promise."""
    problems = []
    for element, parents in public(root):
        if bare(element) not in CALLABLES or element.tag == SIGNAL or not returns_memory(element):
            continue
        name = element.get(C + 'identifier')
        words = re.search(r'^ \* Returns:(.*)', texts.get(name, ''), re.MULTILINE)
        if name and (words is None or '(transfer ' not in words.group(1)):
            problems.append(f'{name} does not say who owns what it returns')
    return problems


def check_itself():
    text = '''<repository xmlns="http://www.gtk.org/introspection/core/1.0" xmlns:c="http://www.gtk.org/introspection/c/1.0">
<namespace name="X"><function name="f" c:identifier="x_f"><return-value transfer-ownership="none"><doc>%NULL</doc>
<type name="utf8" c:type="const char*"/></return-value><parameters><parameter name="a"><type name="gint" c:type="int"/></parameter>
</parameters></function></namespace></repository>'''
    root = ElementTree.fromstring(text)
    found = check_described(root) + check_parameters(root) + check_nullable(root) + check_transfer(root, {})
    return [] if len(found) == 5 else [f'the example has 5 faults, and these are found: {found}']


if __name__ == '__main__':
    ROOT = ElementTree.parse(os.path.abspath(sys.argv[1])).getroot()
    sys.exit(house.run([
        ('this test finds what it looks for', check_itself),
        ('everything is described, with its version', lambda: check_described(ROOT)),
        ('parameters and results are described', lambda: check_parameters(ROOT)),
        ('what may be NULL is annotated', lambda: check_nullable(ROOT)),
        ('owners are named', lambda: check_transfer(ROOT, comments())),
    ]))
