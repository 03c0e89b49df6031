"""What the kubelet and a runtime make of the emitted DaemonSet: an OCI bundle for runc.

Weaker than they do in two things: there is no seccomp filter, and with `recursive` off the runtime
is one that knows no recursively read-only mounts.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

#: Of containerd (pkg/oci, internal/cri/opts) and of CRI-O.
_MASKED = (
    "acpi",
    "kcore",
    "keys",
    "latency_stats",
    "timer_list",
    "timer_stats",
    "sched_debug",
    "scsi",
)
_READ_ONLY = ("asound", "bus", "fs", "irq", "sys", "sysrq-trigger")
_KINDS = ("pid", "ipc", "uts", "mount", "network", "cgroup")
#: The image is made of the guest's own programs.
_IMAGE = ("usr",)
_LINKS = ("bin", "lib", "lib64", "sbin")
_SAFE = ("nosuid", "noexec", "nodev")


def write(
    bundle: Path, daemonset: Mapping[str, Any], words: Sequence[str], *, recursive: bool
) -> None:
    """The bundle of a pod's container that runs other words."""
    root = bundle / "rootfs"
    for name in (*_IMAGE, "app", "dev", "etc", "host", "proc", "state", "sys"):
        (root / name).mkdir(parents=True)
    for name in _LINKS:
        (root / name).symlink_to(f"usr/{name}")
    pod = daemonset["spec"]["template"]["spec"]
    spec = {
        "ociVersion": "1.0.2",
        "process": _process(pod, words),
        "root": {"path": "rootfs", "readonly": True},
        "hostname": "agent",
        "mounts": [*_of_runtime(), *_of_image(), *_of_pod(pod, recursive=recursive)],
        "linux": {
            "cgroupsPath": f"/{bundle.name}",
            "namespaces": [{"type": kind} for kind in _KINDS],
            "resources": {"devices": [{"allow": False, "access": "rwm"}]},
            "maskedPaths": [*(f"/proc/{name}" for name in _MASKED), "/sys/firmware"],
            "readonlyPaths": [f"/proc/{name}" for name in _READ_ONLY],
        },
    }
    (bundle / "config.json").write_text(json.dumps(spec))


def _process(pod: Mapping[str, Any], words: Sequence[str]) -> dict[str, Any]:
    of_pod, of_container = pod["securityContext"], pod["containers"][0]["securityContext"]
    assert of_container["allowPrivilegeEscalation"] is False
    assert of_container["readOnlyRootFilesystem"] is True
    assert of_container["capabilities"]["drop"] == ["ALL"]
    added = [f"CAP_{name}" for name in of_container["capabilities"].get("add", [])]
    # Those of another user than root are in no set that counts.
    own = added if of_pod["runAsUser"] == 0 else []
    return {
        "terminal": False,
        "user": {"uid": of_pod["runAsUser"], "gid": of_pod["runAsGroup"]},
        "args": list(words),
        "cwd": "/",
        "env": ["PATH=/usr/sbin:/usr/bin", "NODE_NAME=plain", "PYTHONDONTWRITEBYTECODE=1"],
        "noNewPrivileges": True,
        "capabilities": {"bounding": added, "permitted": own, "effective": own},
    }


def _of_runtime() -> list[dict[str, Any]]:
    return [
        _mounted("proc", "proc", "/proc", *_SAFE),
        _mounted("tmpfs", "tmpfs", "/dev", "nosuid", "mode=755", "size=65536k"),
        _mounted("devpts", "devpts", "/dev/pts", "nosuid", "noexec", "newinstance", "mode=0620"),
        _mounted("tmpfs", "shm", "/dev/shm", *_SAFE, "mode=1777", "size=65536k"),
        _mounted("sysfs", "sysfs", "/sys", *_SAFE, "ro"),
        _mounted("cgroup", "cgroup", "/sys/fs/cgroup", *_SAFE, "relatime", "ro"),
    ]


def _of_image() -> list[dict[str, Any]]:
    folders = [_mounted("bind", f"/{name}", f"/{name}", "rbind", "ro") for name in _IMAGE]
    return [*folders, _mounted("bind", "/agent/app", "/app", "rbind", "ro")]


def _of_pod(pod: Mapping[str, Any], *, recursive: bool) -> list[dict[str, Any]]:
    """The volumes, outer ones first, as the kubelet sorts them."""
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    made = []
    for mount in sorted(pod["containers"][0]["volumeMounts"], key=lambda each: each["mountPath"]):
        assert mount["readOnly"] is True
        volume = volumes[mount["name"]]
        source = "/agent/state" if "configMap" in volume else "/agent/nothing"
        source = volume.get("hostPath", {}).get("path", source)
        slaves = mount.get("mountPropagation") == "HostToContainer"
        is_recursive = recursive and mount.get("recursiveReadOnly") == "IfPossible"
        flags = ("rslave" if slaves else "rprivate", "rro" if is_recursive else "ro")
        made.append(_mounted("bind", source, mount["mountPath"], "rbind", *flags))
    return made


def _mounted(kind: str, source: str, destination: str, *options: str) -> dict[str, Any]:
    return {"type": kind, "source": source, "destination": destination, "options": list(options)}
