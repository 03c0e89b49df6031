#!/usr/bin/env bash
# Moves interrupts to the CPUs of the list CPUS. There are several rounds, since a driver may ask for interrupts only when
# its device is set up. The kernel refuses to move those that it places itself; their numbers are left in UNMOVABLE.
set -euo pipefail
export LC_ALL=C

proc=${PROC:-/proc}
rounds=${ROUNDS:-6}
pause=${PAUSE:-5}
unmovable=${UNMOVABLE:-/run/cpuplan-unmovable-interrupts}

declare -A allowed=() placed_by_kernel=()
declare -i moved=0 failed=0

# Sets the array numbers to those of the list $1.
expand() {
    local part
    local -i cpu
    numbers=()
    for part in ${1//,/ }; do
        for ((cpu = ${part%-*}; cpu <= ${part#*-}; cpu++)); do
            numbers+=("$cpu")
        done
    done
}

# Whether the list $1 has allowed CPUs only.
is_allowed() {
    local cpu
    expand "$1"
    for cpu in "${numbers[@]}"; do
        [[ -n ${allowed[$cpu]:-} ]] || return 1
    done
}

# Moves the interrupt with the file $1. One that has gone meanwhile is passed over.
move() {
    local irq=${1%/*} now error
    irq=${irq##*/}
    now=$(cat "$1" 2>/dev/null) || return 0
    if [[ -n ${placed_by_kernel[$irq]:-} ]] || is_allowed "$now"; then
        return
    fi
    if error=$( { echo "$CPUS" >"$1"; } 2>&1); then
        moved+=1
    elif [[ $error == *"Input/output error"* || $error == *"Operation not permitted"* ]]; then
        placed_by_kernel[$irq]=1
    elif [[ -e $1 ]]; then
        echo "interrupt $irq stays on CPUs $now: $error" >&2
        failed+=1
    fi
}

expand "${CPUS:?}"
for cpu in "${numbers[@]}"; do
    allowed[$cpu]=1
done

for ((round = 1; round <= rounds; round++)); do
    if ((round > 1)); then
        sleep "$pause"
    fi
    failed=0
    for file in "$proc"/irq/*/smp_affinity_list; do
        move "$file"
    done
done

for irq in "${!placed_by_kernel[@]}"; do
    echo "$irq"
done | sort -n >"$unmovable"
echo "$moved moved, ${#placed_by_kernel[@]} placed by the kernel, $failed failed"
((failed == 0))
