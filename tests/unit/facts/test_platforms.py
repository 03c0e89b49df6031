"""The table of platforms: what it must agree with."""

import re
from typing import get_args

import pytest

from cpuplan.backends.registry import BACKENDS
from cpuplan.facts import platforms
from cpuplan.facts.platforms import PLATFORMS, Platform
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
