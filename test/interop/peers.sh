# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Read by the suites after lib.sh: servers and clients by ORB.

# omni NAME REFERENCE [VARIABLE=VALUE...]: our client, the plug-in preloaded.
omni() {
  local name=$1 reference=$2
  shift 2
  client "$name" env LD_PRELOAD="$plugin" ORBclientCallTimeOutPeriod=20000 \
    "$@" "$bin/interop_client" "$reference"
}
# omni_server NAME PORT [VARIABLE=VALUE...]: $work/NAME.ior; SIGTERM is an
# orderly shutdown.
omni_server() {
  local name=$1 port=$2
  shift 2
  rm -f "$work/$name.ior"
  start "$name" env "$@" "$bin/interop_server" "$name" "$work/$name.ior" \
    -ORBendPoint "giop:tcp:127.0.0.1:$port"
}

# need_glassfish VERSION: what gf_server and gf_client then run.
need_glassfish() {
  gf=$cache/glassfish-$1
  maven_libs "glassfish-$1"
  java_classes "glassfish-$1" idlj Control EchoServant WireLog Options \
    GfServer GfCluster GfClient
}
# gf_server NAME ARGUMENT...: of GfServer
gf_server() {
  local name=$1
  start "$name" "${jvm[@]}" -cp "$gf/classes:$gf/lib/*" GfServer \
    name="$name" iors="$work" "${@:2}"
}
# gf_client NAME REFERENCE [ARGUMENT...]
gf_client() {
  client "$1" "${jvm[@]}" -cp "$gf/classes:$gf/lib/*" GfClient "${@:2}"
}
# change CONTROL COMMAND...: of the membership a gf_server reports; its
# references have a new label when it returns.
change() {
  local before
  before=$(control "$1" label)
  expect "$*" "$(control "$@")" ok
  wait_for 20 relabelled "$1" "$before" || broken "$*: the label stays"
}
relabelled() { [ "$(control "$1" label)" != "$2" ]; }

# need_jacorb, need_yoko
need_jacorb() {
  maven_libs jacorb
  java_classes jacorb jacorb Control EchoServant WireLog Options PeerServer
}
need_yoko() {
  maven_libs yoko
  java_classes yoko idlj Control EchoServant WireLog Options PeerServer \
    NoRmiUtil
}
# jacorb_server NAME PORT CONTROL [ALTERNATES]: host:port,host:port.  Replicas
# have one implementation name; with $implname it has another.
jacorb_server() {
  local dir=$cache/jacorb orb=org.jacorb.orb.ORB
  start "$1" "${jvm[@]}" -cp "$dir/classes:$dir/lib/*" PeerServer name="$1" \
    control="$3" ior="$work/$1" prop:org.omg.CORBA.ORBClass=$orb \
    prop:org.omg.CORBA.ORBSingletonClass=${orb}Singleton \
    prop:jacorb.implname="${implname:-EchoCluster}" prop:OAIAddr=127.0.0.1 \
    prop:OAPort="$2" prop:jacorb.connection.client.pending_reply_timeout=3000 \
    prop:jacorb.log.default.verbosity=1 \
    ${4:+prop:jacorb.iiop.alternate_addresses="$4"}
}
# yoko_server NAME PORT CONTROL [HOSTS [--multi-profile]]: host,host
yoko_server() {
  local dir=$cache/yoko orb=org.apache.yoko.orb.CORBA.ORB
  local endpoint="iiop --bind 127.0.0.1 --host \"${4:-127.0.0.1}\" --port $2"
  start "$1" "${jvm[@]}" -Djavax.rmi.CORBA.UtilClass=NoRmiUtil \
    -cp "$dir/classes:$dir/lib/*" PeerServer name="$1" control="$3" \
    ior="$work/$1" prop:org.omg.CORBA.ORBClass=$orb \
    prop:org.omg.CORBA.ORBSingletonClass=${orb}Singleton \
    prop:yoko.orb.noIMR=true prop:yoko.orb.policy.timeout=3000 \
    "prop:yoko.orb.oa.endpoint=$endpoint${5:+ $5}"
}

# relay NAME CONTROL TARGET PORT_NAME=PORT...: see python/relay.py
relay() { start "$1" python3 "$interop/python/relay.py" "${@:2}"; }
# fake NAME PORT CONTROL [little]: see python/fake_server.py
fake() { start "$1" python3 "$interop/python/fake_server.py" "$@"; }
# make_ior FILE HOST:PORT OPTION...: see python/ior.py
make_ior() { python3 "$interop/python/ior.py" "${@:2}" >"$1"; }
