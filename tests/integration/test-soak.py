# SPDX-License-Identifier: LGPL-2.1-or-later
"""Thousands of jobs of every kind through one dvmd: its memory stays flat, and no descriptor, process or file is left.

1,500 jobs; 20,000 with DVM_TEST_SOAK=1. The kinds and moments are drawn from DVM_TEST_SEED (printed).
"""

import os
import random
import signal

import dvmtest
import leftovers
from dvmtest import Gio, GLib, MANAGER

LONG = os.environ.get('DVM_TEST_SOAK') == '1'
N_JOBS = 20000 if LONG else 1500
SEED = int(os.environ.get('DVM_TEST_SEED', '1'))
IN_FLIGHT = 24
HISTORY = 100
# What malloc's arenas may differ by; a leak of 100 bytes per job shows in the long version.
MOST_GROWTH = 2 << 20

# libpmix 4.2.2 keeps its peer objects, and with them the packed data of their job, until PMIx_server_finalize():
# measured 23 KB for each job of two clients that called PMIx_Finalize.
LIBPMIX_KEEPS = 28 << 10

PMIX_CLIENT = os.environ.get('DVM_TEST_PMIX_CLIENT')
SLEEP = ['sleep', '600']

# argv, options, state that Wait tells (None: any end)
ENDING = {
    'well': (['true'], {}, (dvmtest.NOTIFIED,)),
    'two': (['true'], {'np': 2}, (dvmtest.NOTIFIED,)),
    'code': (['sh', '-c', 'exit 3'], {}, (dvmtest.NON_ZERO_TERM,)),
    'signal': (['sh', '-c', f'kill -{int(signal.SIGKILL)} $$'], {}, (dvmtest.ABORTED_BY_SIG,)),
    'missing': (['/no/such/program'], {}, (dvmtest.FAILED_TO_START,)),
    'output': (['sh', '-c', 'head -c 100000 /dev/zero; echo end >&2'], {}, (dvmtest.NOTIFIED,)),
    'child': (['sh', '-c', 'sleep 600 >/dev/null 2>&1 & exit 0'], {}, (dvmtest.NOTIFIED,)),
    'timeout': (SLEEP, {'timeout': 1}, (dvmtest.KILLED_BY_CMD,)),
}
WEIGHTS = {'well': 30, 'two': 10, 'code': 10, 'signal': 5, 'missing': 5, 'output': 10, 'child': 4, 'timeout': 1,
           'cancelled': 15, 'vanished': 10}


class Load:
    """Keeps a number of jobs under way until there were enough of them."""

    def __init__(self, case, dvm, rng):
        self.case = case
        self.dvm = dvm
        self.rng = rng
        self.n_submitted = 0
        self.n_ended = 0
        self.n_open = 0
        self.n_clients = 0  # jobs of PMIx clients
        self.limit = 0

    def call(self, path, interface, method, signature, args, done):
        def on_answer(connection, result):
            try:
                answer, fds = connection.call_with_unix_fd_list_finish(result)
            except GLib.Error as error:
                done(None, [], error)
                return
            done(answer.unpack(), fds.steal_fds() if fds else [], None)

        self.dvm.connection.raw.call_with_unix_fd_list(
            None, path, interface, method, GLib.Variant(signature, args), None, Gio.DBusCallFlags.NONE, GLib.MAXINT,
            None, None, on_answer)

    def run(self, n):
        self.limit += n
        while self.n_open < IN_FLIGHT and self.n_submitted < self.limit:
            self.submit()
        dvmtest.wait_until(lambda: self.n_ended == self.limit, f'{self.limit} jobs to end, {self.n_ended} have', 3600)

    def submit(self):
        kind = self.rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        argv, options, states = ENDING.get(kind, (SLEEP, {}, None))
        options = dict({'np': 1, 'personality': self.rng.choice(['plain', 'pmix'])}, **options)
        if PMIX_CLIENT and kind == 'two' and self.rng.random() < 0.1:
            argv, options['personality'] = [PMIX_CLIENT, 'data'], 'pmix'
            self.n_clients += 1
        if kind == 'vanished':
            argv = ['sh', '-c', 'while echo some output of a job that nobody reads to its end; do :; done']
        self.n_submitted += 1
        self.n_open += 1
        self.call(*MANAGER, 'Submit', '(asa{sv})', (argv, dvmtest.to_options(options)),
                  lambda answer, fds, error: self.on_submitted(kind, states, answer, error))

    def on_submitted(self, kind, states, answer, error):
        if error is not None:
            raise error
        path = answer[0]
        self.call(path, 'org.dvm.Job', 'Wait', '(a{sv})', ({},),
                  lambda answer, fds, error: self.on_ended(kind, states, answer, error))
        if kind == 'cancelled':
            GLib.timeout_add(self.rng.choice([0, 0, 1, 2, 5, 10, 50]), self.cancel, path)
        elif kind == 'vanished':
            self.call(path, 'org.dvm.Job', 'Attach', '(a{sv})', ({},),
                      lambda answer, fds, error: self.on_attached(path, fds))

    def cancel(self, path):
        self.call(path, 'org.dvm.Job', 'Cancel', '(a{sv})', ({},), lambda answer, fds, error: None)
        return False

    def on_attached(self, path, fds):
        """Some is read of one stream, nothing of the other; then both readers go, and the job with them."""
        def leave():
            if fds and self.rng.random() < 0.5:
                os.set_blocking(fds[0], False)
                try:
                    os.read(fds[0], self.rng.choice([1, 4096, 1 << 20]))
                except BlockingIOError:
                    pass
            for fd in fds:
                os.close(fd)
            GLib.timeout_add(self.rng.choice([0, 10]), self.cancel, path)
            return False

        GLib.timeout_add(self.rng.choice([0, 1, 20]), leave)

    def on_ended(self, kind, states, answer, error):
        if error is not None:
            raise error
        result = answer[0]
        if states is not None and result['state'] not in states:
            self.case.problems.append(f'{kind}: {result}')
        self.n_ended += 1
        self.n_open -= 1
        if self.n_submitted < self.limit:
            self.submit()


class Watcher:
    """A client that subscribes, hears of some jobs, and is gone without a word."""

    def __init__(self, dvm, rng):
        self.dvm = dvm
        self.rng = rng
        self.connection = None
        self.source = GLib.timeout_add(100, self.turn)

    def turn(self):
        if self.connection is None:
            self.connection = self.dvm.connect()
            self.connection.raw.call(None, *MANAGER, 'Subscribe', None, None, Gio.DBusCallFlags.NONE, -1, None, None)
            if self.rng.random() < 0.5:
                self.connection.raw.call(None, '/org/dvm', 'org.freedesktop.DBus.ObjectManager', 'GetManagedObjects',
                                         None, None, Gio.DBusCallFlags.NONE, -1, None, None)
        else:
            self.connection.close()
            self.connection = None
        return True

    def stop(self):
        GLib.source_remove(self.source)
        if self.connection is not None:
            self.connection.close()


class Soak(dvmtest.Case):
    problems = []

    def count_fds(self, dvm):
        """Without those of the cgroups that wait for the next jobs, whose number goes up and down below 16."""
        return len([target for target in leftovers.list_descriptors(dvm.daemons) if 'cgroup' not in target])

    def measure(self, dvm):
        """Memory and descriptors when nothing is under way."""
        dvmtest.wait_until(lambda: dvm.get('SlotsInUse') == 0, 'no slot to be used')
        dvmtest.wait_until(lambda: not dvm.job_processes(), 'the processes of the jobs to go')
        sizes = dvm.rss(), self.count_fds(dvm)
        print(f'# {dvm.get("Statistics")["jobs-ended"]} jobs: {sizes[0] >> 10} KiB, {sizes[1]} descriptors')
        return sizes

    def grow(self, load):
        """By how many bytes memory grows with half of the jobs, without what libpmix keeps."""
        n_clients = load.n_clients
        before = self.measure(load.dvm)[0]
        load.run(N_JOBS - N_JOBS // 2)
        growth = self.measure(load.dvm)[0] - before - LIBPMIX_KEEPS * (load.n_clients - n_clients)
        return 0 if load.dvm.is_instrumented() else growth

    def test_memory_stays_flat(self):
        print(f'# DVM_TEST_SEED={SEED}')
        rng = random.Random(SEED)
        dvm = self.dvm(slots=16, settings=[f'history-limit={HISTORY}', 'kill-grace=0.1', 'keep-output=65536'])
        load = Load(self, dvm, rng)
        watcher = Watcher(dvm, rng)
        load.run(N_JOBS // 4)
        self.measure(dvm)
        load.run(N_JOBS // 4)
        half = self.measure(dvm)
        growths = [self.grow(load)]
        # A leak grows with each half; what the arenas of a busy machine differ by does not.
        while growths[-1] >= MOST_GROWTH and len(growths) < 3:
            growths.append(self.grow(load))
        watcher.stop()
        self.assertEqual(self.problems, [])
        self.assertLess(min(growths), MOST_GROWTH)
        dvmtest.wait_until(lambda: self.count_fds(dvm) <= half[1], f'{half[1]} descriptors, as at half of the jobs')
        statistics = dvm.get('Statistics')
        self.assertEqual((statistics['jobs-submitted'], statistics['jobs-ended']), (load.limit, load.limit))
        self.assertEqual((dvm.get('JobsRunning'), dvm.get('JobsHeld')), (0, 0))
        self.assertEqual(len(dvm.list_jobs(all=True)), HISTORY)


if __name__ == '__main__':
    dvmtest.main()
