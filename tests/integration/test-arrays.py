# SPDX-License-Identifier: LGPL-2.1-or-later
"""Arrays: many jobs of one description, submitted in one call, each with its place in its environment."""

import os

from gi.repository import GLib

import dvmtest
from dvmtest import KILLED_BY_CMD, NOTIFIED, Job, to_options, wait_until


class Arrays(dvmtest.Case):
    def submit(self, dvm, jobs, options=None):
        jobs = [(argv, to_options({'np': 1, 'personality': 'plain', **one})) for argv, one in jobs]
        return [Job(dvm, path) for path in dvm.call('SubmitMany', '(a(asa{sv})a{sv})', jobs, to_options(options or {}))[0]]

    def array(self, dvm, text, *argv, **options):
        return self.submit(dvm, [(list(argv), {'array': text, **options})])

    def test_environment(self):
        """Each job knows its place, its files have it in their names, and nothing that it starts takes it for its own."""
        dvm = self.dvm(slots=4)
        path = os.path.join(dvm.home, 'out')
        script = 'echo $DVM_ARRAY_ID $DVM_ARRAY_INDEX $DVM_ARRAY_COUNT $DVM_ARRAY_MIN $DVM_ARRAY_MAX; echo $DVM_OWN_VARIABLES >&2'
        jobs = self.array(dvm, '3-9:3,20', 'sh', '-c', script, **{'stdout-path': f'{path}-%A-%a', 'output': f'file={path}.%a.%r:pattern:copy'})
        self.assertEqual(len(jobs), 4)
        for job in jobs:
            self.assertEqual(job.wait()['state'], NOTIFIED)
        first = jobs[0].get('Id')
        for job, index in zip(jobs, (3, 6, 9, 20)):
            with open(f'{path}-{first}-{index}') as file:
                self.assertEqual(file.read(), f'{first} {index} 4 3 20\n')
            with open(f'{path}.{index}.0.err') as file:
                self.assertIn(f"'DVM_ARRAY_INDEX={index}'", file.read())
            self.assertEqual([job.get(name) for name in ('ArrayId', 'ArrayIndex', 'ArrayCount', 'Name')], [first, index, 4, f'sh[{index}]'])
        rows, _ = dvm.call('ListJobs', '(a{sv})', to_options({'array': first, 'all': True, 'columns': ['ArrayIndex']}))
        self.assertEqual([row['ArrayIndex'] for row in rows], [3, 6, 9, 20])
        self.assertEqual(dvm.call('ListJobs', '(a{sv})', to_options({'array': 0, 'all': True}))[0], [])

    def test_among_others(self):
        """Arrays stand among other jobs of a call, and in the calls of a batch; the answer is in order."""
        dvm = self.dvm(slots=8)
        jobs = self.submit(dvm, [(['true'], {}), (['true'], {'array': '5,1'}), (['true'], {}), (['true'], {'array': '0'})])
        self.assertEqual([job.get('ArrayId') for job in jobs], [0, 2, 2, 0, 5])
        self.assertEqual([job.get('ArrayIndex') for job in jobs], [0, 1, 5, 0, 0])
        self.assertEqual(self.submit(dvm, [(['true'], {'array': '0-2'})], {'batch': 'x', 'more': True}), [])
        self.assertEqual(len(self.submit(dvm, [(['true'], {'array': '7'}), (['true'], {})], {'batch': 'x'})), 5)

    def test_most(self):
        """As many run as may, and an array that is cancelled ends as a whole."""
        dvm = self.dvm(slots=8, settings=['kill-grace=0.5'])
        jobs = self.array(dvm, '0-4%2', 'sleep', '1000')
        for job in jobs[:2]:
            job.wait_running()
        for job in jobs[2:]:
            wait_until(lambda job=job: job.get('HeldAt') == 'limit', 'it waits')
        after = dvm.submit(['true'], np=1, after_any=[f'array:{jobs[0].get("Id")}'])
        jobs[0].cancel()
        jobs[2].wait_running()
        self.assertEqual([job.get('HeldAt') for job in jobs[3:]], ['limit', 'limit'])
        self.assertEqual(dvm.call('CancelJobs', '(a{sv})', to_options({'array': jobs[0].get('Id')}))[0], 4)
        self.assertEqual({job.wait()['state'] for job in jobs}, {KILLED_BY_CMD})
        self.assertEqual(after.wait()['state'], NOTIFIED)

    def test_thousands(self):
        """As many as one call takes are accepted, and not one more; a whole array is waited for as one."""
        dvm = self.dvm(slots=4)
        jobs = self.array(dvm, '1-10000', 'true', hold=True)
        wait_until(lambda: dvm.get('JobsHeld') == 10000, 'all are held')
        self.assertEqual(jobs[-1].get('ArrayIndex'), 10000)
        behind = self.array(dvm, '1-10', 'true', **{'after-any': [f'array:{jobs[0].get("Id")}']})
        self.assertEqual(dvm.call('CancelJobs', '(a{sv})', to_options({'array': jobs[0].get('Id')}), limit=120)[0], 10000)
        for job in behind:
            self.assertEqual(job.wait()['state'], NOTIFIED)

    def test_bad_input(self):
        # With glibc 2.41 it would fill all free memory behind a block whenever that grows: 1 ms for each job, once many have gone.
        dvm = self.dvm(slots=4, env={'MALLOC_PERTURB_': '0'})
        for text in ('', '1-', '5-1', '0-9:0', '0-9%0', '1,1', '0-2147483648'):
            self.assert_refused('BadParam', ['jobs[1]', 'array'], self.submit, dvm, [(['true'], {}), (['true'], {'array': text})])
        self.assert_refused('BadParam', ['array', '50000'], self.array, dvm, '0-50000', 'true')
        self.assert_refused('BadParam', ['jobs[1]', '50000'], self.submit, dvm, [(['true'], {'array': '0-29999', 'hold': True})] * 2)
        self.assert_refused('BadParam', ['jobs[1]', '50000'], self.submit, dvm, [(['true'], {'array': '0-49999', 'hold': True}), (['true'], {})])
        self.assert_refused('BadParam', ['array', 'SubmitMany'], dvm.submit, ['true'], array='0-3')
        self.assert_refused('BadParam', ['array', 'SubmitMany'], dvm.call, 'Map', '(aa{sv}a{sv})', [to_options({'argv': ['true'], 'np': 1})],
                            to_options({'array': '0-3'}))
        self.assert_refused('BadParam', ['array', 'type s'], dvm.submit, ['true'], array=GLib.Variant('u', 3))
        self.assert_refused('BadParam', ['%a', 'array'], dvm.submit, ['true'], output='file=/tmp/%a:pattern')
        read, write = os.pipe()
        try:
            jobs = [(['true'], {'array': GLib.Variant('s', '0-1'), 'stdin-fd': GLib.Variant('h', 0)})]
            self.assert_refused('BadParam', ['array', 'descriptor'], dvm.call, 'SubmitMany', '(a(asa{sv})a{sv})', jobs, {}, fds=[read])
        finally:
            os.close(read)
            os.close(write)
        self.assert_refused('BadParam', ['empty', 'array'], dvm.call, 'CancelJobs', '(a{sv})', {})
        self.assertEqual(dvm.call('CancelJobs', '(a{sv})', to_options({'array': 99}))[0], 0)
        # Numbers that were set aside for what was refused are given back.
        self.assertEqual(dvm.submit(['true'], np=1).get('Id'), 1)


if __name__ == '__main__':
    dvmtest.main()
