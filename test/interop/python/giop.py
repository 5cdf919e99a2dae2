# SPDX-License-Identifier: LGPL-2.1-or-later
"""CDR, IORs and GIOP messages, as far as the programs here need them."""
import struct

MEMBER = 0x53554E03
LABEL = 0x53554E04
LOAD_BALANCING = 0x53554E05
LABEL_CONTEXT = 0x53554E01
UPDATE_CONTEXT = 0x53554E02


class Writer:
    def __init__(self, little=False):
        self.data = bytearray()
        self.order = "<" if little else ">"

    def align(self, n):
        self.data += bytes(-len(self.data) % n)

    def octet(self, value):
        self.data.append(value)
        return self

    def ushort(self, value):
        self.align(2)
        self.data += struct.pack(self.order + "H", value)
        return self

    def ulong(self, value):
        self.align(4)
        self.data += struct.pack(self.order + "I", value & 0xFFFFFFFF)
        return self

    def octets(self, value):
        self.ulong(len(value))
        self.data += value
        return self

    def string(self, value):
        return self.octets(value.encode("latin-1") + b"\0")


def encapsulation(little=False):
    return Writer(little).octet(1 if little else 0)


class Reader:
    def __init__(self, data, little=False, at=0):
        self.data = data
        self.order = "<" if little else ">"
        self.at = at

    def align(self, n):
        self.at += -self.at % n

    def take(self, n):
        if self.at + n > len(self.data):
            raise ValueError("message too short")
        value = bytes(self.data[self.at:self.at + n])
        self.at += n
        return value

    def octet(self):
        return self.take(1)[0]

    def ushort(self):
        self.align(2)
        return struct.unpack(self.order + "H", self.take(2))[0]

    def ulong(self):
        self.align(4)
        return struct.unpack(self.order + "I", self.take(4))[0]

    def octets(self):
        return self.take(self.ulong())

    def string(self):
        return self.octets().rstrip(b"\0").decode("latin-1")


def member(spec, little=False):
    """Component data; spec: name=weight=type@host:port+type@host:port"""
    name, weight, endpoints = (spec.split("=") + [""])[:3]
    endpoints = [e for e in endpoints.split("+") if e]
    w = encapsulation(little).string(name).ulong(int(weight))
    w.ulong(len(endpoints))
    for endpoint in endpoints:
        kind, address = endpoint.split("@")
        host, port = address.rsplit(":", 1)
        w.string(kind).string(host).ulong(int(port))
    return bytes(w.data)


def ior(type_id, profiles, little=False, writer=None):
    w = writer or encapsulation(little)
    w.string(type_id).ulong(len(profiles))
    for tag, data in profiles:
        w.ulong(tag).octets(data)
    return bytes(w.data)


def profile(address, key, components, little=False):
    host, port = address.rsplit(":", 1)
    w = encapsulation(little).octet(1).octet(2).string(host)
    w.ushort(int(port)).octets(key).ulong(len(components))
    for tag, data in components:
        w.ulong(tag).octets(data)
    return 0, bytes(w.data)


def parse_ior(text):
    """(type id, [(tag, profile data)...]) of a stringified IOR."""
    data = bytes.fromhex(text.strip()[4:])
    r = Reader(data, data[0] == 1, 1)
    return r.string(), [(r.ulong(), r.octets()) for _ in range(r.ulong())]


def update(text, little=False):
    """Context data that announces the stringified IOR."""
    w = encapsulation(little)
    w.string("IDL:omg.org/PortableInterceptor/ForwardRequest:1.0")
    return ior(*parse_ior(text), writer=w)


def receive(sock, n):
    data = b""
    while len(data) < n:
        part = sock.recv(n - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def message(sock):
    """(type, little, body) of the next one; fragments are put together."""
    kind = None
    body = b""
    while True:
        header = receive(sock, 12)
        little = bool(header[6] & 1)
        size = struct.unpack(("<" if little else ">") + "I", header[8:])[0]
        part = receive(sock, size)
        if kind is None:
            kind = header[7]
            body = part
        else:
            body += part[4:]
        if not header[6] & 2:
            return kind, little, body


class Request:
    """What there is of a GIOP 1.2 request."""

    def __init__(self, little, body):
        # Alignment counts from the header, which is not in the body.
        r = Reader(bytes(12) + body, little, 12)
        self.id = r.ulong()
        self.wanted = r.octet() & 3 != 0
        r.at += 3
        if r.ushort() != 0:
            raise ValueError("no key address")
        self.key = r.octets()
        self.operation = r.string()
        self.contexts = [(r.ulong(), r.octets()) for _ in range(r.ulong())]
        r.align(8)
        self.arguments = r

    def label(self):
        for tag, data in self.contexts:
            if tag == LABEL_CONTEXT:
                return data
        return None
