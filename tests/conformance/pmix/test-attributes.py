# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every attribute of PMIx_Spawn() and function that docs/pmix.md names: a client program asks for it, on one agent and on four."""

import glob
import os
import re
import subprocess

import dvmtest
from dvmtest import NOTIFIED

CLI = os.path.join(os.environ['DVM_TEST_BUILD'], 'cli', 'dvm-cli')
ALLOC = os.environ['DVM_TEST_PMIX_ALLOC']
PROGRAM = os.environ['DVM_TEST_PMIX_DATA']
SOURCE = os.environ['DVM_TEST_SOURCE']
NOT_SUPPORTED = -47

# name: (key, words of pmix-alloc, script of each of two processes, the lines that they write, sorted). %s in a line: any text.
DONE = {
    'PERSONALITY': ('pmix.pers', ['info=pmix.pers:plain'], 'echo ${PMIX_RANK-none}', ['none'] * 2),
    'NON_PMI': ('pmix.nonpmi', ['info=pmix.nonpmi:true'], 'echo ${PMIX_RANK-none}', ['none'] * 2),
    'RUNTIME_OPTIONS': ('pmix.runopt', ['info=pmix.runopt:exec-agent=env A=b'], 'echo $A', ['b'] * 2),
    'SPAWN_PTY': ('pmix.spawn.pty', ['np=1', 'info=pmix.spawn.pty:true'], 'test -t 1; echo $?', ['0']),
    'EXEC_AGENT': ('pmix.exec.agnt', ['info=pmix.exec.agnt:env A=b'], 'echo $A', ['b'] * 2),
    'INDEX_ARGV': ('pmix.indxargv', ['info=pmix.indxargv:true'], 'tr "\\0" "\\n" </proc/$$/cmdline | head -n 1', ['sh-0', 'sh-1']),
    'HOST': ('pmix.host', ['host=@LAST:2'], 'echo $DVM_NODE', ['@LAST'] * 2),
    'HOSTFILE': ('pmix.hostfile', ['info=pmix.hostfile:@PLACE/hosts'], 'echo $DVM_NODE', ['@LAST'] * 2),
    'WDIR': ('pmix.wdir', ['cwd=/'], 'pwd', ['/'] * 2),
    'SET_SESSION_CWD': ('pmix.ssncwd', ['info=pmix.ssncwd:true'], 'test "$(pwd)" = "$DVM_SESSION_DIR"; echo $?', ['0'] * 2),
    'PRELOAD_FILES': ('pmix.preloadfiles', ['info=pmix.preloadfiles:@PLACE/data', 'info=pmix.ssncwd:true'], 'cat data', ['content'] * 2),
    'SET_ENVAR': ('pmix.envar.set', ['env=A:b'], 'echo $A', ['b'] * 2),
    'UNSET_ENVAR': ('pmix.envar.unset', ['unset=GIVEN'], 'echo ${GIVEN-none}', ['none'] * 2),
    'ADD_ENVAR': ('pmix.envar.add', ['edit=add:GIVEN:x', 'edit=add:A:b'], 'echo $GIVEN $A', ['a:z b'] * 2),
    'PREPEND_ENVAR': ('pmix.envar.prepnd', ['edit=prepnd:GIVEN:x'], 'echo $GIVEN', ['x:a:z'] * 2),
    'APPEND_ENVAR': ('pmix.envar.appnd', ['edit=appnd:GIVEN:x'], 'echo $GIVEN', ['a:z:x'] * 2),
    'FIRST_ENVAR': ('pmix.envar.first', ['edit=first:GIVEN:z'], 'echo $GIVEN', ['z:a'] * 2),
    'MAPBY': ('pmix.mapby', ['np=@NODES', 'map=node'], 'echo $DVM_NODE', '@EACH'),
    'RANKBY': ('pmix.rankby', ['host=node1:2,@LAST:2', 'np=4', 'info=pmix.mapby:slot', 'info=pmix.rankby:node'], 'echo $((PMIX_RANK % 2)) $DVM_NODE', '@ALTERNATE'),
    'BINDTO': ('pmix.bindto', ['info=pmix.bindto:none'], 'grep -c Cpus_allowed_list /proc/self/status', ['1'] * 2),
    'PPR': ('pmix.ppr', ['np=@NODES', 'info=pmix.ppr:1:node'], 'echo $DVM_NODE', '@EACH'),
    'CPU_LIST': ('pmix.cpulist', ['np=1', 'info=pmix.cpulist:0'], 'sed -n "s/^Cpus_allowed_list:.//p" /proc/self/status', ['0']),
    'CPUS_PER_PROC': ('pmix.cpuperproc', ['np=1', 'info=pmix.cpuperproc:#2'], 'nproc', ['2']),
    'PSET_NAME': ('pmix.pset.nm', ['info=pmix.pset.nm:ocean'], f'exec {PROGRAM} get . $PMIX_RANK pmix.pset.nm', ['get SUCCESS ocean'] * 2),
    'NO_OVERSUBSCRIBE': ('pmix.noover', ['info=pmix.noover:true'], 'echo $PMIX_RANK', ['0', '1']),
    'NO_PROCS_ON_HEAD': ('pmix.nolocal', ['info=pmix.nolocal:@MANY'], 'test $DVM_NODE = node1; echo $?', ['@OTHER'] * 2),
    'IOF_TAG_OUTPUT': ('pmix.iof.tag', ['info=pmix.iof.tag:true'], 'echo x', ['[%s,0]<stdout>: x', '[%s,1]<stdout>: x']),
    'IOF_TAG_DETAILED_OUTPUT': ('pmix.iof.tagdet', ['info=pmix.iof.tagdet:true'], 'echo x', ['[%s,0][%s:%s]<stdout>: x', '[%s,1][%s:%s]<stdout>: x']),
    'IOF_TAG_FULLNAME_OUTPUT': ('pmix.iof.tagfull', ['info=pmix.iof.tagfull:true'], 'echo x', ['[dvm-%s@%s,0]<stdout>: x', '[dvm-%s@%s,1]<stdout>: x']),
    'IOF_RANK_OUTPUT': ('pmix.iof.rank', ['info=pmix.iof.rank:true'], 'echo x', ['[0]<stdout>: x', '[1]<stdout>: x']),
    'IOF_TIMESTAMP_OUTPUT': ('pmix.iof.ts', ['info=pmix.iof.ts:true'], 'echo x', ['%s:%s:%s<stdout>: x'] * 2),
    'IOF_XML_OUTPUT': ('pmix.iof.xml', ['np=1', 'info=pmix.iof.xml:true'], 'echo x', ['<stdout rank="0">x%s</stdout>']),
    'IOF_MERGE_STDERR_STDOUT': ('pmix.iof.mrg', ['info=pmix.iof.mrg:true'], 'echo x >&2', ['x'] * 2),
    'IOF_OUTPUT_RAW': ('pmix.iof.raw', ['np=1', 'info=pmix.iof.raw:true'], 'echo x', ['x']),
    'IOF_OUTPUT_TO_FILE': ('pmix.iof.file', ['info=pmix.iof.file:@PLACE/file'], 'echo x', ['x'] * 2),
    'IOF_OUTPUT_TO_DIRECTORY': ('pmix.iof.dir', ['info=pmix.iof.dir:@PLACE/directory'], 'echo x', ['x'] * 2),
    'IOF_FILE_PATTERN': ('pmix.iof.fpt', ['info=pmix.iof.file:@PLACE/pattern-%r', 'info=pmix.iof.fpt:true'], 'echo x', ['x'] * 2),
    'IOF_FILE_ONLY': ('pmix.iof.fonly', ['info=pmix.iof.file:@PLACE/only', 'info=pmix.iof.fonly:true'], 'echo x', []),
    'TAG_OUTPUT': ('pmix.tagout', ['info=pmix.tagout:true'], 'echo x', ['[%s,0]<stdout>: x', '[%s,1]<stdout>: x']),
    'TIMESTAMP_OUTPUT': ('pmix.tsout', ['info=pmix.tsout:true'], 'echo x', ['%s:%s:%s<stdout>: x'] * 2),
    'MERGE_STDERR_STDOUT': ('pmix.mergeerrout', ['info=pmix.mergeerrout:true'], 'echo x >&2', ['x'] * 2),
    'OUTPUT_TO_FILE': ('pmix.outfile', ['info=pmix.outfile:@PLACE/old'], 'echo x', ['x'] * 2),
    'OUTPUT_TO_DIRECTORY': ('pmix.outdir', ['info=pmix.outdir:@PLACE/directory-old'], 'echo x', ['x'] * 2),
    'OUTPUT_NOCOPY': ('pmix.nocopy', ['info=pmix.outfile:@PLACE/nocopy', 'info=pmix.nocopy:true'], 'echo x', []),
    'FWD_ENVIRONMENT': ('pmix.fwdenv', ['info=pmix.fwdenv:false', 'env=A:b'], 'echo ${GIVEN-none} $A', ['none b'] * 2),
    'TIMEOUT': ('pmix.timeout', ['timeout=60'], 'echo x', ['x'] * 2),
    'SPAWN_TIMEOUT': ('pmix.sp.time', ['info=pmix.sp.time:#60'], 'echo x', ['x'] * 2),
    'JOB_TIMEOUT': ('pmix.job.time', ['np=1', 'info=pmix.job.time:#1'], 'echo x; exec sleep 1000', ['x']),
    'REPORT_CHILD_SEP': ('pmix.rptchildsep', ['info=pmix.rptchildsep:true'], 'echo x', ['x'] * 2),
    'MAX_RESTARTS': ('pmix.maxrestarts', ['np=1', 'info=pmix.maxrestarts:#2'], 'test $DVM_RESTART = 2 && exec echo x; exit 1', ['x']),
    'JOB_CONTINUOUS': ('pmix.continuous', ['np=1', 'info=pmix.continuous:true'], 'test $DVM_RESTART = 3 && exec echo x; exit 1', ['x']),
    'JOB_RECOVERABLE': ('pmix.recover', ['info=pmix.recover:true'], 'test $PMIX_RANK = 0 && kill -9 $$; sleep 0.1; echo $PMIX_RANK', ['1']),
    'ABORT_NON_ZERO_TERM': ('pmix.abnz', ['info=pmix.abnz:false'], 'test $PMIX_RANK = 0 && exit 3; sleep 0.1; echo $PMIX_RANK', ['1']),
}

# Beside two processes on each node, which the same process has spawned: name: (words of pmix-alloc, how many on each node; None: one in all)
BESIDE = {
    'COLOCATE_PROCS': (['beside=@@'], 2), 'COLOCATE_NPERPROC': (['beside=@@', 'nperproc=2'], 4), 'COLOCATE_NPERNODE': (['beside=@@', 'npernode=1'], 1),
    'DEBUG_TARGET': (['debug=@@'], 2), 'DEBUGGER_DAEMONS': (['debug=@@.0'], None),
    'DEBUG_DAEMONS_PER_PROC': (['debug=@@', 'daemons-per-proc=2'], 4), 'DEBUG_DAEMONS_PER_NODE': (['debug=@@', 'daemons-per-node=1'], 1),
}

# Files that a row leaves: pattern -> their contents, in the order of their names.
FILES = {'file*': ['x\n'] * 2, 'directory/**/*': ['x\n'] * 2, 'old*': ['x\n'] * 2, 'directory-old/**/*': ['x\n'] * 2, 'nocopy*': ['x\n'] * 2, 'pattern-*': ['x\n'] * 2, 'only*': ['x\n'] * 2}

# Shown elsewhere: the file below tests, and the function in it.
ELSEWHERE = {
    'ADD_HOST': 'integration/test-pmix-spawn.py test_statuses', 'ADD_HOSTFILE': 'conformance/pmix/test-attributes.py test_places',
    'SPAWN_TARGET': 'integration/test-pmix-alloc.py test_queries', 'SESSION_ID': 'integration/test-pmix-alloc.py test_queries',
    'ALLOC_ID': 'conformance/pmix/test-attributes.py test_places', 'ALLOC_REQ_ID': 'conformance/pmix/test-attributes.py test_places',
    'SPAWN_CHILD_SEP': 'integration/test-pmix-spawn.py test_status_of_family',
    'TIMEOUT_STACKTRACES': 'conformance/pmix/test-attributes.py check_limit', 'TIMEOUT_REPORT_STATE': 'conformance/pmix/test-attributes.py check_limit',
    'DEBUG_STOP_ON_EXEC': 'integration/test-debuggers.py test_stop', 'DEBUG_STOP_IN_INIT': 'integration/test-debuggers.py test_stop',
    'DEBUG_STOP_IN_APP': 'integration/test-debuggers.py test_stop', 'STDIN_TGT': 'integration/test-pmix-spawn.py test_input',
    'COSPAWN_APP': 'integration/test-debuggers.py test_apart',
    'FWD_STDOUT': 'integration/test-pmix-spawn.py test_tool', 'FWD_STDERR': 'integration/test-pmix-spawn.py test_forwarded',
    'NOTIFY_COMPLETION': 'integration/test-pmix-events.py test_not_wanted', 'NOTIFY_JOB_EVENTS': 'integration/test-pmix-events.py test_not_wanted',
    **dict.fromkeys(('DISPLAY_ALLOCATION', 'DISPLAY_MAP', 'DISPLAY_MAP_DETAILED', 'REPORT_BINDINGS', 'DISPLAY_TOPOLOGY', 'DISPLAY_PROCESSORS',
                     'DISPLAY_PARSEABLE_OUTPUT', 'REPORT_PHYSICAL_CPUS'), 'conformance/pmix/test-attributes.py check_shown'),
    'PRELOAD_BIN': 'conformance/pmix/test-attributes.py check_program',
}

# They say what is so in any case.
NO_CONCERN = {
    'SETUP_APP_ENVARS': 'pmix.setup.env', 'ENVARS_HARVESTED': 'pmix.evar.hvstd', 'IOF_LOCAL_OUTPUT': 'pmix.iof.local',
    'PARENT_ID': 'pmix.parent', 'REQUESTOR_IS_TOOL': 'pmix.req.tool', 'REQUESTOR_IS_CLIENT': 'pmix.req.client', 'WDIR_USER_SPECIFIED': 'pmix.wdir.user',
    'FWD_STDDIAG': 'pmix.fwd.stddiag', 'AGGREGATE_HELP': 'pmix.agg.help', 'LOG_AGG': 'pmix.log.agg',
}
# What they would turn off cannot be: that is refused.
SO_IN_ANY_CASE = {('AGGREGATE_HELP', 'false')}
# A client of libpmix (4.2.2) has no part to harvest variables by, and takes the other one for a process, whatever it is.
BY_THE_LIBRARY = ('SETUP_APP_ENVARS', 'PARENT_ID')
# Refused; flags and numbers are accepted when they are off.
REFUSED_FLAGS = {
    'FWD_STDIN': 'pmix.fwd.stdin', 'DO_NOT_LAUNCH': 'pmix.dnl', 'SHOW_LAUNCH_PROGRESS': 'pmix.showprog',
    'SPAWN_TOOL': 'pmix.spwn.tool', 'NOHUP': 'pmix.nohup', 'NOTIFY_PROC_TERMINATION': 'pmix.noteproc',
    'NOTIFY_PROC_ABNORMAL_TERMINATION': 'pmix.noteabproc', 'NOTIFY_LAUNCH': 'pmix.note.lnch', 'GPU_SUPPORT': 'pmix.gpu.support',
    'LOG_JOB_EVENTS': 'pmix.log.jev', 'LOG_COMPLETION': 'pmix.logcomp', 'LOG_PROC_TERMINATION': 'pmix.logproc',
    'LOG_PROC_ABNORMAL_TERMINATION': 'pmix.logabproc',
}
REFUSED_TEXTS = {
    'MAPPER': 'pmix.mapper', 'FORKEXEC_AGENT': 'pmix.fe.agnt',
    'LAUNCHER_DAEMON': 'pmix.lnch.dmn', 'PREFIX': 'pmix.prefix',
}

FUNCTIONS = {
    'client_connected2': 'integration/test-pmix.py test_order_of_states', 'client_finalized': 'integration/test-pmix.py test_end_without_finalize',
    'abort': 'integration/test-pmix-events.py test_abort', 'fence_nb': 'integration/test-pmix.py test_exchange',
    'direct_modex': 'integration/test-pmix-data.py test_data_of_another_job', 'publish': 'integration/test-pmix-data.py test_between_jobs',
    'lookup': 'integration/test-pmix-data.py test_wait', 'unpublish': 'integration/test-pmix-data.py test_of_a_job',
    'spawn': 'integration/test-pmix-spawn.py test_twice', 'connect': 'integration/test-pmix-data.py test_connect',
    'disconnect': 'integration/test-pmix-data.py test_connect', 'query': 'integration/test-pmix-data.py test_queries',
    'push_stdin': 'integration/test-pmix-spawn.py test_input_of_several', 'get_credential': 'hosts/test-strangers.py test_credentials',
    'validate_credential': 'hosts/test-strangers.py test_credentials', 'register_events': 'integration/test-pmix-events.py test_handlers',
    'deregister_events': 'integration/test-pmix-events.py test_handlers', 'notify_event': 'integration/test-pmix-events.py test_global',
    'iof_pull': 'integration/test-pmix-iof.py test_both', 'tool_connected': 'integration/test-pmix-spawn.py test_tool',
    'log': 'integration/test-pmix-data.py test_output', 'allocate': 'integration/test-pmix-alloc.py test_grow_and_release',
    'job_control': 'integration/test-pmix-spawn.py test_operations',
    'monitor': 'integration/test-pmix-events.py test_again', 'session_control': 'integration/test-pmix-alloc.py test_controlled',
}


def read(name):
    with open(os.path.join(SOURCE, name), encoding='utf-8') as file:
        return file.read()


def fits(line, form):
    return re.fullmatch('.+'.join(re.escape(part) for part in form.split('%s')), line) is not None


class Attributes:
    def fill(self, text):
        for word, value in (('@LAST', f'node{self.nodes}'), ('@NODES', str(self.nodes)), ('@PLACE', self.files),
                            ('@MANY', 'true' if self.nodes > 1 else 'false'), ('@OTHER', '1' if self.nodes > 1 else '0')):
            text = text.replace(word, value)
        return text

    def expected(self, lines, said):
        if lines == '@ALTERNATE':
            first = next((line[2:] for line in said if line.startswith('0 ')), None)
            second = 'node1' if self.nodes == 1 or first != 'node1' else self.fill('@LAST')
            return [f'0 {first}'] * 2 + [f'1 {second}'] * 2
        if lines == '@EACH':
            return [f'node{number + 1}' for number in range(self.nodes)]
        return [self.fill(line) for line in lines]

    def setUp(self):
        super().setUp()
        self.files = self.place()
        for name, text in (('data', 'content\n'), ('hosts', f'node{self.nodes} slots=2\n')):
            with open(os.path.join(self.files, name), 'w', encoding='utf-8') as file:
                file.write(text)

    def test_all(self):
        """Each is done, changes nothing, or is refused."""
        dvm = self.dvm(slots=8, arguments=[f'--nodes={self.nodes}'])
        for check in (self.check_done, self.check_beside, self.check_limit, self.check_program, self.check_shown, self.check_no_concern, self.check_refused, self.check_keys):
            check(dvm)

    def check_done(self, dvm):
        """The processes that are spawned show it."""
        for name, (_, words, script, lines) in DONE.items():
            with self.subTest(name):
                done = dvm.run([ALLOC, 'jobs', 'spawn', 'np=2', *map(self.fill, words), '--', 'sh', '-c', script, ';', 'ended', '@@'],
                               hosts=[f'node{self.nodes}'], bind_to='none', env={**os.environ, 'GIVEN': 'a:z'})
                said = sorted(line.rstrip('\r') for line in done.lines if not re.match(r'0 (spawn|started|ended) ', line))
                want = self.expected(lines, said)
                self.assertTrue(len(said) == len(want) and all(map(fits, said, want)), (name, said, want, done))
                self.assertTrue(any(line.startswith('0 spawn 0 ') for line in done.lines), (name, done))
        for pattern, contents in FILES.items():
            paths = [path for path in sorted(glob.glob(os.path.join(self.files, pattern), recursive=True)) if os.path.isfile(path)]
            self.assertEqual([read(path) for path in paths if os.path.getsize(path) > 0], contents, (pattern, paths, sorted(os.listdir(self.files))))

    def check_beside(self, dvm):
        """The processes are on the nodes of those that are named, whatever slots there are."""
        names = [f'node{number + 1}' for number in range(self.nodes)]
        for name, (words, count) in BESIDE.items():
            with self.subTest(name):
                done = dvm.run([ALLOC, 'jobs', 'spawn', f'np={2 * self.nodes}', 'map=node', '--', 'sleep', '1000', ';', 'spawn', 'np=0', *words,
                                '--', 'sh', '-c', 'echo at $DVM_NODE', ';', 'ended', '@@'], hosts=[f'node{self.nodes}'])
                said = sorted(line for line in done.lines if line.startswith('at '))
                # One process has one daemon, wherever it is.
                want = [f'at {node}' for node in names for _ in range(count)] if count else [f'at {node}' for node in names if f'at {node}' in said][:1]
                self.assertTrue(want and said == want, (name, said, done))

    def test_places(self):
        """In an allocation by its id and by the name of the request for it, and on a node that a hostfile adds."""
        dvm = self.dvm(slots=8, arguments=[f'--nodes={self.nodes}'], settings=['elastic=true', 'kill-grace=0.5'])
        with open(os.path.join(self.files, 'more'), 'w', encoding='utf-8') as file:
            file.write('m2 slots=3\n')
        script = ['--', 'sh', '-c', 'echo at $DVM_NODE', ';', 'ended', '@@']
        done = dvm.run([ALLOC, 'jobs', 'register', 'new', 'list=m1:2', 'req=mine', 'wait', '1', 'spawn', 'id=@', *script, 'spawn', 'req=mine', *script,
                        'spawn', f'info=pmix.addhostfile:{self.files}/more', 'host=m2', *script], hosts=[f'node{self.nodes}'])
        self.assertEqual([line for line in done.lines if line.startswith('at ')], ['at m1', 'at m1', 'at m2'], done)

    def check_limit(self, dvm):
        """When its time is over the state of the job, and the stacks of its processes on each node, come as errors."""
        n = self.nodes
        done = dvm.run([ALLOC, 'jobs', 'spawn', f'np={n}', 'map=node', 'info=pmix.job.time:#1', 'info=pmix.tim.state:true', 'info=pmix.tim.stack:true',
                        '--', 'sleep', '1000', ';', 'ended', '@@'], np=1)
        errors = done.err.decode()
        self.assertRegex(errors, rf'the time limit of job \S+ has passed: RUNNING, {n} process(es)? on ', done)
        for rank in range(n):
            self.assertRegex(errors, rf': rank {rank} on node\d+: pid ', (rank, errors))
            self.assertRegex(errors, rf'(?m)^rank {rank} on node\d+:$', (rank, errors))

    def check_program(self, dvm):
        """PMIX_PRELOAD_BIN: the program itself is brought to where it runs."""
        program = os.path.join(self.files, 'program')
        with open(program, 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\ntest "$0" = "$DVM_SESSION_DIR/program"; echo $?\n')
        os.chmod(program, 0o755)
        done = dvm.run([ALLOC, 'jobs', 'spawn', 'np=2', 'map=node', 'info=pmix.preloadbin:true', '--', program, ';', 'ended', '@@'], np=1)
        self.assertEqual(done.lines.count('0'), 2, done)

    def check_shown(self, dvm):
        """Tables of the job come before its own output, each as dvm-cli prints it."""
        def ask(job, words):
            asked = subprocess.run([CLI, '--socket', dvm.socket, 'job', 'map', '--display', words, job], capture_output=True, text=True, check=True,
                                   env={**os.environ, 'LC_ALL': 'C.UTF-8'})
            return asked.stdout.splitlines()

        last = f'node{self.nodes}'
        for keys, words in ((['pmix.dispmap:true'], 'map'), (['pmix.repbind:true', 'pmix.repphys.cpus:true', 'pmix.dispmap:false'], 'bindings:physical'),
                            ([f'pmix.disptopo:{last}', f'pmix.dispcpus:node1;{last}'], f'topo={last},cpus=node1;{last}'),
                            (['pmix.dispalloc:true', 'pmix.dispmapdet:true', 'pmix.repphys.cpus:true', 'pmix.dispparse:true'], 'allocation,map-devel:parseable:physical')):
            with self.subTest(words):
                done = dvm.run([ALLOC, 'jobs', 'spawn', f'np={self.nodes}', 'map=node', *(f'info={key}' for key in keys),
                                '--', 'echo', 'said', ';', 'ended', '@@'], hosts=[last])
                job = next(line.partition('nspace=')[2] for line in done.lines if line.startswith('0 spawn 0 '))
                lines = [line for line in done.lines if not re.match(r'0 (spawn|started|ended) ', line)]
                shown = ask(job, words)
                self.assertTrue(shown and lines[-self.nodes:] == ['said'] * self.nodes, done)
                # What changes while it runs.
                cut = [re.sub(r'\b(pid|state|used|slots-in-use)="[^"]*"', '', line) for line in lines[:-self.nodes]]
                self.assertEqual(cut, [re.sub(r'\b(pid|state|used|slots-in-use)="[^"]*"', '', line) for line in shown], words)
        wrong = ['pmix.disptopo:nowhere', 'pmix.dispcpus:node1:2', 'pmix.dispcpus:node1,,node1', 'pmix.dispmap:text', 'pmix.disptopo:#1']
        done = dvm.run([ALLOC, *(word for info in wrong for word in ('spawn', f'info={info}', '--', 'echo', 'said', ';'))], hosts=[last])
        self.assertEqual([line.split()[2] for line in done.lines], ['-181', '-27', '-27', '-27', '-27'], done)
        self.assertIn("what rank 0 wanted to spawn was not started: What was to be shown of it cannot be shown: ", done.err.decode())

    def check_no_concern(self, dvm):
        """A job is started all the same, whatever they say."""
        pairs = [(key, value) for name, key in NO_CONCERN.items() for value in ('true', 'false')
                 if name not in BY_THE_LIBRARY and (name, value) not in SO_IN_ANY_CASE]
        words = [word for key, value in pairs
                 for word in ('spawn', 'np=2', f'info={key}:{value}', '--', 'true', ';', 'ended', '@@')]
        done = dvm.run([ALLOC, 'jobs', *words], np=1)
        self.assertEqual([line.split()[2] for line in done.lines if line.startswith('0 spawn ')], ['0'] * len(pairs), done)
        self.assertEqual(done.state, NOTIFIED)

    def check_refused(self, dvm):
        """Nothing is started, unless they are off."""
        pairs = [(f'{key}:true', NOT_SUPPORTED) for key in REFUSED_FLAGS.values()] + [(f'{key}:false', 0) for key in REFUSED_FLAGS.values()]
        pairs += [(f'{key}:text', NOT_SUPPORTED) for key in REFUSED_TEXTS.values()]
        pairs += [(f'{NO_CONCERN[name]}:{value}', NOT_SUPPORTED) for name, value in SO_IN_ANY_CASE]
        pairs += [(f'pmix.runopt:{word}', NOT_SUPPORTED) for word in ('fwd-environment', 'output-proctable', 'show-progress')]
        words = [word for pair, _ in pairs for word in ('spawn', 'np=2', f'info={pair}', '--', 'true', ';')]
        done = dvm.run([ALLOC, *words], np=1, when_full='oversubscribe')
        said = [line.split()[2] for line in done.lines if line.startswith('0 spawn ')]
        self.assertEqual(list(zip([pair for pair, _ in pairs], said)), [(pair, str(status)) for pair, status in pairs], done)

    def check_keys(self, dvm):
        """PMIX_QUERY_SUPPORTED_KEYS: a key that is said to be served is, if its qualifiers are there; one that is not is not listed."""
        said = dvm.run([PROGRAM, 'query', 'pmix.qry.keys'], hosts=[f'node{self.nodes}']).lines
        keys = re.findall(r'pmix\.[\w.]+', said[0].partition('[pmix.qry.keys ')[2])
        self.assertGreaterEqual(len(keys), 20, said)
        done = dvm.run([PROGRAM, *(word for key in keys for word in ('query', key, 'nspace=.')), 'query', 'pmix.qry.qlst'], hosts=[f'node{self.nodes}'])
        statuses = [line.split()[1] for line in done.lines if line.startswith('query ')]
        self.assertEqual([pair for pair in zip(keys, statuses) if pair[1] == 'NOT-SUPPORTED'], [], done)
        self.assertEqual(statuses[len(keys):], ['NOT-SUPPORTED'], done)


class OneAgent(Attributes, dvmtest.Case):
    nodes = 1


class FourAgents(Attributes, dvmtest.Case):
    nodes = 4


class Listed(dvmtest.Case):
    """The rows are those of docs/pmix.md, and the tests that they name are there."""

    def section(self, begin, end):
        text = read('docs/pmix.md')
        start = text.index(begin)
        return text[start:text.index(end, start)]

    def test_attributes(self):
        page = self.section('\n## Starting jobs', '\nAny other key is for the processes of the new job')
        table = {name for line in page.splitlines() if line.startswith('| `PMIX_') for name in re.findall(r'`PMIX_(\w+)`', line.split('|')[1])}
        self.assertEqual(table, set(DONE) | set(BESIDE) | set(ELSEWHERE))
        text = page[page.index('What these say is so in any case'):page.index('\nThe reasons: ')]
        other = set(re.findall(r'`PMIX_(\w+)`', text))
        self.assertEqual(other, set(NO_CONCERN) | set(REFUSED_FLAGS) | set(REFUSED_TEXTS))

    def test_elsewhere(self):
        for name, where in {**ELSEWHERE, **FUNCTIONS}.items():
            path, function = where.split()
            self.assertRegex(read(f'tests/{path}'), rf'(?m)^\s*(def )?{function} ?\(', (name, where))

    def test_functions(self):
        page = self.section('\n## What the server does', '\nThe library refuses')
        names = {name for line in page.splitlines() if line.startswith('| `') for name in re.findall(r'`(\w+)`', line.split('|')[1])}
        self.assertEqual(names, set(FUNCTIONS))


if __name__ == '__main__':
    dvmtest.main()
