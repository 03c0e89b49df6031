#!/usr/bin/env bash
# Writes an RPS mask to the receive queues of a network device: set-rps-mask.sh DEVPATH MASK. DEVPATH is what udev calls
# a queue or the device itself, without /sys. Queues that have gone by now are passed over.
set -euo pipefail

sysfs=${SYSFS:-/sys}
device=$sysfs/${1:?}
mask=${2:?}

if [[ $device == */queues/rx* ]]; then
    queues=("$device")
else
    queues=("$device"/queues/rx-*)
fi

for queue in "${queues[@]}"; do
    if [[ -w $queue/rps_cpus ]]; then
        echo "$mask" >"$queue/rps_cpus"
    fi
done
