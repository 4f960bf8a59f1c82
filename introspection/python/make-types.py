#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""make-types.py Dvm-1.0.gir: the types of the library with its overrides for Python, dvm/_Dvm.pyi, on standard output."""

import keyword
import re
import sys
import xml.etree.ElementTree as ElementTree

CORE = '{http://www.gtk.org/introspection/core/1.0}'
TYPES = {'utf8': 'str', 'filename': 'str', 'gboolean': 'bool', 'none': 'None', 'GLib.Bytes': 'Any', 'gdouble': 'float'}
INTEGERS = re.compile(r'gu?int\d*|gs?size|guint8|gushort|gu?long')
# The overrides give of these calls something else than the library does.
OTHER_ANSWERS = ('grow', 'shrink', 'allocate', 'control_session', 'extend_session', 'release_session')
# Parameters of calls that have a default there.
DEFAULTS = {'wait': ('timeout_ms',), 'list_jobs': ('all',), 'shutdown': ('force',), 'wait_campaign': ('timeout_ms',),
            'list_campaigns': ('all',), 'collect_stacks': ('ranks', 'timeout'), 'signal_session': ('nspace',), 'new_from_json': ('length',)}
APP_KEYWORDS = ('env', 'cwd')
BASES = {'BAD_PARAM': 'ValueError', 'PARSE_FAILED': 'ValueError', 'NOT_FOUND': 'LookupError'}

HEAD = '''\
# SPDX-License-Identifier: LGPL-2.1-or-later
# Made by make-types.py of the introspection of the library, and of what the overrides add to it. For type checkers alone.
import asyncio
import concurrent.futures
import os
import subprocess
from typing import (Any, AnyStr, AsyncIterator, Callable, Coroutine, Iterable, Iterator, List, Literal, Mapping, NamedTuple,
                    Optional, Sequence, Tuple, TypeVar, Union, overload)

from ._GLib import Error as _Error

_T = TypeVar('_T')
_Path = Union[str, bytes, 'os.PathLike[str]', 'os.PathLike[bytes]']
_Command = Union[_Path, Sequence[_Path]]
_Env = Union[Mapping[str, str], Iterable[str]]

class _Enum(int):
    value_name: str
    value_nick: str

class _Flags(_Enum):
    def __or__(self: _T, other: _T) -> _T: ...  # type: ignore[override]

class _Object:
    def __init__(self, **properties: Any) -> None: ...
    def connect(self, signal: str, handler: Callable[..., object], *data: object) -> int: ...
    def disconnect(self, handler: int) -> None: ...
    def get_property(self, name: str) -> Any: ...
    def set_property(self, name: str, value: object) -> None: ...

class DvmError(_Error): ...
'''

# What the overrides add to classes.
ADDED = {
    'AppSpec': '''\
    def __init__(self, argv: Optional[_Command] = ..., *, @APP@) -> None: ...
''',
    'JobSpec': '''\
    def __init__(self, argv: Optional[_Command] = ..., *, apps: Iterable[AppSpec] = ..., @APP_OF_JOB@,
                 @JOB@) -> None: ...
    @property
    def apps(self) -> List[AppSpec]: ...
''',
    'Job': '''\
    @property
    def returncode(self) -> Optional[int]: ...
''',
    'Client': '''\
    def follow(self, what: Union[Job, JobSpec]) -> AsyncIterator[StateChange]: ...
''',
}

TAIL = '''
class StateChange(NamedTuple):
    job: Job
    old: JobState
    new: JobState
    reason: str

class JobError(RuntimeError):
    job: Job
    stdout: Any
    stderr: Any

class CompletedJob(subprocess.CompletedProcess[AnyStr]):
    args: List[str]
    returncode: int
    stdout: AnyStr
    stderr: AnyStr
    job: Job

class JobFuture(concurrent.futures.Future[_T]):
    job_id: Optional[int]

class Executor(concurrent.futures.Executor):
    def __init__(self, name: Optional[str] = ..., *, address: Optional[str] = ..., max_pending: int = ...) -> None: ...
    @overload  # type: ignore[override]
    def submit(self, command: Union[JobSpec, _Command], /, *, check: bool = ..., capture_output: bool = ..., text: Literal[True],
               stdin: Optional[bytes] = ..., **options: Any) -> concurrent.futures.Future[CompletedJob[str]]: ...
    @overload
    def submit(self, command: Union[JobSpec, _Command], /, *, check: bool = ..., capture_output: Literal[True],
               text: Literal[False] = ..., stdin: Optional[bytes] = ..., **options: Any) -> concurrent.futures.Future[CompletedJob[bytes]]: ...
    @overload
    def submit(self, command: Union[JobSpec, _Command], /, *, check: bool = ..., capture_output: bool = ..., text: bool = ...,
               stdin: Optional[bytes] = ..., **options: Any) -> concurrent.futures.Future[CompletedJob[Any]]: ...
    def map(self, command: Any, *iterables: Iterable[Any], timeout: Optional[float] = ..., chunksize: int = ...,  # type: ignore[override]
            **options: Any) -> Iterator[Any]: ...

class EventLoop(asyncio.SelectorEventLoop):
    def __init__(self, context: Any = ...) -> None: ...

def run(main: Coroutine[Any, Any, _T], *, debug: Optional[bool] = ...) -> _T: ...
def start(name: Optional[str] = ..., **options: Any) -> Any: ...
def connect(name: Optional[str] = ..., **options: Any) -> Any: ...
def make_error(code: Error, message: str) -> DvmError: ...
def complete_job(job: Job, args: List[str], stdout: AnyStr, stderr: AnyStr) -> CompletedJob[AnyStr]: ...
def iterate_results(futures: Iterable[concurrent.futures.Future[_T]], end: Optional[float]) -> Iterator[_T]: ...
'''


class Namespace:
    def __init__(self, path):
        self.node = ElementTree.parse(path).getroot().find(f'{CORE}namespace')
        for parent in list(self.node.iter()):
            for node in list(parent):
                if node.get('introspectable') == '0' or node.get('shadowed-by'):
                    parent.remove(node)
        self.enums = {node.get('name') for node in self.list('enumeration', 'bitfield')}
        self.names = {node.get('name') for node in self.node if node.get('name')}

    def list(self, *tags):
        return [node for tag in tags for node in self.node.findall(f'{CORE}{tag}')]

    def type_of(self, node, nullable=False):
        """That of a value, a parameter or a property: what has no type here is Any, as things of GLib are."""
        array, plain = node.find(f'{CORE}array'), node.find(f'{CORE}type')
        if array is not None:
            item = array.find(f'{CORE}type').get('name')
            return 'bytes' if item == 'guint8' else f'List[{self._name_of(item)}]'
        found = self._name_of(plain.get('name')) if plain is not None else 'Any'
        return f'Optional[{found}]' if nullable and found not in ('Any', 'None') else found

    def _name_of(self, name):
        if name in TYPES:
            return TYPES[name]
        if INTEGERS.fullmatch(name):
            return 'int'
        return name if name in self.names else 'Any'


def python_name(name):
    name = name.replace('-', '_')
    return f'{name}_' if keyword.iskeyword(name) else name


def has_answer(function):
    return function.find(f'{CORE}return-value/{CORE}type') is None or function.find(f'{CORE}return-value/{CORE}type').get('name') != 'none'


def answer_of(names, function):
    value = function.find(f'{CORE}return-value')
    outs = [node for node in function.iter(f'{CORE}parameter') if node.get('direction') in ('out', 'inout')]
    if function.get('name').removesuffix('_finish') in OTHER_ANSWERS or any(node.find(f'{CORE}array') is not None for node in outs):
        return 'Any'
    found = ([names.type_of(value, value.get('nullable') == '1')] if has_answer(function) else []) + [names.type_of(node) for node in outs]
    return f'Tuple[{", ".join(found)}]' if len(found) > 1 else found[0] if found else 'None'


def parameters_of(names, function):
    """What callers give: no outs, no lengths of arrays; what may be NULL may be left out where all that follows may."""
    defaults = DEFAULTS.get(function.get('name'), ())
    nodes = function.findall(f'{CORE}parameters/{CORE}parameter')
    lengths = {array.get('length') for array in function.iter(f'{CORE}array')}
    given = [node for index, node in enumerate(nodes) if node.get('direction', 'in') != 'out' and str(index) not in lengths]
    texts = []
    for node in given:
        nullable = node.get('nullable') == '1'
        kind = names.type_of(node, nullable).replace('List[', 'Sequence[')
        # A number will do for one of an enumeration.
        kind = 'int' if kind in names.enums else kind
        texts.append((f'{python_name(node.get("name"))}: {kind}', nullable or node.get('name') in defaults))
    needed = max((index for index, (_, optional) in enumerate(texts) if not optional), default=-1)
    return [text if index <= needed else f'{text} = ...' for index, (text, _) in enumerate(texts)]


def write_function(names, function, own=()):
    name = function.get('name')
    if name.endswith('_async') or name in OTHER_ANSWERS:
        return f'def {name}({", ".join([*own, "*args: Any", "**kwargs: Any"])}) -> Any: ...\n'
    return f'def {name}({", ".join([*own, *parameters_of(names, function)])}) -> {answer_of(names, function)}: ...\n'


def list_properties(names, node):
    """Name, type, whether it can be written. One is None where its getter may give that."""
    getters = {function.get('name'): function.find(f'{CORE}return-value') for function in node.findall(f'{CORE}method')}
    for prop in node.findall(f'{CORE}property'):
        getter = getters.get('get_' + prop.get('name').replace('-', '_'))
        nullable = getter is not None and getter.get('nullable') == '1' or prop.find(f'{CORE}array') is None and getter is None
        found = names.type_of(prop, nullable and names.type_of(prop) == 'str')
        yield python_name(prop.get('name')), found, prop.get('writable') == '1'


def keywords_of(properties, without=()):
    return ', '.join(f'{name}: {kind.replace("List[", "Sequence[")} = ...' for name, kind, writable in properties
                     if writable and name not in without)


def write_added(names, name):
    classes = {node.get('name'): list(list_properties(names, node)) for node in names.list('class')}
    app = keywords_of(classes['AppSpec'], ('argv', *APP_KEYWORDS)) + ', env: _Env = ..., cwd: _Path = ...'
    of_job = [row for row in classes['AppSpec'] if row[0] not in {entry[0] for entry in classes['JobSpec']}]
    texts = {'@APP@': app, '@JOB@': keywords_of(classes['JobSpec']),
             '@APP_OF_JOB@': keywords_of(of_job, ('argv', *APP_KEYWORDS)) + ', env: _Env = ..., cwd: _Path = ...'}
    text = ADDED.get(name, '')
    for mark, value in texts.items():
        text = text.replace(mark, value)
    return text


def write_class(names, node):
    name = node.get('name')
    rows = list(list_properties(names, node))
    text = ''
    if rows:
        text += f'\nclass _{name}Props:\n' + ''.join(f'    {key}: {kind}\n' for key, kind, _ in rows)
    text += f'\nclass {name}(_Object):\n' + (f'    props: _{name}Props\n' if rows else '') + write_added(names, name)
    for function in node.findall(f'{CORE}constructor') + node.findall(f'{CORE}function'):
        text += '    @staticmethod\n    ' + write_function(names, function)
    for function in node.findall(f'{CORE}method'):
        text += '    ' + write_function(names, function, ('self',))
    return text


def write_enum(node):
    base = '_Flags' if node.tag == f'{CORE}bitfield' else '_Enum'
    members = [member.get('name').upper() for member in node.findall(f'{CORE}member')]
    return f'\nclass {node.get("name")}({base}):\n' + ''.join(f'    {member}: {node.get("name")}\n' for member in members)


def write_errors(names):
    text = ''
    for member in next(node for node in names.list('enumeration') if node.get('name') == 'Error').findall(f'{CORE}member'):
        code = member.get('name').upper()
        if code != 'FAILED':
            bases = ', '.join(['DvmError', *([BASES[code]] if code in BASES else [])])
            text += f'class {"".join(word.capitalize() for word in code.split("_"))}Error({bases}): ...\n'
    return text


def write_types(path):
    names = Namespace(path)
    text = HEAD + write_errors(names)
    text += ''.join(write_enum(node) for node in names.list('enumeration', 'bitfield'))
    text += ''.join(write_class(names, node) for node in names.list('class'))
    text += ''.join(write_class(names, node) for node in names.list('record') if not node.get('name').endswith('Class'))
    text += '\n' + ''.join(f'{node.get("name")}: {names.type_of(node)}\n' for node in names.list('constant'))
    return text + ''.join(write_function(names, node) for node in names.list('function')) + TAIL


if __name__ == '__main__':
    sys.stdout.write(write_types(sys.argv[1]))
