"""ConfigMaps with what nodes must show, as the agents and the Job mount them."""

import json
from collections.abc import Mapping
from typing import Any

from cpuplan.backends.verify import names
from cpuplan.language.model.verify import Verify
from cpuplan.plan import NodePlan

#: Bytes of all values of a ConfigMap (apimachinery, MaxSecretSize; validation of ConfigMaps).
MOST = 1024 * 1024


def config_map(name: str, verify: Verify, texts: Mapping[str, str]) -> dict[str, Any]:
    """Files of `out/` by their names."""
    head = names.head("v1", "ConfigMap", name, verify, namespace=verify.namespace)
    return {**head, "data": dict(texts)}


def key(plan: NodePlan) -> str:
    """The name of the file."""
    return f"{plan.node_class.name}.json"


def digest(state: str) -> str:
    """What tells the plan of a state from others."""
    found: str = json.loads(state)["digest"]
    return found
