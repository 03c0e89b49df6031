#!/bin/sh
# Collects what `cpuplan check` reads of a node into one tar archive, and changes nothing on the node.
#
#   sh cpuplan-snapshot.sh > node.tar.gz          or: -o node.tar.gz
#   -r ROOT      the node's root file system: /host in a container  [default: /]
#   -w SECONDS   between the two looks at /proc/interrupts  [default: 3]
#
# It runs as root, or as a user with what that user may read. Left out: keys, certificates, the contents of kubeconfigs,
# environments (but for the CPUs that irqbalance and containers are told). Words that look like passwords or tokens are
# replaced by REDACTED. Needs sh, find, awk, sed, grep, tar, xargs and mktemp, as busybox has them.
set -u
umask 077
export LC_ALL=C

FORMAT=1
MAX_TASKS=20000
MAX_FILES=60000
MAX_BYTES=268435456
SECONDS_OF_A_COMMAND=10

root=/
out=''
pause=3
while getopts o:r:w:h option; do
  case $option in
    o) out=$OPTARG ;;
    r) root=$OPTARG ;;
    w) pause=$OPTARG ;;
    h)
      sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "$0"
      exit 0
      ;;
    *) exit 2 ;;
  esac
done
case $pause in
  '' | *[!0-9]*)
    echo "cpuplan-snapshot: -w takes a number of seconds, not '$pause'" >&2
    exit 2
    ;;
esac
if [ ! -d "$root/proc" ]; then
  echo "cpuplan-snapshot: $root has no proc/: give the root of a node with -r" >&2
  exit 2
fi
if [ -z "$out" ] && [ -t 1 ]; then
  echo "cpuplan-snapshot: the archive is not for a terminal: use -o FILE, or redirect the output" >&2
  exit 2
fi
root=${root%/}
# Now, and not after everything was collected.
if [ -n "$out" ] && ! true >"$out"; then exit 2; fi

work=$(mktemp -d "${TMPDIR:-/tmp}/cpuplan-snapshot.XXXXXX") || exit 1
to=$work/root
lists=$work/lists
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM
mkdir -p "$to/cpuplan" "$lists"

# Words and lines that may hold a secret. The names of settings stay, and so do truth values and durations, so that what
# is checked can still be read (--authentication-token-webhook=true). A mark, the end of a line, keeps them from the rules.
WORD='([Pp][Aa][Ss][Ss]([Ww][Oo][Rr][Dd]|[Ww][Dd]|[Pp][Hh][Rr][Aa][Ss][Ee])|[Tt][Oo][Kk][Ee][Nn]|[Ss][Ee][Cc][Rr][Ee][Tt])[A-Za-z0-9_.-]*|([Aa][Pp][Ii]|[Aa][Cc][Cc][Ee][Ss][Ss]|[Pp][Rr][Ii][Vv][Aa][Tt][Ee])[_-]?[Kk][Ee][Yy]|([^A-Za-z]|^)[Pp][Aa][Ss][Ss]|_[Aa][Uu][Tt][Hh]|set_credential(_binary)?'
NAME="($WORD)[\"']?[[:blank:]]*[=:][[:blank:]]*"
HEADER="(^|[[:blank:],{[\"'])(auth|identitytoken|Authorization)[\"']?[[:blank:]]*[=:][[:blank:]]*"
REDACT="s#([=:][[:blank:]]*)(true|false|([0-9]+(ms|[hms]))+)([[:blank:],;}\"']|\$)#\\1\\n\\2\\5#g
s#://[^/@[:blank:]\"]*:[^/@[:blank:]\"]*@#://REDACTED@#g
s#(iscsi:)[^/@[:blank:]\"]*@#\\1REDACTED@#g
s#([\"'][A-Za-z0-9_]*($WORD)=)[^\"']*#\\1REDACTED#g
s#($NAME)\"[^\"]*\"#\\1\"REDACTED\"#g
s#($NAME)'[^']*'#\\1'REDACTED'#g
s#($NAME)\\[[^]]*\\]#\\1[\"REDACTED\"]#g
s#($NAME)[^][:space:],;\"'[][^][:space:],;\"']*#\\1REDACTED#g
s#(^|[^A-Za-z0-9_-])(--?[a-z-]*(password|passphrase|token|secret)[a-z-]*)[[:blank:]]+(\"[^\"]*\"|'[^']*'|[^\\[:space:]-][^[:space:]]*)#\\1\\2 REDACTED#g
/curl|wget/s#(^|[[:blank:]])(-u|--user)([[:blank:]]+|=)[^[:space:]:]+:[^[:space:]]+#\\1\\2 REDACTED#g
s#($HEADER)\"[^\"]*\"#\\1\"REDACTED\"#g
s#($HEADER)\\[[^]]*\\]#\\1[\"REDACTED\"]#g
s#($HEADER)[^\"'[[:blank:]][^\"']*#\\1REDACTED#g
s#^([[:blank:]]*(password(_pbkdf2)?[[:blank:]]+|SetCredential[A-Za-z]*=))[^=:].*#\\1REDACTED#
s#eyJ[A-Za-z0-9_=-]+\\.[A-Za-z0-9_=.-]+|(gh[a-z]|glpat|github_pat)[_-][A-Za-z0-9_-]+#REDACTED#g
s#\\n##g"
SECRET='PRIVATE KEY|client-key|client-certificate|certificate-authority-data'
MENTIONS="$WORD|[Pp]assphrase|://[^/@ ]*:[^/@ ]*@|iscsi:|auth[\"']? *[=:]|Authorization|SetCredential|eyJ|gh[a-z]_|glpat-|github_pat_|curl|wget"

redact() { sed -E "$REDACT"; }

# Below: list_* name files of the node, one in a line, with the root before them.

# regular FIND-ARGUMENTS: the readable files that find finds, with as little as possible said of what is missing.
regular() { find "$@" -type f -perm -400 2>/dev/null; }

list_kernel() {
  for name in cmdline cpuinfo meminfo version stat uptime softirqs cgroups filesystems mounts modules vmstat swaps \
    schedstat loadavg; do
    [ -f "$root/proc/$name" ] && printf '%s\n' "$root/proc/$name"
  done
  regular "$root/proc/irq" -maxdepth 2
  regular "$root/proc/sys/kernel" "$root/proc/sys/vm" "$root/proc/sys/net/core" "$root/proc/sys/net/ipv4" \
    "$root/proc/sys/fs" -maxdepth 2 ! -path '*/random/*' ! -path '*/keys/*' ! -path '*/firmware_config/*' ! -name '*_key'
  regular "$root/proc/pressure"
}

list_tasks() {
  for task in "$root"/proc/[0-9]*; do
    printf '%s\n' "$task/stat" "$task/status" "$task/cgroup" "$task/comm"
  done
  for task in "$root"/proc/[0-9]*/task/[0-9]*; do
    printf '%s\n' "$task/stat" "$task/status" "$task/cgroup" "$task/comm"
  done | head -n $((4 * MAX_TASKS))
}

# Only what was named: reading some others, such as scaling_cur_freq, disturbs the CPU.
list_devices() {
  cpu=$root/sys/devices/system/cpu
  regular "$cpu" -maxdepth 1 ! -name uevent ! -name probe ! -name release
  regular "$cpu/smt" "$cpu/intel_pstate" "$cpu/amd_pstate" -maxdepth 1
  regular "$cpu/cpuidle" -maxdepth 1
  regular "$cpu" \( -path '*/topology/*' -o -path '*/cache/index*/*' -o -path '*/cpu[0-9]*/online' \
    -o -path '*/cpuidle/state*/name' -o -path '*/cpuidle/state*/disable' -o -path '*/cpuidle/state*/latency' \
    -o -name scaling_governor -o -name scaling_driver -o -name 'scaling_m??_freq' -o -name 'cpuinfo_m??_freq' \
    -o -name affected_cpus -o -name energy_performance_preference -o -name boost -o -name base_frequency \
    -o -name pm_qos_resume_latency_us -o -name cpu_capacity \) ! -name uevent
  regular "$root/sys/devices/system/node" -maxdepth 1 ! -name uevent
  regular "$root/sys/devices/system/node" \( -name cpulist -o -name cpumap -o -name meminfo -o -name distance \
    -o -path '*/hugepages/*' \)
  regular "$root/sys/devices/system/clocksource/clocksource0" "$root/sys/devices/system/machinecheck/machinecheck0" \
    -maxdepth 1
  regular "$root/sys/devices/virtual/workqueue" ! -name uevent ! -path '*/power/*'
  regular "$root/sys/devices" \( -name numa_node -o -name local_cpulist -o -name local_cpus -o -name class \
    -o -name vendor -o -name device -o -name sriov_numvfs -o -name sriov_totalvfs -o -name rps_cpus \
    -o -name xps_cpus -o -name rps_flow_cnt -o -path '*/mq/*/cpu_list' -o -path '*/msi_irqs/*' \) | head -n "$MAX_FILES"
}

list_sys() {
  regular "$root/sys/kernel/mm/hugepages" "$root/sys/kernel/mm/transparent_hugepage"
  regular "$root/sys/kernel" -maxdepth 1 ! -name notes ! -name vmcoreinfo
  regular "$root/sys/kernel/iommu_groups" -maxdepth 2 -name type
  regular "$root/sys/module" -maxdepth 3 -path '*/parameters/*'
  regular "$root/sys/kernel/debug/irq/irqs" -maxdepth 1
  for name in enforce avc/cache_threshold; do
    [ -f "$root/sys/fs/selinux/$name" ] && printf '%s\n' "$root/sys/fs/selinux/$name"
  done
  for name in sys_vendor product_name bios_version; do
    [ -f "$root/sys/class/dmi/id/$name" ] && printf '%s\n' "$root/sys/class/dmi/id/$name"
  done
  regular "$root/sys/fs/cgroup" -maxdepth 12 \( -name 'cpuset.*' -o -name cpu.max -o -name cpu.stat -o -name cpu.weight \
    -o -name 'cpu.cfs_*_us' -o -name cpu.shares -o -name cgroup.procs -o -name cgroup.type -o -name cgroup.events \
    -o -name cgroup.controllers -o -name cgroup.subtree_control \) | head -n "$MAX_FILES"
}

list_links() {
  find "$root/sys/bus/pci/devices" "$root/sys/bus/workqueue/devices" "$root/sys/class/net" "$root/sys/class/block" \
    "$root/sys/class/iommu" -maxdepth 1 -type l 2>/dev/null
  find "$root/sys/devices/system/node" "$root/sys/devices/system/cpu" -maxdepth 2 -type l \
    \( -name 'cpu[0-9]*' -o -name cpufreq -o -name 'node[0-9]*' \) 2>/dev/null
  find "$root/sys/devices" -type l \( -name driver -o -name physfn -o -name iommu_group -o -name device \) 2>/dev/null
  find "$root/run/systemd/units" -type l 2>/dev/null
}

# Files that people, packages and programs write: they have their size, so tar can copy them with mode and time.
list_written() {
  kernel=$(uname -r)
  for place in etc/hostname etc/os-release usr/lib/os-release etc/machine-config-daemon/state.json etc/kernel/cmdline \
    etc/sysctl.conf etc/tuned etc/default etc/sysctl.d etc/systemd/system etc/systemd/system.conf \
    etc/systemd/system.conf.d etc/systemd/system.control etc/crio etc/containerd etc/cpuplan etc/modprobe.d \
    etc/modules-load.d etc/tmpfiles.d etc/udev/rules.d etc/kubernetes/kubelet.conf etc/kubernetes/kubelet.conf.d \
    etc/kubernetes/kubelet etc/kubernetes/openshift-workload-pinning etc/kubernetes/openshift-workload-mixed-cpus \
    etc/kubernetes/kubelet-config.yaml etc/kubernetes/kubelet-config.json etc/kubernetes/kubelet.yaml \
    etc/systemd/system.attached etc/sysconfig/irqbalance etc/sysconfig/kubelet etc/sysconfig/crio \
    etc/sysconfig/stalld etc/sysconfig/stalld-backend etc/kubernetes/node.env etc/environment \
    var/lib/ovn-ic/etc/enable_dynamic_cpu_affinity etc/rancher/k3s/config.yaml etc/rancher/k3s/config.yaml.d \
    etc/rancher/rke2/config.yaml etc/rancher/rke2/config.yaml.d etc/nri etc/irqbalance etc/kernel/cmdline.d \
    etc/eks/kubelet etc/dracut.conf.d run/systemd/system run/systemd/transient run/systemd/system.control \
    run/systemd/system.attached run/systemd/system.conf.d run/systemd/generator run/systemd/generator.early \
    run/systemd/generator.late run/cdi run/tuned run/sysctl.d run/tmpfiles.d run/udev/rules.d \
    run/cpuplan-unmovable-interrupts usr/lib/systemd/system lib/systemd/system usr/local/lib/systemd/system \
    usr/lib/systemd/system.conf.d usr/local/lib/systemd/system.conf.d usr/local/lib/sysctl.d var/lib/ocp-tuned \
    usr/lib/sysctl.d usr/lib/tuned usr/lib/tmpfiles.d/cpuplan.conf usr/lib/crio usr/share/containers/oci/hooks.d \
    var/lib/kubelet/config.yaml var/lib/kubelet/config.yaml.d var/lib/kubelet/config.d \
    var/lib/kubelet/kubelet.conf.d var/lib/kubelet/cpu_manager_state var/lib/kubelet/memory_manager_state \
    var/lib/kubelet/dra_manager_state var/lib/kubelet/kubeadm-flags.env var/lib/kubelet/instance-config.yaml \
    var/lib/tuned var/lib/rancher/k3s/agent/etc var/lib/rancher/rke2/agent/etc boot/grub/grub.cfg \
    boot/grub2/grub.cfg boot/grub/grubenv boot/grub2/grubenv boot/loader/entries boot/loader.0/entries \
    boot/loader.1/entries boot/loader/loader.conf boot/efi/loader/entries boot/efi/loader/loader.conf boot/extlinux \
    boot/cmdline.txt boot/firmware/cmdline.txt "boot/config-$kernel"; do
    echo "$place" >>"$to/cpuplan/places"
    [ -e "$root/$place" ] || continue
    find "$root/$place" \( -type f -size -1024k -perm -400 -o -type l \) ! -name '*.key' ! -name '*.pem' ! -name '*.crt' \
      ! -name '*kubeconfig*' ! -name '*shadow*' ! -name '*secret*' ! -name '*.p12' 2>/dev/null
  done
  find "$root/usr/local/bin" "$root/usr/local/sbin" "$root/opt/bin" -maxdepth 1 -name '*.sh' -type f -size -64k 2>/dev/null
  find "$root/boot/efi/EFI" -maxdepth 2 -name 'grub*' -type f -size -1024k 2>/dev/null
}

# parts LIST: that list again, without doubles, at most MAX_FILES, and all folders that it needs.
prepare() {
  sort -u "$lists/$1" | head -n "$MAX_FILES" >"$lists/$1.once"
  awk -v from="${#root}" '{ path = substr($0, from + 1); sub("/[^/]*$", "", path); if (!seen[path]++) print path }' \
    "$lists/$1.once" | awk -v to="$to" '{ print to $0 }' | tr '\n' '\0' | xargs -0 mkdir -p "$to"
}

# copy_read LIST: by reading, since the kernel's files have no size; without a process for each, of which there are thousands.
copy_read() {
  prepare "$1"
  left=$lists/$1.once
  rounds=0
  # Some awks end where a file goes away while it is read: then go on with the next one.
  until awk -v from="${#root}" -v to="$to" -v most="$MAX_BYTES" '
    {
      print NR
      copy = to substr($0, from + 1)
      count = 0
      while ((state = (getline line < $0)) > 0 && bytes < most) {
        print line > copy
        bytes += length(line) + 1
        count++
      }
      if (state == 0 && !count && $0 !~ /\/proc\/[0-9]/) printf "" > copy
      close($0)
      if (count) close(copy)
      if (state < 0 && count) system("rm -f \"" copy "\"")
    }' "$left" >"$lists/at" 2>/dev/null; do
    rounds=$((rounds + 1))
    if [ "$rounds" -gt 200 ] || [ ! -s "$lists/at" ]; then break; fi
    number=$(tail -n 1 "$lists/at")
    failed=$(sed -n "${number}p" "$left")
    rm -f "$to${failed#"$root"}"
    sed "1,${number}d" "$left" >"$lists/next"
    left=$lists/left
    mv "$lists/next" "$left"
  done
}

# copy_written LIST: with tar, which keeps links, modes and times.
copy_written() {
  prepare "$1"
  # shellcheck disable=SC2016  # the inner shell expands them
  sed "s#^$root/##" "$lists/$1.once" | tr '\n' '\0' |
    (cd "$root/" && xargs -0 sh -c 'tar -cf - "$@" | tar -xpf - -C "$0"' "$to") 2>/dev/null
}

# Where a file holds keys, only its kind is told; where it mentions a password, the value goes.
remove_secrets() {
  for place in etc var boot run usr; do
    [ -d "$to/$place" ] || continue
    find "$to/$place" -type f -exec grep -lE "$SECRET" {} + 2>/dev/null
  done | while IFS= read -r file; do
    kind=$(grep -m 1 -E '^kind:' "$file")
    echo "${kind:-# left out: it holds keys}" >"$file"
  done
  for place in etc var boot run usr/local proc/cmdline; do
    [ -e "$to/$place" ] || continue
    find "$to/$place" -type f -exec grep -lE "$MENTIONS" {} + 2>/dev/null
  done | while IFS= read -r file; do
    if redact <"$file" >"$work/redacted" && ! cmp -s "$file" "$work/redacted"; then
      touch -r "$file" "$work/redacted"
      cp -p "$work/redacted" "$work/dated" && cat "$work/redacted" >"$file" && touch -r "$work/dated" "$file"
    fi
  done
}

# The command lines of those that decide what a node does; of environments, only CPUs.
copy_processes() {
  for process in "$root"/proc/[0-9]*; do
    name=
    { read -r name <"$process/comm"; } 2>/dev/null || continue
    case $name in
      kubelet | crio | containerd | irqbalance | tuned | systemd | k3s* | rke2* | dockerd | conmon | stalld | \
        koordlet | hyperkube)
        { tr '\0' '\n' <"$process/cmdline"; } 2>/dev/null | redact_words | tr '\n' '\0' >"$work/words"
        # What ended meanwhile has no folder here.
        [ -s "$work/words" ] && [ -d "$to${process#"$root"}" ] && cp "$work/words" "$to${process#"$root"}/cmdline"
        ;;
    esac
  done
  find "$root"/proc/[0-9]*/environ -prune -exec grep -lE 'OPENSHIFT_(ISOLATED|SHARED)_CPUS=|IRQBALANCE_' {} + 2>/dev/null |
    head -n 1000 | while IFS= read -r file; do
    copy=$to${file#"$root"}
    [ -d "${copy%/*}" ] || continue
    { tr '\0' '\n' <"$file"; } 2>/dev/null |
      grep -E '^(OPENSHIFT_(ISOLATED|SHARED)_CPUS|IRQBALANCE_[A-Z_]*)=' | tr '\n' '\0' >"$copy"
  done
}

# One word in a line; the word after `--token` is one too.
redact_words() {
  awk '
    hidden && !/^-/ { print "REDACTED"; hidden = 0; next }
    { hidden = 0 }
    tolower($0) ~ /^--?[a-z-]*(password|passphrase|token|secret|api-?key)[a-z-]*$/ { print; hidden = 1; next }
    { print }' | redact
}

# said NAME COMMAND...: the output of a command that the node has, for at most some seconds and 4 MB.
said() {
  name=$1
  shift
  for place in usr/bin usr/sbin bin sbin ''; do
    [ -x "$root/$place/$1" ] && break
  done
  [ -n "$place" ] || return 0
  [ -z "$root" ] || set -- chroot "$root" "$@"
  if command -v timeout >/dev/null 2>&1; then set -- timeout "$SECONDS_OF_A_COMMAND" "$@"; fi
  "$@" 2>/dev/null </dev/null | head -c 4000000 | redact >"$to/cpuplan/$name"
  [ -s "$to/cpuplan/$name" ] || rm -f "$to/cpuplan/$name"
}

copy_commands() {
  said dmesg dmesg
  said uname uname -a
  set -- kubelet.service crio.service containerd.service irqbalance.service tuned.service
  for unit in "$root"/etc/systemd/system/*.service "$root"/etc/systemd/system/*.timer "$root"/etc/systemd/system/*.slice; do
    [ -e "$unit" ] && [ "$#" -lt 200 ] && set -- "$@" "${unit##*/}"
  done
  for name in Id Names LoadState ActiveState SubState UnitFileState Result NRestarts MainPID ExecMainStatus \
    ExecMainStartTimestamp ExecMainStartTimestampMonotonic ExecStart ConditionResult ConditionTimestampMonotonic \
    InactiveExitTimestampMonotonic ActiveEnterTimestampMonotonic FragmentPath DropInPaths NeedDaemonReload CPUAffinity AllowedCPUs EffectiveCPUs \
    CPUQuotaPerSecUSec NUMAPolicy NUMAMask Slice ControlGroup ActiveEnterTimestamp StateChangeTimestamp; do
    set -- "$@" "--property=$name"
  done
  said systemctl-show systemctl show --no-pager "$@"
  said systemctl-manager systemctl show --no-pager --property=Version --property=CPUAffinity --property=NUMAPolicy \
    --property=ConfirmSpawn --property=SystemState --property=NFailedUnits
  said systemctl-list-units systemctl list-units --all --plain --no-legend --no-pager
  said systemctl-list-unit-files systemctl list-unit-files --no-legend --no-pager
  said tuned-adm-active tuned-adm active
  said tuned-adm-verify tuned-adm verify
}

# Which programs there are: handlers of runtimes name some.
list_programs() {
  for place in usr/bin usr/sbin bin sbin usr/local/bin usr/local/sbin usr/libexec/crio usr/lib/cri-o-runc/sbin opt/bin \
    usr/local/nvidia/toolkit usr/libexec/oci/hooks.d usr/lib/systemd lib/systemd var/lib/rancher/rke2/bin opt/kata/bin; do
    [ -d "$root/$place" ] && find -L "$root/$place" -maxdepth 1 -type f -perm -100 2>/dev/null
  done | head -n 20000 | sed "s#^$root/##"
}

# What did not fit would look like files that the node lacks.
stop_if_full() {
  if ! head -c 65536 /dev/zero >"$work/room" 2>/dev/null; then
    echo "cpuplan-snapshot: no space is left in ${TMPDIR:-/tmp}: set TMPDIR to a folder with more" >&2
    exit 1
  fi
  rm -f "$work/room"
}

host=
{ read -r host <"$root/etc/hostname"; } 2>/dev/null || host=
[ -n "$root" ] || host=$(uname -n)

now() { cut -d ' ' -f 1 "$root/proc/uptime" 2>/dev/null; }

cat "$root/proc/interrupts" >"$work/interrupts" 2>/dev/null
first=$(now)
list_tasks >"$lists/tasks" 2>/dev/null
copy_read tasks
stop_if_full
{ list_kernel; list_devices; list_sys; } >"$lists/kernel" 2>/dev/null
copy_read kernel
find "$root/proc/irq" -mindepth 1 -maxdepth 2 -type d 2>/dev/null | awk -v from="${#root}" -v to="$to" \
  '{ print to substr($0, from + 1) }' | tr '\n' '\0' | xargs -0 mkdir -p "$to"
stop_if_full
list_links >"$lists/links" 2>/dev/null
copy_written links
list_written >"$lists/written" 2>/dev/null
copy_written written
stop_if_full
log=var/log/tuned/tuned.log
[ -f "$root/$log" ] && mkdir -p "$to/${log%/*}" && tail -c 200000 "$root/$log" >"$to/$log" 2>/dev/null
copy_processes
remove_secrets
# Only the running host can be asked, not a copy of one.
boot=proc/sys/kernel/random/boot_id
if cmp -s "$root/$boot" "/$boot"; then copy_commands; fi
list_programs >"$to/cpuplan/programs"
printf '%s\n' proc sys usr/local/bin usr/local/sbin opt/bin >>"$to/cpuplan/places"
[ -f "$work/interrupts" ] && mv "$work/interrupts" "$to/proc/interrupts"
sleep "$pause"
cat "$root/proc/interrupts" >"$to/cpuplan/interrupts.later" 2>/dev/null
{
  echo "version: $FORMAT"
  echo "host: $host"
  echo "date: $(date -u '+%Y-%m-%dT%H:%M:%SZ')"
  echo "user: $(id -u)"
  echo "interrupts: $first"
  echo "interrupts later: $(now)"
} >"$to/cpuplan/snapshot"

stop_if_full

# No shell but newer ones tells how a command before the last of a pipe ended.
pack() {
  if command -v gzip >/dev/null 2>&1; then
    { tar -cf - -C "$to" . || echo >"$work/failed"; } | gzip -c && [ ! -e "$work/failed" ]
  else
    tar -cf - -C "$to" .
  fi
}
if [ -n "$out" ]; then pack >"$out"; else pack; fi || {
  echo "cpuplan-snapshot: the archive is not complete" >&2
  exit 1
}
