# SPDX-License-Identifier: GPL-3.0-or-later
# Clients that an HTTP server must bear: clients.py PORT KIND...
#
#	half	1,000 connections with half a request each, which stay open
#	huge	a request with 10 MB of headers
#	slow	100 connections that ask for an answer and read none of it, which stay open
#	junk	lines that are no requests; prints what is answered
#	changes=SECONDS,FOLDER
#		heap and allocs with ?seconds=SECONDS, at once: prints `asked` when they wait, then
#		their statuses; the bodies are FOLDER/heap and FOLDER/allocs
#
#	storm=N	N clients at random, a hundred at once: each asks for something, or sends half of it or
#		noise, reads nothing, a part or all, and goes when it likes
#
# Prints a line when each is done. `huge STATUS EARLY` has the status, or 0 if the connection was
# reset, and whether it was before all was sent.
import os
import random
import socket
import sys

port = int(sys.argv[1])
kept = []


def connect():
    conn = socket.create_connection(('127.0.0.1', port))
    conn.settimeout(20 * int(os.environ.get('SLOWER', '1')))
    return conn


def send(conn, data):
    try:
        conn.sendall(data)
        return True
    except OSError:
        return False


def status_of(conn):
    try:
        answer = conn.recv(65536)
    except OSError:
        return 0
    return int(answer.split(b' ')[1]) if answer.startswith(b'HTTP/1.1 ') else 0


def half():
    for _ in range(1000):
        conn = connect()
        send(conn, b'GET /debug/pprof/heap HTTP/1.1\r\nHost: local')
        kept.append(conn)
    return ''


def huge():
    conn = connect()
    send(conn, b'GET /healthz HTTP/1.1\r\nHost: localhost\r\n')
    sent = 0
    while sent < 10 << 20 and send(conn, b'X-%08d: %s\r\n' % (sent, b'x' * 1000)):
        sent += 1014
    return ' %d %d' % (status_of(conn), sent < 10 << 20)


def slow():
    for _ in range(100):
        conn = connect()
        conn.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        send(conn, b'GET /report HTTP/1.1\r\nHost: localhost\r\n\r\n')
        kept.append(conn)
    return ''


def junk():
    found = []
    for data in (b'\n\n', b'GET\r\n\r\n', b'\x00' * 3000 + b'\r\n\r\n', b'GET / HTTP/2.0\r\n\r\n',
                 b'get / HTTP/1.1\r\nHost: localhost\r\n\r\n', b'GET / HTTP/1.1\r\n\r\n',
                 b'GET / HTTP/1.1\r\nHost: a\r\nHost: localhost\r\n\r\n',
                 b'GET / HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n',
                 b'GET ' + b'/' * 5000 + b' HTTP/1.1\r\nHost: localhost\r\n\r\n',
                 b'GET /[exit]$x; HTTP/1.1\r\nHost: localhost\r\n\r\n',
                 b'GET /flamegraph?since=[exit] HTTP/1.1\r\nHost: localhost\r\n\r\n',
                 b'GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n',
                 b'GET /metrics HTTP/1.1\r\nHost: 127.0.0.1.evil.example:80\r\n\r\n',
                 b'GET /report HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\n\r\n',
                 b'DELETE /report HTTP/1.1\r\nHost: localhost\r\n\r\n'):
        conn = connect()
        send(conn, data)
        found.append(str(status_of(conn)))
    return ' ' + ' '.join(found)


def changes(arg):
    seconds, folder = arg.split(',', 1)
    conns = [connect(), connect()]
    names = ('heap', 'allocs')
    for conn, name in zip(conns, names):
        send(conn, b'GET /debug/pprof/%s?seconds=%s HTTP/1.0\r\n\r\n' % (name.encode(), seconds.encode()))
    for _ in range(2):
        conn = connect()
        send(conn, b'GET /healthz HTTP/1.0\r\n\r\n')
        assert status_of(conn) == 200
    print('asked', flush=True)
    found = ''
    for conn, name in zip(conns, names):
        data = b''
        while got := conn.recv(65536):
            data += got
        head, body = data.split(b'\r\n\r\n', 1)
        with open(folder + '/' + name, 'wb') as file:
            file.write(body)
        found += ' ' + head.split(b' ')[1].decode()
    return found


PATHS = ('/', '/healthz', '/metrics', '/debug/pprof/heap', '/debug/pprof/allocs', '/flamegraph',
         '/flamegraph?since=1s', '/report', '/debug/pprof/heap?seconds=1', '/debug/pprof/allocs?seconds=2',
         '/debug/pprof/heap?seconds=0', '/nothing')


def one_of_storm():
    conn = connect()
    data = b'%s %s HTTP/1.1\r\nHost: localhost\r\n\r\n' % (
        random.choice((b'GET', b'GET', b'HEAD', b'PUT')), random.choice(PATHS).encode())
    kind = random.random()
    if kind < 0.2:
        data = data[:random.randrange(len(data))]
    elif kind < 0.3:
        data = random.randbytes(random.choice((1, 100, 20000)))
    send(conn, data)
    conn.setblocking(False)
    return conn


def storm(number):
    conns = []
    for _ in range(int(number)):
        conns.append(one_of_storm())
        for conn in random.sample(conns, len(conns) // 8):
            try:
                conn.recv(random.choice((1, 100, 1 << 20)))
            except OSError:
                pass
        while len(conns) > random.randrange(1, 100):
            conns.pop(random.randrange(len(conns))).close()
    for conn in conns:
        conn.close()
    return ''


for kind in sys.argv[2:]:
    name, _, word = kind.partition('=')
    print(name + globals()[name](*([word] if word else [])), flush=True)
sys.stdin.readline()
