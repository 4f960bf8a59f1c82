# SPDX-License-Identifier: LGPL-2.1-or-later
"""A DVM is started and stopped by dvm-cli, which knows how: the log, the wait until it is ready, the reason when it is not."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import weakref
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Union

from ._library import Dvm

Setting = Union[str, int, float, bool]
_numbers = itertools.count(1)

# Starts the DVM and ends it when the pipe to this program breaks, however the program has ended, also while the DVM comes up; a line
# says that this is not needed any more. Its answer is what dvm-cli has said, and its status. A signal may end dvm-cli when all is done.
_KEEPER = '''trap : TERM
cli=$1 name=$2
shift 2
said=$("$cli" "$@" </dev/null 2>&1)
status=$?
trap "" PIPE
printf "%s\\n%s" "$said" "$status" 2>/dev/null
case $said in *'"ready":true'*) ;; *) exit "$status" ;; esac
cd /
exec >/dev/null
read -r line || exec "$cli" stop --quiet --force "--name=$name"
'''


class Started(NamedTuple):
    name: str
    socket: str
    pid: int


def find_cli() -> str:
    """The path of dvm-cli: $DVM_CLI, or that on the path."""
    given = os.environ.get('DVM_CLI')
    path = shutil.which(given or 'dvm-cli')
    if path is None and given:
        raise Dvm.make_error(Dvm.Error.NOT_FOUND, f'DVM_CLI is {given}, and there is no such program')
    if path is None:
        raise Dvm.make_error(Dvm.Error.NOT_FOUND, 'dvm-cli is not on PATH, and it starts and stops DVMs: install it, source '
                             'share/dvm/dvm-env.sh of its installation, or name its path in DVM_CLI')
    return path


def _environment() -> Dict[str, str]:
    """Without the variables that choose a DVM: the options do."""
    return {name: value for name, value in os.environ.items() if name not in ('DVM_SOCKET', 'DVM_NAME')}


def _sentence(text: str) -> str:
    """What dvm-cli complains of, without its own name, its hint to --help and what it has told of the start."""
    lines = [line.removeprefix('dvm-cli: ') for line in text.splitlines()]
    told = [line for line in lines if line and 'dvm-cli start --help' not in line and not line.startswith('{')]
    return '\n'.join(told)


def _raise_for(words: Sequence[str], status: int, complaint: str) -> None:
    """The exception that a status of dvm-cli stands for."""
    if status != 0:
        text = _sentence(complaint) or f'dvm-cli {words[0]} ended with status {status}'
        raise Dvm.make_error(Dvm.Error.BAD_PARAM if status == 2 else Dvm.Error.FAILED, text)


def _open(command: Sequence[str], **options: Any) -> 'subprocess.Popen[str]':
    try:
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors='replace', env=_environment(), **options)
    except OSError as error:
        raise Dvm.make_error(Dvm.Error.NOT_FOUND, f'cannot start {command[0]}: {error.strerror}') from error


def _run_cli(words: Sequence[str]) -> None:
    with _open([find_cli(), *words], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            _, complaint = process.communicate()
        except BaseException:
            process.terminate()
            raise
    _raise_for(words, process.returncode, complaint)


def _text(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _hosts(hosts: Union[str, Iterable[str]]) -> str:
    return hosts if isinstance(hosts, str) else ','.join(hosts)


def make_words(name: str, bus: str, options: Mapping[str, Any]) -> List[str]:
    """The command line; options are keyword arguments of start()."""
    words = ['start', '--json', f'--name={name}', f'--bus={bus}']
    for key, value in options.items():
        option = key.replace('_', '-')
        if key == 'settings':
            words += [f'--set={setting.replace("_", "-")}={_text(item)}' for setting, item in (value or {}).items()]
        elif key == 'hosts' and value is not None:
            words.append(f'--host={_hosts(value)}')
        elif isinstance(value, bool):
            words += [f'--{option}'] if value else []
        elif value is not None:
            words.append(f'--{option}={os.fspath(value) if isinstance(value, os.PathLike) else value}')
    return words


def make_name() -> str:
    return f'python-{os.getpid()}-{next(_numbers)}'


def stop_daemon(socket: str, grace: float, force: bool) -> None:
    """Returns when its process has gone; after grace seconds its jobs are killed at once."""
    words = ['stop', '--quiet', f'--socket={socket}']
    if not force:
        try:
            _run_cli([*words, f'--timeout={max(1, round(grace))}'])
            return
        except Dvm.DvmError:
            if not os.path.exists(socket):
                return
    _run_cli([*words, '--force'])


class Keeper:
    """A shell that starts the DVM, and stops it when this program has ended without doing so, as by SIGKILL."""

    def __init__(self, name: str, bus: str, options: Mapping[str, Any]) -> None:
        self._name = name
        self._words = make_words(name, bus, options)
        # In a session of its own: Ctrl-C is for this program, which tells the shell.
        self._process = _open(['/bin/sh', '-c', _KEEPER, 'sh', find_cli(), name, *self._words], stdin=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, start_new_session=True)
        _keepers.add(self)

    def await_start(self) -> Started:
        assert self._process.stdout is not None
        said, _, status = self._process.stdout.read().rpartition('\n')
        if not status.isdigit():
            raise Dvm.make_error(Dvm.Error.FAILED, 'the shell that starts the DVM was killed')
        _raise_for(self._words, int(status), said)
        last = json.loads(said.splitlines()[-1])
        return Started(self._name, last['socket'], last['pid'])

    def give_up(self) -> None:
        """Returns when the DVM has gone, or was not started. Interrupted, it leaves the rest to the shell."""
        try:
            # It may wait for dvm-cli, which ends a DVM that is not ready. The pipe goes last: then the shell is to do its work.
            os.killpg(self._process.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        self.forget()
        self._process.wait()

    def dismiss(self) -> None:
        """The DVM is not the shell's any more."""
        try:
            self._process.communicate('\n')
        except OSError:
            self._process.wait()

    def forget(self) -> None:
        """Lets go of the pipes."""
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def forget_in_child(self) -> None:
        """The same, where a stream cannot be closed: the thread that reads it has its lock, and is not in the child."""
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None and not stream.closed:
                os.dup2(null, stream.fileno(), inheritable=False)
        os.close(null)


_keepers: 'weakref.WeakSet[Keeper]' = weakref.WeakSet()


def _forget_all() -> None:
    for keeper in list(_keepers):
        keeper.forget_in_child()


# A child that lives on would hold the pipe, and the DVM with it.
os.register_at_fork(after_in_child=_forget_all)
