#!/bin/sh
# Collects what `cpuplan check` reads of a node into one tar archive, and changes nothing on the node.
#
#   sh cpuplan-snapshot.sh > node.tar.gz          or: -o node.tar.gz
#   -r ROOT      the node's root file system: /host in a container  [default: /]
#   -w SECONDS   between the two looks at /proc/interrupts  [default: 3]
#
#   -l           says what would be taken, and ends
#
# It runs as root, or as a user with what that user may read. Only what `cpuplan check` reads is taken, and of files only
# known keys, flags, variables and boot arguments with their values: the lists are below. Values of all others are
# REDACTED, and so are words that look like passwords or tokens. Needs sh, find, awk, sed, grep, tar, xargs and mktemp,
# as busybox has them.
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
lists_only=''
while getopts o:r:w:lh option; do
  case $option in
    o) out=$OPTARG ;;
    r) root=$OPTARG ;;
    w) pause=$OPTARG ;;
    l) lists_only=yes ;;
    h)
      sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "$0"
      exit 0
      ;;
    *) exit 2 ;;
  esac
done
# What may leave the node: made from cpuplan/check/collected.py.
FLAGS='
P absent-mount-sources-to-reject add-dir-header add-inheritable-capabilities additional-artifact-stores
additional-devices address allowed-devices allowed-unsafe-sysctls alsologtostderr anonymous-auth apparmor-profile
authentication-token-webhook authentication-token-webhook-cache-ttl authorization-mode
authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl auto-reload-registries banirq
banmod big-files-temporary-dir bind-mount-prefix blockio-config-file blockio-reload bootstrap-kubeconfig c
cdi-spec-dirs cgroup-driver cgroup-manager cgroup-root cgroups-per-qos clean-shutdown-file client-ca-file
cloud-provider cluster-dns cluster-domain config config-dir conmon conmon-cgroup container-attach-socket-dir
container-exits-dir container-log-max-files container-log-max-size container-runtime container-runtime-endpoint
contention-profiling cpu-cfs-quota cpu-cfs-quota-period cpu-manager-policy cpu-manager-policy-options
cpu-manager-reconcile-period ctr-stop-timeout d data-dir debug decryption-keys-path deepdebug default-capabilities
default-mounts-file default-runtime default-sysctls default-transport default-ulimits
device-ownership-from-security-context disable-hostport-mapping drop-infra-ctr enable-controller-attach-detach
enable-criu-support enable-debugging-handlers enable-nri enable-pod-events enable-server enforce-node-allocatable
event-burst event-qps eviction-hard eviction-max-pod-grace-period eviction-minimum-reclaim
eviction-pressure-transition-period eviction-soft eviction-soft-grace-period exit-on-lock-contention fail-swap-on
feature-gates file-check-frequency foreground gid-mappings global-auth-file grpc-max-recv-msg-size
grpc-max-send-msg-size hairpin-mode healthz-bind-address healthz-port help hintpolicy hooks-dir hostname-override
hostnetwork-disable-selinux http-check-frequency image-credential-provider-bin-dir image-credential-provider-config
image-gc-high-threshold image-gc-low-threshold image-service-endpoint image-volumes imagestore infra-ctr-cpuset
insecure-registries internal-repair internal-wipe interval iptables-drop-bit iptables-masquerade-bit
irqbalance-config-file irqbalance-config-restore-file keep-terminated-pod-volumes kernel-memcg-notification
kube-api-burst kube-api-content-type kube-api-qps kube-reserved kube-reserved-cgroup kubeconfig kubelet-arg
kubelet-args-file kubelet-cgroups kubelet-extra-args kubelet-root-dir l listen local-storage-capacity-isolation log
log-dir log-filter log-flush-frequency log-journald log-level log-size-max log-to-journald logging-format logtostderr
make-iptables-util-chains max-open-files max-pods memory-manager-policy min-injected-gomaxprocs
minimum-image-ttl-duration minimum-mappable-gid minimum-mappable-uid namespaced-auth-dir namespaces-dir no-daemon
no-dbus no-pivot node-ip node-labels node-status-max-images node-status-update-frequency nri-disable-connections
nri-listen nri-plugin-config-dir nri-plugin-dir nri-plugin-registration-timeout nri-plugin-request-timeout
oci-artifact-mount-support one-output oneshot oom-score-adj pause-command pause-image pause-image-auth-file pid
pids-limit pinned-images pinns-path pod-cidr pod-manifest-path pod-max-pids pods-per-core policyscript port
privileged-seccomp-profile profile protect-kernel-defaults pull-progress-timeout qos-reserved rdt-config-file
read-only read-only-port register-node register-schedulable register-with-taints registry-burst registry-qps
reserved-cpus reserved-memory resolv-conf root root-dir rotate-certificates rotate-server-certificates runonce runroot
runtime-cgroups runtime-request-timeout seccomp-default seccomp-profile selinux separate-pull-cgroup
serialize-image-pulls shared-cpuset short-name-mode signature-policy signature-policy-dir skip-headers
skip-log-headers state storage-driver storage-option stream-address stream-enable-tls stream-idle-timeout stream-port
stream-tls-ca stream-tls-cert stream-tls-key streaming-connection-idle-timeout sync-frequency system-cgroups
system-reserved system-reserved-cgroup timezone tls-cert-file tls-cipher-suites tls-min-version tls-private-key-file
topology-manager-policy topology-manager-policy-options topology-manager-scope uid-mappings v version version-file
version-file-persist volume-plugin-dir volume-stats-agg-period
'
KERNEL='
BOOT_IMAGE acpi acpi_pad.disable amd_iommu amd_pstate apparmor audit audit_backlog_limit biosdevname cgroup_disable
cgroup_enable cgroup_no_v1 clocksource console cpufreq.default_governor cpufreq.off crashkernel debug
default_hugepagesz disableapic earlycon efi enforcing highres housekeeping hugepages hugepagesz hugetlb hugetlb_cma
hugetlb_free_vmemmap hung_task_panic idle ignition.firstboot ignition.platform.id init initrd intel_idle.max_cstate
intel_iommu intel_pstate iommu iommu.passthrough iommu.strict ip irqaffinity isolcpus kthread_cpus kvm-intel.nested
l1tf locale.LANG loglevel maxcpus mce mds mem memmap mitigations mmio_stale_data module_blacklist net.ifnames
nmi_watchdog noapic nohz nohz_full nokaslr nolapic nopti nosmp nosmt nosoftlockup nospectre_v2 notsc nowatchdog
nr_cpus numa numa_balancing ostree panic pci pcie_aspm possible_cpus processor.max_cstate psi quiet random.trust_cpu
rcu_nocb_poll rcu_nocbs rcupdate.rcu_normal_after_boot rcutree.kthread_prio rcutree.nohz_full_patience_delay rd.break
rd.luks.uuid rd.lvm.lv rd.lvm.vg rd.md.uuid rd.neednet resume resume_offset retbleed rhgb ro root rootdelay rootflags
rootfstype rootwait rw security selinux skew_tick smt smt_enabled softlockup_panic spectre_v2 splash swapaccount
systemd.cpu_affinity systemd.legacy_systemd_cgroup_controller systemd.mask systemd.unified_cgroup_hierarchy
systemd.unit threadirqs transparent_hugepage tsc tsx tsx_async_abort tuned.non_isolcpus vconsole.font vconsole.keymap
vfio-pci.ids watchdog_thresh workqueue.unbound_cpus
'
DIRECTIVES='
AccuracySec After Alias AllowedCPUs AllowedMemoryNodes Also Before BindsTo BusName CPUAffinity CPUQuota
CPUQuotaPeriodSec CPUSchedulingPolicy CPUSchedulingPriority CPUWeight ConditionFirstBoot ConditionKernelCommandLine
ConditionPathExists ConditionVirtualization Conflicts DefaultDependencies Delegate EnvironmentFile Group
IgnoreOnIsolate InaccessiblePaths JobTimeoutSec KillMode KillSignal LimitCORE LimitNOFILE LimitNPROC
ManagedOOMPreference MemoryMax NUMAMask NUMAPolicy Nice NotifyAccess OOMScoreAdjust OnActiveSec OnBootSec OnCalendar
OnFailure OnStartupSec OnUnitActiveSec OnUnitInactiveSec PIDFile PartOf Persistent PrivateDevices PrivateMounts
PrivateNetwork PrivateTmp ProtectControlGroups ProtectHome ProtectKernelTunables ProtectProc ProtectSystem
RandomizedDelaySec ReadOnlyPaths RefuseManualStart RefuseManualStop RemainAfterExit RequiredBy Requires Requisite
Restart RestartSec RootDirectory Slice StandardError StandardOutput StartLimitAction StartLimitBurst
StartLimitInterval StartLimitIntervalSec StopWhenUnneeded SuccessExitStatus TasksMax TimeoutSec TimeoutStartSec
TimeoutStopSec Type Unit UnsetEnvironment Upholds User WantedBy Wants WatchdogSec
'
VARIABLES='
BOOTUP CONTAINER_CGROUP_MANAGER CONTAINER_CONFIG CONTAINER_CONFIG_DIR CONTAINER_DEFAULT_RUNTIME
CONTAINER_INFRA_CTR_CPUSET CONTAINER_RUNTIME_ENDPOINT CONTAINER_SHARED_CPUSET CPUS GOMAXPROCS GRUB_DEFAULT
GRUB_ENABLE_BLSCFG GRUB_TIMEOUT HUGEPAGES_COUNT HUGEPAGES_SIZE IRQBALANCE_BANNED_CPULIST IRQBALANCE_BANNED_CPUS
IRQBALANCE_DEBUG IRQBALANCE_ONESHOT IRQBALANCE_PID K3S_CONFIG_FILE K3S_DATA_DIR NUMA_NODE OFFLINE_CPUS
OPENSHIFT_ISOLATED_CPUS OPENSHIFT_SHARED_CPUS OVS_DPDK_CPUS RKE2_CONFIG_FILE RKE2_DATA_DIR USE_BPF saved_entry
'
FIELDS='
address allowedUnsafeSysctls apiVersion authentication authorization cgroupDriver cgroupRoot cgroupsPerQOS clusterDNS
clusterDomain configMapAndSecretChangeDetectionStrategy containerLogMaxFiles containerLogMaxSize
containerLogMaxWorkers containerLogMonitorInterval containerRuntimeEndpoint contentType cpuCFSQuota cpuCFSQuotaPeriod
cpuManagerPolicy cpuManagerPolicyOptions cpuManagerReconcilePeriod crashLoopBackOff defaultPodSysctls
enableContentionProfiling enableControllerAttachDetach enableDebugFlagsHandler enableDebuggingHandlers
enableProfilingHandler enableServer enableSystemLogHandler enableSystemLogQuery enforceNodeAllocatable eventBurst
eventRecordQPS evictionHard evictionMaxPodGracePeriod evictionMinimumReclaim evictionPressureTransitionPeriod
evictionSoft evictionSoftGracePeriod failCgroupV1 failSwapOn featureGates fileCheckFrequency hairpinMode
healthzBindAddress healthzPort httpCheckFrequency imageGCHighThresholdPercent imageGCLowThresholdPercent
imageMaximumGCAge imageMinimumGCAge imagePullCredentialsVerificationPolicy imageServiceEndpoint iptablesDropBit
iptablesMasqueradeBit kernelMemcgNotification kind kubeAPIBurst kubeAPIQPS kubeReserved kubeReservedCgroup
kubeletCgroups localStorageCapacityIsolation logging makeIPTablesUtilChains management maxOpenFiles
maxParallelImagePulls maxPods memoryManagerPolicy memoryReservationPolicy memorySwap memoryThrottlingFactor
mergeDefaultEvictionSettings nodeLeaseDurationSeconds nodeStatusMaxImages nodeStatusReportFrequency
nodeStatusUpdateFrequency oomScoreAdj podCIDR podLogsDir podPidsLimit podsPerCore port
preloadedImagesVerificationAllowlist protectKernelDefaults qosReserved readOnlyPort registerNode registerWithTaints
registryBurst registryPullQPS reservedMemory reservedSystemCPUs resolvConf rotateCertificates runOnce
runtimeRequestTimeout seccompDefault serializeImagePulls serverTLSBootstrap shared_cpus showHiddenMetricsForVersion
shutdownGracePeriod shutdownGracePeriodByPodPriority shutdownGracePeriodCriticalPods singleProcessOOMKill
staticPodPath streamingConnectionIdleTimeout syncFrequency systemCgroups systemReserved systemReservedCgroup
tlsCertFile tlsCipherSuites tlsCurvePreferences tlsMinVersion tlsPrivateKeyFile topologyManagerPolicy
topologyManagerPolicyOptions topologyManagerScope userNamespaces volumePluginDir volumeStatsAggPeriod
'
CRIO='
absent_mount_sources_to_reject activation_annotation add_inheritable_capabilities additional_artifact_stores
additional_devices allowed_annotations allowed_devices annotation_prefix apparmor_profile auto_reload_registries
big_files_temporary_dir bind_mount_prefix blockio_config_file blockio_reload cdi_spec_dirs cgroup_manager
clean_shutdown_file cni_default_network cni_status_grace_period collection_period conmon conmon_cgroup
container_attach_socket_dir container_create_timeout container_exits_dir container_level_enabled container_min_memory
cpulimit cpuperiod cpuquota cpuset cpushares ctr_stop_timeout decryption_keys_path default_annotations
default_capabilities default_mounts_file default_runtime default_sysctls default_transport default_ulimits
device_ownership_from_security_context disable_hostport_mapping drop_infra_ctr enable_criu_support enable_metrics
enable_nri enable_pod_events enable_tracing exec_cpu_affinity gid_mappings global_auth_file grpc_max_recv_msg_size
grpc_max_send_msg_size hooks_dir hostnetwork_disable_selinux image_volumes imagestore included_pod_metrics
infra_ctr_cpuset inherit_default_runtime internal_repair internal_wipe irqbalance_config_file
irqbalance_config_restore_file listen log_dir log_filter log_level log_size_max log_to_journald metrics_cert
metrics_collectors metrics_host metrics_key metrics_port metrics_socket min_injected_gomaxprocs minimum_mappable_gid
minimum_mappable_uid monitor_cgroup monitor_env monitor_exec_cgroup monitor_path namespaced_auth_dir namespaces_dir
network_dir no_pivot no_sync_log nri_disable_connections nri_enable_default_validator nri_listen nri_plugin_config_dir
nri_plugin_dir nri_plugin_registration_timeout nri_plugin_request_timeout
nri_validator_reject_custom_seccomp_adjustment nri_validator_reject_namespace_adjustment
nri_validator_reject_oci_hook_adjustment nri_validator_reject_runtime_default_seccomp_adjustment
nri_validator_reject_unconfined_seccomp_adjustment nri_validator_required_plugins
nri_validator_tolerate_missing_plugins_annotation oci_artifact_mount_support pause_image pause_image_auth_file
pids_limit pinned_images pinns_path platform_runtime_paths plugin_dir plugin_dirs privileged_seccomp_profile
privileged_without_host_devices pull_progress_timeout rdt_config_file read_only root runroot runtime_config_path
runtime_path runtime_pull_image runtime_root runtime_type seccomp_profile selinux separate_pull_cgroup shared_cpuset
short_name_mode signature_policy signature_policy_dir stats_collection_period storage_driver stream_address
stream_enable_tls stream_idle_timeout stream_port stream_tls_ca stream_tls_cert stream_tls_key stream_websockets
timezone tls_cipher_suites tls_min_version tracing_sampling_rate_per_million uid_mappings version_file
version_file_persist
'
CONTAINERD='
base_runtime_spec binaryname cdi_spec_dirs cgroup cgroup_writable cni cni_conf_dir cni_max_conf_num configbody
configpath container_annotations containerd criuimagepath criupath criuworkpath debug default_runtime
default_runtime_name default_validator device_ownership_from_security_context disable disable_apparmor disable_cgroup
disable_connections disable_hugetlb_controller disable_pause_image_pull disable_proc_mount disabled_plugins
drain_exec_sync_io_timeout enable enable_cdi enable_criu enable_experimental_restore_via_create enable_selinux
enable_unprivileged_icmp enable_unprivileged_ports grpc ignore_blockio_not_enabled_errors ignore_deprecation_warnings
ignore_image_defined_volumes ignore_rdt_not_enabled_errors imports io_type iogid iouid max_container_log_line_size
metrics netns_mounts_under_state_dir no_pivot nonewkeyring nopivotroot oom_score options plugin_config_path plugin_dir
plugin_path plugin_registration_timeout plugin_request_timeout plugins pod_annotations privileged_without_host_devices
privileged_without_host_devices_all_devices_allowed reject_custom_seccomp_adjustment reject_namespace_adjustment
reject_oci_hook_adjustment reject_runtime_default_seccomp_adjustment reject_sysctl_adjustment
reject_unconfined_seccomp_adjustment required_plugins restrict_oom_score_adj root runtime_engine runtime_path
runtime_root runtime_type runtimes sandbox_mode sandboxer selinux_category_range shimcgroup snapshotter socket_path
state stats_collect_period stats_retention_period systemd_cgroup systemdcgroup taskapiaddress taskapiversion temp
timeouts tolerate_missing_hugetlb_controller tolerate_missing_plugins_annotation ttrpc typeurl unset_seccomp_profile
untrusted_workload_runtime version
'
TUNED='
cgroup_ps_blacklist channels cmdline daemon default_instance_priority default_irq_smp_affinity devices
devices_udev_regex energy_perf_bias energy_performance_preference force_latency governor include irq_process
isolated_cores isolated_cores_expanded max_perf_pct min_perf_pct no_balance_cores no_turbo not_isolated_cores_expanded
priority profile_dirs ps_blacklist ps_whitelist reapply_sysctl recommend_command runtime sleep_interval summary
transparent_hugepages type udev_buffer_size udev_regex update_interval
'
FORMS='
line etc/hostname
line etc/tuned/active_profile
line etc/tuned/profile_mode
line run/cpuplan-unmovable-interrupts
unit etc/systemd/system
unit etc/systemd/system.conf
unit etc/systemd/system.conf.d
unit etc/systemd/system.control
unit etc/systemd/system.attached
unit run/systemd/system
unit run/systemd/transient
unit run/systemd/system.control
unit run/systemd/system.attached
unit run/systemd/system.conf.d
unit run/systemd/generator
unit run/systemd/generator.early
unit run/systemd/generator.late
unit usr/lib/systemd/system
unit lib/systemd/system
unit usr/local/lib/systemd/system
unit usr/lib/systemd/system.conf.d
unit usr/local/lib/systemd/system.conf.d
variables etc/default
variables etc/sysconfig/irqbalance
variables etc/sysconfig/kubelet
variables etc/sysconfig/crio
variables etc/sysconfig/stalld
variables etc/sysconfig/stalld-backend
variables etc/kubernetes/node.env
variables etc/environment
variables var/lib/kubelet/kubeadm-flags.env
variables etc/cpuplan/irqbalance
variables etc/eks/kubelet
variables etc/kubernetes/kubelet.env
kubelet etc/kubernetes/kubelet.conf
kubelet etc/kubernetes/kubelet.conf.d
kubelet etc/kubernetes/kubelet
kubelet etc/kubernetes/kubelet-config.yaml
kubelet etc/kubernetes/kubelet-config.json
kubelet etc/kubernetes/kubelet.yaml
kubelet var/lib/kubelet/config.yaml
kubelet var/lib/kubelet/config.yaml.d
kubelet var/lib/kubelet/config.d
kubelet var/lib/kubelet/kubelet.conf.d
kubelet var/lib/kubelet/instance-config.yaml
kubelet etc/kubernetes/openshift-workload-pinning
kubelet etc/kubernetes/openshift-workload-mixed-cpus
kubelet home/kubernetes/kubelet-config.yaml
kubelet run/k0s/kubelet/config.yaml
kubelet var/lib/kubelet/kubelet.conf
state var/lib/kubelet/cpu_manager_state
state var/lib/kubelet/memory_manager_state
state var/lib/k0s/kubelet/cpu_manager_state
state var/lib/k0s/kubelet/memory_manager_state
state var/snap/microk8s/common/var/lib/kubelet/cpu_manager_state
state var/snap/microk8s/common/var/lib/kubelet/memory_manager_state
flags var/snap/microk8s/current/args/kubelet
flags var/snap/k8s/common/args/kubelet
rancher etc/rancher/k3s/config.yaml
rancher etc/rancher/k3s/config.yaml.d
rancher etc/rancher/rke2/config.yaml
rancher etc/rancher/rke2/config.yaml.d
crio etc/crio
crio usr/lib/crio
containerd etc/containerd
agent var/lib/rancher/k3s/agent/etc
agent var/lib/rancher/rke2/agent/etc
sysctl etc/sysctl.conf
sysctl etc/sysctl.d
sysctl run/sysctl.d
sysctl usr/local/lib/sysctl.d
sysctl usr/lib/sysctl.d
tuned etc/tuned
tuned usr/lib/tuned
tuned run/tuned
tuned var/lib/tuned
tuned var/lib/ocp-tuned
boot etc/kernel/cmdline
boot etc/kernel/cmdline.d
boot boot/grub/grub.cfg
boot boot/grub2/grub.cfg
boot boot/grub/grubenv
boot boot/grub2/grubenv
boot boot/loader/entries
boot boot/loader.0/entries
boot boot/loader.1/entries
boot boot/loader/loader.conf
boot boot/efi/loader/entries
boot boot/efi/loader/loader.conf
boot boot/extlinux
boot boot/cmdline.txt
boot boot/firmware/cmdline.txt
cdi run/cdi
own etc/cpuplan/plan.json
own var/lib/ovn-ic/etc/enable_dynamic_cpu_affinity
own etc/tmpfiles.d
own run/tmpfiles.d
own usr/lib/tmpfiles.d/cpuplan.conf
own etc/udev/rules.d
own run/udev/rules.d
'
# End of what is made.
if [ -n "$lists_only" ]; then
  echo "files and folders, by how they are read:$FORMS"
  printf '%s\n' "names whose values are kept" "flags:$FLAGS" "boot arguments:$KERNEL" "directives of units:$DIRECTIVES" \
    "variables:$VARIABLES" "fields of the kubelet:$FIELDS" "keys of CRI-O:$CRIO" "keys of containerd:$CONTAINERD" \
    "options of TuneD:$TUNED"
  exit 0
fi
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
s#(=[^=@[:blank:]\"]*:)[^:/@[:blank:]\"]+@#\\1REDACTED@#g
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
MENTIONS="$WORD|[Pp]assphrase|://[^/@ ]*:[^/@ ]*@|iscsi:|=[^@ ]*:[^/@ ]+@|auth[\"']? *[=:]|Authorization|SetCredential|eyJ|gh[a-z]_|glpat-|github_pat_|curl|wget"

redact() { sed -E "$REDACT"; }

# Below: list_* name files of the node, one in a line, with the root before them.

# regular FIND-ARGUMENTS: the readable files that find finds, with as little as possible said of what is missing.
regular() { find "$@" -type f -perm -400 2>/dev/null; }

list_kernel() {
  for name in cmdline cpuinfo meminfo version stat uptime softirqs; do
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
    -o -name pm_qos_resume_latency_us -o -name cpu_capacity -o -name energy_perf_bias \) ! -name uevent
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
  printf '%s\n' "$FORMS" | while read -r _ place; do
    [ -n "$place" ] || continue
    echo "$place" >>"$to/cpuplan/places"
    [ -e "$root/$place" ] || continue
    find "$root/$place" \( -type f -size -1024k -perm -400 -o -type l \) ! -name '*.key' ! -name '*.pem' ! -name '*.crt' \
      ! -name '*kubeconfig*' ! -name '*shadow*' ! -name '*secret*' ! -name '*.p12' 2>/dev/null
  done
  for place in usr/local/bin usr/local/sbin opt/bin; do
    find "$root/$place" -maxdepth 1 -name '*.sh' -type f -size -64k 2>/dev/null
  done
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

# Where a file holds keys, only its kind is told.
remove_keys() {
  for place in etc var boot run usr lib opt home; do
    [ -d "$to/$place" ] || continue
    find "$to/$place" -type f -exec grep -lE "$SECRET" {} + 2>/dev/null
  done | while IFS= read -r file; do
    kind=$(grep -m 1 -E '^kind:' "$file")
    echo "${kind:-# left out: it holds keys}" >"$file"
  done
}

# What was not filtered to its end is not kept.
filter_files() {
  cat >"$work/filter.awk" <<'AWK'
# Reads files and writes each over itself with what may leave the node, line by line, so that lines keep their numbers;
# prints the names of those that are done. With `stream`, filters its input by that form instead.
function table(name, words,    parts, count, at) {
  count = split(words, parts, /[ \n]+/)
  for (at = 1; at <= count; at++) if (parts[at] != "") known[name, parts[at]] = 1
}
BEGIN {
  table("flag", ENVIRON["FLAGS"]); table("kernel", ENVIRON["KERNEL"]); table("directive", ENVIRON["DIRECTIVES"])
  table("variable", ENVIRON["VARIABLES"]); table("field", ENVIRON["FIELDS"]); table("crio", ENVIRON["CRIO"])
  table("containerd", ENVIRON["CONTAINERD"]); table("tuned", ENVIRON["TUNED"])
  number = split(ENVIRON["FORMS"], rows, "\n")
  for (row = 1; row <= number; row++) if (split(rows[row], pair, " ") == 2) forms[pair[2]] = pair[1]
  forms["proc/sys"] = forms["sys/module"] = "value"
  forms["proc/cmdline"] = "arguments"
  forms["usr/local/bin"] = forms["usr/local/sbin"] = forms["opt/bin"] = "own"
  forms["boot/efi/EFI"] = "boot"
}
function form_of(path,    rest, form) {
  for (rest = path; rest != ""; ) {
    if (rest in forms) break
    if (!sub(/\/[^\/]*$/, "", rest)) return "none"
  }
  form = forms[rest]
  if (form == "variables" && path ~ /\.json$/) return "kubelet"
  if (form == "unit" && path ~ /\.env$/) return "variables"
  if (form == "agent") {
    if (path ~ /containerd[^\/]*\/[^\/]*\.toml(\.tmpl)?$/) return "containerd"
    return path ~ /kubelet/ ? "kubelet" : "none"
  }
  if (form == "boot" && path ~ /cmdline/) return "arguments"
  if (form == "value" && path ~ /^proc\/sys\/kernel\/(hostname|osrelease|ostype|version)$/) return "own"
  return form
}
# Files that plans deliver, by their names.
function is_own(path,    name) {
  name = path
  sub(/^.*\//, "", name)
  if (form_of(path) == "tuned") return 0
  return name ~ /^([0-9]+-(zz-)?)?cpuplan[A-Za-z0-9_.@-]*$/ || name ~ \
    /^(clear-irqbalance-banned-cpus|cpuset-configure|hugepages-(allocation|check)[A-Za-z0-9-]*|isolate-cpus|isolcpus(-threads)?|ocp-tuned-one-shot|ovs|ovs-dpdk-cpus-configure|place-interrupts|set-cpus-offline|set-rps-mask|update-rps@)\.(service|slice|timer|sh)$/ || \
    name ~ /^(99-netdev-physical-rps\.rules|99-default-rps-mask\.conf|01-use-ovs-slice(-dpdk)?\.conf|50-isolate-cpus\.conf|plan\.json|enable_dynamic_cpu_affinity|stalld-backend|hostname|osrelease|ostype|version)$/
}
# Numbers, sizes, times, masks, lists of CPUs, switches, and one short word.
function is_plain(value) {
  if (length(value) > 400) return 0
  if (value ~ /[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]/) return value ~ /^[0-9][0-9]*$/ && length(value) < 21
  if (value ~ /^-?[0-9]+(\.[0-9]+)?(%|[KMGTkmgt]i?[Bb]?|[mun]?s|[mhd])?$/) return 1
  if (value ~ /^~?[0-9]+([,:\/-][0-9]+)*$/) return 1
  if (value ~ /^(0x)?[0-9a-f]+$/ && length(value) <= 10) return 1
  if (value ~ /^[0-9a-f]+(,[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f])+$/) return 1
  return value ~ /^[A-Za-z][a-z_]*$/ && length(value) <= 8
}
function are_plain(text,    parts, count, at) {
  count = split(text, parts, /[ \t]+/)
  for (at = 1; at <= count; at++) {
    if (parts[at] != "" && !is_plain(parts[at]) && parts[at] !~ /^\[?[a-z_+-]+\]?$|^\(null\)$/) return 0
    if (length(parts[at]) > 16 && parts[at] ~ /[a-z]/ && parts[at] !~ /^[0-9a-f,]*$/) return 0
  }
  return 1
}
function is_secret(name) {
  return tolower(name) ~ /pass|pwd|psk|token|secret|key|cred|auth|cookie|dsn|sig|hook|salt|pin$|seed|hash|webhook/
}
# KEY=VALUE and other words of a text, each by `how`; blanks and quotes stay.
function each_word(text, how,    out, word, before, after) {
  out = ""
  while (text != "") {
    if (match(text, /^[ \t]+/)) { out = out substr(text, 1, RLENGTH); text = substr(text, RLENGTH + 1); continue }
    match(text, /^[^ \t]+/)
    word = substr(text, 1, RLENGTH)
    text = substr(text, RLENGTH + 1)
    before = after = ""
    if (match(word, /^["'[,]+/)) { before = substr(word, 1, RLENGTH); word = substr(word, RLENGTH + 1) }
    if (match(word, /[]"'\\;,]+$/)) { after = substr(word, RSTART); word = substr(word, 1, RSTART - 1) }
    if (word != "") word = how == "kernel" ? kernel_word(word) : how == "argument" ? argument(word) : command_word(word)
    out = out before word after
  }
  return out
}
# One NAME=VALUE of K3s's kubelet-arg.
function argument(word,    at, name) {
  at = index(word, "=")
  name = at ? substr(word, 1, at - 1) : word
  gsub(/_/, "-", name)
  sub(/^--?/, "", name)
  if (("flag", name) in known && name !~ /^kubelet-(extra-)?args?$/) return word
  return name ~ /^[a-z][a-z-]*$/ ? (at ? substr(word, 1, at) "REDACTED" : word) : "REDACTED"
}
function command_word(word,    at, name, flag) {
  if (word ~ /^--?[A-Za-z]/) {
    at = index(word, "=")
    name = at ? substr(word, 1, at - 1) : word
    flag = name
    sub(/^--?/, "", flag)
    gsub(/_/, "-", flag)
    hides = expects = 0
    if ((flag == "kubelet-arg" || flag == "kubelet-extra-args") && at) return name "=" argument(substr(word, at + 1))
    if (("flag", flag) in known) { expects = !at; return word }
    hides = !at
    if (name ~ /^--[a-z][a-z-]*$/ || name ~ /^-[A-Za-z]$/) return at ? name "=REDACTED" : name
    return "REDACTED"
  }
  if (hides) { hides = 0; return "REDACTED" }
  if (expects) { expects = 0; return word }
  if (word ~ /^\$\{?[A-Za-z_][A-Za-z_0-9]*\}?$/ || word ~ /^%[a-zA-Z%]$/ || word ~ /^[@:+!|-]+$/) return word
  if (word ~ /^[@:+!|-]*\/(usr|bin|sbin|etc|var|run|opt|proc|sys|lib|lib64|dev|host)(\/[A-Za-z0-9._@%+-]+)*\/?$/) return word
  return word ~ /^(server|agent|worker|controller|kubelet|crio|containerd|irqbalance|tuned|start|stop|true)$/ ? word : "REDACTED"
}
function kernel_word(word,    at, name, value) {
  if (word ~ /^\$\{?[A-Za-z_][A-Za-z_0-9]*\}?$/ || word == "--") return word
  at = index(word, "=")
  name = at ? substr(word, 1, at - 1) : word
  value = at ? substr(word, at + 1) : ""
  sub(/^\+/, "", name)
  if (("kernel", name) in known) return value ~ /:\/\// ? name "=REDACTED" : word
  if (!at) return word ~ /^(\([a-z0-9,$]+\))?\/[A-Za-z0-9._\/@$+-]+$/ || is_plain(word) ? word : "REDACTED"
  if (name !~ /^[A-Za-z0-9_.-]+$/ || length(name) > 60) return "REDACTED"
  return is_plain(value) && !is_secret(name) ? word : substr(word, 1, at) "REDACTED"
}
# NAME=VALUE of a variable; `value` may have quotes around it.
function variable(name, value,    quote, bare) {
  quote = value ~ /^".*"$/ ? "\"" : value ~ /^'.*'$/ ? "'" : ""
  bare = quote == "" ? value : substr(value, 2, length(value) - 2)
  if (bare == "") return value
  if (name ~ /CMDLINE/) return quote each_word(bare, "kernel") quote
  if (name ~ /(ARGS|OPTS|OPTIONS|FLAGS)$/ || bare ~ /^--[a-z]/) { hides = expects = 0; return quote each_word(bare, "command") quote }
  # What follows on the line may be another assignment, a command or a comment.
  if (("variable", name) in known) return bare ~ /[=;#$`&|(){}<\\]/ ? quote "REDACTED" quote : value
  if (tolower(name) ~ /^(http|https|all|ftp)_proxy$/) {
    sub(/:\/\/[^\/]*@/, "://REDACTED@", bare)
    if (bare ~ /^[a-z0-9]+:\/\/(REDACTED@)?[A-Za-z0-9.-]+(:[0-9]+)?\/?$/) return quote bare quote
  }
  if (bare ~ /^[0-9.]+(m|Ki|Mi|Gi|%)?$/ && length(bare) < 8 && !is_secret(name)) return value
  return quote "REDACTED" quote
}
function variables(line,    at, name) {
  if (more) { more = line ~ /\\$/; return each_word(line, "command") }
  if (line ~ /^[ \t]*$/) return line
  at = index(line, "=")
  name = substr(line, 1, at - 1)
  if (!at || name !~ /^[ \t]*(export[ \t]+)?[A-Za-z_][A-Za-z0-9_.]*\+?[ \t]*$/) return "#"
  sub(/^[ \t]*(export[ \t]+)?/, "", name)
  sub(/\+?[ \t]*$/, "", name)
  more = name ~ /(ARGS|OPTS|OPTIONS|FLAGS)$/ && line ~ /\\$/
  return substr(line, 1, at) variable(name, substr(line, at + 1))
}
# The words of Environment=, some with blanks in quotes.
function assignments(text,    out, at, quote, word) {
  out = ""
  while (text != "") {
    if (match(text, /^[ \t]+/)) { out = out substr(text, 1, RLENGTH); text = substr(text, RLENGTH + 1); continue }
    quote = substr(text, 1, 1)
    if (quote != "\"" && quote != "'") quote = ""
    at = quote == "" ? 0 : index(substr(text, 2), quote)
    if (quote == "") { match(text, /^[^ \t]+/); word = substr(text, 1, RLENGTH); text = substr(text, RLENGTH + 1) }
    else if (at) { word = substr(text, 2, at - 1); text = substr(text, at + 2) }
    else return out "\\" (text ~ /\\$/ ? "" : "REDACTED")
    at = index(word, "=")
    if (word == "\\") out = out word
    else if (at && word ~ /^[A-Za-z_][A-Za-z0-9_]*=/) {
      if (quote == "" && substr(word, at + 1) ~ /["']/) out = out substr(word, 1, at) "REDACTED"
      else out = out quote substr(word, 1, at) variable(substr(word, 1, at - 1), substr(word, at + 1)) quote
    } else out = out "REDACTED"
  }
  return out
}
function directive(key, value,    end) {
  if (key ~ /^Exec/) return each_word(value, "command")
  if (key ~ /^(Default)?Environment$/) return assignments(value)
  end = value ~ /\\$/ ? "\\" : ""
  if (value ~ /^[ \t]*\\?$/) return value
  if (("directive", key) in known) return value ~ /:\/\// ? "REDACTED" end : value
  return is_plain(value) && !is_secret(key) ? value : "REDACTED" end
}
function unit(line,    at, out) {
  if (line ~ /^[ \t]*[#;]/) return "#"
  if (continued) out = directive(key, line)
  else if (line ~ /^[ \t]*$/ || line ~ /^\[[A-Za-z-]+\][ \t]*$/) return line
  else {
    at = index(line, "=")
    if (!at) return "#"
    key = substr(line, 1, at - 1)
    gsub(/[ \t]/, "", key)
    if (key !~ /^[A-Za-z0-9-]+$/) { key = ""; return "#" }
    hides = expects = 0
    out = substr(line, 1, at) directive(key, substr(line, at + 1))
  }
  continued = line ~ /\\$/
  if (continued && out !~ /\\$/) out = out "\\"
  return out
}
function boot(line,    word, rest, at, name) {
  if (line ~ /^[ \t]*$/) return line
  if (line ~ /^[ \t]*#/) return "#"
  if (match(line, /^[ \t]*(export[ \t]+|set[ \t]+)?[A-Za-z_][A-Za-z0-9_]*\+?=/)) {
    at = RLENGTH
    name = substr(line, 1, at - 1)
    sub(/^[ \t]*(export[ \t]+|set[ \t]+)?/, "", name)
    sub(/\+$/, "", name)
    rest = substr(line, at + 1)
    if (name ~ /^(default|fallback|timeout|saved_entry|next_entry|root|prefix)$/) return line
    if (name ~ /opts|params|cmdline|args/) return substr(line, 1, at) each_word(rest, "kernel")
    return substr(line, 1, at) (rest == "" ? "" : "REDACTED")
  }
  match(line, /^[ \t]*[^ \t]+[ \t]*/)
  word = substr(line, 1, RLENGTH)
  rest = substr(line, RLENGTH + 1)
  name = word
  gsub(/[ \t]/, "", name)
  if (name ~ /^(options|append|APPEND|linux|linuxefi|linux16|kernel|KERNEL|initrd)$/) return word each_word(rest, "kernel")
  if (name ~ /^(title|version|sort-key|machine-id|id|default|timeout|menuentry|submenu|label|LABEL|DEFAULT|blscfg|load_env|[{}]|fi|else)$/) return line
  return rest == "" ? line : word "REDACTED"
}
function sysctl(line,    at, value) {
  if (line ~ /^[ \t]*$/) return line
  at = index(line, "=")
  if (!at || substr(line, 1, at - 1) !~ /^[ \t]*-?[ \t]*[A-Za-z0-9_.\/*:-]+[ \t]*$/) return "#"
  value = substr(line, at + 1)
  return substr(line, 1, at) (are_plain(value) && !is_secret(substr(line, 1, at)) ? value : " REDACTED")
}
function tuned(line,    at, name, value) {
  if (line ~ /^[ \t]*$/ || line ~ /^\[[A-Za-z0-9_.-]+\][ \t]*$/) return line
  at = index(line, "=")
  if (!at) return "#"
  name = substr(line, 1, at - 1)
  gsub(/[ \t]/, "", name)
  value = substr(line, at + 1)
  if (name !~ /^[A-Za-z0-9_.\/:*-]+$/) return "#"
  if (name ~ /^cmdline/) return substr(line, 1, at) each_word(value, "kernel")
  if (are_plain(value) && !is_secret(name)) return line
  if (value !~ /:\/\/|#/ && (("tuned", name) in known || name ~ /^(group|service)\.|cores?$|cpus?$|^\/sys\/|^\/proc\//)) return line
  return substr(line, 1, at) "REDACTED"
}
# What a value becomes that is left out: its type stays.
function instead(value) {
  if (value ~ /^(true|false|null)/) return value
  if (value ~ /^-?[0-9]+[ \t]*$/ && length(value) < 7) return value
  if (value ~ /^-?[0-9]/ && value !~ /[A-Za-z]/) return "0"
  if (value ~ /^\[/) return "[]"
  if (value ~ /^\{/) return "{}"
  return value ~ /^'/ ? "'REDACTED'" : "\"REDACTED\""
}
# How many brackets a line opens, outside of quotes and comments; `cut` is the line without its comment.
function opened(text,    at, letter, quote, depth, last) {
  quote = ""
  depth = 0
  last = " "
  for (at = 1; at <= length(text); at++) {
    letter = substr(text, at, 1)
    if (quote != "") { if (letter == "\\" && quote == "\"") at++; else if (letter == quote) quote = "" }
    else if ((letter == "\"" || letter == "'") && last !~ /[A-Za-z0-9]/) quote = letter
    else if (letter == "[" || letter == "{") depth++
    else if (letter == "]" || letter == "}") depth--
    else if (letter == "#" && last ~ /[ \t]/) { cut = substr(text, 1, at - 1); return depth }
    last = letter
  }
  cut = text
  return depth
}
function toml(line, keys,    at, name, value, names, parts, count, item) {
  if (triple) { if (line ~ /"""|'''/) triple = 0; return "" }
  if (depth > 0) { depth += opened(line); return kept ? cut : "" }
  if (line ~ /^[ \t]*$/) return line
  if (line ~ /^[ \t]*#/) return "#"
  if (line ~ /^[ \t]*\[/) {
    opened(line)
    free = line ~ /(default_annotations|sysctls)[ \t]*]/
    closed = line ~ /registry|proxy_plugins|stream_processors|image_decryption/
    return cut
  }
  at = index(line, "=")
  if (!at) return "#"
  name = substr(line, 1, at - 1)
  gsub(/[ \t"']/, "", name)
  sub(/^.*\./, "", name)
  value = substr(line, at + 1)
  sub(/^[ \t]+/, "", value)
  depth = opened(line)
  if (value ~ /^("""|''')/) { triple = value !~ /^("""|''').*("""|''')/; return substr(line, 1, at) " \"REDACTED\"" }
  kept = !closed && (free || (keys, keys == "containerd" ? tolower(name) : name) in known)
  if (kept && value ~ /\{/) {
    # A table on one line: every name in it is known, or it goes.
    count = split(cut, parts, /[{,][ \t]*/)
    for (item = 2; item <= count; item++) {
      names = parts[item]
      if (names !~ /=/) continue
      sub(/[ \t]*=.*$/, "", names)
      gsub(/["']/, "", names)
      sub(/^.*\./, "", names)
      if (!((keys, keys == "containerd" ? tolower(names) : names) in known)) kept = 0
    }
  }
  return kept && value !~ /:\/\/[^\/]*@/ ? cut : substr(line, 1, at) " " instead(value)
}
# YAML by its first column, and JSON; below a field that is kept all is.
function yaml(line, keys,    indent, name, value, rest) {
  if (flow) { whole = whole line "\n"; return "" }
  if (depth > 0) { depth += opened(line); return kept ? (keys == "rancher" ? each_word(cut, "argument") : cut) : "" }
  if (line ~ /^[ \t]*$/) { waiting = waiting (held == "" ? "" : "\n"); return held == "" ? "" : NONE }
  if (line ~ /^[ \t]*#/) { if (held == "") return "#"; waiting = waiting "\n"; return NONE }
  if (!begun && line ~ /^[ \t]*\{/) { flow = 1; whole = line "\n"; return "" }
  match(line, /^ */)
  indent = RLENGTH
  if (line ~ /^(---|\.\.\.)[ \t]*$/) return release("") line
  if (!begun) { top = indent; begun = 1 }
  if (indent <= top && match(line, /^ *["']?[A-Za-z][A-Za-z0-9_.+-]*["']?[ \t]*:/)) {
    name = substr(line, 1, RLENGTH - 1)
    rest = substr(line, RLENGTH + 1)
    gsub(/[ \t"']/, "", name)
    value = rest
    sub(/^[ \t]+/, "", value)
    depth = opened(line)
    kept = keys == "rancher" ? name ~ /^kubelet-arg\+?$/ : (keys, name) in known
    below = value ~ /^([|>&!#]|$)/
    if (kept) return release("") (keys == "rancher" ? substr(line, 1, RLENGTH) each_word(substr(cut, RLENGTH + 1), "argument") : cut)
    # A name that is no word may be a secret itself.
    if (name !~ /^[A-Za-z][A-Za-z_-]*$/ || length(name) > 60) return release("")
    name = substr(line, 1, length(line) - length(rest))
    if (value == "" || value ~ /^#/) { rest = release(""); held = name; return rest == "" ? NONE : rest NONE }
    if (keys == "rancher" && value ~ /^\[/) return release("") name " []"
    return release("") name " " scalar(value)
  }
  if (kept && below && (indent > top || line ~ /^ *-/)) {
    depth = opened(line)
    return release("") (keys == "rancher" ? each_word_item(cut) : cut)
  }
  if (!(indent > top || line ~ /^ *[]}-]/)) kept = 0
  return release(line ~ /^ *-/ ? "[]" : "{}")
}
function each_word_item(text) {
  match(text, /^ *(- *)?/)
  return substr(text, 1, RLENGTH) each_word(substr(text, RLENGTH + 1), "argument")
}
function scalar(value) {
  if (value ~ /^["'[{0-9tfn-]/) return instead(value)
  return "REDACTED"
}
# A field that is left out waits for the line that tells its type.
function release(kind,    out) {
  if (held == "") return ""
  out = held " " (kind == "" ? "null" : kind) "\n" waiting
  held = waiting = ""
  return out
}
# A value of JSON at `at`, of which nothing is kept: its types stay, and names below it.
function skipped(    letter, out, end) {
  letter = substr(whole, at, 1)
  if (letter == "\"") { string(); return "\"REDACTED\"" }
  if (letter == "[") { balanced(); return "[\"REDACTED\"]" }
  if (letter != "{") { end = at; while (substr(whole, at, 1) ~ /[A-Za-z0-9.+-]/) at++; out = substr(whole, end, at - end)
    if (at == end) at++
    return out ~ /^(true|false|null)$/ ? out : "0" }
  out = "{"
  at++
  while (at <= length(whole)) {
    letter = substr(whole, at, 1)
    if (letter == "}") { at++; return out "}" }
    if (letter == "\"") {
      end = string()
      out = out (end ~ /^"[A-Za-z][A-Za-z_-]*"$/ && length(end) < 40 ? end : "\"REDACTED\"")
      while (substr(whole, at, 1) ~ /[ \t\n:]/) { out = out substr(whole, at, 1); at++ }
      out = out skipped()
    } else { out = out (letter ~ /[, \t\n]/ ? letter : ""); at++ }
  }
  return out
}
function string(    from) {
  from = at++
  while (at <= length(whole) && substr(whole, at, 1) != "\"") at += substr(whole, at, 1) == "\\" ? 2 : 1
  at++
  return substr(whole, from, at - from)
}
function balanced(    from, level, letter) {
  from = at
  level = 0
  while (at <= length(whole)) {
    letter = substr(whole, at, 1)
    if (letter == "\"") { string(); continue }
    if (letter == "[" || letter == "{") level++
    if (letter == "]" || letter == "}") level--
    at++
    if (!level && (letter == "]" || letter == "}")) break
  }
  return substr(whole, from, at - from)
}
# JSON, and YAML in braces: the fields of the outermost object.
function json(keys,    out, letter, name, from) {
  at = index(whole, "{") + 1
  out = substr(whole, 1, at - 1)
  while (at <= length(whole)) {
    letter = substr(whole, at, 1)
    if (letter == "}") { return out "}\n" }
    if (letter !~ /["A-Za-z]/) { out = out (letter ~ /[, \t\n]/ ? letter : ""); at++; continue }
    from = at
    if (letter == "\"") name = string()
    else { while (substr(whole, at, 1) ~ /[A-Za-z0-9_.-]/) at++; name = substr(whole, from, at - from) }
    out = out (name ~ /^"?[A-Za-z][A-Za-z_-]*"?$/ && length(name) < 60 ? name : "\"REDACTED\"")
    gsub(/"/, "", name)
    while (substr(whole, at, 1) ~ /[ \t\n:]/) { out = out substr(whole, at, 1); at++ }
    if ((keys, name) in known) {
      letter = substr(whole, at, 1)
      if (letter == "\"") out = out string()
      else if (letter == "[" || letter == "{") out = out balanced()
      else while (at <= length(whole) && substr(whole, at, 1) !~ /[,}]/) { out = out substr(whole, at, 1); at++ }
    } else if (substr(whole, at, 1) ~ /["[{0-9tfn-]/) out = out skipped()
    else { while (at <= length(whole) && substr(whole, at, 1) !~ /[,}]/) at++; out = out "\"REDACTED\"" }
  }
  return out
}
function dmesg(line,    at) {
  if (match(line, /[Cc]ommand line: /)) { at = RSTART + RLENGTH; return substr(line, 1, at - 1) each_word(substr(line, at), "kernel") }
  if (match(line, /Unknown kernel command line parameters "?/)) { at = RSTART + RLENGTH; return substr(line, 1, at - 1) each_word(substr(line, at), "kernel") }
  if (length(line) < 400 && line ~ /Linux version [0-9]|Booting Linux on physical CPU|Offload RCU callbacks|isolcpus|nohz_full|rcu_nocbs|Housekeeping|HugeTLB|CPU ?[0-9]+ (is now offline|failed|.*not responding)|CPU[0-9]+: failed|do_boot_cpu failed|NR_CPUS|bad CPU range|incorrect CPU range|nonexistent CPUs|has no effect/) {
    return line
  }
  return NONE
}
function filtered(line) {
  if (form == "own") return is_own(name_of) ? line : ""
  if (is_own(name_of) && (form == "unit" || form == "sysctl" || form == "variables")) return line
  if (form == "unit") return unit(line)
  if (form == "variables") return variables(line)
  if (form == "flags") { hides = expects = 0; return line ~ /^[ \t]*#/ ? "#" : each_word(line, "command") }
  if (form == "kubelet") return yaml(line, "field")
  if (form == "rancher") return yaml(line, "rancher")
  if (form == "crio" || form == "containerd") return toml(line, form)
  if (form == "sysctl") return sysctl(line)
  if (form == "tuned") return tuned(line)
  if (form == "boot") return boot(line)
  if (form == "arguments") return each_word(line, "kernel")
  if (form == "state") return line ~ /^[][{}":, \t\nA-Za-z0-9_.-]*$/ ? line : ""
  if (form == "value") return are_plain(line) ? line : "REDACTED"
  if (form == "line") return line ~ /^[A-Za-z0-9_.@ -]*$/ && length(line) < 254 ? line : ""
  if (form == "cdi") {
    while (match(line, /DRA_CPUSET_[A-Za-z0-9_-]*=[0-9,-]*/)) {
      claims = claims (claims == "" ? "" : ", ") "\"" substr(line, RSTART, RLENGTH) "\""
      line = substr(line, RSTART + RLENGTH)
    }
    return NONE
  }
  return ""
}
function finish() {
  if (name_of == "") return
  if (held != "") text = text release("")
  if (flow) text = json(form == "rancher" ? "rancher" : "field")
  if (form == "cdi") text = "{\"devices\": [{\"containerEdits\": {\"env\": [" claims "]}}]}\n"
  if (text != original) { printf "%s", text > current; close(current) }
  print current
}
function start() {
  current = FILENAME
  name_of = substr(current, length(TO) + 2)
  form = form_of(name_of)
  text = original = key = whole = held = waiting = claims = ""
  continued = hides = expects = flow = begun = below = depth = triple = kept = free = closed = top = more = 0
}
BEGIN { NONE = "\001" }
stream == "command" { hides += 0; print NR == 1 && $0 !~ /^-/ ? $0 : command_word($0); next }
stream == "dmesg" { line = dmesg($0); if (line != NONE) print line; next }
FNR == 1 { finish(); start() }
{
  original = original $0 "\n"
  line = filtered($0) "\n"
  # What waits for another line ends without one of its own.
  sub(NONE "\n$", "", line)
  text = text line
}
END { if (stream == "") finish() }
AWK
  export FLAGS KERNEL DIRECTIVES VARIABLES FIELDS CRIO CONTAINERD TUNED FORMS
  find "$to" -name '*
*' -exec rm -rf {} + 2>/dev/null
  for place in etc var boot run usr lib opt home proc/cmdline proc/sys sys/module; do
    [ -e "$to/$place" ] && find "$to/$place" -type f -size +0
  done >"$lists/unfiltered"
  tr '\n' '\0' <"$lists/unfiltered" | xargs -0 awk -v TO="$to" -f "$work/filter.awk" >"$lists/filtered"
  awk -v filtered="$lists/filtered" 'BEGIN { while ((getline line < filtered) > 0) done[line] } !($0 in done)' \
    "$lists/unfiltered" | tr '\n' '\0' | xargs -0 rm -f
  # The second net: words that look like secrets in what is kept.
  for place in etc var boot run usr lib opt home proc/cmdline; do
    [ -e "$to/$place" ] || continue
    find "$to/$place" -type f -exec grep -lE "$MENTIONS" {} + 2>/dev/null
  done | while IFS= read -r file; do
    if redact <"$file" >"$work/redacted" && ! cmp -s "$file" "$work/redacted"; then cat "$work/redacted" >"$file"; fi
  done
  for place in etc var boot run usr lib opt home; do
    [ -d "$to/$place" ] && find "$to/$place" -type f
  done | while IFS= read -r file; do touch -r "$root${file#"$to"}" "$file" 2>/dev/null; done
  # Other scripts than those of plans are empty now.
  for place in usr/local/bin usr/local/sbin opt/bin; do
    [ -d "$to/$place" ] && find "$to/$place" -type f -exec sh -c 'for file; do grep -q . "$file" || rm -f "$file"; done' - {} +
  done
}

# The command lines of those that decide what a node does; of environments, only CPUs.
copy_processes() {
  for process in "$root"/proc/[0-9]*; do
    name=
    { read -r name <"$process/comm"; } 2>/dev/null || continue
    case $name in
      kubelet | crio | containerd | irqbalance | tuned | systemd | k3s* | rke2* | k0s* | kubelite | dockerd | conmon | stalld | \
        koordlet | hyperkube)
        { tr '\0' '\n' <"$process/cmdline"; } 2>/dev/null | known_words | tr '\n' '\0' >"$work/words"
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

# One word in a line.
known_words() { awk -v stream=command -f "$work/filter.awk" | redact; }

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
  "$@" 2>/dev/null </dev/null | head -c 4000000 | known_output "$name" | redact >"$to/cpuplan/$name"
  [ -s "$to/cpuplan/$name" ] || rm -f "$to/cpuplan/$name"
}

# known_output NAME: of an output what is read.
known_output() {
  case $1 in
    dmesg) awk -v stream=dmesg -f "$work/filter.awk" ;;
    systemctl-list-units) awk '{ print $1, $2, $3, $4 }' ;;
    tuned-adm-verify) grep -E '^Verif(ication|ied)' | cut -c 1-200 ;;
    tuned-adm-active) grep -E '^Current active profile: [A-Za-z0-9_. -]*$' ;;
    *) cat ;;
  esac
}

copy_commands() {
  said dmesg dmesg
  said uname uname -a
  set -- kubelet.service crio.service containerd.service irqbalance.service tuned.service
  for unit in "$root"/etc/systemd/system/*.service "$root"/etc/systemd/system/*.timer "$root"/etc/systemd/system/*.slice; do
    [ -e "$unit" ] && [ "$#" -lt 200 ] && set -- "$@" "${unit##*/}"
  done
  for name in Id Names LoadState ActiveState SubState UnitFileState Result NRestarts MainPID ExecMainStatus \
    ExecMainStartTimestamp ExecMainStartTimestampMonotonic ConditionResult ConditionTimestampMonotonic \
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
[ -f "$root/$log" ] && mkdir -p "$to/${log%/*}" && tail -c 200000 "$root/$log" 2>/dev/null |
  grep -E 'tuned[A-Za-z0-9_.]*: +(loading profile|verifying profile|verify: |failed to initialize plugin |Cannot (load|find|set initial) )' |
  redact >"$to/$log"
remove_keys
filter_files
copy_processes
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
