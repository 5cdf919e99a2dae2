# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Read by ../payara.sh: the two clients of every scenario, and how their
# answers are looked at.

# omni NAME ADDRESSES [VARIABLE=VALUE...]: an omniORB client with the plug-in,
# which knows these addresses of name services and members and nothing else.
omni() {
  local name=$1 known=$2
  shift 2
  client "$name" env LD_PRELOAD="$plugin" ORBfolbEndpoints="$known" \
    ORBclientCallTimeOutPeriod=30000 "$@" \
    "$bin/payara_client" "$(corbaloc "$known")" "${orb_options[@]}"
}

# What the client's container asks of a JDK with modules.
opens=()
for package in java.base/java.{lang,lang.reflect,io,util,net} \
  java.base/sun.net.www.protocol.jrt java.base/jdk.internal.misc \
  java.naming/javax.naming.spi java.rmi/sun.rmi.transport \
  java.management/javax.management{,.openmbean}; do
  opens+=(--add-opens "$package=ALL-UNNAMED")
done

# Its log would fill pages when a scenario fails.
echo .level=OFF >"$work/logging"

# jndi NAME ADDRESSES [JVM_OPTION...]: the Java client; when nobody is left it
# gives up after some seconds, not after a minute or two.
jndi() {
  local name=$1 known=$2
  shift 2
  client "$name" "$java/java" -Xms32m -Xmx160m -XX:+UseSerialGC \
    -XX:TieredStopAtLevel=1 "${opens[@]}" \
    -Djava.util.logging.config.file="$work/logging" \
    -Dcom.sun.corba.ee.transport.ORBTCPConnectTimeouts=250:2000:100:1000 \
    -Dcom.sun.appserv.iiop.endpoints="$known" "$@" \
    -cp "$java_client:$classes:$glassfish/lib/gf-client.jar" JavaClient
}

# both COMMAND...: asked of the omniORB client o and the Java client j at the
# same time; what they answered is $answer and $took, $java_answer and
# $java_took.  What the Java client does is shown, not judged.
both() {
  say o "$@"
  say j "$@"
  hear j 120
  java_answer=$answer java_took=$took
  hear o 120
}

# shares SUMMARY: "i1=10 i2=20", errors too; may be called anywhere, as the
# next one.
shares() { sed -n 's/.*worst=[0-9]* //p' <<<"$1"; }
# instances SUMMARY: "i1 i2": those that answered.
instances() {
  shares "$1" | tr ' ' '\n' | sed -n 's/^\([id][0-9]\)=.*/\1/p' | xargs
}

# bind OBJECT INSTANCE NAME: in a new context of each client; afterwards
# contexts and what is looked up in them have the object's name too.
bind() {
  both bind "$@"
  expect "bound to" "$answer" "$2"
}
# contexts N INSTANCE...: so many new contexts of o are served by exactly
# these, without any error.
contexts() {
  local n=$1
  shift
  both spread "$n" "$stateless"
  expect "errors in new contexts" "$answer" "* errors=0 maybe=0 *"
  expect "instances in new contexts" "$(instances "$answer")" "$*"
  seen "contexts $(shares "$answer"), java $(shares "$java_answer");"
}
# contexts_soon N INSTANCE...: at some time within 20 s: who was ejected
# before has to return.
contexts_soon() {
  local deadline=$((SECONDS + 20)) n=$1
  shift
  until ask o spread "$n" "$stateless"
    [ "$(instances "$answer")" = "$*" ] || [ $SECONDS -ge $deadline ]; do
    sleep 0.3
  done
  expect "instances in new contexts at last" "$(instances "$answer")" "$*"
  ask j spread "$n" "$stateless"
  seen "contexts $*, java $(instances "$answer");"
}
# wire CLIENT REPLIES UPDATES: of an omniORB client since it was asked last.
wire() {
  ask "$1" wire
  expect "on the wire" "$answer" "replies=$2 updates=$3"
}
# compare WHAT: of the last command of both, the times are shown.
compare() {
  seen "$1 $(milliseconds "$took") ms, java $(milliseconds "$java_took") ms;"
}
# first_call OBJECT INSTANCE o|j: whereami after a kill is answered from
# there; the named client is asked first, the other when it has its answer.
# The times of a run add up in $first_calls and $java_first_calls.
first_calls=0 java_first_calls=0
first_call() {
  local at
  [ "$3" = o ] || ask j whereami "$1"
  java_took=$took java_answer=$answer
  ask o whereami "$1"
  expect "first call after the kill" "$answer" "$2"
  at=$answer first_calls=$((first_calls + took))
  [ "$3" = j ] || {
    local own=$took
    ask j whereami "$1"
    java_took=$took java_answer=$answer took=$own
  }
  java_first_calls=$((java_first_calls + java_took))
  answer=$at
  compare "first call, at $at,"
}
