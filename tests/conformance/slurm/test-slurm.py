# SPDX-License-Identifier: LGPL-2.1-or-later
"""A DVM in a job of a real Slurm: what is said of allocators, with one that really has nodes to give and to take back."""

import os
import shutil

import dvmtest
import elastic
import leftovers
import sessions
import slurm
from dvmtest import wait_until

NAMES = ('cn1', 'cn2', 'cn3')
# Is called as scontrol, notes that it was, and does its work when it may.
HELD = '#!/bin/sh\n: >PLACE/asked\nuntil [ -e PLACE/go ]; do sleep 0.02; done\nexec REAL "$@"\n'
REFUSING = '#!/bin/sh\necho "slurm_update error: The office is closed" >&2\nexit 1\n'
HANGING = '#!/bin/sh\nexec sleep 1000000\n'
SHARED = slurm.Shared(NAMES, resizes=True)


class Dvm(elastic.Dvm):
    """Its agents are those of slurmd, too."""

    def find_agents(self):
        return [pid for pid in self.processes() if leftovers._get_program(pid) == 'dvm-agent' and not leftovers.is_forked(pid)]


class Slurm:
    """Before sessions.Case."""

    def setUp(self):
        super().setUp()
        absence = slurm.explain_absence()
        if absence is not None:
            self.skipTest(absence)
        self.cluster = SHARED.get()
        self.cluster.wait_idle()

    def try_dvm(self, **options):
        dvm = Dvm(**options)
        self.dvms.append(dvm)
        return dvm

    def in_slurm(self, nodes, *settings, scontrol=None, **more):
        """An elastic DVM in a job of so many nodes; scontrol: the program that it calls by that name."""
        self.allocation = self.cluster.allocate(nodes, '--ntasks-per-node=2', '--mem=100')
        self.addCleanup(self.allocation.release)
        self.folder = self.place()
        environment = {**self.allocation.get_variables(), **more}
        if scontrol is not None:
            path = os.path.join(self.folder, 'scontrol')
            with open(path, 'w', encoding='utf-8') as file:
                file.write(scontrol.replace('PLACE', self.folder).replace('REAL', shutil.which('scontrol')))
            os.chmod(path, 0o755)
            environment['PATH'] = f'{self.folder}:{os.environ["PATH"]}'
        dvm = dvmtest.Case.dvm(self, settings=['elastic=true', 'kill-grace=1', *settings], env=environment)
        dvm.asker = self.asker(dvm, dvm.connection)
        dvm.default = sessions.Session(dvm, '/org/dvm/sessions/0')
        return dvm

    def has_called(self):
        return os.path.exists(os.path.join(self.folder, 'asked'))

    def let_go(self):
        with open(os.path.join(self.folder, 'go'), 'w', encoding='utf-8'):
            pass

    def held(self):
        """The nodes that the job has, as Slurm says."""
        names = self.cluster.run(['squeue', '--noheader', f'--jobs={self.allocation.job}', '--format=%N']).strip()
        return self.cluster.run(['scontrol', 'show', 'hostnames', names]).split()

    def need_resizes(self):
        if not self.cluster.resizes():
            self.skipTest('Slurm 22.05 without a database changes the size of a job once; DVM_TEST_SOAK=1 starts one')


class Offers(Slurm):
    def test_E40_E42_D17_slurm_has_it_back(self):
        """The node is offered to Slurm when it has gone, and the event comes when Slurm has it; jobs need not wait for that."""
        dvm = self.in_slurm(3, scontrol=HELD)
        pid = dvm.pid_of('cn2')
        campaign = dvm.asker.shrink('cn2', req_id='mine')
        wait_until(self.has_called, 'Slurm to be asked')
        self.assert_gone(pid)
        self.assertEqual((dvm.names(), dvm.fence(), self.held()), (['cn1', 'cn3'], 0, list(NAMES)))
        self.assert_ran(dvm.plain('true', np=4))
        dvm.asker.settle()
        self.assertEqual((dvm.asker.events, campaign.state in elastic.ENDED), ([], False))
        self.let_go()
        event = campaign.event('DvmIsReady')
        self.assertEqual(self.held(), ['cn1', 'cn3'])
        self.assertEqual((event.alloc_id, event.req_id), (campaign.alloc_id, 'mine'))

    def test_E40_of_several(self):
        """One release is offered to each allocator, with the nodes that it has brought and with all, before the one event."""
        script = 'allocator decline; allocator done x1; give-back fail not these'
        dvm = self.in_slurm(2, f'test-plugin={script}', 'launcher=local')
        dvm.asker.grow(count=1).done()
        campaign = dvm.asker.shrink('x1', 'cn2')
        campaign.event('DvmIsReady')
        self.assertEqual(self.held(), ['cn1'])
        self.assertRegex(dvm.log(), r'offered x1 of')
        self.assertNotIn('offered cn2', dvm.log())
        self.assertRegex(dvm.log(), r'told of the release of (cn2,x1|x1,cn2), of which \[x1\] are its own')

    def test_E40_of_slurm_alone(self):
        """An allocator beside Slurm that has brought none of the nodes is told of their release, too, before the one event."""
        dvm = self.in_slurm(2, 'test-plugin=allocator decline; other decline')
        dvm.asker.shrink('cn2').event('DvmIsReady')
        for who in ('', 'other '):
            self.assertIn(f': {who}told of the release of cn2, of which [] are its own', dvm.log())
        self.assertEqual(self.held(), ['cn1'])

    def check_decision(self, words, *settings, **more):
        """The release is done and told as one, whatever Slurm makes of it; it has the node still, and the log says why."""
        dvm = self.in_slurm(2, *settings, **more)
        event = dvm.asker.shrink('cn2').event('DvmIsReady')
        self.assertEqual((event.status, dvm.names(), self.held()), (0, ['cn1'], ['cn1', 'cn2']))
        self.assertIn(words, dvm.log())
        self.assertEqual(dvm.stop(), 0)
        self.allocation.release()

    def test_E41_its_own_decision(self):
        """Slurm takes nothing because somebody says so, refuses, or does not answer at all: that is its own affair."""
        self.check_decision('the setting allocator-slurm.release is false', 'plugin-settings=allocator-slurm.release=false')
        self.check_decision('keeps them; scontrol says: slurm_update error: The office is closed', scontrol=REFUSING)
        self.check_decision('The allocator slurm has not answered within 1 s (allocator-timeout)', 'allocator-timeout=1', scontrol=HANGING)


class Broadcasts(Slurm):
    def test_E69_complete_once_in_order(self):
        """Also with agents that Slurm starts and nodes that it brings."""
        dvm = self.in_slurm(2, G_MESSAGES_DEBUG='dvmd-router')

        def complete():
            lines = [line for line in dvm.log().splitlines() if 'All members have broadcast' in line]
            self.assertEqual([line for line in lines if 'dvm-agent' in line], [])
            numbers = [int(line.split()[-1]) for line in lines]
            self.assertEqual(numbers, list(range(1, len(numbers) + 1)))
            return len(numbers)

        self.assert_ran(dvm.plain('true', np=4))
        frozen = self.freeze(dvm.pid_of('cn2'))
        campaign = dvm.asker.grow(count=1)
        dvm.wait_reported('cn3')
        before = complete()
        dvm.asker.settle()
        self.assertEqual((complete(), campaign.state), (before, 'running'))
        self.thaw(frozen)
        campaign.done()
        self.assertEqual((dvm.names(), self.held()), (list(NAMES), list(NAMES)))
        self.assertGreater(complete(), before)
        # Slurm 22.05 says no to a second change, and takes five seconds for that.
        if self.cluster.resizes():
            dvm.asker.shrink('cn3').done()
            self.assertEqual(self.held(), ['cn1', 'cn2'])
        self.assertGreaterEqual(complete(), dvm.get('Statistics')['broadcasts'])


class Reservations(Slurm):
    def test_R18_R66_warn_timeout(self):
        """It is advice: who decides of the request gets it, Slurm does nothing with it, and the node is there as without."""
        dvm = self.in_slurm(2, 'test-plugin=decide done time=3600')
        limit = self.cluster.run(['squeue', '--noheader', f'--jobs={self.allocation.job}', '--format=%l'])
        session = self.reserve(dvm, count=1, time=3600, warn_timeout=60)
        self.assertRegex(dvm.log(), "asked new of .*'warn-timeout': <uint32 60>")
        self.assertEqual((session.nodes, session.state, self.held()), (['cn3'], 'active', list(NAMES)))
        self.assertGreater(session.get('ExpiresAt'), 0)
        self.assertEqual(self.cluster.run(['squeue', '--noheader', f'--jobs={self.allocation.job}', '--format=%l']), limit)
        told = []
        dvm.asker.connection.raw.signal_subscribe(None, dvmtest.MANAGER[1], 'AllocTimeoutWarning', None, None, 0,
                                                  lambda c, s, p, i, n, values: told.append(values.unpack()))
        dvm.asker.allocate('extend', alloc_id=session.alloc_id, time=60, warn_timeout=59)
        wait_until(lambda: told, 'the warning')
        self.assertEqual((told[0][0], session.state, self.held()), (session.alloc_id, 'active', list(NAMES)))

    def test_R60_R56_returned(self):
        """What Slurm has brought leaves with its owner, by the way of a release; what was carved from the start goes back to all."""
        self.need_resizes()
        dvm = self.in_slurm(2)
        go, let_go = self.gate(dvm)
        job = self.program(dvm, f'register new list=cn2 inherit=1 new count=1 inherit=1 wait 1 {go}', node='cn1')
        self.wait_said(job, 'event')
        self.assertEqual((self.held(), dvm.default.nodes), (list(NAMES), ['cn1']))
        carved, brought = (self.by_alloc(dvm, line.facts['id']) for line in self.lines(job, finished=False) if line.kind == 'new')
        self.assertEqual((carved.nodes, brought.nodes), (['cn2'], ['cn3']))
        let_go()
        self.assert_ran(job)
        for session in (carved, brought):
            session.wait_gone()
        wait_until(lambda: dvm.get('CampaignsRunning') == 0, 'the shrink to end')
        self.assertEqual((dvm.names(), dvm.default.nodes), (['cn1', 'cn2'], ['cn1', 'cn2']))
        self.assertEqual([row['Kind'] for row in dvm.campaigns(all=True)], ['grow', 'shrink'])
        self.assertEqual(self.held(), ['cn1', 'cn2'])

    def test_R61_R62_R63_R64_default(self):
        """When the owner has ended nothing goes back to Slurm and nobody is killed; a release gives back, and ends what runs there."""
        dvm = self.in_slurm(2)
        go, let_go = self.gate(dvm)
        job = self.program(dvm, f'register new count=1 wait 1 {go}', node='cn1')
        self.wait_said(job, 'event')
        session, = (self.by_alloc(dvm, line.facts['id']) for line in self.lines(job, finished=False) if line.kind == 'new')
        beside = dvm.submit(['sleep', '1000'], np=1, hosts=['cn2'], personality='plain')
        beside.wait_running()
        let_go()
        self.assert_ran(job)
        wait_until(lambda: session.get('Shared'), 'its node to be for all')
        self.assertEqual((session.nodes, dvm.names(), self.held(), beside.get('Ended')), (['cn3'], list(NAMES), list(NAMES), False))
        there = dvm.submit(['sleep', '1000'], np=1, hosts=['cn3'], personality='plain')
        there.wait_running()
        # Slurm 22.05 says no to a second change, and takes five seconds for that.
        if self.cluster.resizes():
            self.release(dvm, session).done()
            self.assertEqual((self.held(), dvm.names()), (['cn1', 'cn2'], ['cn1', 'cn2']))
            self.assertEqual((there.wait()['state-name'] != 'NOTIFIED', beside.get('Ended')), (True, False))

    def test_R60_R53_again_and_again(self):
        """Grown, released and grown: Slurm and the DVM agree at each step."""
        self.need_resizes()
        dvm = self.in_slurm(1)
        for number in range(3):
            session = self.reserve(dvm, count=2)
            self.assertEqual((session.nodes, self.held()), (['cn2', 'cn3'], list(NAMES)), dvm.log())
            self.release(dvm, session).done()
            session.wait_gone()
            self.assertEqual((dvm.names(), self.held()), (['cn1'], ['cn1']), dvm.log())
            self.assertEqual(self.cluster.run(['squeue', '--noheader', '--format=%i']).split(), [self.allocation.job])


for group in (Offers, Broadcasts, Reservations):
    globals()[group.__name__] = type(group.__name__, (group, sessions.Case), {'__module__': '__main__'})

if __name__ == '__main__':
    dvmtest.main()
