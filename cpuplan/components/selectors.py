"""Which objects the selectors of a Cluster document match."""

from collections.abc import Mapping

from cpuplan.mco.labels import read_selector
from cpuplan.model.cluster import LabelSelector


def selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Whether an object with these labels is selected; an empty selector selects nothing."""
    read = read_selector(selector.model_dump(mode="json", by_alias=True))
    return not read.is_empty and read.matches(labels)
