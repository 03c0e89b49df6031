"""Which planned node a root is of: what it calls itself, against the names of nodes."""

from collections.abc import Callable, Iterable, Sequence

from cpuplan.base import nodetext
from cpuplan.base.naming import is_subdomain

#: What a snapshot says of itself: `key: value` in each line.
MANIFEST = "cpuplan/snapshot"
#: Last what the kernel says: in a container it is the name of the container.
_FILES = ("etc/hostname", "proc/sys/kernel/hostname")
_NO_NAMES = frozenset({"localhost", "localhost.localdomain"})


def names_of(read: Callable[[str], str | None], given: str = "") -> tuple[str, ...]:
    """The host names in the files of a root, without doubles; `given` is known from elsewhere.

    In lower case, as the kubelet registers its node (pkg/util/node/node.go, GetHostname).
    """
    stated = manifest(read(MANIFEST) or "").get("host", "")
    texts = [given, stated, *(read(path) or "" for path in _FILES)]
    names = (text.strip().lower().rstrip(".") for text in texts)
    return tuple(dict.fromkeys(name for name in names if is_subdomain(name) and _is_name(name)))


def manifest(text: str) -> dict[str, str]:
    """The keys of a snapshot's own file."""
    pairs = (line.partition(":") for line in nodetext.lines(text))
    return {key.strip(): value.strip() for key, separator, value in pairs if separator}


def nodes_of(hosts: Sequence[str], nodes: Iterable[str]) -> list[str]:
    """The nodes that a host may be, by its names: one of a whole name, else all of a short one.

    A node is often registered by its domain name, while the host has the short one, or vice versa.
    """
    known = sorted(set(nodes))
    for host in hosts:
        if host in known:
            return [host]
    for host in hosts:
        short = host.partition(".")[0]
        same = [
            node
            for node in known
            if node.partition(".")[0] == short and ("." not in host or "." not in node)
        ]
        if same:
            return same
    return []


def _is_name(name: str) -> bool:
    return name not in _NO_NAMES
