# SPDX-License-Identifier: LGPL-2.1-or-later
"""A DVM that changes its size, as programs see it on the private socket and on a bus: real agents come and go."""

import os
import signal
import socket
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))

from gi.repository import GLib

import dbusdaemon
import dvmtest
from dvmtest import MANAGER, NOTIFIED, PROPERTIES, Connection, DBusError, Signals, to_options, wait_until

CAMPAIGN = 'org.dvm.Campaign'
SESSION = 'org.dvm.Session'
NODE = 'org.dvm.Node'
NOT_INCLUDED, UP = 6, 3
READY, FAILED = 'DvmIsReady', 'DvmModFailed'


class Party:
    """One who is connected: what it asks for and what it hears."""

    def __init__(self, connection):
        self.connection = connection
        self.signals = Signals(connection)

    def ask(self, method, **request):
        """The allocation id and the path of the campaign."""
        return self.connection.call(*MANAGER, method, '(a{sv})', to_options(request))

    def get(self, path, interface, name):
        return self.connection.call(path, PROPERTIES, 'Get', '(ss)', interface, name)[0]

    def wait_end(self, campaign):
        return self.connection.call(campaign, CAMPAIGN, 'Wait', '(a{sv})', {})[0]

    def events(self):
        return [(name, arguments) for path, name, arguments in self.signals.heard if name in (READY, FAILED)]

    def wait_event(self, count=1):
        wait_until(lambda: len(self.events()) >= count, f'event {count}')
        return self.events()[count - 1]

    def sync(self):
        """What was sent before has arrived after this."""
        for _ in range(2):
            self.get(MANAGER[0], MANAGER[1], 'Version')
        while GLib.MainContext.default().iteration(False):
            pass


class Elastic(dvmtest.Case):
    bus = None

    def clear(self):
        super().clear()
        if self.bus is not None:
            self.bus.stop()

    def start(self, **options):
        settings = ['nodes=1', 'slots=2', 'elastic=true', *options.pop('settings', ())]
        self.one = self.dvm(settings=settings, **options)
        self.party = Party(self.one.connection)
        return self.one

    def start_on_bus(self):
        place = tempfile.mkdtemp(prefix='dvmtest-', dir='/tmp')
        self.places.append(place)
        self.bus = dbusdaemon.MessageBus(place)
        return self.start(bus='session', env={'DBUS_SESSION_BUS_ADDRESS': self.bus.address})

    def connect_to_bus(self):
        return Party(Connection(self.bus.address, MANAGER[1]))

    def names(self):
        return [row['Name'] for row in self.one.get_nodes()[1:]]

    def refused(self, name, part, function, *args, **kwargs):
        with self.assertRaises(DBusError) as caught:
            function(*args, **kwargs)
        self.assertEqual(caught.exception.name, name, caught.exception)
        self.assertIn(part, caught.exception.message)

    def check_cycle(self, party, others):
        """Grow and shrink: who asked is told, once each, after the values; the others hear no event."""
        alloc_id, campaign = party.ask('Grow', hosts=['n9', 'n10:3'], req_id='mine')
        self.assertEqual(party.wait_event(),
                         (READY, (alloc_id, 'mine', {'campaign': campaign, 'kind': 'grow', 'nodes': ['n9', 'n10']})))
        self.assertEqual(self.one.get('NodeCount'), 3)
        self.assertEqual(self.names(), ['node1', 'n9', 'n10'])
        same, campaign = party.ask('Shrink', alloc_id=alloc_id, req_id='back')
        self.assertEqual(same, alloc_id)
        self.assertEqual(party.wait_event(2),
                         (READY, (alloc_id, 'back', {'campaign': campaign, 'kind': 'shrink', 'nodes': ['n9', 'n10']})))
        self.assertEqual(self.names(), ['node1'])
        for one in (party, *others):
            one.sync()
        self.assertEqual(len(party.events()), 2)
        self.assertEqual([one.events() for one in others], [[] for _ in others])

    def test_private(self):
        self.start()
        other, subscriber = Party(self.one.connect()), Party(self.one.connect())
        subscriber.connection.call(*MANAGER, 'Subscribe')
        self.check_cycle(self.party, [other, subscriber])
        self.assertEqual(other.signals.heard, [])
        # Whoever asked follows its own campaigns, and their values come before the event.
        names = [name for path, name, _ in self.party.signals.heard if path == '/org/dvm/campaigns/1' or name == READY]
        self.assertEqual(names[names.index(READY) - 1], 'StateChanged')
        self.assertIn('PropertiesChanged', names[:names.index(READY)])
        self.assertTrue(subscriber.signals.of('/org/dvm/campaigns/1', 'StateChanged'))

    def test_bus(self):
        self.start_on_bus()
        asker, other = self.connect_to_bus(), self.connect_to_bus()
        self.check_cycle(asker, [other, self.party])
        self.assertTrue(other.signals.of('/org/dvm/campaigns/2', 'StateChanged'))
        self.assertEqual(self.one.get('CampaignsRunning'), 0)

    def test_asker_that_goes(self):
        """Neither its name nor its place hears what it was waiting for (D13)."""
        self.start_on_bus()
        for connection in (self.connect_to_bus().connection, self.one.connect()):
            party = Party(connection)
            campaign = party.ask('Grow', hosts=[f'n{self.one.get("NodeCount")}'])[1]
            connection.close()
            self.assertEqual(self.party.wait_end(campaign)['state'], 'completed')
        late = self.connect_to_bus()
        for one in (late, self.party):
            one.sync()
            self.assertEqual(one.events(), [])

    def test_bus_that_comes_back(self):
        """Names are given anew by another bus: who has the old one now did not ask."""
        self.start_on_bus()
        job = self.one.submit(['/bin/sleep', '1000'], np=2)
        job.wait_running()
        asker = self.connect_to_bus()
        campaign = asker.ask('Shrink', hosts=['node1'], drain_timeout=1000)[1]
        name = asker.connection.raw.get_unique_name()
        # It comes to the new bus when all names up to that one are had by others.
        self.one.process.send_signal(signal.SIGSTOP)
        self.bus.stop()
        self.bus.start()
        parties = [Party(Connection(self.bus.address, MANAGER[1])) for _ in range(int(name.split('.')[1]) + 2)]
        self.assertIn(name, [party.connection.raw.get_unique_name() for party in parties])
        self.one.process.send_signal(signal.SIGCONT)
        # The DVM is back when it answers.
        wait_until(lambda: self.answers(parties[-1]), 'the DVM on the bus')
        job.cancel()
        self.assertEqual(self.party.wait_end(campaign)['state'], 'completed')
        for party in (*parties, self.party):
            party.sync()
            self.assertEqual(party.events(), [])

    def answers(self, party):
        try:
            return party.get(MANAGER[0], MANAGER[1], 'Version')
        except DBusError:
            return None

    def test_nodes(self):
        """Nodes have no InterfacesAdded: NodesChanged tells of those that come and go, after their values."""
        self.start()
        self.party.connection.call(*MANAGER, 'Subscribe')
        epoch = self.one.get('MembershipEpoch')
        self.party.ask('Grow', hosts=['n9'])
        self.party.wait_event()
        self.assertGreater(self.one.get('MembershipEpoch'), epoch)
        rank = self.one.get_nodes()[-1]['Rank']
        path = self.one.call('FindNode', '(s)', 'n9')[0]
        self.assertEqual(path, f'/org/dvm/nodes/{rank}')
        heard = [name for where, name, arguments in self.party.signals.heard
                 if where == path or (name == 'NodesChanged' and (rank, UP) in arguments[0]) or name == READY]
        self.assertLess(heard.index('PropertiesChanged'), heard.index('NodesChanged'))
        self.assertLess(heard.index('NodesChanged'), heard.index(READY))
        self.party.ask('Shrink', hosts=['n9'])
        self.party.wait_event(2)
        self.party.signals.wait(MANAGER[0], 'NodesChanged', lambda arguments: (rank, NOT_INCLUDED) in arguments[0])
        for call in (('Get', '(ss)', NODE, 'Name'), ('GetAll', '(s)', NODE)):
            self.refused('NotFound', path, self.one.connection.call, path, PROPERTIES, *call)
        self.refused('NotFound', path, self.one.connection.call, path, NODE, 'Drain', '(sa{sv})', 'why', {})
        self.refused('NotFound', 'n9', self.one.call, 'FindNode', '(s)', 'n9')
        # The name comes back at once, the rank never (D9).
        self.party.ask('Grow', hosts=['n9'])
        self.party.wait_event(3)
        self.assertGreater(self.one.get_nodes()[-1]['Rank'], rank)

    def test_nothing_changes(self):
        self.start()
        alloc_id, campaign = self.party.ask('Grow', hosts=['node1'])
        self.assertEqual(campaign, '/')
        self.assertNotEqual(alloc_id, '')
        self.party.sync()
        self.assertEqual(self.party.events(), [])

    def test_failure(self):
        """One that does not come: all of it goes back, and the event says why."""
        self.one = one = self.dvm(slots=2, settings=['elastic=true', 'launcher-command=false'])
        party, before = Party(one.connection), self.names()
        answer = one.call('Allocate', '(sa{sv})', 'new', to_options({'hosts': ['n8', 'n9'], 'req-id': 'r'}))[0]
        self.assertEqual(set(answer), {'alloc-id', 'req-id', 'session', 'campaign'})
        name, (alloc_id, req_id, status, reason, details) = party.wait_event()
        self.assertEqual((name, alloc_id, req_id), (FAILED, answer['alloc-id'], 'r'))
        self.assertEqual(details, {'campaign': answer['campaign'], 'kind': 'grow', 'nodes': ['n8', 'n9'], 'cause': 'launch-failed'})
        values = party.connection.call(answer['campaign'], PROPERTIES, 'GetAll', '(s)', CAMPAIGN)[0]
        self.assertEqual((values['State'], values['Cause'], values['Status'], values['Reason']), ('failed', 'launch-failed', status, reason))
        self.assertLess(status, 0)
        self.assertEqual(self.names(), before)
        # Its allocation is void.
        self.refused('NotFound', alloc_id, one.call, 'FindSession', '(s)', alloc_id)
        party.sync()
        self.assertEqual(len(party.events()), 1)

    def test_end_of_the_dvm(self):
        """What is under way then has failed, and whoever asked is told so (E57, D7)."""
        one = self.start()
        job = one.submit(['/bin/sleep', '1000'], np=2, hosts=['node1:2'])
        job.wait_running()
        alloc_id, campaign = self.party.ask('Shrink', hosts=['node1'], drain_timeout=1000, req_id='r')
        self.assertEqual(self.party.get(campaign, CAMPAIGN, 'State'), 'waiting')
        one.call('Shutdown', '(a{sv})', {'force': GLib.Variant('b', True)})
        name, arguments = self.party.wait_event()
        self.assertEqual((name, arguments[:2]), (FAILED, (alloc_id, 'r')))
        self.assertEqual(arguments[4]['cause'], 'shutting-down')
        self.assertNotEqual(arguments[2], 0)
        self.assertEqual(one.process.wait(dvmtest.LIMIT), 0)

    def test_refusals(self):
        self.start()
        ask = self.party.ask
        self.refused('BadParam', 'colour', ask, 'Grow', hosts=['n9'], colour='red')
        self.refused('BadParam', 'hosts', ask, 'Grow', hosts='n9')
        self.refused('BadParam', '', ask, 'Grow')
        self.refused('BadParam', '', ask, 'Shrink')
        self.refused('NotFound', 'n77', ask, 'Shrink', hosts=['n77'])
        self.refused('NotFound', 'no-such', ask, 'Shrink', alloc_id='no-such')
        self.refused('NotFound', 'no-such', ask, 'Grow', alloc_id='no-such', hosts=['n9'])
        self.refused('NotSupported', '', ask, 'Shrink', hosts=[socket.gethostname()])
        self.refused('BadParam', 'sideways', self.one.call, 'Allocate', '(sa{sv})', 'sideways', {})
        self.refused('NotFound', 'campaign 1', self.one.connection.call, '/org/dvm/campaigns/1', PROPERTIES, 'GetAll', '(s)', CAMPAIGN)
        self.refused('NotSupported', 'default session', self.one.connection.call, '/org/dvm/sessions/0', SESSION, 'Release',
                     '(a{sv})', {})
        self.assertEqual(self.names(), ['node1'])
        self.assertEqual(self.one.get('CampaignsRunning'), 0)
        self.assertEqual(self.party.events(), [])

    def test_not_elastic(self):
        one = self.dvm(settings=['nodes=1', 'slots=2'])
        party = Party(one.connection)
        self.assertFalse(one.get('ElasticMode'))
        for method, hosts in (('Grow', ['n9']), ('Shrink', ['node1'])):
            self.refused('NotElastic', 'elastic', party.ask, method, hosts=hosts)
        self.assertEqual(one.get('LaunchFence'), 0)

    def test_session(self):
        """An allocation is a session; it goes with its Release."""
        self.start()
        self.party.connection.call(*MANAGER, 'Subscribe')
        alloc_id, campaign = self.party.ask('Grow', hosts=['n9'], req_id='mine')
        self.party.wait_end(campaign)
        path = self.one.call('FindSession', '(s)', alloc_id)[0]
        values = self.party.connection.call(path, PROPERTIES, 'GetAll', '(s)', SESSION)[0]
        self.assertEqual({key: values[key] for key in ('AllocId', 'RequestId', 'Nodes', 'Owner', 'Shared', 'State')},
                         {'AllocId': alloc_id, 'RequestId': 'mine', 'Nodes': ['n9'], 'Owner': f'bus.{os.getuid()}', 'Shared': True,
                          'State': 'active'})
        self.assertIn('n9', self.party.get('/org/dvm/sessions/0', SESSION, 'Nodes'))
        self.assertEqual(self.one.call('Query', '(asa{sv})', ['alloc-ids'], {})[0], {'alloc-ids': ['', alloc_id]})
        objects = self.party.connection.call('/org/dvm', 'org.freedesktop.DBus.ObjectManager', 'GetManagedObjects')[0]
        self.assertEqual(objects[path][SESSION]['AllocId'], alloc_id)
        self.assertEqual(self.one.call('ListSessions', '(a{sv})', to_options({'columns': ['AllocId']})),
                         ([{'AllocId': ''}, {'AllocId': alloc_id}], ''))
        campaign = self.party.connection.call(path, SESSION, 'Release', '(a{sv})', to_options({'req-id': 'gone'}))[0]
        self.assertEqual(self.party.wait_event(2)[1][1:], ('gone', {'campaign': campaign, 'kind': 'shrink', 'nodes': ['n9']}))
        self.party.signals.wait('/org/dvm', 'InterfacesRemoved', lambda arguments: arguments[0] == path)
        self.refused('NotFound', path, self.party.connection.call, path, PROPERTIES, 'GetAll', '(s)', SESSION)
        self.refused('NotFound', alloc_id, self.one.call, 'FindSession', '(s)', alloc_id)

    def test_job_that_waits(self):
        """It is parked while nodes come, says for what, and then may use them."""
        self.start()
        # New nodes are wired when every member knows of them, and this one does not listen.
        os.kill(self.one.agent, signal.SIGSTOP)
        campaign = self.party.ask('Grow', hosts=['n9'])[1]
        job = self.one.submit(['/bin/true'], np=4)
        wait_until(lambda: self.party.get(job.path, 'org.dvm.Job', 'HeldAt') == 'map', 'the job to be parked')
        self.assertEqual(self.party.get(job.path, 'org.dvm.Job', 'WaitsFor'), [campaign])
        self.assertEqual(self.party.get(campaign, CAMPAIGN, 'HeldJobs'), [job.path])
        os.kill(self.one.agent, signal.SIGCONT)
        self.assertEqual(job.wait()['state'], NOTIFIED)
        self.assertIn('WAITING_FOR_DAEMONS', [row[3] for row in self.trace_names(job)])
        self.assertEqual(set(self.party.get(job.path, 'org.dvm.Job', 'Nodes')), {'node1', 'n9'})
        self.assertEqual(self.party.get(campaign, CAMPAIGN, 'HeldJobs'), [])

    def trace_names(self, job):
        names = {17: 'WAITING_FOR_DAEMONS'}
        return [(*row[:3], names.get(row[3], row[3]), row[4]) for row in job.call('GetTrace', '(a{sv})', {})[0]]

    def test_history(self):
        self.start(settings=['history-limit=1'])
        paths = [self.party.ask('Grow', hosts=[f'n{i}'])[1] for i in range(3)]
        for path in reversed(paths):
            try:
                self.party.wait_end(path)
            except DBusError as error:
                self.assertEqual(error.name, 'NotFound')
        wait_until(lambda: self.one.get('CampaignsRunning') == 0, 'the campaigns to end')
        rows = self.one.call('ListCampaigns', '(a{sv})', to_options({'all': True}))[0]
        self.assertEqual(len(rows), 1)
        self.assertEqual(self.one.get('Statistics')['campaigns-completed'], 3)
        wait_until(lambda: len(self.party.events()) == 3, 'three events')


if __name__ == '__main__':
    dvmtest.main()
