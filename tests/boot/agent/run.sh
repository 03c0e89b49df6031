#!/bin/sh
# Runs the containers of /agent on the guest, one after the other, and brings out what each printed.
set -u
OUT=/run/seen
mkdir -p "$OUT"

# A runtime changes the root of a mount namespace, which cannot be done with the root that the kernel unpacks.
if [ "${1-}" != inside ]; then
  mkdir -p /agent/root
  exec unshare --mount --propagation private sh -c \
    'mount --rbind / /agent/root && cd /agent/root && mount --move . / && exec chroot . /bin/sh /agent/run.sh inside'
fi

# What a node has: sockets, keys, volumes of pods, formats of programs, processes without capabilities.
insmod /agent/binfmt_misc.ko* && mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
mkdir -p /var/log/containers
mount -t tmpfs tmpfs /var/lib/kubelet/pods/1/volumes/kubernetes.io~secret/a
echo secret >/var/lib/kubelet/pods/1/volumes/kubernetes.io~secret/a/token
python3 -c 'import socket, time
ways = [socket.socket(socket.AF_UNIX) for _ in range(2)]
ways[0].bind("/var/lib/kubelet/device-plugins/kubelet.sock")
ways[1].bind("\0cpuplan")
for way in ways:
    way.listen()
time.sleep(9999)' &
for user in 0 65532; do
  setpriv --reuid $user --regid $user --clear-groups --bounding-set=-all --inh-caps=-all sleep 9999 &
done
find / -xdev -name 'cpuplan-was-here*' -delete 2>/dev/null

for bundle in /agent/bundles/*; do
  name=${bundle##*/}
  echo "$name" >/dev/console
  if [ -e "$bundle/submount" ]; then mount -t tmpfs -o mode=1777 tmpfs /etc/submount; fi
  cd "$bundle" && timeout 300 runc run "$name" >"$OUT/$name.out" 2>"$OUT/$name.err"
  echo $? >"$OUT/$name.code"
  if [ -e "$bundle/submount" ]; then
    find /etc/submount -name 'cpuplan-was-here*' >"$OUT/$name.marks"
    umount /etc/submount
  fi
  find / -xdev -name 'cpuplan-was-here*' >>"$OUT/$name.marks" 2>/dev/null
  find /run /tmp /dev /sys/fs/cgroup -name 'cpuplan-was-here*' >>"$OUT/$name.marks" 2>/dev/null
  find / -xdev -name 'cpuplan-was-here*' -delete 2>/dev/null
  find /run /tmp /dev -name 'cpuplan-was-here*' -delete 2>/dev/null
done
tar -C "$OUT" -cf /dev/vda .
sync
