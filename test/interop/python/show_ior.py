# SPDX-License-Identifier: LGPL-2.1-or-later
"""show_ior.py FILE: the IIOP profile of an IOR, one item a line:

type ID
address HOST:PORT
component ID LENGTH
member NAME WEIGHT TYPE@HOST:PORT...
label TEXT
"""
import sys

import giop


def main():
    with open(sys.argv[1]) as file:
        type_id, profiles = giop.parse_ior(file.read())
    print("type", type_id)
    for tag, data in profiles:
        if tag != 0:
            continue
        r = giop.Reader(data, data[0] == 1, 1)
        r.octet()
        if r.octet() == 0:
            continue
        print("address %s:%d" % (r.string(), r.ushort()))
        r.octets()
        for _ in range(r.ulong()):
            show(r.ulong(), r.octets())


def show(tag, data):
    if tag == giop.LABEL:
        print("label", data.decode("latin-1"))
    elif tag == giop.MEMBER:
        r = giop.Reader(data, data[0] == 1, 1)
        text = "member %s %d" % (r.string(), r.ulong())
        for _ in range(r.ulong()):
            text += " %s@%s:%d" % (r.string(), r.string(), r.ulong())
        print(text)
    else:
        print("component %x %d" % (tag, len(data)))


main()
