#!/usr/bin/env bash
# Removes the boot arguments and the files that config.sh installed.
set -euo pipefail

root=${ROOT:-}
list=$root/var/lib/cpuplan/files
[[ -e $list ]] || exit 0
rm -f "$root/etc/cpuplan/arguments" "$root/etc/cpuplan/units" "$root/etc/default/grub.d/50-cpuplan.cfg"
bash "$root/usr/local/bin/cpuplan-apply.sh"
while read -r path; do
    rm -f "$root$path"
done <"$list"
rm -f "$list" "$root/var/lib/kubelet/cpu_manager_state" "$root/var/lib/kubelet/memory_manager_state"
