# SPDX-License-Identifier: LGPL-2.1-or-later
"""A launcher without a DVM: what it says, and a scripted agent to launch."""

import os
import queue
import shlex
import subprocess
import threading

LIMIT = 60
PROGRAM = os.environ.get('DVM_TEST_LAUNCH_AGENTS')

# An agent: writes what it is given and how it is called below PLACE, and ends with its standard input.
AGENT = '''#!/bin/sh
# Usage: agent PLACE WORD... --node NAME
place=$1
for word; do last=$word; done
mkdir -p "$place"
read -r token
printf '%s\\n' "$@" >"$place/$last.argv"
printf '%s\\n' "$token" >"$place/$last.token"
echo $$ >"$place/$last.new" && mv "$place/$last.new" "$place/$last.pid"
echo "agent of $last is here" >&2
# No process of its own waits, which would outlive an agent that is killed.
while read -r line; do :; done
echo ended >"$place/$last.ended"
'''


def settings(launcher, **values):
    return ' '.join(f'launcher-{launcher}.{key.replace("_", "-")}={shlex.quote(str(value))}' for key, value in values.items())


class Launch:
    """A launch under way; prefix: a function that starts a process elsewhere, with the arguments of subprocess.Popen."""

    def __init__(self, launcher, nodes, agent, /, token='a token', start=subprocess.Popen, **values):
        self.lines = queue.Queue()
        self.seen = []
        argv = [PROGRAM, launcher, settings(launcher, **values), token + '\n', *nodes, '--', *agent]
        self.process = start(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.log = []
        self.threads = [threading.Thread(target=self._read), threading.Thread(target=self._read_log)]
        for thread in self.threads:
            thread.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip('\n'))
        self.lines.put('end')

    def _read_log(self):
        for line in self.process.stderr:
            self.log.append(line.rstrip('\n'))

    def expect(self, start):
        """The next line that begins like this; those before it are in seen."""
        while True:
            try:
                line = self.lines.get(timeout=LIMIT)
            except queue.Empty:
                raise AssertionError(f'waited in vain for {start}: {self.seen} {self.log}') from None
            if line.startswith(start):
                return line
            if line == 'end':
                raise AssertionError(f'the end came instead of {start}: {self.seen} {self.log}')
            self.seen.append(line)

    def order(self, line):
        self.process.stdin.write(line + '\n')
        self.process.stdin.flush()

    def failures(self):
        """{rank: (code, reason)} of all that were seen."""
        words = [line.split(' ', 3) for line in self.seen if line.startswith('failed ')]
        return {int(rank): (code, reason) for _, rank, code, reason in words}

    def close(self):
        if not self.process.stdin.closed:
            self.process.stdin.close()
        self.process.wait(LIMIT)
        for thread in self.threads:
            thread.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return self.process.returncode
