"""Who may connect to the agents of a class, and where they may.

The kubelet's probes come from the node, which no policy keeps away (kubernetes.io, "Network
Policies").
"""

from collections.abc import Mapping
from typing import Any

from cpuplan.backends.verify import names
from cpuplan.language.model.verify import Verify
from cpuplan.plan import NodePlan

API = "networking.k8s.io"
#: The namespace's own name, which the API server sets as a label.
_NAME = "kubernetes.io/metadata.name"


def policy(plan: NodePlan, verify: Verify, port: int) -> dict[str, Any]:
    """Who reads metrics may connect, and the agent to the API server if it tells it anything."""
    head = names.head(
        f"{API}/v1", "NetworkPolicy", names.agent(plan), verify, namespace=verify.namespace
    )
    return {
        **head,
        "spec": {
            "podSelector": {"matchLabels": names.selector(plan)},
            "policyTypes": ["Ingress", "Egress"],
            **_ingress(verify, port),
            **_egress(verify),
        },
    }


def _ingress(verify: Verify, port: int) -> dict[str, Any]:
    """Nothing where nobody asks for metrics; the API server does not keep an empty list."""
    if verify.prometheus is None:
        return {}
    namespace, pods = verify.prometheus.namespace, verify.prometheus.pods
    source = {"namespaceSelector": _matching({_NAME: namespace} if namespace else {})}
    if pods:
        source["podSelector"] = _matching(pods)
    return {"ingress": [{"from": [source], "ports": [_tcp(port)]}]}


def _egress(verify: Verify) -> dict[str, Any]:
    if not (verify.condition or verify.events):
        return {}
    ports = [_tcp(port) for port in sorted(set(verify.api_server.ports))]
    blocks = [{"ipBlock": {"cidr": cidr}} for cidr in verify.api_server.cidrs]
    return {"egress": [{**({"to": blocks} if blocks else {}), "ports": ports}]}


def _matching(labels: Mapping[str, str]) -> dict[str, Any]:
    return {"matchLabels": dict(labels)} if labels else {}


def _tcp(port: int) -> dict[str, Any]:
    return {"port": port, "protocol": "TCP"}
