# SPDX-License-Identifier: LGPL-2.1-or-later
"""Processes are bound as the map says, on this machine: the kernel is asked what each may use."""

import itertools
import os
import unittest

import dvmtest

CPUS = sorted(os.sched_getaffinity(0))
ALL = 'sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status'


def expand(text):
    """{0, 1, 2, 8} of "0-2,8"."""
    cpus = set()
    for part in text.split(','):
        first, _, last = part.partition('-')
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def mask(cpus):
    """As hwloc writes a set: words of 32 bits, the highest first."""
    bits = sum(1 << cpu for cpu in cpus)
    return ','.join(f'0x{bits >> 32 * word & 0xffffffff:08x}' for word in reversed(range(max(cpus) // 32 + 1)))


def write_machine(path, cpus):
    """The XML of a machine of one package with a core of one hardware thread for each of these cpus."""
    memory = 'nodeset="0x00000001" complete_nodeset="0x00000001"'
    numbers = itertools.count(1)

    def begin(kind, cpus, index, more='', end='>'):
        return f'<object type="{kind}" os_index="{index}" cpuset="{mask(cpus)}" complete_cpuset="{mask(cpus)}" {memory}{more} gp_index="{next(numbers)}"{end}'

    allowed = f' allowed_cpuset="{mask(cpus)}" allowed_nodeset="0x00000001"'
    cores = [begin('Core', [cpu], n) + begin('PU', [cpu], cpu, end='/>') + '</object>' for n, cpu in enumerate(cpus)]
    with open(path, 'w') as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">'
                   + begin('Machine', cpus, 0, allowed) + begin('Package', cpus, 0)
                   + begin('NUMANode', cpus, 0, ' local_memory="1073741824"', '/>') + ''.join(cores) + '</object></object></topology>\n')


@unittest.skipIf(len(CPUS) < 2, 'one cpu: everything is bound to it')
class Binding(dvmtest.Case):
    def start(self, *settings):
        return self.dvm(settings=list(settings))

    def seen(self, dvm, np, **options):
        """By rank: the cpus that the process may use, which are those that ListProcs tells of it."""
        done = dvm.run(['sh', '-c', f'echo $DVM_RANK:$({ALL})'], np=np, **options)
        self.assert_success(done)
        rows = dict(line.split(':') for line in done.out.decode().split())
        told = {str(row[0]): row[9] for row in done.job.procs()}
        cpus = [expand(rows[str(rank)]) for rank in range(np)]
        for rank in range(np):
            if told[str(rank)]:
                self.assertEqual(expand(told[str(rank)]), cpus[rank])
        return cpus, [told[str(rank)] for rank in range(np)]

    def test_by_default(self):
        """A process of a PMIx job has a core of its own, a plain one any cpu; so has one that asks for none."""
        dvm = self.start('slots=2')
        cpus, told = self.seen(dvm, 2)
        self.assertTrue(all(told), told)
        self.assertFalse(cpus[0] & cpus[1], cpus)
        for options in ({'personality': 'plain'}, {'bind-to': 'none'}):
            cpus, told = self.seen(dvm, 2, **options)
            self.assertEqual(cpus, [set(CPUS)] * 2)
            self.assertEqual(told, ['', ''])

    def test_affinity(self):
        """An agent that was started on one cpu has a machine of one."""
        for cpu in (CPUS[0], CPUS[-1]):
            os.sched_setaffinity(0, {cpu})
            try:
                dvm = self.start()
            finally:
                os.sched_setaffinity(0, CPUS)
            self.assertEqual(dvm.get('SlotCount'), 1)
            cpus, told = self.seen(dvm, 1)
            self.assertEqual((cpus, told), ([{cpu}], [str(cpu)]))
            done = dvm.run(['true'], np=2, **{'bind-to': 'core'})
            self.assertEqual(done.state, dvmtest.MAP_FAILED, done)
            self.assert_success(dvm.run(['true'], np=2, **{'bind-to': 'core:overload-allowed', 'when_full': 'oversubscribe'}))

    def test_words(self):
        """What is asked for is done; the kernel and ListProcs say the same."""
        dvm = self.start('slots=2')
        cpus, told = self.seen(dvm, 2, **{'bind-to': 'hwthread', 'personality': 'plain'})
        self.assertEqual([len(one) for one in cpus], [1, 1])
        self.assertFalse(cpus[0] & cpus[1], cpus)
        cpus, told = self.seen(dvm, 2, **{'map-by': 'slot', 'bind-to': 'package'})
        self.assertTrue(all(told), told)

    def test_more_processes_than_cpus(self):
        """Slots beyond the cpus are used without a binding, unless that is asked for."""
        np = len(CPUS) + 1
        dvm = self.start(f'slots={np}')
        cpus, told = self.seen(dvm, np)
        self.assertEqual((cpus, told), ([set(CPUS)] * np, [''] * np))
        result = dvm.run(['true'], np=np, **{'bind-to': 'hwthread'})
        self.assertEqual(result.state, dvmtest.MAP_FAILED, result)
        self.assertIn('overload', result.reason)
        cpus, told = self.seen(dvm, np, **{'bind-to': 'hwthread:overload'})
        self.assertEqual([len(one) for one in cpus], [1] * np)

    def test_jobs_beside(self):
        """Jobs that share a node have cpus of their own, and give them back."""
        dvm = self.start('slots=2')
        for _ in range(3):
            first = dvm.submit(['sleep', '1000'], np=1, **{'bind-to': 'core'})
            first.wait_running()
            taken = expand(first.procs()[0][9])
            cpus, _ = self.seen(dvm, 1, **{'bind-to': 'core'})
            self.assertFalse(cpus[0] & taken, (cpus, taken))
            first.cancel()
            first.wait()
        self.assertEqual(dvm.get('Statistics')['jobs-bound'], 0)

    def test_jobs_on_objects(self):
        """A process on a package counts for one core of it, whether it comes before those bound to cores or behind them."""
        machine = os.path.join(self.place(), 'two-cores.xml')
        write_machine(machine, CPUS[:2])
        dvm = self.dvm(settings=['slots=4'], env={'HWLOC_XMLFILE': machine})
        for words in (('package', 'core'), ('core', 'package'), ('package', 'package')):
            jobs = [dvm.submit(['sleep', '1000'], np=1, **{'map-by': word, 'bind-to': word}) for word in words]
            for job in jobs:
                job.wait_running()
            cpus = [expand(job.procs()[0][9]) for job in jobs]
            for word, had in zip(words, cpus):
                self.assertEqual(len(had), 2 if word == 'package' else 1, (words, cpus))
            # None is left for a third one.
            third = dvm.submit(['sleep', '1000'], np=1, **{'bind-to': 'core'})
            dvmtest.wait_until(lambda: third.get('HeldAt') == 'cpus', 'it to wait')
            jobs[0].cancel()
            third.wait_running()
            if words[1] == 'core':
                self.assertFalse(expand(third.procs()[0][9]) & cpus[1], words)
            for job in (*jobs, third):
                job.cancel()
                job.wait()
        self.assertEqual(dvm.get('Statistics')['jobs-bound'], 0)

    def test_no_cpus_left(self):
        """Where others have all cpus a job that asks for some waits for them, unless it shares; others are not bound."""
        dvm = self.start(f'slots={2 * len(CPUS)}')
        first = dvm.submit(['sleep', '1000'], np=len(CPUS), **{'map-by': 'hwthread'})
        first.wait_running()
        cpus, _ = self.seen(dvm, 1, **{'bind-to': 'hwthread:overload'})
        self.assertEqual([len(one) for one in cpus], [1])
        _, told = self.seen(dvm, 1)
        self.assertEqual(told, [''])
        second = dvm.submit(['sleep', '1000'], np=1, **{'bind-to': 'hwthread'})
        dvmtest.wait_until(lambda: second.get('HeldAt') == 'cpus', 'it to wait')
        # Slots that it names are all free; their cpus are not.
        host = dvm.get_nodes()[1]['Name']
        third = dvm.submit(['sleep', '1000'], np=1, hosts=[f'{host}:1'], **{'bind-to': 'hwthread'})
        dvmtest.wait_until(lambda: third.get('HeldAt') == 'cpus', 'it to wait, too')
        result = dvm.run(['true'], np=1, **{'bind-to': 'hwthread', 'when-full': 'refuse'})
        self.assertEqual(result.state, dvmtest.MAP_FAILED, result)
        self.assertIn('what other jobs have, and it was not to wait: ', result.reason)
        first.cancel()
        for job in (second, third):
            job.wait_running()
            self.assertTrue(job.procs()[0][9])
            job.cancel()
            job.wait()

    def test_threads(self):
        """PE gives a process several cpus, and tells OpenMP how many, unless the user has."""
        dvm = self.start('slots=2')
        options = {'map-by': 'slot:PE=2:HWTCPUS', 'personality': 'plain'}
        script = 'echo $OMP_NUM_THREADS $OMP_PLACES $OMP_PROC_BIND $(nproc)'
        self.assertEqual(dvm.run(['sh', '-c', script], **options).out, b'2 threads close 2\n')
        own = dvm.run(['sh', '-c', script], env={'OMP_NUM_THREADS': '1'}, **options)
        self.assertEqual(own.out.split()[:2], [b'1', b'threads'])
        one = dvm.run(['sh', '-c', script], **{**options, 'map-by': 'slot:PE=1:HWTCPUS'})
        self.assertEqual(one.out, b'1 threads close 1\n')
        bound = dvm.run(['sh', '-c', script], **{**options, 'map-by': 'slot', 'bind-to': 'hwthread'})
        self.assertEqual(bound.out, b'1\n', 'without PE nobody has spoken of threads')

    def test_threads_of_a_job_inside(self):
        """A job that a process starts by dvm-cli has not the threads of the one around it, but those that a user has set."""
        dvm = self.start('slots=4')
        cli = f'{os.path.join(os.environ["DVM_TEST_BUILD"], "cli", "dvm-cli")} run -n 1 '
        options = {'map-by': 'slot:PE=2:HWTCPUS'}

        def seen(before='', words='--bind-to none', **more):
            done = dvm.run(['sh', '-c', f'{before}{cli}{words} env'], np=1, **options, **more)
            self.assert_success(done)
            return {line for line in done.lines if line.startswith('OMP_')}

        self.assertEqual(seen(), set())
        self.assertEqual(seen(env={'OMP_NUM_THREADS': '7'}), {'OMP_NUM_THREADS=7'})
        self.assertEqual(seen(before='export OMP_PLACES=sockets; '), {'OMP_PLACES=sockets'})
        self.assertEqual(seen(words='--map-by slot:PE=1 --bind-to core:overload-allowed'),
                         {'OMP_NUM_THREADS=1', 'OMP_PLACES=cores', 'OMP_PROC_BIND=close'})

    def test_programs(self):
        """Each program of a job is bound in its own way, and keeps off the cpus of those before it; so do other jobs."""
        dvm = self.start('slots=4')
        script = ['sh', '-c', f'echo $DVM_RANK:$({ALL}):$OMP_NUM_THREADS']
        first = {'argv': script, 'np': 1, 'map-by': 'hwthread'}

        def seen(*apps, **options):
            done = dvm.run(None, apps=[first, *apps], **options)
            self.assert_success(done)
            rows = {int(row[0]): row[1:] for row in (line.split(':') for line in done.out.decode().split())}
            told = {row[0]: row[9] for row in done.job.procs()}
            shown = {row[0]: row[4] for row in done.job.call('Map', '(a{sv})', {})[0]}
            self.assertEqual(told, shown)
            for rank, cpus in told.items():
                self.assertEqual(expand(cpus) if cpus else set(CPUS), expand(rows[rank][0]))
            return [expand(told[rank]) if told[rank] else None for rank in sorted(told)], rows

        cpus, _ = seen({'argv': script, 'np': 1, 'bind-to': 'hwthread'}, {'argv': script, 'np': 1}, **{'bind-to': 'none'})
        self.assertIsNone(cpus[2])
        cpus, _ = seen({'argv': script, 'np': 1, 'bind-to': 'hwthread'})
        self.assertEqual([len(one) for one in cpus], [1, 1])
        self.assertFalse(cpus[0] & cpus[1], cpus)
        cpus, rows = seen({'argv': script, 'np': 1, 'map-by': 'slot:PE=2:HWTCPUS', 'bind-to': 'hwthread:overload'})
        self.assertEqual([rows[0][1], rows[1][1]], ['', '2'])
        last = {'argv': ['true'], 'np': len(CPUS), 'map-by': 'slot:HWTCPUS', 'bind-to': 'hwthread'}
        job = dvm.submit_apps([first, {**last, 'argv': ['true'], 'np': min(len(CPUS), 3)}])
        if len(CPUS) <= 3:
            result = job.wait()
            self.assertEqual(result['state'], dvmtest.MAP_FAILED, result)
            self.assertIn('apps[1]: ', result['reason'])

    def test_parts_of_a_machine(self):
        """Nodes that are parts of this machine share its cpus: nothing is bound unless that is asked for."""
        dvm = self.start('nodes=2', 'slots=1')
        _, told = self.seen(dvm, 2)
        self.assertEqual(told, ['', ''])
        _, told = self.seen(dvm, 2, **{'bind-to': 'core'})
        self.assertTrue(all(told), told)


if __name__ == '__main__':
    dvmtest.main()
