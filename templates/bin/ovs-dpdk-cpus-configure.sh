#!/usr/bin/env bash
# ovs-dpdk-cpus-configure.sh CPUS PARTITION: makes the threaded cgroup ovsdpdk.slice below ovs-vswitchd.service, which has
# CPUS exclusively (cgroup v2). PARTITION is member or isolated: with the latter, the scheduler does not balance load
# between these CPUs.
set -euo pipefail

cpus=${1:?}
partition=${2:?}

slice=${CGROUPS:-/sys/fs/cgroup}/ovs.slice
service=$slice/ovs-vswitchd.service
threads=$service/ovsdpdk.slice

if [[ ! -d $service ]]; then
    echo "there is no cgroup $service: ovs-vswitchd is not running" >&2
    exit 1
fi

# systemd delegates these controllers to the service (Delegate=); they are passed on from there.
echo "+cpuset +cpu +pids" >"$service/cgroup.subtree_control"
mkdir -p "$threads"
echo threaded >"$threads/cgroup.type"

# A CPU is exclusive to a cgroup only if it is to all of those above.
for cgroup in "$slice" "$service" "$threads"; do
    echo "$cpus" >"$cgroup/cpuset.cpus.exclusive"
done
echo "$partition" >"$threads/cpuset.cpus.partition"
