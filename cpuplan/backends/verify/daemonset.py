"""The agent of one class, and what it has of its node: single folders, all read-only."""

import posixpath
from collections.abc import Iterator
from typing import Any, NamedTuple

from cpuplan.backends.verify import access, objects
from cpuplan.components import admission_rules
from cpuplan.components.host import interrupts
from cpuplan.facts import versions
from cpuplan.language.model.rollout import Verify
from cpuplan.plan import ConfiguredPlan
from cpuplan.upstream.openshift import managed

HOST, STATE = "/host", "/state"
#: Folders of every node.
_EVERYWHERE = (
    "/etc",
    "/proc",
    "/sys/bus",
    "/sys/class",
    "/sys/devices",
    "/sys/fs/cgroup",
    "/sys/kernel/mm",
    "/sys/module",
    "/usr",
    "/var/log/containers",
)
_OF_SYSTEMD = ("/boot", "/run/systemd/system")
#: Below the kubelet's folder; volumes of pods, and sockets by which plugins register. Each kubelet
#: makes them (kubernetes/pkg/kubelet/kubelet.go, setupDataDirs; cm/devicemanager).
_HIDDEN = ("device-plugins", "plugins", "plugins_registry", "pod-resources", "pods")
_NAME = "nothing"


class Mount(NamedTuple):
    """A folder or file of the host; `kind` is what the kubelet makes sure of before."""

    path: str
    kind: str = "Directory"
    #: Pods' volumes come and go below it: without propagation, the agent would keep them mounted.
    has_volumes: bool = False
    #: Of a file that the intent names, whose path may be longer than a name.
    given: str = ""

    @property
    def name(self) -> str:
        """The name of the volume."""
        return self.given or self.path.strip("/").replace("/", "-").replace("_", "-")


def of(plan: ConfiguredPlan, verify: Verify) -> list[Mount]:
    """What the agents of a class have of their nodes, by path."""
    return sorted({*folders(plan, verify), *_files(plan, verify)})


def folders(plan: ConfiguredPlan, verify: Verify) -> list[Mount]:
    """Those that are there as a whole."""
    return [*_folders(plan), *_of_root(plan, verify)]


def _folders(plan: ConfiguredPlan) -> Iterator[Mount]:
    platform = plan.node_class.platform
    yield from map(Mount, _EVERYWHERE)
    if platform.takes_files or platform.has_pools:
        yield from map(Mount, _OF_SYSTEMD)
    folder = posixpath.dirname(platform.kubelet_folder)
    if folder and not folder.startswith("/etc/"):
        # Of K3s and RKE2: beside the kubelet's files are the runtime's, and no keys.
        yield Mount(folder)
    if platform.has_pools:
        yield Mount("/sys/fs/selinux")
        yield Mount("/var/lib/ocp-tuned", "DirectoryOrCreate")
    if any("iommu" in setting.key for setting in plan.settings.of("kernel")):
        yield Mount("/sys/kernel/iommu_groups")
    if plan.node_class.target.has_dra:
        # As the pods of the driver do.
        yield Mount("/run/cdi", "DirectoryOrCreate")


def _files(plan: ConfiguredPlan, verify: Verify) -> Iterator[Mount]:
    if plan.settings.of(interrupts.NAME):
        # The compiled unit writes it, in its place.
        yield Mount(f"/{interrupts.UNMOVABLE}", "FileOrCreate")
    for at, path in enumerate(verify.files):
        yield Mount(path, "File", given=f"file-{at}")


def _of_root(plan: ConfiguredPlan, verify: Verify) -> Iterator[Mount]:
    if verify.access != "user":
        yield Mount(plan.node_class.platform.root_directory, has_volumes=True)
        # Readable for root alone, as the programs that write them leave them.
        yield from map(Mount, plan.node_class.platform.kubelet_places)


def volumes(plan: ConfiguredPlan, verify: Verify) -> list[dict[str, Any]]:
    """The volumes of the pod."""
    hidden = [{"name": _NAME, "emptyDir": {}}] if verify.access != "user" else []
    state = {"name": "state", "configMap": {"name": objects.agent(plan), "defaultMode": 0o444}}
    return [*map(_volume, of(plan, verify)), *hidden, state]


def volume_mounts(plan: ConfiguredPlan, verify: Verify) -> list[dict[str, Any]]:
    """Where the agent has them; over folders of the kubelet that are not for it, nothing."""
    is_recursive = _makes_all_read_only(plan)
    mounted = [_mount(volume, is_recursive=is_recursive) for volume in of(plan, verify)]
    if verify.access != "user":
        kubelet = plan.node_class.platform.root_directory
        places = (f"{HOST}{kubelet}/{name}" for name in _HIDDEN)
        mounted += [{"name": _NAME, "mountPath": place, "readOnly": True} for place in places]
    return [*mounted, {"name": "state", "mountPath": STATE, "readOnly": True}]


def _makes_all_read_only(plan: ConfiguredPlan) -> bool:
    server = admission_rules.api_server(plan)
    return server is not None and server >= versions.FEATURES["api.recursive_read_only"]


def _volume(mount: Mount) -> dict[str, Any]:
    return {"name": mount.name, "hostPath": {"path": mount.path, "type": mount.kind}}


def _mount(mount: Mount, *, is_recursive: bool) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": mount.name,
        "mountPath": HOST + mount.path,
        "mountPropagation": "HostToContainer" if mount.has_volumes else "None",
        "readOnly": True,
    }
    if is_recursive and not mount.has_volumes:
        made["recursiveReadOnly"] = "IfPossible"
    return made


PORT = 9876
#: No other process of the node may have this user: one of the same user, without capabilities,
#: could be traced, and /proc/<pid>/root leads to its files. systemd assigns neither this number nor
#: its neighbours to anybody (systemd.io, UIDS-GIDS). Root in its container has the group too: the
#: kernel lets nobody trace a process of another group.
USER = 65520
#: Of the agent, which a benchmark measures (docs/benchmarks.md); no limit of CPU time: the kernel
#: would stop a check in its middle.
_RESOURCES = {
    "requests": {"cpu": "10m", "memory": "48Mi"},
    "limits": {"memory": "96Mi"},
}
#: On OpenShift with workload partitioning: the pod gets reserved CPUs.
_ON_RESERVED = {f"{managed.TARGET}{managed.MANAGEMENT}": '{"effect": "PreferredDuringScheduling"}'}


def document(plan: ConfiguredPlan, verify: Verify) -> dict[str, Any]:
    """The DaemonSet of a class."""
    labels = objects.selector(plan)
    own = {objects.PART_OF: "cpuplan", **verify.labels, **labels}
    template: dict[str, Any] = {"metadata": {"labels": own}, "spec": _pod(plan, verify)}
    if plan.node_class.target.cpu_partitioning:
        template["metadata"]["annotations"] = dict(_ON_RESERVED)
    return {
        **objects.object_head(
            "apps/v1",
            "DaemonSet",
            objects.agent(plan),
            verify,
            namespace=verify.namespace,
            labels=labels,
        ),
        "spec": {
            "selector": {"matchLabels": labels},
            "template": template,
            "updateStrategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "25%"},
            },
        },
    }


def _pod(plan: ConfiguredPlan, verify: Verify) -> dict[str, Any]:
    is_root = verify.access != "user"
    security: dict[str, Any] = {
        "runAsUser": 0 if is_root else USER,
        "runAsGroup": USER,
        "runAsNonRoot": not is_root,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    if plan.node_class.platform.has_pools or plan.node_class.target.os_family == "redhat":
        # container_t may read neither files of the host nor other processes (container-selinux).
        security["seLinuxOptions"] = {"type": "spc_t"}
    return {
        "serviceAccountName": objects.agent(plan),
        "automountServiceAccountToken": verify.condition or verify.events,
        "enableServiceLinks": False,
        **placement(plan, verify),
        # A node with any taint is one that somebody may want to know about.
        "tolerations": [{"operator": "Exists"}],
        "securityContext": security,
        "containers": [_container(plan, verify)],
        "volumes": volumes(plan, verify),
    }


def placement(plan: ConfiguredPlan, verify: Verify) -> dict[str, Any]:
    """The nodes of the class: by the labels that the intent says, else by their names.

    A term names one node (validation of field selectors), and terms are alternatives.
    """
    if verify.node_selector:
        return {"nodeSelector": dict(verify.node_selector)}
    terms = [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        for node in sorted(plan.node_class.nodes)
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"affinity": {"nodeAffinity": required}}


def _container(plan: ConfiguredPlan, verify: Verify) -> dict[str, Any]:
    return {
        "name": "agent",
        "image": verify.image,
        "args": _arguments(verify),
        "env": [
            {
                "name": "NODE_NAME",
                "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}},
            }
        ],
        "ports": [{"name": "metrics", "containerPort": PORT, "protocol": "TCP"}],
        "livenessProbe": _probe("/healthz", 60),
        "readinessProbe": _probe("/readyz", 10),
        "resources": _RESOURCES,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": access.capabilities(plan, verify),
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": volume_mounts(plan, verify),
    }


def _arguments(verify: Verify) -> list[str]:
    given = ["--root", HOST, "--state", STATE, "--interval", verify.interval, "--listen"]
    flags = [
        *(["--condition"] if verify.condition else []),
        *(["--events"] if verify.events else []),
    ]
    return ["agent", *given, f":{PORT}", *flags]


def _probe(path: str, period: int) -> dict[str, Any]:
    return {
        "httpGet": {"path": path, "port": "metrics", "scheme": "HTTP"},
        "periodSeconds": period,
        "timeoutSeconds": 5,
    }
