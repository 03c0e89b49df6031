"""Manifests on nodes: all of them on every node, or each on the first node that admits it."""

from cpuplan.simulate.fleet.each import any_order_on_each, on_each
from cpuplan.simulate.fleet.results import (
    Chosen,
    Nowhere,
    Result,
    Simulated,
    is_single,
    number_of_nodes,
)
from cpuplan.simulate.fleet.spreading import spread
from cpuplan.simulate.fleet.starting import Starter

__all__ = [
    "Chosen",
    "Nowhere",
    "Result",
    "Simulated",
    "Starter",
    "any_order_on_each",
    "is_single",
    "number_of_nodes",
    "on_each",
    "spread",
]
