# SPDX-License-Identifier: LGPL-2.1-or-later
"""What each key of docs/pmix.md says, on one agent and on four: at the start of a process, in a query, of published data, of allocations, of tools."""

import glob
import os
import re

from gi.repository import GLib

import dvmtest
from dvmtest import NOTIFIED, wait_until

ALLOC = os.environ['DVM_TEST_PMIX_ALLOC']
CLIENT = os.environ['DVM_TEST_PMIX_DATA']
SOURCE = os.environ['DVM_TEST_SOURCE']
SLOTS = 8
READY, WARNING, REGISTERED = -195, -194, 16

# Of the job with a rank on each node, and one more on the last, in a process set, which asks: key, of whom, what it is told.
START = [
    ('JOB_SIZE', 'pmix.job.size', 'job', '{size}'), ('UNIV_SIZE', 'pmix.univ.size', 'job', '{slots}'), ('MAX_PROCS', 'pmix.max.size', 'job', '{size}'),
    ('UNIV_SIZE', 'pmix.univ.size', 'job session={session}', '{slots}'),
    ('NPROC_OFFSET', 'pmix.offset', 'job', '0'), ('NUM_NODES', 'pmix.num.nodes', 'job', '{n}'), ('JOB_NUM_APPS', 'pmix.job.napps', 'job', '2'),
    ('NODE_LIST', 'pmix.nlist', 'job', '{names}'), ('JOBID', 'pmix.jobid', 'job', '{job}'), ('NSPACE', 'pmix.nspace', 'job', '{job}'),
    ('MAPBY', 'pmix.mapby', 'job', 'node'), ('RANKBY', 'pmix.rankby', 'job', 'node'), ('BINDTO', 'pmix.bindto', 'job', 'none'),
    ('CMD_LINE', 'pmix.cmd.line', 'job', '{client} file {go} : {client} file .* touch {go}'),
    ('TMPDIR', 'pmix.tmpdir', 'job', '{sessions}'), ('NSDIR', 'pmix.nsdir', 'job', '{sessions}/{job}'), ('TDIR_RMCLEAN', 'pmix.tdir.rmclean', 'job', 'true'),
    ('RM_NAME', 'pmix.rm.name', 'job', 'dvm'), ('RM_VERSION', 'pmix.rm.version', 'job', r'\d+\.\d+\.\d+.*'),
    ('SERVER_NSPACE', 'pmix.srv.nspace', 'job', '{dvm}'), ('SERVER_RANK', 'pmix.srv.rank', 'job', '{n}'),
    ('USERID', 'pmix.euid', 'job', '{uid}'), ('GRPID', 'pmix.egid', 'job', '{gid}'),
    ('OMPI_APP_SIZES', 'OMPI_APP_SIZES', 'job', '{n} 1'), ('OMPI_FIRST_RANKS', 'OMPI_FIRST_RANKS', 'job', '0 {n}'),
    # Of the node of the one who asks.
    ('HOSTNAME', 'pmix.hname', 'job', '{last}'), ('NODEID', 'pmix.nodeid', 'job', '{left}'), ('LOCAL_SIZE', 'pmix.local.size', 'job', '2'),
    ('NODE_SIZE', 'pmix.node.size', 'job', '2'), ('LOCAL_PEERS', 'pmix.lpeers', 'job', '{left},{n}'), ('LOCALLDR', 'pmix.lldr', 'job', '{left}'),
    ('LOCAL_PROCS', 'pmix.lprocs', 'job', '{left} {n}'), ('LOCAL_CPUSETS', 'pmix.lcpus', 'job', r'[\d,-]+:[\d,-]+'),
    ('HOSTNAME_ALIASES', 'pmix.alias', 'job', '{machine}'), ('AVAIL_PHYS_MEMORY', 'pmix.pmem', 'job', r'[1-9]\d{{6,}}'),
    # Of a node by its name.
    ('LOCAL_SIZE', 'pmix.local.size', 'job node=node1', '{at_first}'), ('LOCALLDR', 'pmix.lldr', 'job node=node1', '0'),
    ('LOCAL_PEERS', 'pmix.lpeers', 'job node=node1', '{peers_of_first}'), ('LOCAL_PEERS', 'pmix.lpeers', 'job node={last}', '{left},{n}'),
    # Of the applications.
    ('APP_SIZE', 'pmix.app.size', 'job app=0', '{n}'), ('APP_SIZE', 'pmix.app.size', 'job app=1', '1'), ('APPLDR', 'pmix.aldr', 'job app=1', '{n}'),
    ('WDIR', 'pmix.wdir', 'job app=1', '/'), ('APP_ARGV', 'pmix.app.argv', 'job app=0', '{client} file {go}'), ('MAPBY', 'pmix.mapby', 'job app=0', 'node'),
    ('PSET_NAME', 'pmix.pset.nm', 'job app=1', 'ice'), ('PSET_MEMBERS', 'pmix.pset.mems', 'job app=1', '{n}'),
    # Of the one who asks, and of the first rank, which is on another node where there are several.
    ('GLOBAL_RANK', 'pmix.grank', '{n}', '{n}'), ('GLOBAL_RANK', 'pmix.grank', '0', '0'), ('APPNUM', 'pmix.appnum', '{n}', '1'), ('APPNUM', 'pmix.appnum', '0', '0'),
    ('APP_RANK', 'pmix.apprank', '{n}', '0'), ('APP_RANK', 'pmix.apprank', '{left}', '{left}'), ('LOCAL_RANK', 'pmix.lrank', '{n}', '1'),
    ('LOCAL_RANK', 'pmix.lrank', '0', '0'), ('NODE_RANK', 'pmix.nrank', '{n}', '1'), ('NODE_RANK', 'pmix.nrank', '0', '0'),
    ('HOSTNAME', 'pmix.hname', '{n}', '{last}'), ('HOSTNAME', 'pmix.hname', '0', 'node1'), ('NODEID', 'pmix.nodeid', '{n}', '{left}'),
    ('PSET_NAME', 'pmix.pset.nm', '{n}', 'ice'), ('REINCARNATION', 'pmix.reinc', '{n}', '0'), ('REINCARNATION', 'pmix.reinc', '0', '0'),
    # Of ranks of the same node alone.
    ('PROCDIR', 'pmix.pdir', '{n}', '{sessions}/{job}/{n}'), ('PROCDIR', 'pmix.pdir', '{left}', '{sessions}/{job}/{left}'),
    ('CPUSET', 'pmix.cpuset', '{n}', r'hwloc:[\d,-]+'), ('LOCALITY_STRING', 'pmix.locstr', '{left}', r'SK\d+:.*'), ('PACKAGE_RANK', 'pmix.pkgrank', '{n}', r'\d+'),
]

# Told where it applies: the file below tests, and the function in it.
START_ELSEWHERE = {
    'SPAWNED': 'integration/test-pmix-data.py test_spawn_info', 'PARENT_ID': 'integration/test-pmix-data.py test_spawn_info',
    'DEBUG_STOP_IN_INIT': 'integration/test-debuggers.py test_stop', 'DEBUG_STOP_IN_APP': 'integration/test-debuggers.py test_stop',
    'DEBUG_TARGET': 'integration/test-debuggers.py test_together', 'ALLOC_ID': 'conformance/pmix/test-answers.py check_allocations',
    'DEVICE_ID': 'integration/test-devices.py test_pmix',
    # No client is told them by libpmix 4.2 and 5.0, which use them or lack them.
    'NUMA_RANK': '', 'SESSION_ID': '', 'NODE_MAP': '', 'PROC_MAP': '', 'RANK': '',
}

# name: the words of a query; its answers
QUERIES = {
    'QUERY_NAMESPACES': ('pmix.qry.ns', '{job}'),
    'QUERY_NAMESPACE_INFO': ('pmix.qry.nsinfo nspace=.', r'\[pmix.job.arr \[pmix.nspace {job}\] \[pmix.cmd.line {client} .*\] \[pmix.job.size {size}\]\]'),
    'JOB_SIZE': ('pmix.job.size nspace=.', '{size}'),
    'QUERY_PROC_TABLE': ('pmix.qry.ptable nspace=.', '{table}'),
    'QUERY_PROC_TABLE of a node': ('pmix.qry.ptable nspace=. host=node1 rank=0', '0:node1:{client}:1:0:6'),
    'QUERY_LOCAL_PROC_TABLE': ('pmix.qry.lptable nspace=.', '{left}:{last}:{client}:1:0:6 {n}:{last}:{client}:1:0:6'),
    'QUERY_RESOLVE_PEERS': ('pmix.qry.peers nspace=. host={last}', '{left} {n}'),
    'QUERY_RESOLVE_PEERS of this machine': ('pmix.qry.peers nspace=. host={host}', '{left} {n}'),
    'QUERY_RESOLVE_NODE': ('pmix.qry.node nspace=.', '{names}'),
    'NUM_SLOTS': ('pmix.num.slots', '{slots}'), 'NUM_SLOTS of a node': ('pmix.num.slots host={last}', '{of_node}'),
    'QUERY_AVAILABLE_SLOTS': ('pmix.qry.aslots', '{free}'), 'QUERY_AVAILABLE_SLOTS of a node': ('pmix.qry.aslots node={left}', '{free_of_last}'),
    'QUERY_ALLOC_IDS': ('pmix.query.alloc.ids', None),
    'QUERY_ALLOCATION': ('pmix.query.allc', '{nodes}'),
    'QUERY_NUM_GROUPS': ('pmix.qry.pgrpnum', '0'), 'QUERY_GROUP_NAMES': ('pmix.qry.pgrp', ''),
    'QUERY_PROC_RESOURCE_USAGE': ('pmix.qry.pres nspace=. rank=0', r'\[pmix.procid {job}.0\] \[pmix.hname node1\] \[pmix.ppid \d+\] .*\[pmix.proc.rss [\d.]+\].*'),
    'QUERY_NODE_RESOURCE_USAGE': ('pmix.qry.nres host={last}', r'\[pmix.hname {last}\] \[pmix.node.la [\d.]+\] .*\[pmix.node.mtot [\d.]+\].*'),
    'QUERY_NUM_PSETS': ('pmix.qry.psetnum', '1'), 'QUERY_PSET_NAMES': ('pmix.qry.psets', 'ice'), 'QUERY_PSET_MEMBERSHIP': ('pmix.qry.pmems pset=ice', '{n}'),
    'QUERY_SPAWN_SUPPORT': ('pmix.qry.spawn', '.*pmix.mapby,.*'), 'QUERY_DEBUG_SUPPORT': ('pmix.qry.debug', 'pmix.dbg.exec,.*'),
    'QUERY_SUPPORTED_KEYS': ('pmix.qry.keys', '.*pmix.qry.ns,.*'),
    'HWLOC_XML_V2': ('pmix.hwlocxml2', r'<\?xml.*</topology>\s*'),
}
QUERIES_ELSEWHERE = {
    'QUERY_GROUP_MEMBERSHIP': 'integration/test-pmix-groups.py test_queries', 'QUERY_ALLOC_STATUS': 'conformance/pmix/test-answers.py check_allocations',
    'QUERY_ALLOC_PROPERTIES': 'conformance/pmix/test-answers.py check_allocations', 'TIME_REMAINING': 'conformance/pmix/test-answers.py check_allocations',
    'QUERY_ATTRIBUTE_SUPPORT': 'integration/test-pmix-servers.py test_questions',
}
QUALIFIERS = {'RANGE', 'QUERY_LOCAL_ONLY'}
QUERIES_REFUSED = {
    'QUERY_MEMORY_USAGE': 'pmix.qry.mem', 'SERVER_URI': 'pmix.srvr.uri', 'PROC_URI': 'pmix.puri', 'PROC_PID': 'pmix.ppid', 'PSET_NAMES': 'pmix.pset.nms',
    'HWLOC_XML_V1': 'pmix.hwlocxml1', 'MEM_ALLOC_KIND': 'pmix.alloc.mkind', 'QUERY_JOB_STATUS': 'pmix.qry.jst', 'QUERY_QUEUE_LIST': 'pmix.qry.qlst',
    'QUERY_QUEUE_STATUS': 'pmix.qry.qst', 'QUERY_AUTHORIZATIONS': 'pmix.qry.auths', 'QUERY_RES_BLOCKS': 'pmix.qry.resblks', 'SESSION_ID': 'pmix.session.id',
}
# What clients of some versions know by themselves, of which no server is asked
ANSWERED_BY_CLIENTS = {'SERVER_URI': r'query SUCCESS \[pmix.srvr.uri {dvm}.{n};tcp4://127.0.0.1:\d+\]'} if 'knows-server' in dvmtest.pmix_library() else {}

# name: the test below that asks for it
DATA = {
    'RANGE': 'check_ranges', 'PERSISTENCE': 'check_persistence', 'ACCESS_USERIDS': 'check_access', 'ACCESS_GRPIDS': 'check_access', 'WAIT': 'check_waits',
    'TIMEOUT': 'check_waits',
}
ALLOCATIONS = {name: 'conformance/pmix/test-answers.py check_allocations' for name in (
    'ALLOC_NODE_LIST', 'ADD_HOST', 'ADD_HOSTFILE', 'ALLOC_ID', 'SESSION_ID', 'ALLOC_REQ_ID', 'ALLOC_SHARE', 'ALLOC_TARGET', 'ALLOC_INHERITANCE',
    'ALLOC_CHILD_SEP', 'ALLOC_TIME', 'ALLOC_WARN_TIMEOUT')}
ALLOCATIONS.update(ALLOC_NUM_NODES='integration/test-scheduler.py test_cancelled')


def read(name):
    with open(os.path.join(SOURCE, name), encoding='utf-8') as file:
        return file.read()


def find_distances():
    """What the library says of network adapters of the bus, each of which has one name; of other devices it finds its own."""
    folder, adapters = '/sys/class/net', {}
    if glob.glob('/sys/class/infiniband/*') + glob.glob('/sys/class/drm/renderD*'):
        return 'distances .*'
    for name in os.listdir(folder):
        bus = re.findall(r'/[0-9a-f]{4}:([0-9a-f:.]+)/', os.readlink(os.path.join(folder, name)))
        if bus:
            adapters.setdefault(bus[-1], []).append(name)
    names = [names[0] for _, names in sorted(adapters.items()) if len(names) == 1]
    found = ' '.join(f"{name}=ipv4://{read(os.path.join(folder, name, 'address')).strip()}:1" for name in names)
    return f'distances SUCCESS {found}' if found else 'distances (?!SUCCESS).*'


BUS_QUALIFIERS = {'nspace': ('PMIX_NSPACE', 's'), 'host': ('PMIX_HOSTNAME', 's'), 'rank': ('PMIX_RANK', 'u'), 'pset': ('PMIX_PSET_NAME', 's'), 'id': ('PMIX_ALLOC_ID', 's')}
# Answered to PMIx programs alone: the server of a node knows them, or there is a reason in the table of keys.
PMIX_ALONE = {'QUERY_SPAWN_SUPPORT', 'QUERY_DEBUG_SUPPORT', 'HWLOC_XML_V2'}


def read_table():
    """The keys of both sides by their names in PMIx: what of_pmix and of_bus say."""
    rows = re.findall(r'\{ "([a-z-]+)", (?:"PMIX_(\w+)"|NULL), (0|HERE)[^,]*, (0|HERE)[^,]*, [^,]* \},', read('daemon/controller/dvmd-query-keys.c'))
    return {name or word: (of_pmix == 'HERE', of_bus == 'HERE') for word, name, of_pmix, of_bus in rows}


class Answers:
    def test_all(self):
        dvm = self.dvm(slots=SLOTS, arguments=[f'--nodes={self.nodes}'], settings=['elastic=true', 'kill-grace=0.5'])
        self.last = f'node{self.nodes}'
        self.files = self.place()
        self.check_job(dvm)
        waits = self.begin_waits(dvm)
        for check in (self.check_ranges, self.check_persistence, self.check_access, self.check_tool, self.check_allocations):
            check(dvm)
        self.check_waits(dvm, *waits)

    def path(self, name):
        return os.path.join(self.files, name)

    def touch(self, *names):
        for name in names:
            open(self.path(name), 'w').close()

    def wait_for(self, name):
        wait_until(lambda: os.path.exists(self.path(name)), name)

    def say(self, dvm, *words, node=None, **options):
        done = dvm.run([CLIENT, *words], hosts=[node or self.last], **options)
        self.assert_success(done)
        return done.lines

    # ---- of a job ----

    def words_of_job(self):
        n, names = self.nodes, [f'node{number + 1}' for number in range(self.nodes)]
        rows = [f'{rank}:node{rank + 1}:{CLIENT}:1:0:6' for rank in range(n)] + [f'{n}:{self.last}:{CLIENT}:1:0:6']
        nodes = [rf'\[pmix.node.arr \[pmix.hname {name}\] \[pmix.nodeid {number}\] \[pmix.num.slots {SLOTS}\]\]' for number, name in enumerate(names)]
        return {
            'n': n, 'left': n - 1, 'size': n + 1, 'slots': n * SLOTS, 'of_node': SLOTS, 'free': n * SLOTS - n - 1, 'free_of_last': SLOTS - 2,
            'names': ','.join(names), 'last': self.last, 'table': ' '.join(rows), 'nodes': ' '.join(nodes), 'client': CLIENT, 'go': self.path('go'),
            'at_first': 2 if n == 1 else 1, 'peers_of_first': '0,1' if n == 1 else '0', 'uid': os.geteuid(), 'gid': os.getegid(), 'session': 0,
            'host': os.uname().nodename, 'machine': re.escape(os.uname().nodename), 'sessions': '/.*/sessions',
        }

    def check_job(self, dvm):
        """What each key is for the last rank, at its start and in queries."""
        values = self.words_of_job()
        asks = [['get', '.', *f'{whose.partition(" ")[0]} {key} {whose.partition(" ")[2]}'.format(**values).split()] for _, key, whose, _ in START]
        asks += [['query', *words.format(**values).split()] for words, _ in QUERIES.values()]
        asks += [['query', key, 'nspace=.', 'fresh=1'] for key in QUERIES_REFUSED.values()] + [['topology'], ['distances'], ['peers', '-', '.'], ['peers', 'node1', '.']]
        words = ['file', self.path('connected'), *(word for ask in asks for word in ask), 'touch', self.path('go')]
        job, out, _ = dvm.start(None, apps=[{'argv': [CLIENT, 'file', self.path('go')], 'np': self.nodes, 'map_by': 'node', 'bind_to': 'none', 'cwd': '/'},
                                            {'argv': [CLIENT, *words], 'np': 1, 'hosts': [self.last], 'pset': 'ice', 'cwd': '/'}])
        job.wait_state(REGISTERED)
        self.check_bus(dvm, job, values)
        self.touch('connected')
        values.update(job=job.nspace, dvm=job.nspace.partition('@')[0])
        self.assertEqual(job.wait()['state'], NOTIFIED, dvm.log())
        said = re.split(r'(?m)^(?=get |query |topology |distances |peers )', out.finish().decode())[1:]
        wanted = [f'get SUCCESS {value}' for _, _, _, value in START]
        wanted += [rf'query SUCCESS \[{words.split()[0]}{"" if value is None else f" {value}"}\]' for words, value in QUERIES.values()]
        wanted += [ANSWERED_BY_CLIENTS.get(name, 'query NOT-SUPPORTED') for name in QUERIES_REFUSED]
        wanted += ['topology SUCCESS hwloc', find_distances()]
        wanted += ['peers SUCCESS {left} {n}', 'peers SUCCESS ' + values['peers_of_first'].replace(',', ' ')]
        self.assertEqual(len(said), len(wanted), said[-3:])
        wrong = [(ask, want.format(**values), answer[:500]) for ask, want, answer in zip(asks, wanted, said)
                 if not re.fullmatch(want.format(**values).rstrip() + r'\n', answer, re.DOTALL)]
        self.assertFalse(wrong, '\n'.join(map(str, wrong)))

    def check_bus(self, dvm, job, values):
        """Each key that PMIx programs are answered is answered on the bus under the same name, and says the same."""
        n, names = values['n'], values['names'].split(',')
        places = [*range(n), n - 1]  # of the node of each rank
        table = read_table()
        both = {name for name, (of_pmix, of_bus) in table.items() if of_pmix and of_bus}
        here = {name.partition(' ')[0] for name in QUERIES} | {name for name in QUERIES_ELSEWHERE if name != 'QUERY_ATTRIBUTE_SUPPORT'}
        self.assertEqual(here - PMIX_ALONE - {'QUERY_SUPPORTED_KEYS'}, both)
        # What the bus has, and PMIx names but does not answer, is refused to programs.
        self.assertLessEqual({name for name, (of_pmix, of_bus) in table.items() if of_bus and not of_pmix and name.startswith('QUERY')} - {'QUERY_SUPPORTED_KEYS'},
                             set(QUERIES_REFUSED))

        def rank_and_node(rows):
            return [(row[0], row[2]) for row in rows]

        ranks = [(rank, names[place]) for rank, place in enumerate(places)]
        wanted = {
            'QUERY_NAMESPACES': lambda value: value == [job.nspace],
            'QUERY_NAMESPACE_INFO': lambda value: [(row['Namespace'], row['NumProcs']) for row in value] == [(job.nspace, values['size'])],
            'JOB_SIZE': lambda value: value == values['size'],
            'QUERY_PROC_TABLE': lambda value: rank_and_node(value) == ranks,
            'QUERY_PROC_TABLE of a node': lambda value: rank_and_node(value) == ranks[:1],
            'QUERY_LOCAL_PROC_TABLE': lambda value: rank_and_node(value) == ranks[-2:],
            'QUERY_RESOLVE_PEERS': lambda value: value == [n - 1, n],
            'QUERY_RESOLVE_NODE': lambda value: value == names,
            'NUM_SLOTS': lambda value: value == values['slots'], 'NUM_SLOTS of a node': lambda value: value == SLOTS,
            'QUERY_AVAILABLE_SLOTS': lambda value: value == values['free'],
            'QUERY_ALLOC_IDS': lambda value: value == [''],
            'QUERY_ALLOCATION': lambda value: [(row['nodes'], row['slots']) for row in value] == [(names, values['slots'])],
            'QUERY_NUM_GROUPS': lambda value: value == 0, 'QUERY_GROUP_NAMES': lambda value: value == [],
            'QUERY_PROC_RESOURCE_USAGE': lambda value: [(*row['process'], row['node']) for row in value] == [(job.nspace, 0, 'node1')],
            'QUERY_NODE_RESOURCE_USAGE': lambda value: value['node'] == self.last and value['mem-total'] > 0,
            'QUERY_NUM_PSETS': lambda value: value == 1, 'QUERY_PSET_NAMES': lambda value: value == ['ice'],
            'QUERY_PSET_MEMBERSHIP': lambda value: value == [(job.nspace, n)],
        }
        self.assertLessEqual(here & both - set(QUERIES_ELSEWHERE), set(wanted))
        for name, is_right in wanted.items():
            words = dict(word.split('=') for word in QUERIES[name][0].format(**values).split()[1:])
            if name == 'QUERY_LOCAL_PROC_TABLE':
                words['host'] = self.last
            qualifiers = {BUS_QUALIFIERS[word][0]: GLib.Variant(BUS_QUALIFIERS[word][1], job.nspace if value == '.' else int(value) if word == 'rank' else value)
                          for word, value in words.items()}
            key = 'PMIX_' + name.partition(' ')[0]
            value = dvm.call('Query', '(asa{sv})', [key], qualifiers)[0][key]
            self.assertTrue(is_right(value), (name, value))

    # ---- of data that somebody has published ----

    def look_up(self, dvm, keys, node=None):
        """The keys that a job of that node finds."""
        lines = self.say(dvm, *(word for key in keys for word in ('lookup', key)), node=node)
        return ''.join(key for key, line in zip(keys, lines) if line.startswith(f'lookup SUCCESS {key}='))

    def check_ranges(self, dvm):
        """Who sees what the last rank has published: the first one, itself, and other jobs on both of their nodes."""
        n, keys = self.nodes, 'ugsnlpc'
        words = [word for key, options in zip(keys, ([], ['range=5'], ['range=4'], ['range=3'], ['range=2'], ['range=7'], ['range=6', 'custom=.']))
                 for word in ('publish', key, 'x', *options)]
        asks = [word for key in keys for word in ('lookup', key)]
        job, out, _ = dvm.start(None, apps=[{'argv': [CLIENT, 'fence', '.', *asks, 'file', self.path('ranges')], 'np': 1, 'hosts': ['node1']},
                                            {'argv': [CLIENT, *words, 'fence', '.', *asks, 'touch', self.path('published'), 'file', self.path('ranges')],
                                             'np': 1, 'hosts': [self.last]}], output='rank')
        self.wait_for('published')
        near = n == 1
        found = {node: self.look_up(dvm, keys, node) for node in ('node1', self.last)}
        self.touch('ranges')
        self.assertEqual(job.wait()['state'], NOTIFIED, dvm.log())
        for rank in (0, 1):
            lines = re.findall(rf'(?m)^\[{rank}\]<stdout>: lookup SUCCESS (\w)=x:1$', out.finish().decode())
            found[rank] = ''.join(lines)
        self.assertEqual(found, {0: 'ugsnlc' if near else 'ugsnc', 1: 'ugsnlpc', 'node1': 'ugsl' if near else 'ugs', self.last: 'ugsl'}, out.data)

    def check_persistence(self, dvm):
        """What is left when the process has been asked for it once, has ended, and its job has."""
        keys = 'ifpasn'
        words = [word for key, options in zip(keys, (['persist=0'], ['persist=1'], ['persist=2'], ['persist=3'], ['persist=4'], []))
                 for word in ('publish', key, 'x', *options)]
        job, out, _ = dvm.start(None, apps=[{'argv': [CLIENT, 'file', self.path('persistence')], 'np': 1, 'hosts': ['node1']},
                                            {'argv': [CLIENT, *words, 'file', self.path('asked')], 'np': 1, 'hosts': [self.last]}])
        wait_until(lambda: out.data.count(b'publish SUCCESS') == len(keys), 'the data')
        self.assertEqual([self.look_up(dvm, keys) for _ in range(2)], [keys, 'ipasn'])
        self.touch('asked')
        wait_until(lambda: job.procs()[1][6] == dvmtest.PROC_TERMINATED, 'the end of the process')
        self.assertEqual(self.look_up(dvm, keys), 'iasn')
        self.touch('persistence')
        self.assertEqual(job.wait()['state'], NOTIFIED, dvm.log())
        self.assertEqual(self.look_up(dvm, keys), 'is')

    def check_access(self, dvm):
        """Users and groups that are not this one's see nothing."""
        uid, gid = os.geteuid(), os.getegid()
        rows = {'a': f'uids={uid}', 'b': f'uids={uid + 1}', 'c': f'gids={gid}', 'd': f'gids={gid + 1}', 'e': f'permitted-uids={uid}', 'f': f'permitted-uids={uid + 1}'}
        self.say(dvm, *(word for key, who in rows.items() for word in ('publish', f'of-{key}', 'x', 'persist=0', who)))
        lines = self.say(dvm, *(word for key in rows for word in ('lookup', f'of-{key}')), node='node1')
        self.assertEqual(lines, [f'lookup SUCCESS of-{key}=x:0' if key in 'ace' else 'lookup NOT-FOUND' for key in rows])

    def begin_waits(self, dvm):
        """A lookup that waits for one of its keys, and one for all, in vain: it takes a second."""
        job, out, _ = dvm.start([CLIENT, 'touch', self.path('waits'), 'lookup', 'one,two', 'wait=1', 'lookup', 'one,two', 'wait=0', 'timeout=1'],
                                np=1, hosts=[self.last])
        self.wait_for('waits')
        self.say(dvm, 'publish', 'one', 'x', 'persist=0', node='node1')
        return job, out

    def check_waits(self, dvm, job, out):
        self.assertEqual(job.wait()['state'], NOTIFIED, dvm.log())
        self.assertEqual(out.finish().decode().splitlines(), ['lookup SUCCESS one=x:0', 'lookup TIMEOUT'])

    # ---- of tools and allocations ----

    def check_tool(self, dvm):
        """What a tool says of itself changes nothing: it is a tool of that node's server, and can do what tools can."""
        says = [word for key in ('pmix.tool.launcher', 'pmix.pri.srvr', 'pmix.srv.sched', 'pmix.evsilentterm') for word in ('--says', key)]
        lines = self.lines_of(self.start_tool(dvm, ALLOC, *says, 'jobs', 'spawn', 'np=1', '--', 'true', ';', 'ended', '@@', node=self.last))
        name = re.search(r'nspace=(\S+)', '\n'.join(lines))[1]
        self.assertRegex(lines[0], r'^\S+@tool-\S+\.0 is a tool$')
        self.assertEqual(sorted(lines[1:]), [f'0 ended {name} status=0 exit=0', f'0 spawn 0 nspace={name}', f'0 started {name}'])

    def names(self, dvm):
        return sorted(row['Name'] for row in dvm.get_nodes() if row['Rank'] > 0 and row['StateName'] == 'UP' and row['Name'][1].isdigit())

    def allocate(self, dvm):
        """A process of the last node has an allocation, with three nodes: (the job, its id, the number of its session)."""
        with open(self.path('hosts'), 'w', encoding='utf-8') as file:
            file.write('n3 slots=3\n')
        steps = [(['new', 'list=n1:3', 'req=mine', 'time=1000', 'warn=999', 'inherit=1', 'share=0'], 2), (['extend', 'id=@', 'add=n2:2'], 3),
                 (['extend', 'req=mine', f'file={self.path("hosts")}'], 4), (['release', 'list=n2'], 5), (['reaquire', 'id=@'], 6)]
        words = [word for step, events in steps for word in (*step, 'wait', str(events))]
        job, out, _ = dvm.start([ALLOC, 'register', *words, 'extend', 'id=@', 'limit=1:00:00', 'file', self.path('enough')], np=1, hosts=[self.last])
        lines = wait_until(lambda: out.data.count(b'\n') == 12 and out.data.decode().splitlines(), 'the answers and the events')
        alloc, session = re.search(r'new 0 id=(\S+) req=mine session=(\d+)', lines[0]).groups()
        warning = next(line for line in lines if f' event {WARNING} ' in line)
        self.assertRegex(warning, rf'^0 event {WARNING} id={alloc} req=mine left=99\d$')
        lines.remove(warning)
        answers = [f'0 {step[0]} 0 id={alloc} ({"req=mine " if "req=mine" in step else ""})session={session}' for step, _ in steps]
        wanted = [line for (step, _), answer in zip(steps, answers) for line in (answer, f'0 event {READY} id={alloc}( req=mine)?')]
        for line, want in zip(lines, [*wanted, f'0 extend 0 id={alloc} session={session}']):
            self.assertRegex(line, f'^{want}$')
        return job, alloc, session

    def check_allocation_on_bus(self, dvm, alloc, session):
        keys = ['QUERY_ALLOC_STATUS', 'NUM_SLOTS', 'QUERY_AVAILABLE_SLOTS', 'TIME_REMAINING', 'QUERY_ALLOC_PROPERTIES', 'QUERY_ALLOCATION']
        properties = {'releasable': True, 'session': int(session), 'request-id': 'mine', 'nodes': ['n1', 'n3', 'n2'], 'num-nodes': 3, 'shared': False}
        for word, name in (('PMIX_ALLOC_ID', alloc), ('request-id', 'mine')):
            answers = dvm.call('Query', '(asa{sv})', [f'PMIX_{key}' for key in keys], {word: GLib.Variant('s', name)})[0]
            state, slots, free, left, told, rows = (answers[f'PMIX_{key}'] for key in keys)
            self.assertEqual((state, slots, free, told), ('active', 8, 8, properties))
            self.assertTrue(3500 <= left < 3700, left)
            self.assertEqual([(row['alloc-id'], row['slots']) for row in rows], [(alloc, 8)])
        one = dvm.call('Query', '(asa{sv})', ['alloc-properties'], {'alloc-id': GLib.Variant('s', alloc), 'property': GLib.Variant('s', 'shared')})[0]
        self.assertEqual(one, {'alloc-properties': {'shared': False}})
        for key in ('alloc-status', 'allocations', 'slots'):
            self.assert_refused('NotFound', [], dvm.call, 'Query', '(asa{sv})', [key], {'alloc-id': GLib.Variant('s', 'none')})

    def check_allocations(self, dvm):
        """Nodes by name, by a host, by a file, given back and taken again, with an end; those of a tool for others; what queries say; what goes with the job."""
        job, alloc, session = self.allocate(dvm)
        self.assertEqual(self.names(dvm), ['n1', 'n2', 'n3'])
        asks = {'pmix.query.alloc.ids': rf' \[pmix.alloc.id {alloc}\]', f'pmix.query.alloc id={alloc}': ' active', 'pmix.query.alloc req=mine': ' active',
                f'pmix.num.slots id={alloc}': ' 8', f'pmix.qry.aslots id={alloc}': ' 8', f'pmix.time.remaining id={alloc}': r' 3[56]\d\d',
                f'pmix.query.alloc.prop id={alloc}': rf' \[pmix.alloc.releasable true\] \[pmix.session.id {session}\] \[pmix.alloc.reqid mine\]'
                                                     r' \[pmix.alloc.nlist n1,n3,n2\] \[pmix.alloc.nnodes 3\] \[pmix.alloc.share false\]'}
        lines = self.say(dvm, *(word for ask in asks for word in ['query', *ask.split()]))
        for (ask, want), line in zip(asks.items(), lines):
            self.assertRegex(line, rf'^query SUCCESS \[{ask.split()[0]}{want}\]$')
        self.check_allocation_on_bus(dvm, alloc, session)
        self.assertEqual(self.say(dvm, 'get', '.', 'job', 'pmix.alloc.id', node='n1', target=[alloc]), [f'get SUCCESS {alloc}'])
        self.assertEqual(dvm.run(['true'], hosts=['n1']).state, dvmtest.MAP_FAILED)
        lines = self.lines_of(self.start_tool(dvm, ALLOC, 'register', 'new', 'list=n4', 'share=1', 'sep=1', f'session={session}', f'target={job.nspace}', 'wait', '1',
                                              node=self.last))
        self.assertRegex('\n'.join(lines[1:]), rf'\A0 new 0 id=(\S+) session=(\d+)\n0 event {READY} id=\1\Z')
        theirs = f'/org/dvm/sessions/{lines[1].rpartition("=")[2]}'
        values = [dvm.connection.call(theirs, dvmtest.PROPERTIES, 'Get', '(ss)', 'org.dvm.Session', name)[0] for name in ('Owner', 'Parent', 'Shared', 'Separate')]
        self.assertEqual(values, [job.nspace, f'/org/dvm/sessions/{session}', True, True])
        self.say(dvm, 'lookup', 'nothing', node='n4')
        self.touch('enough')
        self.assertEqual(job.wait()['state'], NOTIFIED, dvm.log())
        wait_until(lambda: self.names(dvm) == ['n4'], 'the nodes of the job to go')


class Listed(dvmtest.Case):
    """The rows are those of the tables of docs/pmix.md, and of the code that tells a job."""

    def names(self, begin, end, column=1):
        text = read('docs/pmix.md')
        start = text.index(begin)
        lines = text[start:text.index(end, start)].splitlines()
        return {name for line in lines if line.startswith('| `') for name in re.findall(r'`(?:PMIX_)?([A-Z]\w+)`', line.split('|')[column])}

    def test_start(self):
        told = {name for name, *_ in START} | set(START_ELSEWHERE)
        self.assertEqual(self.names('\n## What a process is told', '\n## Queries'), told)
        code = re.findall(r'dvmd_pmix_info_add\w* \([^;]*?(?:PMIX_|")([A-Z]\w+)[,"]', read('daemon/pmix/dvmd-pmix-jobinfo.c'))
        # One is handed on from the spawn.
        code += ['DEBUG_TARGET', *re.findall(r'add_object_rank \([^;]*?\bPMIX_(\w+),', read('daemon/pmix/dvmd-pmix-jobinfo.c'))]
        self.assertEqual({name for name in code if not name.endswith('_ARRAY')}, told)

    def test_queries(self):
        self.assertEqual(self.names('\n## Queries', '\n`PMIX_PROCID` is the same'), {name.split()[0] for name in QUERIES} | set(QUERIES_ELSEWHERE))
        refused = self.names('\n### What is not answered', '\n## Changing the size')
        self.assertEqual(refused, set(QUERIES_REFUSED) | QUALIFIERS)

    def test_data(self):
        self.assertEqual(self.names('\n## Names and data', '\n## Credentials'), set(DATA))

    def test_allocations(self):
        self.assertEqual(self.names('\n| key | type | |\n|---|---|---|\n| `PMIX_ALLOC_NODE_LIST`', '\nThe names that older'), set(ALLOCATIONS))

    def test_elsewhere(self):
        for name, where in {**START_ELSEWHERE, **QUERIES_ELSEWHERE, **ALLOCATIONS}.items():
            if where:
                path, function = where.split()
                self.assertRegex(read(f'tests/{path}'), rf'(?m)^\s*(def )?{function} ?\(', (name, where))


class OneAgent(Answers, dvmtest.Case):
    nodes = 1


class FourAgents(Answers, dvmtest.Case):
    nodes = 4


if __name__ == '__main__':
    dvmtest.main()
