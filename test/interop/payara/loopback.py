#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""loopback.py DOMAIN_XML BASE: makes of a domain as it is shipped one that
listens on 127.0.0.1 only, at ports from BASE on, with small heaps."""
import re
import sys

# Ports of the administration server: offset from BASE, as the server's own
# --portbase has them.
PORTS = {
    3700: 37, 3820: 38, 3920: 39, 4848: 48, 8080: 80, 8181: 81, 8686: 86,
}
HAZELCAST = 60  # the administration server's; instances count on from there
HAZELCAST_MEMBERS = 8

OPTIONS = [
    "-Dhazelcast.socket.bind.any=false",
    "-Dhazelcast.local.localAddress=127.0.0.1",
    "-Dhazelcast.phone.home.enabled=false",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    # Members say localhost, not the name of this machine.
    "-Dfish.payara.iiop.gmsClient.useNodeHostForLocalNode=true",
]

path, base = sys.argv[1], int(sys.argv[2])
with open(path, encoding="utf-8") as file:
    text = file.read()


def replace(pattern, by, at_least=1):
    global text
    text, count = re.subn(pattern, by, text)
    if count < at_least:
        sys.exit(f"{path}: {count} times {pattern}, not {at_least}")


replace(r'address="0\.0\.0\.0"', 'address="127.0.0.1"')
replace(r'<network-listener (?![^>]*\baddress=)',
        '<network-listener address="127.0.0.1" ')
for port, offset in PORTS.items():
    replace(rf'port="{port}"', f'port="{base + offset}"')
replace(r'<jvm-options>-Xmx512m</jvm-options>',
        "".join(f"<jvm-options>{o}</jvm-options>\n"
                for o in OPTIONS + ["-Xmx384m"]))

# Members of the data grid are found at fixed ports, never by multicast.
members = ",".join(f"127.0.0.1:{base + HAZELCAST + n}"
                   for n in range(HAZELCAST_MEMBERS))
replace(r'<hazelcast-runtime-configuration [^>]*?(/?)>',
        '<hazelcast-runtime-configuration'
        f' start-port="{base + HAZELCAST + 1}" das-port="{base + HAZELCAST}"'
        ' auto-increment-port="true" das-bind-address="127.0.0.1"'
        ' das-public-address="127.0.0.1" interface="127.0.0.1"'
        f' discovery-mode="tcpip" tcpip-members="{members}"\\1>')

# An embedded broker of messages would listen on all interfaces; where no
# service is configured, one is.
replace(r'<jms-service ([^>]*)type="EMBEDDED"', r'<jms-service \1type="REMOTE"')
if text.count("<jms-service") < text.count("<iiop-service>"):
    text = text.replace(
        "</iiop-service>",
        '</iiop-service>\n<jms-service type="REMOTE"'
        ' default-jms-host="default_JMS_host"><jms-host'
        ' name="default_JMS_host" host="localhost"'
        ' port="${JMS_PROVIDER_PORT}" /></jms-service>', 1)

with open(path, "w", encoding="utf-8") as file:
    file.write(text)
