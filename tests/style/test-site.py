#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The site of the documents: its pages are there, and lead to pages and headings that are there, those of the library as well.

Whether somebody is at the links to other sites, no test asks: there is no network. Usage: test-site.py SITE
"""

import glob
import html.parser
import os
import re
import sys
import tempfile
import urllib.parse

import house

SITE = sys.argv[1]


class Page(html.parser.HTMLParser):
    """The links of a page, and its anchors."""

    def __init__(self, path):
        super().__init__()
        self.links = []
        self.anchors = set()
        with open(path, encoding='utf-8') as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors |= {given[name] for name in ('id', 'name') if given.get(name)}
        self.links += [given[name] for name in ('href', 'src') if given.get(name)]


def dead_links(site, names):
    pages = {}
    found = []

    def get(path):
        if path not in pages:
            pages[path] = Page(path)
        return pages[path]

    for name in names:
        here = os.path.join(site, name)
        for link in get(here).links:
            target, _, anchor = urllib.parse.unquote(link).partition('#')
            path = os.path.normpath(os.path.join(os.path.dirname(here), target.partition('?')[0])) if target else here
            if re.match(r'\w+:|//', link):
                continue
            if not os.path.isfile(path):
                found.append(f'{name}: the link to {link} leads nowhere')
            elif anchor and path.endswith('.html') and anchor not in get(path).anchors:
                found.append(f'{name}: the link to {link} leads to no heading')
    return found


def all_pages():
    """Those that gi-docgen makes, too."""
    return sorted(os.path.relpath(path, SITE) for path in glob.glob(os.path.join(SITE, '**', '*.html'), recursive=True))


def test_links():
    return dead_links(SITE, all_pages())


def test_pages():
    """Each document is a page, each interface too, and the reference of the library is beside them."""
    wanted = ['index.html', 'NEWS.html', 'CONTRIBUTING.html', 'library/index.html', 'search.html']
    wanted += [re.sub(r'\.md$', '.html', path) for path in house.files(('.md',), ('docs/',))
               if os.path.dirname(path) in ('docs', 'docs/tutorials', 'docs/internals') and path != 'docs/README.md']  # which is the list at the side
    wanted += [f'dbus/interface-{os.path.basename(path)[:-len(".xml")]}.html' for path in house.files(('.xml',), ('dbus/',))]
    return [f'the site has no {page}' for page in wanted if not os.path.isfile(os.path.join(SITE, page))]


def test_contents():
    """Each page can be reached from the first one by the list at its side, and by the search."""
    first = Page(os.path.join(SITE, 'index.html'))
    with open(os.path.join(SITE, 'searchindex.js'), encoding='utf-8') as file:
        index = file.read()
    problems = [f'the first page has no link to {page}' for page in ('docs/quick-start.html', 'docs/tutorials/first-hour.html', 'library.html',
                'dbus/interface-org.dvm.Manager.html', 'docs/internals/jobs.html') if page not in first.links]
    return problems + [f'the search does not know {page}' for page in ('"docs/elastic"', '"dbus/interface-org.dvm.Job"') if page not in index]


class Text(html.parser.HTMLParser):
    """What a page says, without marks, and with one blank between its words."""

    def __init__(self, page):
        super().__init__()
        self.parts = []
        self.feed(page)
        self.words = ' '.join(' '.join(self.parts).split())

    def handle_data(self, data):
        self.parts.append(data)


def missing_texts(description, page):
    """Of the comments in an interface those texts that its page does not have: of arguments, paragraphs, all but @since."""
    words = Text(page).words
    missing = []
    for comment in re.findall(r'<!--\s*([\w.]+:\s.*?)-->', description, re.DOTALL):
        for paragraph in re.split(r'\n\s*\n', comment.partition(':')[2]):
            for text in re.split(r'[;\s]*(?<!\S)@\w+:\s', paragraph):
                text = ' '.join(text.split())
                if text not in words:
                    missing.append(text)
    return missing


def test_interfaces():
    """Each text of the interfaces is on their pages as it was written."""
    problems = []
    for path in house.files(('.xml',), ('dbus/',)):
        name = os.path.basename(path)[:-len('.xml')]
        with open(os.path.join(SITE, 'dbus', f'interface-{name}.html'), encoding='utf-8') as file:
            problems += [f'the page of {name} does not say “{text}”' for text in missing_texts(house.read(path), file.read())]
    return problems


def test_finds_the_wrong():
    with tempfile.TemporaryDirectory() as site:
        for name, text in (('a.html', '<a href="b.html#x">1</a><a href="b.html#y">2</a><a href="c.html">3</a><img src="d.png"><a href="https://e">4</a>'),
                           ('b.html', '<p id="x">')):
            with open(os.path.join(site, name), 'w', encoding='utf-8') as file:
                file.write(text)
        found = dead_links(site, ['a.html', 'b.html'])
    problems = [] if len(found) == 3 else [f'three links of the example are dead, and these are found: {found}']
    found = missing_texts('<!-- A:\n @x: one,\n   two\n @y: %three\n @since: 1\n\n a "b" -->', '<p>one</p><p>two, three</p><p>since 1: a “b”</p>')
    return problems if len(found) == 3 else problems + [f'three texts of the example are missing, and these are found: {found}']


if __name__ == '__main__':
    sys.exit(house.run([
        ('links lead somewhere', test_links),
        ('each document is a page', test_pages),
        ('the first page leads to others', test_contents),
        ('texts of interfaces are whole', test_interfaces),
        ('dead links and missing texts are found', test_finds_the_wrong),
    ]))
