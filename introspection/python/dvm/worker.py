# SPDX-License-Identifier: LGPL-2.1-or-later
"""The process of one call of a DvmExecutor: reads it from standard input, and writes what came of it to standard output.

It is run as a file, by Python alone: neither PyGObject nor the library has to be where it runs.
"""

import os
import pickle
import sys
import traceback
from multiprocessing import process, spawn
from typing import Any, Tuple


def _call(preparation: Any, call: bytes) -> Tuple[bool, Any, str]:
    this: Any = process.current_process()
    try:
        # The path of the program, its directory, and its main module, as processes of multiprocessing have them.
        this._inheriting = True
        spawn.prepare(preparation)
        function, args, kwargs = pickle.loads(call)
        del this._inheriting
        return True, function(*args, **kwargs), ''
    except BaseException as error:
        return False, error, traceback.format_exc()


def _pack(answer: Tuple[bool, Any, str]) -> bytes:
    """What cannot be sent is told by a sentence. An exception that can be packed may still not be unpacked."""
    try:
        packed = pickle.dumps(answer)
        if not answer[0]:
            pickle.loads(packed)
        return packed
    except Exception as error:
        what = 'the value of the call' if answer[0] else f'the exception of the call ({answer[2].strip().splitlines()[-1]})'
        return pickle.dumps((False, TypeError(f'{what} cannot be sent back: {error}'), answer[2]))


def main() -> None:
    # What the function prints is no part of the answer.
    out = os.dup(1)
    os.dup2(2, 1)
    with os.fdopen(0, 'rb', closefd=False) as stdin:
        preparation, call = pickle.load(stdin)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    packed = _pack(_call(preparation, call))
    sys.stdout.flush()
    with os.fdopen(out, 'wb') as stream:
        stream.write(packed)


if __name__ == '__main__':
    main()
