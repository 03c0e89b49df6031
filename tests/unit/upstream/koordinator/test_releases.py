"""Which release reads which name."""

from cpuplan.upstream.koordinator.extension import constants
from cpuplan.upstream.koordinator.extension.releases import (
    CONFIG_KEYS,
    FIELDS,
    LATEST,
    NODE_NAMES,
    PROPOSED,
    RELEASES,
)


def test_names_come_and_go() -> None:
    assert not NODE_NAMES[constants.NUMA_TOPOLOGY_POLICY].has((1, 3))
    assert NODE_NAMES[constants.NUMA_TOPOLOGY_POLICY].has((1, 4))
    pools = FIELDS[constants.RESOURCE_STATUS]["cpuSharedPools"]
    assert pools.has((1, 3))
    assert not pools.has((1, 4))


def test_every_release_reads_something_new_or_all_of_it() -> None:
    spans = [*NODE_NAMES.values(), *CONFIG_KEYS.values()]
    assert {span.since for span in spans} <= set(RELEASES)
    assert all(span.has(LATEST) for span in spans)


def test_what_the_proposal_had_has_a_successor() -> None:
    for name, successor in PROPOSED.items():
        assert name not in NODE_NAMES
        assert successor in NODE_NAMES
