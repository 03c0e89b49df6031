#!/usr/bin/env bash
# Installs the files that are listed beside this script and removes those of the last time that are not listed any more.
set -euo pipefail

folder=${SKYHOOK_DIR:?}/configmaps
root=${ROOT:-}
state=$root/var/lib/cpuplan
mkdir -p "$state"
touch "$state/files"

while read -r path; do
    cut -d ' ' -f 3 "$folder/files" | grep -qxF -- "$path" || rm -f "$root$path"
done <"$state/files"

changed=0
while read -r mode key path; do
    if ! cmp -s "$folder/$key" "$root$path"; then
        changed=1
    fi
    install -D -m "$mode" "$folder/$key" "$root$path"
done <"$folder/files"
cut -d ' ' -f 3 "$folder/files" >"$state/files"

if [[ $changed == 1 ]]; then
    # A kubelet does not start with state files of another policy, or of CPUs that are gone. The node is drained.
    rm -f "$root/var/lib/kubelet/cpu_manager_state" "$root/var/lib/kubelet/memory_manager_state"
fi
bash "$root/usr/local/bin/cpuplan-apply.sh"
