# SPDX-License-Identifier: LGPL-2.1-or-later
"""A rank that speaks PMI-1 as it is told: each argument is sent, with a line feed, and an answer to it printed.

Of "N:TEXT" only rank N sends TEXT. "@wait" prints an answer, "@2 MESSAGE" sends one of PMI-2, "@mute TEXT" sends and waits for no answer, "@raw COUNT" sends so many bytes without an end, "@die" is the end
by a signal, "@exit" one without anything, "@close" that of the connection, "@child" leaves a process behind that has all that
this one has, and lives on, "@stay" does not end, "@about" prints what it is told of its job and where it is. "@kvs" in a text is the
name of the key space, "@rank" its rank, and "@@" is "@".
"""

import os
import signal
import socket
import sys

rank = int(os.environ['PMI_RANK'])
pmi = socket.socket(fileno=int(os.environ['PMI_FD']))
stream = pmi.makefile('r', newline='\n')
kvs = os.environ['DVM_JOBID']


def hear():
    try:
        line = stream.readline()
    except ConnectionError:
        line = ''
    os.write(1, f'{rank}: {line.strip() if line else "the end"}\n'.encode())


for text in sys.argv[1:]:
    number, colon, rest = text.partition(':')
    if colon and number.isdigit():
        if int(number) != rank:
            continue
        text = rest
    if text == '@die':
        os.kill(os.getpid(), signal.SIGKILL)
    elif text == '@exit':
        sys.exit(0)
    elif text == '@wait':
        hear()
    elif text == '@close':
        stream.close()
        pmi.close()
    elif text == '@stay' or (text == '@child' and os.fork() == 0):
        while True:
            signal.pause()
    elif text == '@about':
        words = (os.environ['PMI_SIZE'], os.environ.get('PMI_SPAWNED', '0'), len(sys.argv) - 1, os.environ['DVM_NODE'], os.getcwd())
        os.write(1, (f'{rank}: about ' + ' '.join(str(word) for word in words) + '\n').encode())
    elif text == '@child':
        pass
    elif text.startswith('@2 '):
        message = text[3:].replace('@rank', str(rank))
        pmi.sendall(f'{len(message):6}{message}'.encode())
        if 'cmd=abort' not in message:
            os.write(1, f'{rank}: {stream.read(int(stream.read(6)))}\n'.encode())
    elif text.startswith('@mute '):
        pmi.sendall(text[6:].encode() + b'\n')
    elif text.startswith('@raw '):
        try:
            pmi.sendall(b'x' * int(text.split()[1]))
        except OSError:
            pass
        hear()
    else:
        parts = [part.replace('@kvs', kvs).replace('@rank', str(rank)) for part in text.split('@@')]
        pmi.sendall('@'.join(parts).encode() + b'\n')
        if not text.startswith('cmd=abort'):
            hear()
