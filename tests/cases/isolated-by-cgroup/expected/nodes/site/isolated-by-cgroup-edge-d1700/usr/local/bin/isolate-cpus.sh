#!/usr/bin/env bash
# isolate-cpus.sh CPUS: gives the cgroup isolcpus-threads.slice CPUS as an isolated partition (cgroup v2, Linux 6.7 or
# later), so that the scheduler keeps all other tasks off them. Run again, it mends a partition that became invalid.
set -euo pipefail

cpus=${1:?}

slice=${CGROUPS:-/sys/fs/cgroup}/isolcpus.slice
threads=$slice/isolcpus-threads.slice

if [[ ! -e $threads/cpuset.cpus.exclusive ]]; then
    echo "there is no $threads/cpuset.cpus.exclusive: cgroup v2 and Linux 6.7 are needed" >&2
    exit 1
fi

state=$(<"$threads/cpuset.cpus.partition")
if [[ $state == isolated && $(<"$threads/cpuset.cpus.exclusive.effective") == "$cpus" ]]; then
    exit 0
fi
echo "the partition is $state: it is made anew"

# From below: CPUs that a parent stops granting first would stay isolated until a reboot.
echo member >"$threads/cpuset.cpus.partition"
# A CPU is exclusive to a cgroup only if it is to all of those above. With this, cpusets of others at the root may contain
# the CPUs, and still lose them.
for cgroup in "$slice" "$threads"; do
    echo "$cpus" >"$cgroup/cpuset.cpus.exclusive"
done
echo isolated >"$threads/cpuset.cpus.partition"

# The kernel refuses a partition only where it is read.
state=$(<"$threads/cpuset.cpus.partition")
if [[ $state != isolated ]]; then
    echo "CPUs $cpus are not isolated: the partition is $state" >&2
    exit 1
fi
