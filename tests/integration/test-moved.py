# SPDX-License-Identifier: LGPL-2.1-or-later
"""An installation that was moved, as one is that others mount elsewhere: it finds its programs, parts, settings, plugins and translations."""

import atexit
import glob
import json
import os
import shutil
import subprocess
import tempfile

import dvmtest

BUILD = os.environ['DVM_TEST_BUILD']
MESON = shutil.which('meson', path='/usr/bin') or 'meson'


class Moved(dvmtest.Case):
    prefix = None

    @classmethod
    def install(cls):
        """Once for all."""
        place = tempfile.mkdtemp(prefix='dvmtest-', dir='/tmp')
        atexit.register(shutil.rmtree, place)
        subprocess.run([MESON, 'install', '-C', BUILD, '--no-rebuild', '--quiet', '--destdir', os.path.join(place, 'dest')], check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        dvmd, = glob.glob(os.path.join(place, 'dest', '**', 'bin', 'dvmd'), recursive=True)
        cls.prefix = os.path.join(place, 'moved')
        os.rename(os.path.dirname(os.path.dirname(dvmd)), cls.prefix)

    def setUp(self):
        super().setUp()
        if self.prefix is None:
            self.install()
        self.home = self.place()
        run_dir = os.path.join(self.home, 'run')
        os.mkdir(run_dir, 0o700)
        # Of the build tree nothing helps.
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(('DVM_', 'LD_LIBRARY_PATH'))}
        self.env.update(PATH='/usr/bin:/bin', HOME=self.home, XDG_RUNTIME_DIR=run_dir)

    def call(self, program, *words, **env):
        return subprocess.run([os.path.join(self.prefix, 'bin', program), *words], env=dict(self.env, **env), capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=dvmtest.LIMIT, check=False)

    def settings_file(self):
        path = os.path.join(self.prefix, 'etc', 'dvm', 'dvm.conf')
        if not os.path.exists(path):
            self.skipTest('the settings of this build are not below its prefix')
        return path

    def test_settings(self):
        path = self.settings_file()
        self.addCleanup(shutil.move, shutil.copy(path, self.home), path)
        with open(path, 'w', encoding='utf-8') as file:
            file.write('[dvm]\nno-such-setting = 1\n')
        done = self.call('dvmd', '--dump-config')
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(f'{path}:2: ', done.stderr)
        with open(path, 'w', encoding='utf-8') as file:
            file.write('[dvm]\nslots = 3\n')
        rows = json.loads(self.call('dvm-cli', 'config', '--json').stdout)
        slots = next(row for row in rows if row['name'] == 'slots')
        self.assertEqual((slots['value'], slots['place']), ('3', f'{path}:2'))

    def test_translations(self):
        """A locale of another name than C.UTF-8 is translated, and need not be installed."""
        locales = os.path.join(self.home, 'locale')
        shutil.copytree('/usr/lib/locale/C.utf8', os.path.join(locales, 'de_DE.utf8'))
        done = self.call('dvm-cli', 'status', LOCPATH=locales, LC_ALL='de_DE.UTF-8')
        self.assertIn('läuft', done.stderr)

    def test_job(self):
        """Nodes, PMIx, the archive and plugins: programs and parts of the tree that was moved, and no others."""
        library, = glob.glob(os.path.join(self.prefix, '**', 'libdvmd-plugin-1.0.so.0'), recursive=True)
        plugin = os.path.join(os.path.dirname(library), 'dvm', 'plugins', 'none.so')
        os.makedirs(os.path.dirname(plugin))
        with open(plugin, 'w', encoding='utf-8') as file:
            file.write('no plugin')
        started = self.call('dvm-cli', 'start', '--nodes', '2', '--slots', '1')
        self.assertEqual((started.returncode, started.stderr), (0, ''))
        try:
            done = self.call('dvm-cli', 'run', '-n', '2', 'sh', '-c', 'for p in /proc/[0-9]*; do readlink $p/exe; done; true')
            ours = {path for path in done.stdout.splitlines() if os.path.basename(path).startswith('dvm') and path.startswith(os.path.dirname(self.prefix))}
            self.assertEqual({os.path.relpath(path, self.prefix) for path in ours} - {'bin/dvm-cli'},
                             {'bin/dvmd', 'bin/dvm-agent', 'libexec/dvm/dvm-guard', 'libexec/dvm/dvm-pmix'}, done.stderr)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(self.call('dvm-cli', 'logs').stdout, f'{plugin}.* is refused')
        finally:
            stopped = self.call('dvm-cli', 'stop')
        self.assertEqual(stopped.returncode, 0, stopped.stderr)
        self.assertIn('sh', self.call('dvm-cli', 'history').stdout)


if __name__ == '__main__':
    dvmtest.main()
