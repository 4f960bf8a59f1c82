#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What desktops get of the monitor, its entry, its metainfo and its icons; and what readers of manuals get, all pages."""

import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import house

FOLDER = 'introspection/monitor/'
ID = 'org.dvm.Monitor'
PAGES = (FOLDER, 'cli/man/')


def complaints(text, name, *command):
    """Of a program about a file of that name with this text."""
    if shutil.which(command[0]) is None:
        raise house.Skip(f'no {command[0]} here: tools/install-deps test installs it')
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        done = subprocess.run([*command, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    return lines or ['it fails without a word'] if done.returncode else []


def check_file(path, name, wrong, *command):
    """wrong: a text of it, and what takes its place in the example of the wrong."""
    text = house.read(path)
    found = complaints(text.replace(*wrong), name, *command)
    return complaints(text, name, *command) + ([] if found else [f'{command[0]} does not find {wrong[1]!r}'])


def check_entry():
    return check_file(f'{FOLDER}{ID}.desktop.in', f'{ID}.desktop', ('Type=Application', 'Type=Program'), 'desktop-file-validate')


def check_metainfo():
    return check_file(f'{FOLDER}{ID}.metainfo.xml.in', f'{ID}.metainfo.xml', ('<summary>', '<summery>'), 'appstreamcli', 'validate', '--no-net',
                      *without_homepage())


def without_homepage():
    """appstreamcli 1.0 and later warn of a missing page of the project, which has none; earlier ones do not know that warning."""
    if shutil.which('appstreamcli') is None:
        return []
    told = subprocess.run(['appstreamcli', '--version'], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [] if 'version: 0.' in told else ['--override', 'url-homepage-missing=info']


def check_pages():
    found = []
    for path in house.files(('.1', '.5', '.8'), PAGES):
        found += check_file(path, os.path.basename(path), ('.SH NAME', '.SI NAME'), 'mandoc', '-Tlint', '-Wwarning')
    return found


def check_icons():
    """Of the sizes that desktops ask for; the symbolic one has one colour."""
    found = []
    for name, size in ((ID, '128'), (f'{ID}-symbolic', '16')):
        root = xml.etree.ElementTree.fromstring(house.read(f'{FOLDER}icons/{name}.svg'))
        if (root.get('width'), root.get('height'), root.get('viewBox')) != (size, size, f'0 0 {size} {size}'):
            found.append(f'{name}.svg is not of {size} pixels')
        colours = {node.get('fill') for node in root.iter() if node.get('fill')}
        if name.endswith('symbolic') and colours != {'#2e3436'}:
            found.append(f'{name}.svg has other colours than the one that desktops replace')
    return found


def check_listed():
    """Meson installs each module."""
    listed = house.read(f'{FOLDER}meson.build')
    return [f'{path} is not in meson.build' for path in house.files(('.py', '.css', '.svg'), (FOLDER,)) if f"'{path[len(FOLDER):]}'" not in listed]


if __name__ == '__main__':
    sys.exit(house.run([
        ('the entry of the desktop is right', check_entry),
        ('the metainfo is right', check_metainfo),
        ('the manual pages are right', check_pages),
        ('the icons are right', check_icons),
        ('each module is installed', check_listed),
    ]))
