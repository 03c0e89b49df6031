"""PodMonitor and PrometheusRule of a class's agents. docs/alerts.md has a heading for each alert.

The metrics are those of `render/prometheus.py` and `agent/metrics.py`; a test compares the names.
Fields that the operator's CRDs have defaults for, inside of lists, are written: Argo CD would find
them different on the cluster.
"""

from typing import Any

from cpuplan.backends.verify import objects
from cpuplan.base.text import counted
from cpuplan.language.model.rollout import Prometheus, Verify
from cpuplan.plan import NodePlan

API = "monitoring.coreos.com/v1"
#: What tells one node's series from another's.
_BY_NODE = "by (node, plan_cluster, plan_class)"


def pod_monitor(plan: NodePlan, verify: Verify, prometheus: Prometheus) -> dict[str, Any]:
    """Scrape each agent, and call its node by its name."""
    endpoint = {
        "port": "metrics",
        "path": "/metrics",
        "relabelings": [
            {
                "action": "replace",
                "sourceLabels": ["__meta_kubernetes_pod_node_name"],
                "targetLabel": "node",
            }
        ],
    }
    return {
        **_head("PodMonitor", plan, verify, prometheus),
        "spec": {
            "podMetricsEndpoints": [endpoint],
            "selector": {"matchLabels": objects.selector(plan)},
        },
    }


def prometheus_rule(
    plan: NodePlan, verify: Verify, prometheus: Prometheus, digest: str
) -> dict[str, Any]:
    """The alerts about the nodes of a class; `digest` is that of its compiled plan."""
    rules = [
        _differs(plan),
        _unverified(plan),
        _nothing_verified(plan),
        _not_checked(plan),
        _stale(plan, digest),
        _absent(plan),
    ]
    for rule in rules:
        page = f"{prometheus.runbooks}#{rule['alert'].lower()}"
        rule["annotations"]["runbook_url"] = page
    group = {"name": objects.agent(plan), "rules": rules}
    return {**_head("PrometheusRule", plan, verify, prometheus), "spec": {"groups": [group]}}


def _head(kind: str, plan: NodePlan, verify: Verify, prometheus: Prometheus) -> dict[str, Any]:
    return objects.object_head(
        API,
        kind,
        objects.agent(plan),
        verify,
        namespace=verify.namespace,
        labels=prometheus.labels,
    )


def _selector(plan: NodePlan, further: str = "") -> str:
    node_class = plan.node_class
    own = f'plan_cluster="{node_class.cluster}",plan_class="{node_class.name}"'
    return f"{{{own}{further}}}"


def _rule(
    alert: str, expression: str, lasts: str, severity: str, summary: str, description: str
) -> dict[str, Any]:
    return {
        "alert": alert,
        "expr": expression,
        "for": lasts,
        "labels": {"severity": severity},
        "annotations": {"summary": summary, "description": description},
    }


def _differs(plan: NodePlan) -> dict[str, Any]:
    series = f"cpuplan_findings{_selector(plan)}"
    return _rule(
        "CPUPlanDiffers",
        f"sum by (node, plan_cluster, plan_class, code) ({series}) > 0",
        "10m",
        "warning",
        "Node {{ $labels.node }} differs from its plan: {{ $labels.code }}",
        "Findings {{ $labels.code }} on node {{ $labels.node }} of class {{ $labels.plan_class }}: "
        "{{ $value }}. `cpuplan check` on the node shows them with their remedies.",
    )


def _unverified(plan: NodePlan) -> dict[str, Any]:
    selector = _selector(plan, ',verdict="unverifiable"')
    return _rule(
        "CPUPlanUnverified",
        f"sum {_BY_NODE} (cpuplan_facts{selector}) > 0",
        "1h",
        "info",
        "Parts of the plan cannot be verified on node {{ $labels.node }}",
        "Facts of the plan that node {{ $labels.node }} should show and does not: {{ $value }}. "
        "`cpuplan check --coverage` on the node lists them with the reasons.",
    )


def _nothing_verified(plan: NodePlan) -> dict[str, Any]:
    return _rule(
        "CPUPlanNothingVerified",
        f"max {_BY_NODE} (cpuplan_verified{_selector(plan)}) == 0",
        "30m",
        "warning",
        "Nothing of the plan can be verified on node {{ $labels.node }}",
        "The agent on node {{ $labels.node }} checks it, and sees nothing that tells whether the "
        "plan holds. `cpuplan check --coverage` on the node lists the facts with the reasons.",
    )


def _not_checked(plan: NodePlan) -> dict[str, Any]:
    return _rule(
        "CPUPlanNotChecked",
        f"max {_BY_NODE} (cpuplan_check_current{_selector(plan)}) == 0",
        "10m",
        "warning",
        "The agent on node {{ $labels.node }} cannot check its node",
        "The agent on node {{ $labels.node }} runs, but its last check failed or is too old: "
        "whether the plan holds is not known. The log of the agent has the reason.",
    )


def _stale(plan: NodePlan, digest: str) -> dict[str, Any]:
    series = "cpuplan_plan_info" + _selector(plan, f',digest!="{digest}"')
    return _rule(
        "CPUPlanStale",
        f"max by (node, plan_cluster, plan_class, digest) ({series}) > 0",
        "15m",
        "warning",
        "The agent on node {{ $labels.node }} checks against an old plan",
        "Node {{ $labels.node }} is held against the plan {{ $labels.digest }}; the compiled one "
        f"is {digest}. The ConfigMap or the agent has not been updated.",
    )


def _absent(plan: NodePlan) -> dict[str, Any]:
    node_class = plan.node_class
    number = len(node_class.nodes)
    by_node = f"count {_BY_NODE} (cpuplan_plan_info{_selector(plan)})"
    # Where there is no agent at all, there is no series to count.
    none = (
        'label_replace(label_replace(vector(0), "plan_cluster", '
        f'"{node_class.cluster}", "", ""), "plan_class", "{node_class.name}", "", "")'
    )
    return _rule(
        "CPUPlanAgentAbsent",
        f"(count by (plan_cluster, plan_class) ({by_node}) or {none}) < {number}",
        "15m",
        "warning",
        f"Not all nodes of class {node_class.name} have an agent",
        f"Class {{{{ $labels.plan_class }}}} has {counted(number, 'node')}. With an agent that "
        "has a plan: {{ $value }}. Nobody checks the others.",
    )
