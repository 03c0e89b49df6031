"""Labels of nodes by role, as MachineConfigPools select them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cpuplan.language.model.intent import Target

NODE_ROLE = "node-role.kubernetes.io/"


def role(pool: str) -> str:
    """The label of the nodes of a custom pool."""
    return NODE_ROLE + pool


def node_selector(target: Target) -> dict[str, str]:
    """The labels of the nodes of a target's MachineConfigPool."""
    return target.node_selector or {role(target.pool or ""): ""}
