"""Shares of the network in resource-qos-config (resource_qos_checker.go)."""

from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan.upstream.koordinator.webhooks.sloconfig.resourceqos import CLASSES, NETWORK_FIELDS
from cpuplan.upstream.kubelet import quantity
from cpuplan.upstream.kubelet.errors import NIL_DEREFERENCE, KubeletError, PanicError
from cpuplan.upstream.kubelet.go.text import quote
from cpuplan.upstream.kubelet.quantity import ZERO, Quantity

Json = Mapping[str, Any]
_REQUESTS = ("ingressRequest", "egressRequest")


def check_network(config: Json, system: Json) -> None:
    """CheckNetQosCfg; KubeletError with its text."""
    cluster, nodes = config.get("clusterStrategy"), config.get("nodeStrategies") or []
    strategies = [] if cluster is None else [("ClusterStrategy", cluster)]
    strategies += [(f"nodeStrategy.{index}", node) for index, node in enumerate(nodes)]
    for where, strategy in strategies:
        _check_values(f"ResourceQOSCfg.{where}", strategy)
    _check_one_format(cluster, nodes)
    _check_percentages(cluster, nodes)
    _check_quantities(cluster, nodes, system)


def _of_classes(strategy: Json) -> Iterator[tuple[str, Json]]:
    for name, key in CLASSES:
        section = (strategy.get(key) or {}).get("networkQOS")
        if section is not None:
            yield name, section


def _check_values(where: str, strategy: Json) -> None:
    for name, section in _of_classes(strategy):
        for go, key in NETWORK_FIELDS:
            problem = _value_problem(section.get(key))
            if problem:
                raise KubeletError(f"{where}.{name}.{go}: Invalid value: {problem}")


def _value_problem(value: int | str | None) -> str:
    if isinstance(value, str):
        try:
            quantity.parse(value)
        except KubeletError as error:
            return f"{quote(value)}: {error}"
    elif value is not None and not 0 <= value <= 100:
        return f"{value}: must be percentage value just in 0-100'"
    return ""


def _check_one_format(cluster: Json | None, nodes: list[Json]) -> None:
    rule = "only one type can be used for percentages or quantity in"
    if cluster is not None and _is_mixed(cluster):
        raise KubeletError(f"{rule} clusterStrategy")
    for index, node in enumerate(nodes):
        if _is_mixed(node):
            raise KubeletError(f"{rule} nodeStrategy[{index}]")


def _is_mixed(strategy: Json) -> bool:
    values = (section.get(key) for _, section in _of_classes(strategy) for key in _REQUESTS)
    return len({type(value) for value in values if value is not None}) > 1


def _check_percentages(cluster: Json | None, nodes: list[Json]) -> None:
    rule = "total net bandwidth percentage already over 100"
    if cluster is not None and _is_over(cluster, 100):
        raise KubeletError(f"ClusterStrategy {rule}")
    for index, node in enumerate(nodes):
        if _is_over(node, 100):
            raise KubeletError(f"cfg.NodeStrategies[{index}] {rule}")


def _is_over(strategy: Json, total: int) -> bool:
    """Whether the requests of a direction are more; percentages and quantities are added alike."""
    for key in _REQUESTS:
        left = total
        for _, section in _of_classes(strategy):
            value = section.get(key, 0)
            left -= quantity.parse(value).value if isinstance(value, str) else value
        if left < 0:
            return True
    return False


def _check_quantities(cluster: Json | None, nodes: list[Json], system: Json) -> None:
    of_cluster = system.get("clusterStrategy")
    if cluster is not None and of_cluster is not None:
        total: Quantity = of_cluster.get("totalNetworkBandwidth", ZERO)
        if _is_over(cluster, total.value):
            raise KubeletError(
                "total net bandwidth over total network bandwidth in clusterStrategy"
            )
    for index, node in enumerate(nodes):
        if _is_over(node, _bandwidth(node, system).value):
            raise KubeletError(
                "total net bandwidth quantity already over total network bandwidth in"
                f" cfg.NodeStrategies[{index}]"
            )


def _bandwidth(node: Json, system: Json) -> Quantity:
    """What a group of nodes has: of the group with the same selector, else nothing."""
    groups, cluster = system.get("nodeStrategies") or [], system.get("clusterStrategy")
    bandwidth: Quantity = ZERO
    if not groups and cluster is not None:
        bandwidth = cluster.get("totalNetworkBandwidth", ZERO)
    for group in groups:
        if group.get("nodeSelector") == node.get("nodeSelector"):
            if not group.keys() - {"name", "nodeSelector"}:
                raise PanicError(NIL_DEREFERENCE)
            return group.get("totalNetworkBandwidth", ZERO)  # type: ignore[no-any-return]
    return bandwidth
