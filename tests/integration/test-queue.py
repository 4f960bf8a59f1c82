# SPDX-License-Identifier: LGPL-2.1-or-later
"""Jobs that wait: in their order, for each other, to be released, for a DVM that grows."""

import os

from gi.repository import GLib

import dvmtest
from dvmtest import KILLED_BY_CMD, MAP_FAILED, NOTIFIED, wait_until

ALLOCATE, NEVER_LAUNCHED, NON_ZERO_TERM = 3, 60, 62


def number(job):
    return str(job.get('Id'))


class Queue(dvmtest.Case):
    def queue(self, *settings, slots=2, **options):
        return self.dvm(slots=slots, settings=['kill-grace=0.5', *settings], **options)

    def submit(self, dvm, *argv, np=1, priority=0, **options):
        return dvm.submit(list(argv or ['sleep', '1000']), np=np, personality='plain', priority=GLib.Variant('i', priority), **options)

    def held(self, job, what):
        wait_until(lambda: job.get('HeldAt') == what, f'{job.path} waits: {what}')

    def test_priority(self):
        dvm = self.queue()
        running = self.submit(dvm, np=2)
        running.wait_running()
        order = os.path.join(dvm.home, 'order')
        jobs = [self.submit(dvm, 'sh', '-c', f'echo {priority} >> {order}', np=2, priority=priority) for priority in (0, -1000, 7, 1000)]
        for job in jobs:
            self.held(job, 'slots')
        self.assertEqual(jobs[2].get('Priority'), 7)
        running.cancel()
        for job in jobs:
            self.assertEqual(job.wait()['state'], NOTIFIED)
        starts = [job.get('StartedAt') for job in jobs]
        self.assertEqual(sorted(starts), [starts[3], starts[2], starts[0], starts[1]])

    def test_priority_changed(self):
        dvm = self.queue()
        running = self.submit(dvm, np=2)
        running.wait_running()
        jobs = [self.submit(dvm, 'true', np=2) for _ in range(3)]
        for job in jobs:
            self.held(job, 'slots')
        jobs[2].call('SetPriority', '(ia{sv})', 5, {})
        jobs[0].call('SetPriority', '(ia{sv})', -5, {})
        self.assertEqual([job.get('Priority') for job in jobs], [-5, 0, 5])
        self.assert_refused('NotSupported', ['has its nodes'], running.call, 'SetPriority', '(ia{sv})', 5, {})
        running.cancel()
        for job in jobs:
            self.assertEqual(job.wait()['state'], NOTIFIED)
        starts = [job.get('StartedAt') for job in jobs]
        self.assertEqual(sorted(starts), [starts[2], starts[1], starts[0]])
        self.assert_refused('NotFound', ['ended'], jobs[0].call, 'SetPriority', '(ia{sv})', 5, {})

    def test_hold(self):
        dvm = self.queue()
        job = self.submit(dvm, 'true', hold=True)
        self.held(job, 'hold')
        self.assertEqual(dvm.get('JobsHeld'), 1)
        self.assertEqual(self.submit(dvm, 'true', np=2).wait()['state'], NOTIFIED)
        job.call('Release')
        self.assertEqual(job.wait()['state'], NOTIFIED)
        self.assert_refused('NotFound', ['ended'], job.call, 'Hold')
        job = self.submit(dvm)
        job.wait_running()
        self.assert_refused('NotSupported', ['has its nodes'], job.call, 'Hold')
        job.call('Release')
        waiting = self.submit(dvm, np=2)
        self.held(waiting, 'slots')
        waiting.call('Hold')
        self.held(waiting, 'hold')
        waiting.cancel()
        self.assertEqual(waiting.wait()['state'], KILLED_BY_CMD)
        self.assertEqual(dvm.get('JobsHeld'), 0)

    def test_after(self):
        dvm = self.queue(slots=8)
        gate = os.path.join(dvm.home, 'gate')
        first = self.submit(dvm, 'sh', '-c', f'while ! test -e {gate}; do sleep 0.05; done; exit 3')
        first.wait_running()
        self.assertEqual(self.submit(dvm, 'true', after=[number(first)]).wait()['state'], NOTIFIED)
        either = self.submit(dvm, 'true', after_any=[first.nspace])
        well = self.submit(dvm, 'true', after_ok=[number(first)])
        next_one = self.submit(dvm, 'true', after_ok=[number(well), number(either)])
        self.held(well, 'jobs')
        self.held(next_one, 'jobs')
        self.assertEqual(next_one.get('AwaitedJobs'), [well.path, either.path])
        open(gate, 'w').close()
        self.assertEqual(first.wait()['state'], NON_ZERO_TERM)
        self.assertEqual(either.wait()['state'], NOTIFIED)
        for job, cause in ((well, first), (next_one, well)):
            result = job.wait()
            self.assertEqual(result['state'], NEVER_LAUNCHED)
            self.assertIn(cause.nspace, result['reason'])
            self.assertEqual(result['reason-code'], 'dependency-failed')
        self.assertEqual(self.submit(dvm, 'true', after_ok=[number(first)]).wait()['state'], NEVER_LAUNCHED)

    def test_singleton(self):
        dvm = self.queue(slots=8)
        first = self.submit(dvm, name='one')
        first.wait_running()
        second = self.submit(dvm, 'true', name='one', singleton=True)
        self.held(second, 'jobs')
        self.assertEqual(self.submit(dvm, 'true', name='other', singleton=True).wait()['state'], NOTIFIED)
        first.cancel()
        self.assertEqual(second.wait()['state'], NOTIFIED)

    def test_max_running(self):
        dvm = self.queue('queue-max-running=1', slots=8)
        first = self.submit(dvm)
        first.wait_running()
        jobs = [self.submit(dvm, 'true') for _ in range(3)]
        for job in jobs:
            self.held(job, 'limit')
        refused = dvm.run(['true'], np=1, when_full='refuse')
        self.assertEqual(refused.state, MAP_FAILED)
        self.assertIn('queue-max-running', refused.reason)
        first.cancel()
        for job in jobs:
            self.assertEqual(job.wait()['state'], NOTIFIED)

    def test_changed_at_once(self):
        """Both settings of jobs that wait are heeded by a DVM that runs: jobs that ran before are counted, those that wait go on."""
        folder = self.place()
        path = os.path.join(folder, 'home', 'dvm', 'dvm.conf')
        os.makedirs(os.path.dirname(path))

        def set_up(text):
            with open(path, 'w', encoding='utf-8') as file:
                file.write(f'[dvm]\n{text}')
            dvm.call('Reload', '(a{sv})', {})

        dvm = self.queue(slots=2, place=folder)
        first = self.submit(dvm)
        first.wait_running()
        set_up('queue-max-running=1\n')
        second = self.submit(dvm, 'true')
        self.held(second, 'limit')
        set_up('queue-max-running=2\n')
        self.assertEqual(second.wait()['state'], NOTIFIED)
        set_up('queue=yes\n')
        large = self.submit(dvm, np=2)
        self.held(large, 'slots')
        late = self.submit(dvm, 'true')
        self.held(late, 'slots')
        first.cancel()
        large.wait_running()
        large.cancel()
        self.assertEqual(late.wait()['state'], NOTIFIED)
        self.assertNotIn('wait for a restart', dvm.log())

    def test_backfill(self):
        dvm = self.queue('queue=yes')
        first = self.submit(dvm, timeout=600)
        first.wait_running()
        large = self.submit(dvm, np=2)
        self.held(large, 'slots')
        for options in ({}, {'timeout': 1200}):
            self.held(self.submit(dvm, **options), 'slots')
        self.assertEqual(self.submit(dvm, 'true', timeout=60).wait()['state'], NOTIFIED)
        first.cancel()
        large.wait_running()

    def test_wait_for_slots(self):
        for settings, options in ((['elastic=yes'], {'wait_for_slots': True}), (['elastic=yes', 'queue=yes'], {})):
            dvm = self.queue(*settings, 'nodes=2')
            job = self.submit(dvm, 'true', np=6, **options)
            self.held(job, 'slots')
            self.assertEqual(self.submit(dvm, 'true', np=4).wait()['state'], NOTIFIED)
            dvm.call('Grow', '(a{sv})', {'hosts': GLib.Variant('as', ['node3:2'])})
            self.assertEqual(job.wait()['state'], NOTIFIED)
            self.finish(dvm)
        dvm = self.queue()
        self.assertEqual(self.submit(dvm, 'true', np=6, wait_for_slots=True).wait()['state'], MAP_FAILED)

    def test_bad_input(self):
        dvm = self.queue()
        for value in (1001, -1001, 2**31 - 1, -2**31):
            self.assert_refused('BadParam', ['priority', '1000'], self.submit, dvm, 'true', priority=value)
        self.assert_refused('BadParam', ['priority', 'type i'], dvm.submit, ['true'], priority='high')
        for key in ('after', 'after-ok', 'after-any'):
            # The next number is that of the job itself.
            for name in ('1', '99', 'x@3', 'none'):
                self.assert_refused('NotFound', [f'{key}: there is no job “{name}”'], dvm.submit, ['true'], **{key: [name]})
            self.assert_refused('BadParam', [key, 'no job'], dvm.submit, ['true'], **{key: ['']})
            self.assert_refused('BadParam', [key, 'twice'], dvm.submit, ['true'], **{key: ['1', '1']})
            self.assert_refused('BadParam', [key, 'type as'], dvm.submit, ['true'], **{key: '1'})
        self.assert_refused('BadParam', ['wait-for-slots', 'refuse'], dvm.submit, ['true'], wait_for_slots=True, when_full='refuse')
        job = self.submit(dvm, 'true')
        self.assertEqual(number(job), '1')
        self.assertEqual(job.wait()['state'], NOTIFIED)


if __name__ == '__main__':
    dvmtest.main()
