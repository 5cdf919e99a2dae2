# SPDX-License-Identifier: LGPL-2.1-or-later
"""relay.py CONTROL TARGET NAME=PORT...

Ports which all lead to the port TARGET, and what passed through them.

open NAME     listens there, as at the start
close NAME    ends the listener and all its connections
hole NAME     listens there, but connects to it are never answered
calls         requests by port since it was asked for: "W=2 Y=1"
contexts      ids of their service contexts, in hexadecimal
"""
import socket
import sys
import threading

import control
import giop

lock = threading.Lock()  # of what follows
calls = {}
seen = set()


class Port:
    def __init__(self, name, port, target):
        self.name = name
        self.port = port
        self.target = target
        self.listener = None
        self.sockets = []

    def open(self):
        listener = control.listen(self.port)
        with lock:
            self.listener = listener
        control.background(self.accept, listener)

    def close(self):
        with lock:
            sockets, self.sockets = self.sockets + [self.listener], []
        for sock in sockets:
            # A close alone leaves a thread in accept or recv.
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()

    # The queue of a listener that accepts nothing is full with the second
    # connect; all further ones get no answer.
    def hole(self):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.port))
        self.listener.listen(0)
        for _ in range(2):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", self.port))
            self.sockets.append(filler)

    def accept(self, listener):
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.target))
            with lock:
                self.sockets += [near, far]
            control.background(self.pump, near, far, Recorder(self.name))
            control.background(self.pump, far, near, None)

    @staticmethod
    def pump(source, sink, recorder):
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    break
                if recorder:
                    recorder.add(data)
                sink.sendall(data)
        except OSError:
            pass
        for sock in source, sink:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Recorder:
    """Of one direction of one connection."""

    def __init__(self, name):
        self.name = name
        self.data = b""

    def recv(self, n):
        part, self.data = self.data[:n], self.data[n:]
        return part

    def add(self, data):
        self.data += data
        while True:
            kept = self.data
            try:
                kind, little, body = giop.message(self)
            except EOFError:
                self.data = kept
                return
            if kind == 0:
                ids = {tag for tag, _ in giop.Request(little, body).contexts}
                with lock:
                    calls[self.name] = calls.get(self.name, 0) + 1
                    seen.update(ids)


def main():
    ports = {}
    for argument in sys.argv[3:]:
        name, port = argument.split("=")
        ports[name] = Port(name, int(port), int(sys.argv[2]))
        ports[name].open()

    def execute(command, argument):
        if command == "open":
            ports[argument].open()
        elif command == "close":
            ports[argument].close()
        elif command == "hole":
            ports[argument].hole()
        elif command == "calls":
            with lock:
                text = " ".join("%s=%d" % c for c in sorted(calls.items()))
                calls.clear()
            return text or "nothing"
        elif command == "contexts":
            with lock:
                text = " ".join("%x" % tag for tag in sorted(seen))
                seen.clear()
            return text or "nothing"
        else:
            return "unknown command"
        return "ok"

    print("relay ready", flush=True)
    control.serve(int(sys.argv[1]), execute)


main()
