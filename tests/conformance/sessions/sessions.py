# SPDX-License-Identifier: LGPL-2.1-or-later
"""DVMs whose nodes are reserved: sessions, who owns them, and programs that ask for nodes from inside a job."""

import os
import shlex

import dvmtest
import elastic
from dvmtest import PROPERTIES, to_options, wait_until

SESSION = 'org.dvm.Session'
PROGRAM = os.environ['DVM_TEST_PMIX_ALLOC']
READY, MOD, WARNING = -195, -196, -194
SUCCESS, NO_PERMISSIONS, BAD_PARAM, NOT_FOUND, NOT_SUPPORTED = 0, -23, -27, -46, -47
TOOL = f'bus.{os.getuid()}'


class Session:
    """A session as the bus shows it."""

    def __init__(self, dvm, path, connection=None):
        self.dvm = dvm
        self.path = path
        self.connection = connection or dvm.connection

    def __repr__(self):
        return self.path

    @property
    def number(self):
        return int(self.path.rpartition('/')[2])

    def get(self, name):
        return self.connection.call(self.path, PROPERTIES, 'Get', '(ss)', SESSION, name)[0]

    def get_all(self):
        return self.connection.call(self.path, PROPERTIES, 'GetAll', '(s)', SESSION)[0]

    def call(self, method, signature='(a{sv})', *args):
        return self.connection.call(self.path, SESSION, method, signature, *(args or ({},)))

    def there(self):
        try:
            return self.get('State') != 'ended'
        except dvmtest.DBusError as error:
            assert error.name.endswith('NotFound'), error
            return False

    def wait_gone(self):
        wait_until(lambda: not self.there(), f'{self.path} to end')

    nodes = property(lambda self: sorted(self.get('Nodes')))
    owners = property(lambda self: sorted(self.get('Owners')))
    alloc_id = property(lambda self: self.get('AllocId'))
    state = property(lambda self: self.get('State'))


class Said:
    """A line of the program: RANK, what it did, a status, and what is with it."""

    def __init__(self, line):
        self.line = line
        self.rank, self.kind, *rest = line.split()
        number = rest[0] if rest else ''
        self.status = int(number) if number.lstrip('-').isdigit() else None
        self.facts = dict(word.split('=', 1) for word in rest if '=' in word)

    def __repr__(self):
        return self.line


class Case(elastic.Case):
    radix = 2

    def dvm(self, **options):
        dvm = super().dvm(**options)
        dvm.default = Session(dvm, '/org/dvm/sessions/0')
        return dvm

    # ---- sessions ----

    def sessions(self, dvm):
        """Those beside the default one, by their path."""
        objects = dvm.connection.call('/org/dvm', 'org.freedesktop.DBus.ObjectManager', 'GetManagedObjects')[0]
        return [Session(dvm, path) for path in sorted(objects) if SESSION in objects[path] and not path.endswith('/0')]

    def reserve(self, dvm, *hosts, asker=None, wait=True, **keys):
        """Nodes set aside, as soon as they are there; .campaign is what brings them."""
        keys.setdefault('share', False)
        campaign = (asker or dvm.asker).allocate('new', hosts=list(hosts) or None, **keys)
        if wait and campaign.path:
            campaign.done()
        session = Session(dvm, campaign.answer['session'], (asker or dvm.asker).connection)
        session.campaign = campaign
        return session

    def release(self, dvm, session):
        """By its own method; the campaign, which the connection of the test is told of."""
        return dvm.asker._note(session.alloc_id, session.call('Release')[0])

    def by_alloc(self, dvm, alloc_id):
        return Session(dvm, dvm.call('FindSession', '(s)', alloc_id)[0])

    def control(self, dvm, number, connection=None, **directives):
        asker = dvm.asker if connection is None else None
        connection = connection or dvm.connection
        answer = connection.call(*dvmtest.MANAGER, 'ControlSession', '(ua{sv})', number, to_options(directives))[0]
        if asker is not None and 'campaign' in answer:
            asker._note(answer.get('alloc-id', ''), answer['campaign'])
        return answer

    def state_of(self, dvm):
        """All that a refused request must leave as it was."""
        sessions = [{k: v for k, v in each.get_all().items() if k != 'Jobs'} for each in [dvm.default, *self.sessions(dvm)]]
        return dvm.snapshot(), sessions, [row['Id'] for row in dvm.campaigns(all=True)]

    def assert_no_trace(self, dvm, name, words, function, *args, **kwargs):
        """Refused, and nothing has changed."""
        before = self.state_of(dvm)
        error = self.assert_refused(name, words, function, *args, **kwargs)
        self.assertEqual(self.state_of(dvm), before)
        return error

    # ---- jobs ----

    def where_runs(self, dvm, **options):
        """The nodes on which a plain job comes to be that takes every slot it can get."""
        job = dvm.submit(['true'], personality='plain', **options)
        self.assert_ran(job)
        return sorted(set(dvm.where(job)))

    def stay(self, dvm, **options):
        """A job that runs until it is ended."""
        job = dvm.plain('sleep', '1000', **options)
        job.wait_running()
        return job

    # ---- programs that ask ----

    def program(self, dvm, *words, node=None, **options):
        """In a job: .out reads what it says."""
        job, out, _ = dvm.start([PROGRAM, *' '.join(words).split()], np=options.pop('np', 1), hosts=[node] if node else None,
                                **{'when_full': 'oversubscribe', **options})
        job.out = out
        return job

    def script(self, dvm, *words):
        """What a program spawns that is to spawn itself: words of the command line."""
        path = os.path.join(dvm.place, f'script{len(os.listdir(dvm.place))}')
        with open(path, 'w') as file:
            print('exec', shlex.join([PROGRAM, *' '.join(words).split()]), file=file)
        return f'sh {path}'

    def lines(self, job, finished=True):
        data = job.out.finish() if finished else job.out.data
        # The start of a child is told when it is told.
        said = [Said(line) for line in data.decode().splitlines() if line[:1].isdigit() and ' ' in line]
        return [line for line in said if line.kind not in ('started', 'stays')]

    def said(self, job):
        """All that it has said, once it has ended well."""
        self.assert_ran(job)
        return self.lines(job)

    def wait_said(self, job, kind, n=1):
        """Until it has said that, so often; the last of these lines."""
        def found():
            lines = [each for each in self.lines(job, finished=False) if each.kind == kind]
            return lines[n - 1] if len(lines) >= n else None
        return wait_until(found, f'{kind} of {job.path}: {job.out.data!r}')

    def gate(self, dvm):
        """A file that a program waits for: (word for the program, function that makes it)."""
        dvm.n_gates = getattr(dvm, 'n_gates', 0) + 1
        path = os.path.join(dvm.place, f'go{dvm.n_gates}')

        def go():
            with open(path, 'w'):
                pass
        return f'file {path}', go


def cases(*groups):
    """The classes of tests, each with the Case above."""
    import sys
    module = sys.modules['__main__']
    for group in groups:
        setattr(module, group.__name__, type(group.__name__, (group, Case), {'__module__': '__main__'}))
