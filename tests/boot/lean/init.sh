#!/bin/sh
# The first process of a guest without systemd. It does with the compiled files what systemd would do, in the same
# order, and brings out a snapshot of the node.
export PATH=/bin:/usr/bin:/usr/local/bin
UNITS=/etc/systemd/system
OUT=/run/out

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
hostname -F /etc/hostname
mkdir -p $OUT /var/lib
while read -r module; do insmod "$module"; done </etc/modules
for card in /sys/class/net/*; do ifconfig "${card##*/}" up; done

# all FILE... KEY: the values of a key, each on a line.
all() {
  key=$1
  shift
  [ -e "$1" ] && sed -n "s/^$key=//p" "$@"
}

# limit UNIT FILE...: a slice or scope, with the CPUs that its files allow.
limit() {
  unit=$1
  shift
  folder=/sys/fs/cgroup
  case $unit in
  *-*.slice) folder=$folder/${unit%%-*}.slice ;;
  esac
  mkdir -p "$folder/$unit"
  echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control
  [ "$folder" = /sys/fs/cgroup ] || echo +cpuset >"$folder/cgroup.subtree_control"
  cpus=$(all AllowedCPUs "$@" | tail -n 1)
  [ -z "$cpus" ] || echo "$cpus" >"$folder/$unit/cpuset.cpus"
}

cpus=$(all CPUAffinity /etc/systemd/system.conf.d/*.conf | tail -n 1)
[ -z "$cpus" ] || taskset -pc "$cpus" 1 >/dev/null
limit init.scope $UNITS/init.scope.d/*.conf
echo 1 >/sys/fs/cgroup/init.scope/cgroup.procs
for file in "$UNITS"/*.slice; do
  [ ! -e "$file" ] || limit "${file##*/}" "$file"
done
for folder in "$UNITS"/*.slice.d; do
  name=${folder##*/}
  [ ! -e "$folder" ] || limit "${name%.d}" "$folder"/*.conf
done
for file in /etc/sysctl.d/*.conf; do
  [ ! -e "$file" ] || sysctl -q -p "$file"
done
cat /etc/tmpfiles.d/*.conf 2>/dev/null | while read -r type path _ _ _ _ value; do
  [ "$type" != w ] || echo "$value" >"$path"
done

# run FILE: what a unit starts. The guest has its devices already, so that one round finds all interrupts.
run() {
  start=$(all ExecStart "$1")
  # shellcheck disable=SC2046,SC2086  # words of a unit
  env ROUNDS=1 $(all Environment "$1") $start || echo "${1##*/}" >>$OUT/failed
}

for wanted in yes no; do
  for file in "$UNITS"/*.service; do
    installed=no
    grep -q '^\[Install\]' "$file" && installed=yes
    [ $installed != $wanted ] || case $file in
    *@.service) ;;
    *) run "$file" ;;
    esac
  done
done

sh /usr/local/bin/cpuplan-snapshot.sh -o $OUT/snapshot.tar.gz >$OUT/said 2>&1
dmesg >$OUT/dmesg
tar -C $OUT -cf /dev/vda .
sync
poweroff -f
