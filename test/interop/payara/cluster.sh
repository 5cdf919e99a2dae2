# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Read by ../payara.sh after lib.sh: a domain of Payara with the old-style
# cluster i1 i2 i3, a deployment group d1 d2 that is not started, and the
# beans of ejb/ deployed to both.  Everything listens on 127.0.0.1, at ports
# from $base on, and is ended when the suite ends.

artifact=fish.payara.distributions:payara:$version:zip
repository=$HOME/.m2/repository
zip=$repository/fish/payara/distributions/payara/$version/payara-$version.zip
home=$work/payara${version%%.*}
glassfish=$home/glassfish
nodes=$glassfish/nodes/localhost-domain1
case $version in
  5.*) jee=javax ;;
  *) jee=jakarta ;;
esac
# Compiled once a version; $classes holds the beans, $java_client the client.
compiled=$cache/payara-$version
classes=$compiled/ejb
java_client=$compiled/client

# ---- ports

# free_block N: the first of so many ports in a row that nobody uses.
free_block() {
  local first
  for first in $(free_ports 200); do
    awk -v first="$first" -v n="$1" '
      function hex(s,   i, value) {
        for (i = 1; i <= length(s); i++)
          value = value * 16 + index("0123456789ABCDEF", substr(s, i, 1)) - 1
        return value
      }
      $2 ~ /:/ {
        port = hex(substr($2, length($2) - 3))
        if (port >= first && port < first + n)
          exit used = 1
      }
      END { exit used || first + n > 32000 }
    ' /proc/net/tcp /proc/net/tcp6 && echo "$first" && return
  done
  return 1
}

# instance_base INSTANCE: its first port.
instance_base() {
  case $1 in
    i?) echo $((base + 100 * ${1#i})) ;;
    d?) echo $((base + 300 + 100 * ${1#d})) ;;
  esac
}
iiop_port() { echo $(($(instance_base "$1") + 37)); }
# addresses [INSTANCE...]: comma separated, as folbEndpoints and the Java
# client want them.
addresses() {
  local instance list=
  [ $# -gt 0 ] || set -- i1 i2 i3
  for instance in "$@"; do
    list=$list,127.0.0.1:$(iiop_port "$instance")
  done
  echo "${list#,}"
}
# corbaloc ADDRESSES: of the name service there.
corbaloc() { echo "corbaloc:iiop:1.2@${1//,/,iiop:1.2@}/NameService"; }

# ---- administration

asadmin() {
  timeout -k 5 180 "$glassfish/bin/asadmin" --interactive=false \
    --port $((base + 48)) "$@" >>"$work/asadmin.log" 2>&1 </dev/null || {
    echo "asadmin $* failed" >&2
    tail -n 5 "$work/asadmin.log" >&2
    return 1
  }
}
# asadmin_file FILE: its lines are commands; one JVM for all of them.
asadmin_file() {
  asadmin multimode --file "$1" || return 1
  ! grep '^Command .* failed' "$work/asadmin.log" >&2
}

# instance_pid INSTANCE|domain1: on standard output, if it runs.
instance_pid() {
  local dir=$nodes/$1 id
  [ "$1" != domain1 ] || dir=$glassfish/domains/domain1
  id=$(cat "$dir/config/pid" 2>/dev/null) && [ -n "$id" ] &&
    tr '\0' '\n' 2>/dev/null <"/proc/$id/cmdline" | grep -qxF "$dir" &&
    echo "$id"
}
# slay INSTANCE...: kill -9; gone when it returns.
slay() {
  local instance id
  for instance in "$@"; do
    id=$(instance_pid "$instance") || continue
    kill -9 "$id"
    while [ -d "/proc/$id" ]; do sleep 0.01; done
  done
}
# stop_instance INSTANCE: in an orderly way.
stop_instance() {
  asadmin stop-local-instance --node localhost-domain1 "$1"
}
# seed INSTANCE: what the domain has found out about its modules holds for
# instances too and saves each of them half of its first start.  The modules
# themselves, most of it, are never written again.
seed() {
  local to=$nodes/$1
  cd "$glassfish/domains/domain1" &&
    tar -cf - --exclude='*.jar' osgi-cache | tar -xf - -C "$to" &&
    find osgi-cache -name '*.jar' -exec cp -l --parents -t "$to" {} + &&
    cd "$top"
}
# launch INSTANCE...: side by side; they are ready when "ready" says so.
launch() {
  local instance waits=() status=0
  for instance in "$@"; do
    [ -d "$nodes/$instance/osgi-cache" ] || seed "$instance" || return 1
    asadmin start-local-instance --node localhost-domain1 "$instance" &
    waits+=($!)
  done
  for instance in "${waits[@]}"; do
    wait "$instance" || status=1
  done
  return $status
}

# direct INSTANCE COMMAND...: the last answer of a plain client of that
# instance, on standard output; may be called anywhere.
direct() {
  local to
  to=$(corbaloc "$(addresses "$1")")
  shift
  printf '%s\n' "$@" |
    timeout -k 5 20 "$bin/payara_client" "$to" "${orb_options[@]}" 2>&1 |
    sed -n '$s/^[0-9]* //p'
}
# ready INSTANCE...: until calls succeed there, which is some seconds after
# asadmin has said that it runs.
ready() {
  local instance deadline=$((SECONDS + 120))
  for instance in "$@"; do
    until [ "$(direct "$instance" "open f $stateful" "open l $stateless" \
      "whereami f" "whereami l")" = "$instance" ]; do
      if [ $SECONDS -ge $deadline ]; then
        echo "$instance does not answer" >&2
        tail -n 5 "$nodes/$instance/logs/server.log" >&2
        return 1
      fi
      sleep 0.2
    done
  done
}
# hook INSTANCE add|remove MEMBER...: until that is what it thinks its
# cluster is.
hook() {
  local instance=$1 change=$2 member
  shift 2
  for member in "$@"; do
    hook_one "$instance" "$change" "$member" || return 1
  done
}
hook_one() {
  local tries=100 members told=
  while :; do
    members=$(direct "$1" "open o $stateless" "admin o members")
    case $2,$members in
      add,[\[{]*"$3"*) return ;;
      add,[\[{]* | remove,[\[{]*"$3"*) ;;
      remove,[\[{]*) return ;;
    esac
    tries=$((tries - 1))
    if [ $tries -le 0 ]; then
      echo "$1: $2 $3 left it with $members" >&2
      return 1
    fi
    [ -n "$told" ] ||
      told=$(direct "$1" "open o $stateless" "admin o $2:$3")
    sleep 0.1
  done
}

# ---- setting up

compile_beans() {
  local stamp=$compiled/stamp
  if [ -f "$stamp" ] && [ -z "$(find "$interop/payara" -name '*.java' \
    -newer "$stamp")" ]; then
    return
  fi
  rm -rf "$compiled" && mkdir -p "$compiled/src" "$classes" "$java_client" &&
    for file in "$interop"/payara/ejb/*.java; do
      sed "s/@EE@/$jee/" "$file" >"$compiled/src/${file##*/}" || return
    done &&
    "$java/javac" -nowarn -Xlint:none -source 8 -target 8 -d "$classes" \
      -cp "$glassfish/modules/*" "$compiled"/src/*.java &&
    "$java/jar" cf "$compiled/folb.jar" -C "$classes" . &&
    "$java/javac" -nowarn -Xlint:none -d "$java_client" \
      -cp "$classes:$glassfish/lib/gf-client.jar:$glassfish/modules/*" \
      "$interop/payara/client/JavaClient.java" &&
    touch "$stamp"
}

# Everything that was started out of $home, also what is just starting.
end_cluster() {
  local ids
  [ -z "${KEEP:-}" ] || for ids in "$nodes"/*/logs; do
    cp "$ids/server.log" "$work/$(basename "${ids%/logs}").server.log"
  done
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    ids=$(grep -lsF -f - /proc/[0-9]*/cmdline <<<"$home/" |
      sed 's/[^0-9]//g')
    [ -n "$ids" ] || return 0
    # shellcheck disable=SC2086  # words: numbers of processes
    kill -9 $ids 2>/dev/null
    sleep 0.1
  done
}

# set_up: returns when the three instances answer.
set_up() {
  local instance compiler
  [ -f "$zip" ] || maven "$work/maven.log" \
    org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get \
    -Dmaven.repo.local="$repository" -Dartifact="$artifact" \
    -Dtransitive=false || return 1
  (cd "$work" && unzip -q "$zip") || return 1
  chmod +x "$home"/bin/* "$glassfish"/bin/*
  base=$(free_block 700) || {
    echo "no 700 ports in a row are free" >&2
    return 1
  }
  python3 "$interop/payara/loopback.py" \
    "$glassfish/domains/domain1/config/domain.xml" "$base" || return 1
  at_exit end_cluster
  compile_beans >"$work/javac.log" 2>&1 &
  compiler=$!
  asadmin start-domain domain1 || return 1
  wait $compiler || { cat "$work/javac.log" >&2; return 1; }

  {
    echo "create-cluster cl1"
    echo "create-deployment-group dg1"
    for instance in i1 i2 i3; do
      echo "create-local-instance --node localhost-domain1 --cluster cl1" \
        "--portbase $(instance_base $instance) $instance"
    done
    for instance in d1 d2; do
      echo "create-local-instance --node localhost-domain1" \
        "--deploymentgroup dg1 --portbase $(instance_base $instance) $instance"
    done
    # Instances read each other's weights when they start.
    echo "set servers.server.i1.lb-weight=300"
    # Calls of stateful beans survive their instance only with this.
    echo "deploy --availabilityenabled=true --target cl1 --name folb" \
      "$compiled/folb.jar"
    echo "create-application-ref --target dg1 folb"
  } >"$work/commands"
  asadmin_file "$work/commands" || return 1
  launch i1 i2 i3 && ready i1 i2 i3
}
