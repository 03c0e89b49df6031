#!/usr/bin/env bash
# Waits until the machine has HUGEPAGES_COUNT pages of HUGEPAGES_SIZE kB. At boot the kernel sets aside what it finds
# memory for, and reports fewer in its log only; units may be about to set aside those of NUMA nodes.
set -euo pipefail

sysfs=${SYSFS:-/sys}
attempts=${ATTEMPTS:-60}
pages=$sysfs/kernel/mm/hugepages/hugepages-${HUGEPAGES_SIZE:?}kB/nr_hugepages

if [[ ! -e $pages ]]; then
    echo "the kernel has no pages of $HUGEPAGES_SIZE kB" >&2
    exit 1
fi

for ((attempt = 0; attempt < attempts; attempt++)); do
    found=$(<"$pages")
    if ((found >= ${HUGEPAGES_COUNT:?})); then
        exit 0
    fi
    sleep 1
done

echo "there are $found of $HUGEPAGES_COUNT pages of $HUGEPAGES_SIZE kB" >&2
exit 1
