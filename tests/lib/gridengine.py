# SPDX-License-Identifier: LGPL-2.1-or-later
"""A Grid Engine of a test's own: sge_qmaster on the first of some test hosts, sge_execd on each, all files in one folder that the hosts share.

    with testhosts.Hosts(3, kept=[folder]) as hosts:
        cluster = gridengine.GridEngine(hosts, folder)
        job = cluster.submit('hostname', '-pe', 'dvm', '4')
        cluster.wait_gone(job)
        cluster.stop()
"""

import os
import re
import stat
import xml.etree.ElementTree

import testhosts

PROGRAMS = '/usr/lib/gridengine'
SHARED = '/usr/share/gridengine'
CELL = 'default'

BOOTSTRAP = '''admin_user none
default_domain none
ignore_fqdn true
spooling_method classic
spooling_lib libspoolc
spooling_params {common};{place}/qmaster
binary_path {programs}
qmaster_spool_dir {place}/qmaster
security_mode none
listener_threads 2
worker_threads 2
scheduler_threads 1
'''
# What is said otherwise than by the files that are delivered.
CONFIGURATION = {
    'mailer': '/bin/true', 'min_uid': '0', 'min_gid': '0', 'load_report_time': '00:00:01',
    'reporting_params': 'accounting=false reporting=false flush_time=00:00:15 joblog=false sharelog=00:00:00',
}
SCHEDULER = {'schedule_interval': '0:0:1', 'flush_submit_sec': '1', 'flush_finish_sec': '1', 'load_formula': 'slots'}
QUEUE = {'qname': 'all.q', 'load_thresholds': 'NONE', 'pe_list': 'dvm'}
ENVIRONMENT = '''pe_name dvm
slots 999
user_lists NONE
xuser_lists NONE
start_proc_args NONE
stop_proc_args NONE
allocation_rule $round_robin
control_slaves TRUE
job_is_first_task FALSE
urgency_slots min
accounting_summary TRUE
qsort_args NONE
'''


def explain_absence():
    """Why there can be no Grid Engine here, or None."""
    missing = [name for name in ('sge_qmaster', 'sge_execd', 'sge_shepherd', 'qsub', 'qrsh', 'spooldefaults') if not os.access(os.path.join(PROGRAMS, name), os.X_OK)]
    return f'no Grid Engine here: {", ".join(missing)} not found in {PROGRAMS}' if missing else testhosts.why_not()


def _change(text, values):
    """A file of lines KEY VALUE with other values of some keys."""
    for key, value in values.items():
        text, count = re.subn(rf'(?m)^{key}\s.*', f'{key} {value}', text)
        if count != 1:
            raise AssertionError(f'{key} is there {count} times, and not once: {text}')
    return text


class GridEngine:
    def __init__(self, hosts, folder, slots=2, queue=None, environment=None):
        """queue, environment: key -> value of the queue that all hosts are in, and of the parallel environment dvm, where they are others."""
        self.hosts = hosts
        self.place = os.path.join(folder, 'gridengine')
        self.root = os.path.join(self.place, 'root')
        self.common = os.path.join(self.root, CELL, 'common')
        self.environment = {'SGE_ROOT': self.root, 'SGE_CELL': CELL, 'SGE_QMASTER_PORT': '6444', 'SGE_EXECD_PORT': '6445'}
        self.daemons = []
        self._prepare(environment or {})
        self._start(slots, queue or {})

    def _write(self, name, text):
        path = os.path.join(self.place, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return path

    def _prepare(self, environment):
        for name in ('qmaster/job_scripts', 'execd', self.common):
            os.makedirs(os.path.join(self.place, name))
        for name in ('bin', 'lib', 'utilbin'):
            os.makedirs(os.path.join(self.root, name))
            os.symlink(PROGRAMS, os.path.join(self.root, name, 'lx-amd64'))
        os.symlink(os.path.join(SHARED, 'util'), os.path.join(self.root, 'util'))
        self._write(os.path.join(self.common, 'bootstrap'), BOOTSTRAP.format(common=self.common, place=self.place, programs=PROGRAMS))
        self._write(os.path.join(self.common, 'act_qmaster'), self.hosts[0].name + '\n')
        for host in self.hosts:
            self._write(f'hosts/{host.name}', f'hostname {host.name}\n')
        self._write('pes/dvm', _change(ENVIRONMENT, environment))
        with open(os.path.join(SHARED, 'default-configuration'), encoding='utf-8') as file:
            self._write('configuration', _change(file.read(), {**CONFIGURATION, 'execd_spool_dir': os.path.join(self.place, 'execd')}))

    def _spool(self, *words):
        self.run([os.path.join(PROGRAMS, words[0]), *words[1:]])

    def _start(self, slots, queue):
        resources = os.path.join(SHARED, 'util', 'resources')
        self._spool('spoolinit', 'classic', 'libspoolc', f'{self.common};{self.place}/qmaster', 'init')
        for what, value in (('configuration', os.path.join(self.place, 'configuration')), ('complexes', os.path.join(resources, 'centry')),
                            ('usersets', os.path.join(resources, 'usersets')), ('managers', 'root'), ('adminhosts', os.path.join(self.place, 'hosts')),
                            ('submithosts', os.path.join(self.place, 'hosts')), ('pes', os.path.join(self.place, 'pes'))):
            self._spool('spooldefaults', what, value)
        self._start_daemon(self.hosts[0], 'sge_qmaster')
        testhosts.wait_until(lambda: self._run(['qconf', '-sh']).returncode == 0, 'sge_qmaster answers')
        for host in self.hosts:
            self._start_daemon(host, 'sge_execd')
        self.run(['qconf', '-Msconf', self._write('scheduler', _change(self.run(['qconf', '-ssconf']), SCHEDULER))])
        values = {**QUEUE, 'hostlist': ' '.join(host.name for host in self.hosts), 'slots': str(slots), **queue}
        self.run(['qconf', '-Aq', self._write('queue', _change(self.run(['qconf', '-sq']), values))])
        testhosts.wait_until(self._are_ready, f'all hosts have a load: {self.log()}')

    def _are_ready(self):
        for daemon in self.daemons:
            if daemon.poll() is not None:
                raise AssertionError(f'{daemon.args} has ended: {self.log()}')
        # A host that is not heard of has no load, and its queue is in the state "au".
        lines = [line.split() for line in self.run(['qstat', '-f']).splitlines() if line.startswith('all.q@')]
        return [len(line) for line in lines] == [5] * len(self.hosts) and all('-NA-' not in line for line in lines)

    def _start_daemon(self, host, name):
        """It stays in the foreground."""
        with open(os.path.join(self.place, f'{name}-{host.name}.out'), 'ab') as out:
            self.daemons.append(host.popen([os.path.join(PROGRAMS, name)], env={**self.environment, 'SGE_ND': '1', 'LD_LIBRARY_PATH': PROGRAMS}, stdout=out, stderr=out))

    def _run(self, argv):
        return self.hosts[0].run(argv, check=False, env={**self.environment, 'LD_LIBRARY_PATH': PROGRAMS})

    def run(self, argv):
        """What a command says that speaks with this Grid Engine."""
        result = self._run(argv)
        if result.returncode:
            raise AssertionError(f'{" ".join(argv)} has exited with {result.returncode}: {result.stdout}{result.stderr}')
        return result.stdout

    def submit(self, script, *words, environment=None):
        """The number of a job that runs this text of a shell, on the first host if it is a parallel one; words: of qsub, before the script. Its output is where output() has it."""
        words = [*words, '-masterq', f'all.q@{self.hosts[0].name}'] if '-pe' in words else words
        path = self._write('script', f'#!/bin/sh\n{script}\n')
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        values = [word for key, value in (environment or {}).items() for word in ('-v', f'{key}={value}')]
        said = self.run(['qsub', '-terse', '-S', '/bin/sh', '-j', 'y', '-o', os.path.join(self.place, 'out.$JOB_ID'), *values, *words, path])
        return said.split('.')[0].strip()

    def output(self, job):
        """What the job has written so far."""
        try:
            with open(os.path.join(self.place, f'out.{job}'), encoding='utf-8') as file:
                return file.read()
        except FileNotFoundError:
            return ''

    def show(self, job):
        """The job as qstat has it, key -> value: None where it does not run, and does not wait."""
        root = xml.etree.ElementTree.fromstring(self.run(['qstat', '-xml', '-r', '-u', '*']))
        for found in root.iter('job_list'):
            if found.findtext('JB_job_number') == job:
                return {item.get('name', item.tag): item.text for item in found}
        return None

    def list_places(self, job):
        """Host -> slots of a job that runs, as qstat says it for each queue."""
        places = {}
        root = xml.etree.ElementTree.fromstring(self.run(['qstat', '-xml', '-g', 't', '-u', '*']))
        for found in root.iter('job_list'):
            # The master process is no slot of its own.
            if found.findtext('JB_job_number') == job and found.findtext('master') == 'SLAVE':
                host = found.findtext('queue_name').split('@')[1]
                places[host] = places.get(host, 0) + 1
        return places

    def wait_gone(self, job):
        testhosts.wait_until(lambda: self.show(job) is None, f'job {job} is gone: {self.log()} {self.output(job)}')

    def log(self):
        """What the daemons have written."""
        found = []
        for folder, _, names in os.walk(self.place):
            for name in sorted(names):
                if name == 'messages' or name.endswith('.out'):
                    with open(os.path.join(folder, name), encoding='utf-8', errors='replace') as file:
                        found.append(f'---- {os.path.join(folder, name)}\n{file.read()[-4000:]}')
        return '\n'.join(found)

    def stop(self):
        """Ends the hosts, and with them all that it has started there."""
        self.hosts.close()
        for daemon in self.daemons:
            daemon.wait(testhosts.LIMIT)
        self.daemons = []
