# SPDX-License-Identifier: LGPL-2.1-or-later
"""ior.py HOST:PORT OPTION...: prints an IOR of one IIOP 1.2 profile.

type=ID           instead of that of Echo
key=TEXT          the object key
member=SPEC       see giop.member; may be repeated, the order is kept
malformed=KIND    a member component that is wrong, see below
label=TEXT        label-size=N: N octets, every other one a zero
prlb              balanced per request
alternate=H:P     TAG_ALTERNATE_IIOP_ADDRESS; may be repeated
little            all of it in little endian
"""
import sys

import giop

GOOD = "odd=100=IIOP_CLEAR_TEXT@127.0.0.1:9"


def malformed(kind):
    data = bytearray(giop.member(GOOD))
    count = 16  # octet order, string "odd", weight
    if kind == "truncated":
        return bytes(data[:-3])
    if kind == "empty":
        return b""
    if kind == "negative-weight":
        data[12] = 0xFF
    elif kind == "huge-count":
        data[count:count + 4] = b"\x7f\xff\xff\xff"
    elif kind == "negative-count":
        data[count:count + 4] = b"\xff\xff\xff\xff"
    elif kind == "huge-string":
        data[count + 4:count + 8] = b"\xff\xff\xff\xf0"
    elif kind == "port":
        data[-2:] = b"\0\0"
        data[-4:-2] = b"\0\x07"
    elif kind == "no-address":
        data = giop.member("odd=100=IIOP_CLEAR_TEXT@no address:9")
    else:
        raise SystemExit("malformed=%s?" % kind)
    return bytes(data)


def main():
    type_id = "IDL:interop/Echo:1.0"
    key = "Echo"
    components = []
    little = "little" in sys.argv[2:]
    for argument in sys.argv[2:]:
        name, _, value = argument.partition("=")
        if name == "type":
            type_id = value
        elif name == "key":
            key = value
        elif name == "member":
            components.append((giop.MEMBER, giop.member(value, little)))
        elif name == "malformed":
            components.append((giop.MEMBER, malformed(value)))
        elif name == "label":
            components.append((giop.LABEL, value.encode()))
        elif name == "label-size":
            size = int(value)
            components.append((giop.LABEL, (b"\0x" * size)[:size]))
        elif name == "prlb":
            w = giop.encapsulation(little).ulong(1)
            components.append((giop.LOAD_BALANCING, bytes(w.data)))
        elif name == "alternate":
            host, port = value.rsplit(":", 1)
            w = giop.encapsulation(little).string(host).ushort(int(port))
            components.append((3, bytes(w.data)))
        elif name != "little":
            raise SystemExit("%s?" % argument)
    p = giop.profile(sys.argv[1], key.encode(), components, little)
    print("IOR:" + giop.ior(type_id, [p], little).hex())


main()
