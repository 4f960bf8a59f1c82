# SPDX-License-Identifier: LGPL-2.1-or-later
"""Peers that say half of what they began, never read, or belong to somebody else: written byte by byte, without a library."""

import array
import os
import pwd
import shutil
import signal
import socket
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))

from gi.repository import Gio, GLib

import dbusdaemon
import dvmtest
import leftovers
from dvmtest import MANAGER, NOTIFIED, PROPERTIES, wait_until

NAME = 'org.dvm.Manager'
BUS = ('org.freedesktop.DBus', '/org/freedesktop/DBus', 'org.freedesktop.DBus')
N_JOBS = 1500
PEERS = 20


def message(serial, destination, path, interface, method, body=None):
    one = Gio.DBusMessage.new_method_call(destination, path, interface, method)
    one.set_serial(serial)
    if body is not None:
        one.set_body(body)
    return bytes(one.to_blob(Gio.DBusCapabilityFlags.UNIX_FD_PASSING))


def authenticate(peer):
    """EXTERNAL; what the other side answers to it."""
    peer.sendall(b'\0AUTH EXTERNAL ' + str(os.geteuid()).encode().hex().encode() + b'\r\n')
    answer = peer.recv(4096)
    if answer.startswith(b'OK'):
        peer.sendall(b'BEGIN\r\n')
    return answer


def connect(path):
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(dvmtest.LIMIT)
    peer.connect(path)
    assert authenticate(peer).startswith(b'OK')
    return peer


def pair_of(user):
    """A pair of sockets that this user made: their credentials are those of who made them."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        os.setgroups([])
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)
        pair = socket.socketpair()
        pair = array.array('i', [one.detach() for one in pair])
        theirs.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, pair)])
        os._exit(0)
    os.waitpid(pid, 0)
    _, fds, _, _ = socket.recv_fds(ours, 1, 2)
    ours.close()
    theirs.close()
    return [socket.socket(fileno=fd) for fd in fds]


class Halves(dvmtest.Case):
    def n_fds(self, dvm):
        return leftovers.count_descriptors(dvm.daemons)

    def test_half_a_message(self):
        """In every part of a message, and one that says it is as long as can be."""
        # GLib allocates what is announced and touches what comes; Meson's MALLOC_PERTURB_ would write it all.
        dvm = self.dvm(slots=4, env={'MALLOC_PERTURB_': '0'})
        self.assertEqual(dvm.submit(['/bin/true'], np=1).wait()['state'], NOTIFIED)
        before = self.n_fds(dvm)
        memory = dvm.rss()
        whole = message(1, None, *MANAGER, 'ListJobs', GLib.Variant('(a{sv})', ({},)))
        # 128 MiB is the most that a message may have: its length is at byte 4.
        endless = whole[:4] + (127 << 20).to_bytes(4, 'little') + whole[8:]
        self.assertEqual(whole[:1], b'l')
        peers = [connect(dvm.socket) for _ in range(PEERS)]
        for i, peer in enumerate(peers):
            peer.sendall(whole[:1 + i * (len(whole) - 2) // PEERS] if i % 4 else endless)
        for _ in range(5):
            self.assertEqual(dvm.submit(['/bin/true'], np=1).wait()['state'], NOTIFIED)
        self.assert_growth(dvm, memory, 16 << 20)
        for peer in peers:
            peer.close()
        wait_until(lambda: self.n_fds(dvm) <= before, 'the descriptors to come back')

    def test_nested_too_deeply(self):
        """What D-Bus does not allow ends the connection it came on, no other, and is said in a line without what was sent."""
        # GLib calls it a warning; here it is what was asked for.
        dvm = self.dvm(slots=4, env={'G_DEBUG': ''})
        job = dvm.submit(['/bin/sleep', '1000'], np=1)
        job.wait_running()
        value = GLib.Variant('s', 'TO' * 500000)
        for _ in range(70):
            value = GLib.Variant('v', value)
        peer = connect(dvm.socket)
        peer.sendall(message(1, None, *MANAGER, 'ListJobs', GLib.Variant('(a{sv})', ({'limit': value},))))
        self.assertEqual(peer.recv(1), b'')
        peer.close()
        self.assertEqual(dvm.submit(['/bin/true'], np=1).wait()['state'], NOTIFIED)
        wait_until(lambda: 'nested too deeply' in dvm.log(), 'the line of the log')
        self.assertNotIn('54 4f', dvm.log())
        self.assertLess(len(dvm.log()), 16384)
        job.cancel()
        job.wait()

    def test_end_with_halves(self):
        """It ends in order, whoever has not come to an end."""
        dvm = self.dvm(slots=1)
        peers = [connect(dvm.socket) for _ in range(PEERS)]
        for peer in peers:
            peer.sendall(b'l\1\0')
        self.assertEqual(dvm.stop(), 0)
        for peer in peers:
            self.assertEqual(peer.recv(1), b'')
            peer.close()
        dvm.check_clean()


class OnABus(dvmtest.Case):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(prefix='dvmtest-', dir='/tmp')
        self.bus = dbusdaemon.MessageBus(self.folder)

    def clear(self):
        super().clear()
        self.bus.stop()
        shutil.rmtree(self.folder)

    def run_many(self, dvm):
        one = (['/bin/true'], {'np': GLib.Variant('u', 1)})
        for _ in range(N_JOBS // 500):
            dvm.call('SubmitMany', '(a(asa{sv})a{sv})', [one] * 500, {})
            wait_until(lambda: dvm.get('JobsRunning') + dvm.get('JobsHeld') == 0, 'the jobs to end')

    def subscribe(self):
        peer = connect(self.bus.address.removeprefix('unix:path='))
        peer.sendall(message(1, *BUS, 'Hello'))
        peer.sendall(message(2, *BUS, 'AddMatch', GLib.Variant('(s)', (f"type='signal',sender='{NAME}'",))))
        peer.sendall(message(3, NAME, *MANAGER, 'Subscribe'))
        return peer

    def test_never_reads(self):
        """The bus keeps what it does not take, or sends it away; the DVM keeps nothing and goes on."""
        dvm = self.dvm(slots=4, bus='session', env={'DBUS_SESSION_BUS_ADDRESS': self.bus.address})
        self.run_many(dvm)
        memory = dvm.rss()
        peers = [self.subscribe() for _ in range(4)]
        self.run_many(dvm)
        self.assert_growth(dvm, memory, 16 << 20)
        beside = dvmtest.Connection(self.bus.address, NAME)
        self.assertTrue(beside.call(MANAGER[0], PROPERTIES, 'Get', '(ss)', MANAGER[1], 'Ready')[0])
        beside.close()
        for peer in peers:
            peer.close()

    def test_bus_that_stands_still(self):
        """What is to be told there does not heap up in the DVM; who comes over the socket notices nothing."""
        dvm = self.dvm(slots=4, bus='session', env={'DBUS_SESSION_BUS_ADDRESS': self.bus.address})
        self.run_many(dvm)
        peer = self.subscribe()
        beside = dvmtest.Connection(self.bus.address, NAME)
        self.assertTrue(beside.call(MANAGER[0], PROPERTIES, 'Get', '(ss)', MANAGER[1], 'Ready')[0])
        memory = dvm.rss()
        self.bus.process.send_signal(signal.SIGSTOP)
        try:
            self.run_many(dvm)
            self.assert_growth(dvm, memory, 16 << 20)
        finally:
            self.bus.process.send_signal(signal.SIGCONT)
        self.assertTrue(beside.call(MANAGER[0], PROPERTIES, 'Get', '(ss)', MANAGER[1], 'Ready')[0])
        beside.close()
        peer.close()


class Others(dvmtest.Case):
    @unittest.skipUnless(os.getuid() == 0, 'needs another user')
    def test_descriptor_of_another_user(self):
        """A descriptor that was handed in is no proof of who is at its other end."""
        ours, theirs = pair_of(pwd.getpwnam('nobody'))
        dvm = dvmtest.Dvm.__new__(dvmtest.Dvm)
        dvm.peer = theirs
        dvm.__init__(slots=1)
        theirs.close()
        self.dvms.append(dvm)
        ours.settimeout(dvmtest.LIMIT)
        # As nobody: what root sends has root's credentials.
        pid = os.fork()
        if pid == 0:
            os.setgid(65534)
            os.setuid(65534)
            try:
                answer = authenticate(ours)
            except OSError:
                answer = b''
            os._exit(1 if answer.startswith(b'OK') else 0)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        ours.close()
        dvm.stop()
        dvm.check_clean()


if __name__ == '__main__':
    dvmtest.main()
