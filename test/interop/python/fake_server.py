# SPDX-License-Identifier: LGPL-2.1-or-later
"""fake_server.py NAME PORT CONTROL [little]

A FOLB server without an ORB, for what none of the Java ORBs does.  All
requests are whereAmI, whatever the object key, but _is_a and the like.

label TEXT | size N   its own label; size: as label-size of ior.py; off: none,
                      so that every request is answered with the update
update FILE | off     the IOR in FILE is sent to who has another label
raw HEX               these octets are sent as the update
reply KIND            ok, user, transient, commfail: how requests end
fragment N | off      replies are cut after N octets
wire                  operation/label/update of the requests since it was
                      asked for, as of the Java servers
"""
import struct
import sys
import threading

import control
import giop

NAME = sys.argv[1]
LITTLE = "little" in sys.argv[4:]
SYSTEM = {
    "transient": "IDL:omg.org/CORBA/TRANSIENT:1.0",
    "commfail": "IDL:omg.org/CORBA/COMM_FAILURE:1.0",
}

lock = threading.Lock()  # of what follows
label = None
update = None
reply = "ok"
fragment = None
log = []


def answer(request):
    """(reply status, contexts, body written after the header)"""
    with lock:
        sent = request.label()
        stale = label is None or sent != label
        contexts = []
        if stale and update is not None:
            contexts.append((giop.UPDATE_CONTEXT, update))
        log.append("%s/%s/%s" % (
            request.operation,
            "none" if sent is None else "other" if stale else "own",
            "yes" if contexts else "no"))
        del log[:-64]
        kind = reply
    body = giop.Writer(LITTLE)
    if request.operation == "_is_a":
        return 0, contexts, bytes(body.octet(1).data)
    if kind == "ok":
        return 0, contexts, bytes(body.string(NAME).data)
    if kind == "user":
        body.string("IDL:interop/Refused:1.0").string(NAME)
        return 1, contexts, bytes(body.data)
    return 2, contexts, bytes(body.string(SYSTEM[kind]).ulong(1).ulong(1).data)


def send(sock, kind, flags, body):
    order = "<" if LITTLE else ">"
    sock.sendall(b"GIOP\1\2" + bytes([flags | LITTLE, kind])
                 + struct.pack(order + "I", len(body)) + body)


def send_reply(sock, request):
    status, contexts, body = answer(request)
    if not request.wanted:
        return
    w = giop.Writer(LITTLE)
    w.data += bytes(12)
    w.ulong(request.id).ulong(status).ulong(len(contexts))
    for tag, data in contexts:
        w.ulong(tag).octets(data)
    w.align(8)
    message = bytes(w.data[12:]) + body
    if fragment is None or len(message) <= fragment:
        send(sock, 1, 0, message)
        return
    # With its header each part is a multiple of eight octets.
    size = (fragment + 12) // 8 * 8 - 12
    send(sock, 1, 2, message[:size])
    rest = message[size:]
    size = 1024 - 16
    again = struct.pack("<I" if LITTLE else ">I", request.id)
    while rest:
        send(sock, 7, 2 if len(rest) > size else 0, again + rest[:size])
        rest = rest[size:]


def serve(sock):
    try:
        while True:
            kind, little, body = giop.message(sock)
            if kind == 0:
                send_reply(sock, giop.Request(little, body))
            elif kind == 3:  # LocateRequest: the object is here
                order = "<" if little else ">"
                number = struct.unpack(order + "I", body[:4])[0]
                w = giop.Writer(LITTLE).ulong(number).ulong(1)
                send(sock, 4, 0, bytes(w.data))
            elif kind in (5, 6):
                return
    except (EOFError, OSError):
        pass
    finally:
        sock.close()


def accept():
    listener = control.listen(int(sys.argv[2]))
    print(NAME, "ready", flush=True)
    while True:
        sock, _ = listener.accept()
        control.background(serve, sock)


def execute(command, argument):
    global label, update, reply, fragment
    with lock:
        if command == "label":
            label = None if argument == "off" else argument.encode()
        elif command == "size":
            label = (b"\0x" * int(argument))[:int(argument)]
        elif command == "update":
            update = None
            if argument != "off":
                with open(argument) as file:
                    update = giop.update(file.read(), LITTLE)
        elif command == "raw":
            update = bytes.fromhex(argument)
        elif command == "reply":
            reply = argument
        elif command == "fragment":
            fragment = None if argument == "off" else int(argument)
        elif command == "wire":
            text = " ".join(log) or "nothing"
            log.clear()
            return text
        else:
            return "unknown command"
    return "ok"


control.background(accept)
control.serve(int(sys.argv[3]), execute)
