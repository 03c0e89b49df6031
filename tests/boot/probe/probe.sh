#!/bin/sh
# Parts of a test of booted nodes: `slices` stands in for the kubelet, `look` brings out what is seen, and `keep` what
# was written.
set -u
OUT=/run/seen

# slice NAME: a transient slice over D-Bus, with the controllers that the kubelet asks for.
slice() {
  busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager \
    StartTransientUnit 'ssa(sv)a(sa(sv))' "$1" replace 3 \
    Description s pods CPUAccounting b true Delegate b true 0
}

slices() {
  [ -e /etc/probe/containers ] || exit 0
  slice kubepods.slice
  slice kubepods-burstable.slice
  slice kubepods-besteffort.slice
  # Container runtimes give containers all CPUs, whatever affinity they have themselves.
  while read -r slice unit cpus; do
    slice "$slice"
    systemd-run --quiet --slice="$slice" --unit="$unit" --property=AllowedCPUs="$cpus" \
      taskset -c 0-4095 sleep infinity
  done </etc/probe/containers
}

# read_all FILE...: the lines of files of /proc and /sys, each after its path. One process reads all: a guest is slow.
read_all() { grep -asH '' "$@"; }

look() {
  udevadm settle
  sleep 5
  mkdir -p "$OUT"
  {
    read_all /proc/cmdline /proc/interrupts /proc/meminfo /proc/irq/default_smp_affinity
    read_all /proc/[0-9]*/comm /proc/[0-9]*/task/[0-9]*/comm /proc/[0-9]*/task/[0-9]*/cgroup /proc/[0-9]*/cmdline
    grep -asH '^Cpus_allowed_list' /proc/[0-9]*/task/[0-9]*/status
    read_all /proc/irq/[0-9]*/smp_affinity_list /proc/irq/[0-9]*/effective_affinity_list
    read_all /sys/devices/system/cpu/* /sys/devices/system/cpu/cpu*/online /sys/devices/system/cpu/cpu*/topology/*
    read_all -r /sys/devices/system/cpu/cpu*/cache
    read_all /sys/devices/system/node/node*/* /sys/devices/system/node/node*/hugepages/*/nr_hugepages
    find /sys/fs/cgroup -name 'cpuset.cpus*' -exec grep -asH '' {} +
    grep -asH "" /sys/class/net/*/queues/rx-*/rps_cpus
    read_all /sys/devices/virtual/workqueue/cpumask
  } >"$OUT/facts"
  for irq in /proc/irq/[0-9]*/*/; do echo "$irq"; done >"$OUT/actions"
  mkdir -p "$OUT/run"
  cat /run/cpuplan-unmovable-interrupts >"$OUT/run/unmovable" 2>/dev/null
  sysctl -a >"$OUT/sysctl" 2>/dev/null
  dmesg >"$OUT/dmesg"
  systemctl list-units --all --no-legend --plain >"$OUT/units"
  systemctl --failed --no-legend --plain >"$OUT/failed"
  while read -r unit _; do systemctl status --no-pager "$unit"; done <"$OUT/failed" >"$OUT/failures"
  for process in $(pgrep -x irqbalance); do
    mkdir -p "$OUT/proc/$process"
    cat "/proc/$process/environ" >"$OUT/proc/$process/environ"
  done
  for check in /var/lib/nodewright/*/configmaps/post_interrupt_check.sh; do
    [ -e "$check" ] && bash "$check" >"$OUT/after-reboot" 2>&1
  done
  for path in /etc/systemd /etc/kubernetes /etc/crio /etc/containerd /etc/cpuplan /etc/default /etc/sysconfig \
    /etc/sysctl.d /etc/tmpfiles.d /etc/udev/rules.d /etc/tuned /usr/local/bin; do
    [ -e "$path" ] && cp -a --parents "$path" "$OUT"
  done
  sh /usr/local/bin/cpuplan-snapshot.sh -o "$OUT/snapshot.tar.gz" >"$OUT/said" 2>&1
  tar -C "$OUT" -cf /dev/vda .
  sync
}

# keep: what the first boot wrote, for the second one.
keep() {
  tar -C / -cf /dev/vda etc boot/grub usr/local var/lib/cloud var/lib/cpuplan var/log
  sync
}

"$1"
