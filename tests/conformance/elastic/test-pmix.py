# SPDX-License-Identifier: LGPL-2.1-or-later
"""Changes that PMIx processes and tools ask for, on whatever node they are, and the events that tell them."""

import os

import dvmtest
import elastic
from dvmtest import wait_until

PROGRAM = os.environ['DVM_TEST_PMIX_ALLOC']
READY, MOD = -195, -196


class Said:
    """A line of pmix-alloc: RANK, what, a status, and what is with it."""

    def __init__(self, line):
        self.line = line
        _, self.kind, status, *rest = line.split()
        self.status = int(status)
        self.facts = dict(word.split('=', 1) for word in rest)

    def __repr__(self):
        return self.line


class Pmix:
    def program(self, dvm, node, *words, **options):
        """The program on a node: job and reader."""
        job, out, _ = dvm.start([PROGRAM, *' '.join(words).split()], np=1, hosts=[node], when_full='oversubscribe', **options)
        job.out = out
        return job

    def said(self, job):
        self.assert_ran(job)
        return [Said(line) for line in job.out.finish().decode().splitlines()]

    def assert_said(self, lines, *kinds):
        self.assertEqual([(line.kind, line.status) for line in lines], list(kinds), lines)

    def test_E4_E43_E46_E47_D6_on_any_node(self):
        """The process that asked is told, wherever it lives, and nobody beside it."""
        dvm = self.dvm(nodes=4, slots=2)
        done = os.path.join(dvm.place, 'done')
        others = [self.program(dvm, node, 'register', f'file {done}') for node in ('node1', 'node4')]
        for job in others:
            job.wait_state(16)
        for number, node in enumerate(('node1', 'node4')):
            job = self.program(dvm, node, f'register new list=n{number} req=one wait 1 extend id=@ list=m{number} req=two wait 2',
                               'release id=@ req=three wait 3')
            lines = self.said(job)
            self.assert_said(lines, *[each for kind in ('new', 'extend', 'release') for each in ((kind, 0), ('event', READY))])
            self.assertEqual([line.facts.get('req') for line in lines], ['one', 'one', 'two', 'two', 'three', 'three'])
            self.assertEqual(len({line.facts['id'] for line in lines}), 1)
            self.assertEqual(dvm.names(), ['node1', 'node2', 'node3', 'node4'])
            kinds = [(row['Kind'], row['State'], row['Requester']) for row in dvm.campaigns(all=True)[-3:]]
            requester = f'pmix:{job.nspace}.0'
            self.assertEqual(kinds, [('grow', 'completed', requester)] * 2 + [('shrink', 'completed', requester)])
        with open(done, 'w'):
            pass
        for job in others:
            self.assertEqual(self.said(job), [])
        dvm.asker.settle()
        self.assertEqual(dvm.asker.events, [])

    def test_E45_D7_failure(self):
        """The event of a failure has the number of what it was."""
        dvm = self.dvm(nodes=2, slots=1, gates=True)
        dvm.gates.hold('n9')
        job = self.program(dvm, 'node2', 'register new list=n9 req=mine wait 1')
        dvm.gates.release('n9', word='exit 1')
        lines = self.said(job)
        self.assert_said(lines, ('new', 0), ('event', MOD))
        row = dvm.campaigns(all=True)[0]
        self.assertEqual((lines[1].facts['id'], lines[1].facts['req']), (row['AllocId'], 'mine'))
        self.assertEqual(int(lines[1].facts['status']), row['Status'])
        self.assertEqual((row['State'], row['Cause']), ('failed', 'launch-failed'))

    def test_E48_E49_no_event(self):
        """Refused, or nothing to do: the answer is all there is."""
        dvm = self.dvm(nodes=2, slots=1)
        job = self.program(dvm, 'node2', 'register release id=no-such-id new list=node1 release list=nowhere new list=n9 wait 1',
                           'release id=@ wait 2')
        lines = self.said(job)
        self.assertEqual([line.kind for line in lines], ['release', 'new', 'release', 'new', 'event', 'release', 'event'])
        self.assertEqual([line.status == 0 for line in lines[:4]], [False, True, False, True])
        self.assertIn('id', lines[1].facts)

    def test_D11_numbers(self):
        """They are not for default handlers, and whoever registers late still gets his, once."""
        dvm = self.dvm(nodes=2, slots=1)
        done = os.path.join(dvm.place, 'done')
        default = self.program(dvm, 'node2', f'register-all new list=n8 file {done}')
        wait_until(lambda: dvm.campaigns(all=True) and dvm.get('CampaignsRunning') == 0, 'the first')
        late = self.program(dvm, 'node2', f'new list=n9 file {done} register wait 1')
        wait_until(lambda: len(dvm.campaigns(all=True)) == 2 and dvm.get('CampaignsRunning') == 0, 'the second')
        with open(done, 'w'):
            pass
        self.assert_said(self.said(default), ('new', 0))
        self.assert_said(self.said(late), ('new', 0), ('event', READY))

    def test_E51_without_the_events(self):
        """Then there is none, and all else holds."""
        dvm = self.dvm(nodes=2, slots=1, settings=['pmix-dvm-events=off'])
        done = os.path.join(dvm.place, 'done')
        job = self.program(dvm, 'node2', f'register new list=n9 req=mine share=1 file {done}')
        wait_until(lambda: dvm.get('NodeCount') == 3, 'n9')
        self.assert_ran(dvm.plain('true', hosts=['n9']))
        # Who asked on the bus is told as ever.
        dvm.asker.grow('n10').done()
        with open(done, 'w'):
            pass
        self.assert_said(self.said(job), ('new', 0))

    def test_D15_told_before(self):
        """Ranks on a node that leaves are told before they are killed, and the others are not."""
        dvm = self.dvm(nodes=3, slots=1, settings=['kill-grace=0.2'])
        job, out, _ = dvm.start([PROGRAM, 'warned', 'stay'], np=3, map_by='node', recoverable=True)
        wait_until(lambda: out.data.count(b'stays') == 3, 'all to listen')
        campaign = dvm.asker.shrink('node2', drain_timeout=60)
        rank = next(row[0] for row in job.procs() if row[2] == 'node2')
        wait_until(lambda: b' event ' in out.data, 'the warning')
        self.assertEqual(campaign.state, 'waiting')
        job.cancel()
        job.wait()
        campaign.done()
        events = [line for line in out.finish().decode().splitlines() if ' event ' in line]
        self.assertEqual([line.split()[0] for line in events], [str(rank)], events)
        self.assertIn('host=node2', events[0])

    def test_D13_requester_gone(self):
        """Nobody gets the event of a process that has ended, and the change goes on."""
        dvm = self.dvm(nodes=2, slots=1, gates=True)
        dvm.gates.hold('n9')
        lines = self.said(self.program(dvm, 'node2', 'register new list=n9'))
        self.assert_said(lines, ('new', 0))
        dvm.gates.release('n9')
        wait_until(lambda: dvm.get('CampaignsRunning') == 0, 'its end')
        self.assertEqual((dvm.campaigns(all=True)[0]['State'], dvm.asker.events), ('completed', []))


elastic.both(Pmix)
dvmtest.main()
