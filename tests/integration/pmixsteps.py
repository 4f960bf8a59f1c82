# SPDX-License-Identifier: LGPL-2.1-or-later
"""Cases with a PMIx client that does the steps of its arguments, and tells and awaits them by files."""

import os

import dvmtest


class Case(dvmtest.Case):
    """client: the path of the program"""

    client = ''

    def nodes(self, n, settings=(), **options):
        return self.dvm(settings=[f'nodes={n}', 'slots=16', 'kill-grace=0.5', *settings], **options)

    def path(self, name):
        if not hasattr(self, 'folder'):
            self.folder = self.place()
        return os.path.join(self.folder, name)

    def touch(self, name):
        open(self.path(name), 'w').close()

    def wait_for(self, *names):
        for name in names:
            dvmtest.wait_until(lambda: os.path.exists(self.path(name)), name)

    def start(self, dvm, *words, np=1, host='node1', **options):
        job, out, err = dvm.start([self.client, *words], np=np, hosts=[host], **options)
        job.said = out
        job.errors = err
        return job
