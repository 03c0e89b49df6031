"""Boot arguments that set huge pages aside."""

from collections.abc import Iterator

from cpuplan.components import hugepages
from cpuplan.components.emission import emit
from cpuplan.components.reasons import stated
from cpuplan.facts.settings import kernel as rows
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting


def of_pages(plan: NodePlan) -> Iterator[Setting]:
    """Those of the machine, and the sizes that units set aside later by NUMA node."""
    spec = plan.spec.huge_pages
    if spec.default_size:
        because = (
            stated(plan, f"huge pages are {spec.default_size} by default", "hugePages.defaultSize"),
        )
        yield from emit(plan, rows.DEFAULT_HUGEPAGESZ, spec.default_size, because)
    pages = list(enumerate(spec.pages))
    for index, page in pages:
        if page.numa_node is None:
            because = (
                stated(plan, f"{page.count} pages of {page.size}", f"hugePages.pages.{index}"),
            )
            yield from emit(plan, rows.HUGEPAGESZ, page.count, because, size=page.size)
    small = [
        index
        for index, page in pages
        if hugepages.to_kib(page.size) == 2048 and page.numa_node is not None
    ]
    of_machine = {hugepages.to_kib(page.size) for _, page in pages if page.numa_node is None}
    if (
        small
        and spec.default_size
        and hugepages.to_kib(spec.default_size) == 1024**2
        and 2048 not in of_machine
    ):
        # The node tuning operator names this size too, so that its sysfs files are there for the
        # units.
        reason = stated(
            plan, "2M pages are set aside later, by NUMA node", f"hugePages.pages.{small[0]}"
        )
        yield from emit(plan, rows.HUGEPAGESZ, 0, (reason,), size="2M")
