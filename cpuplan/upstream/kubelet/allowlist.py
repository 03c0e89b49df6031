"""Sysctls in the configuration: allowedUnsafeSysctls, and since 1.37 defaultPodSysctls.

(pkg/kubelet/sysctl/allowlist.go, NewAllowlist; KEP-5996.)

Upstream: kubernetes/kubernetes pkg/kubelet/sysctl/allowlist.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

import re
from collections.abc import Iterable

from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.strconv import quote

_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_PATTERN = rf"({_SEGMENT}[\./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]"
_FORM = re.compile(_PATTERN)
_MAX_LENGTH = 253
#: Parameters of the IPC namespace; all below the folders belong to a namespace too.
_NAMES = frozenset(
    (
        "kernel.msg",
        "kernel.msgmax",
        "kernel.msgmnb",
        "kernel.msgmni",
        "kernel.sem",
        "kernel.shm",
        "kernel.shm_rmid_forced",
        "kernel.shmall",
        "kernel.shmmax",
        "kernel.shmmni",
    )
)
_FOLDERS = ("net.", "fs.mqueue.")
#: Of the namespaces that only defaultPodSysctls knows: UTS and user namespaces.
_MORE_NAMES, _MORE_FOLDERS = frozenset({"kernel.domainname"}), ("user.",)


def check_allowlist(patterns: Iterable[str]) -> None:
    """KubeletError for the first pattern that is malformed, or of no namespace of the kernel."""
    for pattern in patterns:
        if len(pattern.encode()) > _MAX_LENGTH or not _FORM.fullmatch(pattern):
            rule = f"must have at most {_MAX_LENGTH} characters and match regex {_PATTERN}"
            raise KubeletError(f"sysctl {quote(pattern)} {rule}")
        name = _normalized(pattern).partition("*")[0]
        if name not in _NAMES and not name.startswith(_FOLDERS):
            raise KubeletError(f"the sysctls {quote(name)} are not known to be namespaced")


def is_of_a_pod(name: str) -> bool:
    """Whether defaultPodSysctls takes a parameter: it is well formed, and of some namespace."""
    if len(name.encode()) > _MAX_LENGTH or not _FORM.fullmatch(name) or "*" in name:
        return False
    dotted = _normalized(name)
    return dotted in _NAMES | _MORE_NAMES or dotted.startswith((*_FOLDERS, *_MORE_FOLDERS))


def _normalized(name: str) -> str:
    """The name with dots between its parts; only where a slash comes first the two are swapped."""
    first = re.search(r"[./]", name)
    if first is None or first[0] == ".":
        return name
    return name.translate(str.maketrans("./", "/."))
