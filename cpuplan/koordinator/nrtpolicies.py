"""What koordlet writes as topologyPolicies for the kubelet's Topology Manager."""

_POLICIES = {
    "best-effort": "BestEffort",
    "restricted": "Restricted",
    "single-numa-node": "SingleNUMANode",
}
_SCOPES = {"container": "ContainerLevel", "pod": "PodLevel"}


def topology_policy(policy: str, scope: str) -> str:
    """The name of a policy and a scope; `None` for the policy none, and without a scope."""
    if policy not in _POLICIES or scope not in _SCOPES:
        return "None"
    return f"{_POLICIES[policy]}{_SCOPES[scope]}"
