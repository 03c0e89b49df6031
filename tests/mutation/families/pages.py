"""Huge pages: one missing, one more, and none left."""

from collections.abc import Iterator

from tests.mutation.mutation import Case, Mutation

NODE = "sys/devices/system/node"
ALL = "sys/kernel/mm/hugepages"


def mutations(case: Case) -> Iterator[Mutation]:
    """Of each NUMA node and size; the sum follows."""
    planned = case.expected.facts.get("huge pages", {})
    assert isinstance(planned, dict)
    sizes = {size for of_node in planned.values() if isinstance(of_node, dict) for size in of_node}
    for size in sorted(sizes):
        yield from _reserved(case, size)
        for node in case.expected.topology.numa_facts:
            for by in (-1, 1):
                yield from _changed(case, node, size, by)


def _reserved(case: Case, size: str) -> Iterator[Mutation]:
    """Pages that a program has mapped and not touched yet."""
    path = f"{ALL}/hugepages-{size}kB/resv_hugepages"
    total = case.image.text(f"{ALL}/hugepages-{size}kB/nr_hugepages")
    if case.image.text(path) is not None and total is not None and int(total):
        changes = {path: f"{total}"}
        yield Mutation("pages", f"{size} kB: all reserved", changes, "pages of")


def _changed(case: Case, node: int, size: str, by: int) -> Iterator[Mutation]:
    name = f"hugepages-{size}kB"
    path = f"{NODE}/node{node}/hugepages/{name}/nr_hugepages"
    text, total = case.image.text(path), case.image.text(f"{ALL}/{name}/nr_hugepages")
    if text is None or int(text) + by < 0:
        return
    changes = {path: f"{int(text) + by}\n"}
    if total is not None:
        changes[f"{ALL}/{name}/nr_hugepages"] = f"{int(total) + by}\n"
    what = "one page more" if by > 0 else "one page missing"
    yield Mutation("pages", f"{size} kB on node {node}: {what}", changes, "[Hh]uge ?pages|pages of")
