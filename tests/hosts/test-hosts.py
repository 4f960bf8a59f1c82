# SPDX-License-Identifier: LGPL-2.1-or-later
"""The test hosts themselves: they come up, talk, fail as they are told to, and leave nothing behind."""

import glob
import os
import signal
import subprocess
import sys

import dvmtest
import testhosts

SPACES = ('cgroup', 'ipc', 'mnt', 'net', 'pid', 'uts')
# A run that somebody ends: it says the place and the first processes of its hosts, and waits.
RUN = '''
import signal, sys, testhosts
hosts = testhosts.Hosts(2)
hosts[1].popen(['setsid', 'sleep', '1000000'])
print(hosts.place, *[host.pid for host in hosts], flush=True)
signal.pause()
'''


def spaces_of(pid):
    return {os.readlink(f'/proc/{pid}/ns/{space}') for space in SPACES}


def all_spaces():
    found = set()
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            found |= spaces_of(pid)
        except OSError:
            pass  # it has ended
    return found


def cgroup_of(place):
    top = testhosts.find_cgroup2()
    return os.path.join(top, os.path.basename(place)) if top else None


class TestHosts(dvmtest.Case):
    def make(self, count, **options):
        hosts = testhosts.Hosts(count, **options)
        self.addCleanup(hosts.close)
        return hosts

    def clear(self):
        self.doCleanups()
        super().clear()

    def ssh(self, source, target, *words, limit=5):
        return source.run(['ssh', '-o', 'BatchMode=yes', '-o', f'ConnectTimeout={limit}', target.name, *words], check=False)

    def assert_reached(self, source, target):
        answer = self.ssh(source, target, 'hostname', limit=testhosts.LIMIT)
        self.assertEqual((answer.returncode, answer.stdout), (0, f'{target.name}\n'), answer.stderr)

    def assert_unreachable(self, source, target):
        answer = self.ssh(source, target, 'hostname', limit=1)
        self.assertEqual(answer.returncode, 255, answer)
        self.assertRegex(answer.stderr, 'timed out|No route to host')

    def assert_gone(self, spaces, place):
        self.assertFalse(spaces & all_spaces())
        self.assertFalse(os.path.exists(place))
        self.assertFalse(cgroup_of(place) and os.path.exists(cgroup_of(place)))
        with open('/proc/self/mountinfo', encoding='utf-8') as file:
            self.assertNotIn(place, file.read())

    def test_eight(self):
        interfaces = set(os.listdir('/sys/class/net'))
        hosts = self.make(8, kept=[self.place()])
        self.assertEqual(set(os.listdir('/sys/class/net')), interfaces)
        for host in hosts:
            self.assertEqual(host.run(['hostname']).stdout, f'{host.name}\n')
            self.assertIn(f'{host.address}/16', host.run(['ip', '-brief', 'address', 'show', 'eth0']).stdout)
            host.run(['sh', '-c', 'touch /tmp/mine /dev/shm/mine /run/mine'])
            self.assertTrue(os.path.exists(host.path('/tmp/mine')))
            self.assert_reached(host, hosts[(host.number + 3) % 8])
        for host in hosts:
            self.assertEqual(host.run(['ls', '/dev/shm']).stdout, 'mine\n')
            self.assertEqual(host.run(['ls', self.places[0]]).stdout, '')
        self.assertFalse([name for name in ('/tmp/mine', '/dev/shm/mine', '/run/mine') if os.path.exists(name)])
        spaces = {space for host in hosts for space in spaces_of(host.pid)} - spaces_of(os.getpid())
        self.assertGreater(len(spaces), 8 * 5)
        # What does not want to end, and what is frozen, goes as well.
        hosts[2].popen(['sh', '-c', 'trap "" TERM HUP INT; while :; do sleep 1; done'])
        hosts[3].freeze()
        hosts.close()
        self.assert_gone(spaces, hosts.place)

    def test_commands(self):
        hosts = self.make(1)
        answer = hosts[0].run(['sh', '-c', 'cat; echo $WORD >&2; exit 7'], check=False, stdin_text='given', env={'WORD': 'said'})
        self.assertEqual((answer.returncode, answer.stdout, answer.stderr), (7, 'given', 'said\n'))
        # Orphans are reaped by the host.
        hosts[0].run(['sh', '-c', 'setsid sh -c "sleep 0.01" &'])
        testhosts.wait_until(lambda: len(hosts[0].processes()) == 3, 'the first process, its sleep and sshd are left')

    def test_cut(self):
        hosts = self.make(3)
        for carrier in (True, False):
            hosts[1].cut(carrier=carrier)
            self.assert_unreachable(hosts[0], hosts[1])
            self.assert_unreachable(hosts[1], hosts[2])
            self.assert_reached(hosts[0], hosts[2])
            self.assertEqual(hosts[1].run(['cat', '/sys/class/net/eth0/carrier']).stdout, f'{carrier:d}\n')
            hosts[1].mend()
            for source, target in ((hosts[0], hosts[1]), (hosts[1], hosts[2])):
                testhosts.wait_until(lambda a=source, b=target: self.ssh(a, b, 'true').returncode == 0, 'the link is mended')

    def test_mended_at_once(self):
        """A plug that is put back works, however soon: the kernel sees the link a moment later."""
        hosts = self.make(2)
        for _ in range(100):
            hosts[1].cut(carrier=False)
            hosts[1].mend()
            self.assertIn('state forwarding', hosts[1].hosts.switch('bridge', 'link', 'show', 'dev', hosts[1].port))
        self.assert_reached(hosts[0], hosts[1])

    def test_loss(self):
        hosts = self.make(2)
        hosts[1].lose(10)
        testhosts.wait_until(lambda: self.ssh(hosts[0], hosts[1], 'true', limit=10).returncode == 0 and all(hosts[1].count_lost()),
                             'packets are lost in both directions, and ssh works', limit=300)
        hosts[1].lose(0)
        self.assert_reached(hosts[0], hosts[1])

    def test_freeze(self):
        hosts = self.make(2)
        hosts[1].freeze()
        answer = self.ssh(hosts[0], hosts[1], 'true', limit=1)
        self.assertEqual(answer.returncode, 255)
        self.assertIn('banner', answer.stderr)  # connect() has worked
        hosts[1].thaw()
        self.assert_reached(hosts[0], hosts[1])

    def test_kill(self):
        hosts = self.make(2)
        spaces = spaces_of(hosts[1].pid) - spaces_of(hosts[0].pid) - spaces_of(os.getpid())
        hosts[1].popen(['setsid', 'sleep', '1000000'])
        hosts[1].kill()
        testhosts.wait_until(lambda: not spaces & all_spaces(), 'no process of the host lives')
        # The kernel takes the network of a dead host down a moment after its last process; until then it refuses.
        testhosts.wait_until(lambda: 'refused' not in self.ssh(hosts[0], hosts[1], 'hostname', limit=1).stderr,
                             'the network of the host is gone')
        self.assert_unreachable(hosts[0], hosts[1])

    def start_run(self):
        reason = testhosts.why_not()
        if reason:
            self.skipTest(reason)
        run = subprocess.Popen([sys.executable, '-c', RUN], stdout=subprocess.PIPE, text=True)
        self.addCleanup(run.stdout.close)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        words = run.stdout.readline().split()
        for pid in words[1:]:
            self.hold_spaces(pid)
        return run, words[0], {space for pid in words[1:] for space in spaces_of(pid)} - spaces_of(os.getpid())

    def hold_spaces(self, pid):
        """No other test gets their numbers while this one looks for them."""
        for space in SPACES:
            self.addCleanup(os.close, os.open(f'/proc/{pid}/ns/{space}', os.O_RDONLY))

    def test_terminated(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            run, place, spaces = self.start_run()
            run.send_signal(number)
            run.wait(testhosts.LIMIT)
            self.assert_gone(spaces, place)

    def test_killed(self):
        """What is killed leaves no process; its directories are removed by the next one, and not those of one that lives."""
        living = self.make(1)
        run, place, spaces = self.start_run()
        run.kill()
        testhosts.wait_until(lambda: not spaces & all_spaces(), 'all processes and namespaces are gone')
        self.assertTrue(os.path.exists(place))
        self.make(1).close()
        self.assert_gone(spaces, place)
        self.assertEqual(living[0].run(['hostname']).stdout, 'n0\n')
        self.assertIn(living.place, glob.glob(testhosts.PLACE + '*'))


if __name__ == '__main__':
    dvmtest.main()
