# SPDX-License-Identifier: LGPL-2.1-or-later
"""A DVM is started and stopped by dvm-cli, which knows how: the log, the wait until it is ready, the reason when it is not."""

import itertools
import json
import os
import shutil
import subprocess
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Union

from ._library import Dvm

Setting = Union[str, int, float, bool]
_numbers = itertools.count(1)

# Ends the DVM when the pipe to this program breaks, however the program has ended; a line says that it is not needed any more.
_KEEPER = 'read line || exec "$@"'


class Started(NamedTuple):
    name: str
    socket: str
    pid: int


def find_cli() -> str:
    """The path of dvm-cli: $DVM_CLI, or that on the path."""
    given = os.environ.get('DVM_CLI')
    path = given or shutil.which('dvm-cli')
    if not path:
        raise Dvm.make_error(Dvm.Error.NOT_FOUND, 'dvm-cli is not on PATH, and it starts and stops DVMs: install it, source '
                             'share/dvm/dvm-env.sh of its installation, or name its path in DVM_CLI')
    return path


def _environment() -> Dict[str, str]:
    """Without the variables that choose a DVM: the options do."""
    return {name: value for name, value in os.environ.items() if name not in ('DVM_SOCKET', 'DVM_NAME')}


def _sentence(text: str) -> str:
    """What dvm-cli complains of, without its own name and its hint to --help."""
    lines = [line.removeprefix('dvm-cli: ') for line in text.splitlines()]
    told = [line for line in lines if line and 'dvm-cli start --help' not in line]
    return '\n'.join(told)


def run_cli(words: Sequence[str]) -> str:
    """Standard output of dvm-cli, or the exception that its status stands for. Ends it when this thread is interrupted."""
    command = [find_cli(), *words]
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, errors='replace', env=_environment())
    except OSError as error:
        raise Dvm.make_error(Dvm.Error.NOT_FOUND, f'cannot start {command[0]}: {error.strerror}') from error
    with process:
        try:
            out, complaint = process.communicate()
        except BaseException:
            # A start that is told to stop ends the DVM that it has begun.
            process.terminate()
            process.communicate()
            raise
    if process.returncode == 0:
        return out
    text = _sentence(complaint) or f'dvm-cli {words[0]} ended with status {process.returncode}'
    raise Dvm.make_error(Dvm.Error.BAD_PARAM if process.returncode == 2 else Dvm.Error.FAILED, text)


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


def start_daemon(name: Optional[str], bus: str, options: Mapping[str, Any]) -> Started:
    name = name or f'python-{os.getpid()}-{next(_numbers)}'
    last = json.loads(run_cli(make_words(name, bus, options)).splitlines()[-1])
    return Started(name, last['socket'], last['pid'])


def stop_daemon(socket: str, grace: float, force: bool) -> None:
    """Returns when its process has gone; after grace seconds its jobs are killed at once."""
    words = ['stop', '--quiet', f'--socket={socket}']
    if not force:
        try:
            run_cli([*words, f'--timeout={max(1, round(grace))}'])
            return
        except Dvm.DvmError:
            if not os.path.exists(socket):
                return
    run_cli([*words, '--force'])


class Keeper:
    """A shell that stops the DVM when this program has ended without doing so, as by SIGKILL."""

    def __init__(self, socket: str) -> None:
        words = [find_cli(), 'stop', '--quiet', '--force', f'--socket={socket}']
        self._process = subprocess.Popen(['/bin/sh', '-c', _KEEPER, 'sh', *words], stdin=subprocess.PIPE, cwd='/', env=_environment(),
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def dismiss(self) -> None:
        try:
            self._process.communicate(b'\n')
        except OSError:
            self._process.wait()
