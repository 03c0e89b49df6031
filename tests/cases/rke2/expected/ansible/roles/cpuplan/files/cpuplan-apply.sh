#!/usr/bin/env bash
# What files alone do not do: boot arguments, enabled units, and what systemd, sysctl and udev have read. Run again, it
# changes nothing. It says what it changed, a line for each. With --needs-reboot it changes nothing and ends with 0 where
# the running kernel lacks an argument, or has one that is no longer wanted.
set -euo pipefail

root=${ROOT:-}
wanted=$root/etc/cpuplan/arguments
units=$root/etc/cpuplan/units
state=$root/var/lib/cpuplan
[[ -e $wanted ]] || wanted=/dev/null
[[ -e $units ]] || units=/dev/null
# What the boot loader was given last, and what it was given before, so that arguments can go away.
given=$state/arguments
gone=$state/gone

# Programs of the root that the script is given, such as that of an image: those of the machine would change the machine.
in_root() {
    if [[ -z $root ]]; then
        "$@"
    else
        chroot "$root" "$@"
    fi
}

has() {
    # shellcheck disable=SC2016  # the inner shell expands it
    in_root sh -c 'command -v "$1"' sh "$1" >/dev/null
}

mapfile -t new <"$wanted"
old=()
[[ ! -e $given ]] || mapfile -t old <"$given"

has_word() {
    local word=$1 line
    line=" $(cat "$root/proc/cmdline") "
    [[ $line == *" $word "* || $line == *" ${word%%=*}=\"${word#*=}\" "* ]]
}

needs_reboot() {
    local word
    for word in "${new[@]}"; do
        has_word "$word" || return 0
    done
    [[ -e $gone ]] || return 1
    while read -r word; do
        # Each line is a word that this script once added.
        if has_word "$word" && ! grep -qxF -- "$word" "$wanted"; then
            return 0
        fi
    done <"$gone"
    return 1
}

set_arguments() {
    local args
    if [[ ! -e $given && ${#new[@]} == 0 ]] || { [[ -e $given ]] && cmp -s "$wanted" "$given"; }; then
        return 0
    fi
    if [[ -e $root/run/ostree-booted ]]; then
        in_root rpm-ostree kargs "${old[@]/#/--delete-if-present=}" "${new[@]/#/--append=}"
    elif has grubby; then
        # Taken away first: an argument that stays would otherwise keep its old place, and the order of huge pages has a
        # meaning.
        [[ ${#old[@]} == 0 ]] || in_root grubby --update-kernel=ALL --remove-args="${old[*]}"
        [[ ${#new[@]} == 0 ]] || in_root grubby --update-kernel=ALL --args="${new[*]}"
        args=" $(in_root grubby --info=DEFAULT | sed -n 's/^args="\(.*\)"$/\1/p') "
        if [[ ${#new[@]} != 0 && $args != *" ${new[*]} "* ]]; then
            # Older releases of grubby keep one value of each name.
            echo "grubby set other boot arguments than those in $wanted: $args" >&2
            return 1
        fi
    elif has update-grub; then
        in_root update-grub # reads /etc/default/grub.d
    elif has pbl; then
        local word
        for word in "${old[@]}"; do in_root pbl --del-option "$word"; done
        for word in "${new[@]}"; do in_root pbl --add-option "$word"; done
        in_root pbl --config
    else
        echo "no rpm-ostree, grubby, update-grub or pbl: nothing sets the boot arguments in $wanted" >&2
        return 1
    fi
    mkdir -p "$state"
    touch "$given"
    cat "$given" >>"$gone"
    sort -u -o "$gone" "$gone"
    cp "$wanted" "$given"
    echo "changed: boot arguments"
}

enable_units() {
    local unit
    while read -r unit; do
        if ! in_root systemctl is-enabled --quiet "$unit"; then
            in_root systemctl enable --quiet "$unit"
            echo "changed: $unit is enabled"
        fi
    done <"$units"
}

case ${1:-} in
--needs-reboot)
    needs_reboot
    exit
    ;;
esac

set_arguments
if [[ -d $root/run/systemd/system ]]; then
    systemctl daemon-reload
    sysctl --quiet --system
    udevadm control --reload
fi
enable_units
if needs_reboot; then
    # Read by kured and by Debian's tools.
    touch "$root/run/reboot-required"
    echo "a reboot is needed"
fi
