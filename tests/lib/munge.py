# SPDX-License-Identifier: LGPL-2.1-or-later
"""A munged of a test's own, with a key and a socket in a folder of its own.

    class Some(munge.Users, dvmtest.Case):
        def test_some(self):
            munged = self.munged('ours')
"""

import os
import shutil
import subprocess

from dvmtest import wait_until


def find_munged():
    """Where it is, or None."""
    return shutil.which('munged', path=os.environ.get('PATH', '') + ':/usr/sbin:/sbin')


class Munged:
    def __init__(self, folder, key):
        """Those with the same key know each other's credentials."""
        os.makedirs(folder, mode=0o711)
        self.folder = folder
        self.socket = os.path.join(folder, 'socket')
        self.process = None
        with open(os.path.join(folder, 'key'), 'wb', opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(key.ljust(1024, b'k'))
        self.start()

    def start(self):
        files = [f'--{what}-file={self.folder}/{what}' for what in ('key', 'pid', 'seed', 'log')]
        self.process = subprocess.Popen([find_munged(), '--foreground', '--force', f'--socket={self.socket}', *files], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: os.path.exists(self.socket), 'munged is there')

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()


class Users:
    """What a test case has besides."""

    def munged(self, name, key=b'this site'):
        made = Munged(os.path.join(self.place(), name), key)
        self.addCleanup(made.stop)
        return made
