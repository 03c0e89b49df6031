#!/bin/sh
# room.sh ROOT FOLDER COMMAND...: runs a command in a root file system, which sees FOLDER as /mnt. Run in namespaces of
# its own (unshare), it can change nothing of the machine that it runs on.
set -eu
root=$1 folder=$2
shift 2
mount --bind "$root" "$root"
mount --bind -o ro "$folder" "$root/mnt"
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/dev"
mkdir "$root/dev/shm"
ln -s /proc/self/fd "$root/dev/fd"
for device in null zero random urandom; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
exec chroot "$root" "$@"
