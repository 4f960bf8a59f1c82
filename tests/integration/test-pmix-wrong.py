# SPDX-License-Identifier: LGPL-2.1-or-later
"""What PMIx programs may get wrong: values of a wrong kind, and an end before the answers. Server and DVM live on, and nothing is left behind."""

import itertools
import os

import dvmtest
import pmixsteps
from dvmtest import NOTIFIED

CLIENT = os.environ.get('DVM_TEST_PMIX_WRONG', '')
# A process or a text in a number is what the server of the library takes for an address; the client can read there.
ADDRESS = 'address'
OF_TEXTS = (ADDRESS, 'proc', 'procs', 'texts', 'empty')
OF_FLAGS = ('text', ADDRESS, 'negative', 'proc', 'texts', 'empty')
OF_NUMBERS = ('text', 'negative', 'proc', 'texts', 'empty')

# function, key: status -> kinds of values. Others end the client in its own library (4.2.2), or are read there beyond their end.
REFUSED = {
    ('get', 'pmix.hname'): {'BAD-PARAM': OF_TEXTS},
    ('get', 'pmix.timeout'): {'BAD-PARAM': ('flag', 'none', *OF_NUMBERS)},
    ('fence', 'pmix.timeout'): {'BAD-PARAM': ('flag', 'none', *OF_NUMBERS), 'SUCCESS': ('large', ADDRESS)},
    ('fence', 'test.unheard'): {'NOT-SUPPORTED': ('required',), 'SUCCESS': ('flag', 'procs')},
    ('fence', 'pmix.collect.gen'): {'NOT-SUPPORTED': ('required',), 'SUCCESS': ('flag',)},
    ('fence', 'pmix.collect'): {'SUCCESS': ('required', 'text')},
    ('connect', 'pmix.timeout'): {'BAD-PARAM': ('flag', 'none', *OF_NUMBERS), 'SUCCESS': ('large', ADDRESS)},
    ('connect', 'test.unheard'): {'NOT-SUPPORTED': ('required',), 'SUCCESS': ('flag', 'procs')},
    ('disconnect', 'pmix.timeout'): {'BAD-PARAM': ('flag', 'none', *OF_NUMBERS), 'SUCCESS': ('large', ADDRESS)},
    ('disconnect', 'test.unheard'): {'NOT-SUPPORTED': ('required',), 'SUCCESS': ('flag', 'procs')},
    ('monitor', 'pmix.monitor.fmon'): {'BAD-PARAM': ('none', 'flag', 'large', 'negative', *OF_TEXTS)},
    ('monitor', 'pmix.monitor.cancel'): {'BAD-PARAM': ('large', 'negative', *OF_TEXTS), 'NOT-FOUND': ('text',), 'SUCCESS': ('none', 'flag')},
    ('watch', 'pmix.monitor.ftime'): {'BAD-PARAM': OF_NUMBERS},
    ('watch', 'pmix.monitor.fdrop'): {'BAD-PARAM': OF_NUMBERS, 'SUCCESS': ('large',)},
    ('watch', 'pmix.monitor.fsize'): {'BAD-PARAM': ('none', *OF_FLAGS), 'SUCCESS': ('flag',)},
    ('watch', 'pmix.range'): {'BAD-PARAM': OF_FLAGS},
    ('control', 'pmix.clnup.ignore'): {'NOT-SUPPORTED': ('text', 'none', *OF_TEXTS)},
    ('control', 'pmix.reg.cleanup'): {'BAD-PARAM': ('none', 'flag', *OF_TEXTS), 'SUCCESS': ('text',)},
    ('pull', 'pmix.iof.file'): {'BAD-PARAM': OF_TEXTS, 'NOT-SUPPORTED': ('text',)},
    ('spawn', 'pmix.iof.file'): {'BAD-PARAM': OF_TEXTS},
    ('spawn', 'pmix.iof.dir'): {'BAD-PARAM': OF_TEXTS},
    ('spawn', 'pmix.noover'): {'BAD-PARAM': OF_FLAGS, 'SUCCESS': ('flag',)},
    ('spawn', 'pmix.spawn.pty'): {'BAD-PARAM': OF_FLAGS, 'SUCCESS': ('flag',)},
    ('spawn', 'pmix.fwd.stdout'): {'BAD-PARAM': OF_FLAGS, 'SUCCESS': ('flag',)},
    ('spawn', 'pmix.iof.tag'): {'BAD-PARAM': OF_FLAGS, 'SUCCESS': ('flag',)},
    ('spawn', 'pmix.job.time'): {'BAD-PARAM': ('flag', *OF_NUMBERS), 'SUCCESS': ('large',)},
    ('spawn', 'pmix.colproc'): {'BAD-PARAM': ('flag', 'large', 'texts', 'empty')},
    ('spawn', 'pmix.dbg.tgt'): {'BAD-PARAM': ('flag', 'large', 'procs', 'empty')},
    ('spawn', 'pmix.stdin'): {'BAD-PARAM': ('flag', 'text', 'negative', 'texts')},
    ('spawn', 'pmix.session.id'): {'BAD-PARAM': ('flag', *OF_NUMBERS)},
    ('spawn', 'pmix.host'): {'BAD-PARAM': ('flag', 'none', 'large', 'procs', 'empty'), 'JOB-FAILED-TO-MAP': ('text',)},
    ('spawn', 'pmix.unheard'): {'NOT-SUPPORTED': ('text', 'flag', 'procs')},
    ('spawn', 'test.unheard'): {'SUCCESS': ('text', 'flag', 'large')},
    ('group', 'pmix.grp.info'): {'BAD-PARAM': ('flag', 'text', 'none', 'large', 'procs')},
    ('group', 'pmix.grp.actxid'): {'BAD-PARAM': OF_FLAGS, 'SUCCESS': ('flag',)},
    ('alloc', 'pmix.alloc.nnodes'): {'BAD-PARAM': ('flag', *OF_NUMBERS)},
    ('alloc', 'pmix.alloc.share'): {'BAD-PARAM': OF_FLAGS},
    ('publish', 'pmix.range'): {'BAD-PARAM': ('large', *OF_NUMBERS)},
    ('publish', 'pmix.persist'): {'BAD-PARAM': ('large', *OF_NUMBERS)},
    ('publish', 'pmix.auids'): {'BAD-PARAM': ('flag', 'text', 'large', 'texts', 'empty')},
    ('lookup', 'pmix.timeout'): {'BAD-PARAM': OF_NUMBERS, 'NOT-FOUND': ('large',)},
    ('unpublish', 'pmix.range'): {'BAD-PARAM': OF_NUMBERS},
    ('query', 'pmix.hname'): {'BAD-PARAM': ('flag', 'none', 'large', *OF_TEXTS), 'NOT-FOUND': ('text',)},
    ('query', 'pmix.nodeid'): {'BAD-PARAM': ('flag', *OF_NUMBERS), 'NOT-FOUND': ('large',)},
    ('query', 'pmix.alloc.id'): {'BAD-PARAM': ('flag', 'none', 'large', *OF_TEXTS)},
    ('log', 'pmix.log.stderr'): {'BAD-PARAM': ('flag', 'none', 'large', *OF_TEXTS)},
    ('log', 'pmix.log.tsout'): {'BAD-PARAM': OF_FLAGS, 'SUCCESS': ('flag',)},
    ('log', 'pmix.log.tstmp'): {'BAD-PARAM': ('flag', 'large', *OF_TEXTS)},
    ('log', 'pmix.log.syspri'): {'BAD-PARAM': OF_NUMBERS},
    ('control', 'pmix.jctrl.sig'): {'BAD-PARAM': ('flag', 'large', *OF_NUMBERS)},
    ('control', 'pmix.jctrl.defpset'): {'BAD-PARAM': ('flag', 'none', 'large', *OF_TEXTS)},
    ('credential', 'pmix.timeout'): {'BAD-PARAM': ('flag', *OF_NUMBERS)},
    ('validate', 'pmix.sec.ctype'): {'BAD-PARAM': ('flag', 'none', 'large', ADDRESS, 'proc')},
    ('notify', 'pmix.evrange'): {'BAD-PARAM': ('flag', 'text', 'large', 'proc', 'empty')},
    ('notify', 'pmix.evproc'): {'BAD-PARAM': ('text', *(kind for kind in OF_TEXTS if kind != 'proc')), 'SUCCESS': ('proc',)},
    # The client's library has a word of its own for what its server says.
    ('register', 'pmix.evproc'): {None: (ADDRESS,), 'SUCCESS': ('proc',)},
    ('register', 'pmix.evaffected'): {None: (ADDRESS,), 'SUCCESS': ('procs',)},
}

# One that has grown is replaced: that is no failure of it.
BROKEN = r'\(process \d+\) (was ended|has not answered|has closed)'
OPEN = ('calls-open', 'collectives-open', 'data-published', 'data-waiting', 'group-members', 'modex-waiting', 'output-pulls', 'requesters-waiting', 'spawns-open')


class Wrong(pmixsteps.Case):
    client = CLIENT

    def begin(self, n):
        return self.nodes(n, ['elastic=true', 'pmix=eager', 'pmix-servers=1', 'slots=64'])

    def test_kinds(self):
        """A value of a wrong kind is refused, by whatever server; it ends none, and the next request is served."""
        dvm = self.begin(1)
        unexpected = []
        for (function, key), statuses in REFUSED.items():
            rows = [(kind, status) for status, kinds in statuses.items() for kind in kinds]
            job = self.start(dvm, *(word for kind, _ in rows for word in (function, key, kind)))
            result = job.wait()
            said = [line.split() for line in job.said.finish().decode().splitlines()]
            self.assertEqual((result['state'], [line[:3] for line in said]), (NOTIFIED, [[function, key, kind] for kind, _ in rows]), result)
            unexpected += [line for (_, status), line in zip(rows, said) if (line[3] != status if status is not None else line[3] == 'SUCCESS')]
            self.assertNotRegex(dvm.log(), BROKEN, (function, key))
        self.assertEqual(unexpected, [])

    def test_cleanup(self):
        """Files and directories that a process wants removed after its end are, by the library of the server: also when it was killed."""
        dvm = self.begin(1)
        for n, end in enumerate(((), ('--killed', '0'))):
            self.touch(f'file{n}')
            os.mkdir(self.path(f'directory{n}'))
            job = self.start(dvm, 'control', 'pmix.reg.cleanup', '=' + self.path(f'file{n}'), 'control', 'pmix.reg.cleanupdir', '=' + self.path(f'directory{n}'), *end)
            self.assertEqual(job.wait()['exit-signal'], 9 if end else 0)
            self.assertEqual([line.split()[-1] for line in job.said.finish().decode().splitlines()], ['SUCCESS'] * 2)
            dvmtest.wait_until(lambda: not os.listdir(self.folder), 'them to be gone')

    def test_killed(self):
        """Who is killed before the answers to all that it has asked for leaves nothing open, and nobody waits for it."""
        dvm = self.begin(2)
        for time, host in itertools.product((0, 300, 1000, 20000), ('node1:2', 'node1:1,node2:1')):
            result = self.start(dvm, '--killed', str(time), np=2, host=host).wait()
            self.assertEqual((result['state-name'], result['exit-signal'], result['failed-rank']), ('ABORTED_BY_SIG', 9, 0), result)
        dvmtest.wait_until(lambda: not any(dvm.get('Statistics')[name] for name in OPEN), 'nothing to be open')
        dvmtest.wait_until(lambda: not dvm.job_processes(), 'those that were spawned to have ended')
        self.assertEqual(self.start(dvm, 'fence', 'pmix.collect', 'flag', np=2, host='node1:1,node2:1').wait()['state'], NOTIFIED)
        self.assertNotRegex(dvm.log(), BROKEN)


if __name__ == '__main__':
    dvmtest.main()
