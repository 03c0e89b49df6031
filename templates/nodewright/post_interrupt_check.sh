#!/usr/bin/env bash
# After the reboot, the kernel must have the boot arguments.
set -euo pipefail

if bash "${ROOT:-}/usr/local/bin/cpuplan-apply.sh" --needs-reboot; then
    echo "the running kernel does not have the boot arguments of /etc/cpuplan/arguments" >&2
    exit 1
fi
