"""The documents that a class was made from, as a digest: comments and order of keys do not count.

Both who compiles and who checks make it, the latter from documents that nobody validated.
"""

import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any

#: Fields of intents that change nothing on nodes: pods, which may lie in files of their own, and
#: how a change gets there.
_WITHOUT = ("paused", "rollout", "workloads")


def digest(spec_of: Callable[[str, str], Any], intent: str, hardware: str, cluster: str) -> str:
    """SHA-256 over the specs; "" where there is no such intent or hardware.

    `spec_of` gives the spec of a document by kind and name, as YAML has it, or None.
    """
    named = (("Intent", intent), ("Hardware", hardware), ("Cluster", cluster))
    specs = [spec_of(kind, name) for kind, name in named]
    if None in specs[:2]:
        return ""
    text = json.dumps(list(map(_kept, specs)), sort_keys=True, default=str)
    return sha256(text.encode()).hexdigest()


def _kept(spec: Any) -> Any:
    if not isinstance(spec, dict):
        return spec
    return {key: value for key, value in spec.items() if key not in _WITHOUT}
