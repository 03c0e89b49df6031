#!/usr/bin/env bash
# Lets irqbalance start with no CPU banned. A mask of the last boot would keep interrupts from CPUs that no pod has any more.
set -euo pipefail

config=${1:-/etc/sysconfig/irqbalance}
saved_by_crio=${2:-/etc/sysconfig/orig_irq_banned_cpus}

if [[ ! -e $config ]]; then
    exit 0
fi

others=$(grep -Ev '^[[:space:]]*IRQBALANCE_BANNED_CPUS=' "$config" || true)
printf '%s\n' ${others:+"$others"} IRQBALANCE_BANNED_CPUS=0 >"$config"

# CRI-O restores this mask when it starts.
if [[ -e $saved_by_crio ]]; then
    echo 0 >"$saved_by_crio"
fi
