# SPDX-License-Identifier: LGPL-2.1-or-later
"""One line of command, one line of answer, on a port of loopback."""
import socket
import threading


def listen(port):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(64)
    return listener


def background(function, *arguments):
    threading.Thread(target=function, args=arguments, daemon=True).start()


def _talk(sock, execute):
    with sock, sock.makefile("rw") as lines:
        for line in lines:
            words = line.split(None, 1) + ["", ""]
            try:
                answer = execute(words[0], words[1].strip())
            except (ValueError, KeyError, OSError) as problem:
                answer = "error %r" % problem
            lines.write(answer + "\n")
            lines.flush()


def serve(port, execute):
    """Does not return."""
    listener = listen(port)
    while True:
        sock, _ = listener.accept()
        background(_talk, sock, execute)
