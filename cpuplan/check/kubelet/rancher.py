"""Flags of the kubelet in K3s and RKE2, whose process or configuration has them as `kubelet-arg`.

From docs.k3s.io, installation/configuration: config.yaml, then config.yaml.d by name, where `key+`
adds to a list, then the command line, which is added too.
"""

from typing import Any

from cpuplan.check.subject import Subject
from cpuplan.upstream.kubelet.config.codec import raw_fields

_PLATFORMS = ("k3s", "rke2")
_KEY = "kubelet-arg"


def arguments(subject: Subject) -> list[tuple[str, str]]:
    """(flag with its dashes, file) of each argument, in the order in which they count."""
    name = subject.expected.platform.name
    if name not in _PLATFORMS:
        return []
    folder = f"etc/rancher/{name}"
    drop_ins = (path for path in subject.root.files(f"{folder}/config.yaml.d"))
    paths = [f"{folder}/config.yaml", *(path for path in drop_ins if path.endswith(".yaml"))]
    found: list[tuple[str, str]] = []
    for path in paths:
        fields = raw_fields(subject.root.read(path) or "")
        if _KEY in fields:
            found = []
        for key in (_KEY, f"{_KEY}+"):
            found += [(f"--{argument}", path) for argument in _texts(fields.get(key))]
    return found


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [] if value is None else [value]
    return [str(each).lstrip("-") for each in values]
