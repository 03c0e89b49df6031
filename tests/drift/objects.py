"""All objects that are emitted: of the sample, of the cases, and of rollouts."""

from collections.abc import Iterator
from typing import Any

import yaml

from cpuplan import backends
from cpuplan.plan import ConfiguredPlan, Plan
from tests.machines.plans import plan, regular
from tests.named_cases import CASES, compiled
from tests.projects import REPOSITORY

_SHARING: dict[str, Any] = {"runtime": {"sharedNamespaces": ["ran"]}}
_ROLLOUT: dict[str, Any] = {"rollout": {"maxUnavailable": "10%", "pausePools": True}}
_VERIFY: dict[str, Any] = {
    "verify": {
        "image": "registry.example.com/cpuplan:1.0",
        "pullSecret": "pull",
        "condition": True,
        "events": True,
        "prometheus": {},
        "waitFor": "60m",
    }
}


_MORE_ACCESS: dict[str, Any] = {
    "verify": {
        **_VERIFY["verify"],
        "access": "tracing",
        "files": ["/var/lib/rancher/config.yaml"],
        "apiServer": {"cidrs": ["10.0.0.0/24"], "ports": [6443]},
        "prometheus": {"namespace": "monitoring", "pods": {"app": "prometheus"}},
    }
}


def _made() -> dict[str, ConfiguredPlan]:
    return {
        "verified with more": plan(platform="kubernetes", version="1.34", spec=_MORE_ACCESS),
        "custom pool": plan(
            regular(cores=8),
            shared="2-3",
            target={"pool": "worker-cnf", "cpuPartitioning": True},
            spec={**_SHARING, **_ROLLOUT},
        ),
        "built-in pool": plan(target={"pool": "worker"}, spec=_ROLLOUT),
        "profile": plan(target={"mode": "performanceProfile"}, spec=_ROLLOUT),
        "verified": plan(target={"pool": "worker-cnf"}, spec=_VERIFY),
        "plain": plan(
            regular(cores=8),
            shared="2-3",
            platform="kubernetes",
            version="1.34",
            target={"delivery": ["nodeWright", "clusterApi"], "hostingNamespace": "lab"},
            spec={**_SHARING, "rollout": {"maxUnavailable": "25%"}},
        ),
    }


def every() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """(where, objects in the order of their files) of each cluster."""
    trees = {name: compiled(name).files for name in CASES}
    trees |= {name: backends.tree(Plan((node,))) for name, node in _made().items()}
    out = REPOSITORY / "out"
    paths = [path for path in out.rglob("manifests/*.yaml") if path.is_file()]
    trees["sample"] = {str(path.relative_to(out)): path.read_bytes() for path in paths}
    for name, files in trees.items():
        folders: dict[str, list[dict[str, Any]]] = {}
        for path, data in sorted(files.items()):
            folder, _, file = path.rpartition("/")
            if folder.endswith("/manifests") and file != "kustomization.yaml":
                folders.setdefault(folder, []).append(yaml.load(data, yaml.CSafeLoader))
        for folder, objects in folders.items():
            yield f"{name}: {folder}", objects
