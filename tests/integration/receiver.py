# SPDX-License-Identifier: GPL-3.0-or-later
# A receiver of profiles, as a store's /ingest: receiver.py FOLDER PORT ANSWER...
#
# Each connection gets the next ANSWER, and all later ones the last: a status (200), or
#	silent	the request is read and gets no answer
#	deaf	nothing is read
#	close	the request is read, and the connection closed
#	huge	200, and then data without an end
#	junk	data without an end, and no line
# Prints `listening PORT`, and then for each request a line with tabs: N, the body's name in FOLDER,
# ANSWER, path, and what the query says of name, from, until and format.
import socket
import sys
import threading
import urllib.parse

folder, port, answers = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
lock = threading.Lock()
posts = 0


def read_request(conn):
    data = b''
    while b'\r\n\r\n' not in data:
        got = conn.recv(65536)
        if not got:
            return None
        data += got
    head, body = data.split(b'\r\n\r\n', 1)
    lines = head.decode('ascii').split('\r\n')
    fields = dict(line.lower().split(': ', 1) for line in lines[1:])
    while len(body) < int(fields['content-length']):
        got = conn.recv(65536)
        if not got:
            return None
        body += got
    method, target, _ = lines[0].split(' ')
    assert method == 'POST', method
    return target, body


def say(answer, target, body):
    global posts
    with lock:
        posts += 1
        with open('%s/%d.pb.gz' % (folder, posts), 'wb') as file:
            file.write(body)
        url = urllib.parse.urlsplit(target)
        query = urllib.parse.parse_qs(url.query, strict_parsing=True)
        words = [str(posts), '%d.pb.gz' % posts, answer, url.path]
        words += [query[name][0] for name in ('name', 'from', 'until', 'format')]
        print('\t'.join(words), flush=True)


def send_forever(conn, head):
    try:
        conn.sendall(head)
        while True:
            conn.sendall(b'x' * 65536)
    except OSError:
        conn.close()


def serve(conn, answer):
    if answer == 'deaf':
        threading.Event().wait()
    request = read_request(conn)
    if not request:
        return
    say(answer, *request)
    if answer == 'silent':
        threading.Event().wait()
    elif answer in ('huge', 'junk'):
        send_forever(conn, b'HTTP/1.1 200 OK\r\n' if answer == 'huge' else b'')
    elif answer != 'close':
        conn.sendall(b'HTTP/1.1 %s said so\r\nContent-Length: 0\r\n\r\n' % answer.encode())
    conn.close()


server = socket.create_server(('127.0.0.1', port))
print('listening', server.getsockname()[1], flush=True)
while True:
    conn, _ = server.accept()
    answer = answers.pop(0) if len(answers) > 1 else answers[0]
    threading.Thread(target=serve, args=(conn, answer), daemon=True).start()
