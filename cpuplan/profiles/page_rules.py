"""What the operator's webhook refuses in the sizes of pages: of the kernel, and huge ones."""

from collections.abc import Iterator

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.fleet.cluster import ClusterNode
from cpuplan.platforms.versions import operator_has
from cpuplan.profiles.model import HugePages
from cpuplan.profiles.profile import Profile

#: Huge pages of an architecture by the size of the kernel's own pages.
_HUGE_PAGES: dict[str, dict[str, tuple[str, ...]]] = {
    "amd64": {"4k": ("2M", "1G")},
    "arm64": {"4k": ("64k", "2M", "32M", "1G"), "64k": ("2M", "512M", "16G")},
}
#: On other architectures, and if the architecture is unknown.
_ANY_HUGE_PAGE = ("64k", "2M", "32M", "512M", "1G", "16G")
#: On all architectures, before 4.18.
_OLD_HUGE_PAGES = ("2M", "1G")


def check(profile: Profile, selected: list[ClusterNode], release: str) -> Iterator[Diagnostic]:
    """Sizes by the architecture of the first of the `selected` nodes, which stands for all."""
    spec = profile.spec
    if not operator_has(release, "webhook.page_sizes"):
        if spec.hugepages:
            yield from _check_huge_pages(profile, spec.hugepages, _OLD_HUGE_PAGES, release, "")
        return
    architecture = selected[0].architecture if selected else ""
    page = "4k" if spec.kernel_page_size is None else spec.kernel_page_size
    by_page = _HUGE_PAGES.get(architecture, {})
    at = profile.at("kernelPageSize")
    if by_page and page not in by_page:
        sizes, value = ", ".join(by_page), page or "empty"
        yield diagnose(
            "CP266", at, field="spec.kernelPageSize", value=value, machine=architecture, sizes=sizes
        )
    real_time = spec.real_time_kernel is not None and spec.real_time_kernel.enabled
    if by_page and page == "64k" and real_time:
        problem = "a real-time kernel does not support"
        yield diagnose(
            "CP270",
            at,
            field="spec.kernelPageSize",
            value=page,
            problem=problem,
            remedy="remove one of the two",
        )
    if spec.hugepages:
        usual = "4k" if architecture == "amd64" else page
        known = by_page.get(usual, ()) if by_page else _ANY_HUGE_PAGE
        machine = f"{architecture} with pages of {usual or 'no size'}" if by_page else "no machine"
        yield from _check_huge_pages(profile, spec.hugepages, known, release, machine)


def _check_huge_pages(
    profile: Profile, huge: HugePages, sizes: tuple[str, ...], release: str, machine: str
) -> Iterator[Diagnostic]:
    field = "spec.hugepages.defaultHugepagesSize"
    known = (
        (", ".join(sizes) or "none")
        if machine != "no machine"
        else f"sizes other than {', '.join(sizes)}"
    )
    at = profile.at("hugepages", "defaultHugepagesSize")
    if huge.default_hugepages_size is None:
        if huge.pages and operator_has(release, "webhook.default_huge_page_size"):
            yield diagnose("CP267", at, field=field)
    elif huge.default_hugepages_size not in sizes:
        yield diagnose(
            "CP266",
            at,
            field=field,
            value=huge.default_hugepages_size or "empty",
            machine=machine,
            sizes=known,
        )
    seen: set[tuple[str, int | None]] = set()
    for index, page in enumerate(huge.pages or ()):
        path = f"spec.hugepages.pages.{index}"
        if page.size not in sizes:
            place = profile.at("hugepages", "pages", index, "size")
            value = page.size or "empty"
            yield diagnose(
                "CP266", place, field=f"{path}.size", value=value, machine=machine, sizes=known
            )
        if (page.size, page.node) in seen:
            where = "for the machine" if page.node is None else f"on NUMA node {page.node}"
            yield diagnose(
                "CP268",
                profile.at("hugepages", "pages", index),
                field=path,
                size=page.size,
                where=where,
            )
        seen.add((page.size, page.node))
