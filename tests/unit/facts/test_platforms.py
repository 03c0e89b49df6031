"""The table of platforms: what it must agree with."""

import json
import re
from datetime import UTC, date, datetime, timedelta
from typing import Any, get_args

import pytest

from cpuplan.backends.registry import BACKENDS
from cpuplan.components import kubelet
from cpuplan.facts import platforms
from cpuplan.facts.platforms import KUBERNETES, PLATFORMS, Platform, Source
from cpuplan.upstream.kubelet import server
from tests.machines.plans import plan
from tests.platform_nodes import FORMS
from tests.projects import REPOSITORY

PACKAGE = REPOSITORY / "cpuplan"

EACH_PLATFORM = pytest.mark.parametrize("platform", PLATFORMS.values(), ids=PLATFORMS)


def test_every_platform_can_be_named_and_has_a_backend() -> None:
    assert list(PLATFORMS) == list(get_args(platforms.Name))
    assert set(PLATFORMS) == set(BACKENDS)


@EACH_PLATFORM
def test_releases_ascend_and_features_name_one(platform: Platform) -> None:
    assert list(platform.releases.values()) == sorted(platform.releases.values())
    assert {
        release for span in platform.features.values() for release in (span.first, span.last)
    } <= {*platform.releases, None}


def test_every_feature_is_one_of_a_platform() -> None:
    assert set(platforms.OPENSHIFT_FEATURES) == set(get_args(platforms.Feature))


def test_no_stage_compares_names_of_platforms() -> None:
    """What differs is asked of `Platform`; only the command that reads profiles knows a name."""
    compared = re.compile(r"\bplatform (?:==|!=) |\.platform (?:in|not in) ")
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if compared.search(path.read_text())
    }
    assert found == {"cli/commands/import_.py"}


#: After which facts must be read again.
YEAR = timedelta(days=365)


def old(sources: tuple[Source, ...], today: date) -> list[str]:
    """Those that nobody has read for a year."""
    return [f"{text}, read on {seen}" for text, seen in sources if today - seen > YEAR]


@EACH_PLATFORM
def test_the_sources_of_a_row_were_read_within_a_year(platform: Platform) -> None:
    """Read them again, correct the row, and only then write the new date."""
    today = datetime.now(UTC).date()
    assert platform.sources
    aged = old(platform.sources, today)
    assert not aged, f"the facts of {platform.name} are old: {'; '.join(aged)}"
    assert all(seen <= today for _, seen in platform.sources)


def test_a_source_is_old_after_a_year() -> None:
    source = Source("somewhere", date(2026, 1, 1))
    assert old((source,), date(2027, 1, 1)) == []
    assert old((source,), date(2027, 1, 2)) == ["somewhere, read on 2026-01-01"]


WITH_BASE = [
    (platform, release)
    for platform in PLATFORMS.values()
    if not platform.has_pools and not platform.cannot
    for release, version in platform.releases.items()
    if version >= (1, 28)
]


@pytest.mark.parametrize(
    ("platform", "release"), WITH_BASE, ids=[f"{row.name}-{name}" for row, name in WITH_BASE]
)
@pytest.mark.parametrize("policy", ["none", "single-numa-node"])
def test_a_drop_in_starts_above_every_base(platform: Platform, release: str, policy: str) -> None:
    """As the kubelet of each version validates both."""
    spec: dict[str, Any] = {"kubelet": {"topologyManagerPolicy": policy}}
    form = FORMS.get(platform.name)
    target = dict(form.target) if form else {}
    node = plan(platform=platform.name, version=release, target=target, spec=spec)
    version = platform.releases[release]
    drop_in = kubelet.render(node.settings.of(kubelet.NAME))
    base = json.dumps({**kubelet.HEAD, **platform.base(version)})
    loaded = server.load(base, (drop_in,), version)
    assert (loaded.errors, loaded.strict_errors) == ([], [])
    assert server.load(base, (), version).errors == []


def test_a_node_of_which_nothing_is_known_may_have_what_any_has() -> None:
    careful = {name for name in KUBERNETES.base() if name.endswith("Cgroup")}
    known = {name for row in PLATFORMS.values() for name in row.base() if "ReservedCg" in name}
    assert known == careful


@pytest.mark.parametrize(("release", "expected"), [("1.13", False), ("1.14", True), ("1.99", True)])
def test_what_talos_removes_itself(release: str, expected: bool) -> None:
    assert platforms.TALOS.may_remove_state(release) == expected
    assert not KUBERNETES.may_remove_state(release)


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ({"etc/eks/kubelet"}, "eks"),
        ({"var/lib/k0s"}, "k0s"),
        ({"etc/systemd/system/kubelet.service.d/10-kubeadm.conf"}, "kubeadm"),
        (
            {"etc/kubernetes/kubelet.env", "lib/systemd/system/kubelet.service.d/10-kubeadm.conf"},
            "kubespray",
        ),
        ({"etc/rancher/k3s", "var/lib/k0s"}, None),
        (set(), None),
    ],
)
def test_the_platform_of_a_node_by_its_files(paths: set[str], expected: str | None) -> None:
    row = platforms.seen(paths.__contains__)
    assert (row.name if row else None) == expected
