# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plugins built against the installed project, loaded by the installed daemon; what is refused, and scripted ones."""

import atexit
import glob
import json
import os
import shutil
import subprocess
import tempfile

import dvmtest
import leftovers
from dvmtest import MAP_FAILED, NOTIFIED

BUILD = os.environ['DVM_TEST_BUILD']
SOURCE = os.environ['DVM_TEST_SOURCE']
MESON = shutil.which('meson', path='/usr/bin') or 'meson'
EXAMPLES = os.path.join(SOURCE, 'examples', 'plugins')
BUILTIN = {('mapper', 'colocate'), ('mapper', 'object'), ('mapper', 'pe-list'), ('mapper', 'ppr'), ('mapper', 'rank-file'), ('mapper', 'round-robin'),
           ('mapper', 'seq'), ('allocator', 'bus'), ('allocator', 'flux'), ('allocator', 'slurm'), ('allocator', 'gridengine'), ('allocator', 'lsf'),
           ('allocator', 'pbs'), ('allocator', 'hosts'), ('launcher', 'local'), ('launcher', 'bootstrap'), ('launcher', 'flux'), ('launcher', 'slurm'),
           ('launcher', 'gridengine'), ('launcher', 'lsf'), ('launcher', 'pbs'), ('launcher', 'ssh'), ('launcher', 'pdsh'), ('launcher', 'pals')}
KINDS = {('mapper', 'plane'), ('mapper', 'reverse'), ('allocator', 'command'), ('launcher', 'command')}


def run(*argv, **kwargs):
    result = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            check=False, **kwargs)
    if result.returncode:
        raise AssertionError(f'{" ".join(argv)}: {result.returncode}\n{result.stdout}')
    return result.stdout


class Tree:
    """The project, installed, and the examples, built against that."""

    def __init__(self):
        self.place = tempfile.mkdtemp(prefix='dvmtest-plugins-')
        run(MESON, 'install', '-C', BUILD, '--no-rebuild', '--quiet', '--destdir', os.path.join(self.place, 'dest'))
        pc = glob.glob(os.path.join(self.place, 'dest', '**', 'dvm-plugin-1.0.pc'), recursive=True)[0]
        self.daemon = glob.glob(os.path.join(self.place, 'dest', '**', 'bin', 'dvmd'), recursive=True)[0]
        # The files for pkg-config name the prefix that was configured: here it lies below another directory.
        prefix = os.path.dirname(os.path.dirname(self.daemon))
        for path in glob.glob(os.path.join(os.path.dirname(pc), '*.pc')):
            with open(path, encoding='utf-8') as file:
                lines = [f'prefix={prefix}\n' if line.startswith('prefix=') else line for line in file]
            with open(path, 'w', encoding='utf-8') as file:
                file.writelines(lines)
        self.env = dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(pc))
        self.libdir = os.path.dirname(os.path.dirname(pc))
        self.modules = os.path.join(self.place, 'modules')
        os.mkdir(self.modules)
        run('make', '-C', EXAMPLES, f'BUILD={self.modules}', env=self.env)


class Installed(dvmtest.Case):
    tree = None

    def setUp(self):
        super().setUp()
        if Installed.tree is None:
            Installed.tree = Tree()
            atexit.register(shutil.rmtree, Installed.tree.place)

    def installed(self, *settings, path=None, **kwargs):
        was, dvmtest.DVMD = dvmtest.DVMD, self.tree.daemon
        try:
            return self.dvm(settings=[f'plugin-path={path or self.tree.modules}', *settings], **kwargs)
        finally:
            dvmtest.DVMD = was

    def plugins(self, dvm):
        return {(row['kind'], row['name']): row for row in dvm.call('ListPlugins', '(a{sv})', {})[0]}

    def test_meson(self):
        """The other way to build them."""
        build = os.path.join(self.tree.place, 'meson')
        run(MESON, 'setup', build, EXAMPLES, env=self.tree.env)
        run('ninja', '-C', build, env=self.tree.env)
        self.assertEqual(len(glob.glob(os.path.join(build, '*.so'))), 4)

    def test_listed(self):
        dvm = self.installed('disabled-plugins=launcher-command', slots=1)
        plugins = self.plugins(dvm)
        self.assertEqual(set(plugins), KINDS | BUILTIN)
        row = plugins['mapper', 'reverse']
        self.assertTrue(row['active'])
        self.assertEqual(row['path'], os.path.join(self.tree.modules, 'mapper-reverse.so'))
        self.assertFalse(plugins['launcher', 'command']['active'])
        self.assertEqual(plugins['mapper', 'round-robin']['path'], '')

    def test_mapper(self):
        dvm = self.installed('disabled-plugins=mapper-round-robin', slots=4)
        self.assertEqual(dvm.run(['true'], np=4).state, NOTIFIED)
        self.assert_refused('BadParam', '“ppr:N:OBJECT”, “rankfile”, “seq”, “plane:N”, “slot”', dvm.submit, ['true'], np=2,
                            map_by='node')

    def place_with_cli(self, dvm, *args):
        cli = os.path.join(os.path.dirname(self.tree.daemon), 'dvm-cli')
        env = dict(os.environ, XDG_RUNTIME_DIR=dvm.runtime, HOME=dvm.home)
        rows = json.loads(subprocess.run([cli, '--socket', dvm.socket, 'map', '--json', *args, 'true'], env=env, check=True,
                                         stdout=subprocess.PIPE, timeout=dvmtest.LIMIT).stdout)
        self.assertEqual([row['rank'] for row in rows], list(range(len(rows))))
        return ''.join(row['node'][-1] for row in rows)

    def test_own_word(self):
        """A word that a plugin brings is one of --map-by like any other."""
        dvm = self.installed('nodes=3', slots=4)
        row = self.plugins(dvm)['mapper', 'plane']
        self.assertEqual((row['words'], row['qualifiers']), (['plane:N'], ['first=NODE']))
        self.assertEqual(self.place_with_cli(dvm, '-n', '8', '--map-by', 'plane:2'), '11223311')
        self.assertEqual(self.place_with_cli(dvm, '-n', '5', '--map-by', 'PLANE:1:First=node3'), '31231')
        done = dvm.run(['sh', '-c', 'echo $DVM_RANK $DVM_NODE'], np=7, map_by='pla:3', personality='plain')
        self.assertEqual([line[-1] for line in sorted(done.lines)], list('1112223'))
        for map_by, kind, mention in [('plane', 'BadParam', 'it is written “plane:N”'), ('plane:0', 'BadParam', '“0”'),
                                      ('plane:2:last=node1', 'BadParam', 'unknown word “last”'),
                                      ('plane:2:pe=3', 'NotSupported', '“pe”'), ('plain:2', 'BadParam', 'did you mean “plane”'),
                                      ('p:2', 'BadParam', 'more than one word')]:
            self.assert_refused(kind, mention, dvm.submit, ['true'], np=2, map_by=map_by)
        self.assertEqual(dvm.run(['true'], np=13, map_by='plane:2', when_full='refuse').state, MAP_FAILED)

    def test_allocator(self):
        """Its node is elsewhere: a launcher has to bring an agent there, its own or one of the program's."""
        scripts = {'command': '#!/bin/sh\nshift\nexec "$@"\n',
                   'ssh': '#!/bin/sh\nfor word; do last=$word; done\nexec sh -c "$last"\n'}
        for launcher, script in scripts.items():
            command = os.path.join(self.place(), 'shell')
            with open(command, 'w', encoding='ascii') as file:
                file.write(script)
            os.chmod(command, 0o755)
            dvm = self.installed('disabled-plugins=allocator-hosts', f'launcher={launcher}', f'launcher-command={command}',
                                 f'plugin-settings=allocator-command.command="echo elsewhere" launcher-command.command={command}')
            node = dvm.get_nodes()[1]
            self.assertEqual((node['Name'], node['Launcher']), ('elsewhere', launcher))
            self.assertEqual(dvm.run(['true']).state, NOTIFIED)
            job = dvm.submit(['sleep', '1000'], np=1)
            job.wait_running()
            pids = job.pids() + [node['Pid']]
            self.assertEqual(dvm.stop(), 0)
            self.assertEqual([pid for pid in pids if leftovers.is_running(pid)], [])
            self.assertNotIn('lost', dvm.log())
            dvm.check_clean()

    def test_refused(self):
        """What cannot be loaded is told, with its name and the reason; all else works."""
        broken = os.path.join(self.tree.place, 'broken')
        os.mkdir(broken)
        with open(os.path.join(broken, 'a-broken.so'), 'w', encoding='ascii') as file:
            file.write('this is no program')
        for mistake in ('missing-symbol', 'no-info', 'wrong-abi', 'wrong-size'):
            shutil.copy(os.path.join(BUILD, 'tests', 'unit', f'plugin-{mistake}.so'), broken)
        shutil.copy(os.path.join(self.tree.modules, 'mapper-reverse.so'), os.path.join(broken, 'a-mapper.so'))
        shutil.copy(os.path.join(self.tree.modules, 'mapper-reverse.so'), os.path.join(broken, 'b-mapper.so'))
        dvm = self.installed(path=broken, env={'LD_LIBRARY_PATH': self.tree.libdir})
        self.assertEqual(dvm.run(['true']).state, NOTIFIED)
        self.assertIn(('mapper', 'reverse'), self.plugins(dvm))
        self.assertEqual(len(self.plugins(dvm)), len(BUILTIN) + 1)
        with open(dvm.log_path, encoding='utf-8', errors='replace') as file:
            lines = [line for line in file if 'is refused: ' in line]
        for name, reason in [('a-broken.so', 'cannot be opened'), ('plugin-missing-symbol.so', 'function_that_nobody_has'),
                             ('plugin-no-info.so', 'does not export'), ('plugin-wrong-abi.so', 'this is version 2'),
                             ('plugin-wrong-size.so', 'bytes where'), ('b-mapper.so', 'is taken from')]:
            self.assertTrue([line for line in lines if name in line and reason in line], (name, lines))
        self.assertEqual(len(lines), 6)


class Scripted(dvmtest.Case):
    """The plugins of tests, in a daemon."""

    def test_only_with_a_script(self):
        dvm = self.dvm(slots=1)
        self.assertFalse([row for row in dvm.call('ListPlugins', '(a{sv})', {})[0] if row['name'] == 'test'])

    def test_mapper(self):
        dvm = self.dvm(slots=2, settings=['test-plugin=mapper decline; mapper fail not on a Monday; mapper wrong; mapper done'])
        states = [dvm.run(['true'], np=2) for _ in range(5)]
        self.assertEqual([job.state for job in states], [NOTIFIED, MAP_FAILED, MAP_FAILED, NOTIFIED, NOTIFIED])
        self.assertIn('not on a Monday', states[1].reason)
        self.assertIn('a rank has no place', states[2].reason)

    def test_allocator_delays(self):
        dvm = self.dvm(slots=2, settings=['test-plugin=allocator delay 300; allocator done'])
        self.assertEqual(dvm.run(['true'], np=2).state, NOTIFIED)

    def test_no_nodes(self):
        for setting, mention in [('test-plugin=allocator fail the scheduler is away', 'the scheduler is away'),
                                 ('test-plugin=allocator wrong', 'has found no nodes'),
                                 ('disabled-plugins=allocator-hosts', 'No allocator has found nodes')]:
            dvm = self.try_dvm(settings=[setting])
            self.assertTrue(dvm.answer.startswith('ERROR: '), dvm.answer)
            self.assertIn(mention, dvm.answer)
            self.assertEqual(dvm.process.wait(dvmtest.LIMIT), 1)


if __name__ == '__main__':
    dvmtest.main()
