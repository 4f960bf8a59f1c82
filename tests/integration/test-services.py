# SPDX-License-Identifier: LGPL-2.1-or-later
"""What systemd and the message bus get of an installation: all in place, and right in the eyes of their own tools."""

import configparser
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import xml.etree.ElementTree

import dvmtest

BUILD = os.environ['DVM_TEST_BUILD']
MESON = '/usr/bin/meson' if os.path.exists('/usr/bin/meson') else 'meson'
UNITS = ('user', 'system')
JOURNALD = '/lib/systemd/systemd-journald'
# A journal of its own in a mount namespace of its own, and dvmd as a service that writes to it.
WITH_JOURNAL = '''#!/bin/sh
mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/journal /run/log/journal || exit 1
/usr/bin/python3 {place}/start-journald >{place}/journald.pid
until [ -S /run/systemd/journal/socket ] && [ -S /run/systemd/journal/stdout ]; do sleep 0.02; done
exec systemd-cat -t dvmd {dvmd} "$@"
'''


def read(path):
    with open(path) as f:
        return f.read()
# It inherits nothing, least of all the descriptor by which dvmd says that it is ready.
START_JOURNALD = '''import subprocess
print(subprocess.Popen(['{journald}'], env={{}}, start_new_session=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid)
'''


class Services(dvmtest.Case):
    tree = None

    @classmethod
    def install(cls, place):
        subprocess.run([MESON, 'install', '-C', BUILD, '--no-rebuild', '--quiet', '--destdir', place], check=True,
                       stdout=subprocess.DEVNULL)
        for folder, _, names in os.walk(place):
            if 'dvmd' in names:
                return os.path.dirname(folder), os.path.join(folder, 'dvmd')
        raise AssertionError('dvmd is not installed')

    def setUp(self):
        super().setUp()
        self.folder = self.place()
        self.prefix, self.dvmd = self.install(os.path.join(self.folder, 'dest'))

    def path(self, *words):
        path = os.path.join(self.prefix, *words)
        self.assertTrue(os.path.isfile(path), f'{path} is not installed')
        return path

    def need(self, tool):
        if shutil.which(tool) is None:
            raise dvmtest.unittest.SkipTest(f'{tool} is not there')

    def test_everything_is_in_place(self):
        program = self.dvmd.split('/dest', 1)[1]
        for kind, bus in zip(UNITS, ('services', 'system-services')):
            unit = read(self.path('lib', 'systemd', kind, 'dvm.service'))
            self.assertIn('Type=dbus\nBusName=org.dvm.Manager\n', unit)
            agent = read(self.path('lib', 'systemd', kind, 'dvm-agent.service'))
            self.assertIn(f'ExecStart={os.path.dirname(program)}/dvm-agent --bootstrap\nRestart=always\n', agent)
            self.assertIn('RestartPreventExitStatus=2\n', agent)
            command = f'{program} --activated --bus={"session" if kind == "user" else "system"}'
            self.assertIn(f'ExecStart={command}\n', unit)
            service = configparser.ConfigParser(interpolation=None)
            service.optionxform = str
            service.read_string(read(self.path('share', 'dbus-1', bus, 'org.dvm.Manager.service')))
            service = dict(service['D-BUS Service'])
            self.assertEqual(service.pop('User', 'dvm'), 'dvm')
            self.assertEqual(service, {'Name': 'org.dvm.Manager', 'Exec': command, 'SystemdService': 'dvm.service'})
        policy = xml.etree.ElementTree.parse(self.path('share', 'dbus-1', 'system.d', 'org.dvm.Manager.conf')).getroot()
        owners = [p.get('user') or p.get('group') for p in policy for rule in p if rule.get('own_prefix')]
        self.assertEqual(owners, ['root', 'dvm', 'dvm'])
        self.assertEqual([rule.attrib for p in policy for rule in p if p.get('context') == 'default'],
                         [{'send_destination_prefix': 'org.dvm.Manager'}])

    def test_libraries(self):
        """The file has the whole version, its users know the soname, and the linker the plain name."""
        lib = next(folder for folder, _, names in os.walk(self.prefix) if 'libdvm-gobject-1.0.so' in names)
        for name in ('libdvm-gobject-1.0', 'libdvmd-plugin-1.0'):
            path = os.path.join(lib, name)
            self.assertTrue(os.path.isfile(f'{path}.so.0.1.0') and not os.path.islink(f'{path}.so.0.1.0'))
            self.assertEqual(os.readlink(f'{path}.so.0'), f'{name}.so.0.1.0')
            self.assertEqual(os.readlink(f'{path}.so'), f'{name}.so.0')
            with open(f'{path}.so.0.1.0', 'rb') as f:
                self.assertIn(f'\0{name}.so.0\0'.encode(), f.read())

    def test_units(self):
        """systemd-analyze has nothing to say about them."""
        self.need('systemd-analyze')
        programs, installed = (os.path.dirname(path) for path in (self.dvmd.split('/dest', 1)[1], self.dvmd))
        for kind, name in itertools.product(UNITS, ('dvm.service', 'dvm-agent.service')):
            # It looks for the program where the unit says it is.
            unit = read(self.path('lib', 'systemd', kind, name)).replace(f'={programs}/', f'={installed}/')
            path = os.path.join(self.folder, kind, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, 'w') as f:
                f.write(unit)
            env = dict(os.environ, XDG_RUNTIME_DIR=self.folder)
            done = subprocess.run(['systemd-analyze', 'verify', f'--{kind}', '--man=no', path], env=env,
                                  capture_output=True, text=True, stdin=subprocess.DEVNULL)
            ours = [line for line in (done.stdout + done.stderr).splitlines() if 'dvm' in line]
            self.assertEqual(ours, [], done.stderr)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_wrong_unit_is_seen(self):
        self.need('systemd-analyze')
        path = os.path.join(self.folder, 'dvm.service')
        with open(path, 'w') as f:
            f.write(read(self.path('lib', 'systemd', 'system', 'dvm.service')).replace('KillMode=', 'KilMode='))
        done = subprocess.run(['systemd-analyze', 'verify', '--system', '--man=no', path], capture_output=True, text=True)
        self.assertIn('KilMode', done.stderr)

    def test_user(self):
        """systemd-sysusers would make the user, in a root of its own."""
        self.need('systemd-sysusers')
        root = os.path.join(self.folder, 'root')
        os.makedirs(os.path.join(root, 'etc'))
        done = subprocess.run(['systemd-sysusers', f'--root={root}', self.path('lib', 'sysusers.d', 'dvm.conf')],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        user = next(line for line in read(os.path.join(root, 'etc', 'passwd')).splitlines() if line.startswith('dvm:'))
        self.assertEqual(user.split(':')[5], '/var/lib/dvm')
        self.assertIn('\ndvm:', '\n' + read(os.path.join(root, 'etc', 'group')))

    def test_directories(self):
        """systemd-tmpfiles makes the home, and leaves the sockets in /tmp alone however old they are."""
        self.need('systemd-tmpfiles')
        if os.geteuid() != 0:
            raise dvmtest.unittest.SkipTest('only root may give directories to the user dvm')
        root = os.path.join(self.folder, 'root')
        lines = read(self.path('lib', 'tmpfiles.d', 'dvm.conf'))
        self.assertIn('x /tmp/dvm-*\n', lines)
        os.makedirs(os.path.join(root, 'etc'))
        with open(os.path.join(root, 'etc', 'passwd'), 'w') as f:
            f.write('root:x:0:0::/root:/bin/sh\ndvm:x:61234:61234::/var/lib/dvm:/usr/sbin/nologin\n')
        with open(os.path.join(root, 'etc', 'group'), 'w') as f:
            f.write('root:x:0:\ndvm:x:61234:\n')
        old = os.path.join(root, 'tmp', 'dvm-1000', 'default')
        other = os.path.join(root, 'tmp', 'other')
        for path in (old, other):
            os.makedirs(path)
        rules = os.path.join(self.folder, 'rules.conf')
        with open(rules, 'w') as f:
            f.write(lines + 'd /tmp 1777 root root 0\n')
        done = subprocess.run(['systemd-tmpfiles', '--create', '--clean', f'--root={root}', rules], capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        home = os.stat(os.path.join(root, 'var', 'lib', 'dvm'))
        self.assertEqual((home.st_uid, home.st_gid, home.st_mode & 0o7777), (61234, 61234, 0o750))
        self.assertTrue(os.path.isdir(old))
        self.assertFalse(os.path.exists(other))


class Journal(dvmtest.Case):
    def setUp(self):
        super().setUp()
        self.folder = self.place()
        self.journald = None
        self.program = dvmtest.DVMD

    def clear(self):
        dvmtest.DVMD = self.program
        super().clear()
        if self.journald is not None:
            os.kill(self.journald, signal.SIGTERM)

    def need(self):
        for tool in ('unshare', 'nsenter', 'systemd-cat', 'journalctl', JOURNALD):
            if shutil.which(tool) is None:
                raise dvmtest.unittest.SkipTest(f'{tool} is not there')
        if os.geteuid() != 0 or subprocess.run(['unshare', '-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/run'],
                                               capture_output=True).returncode != 0:
            raise dvmtest.unittest.SkipTest('a journal of its own needs root and a mount namespace')

    def start(self, **options):
        with open(os.path.join(self.folder, 'start-journald'), 'w') as f:
            f.write(START_JOURNALD.format(journald=JOURNALD))
        script = os.path.join(self.folder, 'with-journal')
        with open(script, 'w') as f:
            f.write(WITH_JOURNAL.format(place=self.folder, dvmd=self.program))
        wrapper = os.path.join(self.folder, 'dvmd')
        with open(wrapper, 'w') as f:
            f.write(f'#!/bin/sh\nexec unshare -m sh {script} "$@"\n')
        os.chmod(wrapper, 0o755)
        dvmtest.DVMD = wrapper
        dvm = self.try_dvm(**options)
        with open(os.path.join(self.folder, 'journald.pid')) as f:
            self.journald = int(f.read())
        self.assertEqual(dvm.answer, 'READY\n', dvm.log())
        dvm.connection = dvm.connect()
        return dvm

    def journal(self, *matches):
        """Records of dvmd in which all these fields are as said, in their order."""
        done = subprocess.run(['nsenter', '-t', str(self.journald), '-m', 'journalctl', '-D', '/run/log/journal',
                               '--no-pager', '-q', '-o', 'json', 'SYSLOG_IDENTIFIER=dvmd', *matches],
                              capture_output=True, text=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_fields(self):
        """Messages can be found by job, by rank and by node, and stderr gets none of them."""
        self.need()
        dvm = self.start(slots=2, env={'G_MESSAGES_DEBUG': 'dvmd-core dvmd-state'})
        done = dvm.run(['sh', '-c', 'exit 7'], np=2)
        other = dvm.run(['true'])
        nspace = done.job.nspace
        records = dvmtest.wait_until(lambda: [r for r in self.journal(f'JOB={nspace}') if ': ended' in r['MESSAGE']],
                                     'the end of the job to be in the journal')
        self.assertEqual(len(records), 1)
        self.assertTrue(records[0]['MESSAGE'].startswith(f'job {nspace}: ended: NON_ZERO_TERM'), records[0])
        self.assertEqual((records[0]['GLIB_DOMAIN'], records[0]['PRIORITY']), ('dvmd-core', '6'))
        self.assertNotIn('RANK', records[0])
        for rank in '01':
            states = [r['MESSAGE'] for r in self.journal(f'JOB={nspace}', f'RANK={rank}')]
            self.assertIn(f'job {nspace} rank {rank}: INIT -> RUNNING', states)
            self.assertTrue(all(text.startswith(f'job {nspace} rank {rank}: ') for text in states), states)
        self.assertTrue(self.journal(f'JOB={other.job.nspace}'))
        node = dvm.get_nodes()[1]['Name']
        self.assertTrue([r for r in self.journal(f'NODE={node}') if r['MESSAGE'].startswith(f'node {node}: UP')])
        # What a process has logged by PMIx_Log().
        said = dvm.run([os.environ['DVM_TEST_PMIX_DATA'], 'log', 'syslog', 'for the operator'], np=1).job.nspace
        records = dvmtest.wait_until(lambda: self.journal(f'JOB={said}', 'RANK=0', f'NODE={node}'), 'the text in the journal')
        self.assertEqual([r['MESSAGE'] for r in records if 'says: ' in r['MESSAGE']], [f'job {said} rank 0 on {node}: says: for the operator'])
        self.assertEqual(dvm.log(), '')

    def documented(self):
        """The fields of each journalctl line of the documents, with their values."""
        source = os.environ['DVM_TEST_SOURCE']
        lines = []
        for name in ('docs/quick-start.md', 'cli/man/dvmd.8', 'cli/man/dvm-cli-logs.1', 'docs/reliability.md'):
            with open(os.path.join(source, name)) as f:
                text = re.sub(r'\\f[BIR]', '', f.read()).replace('\\-', '-')
            lines += [dict(re.findall(r'\b([A-Z_]+)=([^\s:;.,`)]+)', part)) for part in text.split('journalctl')[1:]
                      for part in [part.split('\n')[0]]]
        return lines

    def test_operator(self):
        """What an operator needs is there without asking for more, and the documented lines find it."""
        self.need()
        dvm = self.start(slots=2)
        done = dvm.run(['sh', '-c', 'exit 7'], np=2)
        nspace = done.job.nspace
        records = dvmtest.wait_until(lambda: self.journal(f'JOB={nspace}'), 'the failed job to be in the journal')
        self.assertEqual(len(records), 1, records)
        self.assertIn('has failed, of root (uid 0): NON_ZERO_TERM', records[0]['MESSAGE'])
        self.assertEqual((records[0]['GLIB_DOMAIN'], records[0]['PRIORITY']), ('dvmd', '5'))
        self.assertTrue([r for r in self.journal('PRIORITY=5') if r['MESSAGE'].startswith('The DVM is ready')])
        dvm.stop()
        dvmtest.wait_until(lambda: [r for r in self.journal() if r['MESSAGE'].startswith('The DVM has ended')], 'its end')
        found = self.documented()
        self.assertGreater(len(found), 4)
        self.assertTrue(any('JOB' in fields for fields in found))
        for fields in found:
            for name, value in fields.items():
                self.assertIn(name, ('JOB', 'RANK', 'NODE', 'SYSLOG_IDENTIFIER', 'GLIB_DOMAIN'), fields)
                if name == 'JOB':
                    self.assertEqual(re.sub('[0-9a-f]{8}', '', value), re.sub('[0-9a-f]{8}|(?<=@).*', '', nspace) + '3')

    def test_plain_text_elsewhere(self):
        """Without a journal the same messages are lines with their domain."""
        dvm = self.dvm(slots=1, env={'G_MESSAGES_DEBUG': 'dvmd-core'})
        done = dvm.run(['true'])
        line = f'dvmd[{dvm.pid}]: info: dvmd-core: job {done.job.nspace}: ended: NOTIFIED'
        dvmtest.wait_until(lambda: line in dvm.log(), 'the line')


if __name__ == '__main__':
    dvmtest.main()
